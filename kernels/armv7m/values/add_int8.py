# SPDX-License-Identifier: MIT
"""int8 addition and subtraction of two tensors."""

from __future__ import annotations

from aidge_build.contract.kernel_kit.rows_int8 import rows_specs
from aidge_build.contract.kernel_kit.word_sums_int8 import PARAMETERS, SUMS, WordSumsInt8
from aidge_build.contract.node import kernel

from ..core.assembly import Code
from ..core.conditions import FEATURES

TOGETHER = 4  # values of a turn


@kernel(("Add", "Sub"), rows_specs(FEATURES, *SUMS.conditions))
class AddInt8(WordSumsInt8):
    function, turn = "aidge_armv7m_add_int8", f"{TOGETHER} values"

    def text(self, name: str, bits: int) -> str:
        return _text(name, bits)


def _text(name: str, bits: int) -> str:
    """The function of a row; its output may take the place of an input."""
    code = Code()
    code("%enter")
    code("ldm %sum, {%first_factor, %second_factor, %offset}")
    code("ldr %count, [%argument.4]")
    code.values(lambda: _value(code, bits), TOGETHER)
    code("%leave")
    return code.function(name, PARAMETERS, "Sums of two rows.")


def _value(code: Code, bits: int) -> None:
    code("ldrsb %a, [%first], #1")
    code("ldrsb %b, [%second], #1")
    code("mla %a, %a, %first_factor, %offset")
    code("mla %a, %b, %second_factor, %a")
    code(f"ssat %a, #8, %a, asr #{bits}")
    code("strb %a, [%output], #1")
