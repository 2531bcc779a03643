# SPDX-License-Identifier: MIT
"""int8 addition and subtraction of two tensors."""

from __future__ import annotations

from typing import ClassVar

from aidge_build.contract.kernel_kit.narrow.core import Core
from aidge_build.contract.kernel_kit.rows_int8 import rows_specs
from aidge_build.contract.kernel_kit.word_sums_int8 import PARAMETERS, SUMS, WordSumsInt8
from aidge_build.contract.spec import ImplSpec


def specs(core: Core) -> tuple[ImplSpec, ...]:
    """Returns the specs of sums on the cores of a library."""
    return rows_specs(core.features, *SUMS.conditions)


class AddInt8(WordSumsInt8):
    """A library's subclass names its `core` and its `function`."""

    core: ClassVar[Core]

    def text(self, name: str, bits: int) -> str:
        return _text(self.core.on(self.view.features), name, bits)


def _text(core: Core, name: str, bits: int) -> str:
    code = core.emitter()
    code("%enter.low")
    code("ldm %sum!, {%factor, %other, %offset}")
    code("ldr %place, [%argument.4]", "count")
    for pointer in ("first", "second", "output"):
        code(f"adds %{pointer}, %{pointer}, %place")
    code("rsbs %place, %place, #0")
    code("beq %done")
    code("mov %added, %offset", "to a high register")
    code.label("turn", "a value")
    code("ldrsb %value, [%first, %place]")
    code("ldrsb %spare, [%second, %place]")
    code("muls %value, %factor")
    code("muls %spare, %other")
    code("adds %value, %value, %spare")
    code("add %value, %added")
    code(f"asrs %value, %value, #{bits}")
    code("sxtb %spare, %value")
    code("cmp %spare, %value")
    code("bne %beyond")
    code.label("store")
    code("strb %value, [%output, %place]")
    code("adds %place, %place, #1")
    code("bne %turn")
    code.label("done")
    code("%leave")
    code.label("beyond", "beyond int8")
    code("asrs %value, %value, #31")
    code("movs %spare, #127")
    code("eors %value, %spare")
    code("b %store")
    return code.function(name, PARAMETERS, f"Sums of int8 values, with {bits} fraction bits.")
