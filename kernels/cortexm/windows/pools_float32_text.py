# SPDX-License-Identifier: MIT
"""Assembly of float32 pools: neighbouring windows that see as many rows and columns of the image.

Maxima are compared in core registers: as signed integers floats have the right order but where both are negative. If the largest
integer is negative, all taps are, and the smallest integer is the largest value.
"""

from __future__ import annotations

from aidge_build.contract.kernel_kit.pool_float32 import PARAMETERS

from ..core.assembly import Routine
from ..core.float32 import Limits, listed, values

WORDS = 4  # channels whose maxima are found together
SUMS = 8  # channels whose sums are


def _name(kind: str, whole: bool, rest: int, has_relu: bool) -> str:
    groups = f"{'_groups' * whole}{f'_{rest}' * bool(rest)}{'_relu' * has_relu}"
    return f"aidge_cortexm_{kind}_float32{groups}"


def maxima_text(size: tuple[int, int] | None, channels: int, has_relu: bool) -> tuple[str, str]:
    """Name and text for windows of so many rows and columns, all in the text, or of as many as `seen` says."""
    whole, rest = channels >= WORDS, channels % WORDS
    name = _name("largest" + (f"_{size[0]}x{size[1]}" if size else ""), whole, rest, has_relu)
    code = Routine()
    groups = [_Maxima(code, WORDS, size, has_relu, "")] * whole + [_Maxima(code, rest, size, has_relu, "_of_rest")] * (rest > 0)
    code("%enter")
    code("vmov %s.pixels, %pixels")
    code("vldm %seen, {%s.rows, %s.columns, %s.advance, %s.channels}")
    code("ldrd %step, %row_step, [%seen, #16]", "from tap to tap, from behind a row to the next one")
    if size:
        code("adds %row_step, %row_step, %step", "from a row's last tap to the next row")
    code.label("window", "a window")
    if whole:
        code("vmov %end, %s.channels")
        code(f"bic %end, %end, #{WORDS - 1}")
        code("add %end, %source, %end, lsl #2")
        code("vmov %s.end, %end", "end of the whole groups")
        code.label("group", f"{WORDS} channels")
        groups[0].print()
        if not size:
            code("vmov %end, %s.end")
        code("cmp %source, %end")
        code("bne %group")
    if rest:
        groups[-1].print()
    code("vmov %advance, %s.advance")
    code("add %source, %source, %advance")
    code("vmov %left, %s.pixels")
    code("subs %left, %left, #1")
    code("vmov %s.pixels, %left")
    code("bne %window")
    code("%leave")
    for group in groups:
        group.print_negative()
    return name, code.function(name, PARAMETERS, "The largest values of neighbouring windows.")


class _Maxima:
    """The largest values of so many neighbouring channels of a window; `which` ends the names of the labels."""

    def __init__(self, code: Routine, count: int, size: tuple[int, int] | None, has_relu: bool, which: str):
        self.code, self.count, self.size, self.has_relu, self.which = code, count, size, has_relu, which
        self.largest, self.taps = ([f"%{name}{number}" for number in range(count)] for name in ("largest", "tap"))

    def print(self) -> None:
        """%source and %output move on to the next channels."""
        code = self.code
        if self.size:
            taps = range(1, self.size[0] * self.size[1])
            if taps:
                code(f"add %place, %source, {self._step(1)}")
            self._load("%source", self.largest, moves=True)
            for tap in taps:
                if tap > 1:
                    code(f"add %place, %place, {self._step(tap)}")
                self._load("%place", self.taps)
                self._compare("lt")
        else:
            code("mov %place, %source")
            self._load("%source", self.largest, moves=True)
            self._all_taps("lt", self.which)
        if self.has_relu:
            for largest in self.largest:
                code(f"bic {largest}, {largest}, {largest}, asr #31", "0 if negative")
        else:
            code(f"orrs %signs, {self.largest[0]}, {self.largest[min(1, self.count - 1)]}")
            for largest in self.largest[2:]:
                code(f"orrs %signs, %signs, {largest}")
            code(f"bmi %negative{self.which}", "all taps of a channel are negative")
            code.label(f"found{self.which}")
        code(f"stm %output!, {listed(self.largest)}" if self.count > 1 else f"str {self.largest[0]}, [%output], #4")

    def print_negative(self) -> None:
        """Behind the end: the smallest integers, too, and of each channel the one that counts."""
        if self.has_relu:
            return
        code, found = self.code, values("found", self.count)
        code.label(f"negative{self.which}", "some channel is negative")
        for name, largest in zip(found, self.largest):
            code(f"vmov {name}, {largest}")
        code(f"sub %place, %source, #{4 * self.count}")
        self._load("%place", self.largest)
        if self.size:
            code("subs %row_step, %row_step, %step")
        self._all_taps("gt", f"_of_negatives{self.which}")
        if self.size:
            code("adds %row_step, %row_step, %step")
        for name, largest, tap in zip(found, self.largest, self.taps):
            code(f"vmov {tap}, {name}")
            code(f"cmp {tap}, #0")
            code("it ge")
            code(f"movge {largest}, {tap}")
        if self.size and self.count == WORDS:
            code("vmov %end, %s.end")
        code(f"b %found{self.which}")

    def _step(self, tap: int) -> str:
        return "%step" if tap % self.size[1] else "%row_step"

    def _load(self, pointer: str, names: list[str], moves: bool = False) -> None:
        if len(names) > 1:
            self.code(f"ldm {pointer}{'!' * moves}, {listed(names)}")
        else:
            self.code(f"ldr {names[0]}, [{pointer}]{', #4' * moves}")

    def _compare(self, condition: str) -> None:
        for largest, tap in zip(self.largest, self.taps):
            self.code(f"cmp {largest}, {tap}")
            self.code(f"it {condition}")
            self.code(f"mov{condition} {largest}, {tap}")

    def _all_taps(self, condition: str, which: str) -> None:
        """Rows and columns as counted, from %place on."""
        code = self.code
        code("vmov %s.left, %s.rows")
        code.label(f"each_row{which}", "a row")
        code("vmov %left, %s.columns")
        code.label(f"each_column{which}", "a tap")
        self._load("%place", self.taps)
        code("add %place, %place, %step")
        self._compare(condition)
        code("subs %left, %left, #1")
        code(f"bne %each_column{which}")
        code("add %place, %place, %row_step")
        code("vmov %left, %s.left")
        code("subs %left, %left, #1")
        code("vmov %s.left, %left")
        code(f"bne %each_row{which}")


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
    return name, code.function(name, PARAMETERS, "The means of neighbouring windows.")


def _sums(code: Routine, count: int, has_relu: bool, which: str) -> None:
    """Adds up neighbouring channels; %source and %output move on by them. `which` ends the names of the labels."""
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
    limits = Limits(0.0 if has_relu else -float("inf"), float("inf"))
    limits.store(code, sums, "%output")
