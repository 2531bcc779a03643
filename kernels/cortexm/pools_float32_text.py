# SPDX-License-Identifier: MIT
"""Assembly of float32 pools: neighbouring windows that see as many rows and columns of the image.

Maxima are compared in core registers: as signed integers floats have the right order but where both are negative. If the largest
integer is negative, all taps are, and the smallest integer is the largest value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .assembly import Routine
from .float32 import Limits, listed, values

PARAMETERS = "float *output, const float *source, const aidge_cortexm_seen_of_pool *seen, int32_t pixels"
PORTABLE = "aidge_cortexm_pooled_float32({mean}, {relu}, output, source, seen, pixels);"
WORDS = 4  # channels whose maxima are found together
SUMS = 8  # channels whose sums are
LARGEST, TAPS = ([f"%{name}{number}" for number in range(WORDS)] for name in ("largest", "tap"))


def _name(kind: str, whole: bool, rest: int, has_relu: bool) -> str:
    groups = f"{'_groups' * whole}{f'_{rest}' * bool(rest)}{'_relu' * has_relu}"
    return f"aidge_cortexm_{kind}_float32{groups}"


def maxima_text(size: tuple[int, int] | None, channels: int, has_relu: bool) -> tuple[str, str]:
    """Name and text for windows of so many rows and columns, all in the text, or of as many as `seen` says."""
    whole, rest = channels >= WORDS, channels % WORDS
    name = _name("largest" + (f"_{size[0]}x{size[1]}" if size else ""), whole, rest, has_relu)
    code = Routine()
    code("%enter")
    code("vmov %s.pixels, %pixels")
    code("vldm %seen, {%s.rows, %s.columns, %s.advance, %s.channels}")
    code("ldrd %step, %row_step, [%seen, #16]", "from tap to tap, from behind a row to the next one")
    if whole:
        code(f"subs %step, %step, #{4 * WORDS}", "what a load moves on by")
        if size:
            code("adds %row_step, %row_step, %step", "from a row's last tap to the next row")
    code.label("window", "a window")
    if whole:
        code("vmov %end, %s.channels")
        code(f"bic %end, %end, #{WORDS - 1}")
        code("add %end, %source, %end, lsl #2")
        code("vmov %s.end, %end", "end of the whole groups")
        code.label("group", f"{WORDS} channels")
        _largest_of_group(code, size, has_relu)
        code("cmp %source, %end")
        code("bne %group")
    if rest:
        _largest_of_rest(code, rest, whole, bool(size and whole), has_relu)
    code("vmov %advance, %s.advance")
    code("add %source, %source, %advance")
    code("vmov %left, %s.pixels")
    code("subs %left, %left, #1")
    code("vmov %s.pixels, %left")
    code("bne %window")
    code("%leave")
    if whole and not has_relu:
        _all_negative(code, size)
    portable = PORTABLE.format(mean=0, relu=int(has_relu))
    return name, code.function(name, PARAMETERS, "The largest values of neighbouring windows.", portable)


def _compare(code: Routine, condition: str) -> None:
    for largest, tap in zip(LARGEST, TAPS):
        code(f"cmp {largest}, {tap}")
        code(f"it {condition}")
        code(f"mov{condition} {largest}, {tap}")


def _largest_of_group(code: Routine, size: tuple[int, int] | None, has_relu: bool) -> None:
    """`_all_negative` goes on at the label found."""
    code(f"ldm %source!, {listed(LARGEST)}")
    if size:
        base = "%source"
        for tap in range(1, size[0] * size[1]):
            code(f"add %place, {base}, {'%step' if tap % size[1] else '%row_step'}")
            code(f"ldm %place!, {listed(TAPS)}")
            _compare(code, "lt")
            base = "%place"
    else:
        code("sub %place, %source, #16")
        _all_taps(code, lambda: _compare(code, "lt"), "")
        code("vmov %end, %s.end")
    if has_relu:
        for largest in LARGEST:
            code(f"bic {largest}, {largest}, {largest}, asr #31", "0 if negative")
    else:
        code(f"orr %signs, {LARGEST[0]}, {LARGEST[1]}")
        code(f"orr %signs, %signs, {LARGEST[2]}")
        code(f"orrs %signs, %signs, {LARGEST[3]}")
        code("bmi %negative", "all taps of a channel are negative")
        code.label("found")
    code(f"stm %output!, {listed(LARGEST)}")


def _all_taps(code: Routine, each: Callable[[], None], which: str) -> None:
    """Rows and columns as counted, from %place on. `which` ends the names of the labels."""
    code("vmov %s.left, %s.rows")
    code.label(f"each_row{which}", "a row")
    code("vmov %left, %s.columns")
    code.label(f"each_column{which}", "a tap")
    code(f"ldm %place!, {listed(TAPS)}")
    code("add %place, %place, %step")
    each()
    code("subs %left, %left, #1")
    code(f"bne %each_column{which}")
    code("add %place, %place, %row_step")
    code("vmov %left, %s.left")
    code("subs %left, %left, #1")
    code("vmov %s.left, %left")
    code(f"bne %each_row{which}")


def _all_negative(code: Routine, size: tuple[int, int] | None) -> None:
    """Behind the end: the smallest integers of the group, too, and of each channel the one that counts."""
    found = values("found", WORDS)
    code.label("negative", "some channel is negative")
    for first in (0, 2):
        code(f"vmov {found[first]}, {found[first + 1]}, {LARGEST[first]}, {LARGEST[first + 1]}")
    code("sub %place, %source, #16")
    code(f"ldm %place, {listed(LARGEST)}")
    if size:
        code("subs %row_step, %row_step, %step")
    _all_taps(code, lambda: _compare(code, "gt"), "_of_negatives")
    if size:
        code("adds %row_step, %row_step, %step")
    for first in (0, 2):
        code(f"vmov {TAPS[first]}, {TAPS[first + 1]}, {found[first]}, {found[first + 1]}")
    for largest, integer in zip(LARGEST, TAPS):
        code(f"cmp {integer}, #0")
        code("it ge")
        code(f"movge {largest}, {integer}")
    code("vmov %end, %s.end")
    code("b %found")


def _largest_of_rest(code: Routine, rest: int, is_moved: bool, has_row: bool, has_relu: bool) -> None:
    """Channel by channel in registers of the FPU. `is_moved`: the step is less by a load, `has_row`: and in the step to the next
    row."""
    code(f"movs %channel, #{rest}", "channels that are left")
    code("subs %to_row, %row_step, %step" if has_row else "mov %to_row, %row_step")
    code(f"add %to_tap, %step, #{4 * WORDS - 4}" if is_moved else "subs %to_tap, %step, #4")
    code.label("channel_of_rest", "a channel")
    code("mov %place, %source")
    code("vldmia %source!, {%s.value}")
    code("vmov %row, %s.rows")
    code.label("row_of_rest", "a row")
    code("vmov %column, %s.columns")
    code.label("tap_of_rest", "a tap")
    code("vldmia %place!, {%s.tap}")
    code("add %place, %place, %to_tap")
    code("vcmp.f32 %s.tap, %s.value")
    code("vmrs APSR_nzcv, fpscr")
    code("it gt")
    code("vmovgt.f32 %s.value, %s.tap")
    code("subs %column, %column, #1")
    code("bne %tap_of_rest")
    code("add %place, %place, %to_row")
    code("subs %row, %row, #1")
    code("bne %row_of_rest")
    _store(code, ["%s.value"], has_relu)
    code("subs %channel, %channel, #1")
    code("bne %channel_of_rest")


def _store(code: Routine, numbers: Sequence[str], has_relu: bool) -> None:
    Limits(0.0 if has_relu else -float("inf"), float("inf")).store(code, numbers, "%output", ("%word", "%other"))


def means_text(channels: int, has_relu: bool) -> tuple[str, str]:
    """Name and text for windows of as many rows and columns as `seen` says."""
    whole, rest = channels >= SUMS, channels % SUMS
    name, code = _name("means", whole, rest, has_relu), Routine()
    code("%enter")
    code("ldm %seen!, {%rows, %columns, %advance, %channels}")
    code.label("window", "a window")
    if whole:
        code("bic %end, %channels, #7")
        code("add %end, %source, %end, lsl #2", "end of the whole groups")
        code.label("group", f"{SUMS} channels")
        _sums(code, SUMS, has_relu, "")
        code("cmp %source, %end")
        code("bne %group")
    if rest:
        _sums(code, rest, has_relu, "_of_rest")
    code("add %source, %source, %advance")
    code("subs %pixels, %pixels, #1")
    code("bne %window")
    code("%leave")
    portable = PORTABLE.format(mean=1, relu=int(has_relu))
    return name, code.function(name, PARAMETERS, "The means of neighbouring windows.", portable)


def _sums(code: Routine, count: int, has_relu: bool, which: str) -> None:
    """Of neighbouring channels; %source and %output move on by them. `which` ends the names of the labels."""
    sums, taps = values("sum", count), values("tap", count)
    code("ldrd %step, %row_step, [%seen]", "from tap to tap, from behind a row to the next one")
    code(f"subs %step, %step, #{4 * count}", "what a load moves on by")
    code("movs %zero, #0")
    for total in sums:
        code(f"vmov {total}, %zero")
    code("mov %place, %source")
    code("mov %row, %rows")
    code.label(f"next_row{which}", "a row")
    code("mov %column, %columns")
    code.label(f"next_tap{which}", "a tap")
    code(f"vldmia %place!, {listed(taps)}")
    code("add %place, %place, %step")
    for total, tap in zip(sums, taps):
        code(f"vadd.f32 {total}, {total}, {tap}")
    code("subs %column, %column, #1")
    code(f"bne %next_tap{which}")
    code("add %place, %place, %row_step")
    code("subs %row, %row, #1")
    code(f"bne %next_row{which}")
    code("vldr %s.factor, [%seen, #8]")
    for total in sums:
        code(f"vmul.f32 {total}, {total}, %s.factor")
    code(f"add %source, %source, #{4 * count}")
    _store(code, sums, has_relu)
