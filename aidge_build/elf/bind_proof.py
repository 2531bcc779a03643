# SPDX-License-Identifier: MIT
"""What must be true of a model whose weights can be replaced: the firmware binds weights, or no inference ever runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from aidge_build.elf.claim import Claim
from aidge_build.elf.disassembly import immediate
from aidge_build.elf.findings import ERROR, Finding
from aidge_build.elf.image import Image
from aidge_build.elf.program_code import Code


def check_bind(image: Image, claims: Sequence[Claim], code: Callable[[], Code | None]) -> Iterator[Finding]:
    """MEM07 as an error about each model of which nothing calls N_bind: N_run returns N_WEIGHTS and computes nothing.

    `code()` is the program's code, None where no tool of this machine reads it; it is asked for only where N_bind is linked.
    """
    for claim in claims:
        if claim.update is None or _may_be_bound(image, claim, code):
            continue
        name, prefix = claim.model, claim.model.upper()
        runs = next((function for function in claim.computing if image.symbol(function)), f"{name}_run")
        call = f"{name}_bind({'' if claim.arenas else '&instance, '}{name}_weights, {name}_weights_bytes)"
        yield Finding(
            "MEM07",
            ERROR,
            f"model {name}: nothing calls {name}_bind, so {runs} returns {prefix}_WEIGHTS (4) and computes nothing",
            f"before the first {runs}: if ({call} != {prefix}_OK) {{ ... }}, or bind the block that {name}_newer returns",
        )


def _may_be_bound(image: Image, claim: Claim, code: Callable[[], Code | None]) -> bool:
    """Whether N_bind may be called: link-time optimisation makes a model's functions local, and may put it into a caller."""
    bind = image.symbol(f"{claim.model}_bind")
    if bind is None:
        linked = [symbol for symbol in map(image.symbol, claim.functions) if symbol]
        return not linked or any(symbol.is_local for symbol in linked)
    read = code()
    return read is None or _is_named(read, bind.address)


def _is_named(code: Code, function: int) -> bool:
    """Whether a branch leads to a function, or a constant or an instruction may hold its address."""
    pointer = (function | 1).to_bytes(4, "little")
    low = function & 0xFFFF | 1
    return (
        function in code.led_to
        or any(pointer in section.content for section in code.image.sections)
        or any(one.mnemonic == "movw" and immediate(one.operands[-1]) == low for one in code.instructions.values())
    )
