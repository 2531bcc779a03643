# SPDX-License-Identifier: MIT
"""The functions of a model whose weights can be replaced in the field."""

from __future__ import annotations

from aidge_build.emit.function import Function
from aidge_build.program import Program


def bind_functions(program: Program, self: tuple[str, ...], arguments: tuple[str, ...]) -> tuple[Function, ...]:
    """N_bind and N_newer, by which the firmware names the weights that are to be used; none where they stay as they are."""
    if not program.options.replaces_weights:
        return ()
    name, prefix = program.name, program.name.upper()
    bind = (
        "Has the model use these weights from now on, where they are for this code, whole and undamaged.",
        f"`weights`: at a multiple of {prefix}_WEIGHTS_ALIGNMENT, in at most `bytes`; read where they lie: they must stay.",
        f"Returns {prefix}_OK; {prefix}_POINTER when the pointer is null or misaligned, {prefix}_WEIGHTS when they are",
        f"damaged, for other code, or older than those in use{_not_now(program)}: with nothing changed.",
    )
    newer = (
        f"Of two places which may hold weights, the one that {name}_bind would take; of two such the one of the higher version.",
        "Null when neither does: both are read, nothing is changed.",
    )
    taken = ("const void *weights", "uint32_t bytes")
    both = ("const void *first", "const void *second", "uint32_t bytes")
    return (
        Function(f"{name}_bind", "int", (*self, *taken), (*arguments, "weights", "bytes"), bind),
        Function(f"{name}_newer", "const void *", both, ("first", "second", "bytes"), newer),
    )


def _not_now(program: Program) -> str:
    goes_on = program.progress is not None or program.waiting is not None
    return f", {program.name.upper()}_ORDER while an inference goes on" if goes_on else ""
