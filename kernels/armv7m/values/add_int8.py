# SPDX-License-Identifier: MIT
"""int8 addition and subtraction of two tensors."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Call, Constant, computed
from aidge_build.contract.kernel_kit.proved_sums import ProvedSums
from aidge_build.contract.kernel_kit.rows_int8 import RowsInt8, rows_specs
from aidge_build.contract.node import kernel
from aidge_build.operators.arithmetic.word_sums import word_sum

from ..core.assembly import Code
from ..core.conditions import FEATURES

TOGETHER = 4  # values of a turn
NAME = "aidge_armv7m_add_int8"
PARAMETERS = "const int8_t *first, const int8_t *second, int8_t *output, const int32_t *sum, int32_t count"


SUMS = ProvedSums(word_sum, "one shift")


@kernel(("Add", "Sub"), rows_specs(FEATURES, *SUMS.conditions))
class AddInt8(RowsInt8):
    assembly = "helps"

    def call(self) -> Call:
        found = SUMS.of(self.view)
        constants = numpy.array([found.first, found.second, found.offset], numpy.int32)
        return self.by_rows(
            f"{NAME}_{found.bits}",
            "core/target.h",
            Constant("sum", constants),
            _text(found.bits),
            note=f"{found.bits} fraction bits, proved equal on all 65,536 pairs of values",
            facts=computed(f"{TOGETHER} values", 1),
        )


def _text(bits: int) -> str:
    """The function of a row; its output may take the place of an input."""
    code = Code()
    code("%enter")
    code("ldm %sum, {%first_factor, %second_factor, %offset}")
    code("ldr %count, [%argument.4]")
    code.values(lambda: _value(code, bits), TOGETHER)
    code("%leave")
    portable = f"""for (; count > 0; count--) {{
        const int32_t total = sum[0] * *first++ + sum[1] * *second++ + sum[2];
        const int32_t level = total >> {bits};
        *output++ = (int8_t)(level < -128 ? -128 : level > 127 ? 127 : level);
    }}"""
    return code.function(f"{NAME}_{bits}", PARAMETERS, "Sums of two rows.", portable)


def _value(code: Code, bits: int) -> None:
    code("ldrsb %a, [%first], #1")
    code("ldrsb %b, [%second], #1")
    code("mla %a, %a, %first_factor, %offset")
    code("mla %a, %b, %second_factor, %a")
    code(f"ssat %a, #8, %a, asr #{bits}")
    code("strb %a, [%output], #1")
