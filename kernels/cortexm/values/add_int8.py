# SPDX-License-Identifier: MIT
"""int8 addition and subtraction of two tensors: SMLAW multiplies bytes where they stand, as the upper halves of halfwords."""

from __future__ import annotations

from aidge_build.contract.call import Call, Constant, computed
from aidge_build.contract.kernel_kit.linear_int8 import INT8
from aidge_build.contract.kernel_kit.packing import as_words
from aidge_build.contract.kernel_kit.proved_sums import ProvedSums, limits
from aidge_build.contract.kernel_kit.rows_int8 import RowsInt8, rows_specs
from aidge_build.contract.node import kernel
from aidge_build.operators.arithmetic.halfword_sums import BITS, halfword_sum

from ..core.assembly import Routine
from ..core.conditions import FEATURES

PARAMETERS = "const int8_t *first, const int8_t *second, int8_t *output, const int32_t *sum, int32_t count"
WORDS = 4  # in one turn of the loop
SUMS = ProvedSums(halfword_sum, f"{BITS} fraction bits", has_limits=True)


@kernel(("Add", "Sub"), rows_specs(FEATURES, *SUMS.conditions))
class AddInt8(RowsInt8):
    assembly = "needed"

    def call(self) -> Call:
        found = SUMS.of(self.view)
        lowest, highest = limits(self.view)
        is_limited = (lowest, highest) != INT8
        row, text = _routine(is_limited)
        bytes_ = [(limit + 128) * 0x01010101 for limit in (lowest, highest)] * is_limited
        constants = as_words([found.first, found.second, found.offset, *bytes_])
        return self.by_rows(
            row,
            "core/target.h",
            Constant("sum", constants),
            text,
            note="proved equal on all 65,536 pairs of values",
            facts=computed(f"{4 * WORDS} values", 1),
        )


def _routine(is_limited: bool) -> tuple[str, str]:
    """Name and text; `is_limited`: between limits, each + 128 and four times in a word."""
    name = f"aidge_cortexm_add_int8{'_limited' * is_limited}"
    code = Routine()
    code("%enter")
    code("ldm %sum, {%factor_a, %factor_b, %offset}")
    if is_limited:
        code("ldrd %low, %high, [%sum, #12]", "lowest, highest")
        code("put %low, %high")
    code("ldr %left, [%argument.4]", "count")
    code.constant("%mask", 0xFF00FF00)
    for turn, rest, count in (("turn", "words", WORDS), ("word", "rest", 1)):
        code(f"bic %left, %left, #{4 * count - 1}")
        code("add %end, %first, %left")
        code("cmp %first, %end")
        code(f"beq %{rest}")
        code.label(turn, f"{4 * count} elements")
        _words(code, is_limited, count)
        code(f"bne %{turn}")
        code.label(rest)
        code("ldr %left, [%argument.4]", "count")
        if count > 1:
            code("and %left, %left, #15")
    code("ands %left, %left, #3")
    code("beq %done")
    code.label("one")
    for value, source, factor, addend in (("a", "first", "factor_a", "offset"), ("b", "second", "factor_b", "low")):
        code(f"ldrsb %{value}, [%{source}], #1")
        code(f"lsl %{value}, %{value}, #8")
        code(f"smlawb %low, %{factor}, %{value}, %{addend}")
    code(f"ssat %a, #8, %low, asr #{BITS}")
    if is_limited:
        code("eor %a, %a, #0x80")
        _limit(code)
        code("eor %a, %a, #0x80")
    code("strb %a, [%output], #1")
    code("subs %left, %left, #1")
    code("bne %one")
    code.label("done")
    code("%leave")
    return name, code.function(name, PARAMETERS, "Sums of int8 values.")


def _words(code: Routine, is_limited: bool, count: int) -> None:
    """As many words of elements."""
    for word in range(count):
        code("ldr %a, [%first], #4")
        code("ldr %b, [%second], #4")
        code("and %odd_a, %a, %mask", "256 * bytes 1 and 3")
        code("and %odd_b, %b, %mask")
        code("and %a, %mask, %a, lsl #8", "256 * bytes 0 and 2")
        code("and %b, %mask, %b, lsl #8")
        for pair_a, pair_b, first in (("%odd_a", "%odd_b", 1), ("%a", "%b", 0)):
            code(f"smlawb %low, %factor_a, {pair_a}, %offset")
            code(f"smlawt %high, %factor_a, {pair_a}, %offset")
            code(f"smlawb %low, %factor_b, {pair_b}, %low")
            code(f"smlawt %high, %factor_b, {pair_b}, %high")
            for value, byte in (("%low", first), ("%high", first + 2)):
                code(f"ssat {value}, #8, {value}, asr #{BITS}")
                code(f"strb {value}, [%output, #{4 * word + byte}]")
        if is_limited:
            code(f"ldr %a, [%output, #{4 * word}]")
            code("eor %a, %a, #0x80808080")
            _limit(code)
            code("eor %a, %a, #0x80808080")
            code(f"str %a, [%output, #{4 * word}]")
    code(f"adds %output, %output, #{4 * count}")
    code("cmp %first, %end")


def _limit(code: Routine) -> None:
    """Four values + 128 in %a."""
    code("get %low, %high", "lowest, highest")
    code("usub8 %b, %a, %low")
    code("sel %a, %a, %low")
    code("usub8 %b, %high, %a")
    code("sel %a, %a, %high")
