# SPDX-License-Identifier: MIT
"""Assembly of float32 pools: neighbouring windows that see as many rows and columns of the image.

Maxima are compared in core registers: as signed integers floats have the right order but where both are negative. If the largest
integer is negative, all taps are, and the smallest integer is the largest value.
"""

from __future__ import annotations

from collections.abc import Callable

from .assembly import Routine
from .float32 import Limits, span

PARAMETERS = "float *output, const float *source, const aidge_cortexm_seen_of_pool *seen, int32_t pixels"
PORTABLE = "aidge_cortexm_pooled_float32({mean}, {relu}, output, source, seen, pixels);"
WORDS = 4  # channels whose maxima are found together
SUMS = 8  # channels whose sums are
LARGEST, TAPS = [f"r{number}" for number in range(4, 8)], [f"r{number}" for number in range(8, 12)]


def _name(kind: str, whole: bool, rest: int, has_relu: bool) -> str:
    groups = f"{'_groups' * whole}{f'_{rest}' * bool(rest)}{'_relu' * has_relu}"
    return f"aidge_cortexm_{kind}_float32{groups}"


def maxima_text(size: tuple[int, int] | None, channels: int, has_relu: bool) -> tuple[str, str]:
    """Name and text for windows of so many rows and columns, all in the text, or of as many as `seen` says."""
    whole, rest = channels >= WORDS, channels % WORDS
    name = _name("largest" + (f"_{size[0]}x{size[1]}" if size else ""), whole, rest, has_relu)
    code = Routine({})
    code("push {{r4-r11, lr}}")
    code("vmov s4, r3", "pixels")
    code("vldm r2, {{s0-s3}}", "rows, columns, advance, channels")
    code("ldrd r2, r3, [r2, #16]", "from tap to tap, from behind a row to the next one")
    if whole:
        code(f"subs r2, r2, #{4 * WORDS}", "what a load moves on by")
        if size:
            code("adds r3, r3, r2", "from a row's last tap to the next row")
    code.label(1, "a window")
    if whole:
        code("vmov lr, s3")
        code(f"bic lr, lr, #{WORDS - 1}")
        code("add lr, r1, lr, lsl #2")
        code("vmov s5, lr", "end of the whole groups")
        code.label(2, f"{WORDS} channels")
        _largest_of_group(code, size, has_relu)
        code("cmp r1, lr")
        code("bne 2b")
    if rest:
        _largest_of_rest(code, rest, whole, bool(size and whole), has_relu)
    code("vmov r4, r5, s2, s3", "advance")
    code("add r1, r1, r4")
    code("vmov r4, s4")
    code("subs r4, r4, #1")
    code("vmov s4, r4")
    code("bne 1b")
    code("pop {{r4-r11, pc}}")
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
    """Labels 3 to 5; label 6 lies behind the end."""
    groups = f"{{{{{', '.join(TAPS)}}}}}"
    code(f"ldm r1!, {{{{{', '.join(LARGEST)}}}}}")
    if size:
        base = "r1"
        for tap in range(1, size[0] * size[1]):
            code(f"add r12, {base}, {'r2' if tap % size[1] else 'r3'}")
            code(f"ldm r12!, {groups}")
            _compare(code, "lt")
            base = "r12"
    else:
        code("sub r12, r1, #16")
        _all_taps(code, lambda: _compare(code, "lt"), (3, 4))
        code("vmov lr, s5")
    if has_relu:
        for largest in LARGEST:
            code(f"bic {largest}, {largest}, {largest}, asr #31", "0 if negative")
    else:
        code("orr r12, r4, r5")
        code("orr r12, r12, r6")
        code("orrs r12, r12, r7")
        code("bmi 6f", "all taps of a channel are negative")
        code.label(5)
    code(f"stm r0!, {{{{{', '.join(LARGEST)}}}}}")


def _all_taps(code: Routine, each: Callable[[], None], labels: tuple[int, int]) -> None:
    """Rows and columns as counted, from r12 on."""
    rows, columns = labels
    code("vmov s6, s0")
    code.label(rows, "a row")
    code("vmov lr, s1")
    code.label(columns, "a tap")
    code(f"ldm r12!, {{{{{', '.join(TAPS)}}}}}")
    code("add r12, r12, r2")
    each()
    code("subs lr, lr, #1")
    code(f"bne {columns}b")
    code("add r12, r12, r3")
    code("vmov lr, s6")
    code("subs lr, lr, #1")
    code("vmov s6, lr")
    code(f"bne {rows}b")


