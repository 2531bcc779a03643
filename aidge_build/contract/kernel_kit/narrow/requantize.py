# SPDX-License-Identifier: MIT
"""The code after the taps: three sums out of two words, and a stored value from each.

`NarrowForm.apply` of a sum, with names of the texts: `%bits` of the low part of the multiplier, its parts `%high` and `%low`;
`%limit` and `%constant`, which are in high registers; `below` and `above` in the frame: lowest - highest level, highest level.

On a core with the upper half of a product the multiplier is one number, `%high`, and the word of `bits` is 256 * level bits +
32 - bits. There, `%lowest` and `%highest` are the levels at both ends, and sums of SUM_BITS may be shifted up to the end of
their word, with `%limit`: they are multiplied as they are.
"""

from __future__ import annotations

from collections.abc import Callable

from aidge_build.contract.kernel_kit.narrow.packing import SUM_BITS
from aidge_build.contract.kernel_kit.routine import Routine

SHIFT = 32 - SUM_BITS  # of sums that are shifted up
Use = Callable[[str, int], None]  # a sum's name, the place of its pixel


def level(code: Routine, value: str, pixel: int, is_shifted: bool = False) -> None:
    """The level of the sum `value`, which may be shifted up, in its low byte."""
    code(f"cmp %{value}, %limit")
    code(f"bhi %beyond{pixel}")
    if code.multiplies_high:
        if not is_shifted:
            code(f"lsls %{value}, %bits")
        code(f"mulhu %{value}, %{value}, %high")
        code(f"adds %{value}, %{value}, %constant")
        code(f"lsrs %{value}, %level_bits")
    else:
        code(f"mov %spare, %{value}")
        code("muls %spare, %low")
        code("lsrs %spare, %bits")
        code(f"muls %{value}, %high")
        code(f"adds %{value}, %{value}, %spare")
        code(f"add %{value}, %constant")
        code(f"lsrs %{value}, %{value}, #24")
    code.label(f"level{pixel}")


def saturated(code: Routine, value: str, pixel: int) -> None:
    """The rest of `level`, out of its way."""
    code.label(f"beyond{pixel}", "below the first step or above the last one")
    if code.multiplies_high:
        code(f"cmp %{value}, #0")
        code(f"blt %lowest{pixel}")
        code(f"mov %{value}, %highest")
        code(f"b %level{pixel}")
        code.label(f"lowest{pixel}")
        code(f"mov %{value}, %lowest")
        code(f"b %level{pixel}")
        return
    code(f"asrs %{value}, %{value}, #31")
    code("ldr %spare, [sp, %frame.below]")
    code(f"ands %{value}, %spare")
    code("ldr %spare, [sp, %frame.above]")
    code(f"adds %{value}, %{value}, %spare")
    code(f"b %level{pixel}")


SEPARATED = ("left", "middle", "right")  # names of the three sums


def separate(code: Routine, words: tuple[str, str], first: int, use: Use) -> None:
    """The sums of pixels first, first + 1, first + 2 out of two words, each for `use`."""
    left, middle, right = SEPARATED
    code(f"mov %{middle}, %{words[0]}", f"sums of pixels {first} to {first + 2}")
    code(f"lsls %{left}, %{middle}, #11")
    code(f"asrs %{left}, %{left}, #11", f"of pixel {first}")
    code(f"subs %{middle}, %{middle}, %{left}")
    code(f"lsrs %{middle}, %{middle}, #10", "2^11 * the low 11 bits of the next pixel's")
    use(left, first)
    code(f"mov %rest, %{words[1]}")
    code(f"subs %rest, %rest, %{middle}")
    code(f"lsls %{right}, %rest, #10")
    code(f"asrs %{right}, %{right}, #10", f"of pixel {first + 2}")
    code(f"subs %rest, %rest, %{right}")
    code("asrs %rest, %rest, #11")
    code(f"lsrs %{middle}, %{middle}, #11")
    code(f"adds %{middle}, %{middle}, %rest", f"of pixel {first + 1}")
    use(middle, first + 1)
    use(right, first + 2)


def separate_shifted(code: Routine, words: tuple[str, str], first: int, use: Use) -> None:
    """The same, shifted up to the end of their words."""
    left, middle, right = SEPARATED
    code(f"lsls %{left}, %{words[0]}, #{SHIFT}")
    code(f"asrs %spare, %{left}, #{SHIFT}")
    code(f"subs %{middle}, %{words[0]}, %spare")
    code(f"lsrs %{middle}, %{middle}, #10", "2^11 * the low 11 bits of the second pixel's")
    use(left, first)
    code(f"subs %rest, %{words[1]}, %{middle}")
    code(f"lsls %{right}, %rest, #10")
    code(f"asrs %spare, %{right}, #10")
    code("subs %rest, %rest, %spare", "2^22 * its high bits")
    code(f"adds %{middle}, %{middle}, %rest")
    use(middle, first + 1)
    code(f"adds %{right}, %{right}, %{right}")
    use(right, first + 2)


def begin_sums(code: Routine, begin: str) -> None:
    """From what each sum begins with, the value `begin`, what the two words begin with: %first_word and %second_word."""
    code(f"lsls %first_word, %{begin}, #21")
    code(f"adds %first_word, %first_word, %{begin}")
    code(f"lsls %second_word, %{begin}, #11")
    code(f"adds %second_word, %second_word, %{begin}")


def load_bits(code: Routine) -> None:
    """The word of `bits` in the frame. A shift by %bits takes its low 5 bits."""
    code("ldr %bits, [sp, %frame.bits]")
    if code.multiplies_high:
        code("lsrs %level_bits, %bits, #8")


def split_multiplier(code: Routine) -> None:
    """The multiplier in %high: its high part remains, its low part of %bits goes to %low."""
    code("mov %low, %high")
    code("lsrs %high, %bits", "the high bits of the multiplier")
    code("mov %spare, %high")
    code("lsls %spare, %bits")
    code("subs %low, %low, %spare", "and the low ones")
