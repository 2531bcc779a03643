# SPDX-License-Identifier: MIT
"""The functions of a model with weights that can be replaced in the field."""

from __future__ import annotations

from aidge_build.build.emit.function import Function
from aidge_build.plan.program import Program


def bind_functions(program: Program, self: tuple[str, ...], arguments: tuple[str, ...]) -> tuple[Function, ...]:
    """Returns N_bind and N_newer, with which the firmware chooses the weights; none for a model with fixed weights."""
    if not program.options.replaces_weights:
        return ()
    name, prefix = program.name, program.name.upper()
    bind = (
        "Makes the model use these weights, if they are for this code, complete and undamaged.",
        f"`weights`: at a multiple of {prefix}_WEIGHTS_ALIGNMENT, in at most `bytes`; keep them while the model uses them.",
        f"Returns {prefix}_OK; {prefix}_POINTER when the pointer is null or misaligned, {prefix}_WEIGHTS when the weights are",
        f"damaged, for other code, or older than the bound weights{_not_now(program)}; then nothing changes.",
    )
    newer = (
        f"Returns the place with weights that {name}_bind would accept; if both have them, the higher version.",
        "Returns null if neither place has such weights. Reads both, changes nothing.",
    )
    taken = ("const void *weights", "uint32_t bytes")
    both = ("const void *first", "const void *second", "uint32_t bytes")
    return (
        Function(f"{name}_bind", "int", (*self, *taken), (*arguments, "weights", "bytes"), bind),
        Function(f"{name}_newer", "const void *", both, ("first", "second", "bytes"), newer),
    )


def _not_now(program: Program) -> str:
    return f", {program.name.upper()}_ORDER during an inference" if program.takes_several_calls else ""