def _all_negative(code: Routine, size: tuple[int, int] | None) -> None:
    """Behind the end: the smallest integers of the group, too, and of each channel the one that counts."""
    code.label(6, "some channel is negative")
    code("vmov s8, s9, r4, r5")
    code("vmov s10, s11, r6, r7")
    code("sub r12, r1, #16")
    code(f"ldm r12, {{{{{', '.join(LARGEST)}}}}}")
    if size:
        code("subs r3, r3, r2")
    _all_taps(code, lambda: _compare(code, "gt"), (7, 8))
    if size:
        code("adds r3, r3, r2")
    code("vmov r8, r9, s8, s9")
    code("vmov r10, r11, s10, s11")
    for largest, found in zip(LARGEST, TAPS):
        code(f"cmp {found}, #0")
        code("it ge")
        code(f"movge {largest}, {found}")
    code("vmov lr, s5")
    code("b 5b")


def _largest_of_rest(code: Routine, rest: int, is_moved: bool, has_row: bool, has_relu: bool) -> None:
    """Channel by channel in registers of the FPU; labels 10 to 12. `is_moved`: the step is less by a load, `has_row`: and in the
    step to the next row."""
    code(f"movs r6, #{rest}", "channels that are left")
    code("subs r7, r3, r2" if has_row else "mov r7, r3")
    code(f"add r8, r2, #{4 * WORDS - 4}" if is_moved else "subs r8, r2, #4")
    code.label(10, "a channel")
    code("mov r12, r1")
    code("vldmia r1!, {{s8}}")
    code("vmov r5, s0")
    code.label(11, "a row")
    code("vmov r4, s1")
    code.label(12, "a tap")
    code("vldmia r12!, {{s9}}")
    code("add r12, r12, r8")
    code("vcmp.f32 s9, s8")
    code("vmrs APSR_nzcv, fpscr")
    code("it gt")
    code("vmovgt.f32 s8, s9")
    code("subs r4, r4, #1")
    code("bne 12b")
    code("add r12, r12, r7")
    code("subs r5, r5, #1")
    code("bne 11b")
    _store(code, 8, 1, has_relu)
    code("subs r6, r6, #1")
    code("bne 10b")


def _store(code: Routine, first: int, count: int, has_relu: bool) -> None:
    Limits(0.0 if has_relu else -float("inf"), float("inf")).store(code, range(first, first + count), "r0", ("r4", "r5"))


def means_text(channels: int, has_relu: bool) -> tuple[str, str]:
    """Name and text for windows of as many rows and columns as `seen` says."""
    whole, rest = channels >= SUMS, channels % SUMS
    name, code = _name("means", whole, rest, has_relu), Routine({})
    code("push {{r4-r11, lr}}")
    code("ldm r2!, {{r6-r9}}", "rows, columns, advance, channels")
    code("mov r12, r8")
    code.label(1, "a window")
    if whole:
        code("bic lr, r9, #7")
        code("add lr, r1, lr, lsl #2", "end of the whole groups")
        code.label(2, f"{SUMS} channels")
        _sums(code, SUMS, has_relu, (3, 4))
        code("cmp r1, lr")
        code("bne 2b")
    if rest:
        _sums(code, rest, has_relu, (6, 7))
    code("add r1, r1, r12")
    code("subs r3, r3, #1")
    code("bne 1b")
    code("pop {{r4-r11, pc}}")
    portable = PORTABLE.format(mean=1, relu=int(has_relu))
    return name, code.function(name, PARAMETERS, "The means of neighbouring windows.", portable)


def _sums(code: Routine, count: int, has_relu: bool, labels: tuple[int, int]) -> None:
    """Of neighbouring channels; r1 and r0 move on by them."""
    rows, columns = labels
    code("ldrd r4, r5, [r2]", "from tap to tap, from behind a row to the next one")
    code(f"subs r4, r4, #{4 * count}", "what a load moves on by")
    code("movs r8, #0")
    for value in range(count):
        code(f"vmov s{value}, r8")
    code("mov r8, r1")
    code("mov r10, r6")
    code.label(rows, "a row")
    code("mov r11, r7")
    code.label(columns, "a tap")
    code(f"vldmia r8!, {span(8, count)}")
    code("add r8, r8, r4")
    for value in range(count):
        code(f"vadd.f32 s{value}, s{value}, s{8 + value}")
    code("subs r11, r11, #1")
    code(f"bne {columns}b")
    code("add r8, r8, r5")
    code("subs r10, r10, #1")
    code(f"bne {rows}b")
    code("vldr s8, [r2, #8]", "factor")
    for value in range(count):
        code(f"vmul.f32 s{value}, s{value}, s8")
    code(f"add r1, r1, #{4 * count}")
    _store(code, 0, count, has_relu)
