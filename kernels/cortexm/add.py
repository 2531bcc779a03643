# SPDX-License-Identifier: MIT
"""The sum of two int8 tensors in assembly: SMLAW multiplies bytes where they stand, as the upper halves of halfwords."""

from __future__ import annotations

from aidge_build.operators.arithmetic.halfword_sums import BITS

from .assembly import Routine

PARAMETERS = "const int8_t *first, const int8_t *second, int8_t *output, const int32_t *sum, int32_t count"
WORDS = 4  # in one turn of the loop


def routine(bits: int, is_limited: bool) -> tuple[str, str]:
    """Name and text for sums with 16 or 20 fraction bits; `is_limited`: between limits, each + 128 and four times in a word."""
    name = f"aidge_cortexm_add_int8_{bits}{'_limited' * is_limited}"
    code = Routine()
    code("%enter")
    code("ldm %sum, {%factor_a, %factor_b, %offset}")
    if is_limited:
        code("ldrd %low, %high, [%sum, #12]", "lowest, highest")
        code("put %low, %high")
    code("ldr %left, [%argument.4]", "count")
    code.constant("%mask", 0xFF00FF00)
    if bits == 16:
        code("add %offset, %offset, #0x800000", "128, for unsigned saturation")
    for turn, rest, count in (("turn", "words", WORDS), ("word", "rest", 1)):
        code(f"bic %left, %left, #{4 * count - 1}")
        code("add %end, %first, %left")
        code("cmp %first, %end")
        code(f"beq %{rest}")
        code.label(turn, f"{4 * count} elements")
        _words(code, bits, is_limited, count)
        code(f"bne %{turn}")
        code.label(rest)
        code("ldr %left, [%argument.4]", "count")
        if count > 1:
            code("and %left, %left, #15")
    if bits == 16:
        code("sub %offset, %offset, #0x800000", "the elements left over")
    code("ands %left, %left, #3")
    code("beq %done")
    code.label("one")
    for value, source, factor, addend in (("a", "first", "factor_a", "offset"), ("b", "second", "factor_b", "low")):
        code(f"ldrsb %{value}, [%{source}], #1")
        code(f"lsl %{value}, %{value}, #8")
        code(f"smlawb %low, %{factor}, %{value}, %{addend}")
    code(f"ssat %a, #8, %low, asr #{bits}")
    if is_limited:
        code("eor %a, %a, #0x80")
        _limit(code)
        code("eor %a, %a, #0x80")
    code("strb %a, [%output], #1")
    code("subs %left, %left, #1")
    code("bne %one")
    code.label("done")
    code("%leave")
    portable = f"aidge_cortexm_add_int8(first, second, output, sum, count, {bits}, {is_limited:d});"
    return name, code.function(name, PARAMETERS, f"Sums of int8 values, with {bits} fraction bits.", portable)


def _words(code: Routine, bits: int, is_limited: bool, count: int) -> None:
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
            if bits == 16:
                code(f"pkhtb {pair_a}, %high, %low, asr #16")
                code(f"usat16 {pair_a}, #8, {pair_a}")
            else:
                for value, byte in (("%low", first), ("%high", first + 2)):
                    code(f"ssat {value}, #8, {value}, asr #{bits}")
                    code(f"strb {value}, [%output, #{4 * word + byte}]")
        if bits == 16:
            code("orr %a, %a, %odd_a, lsl #8")
        elif is_limited:
            code(f"ldr %a, [%output, #{4 * word}]")
            code("eor %a, %a, #0x80808080")
        if is_limited:
            _limit(code)
        if bits == 16 or is_limited:
            code("eor %a, %a, #0x80808080")
            code("str %a, [%output], #4" if bits == 16 else f"str %a, [%output, #{4 * word}]")
    if bits != 16:
        code(f"adds %output, %output, #{4 * count}")
    code("cmp %first, %end")


def either(is_limited: bool) -> tuple[str, str]:
    """Name and text for sums whose numbers say the fraction bits, behind the others: which are proved depends on scales, and
    other weights bring other scales."""
    (coarse, first), (fine, second) = (routine(bits, is_limited) for bits in BITS)
    name = f"aidge_cortexm_add_int8_either{'_limited' * is_limited}"
    chosen = f"""/* Sums of int8 values; behind their other numbers stand the fraction bits. */
AIDGE_CORTEXM_NOINLINE void {name}(
    const int8_t *first, const int8_t *second, int8_t *output, const int32_t *sum, int32_t count)
{{
    if (sum[{5 if is_limited else 3}] == {BITS[0]}) {{
        {coarse}(first, second, output, sum, count);
    }} else {{
        {fine}(first, second, output, sum, count);
    }}
}}"""
    return name, "\n\n".join([first, second, chosen])


def _limit(code: Routine) -> None:
    """Four values + 128 in %a."""
    code("get %low, %high", "lowest, highest")
    code("usub8 %b, %a, %low")
    code("sel %a, %a, %low")
    code("usub8 %b, %high, %a")
    code("sel %a, %a, %high")
