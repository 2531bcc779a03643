# SPDX-License-Identifier: MIT
"""Outputs of a fully connected layer that are computed one at a time (fc.py)."""

from __future__ import annotations

from aidge_build.contract.kernel_kit.narrow.core import Core
from aidge_build.contract.kernel_kit.routine import Routine

PARAMETERS = "aidge_kit_narrow_fc_block *block"


def end(code: Routine) -> None:
    """Returns from the function: weights, from their place in %block back, and the sums before them go on there in the next
    call."""
    code("str %weights, [%block]")
    code("subs %block, #4")
    code("str %sums, [%block]")
    code("%leave")


def _single_products(code: Routine) -> None:
    """Four taps of one output, each times its weight."""
    if code.multiplies_high:
        for tap in range(4):
            code(f"ldrb %weight, [%weights, #{tap}]", "" if tap else "their weights")
            if tap % 2:
                code("lsls %weight, %weight, #8")
            code(f"mulhsu %tap{tap}, %tap{tap}, %weight" if tap % 2 else f"muls %tap{tap}, %weight")
        code("add %weights, %weights, #4")
        return
    code("ldm %weights!, {%pair}", "their weights")
    for place, half in enumerate(("uxth %weight, %pair", "lsrs %weight, %pair, #16")):
        code(half)
        code(f"muls %tap{2 * place}, %weight")
        code("rev16 %weight, %weight")
        code(f"muls %tap{2 * place + 1}, %weight")


def singles(core: Core, turn_units: int, is_once: bool) -> tuple[str, str]:
    """One output at a time."""
    name = f"{core.prefix}_fc_int8_singles_n{turn_units}{'_once' * is_once}"
    code = core.emitter()
    code("%enter.low")
    code("ldm %block!, {%columns, %weight, %end, %sums_end, %sums}", "corrections are not read")
    for kept, loaded in {"all_columns": "columns", "columns_end": "end", "sums_at": "sums", "outputs_end": "sums_end"}.items():
        code(f"mov %{kept}, %{loaded}")
    code("ldr %weights, [%block]")
    code("mov %weights_at, %block")
    code.label("output", "an output")
    code("movs %weight, #0")
    code("mov %total, %weight")
    code("mov %columns, %all_columns")
    code.label("turn", f"{2 * turn_units} taps")
    for _ in range(turn_units // 2):
        code("ldm %columns!, {%tap0, %tap1, %tap2, %tap3}", "four taps")
        _single_products(code)
        code("adds %tap0, %tap0, %tap1")
        code("adds %tap2, %tap2, %tap3")
        code("adds %tap0, %tap0, %tap2")
        code("add %total, %tap0")
    code("cmp %columns, %columns_end")
    code("bne %turn")
    code("mov %weight, %total")
    code("ldr %tap0, [%columns]", "what an output alone takes away")
    code("adds %weight, %weight, %tap0")
    code("mov %sums, %sums_at")
    if not is_once:
        code("ldr %tap0, [%sums]")
        code("adds %weight, %weight, %tap0")
    code("stm %sums!, {%weight}")
    code("mov %sums_at, %sums")
    code("cmp %sums, %outputs_end")
    code("bne %output")
    code("mov %block, %weights_at")
    end(code)
    return name, code.function(name, PARAMETERS, "Sums of one output at a time.")
