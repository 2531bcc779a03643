# SPDX-License-Identifier: MIT
"""Neighbouring windows of int8 pools in assembly, all taps in the text: maxima, and means from integer sums or in float32.

Float32 values are added up in onnxruntime's order; a quotient by a constant is a product and one step of Newton's method
(quotients.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ..core.assembly import BYTE_REACH, Assembler, function
from .mean_lines import NARROWED

PARAMETERS = "int8_t *y, const int8_t *x, int32_t pixels, const int32_t *numbers"


@dataclass(frozen=True)
class Run:
    """Windows of rows x columns, whose bytes are `down` and `right` apart; `step` bytes from window to window."""

    rows: int
    columns: int
    down: int
    right: int
    step: int
    channels: int
    clamps: bool

    @classmethod
    def of(cls, shape: Mapping[str, int], rows: int, columns: int, clamps: bool) -> Run:
        """The run of windows with so many taps inside the image, of a shape as in kit/window2d.h."""
        channels = shape["in_channels"]
        down, right = shape["dilation_height"] * shape["in_width"] * channels, shape["dilation_width"] * channels
        return cls(rows, columns, down, right, shape["stride_width"] * channels, channels, clamps)

    def maxima(self) -> tuple[str, str]:
        """Returns name and text of the function of maxima; numbers: {0, 0, lowest, highest}."""
        emit = Assembler()
        emit("%enter")
        self._begin(emit)
        emit.label("pixel")
        emit(*self._count("%turns"), "wlstp.8 lr, %turns, %passed")
        emit.label("some")
        for index, address in enumerate(self._taps(emit, 16)):
            emit(f"vldrb.u8 {'%q.value' if index else '%q.largest'}, {address}")
            emit(*(["vmax.s8 %q.largest, %q.largest, %q.value"] if index else []))
        self._clamp(emit, "%q.largest")
        emit("vstrb.8 %q.largest, [%y], #16", "letp lr, %some")
        emit.label("passed")
        self._next(emit, 16)
        return self._function("maxima", emit)

    def means(self, drop: int, away: bool, checks: bool) -> tuple[str, str]:
        """Returns name and text of the function of a line; numbers: {factor, start, lowest, highest, suspect sums}.

        It returns how many pixels are left; if it `checks`, the first one of these has a suspect sum.
        """
        emit, whole = Assembler(), self.channels % 8 == 0
        emit("%enter", "ldrd %factor, %start, [%numbers]", "vdup.32 %q.factor, %factor")
        self._begin(emit)
        if checks:
            emit("ldrd %suspect, %other, [%numbers, #16]")
        if not whole:
            emit("vmov.i32 %q.sum, #0", "vmov.i32 %q.value, #0", why="predicated loads read them")
        emit.label("pixel")
        emit(*self._count("%left", checks), "add %turns, %left, #7", "lsr %turns, %turns, #3")
        emit(*(["vmov.i32 %q.found, #-1"] if checks else []), "dls lr, %turns")
        emit.label("eight")
        if not whole:
            emit("vctp.16 %left", "subs %left, %left, #8")
        for index, address in enumerate(self._taps(emit, 8)):
            emit(*_predicated(f"vldrb.s16 {'%q.value' if index else '%q.sum'}, {address}", whole))
            emit(*(["vadd.i16 %q.sum, %q.sum, %q.value"] if index else []))
        for suspect in ("%suspect", "%other") if checks else ():
            emit(f"vsub.i16 %q.value, %q.sum, {suspect}", "vmin.u16 %q.found, %q.found, %q.value")
        if away:
            emit("vshr.s16 %q.value, %q.sum, #15", "vadd.i16 %q.sum, %q.sum, %q.value")
        emit("vmovlb.s16 %q.even, %q.sum", "vmovlt.s16 %q.odd, %q.sum")
        emit("vmlas.s32 %q.even, %q.factor, %start", "vmlas.s32 %q.odd, %q.factor, %start")
        emit(f"vshrnb.i32 %q.even, %q.even, #{NARROWED}", f"vshrnt.i32 %q.even, %q.odd, #{NARROWED}")
        emit(f"vqrshrnb.s16 %q.even, %q.even, #{drop}")
        self._clamp(emit, "%q.even")
        emit(*_predicated("vstrb.16 %q.even, [%y], #8", whole), "le lr, %eight")
        self._next(emit, 8, checks)
        ways = f"{'_away' * away}{'_checked' * checks}_drop_{drop}"
        return self._function(f"means{ways}", emit)

    def float_means(self, by_columns: bool, stages: int) -> tuple[str, str]:
        """Returns name and text of the function in float32, which divides in so many stages; numbers: {zero point, 0,
        lowest, highest, less the zero point of the input, its scale, for each stage the reciprocal of the divisor, less the
        divisor}."""
        emit = Assembler()
        emit("%enter", "ldr %zero, [%numbers]", "ldrd %less_zero, %scale, [%numbers, #16]")
        emit("ldrd %inverse, %less, [%numbers, #24]")
        if stages == 2:
            emit("ldrd %second, %less_second, [%numbers, #32]")
        self._begin(emit)
        emit.label("pixel")
        emit(*self._count("%turns"), "wlstp.32 lr, %turns, %passed")
        emit.label("four")
        self._float_sums(emit, by_columns)
        result = "%q.sum"
        for inverse, less in (("%inverse", "%less"), ("%second", "%less_second"))[:stages]:
            quotient = "%q.quotient" if result == "%q.sum" else "%q.sum"
            emit(f"vmul.f32 {quotient}, {result}, {inverse}", f"vfma.f32 {result}, {quotient}, {less}")
            emit(f"vfma.f32 {quotient}, {result}, {inverse}", why="what is left over corrects the quotient")
            result = quotient
        emit(f"vcvtn.s32.f32 {result}, {result}", f"vadd.i32 {result}, {result}, %zero")
        emit(f"vqmovnb.s32 {result}, {result}", f"vqmovnb.s16 {result}, {result}")
        self._clamp(emit, result)
        emit(f"vstrb.32 {result}, [%y], #4", "letp lr, %four")
        emit.label("passed")
        self._next(emit, 4)
        return self._function(f"float_means_{stages}{'_by_columns' * by_columns}", emit)

    def _float_sums(self, emit: Assembler, by_columns: bool) -> None:
        """The sum of the values in float32, row by row, or the sum of the columns' sums."""
        addresses, size = self._taps(emit, 4, by_columns), self.rows if by_columns else self.rows * self.columns
        for chain in range(self.rows * self.columns // size):
            total = "%q.column" if chain else "%q.sum"
            for index in range(size):
                value = "%q.value" if index else total
                emit(f"vldrb.s32 {value}, {next(addresses)}", f"vadd.i32 {value}, {value}, %less_zero")
                emit(f"vcvt.f32.s32 {value}, {value}", f"vmul.f32 {value}, {value}, %scale")
                emit(*([f"vadd.f32 {total}, {total}, %q.value"] if index else []))
            emit(*(["vadd.f32 %q.sum, %q.sum, %q.column"] if chain else []))

    def _taps(self, emit: Assembler, lanes: int, by_columns: bool = False) -> Iterator[str]:
        """Yields the address of each tap, row by row or column by column; %x moves on with the first one."""
        offsets = [row * self.down + column * self.right for row in range(self.rows) for column in range(self.columns)]
        if by_columns:
            offsets = [offset for column in range(self.columns) for offset in offsets[column :: self.columns]]
        yield f"[%x], #{lanes}"
        base, place = "%x", lanes
        for offset in offsets[1:]:
            if not 0 <= offset - place + BYTE_REACH <= 2 * BYTE_REACH:
                emit.add("%tap", "%x", offset - lanes)
                base, place = "%tap", offset
            yield f"[{base}, #{offset - place}]"

    def _is_flat(self, checks: bool) -> bool:
        """Whether a run is computed as one pixel with all channels of its pixels, which are neighbours in memory."""
        return self.step == self.channels and not checks

    def _count(self, target: str, checks: bool = False) -> list[str]:
        """The number of values of a turn."""
        return [f"movw {target}, #{self.channels}", *([f"mul {target}, {target}, %pixels"] if self._is_flat(checks) else [])]

    def _begin(self, emit: Assembler) -> None:
        if self.clamps:
            emit("ldrd %low, %high, [%numbers, #8]", "vdup.8 %q.low, %low", "vdup.8 %q.high, %high", why="levels")

    def _clamp(self, emit: Assembler, levels: str) -> None:
        if self.clamps:
            emit(f"vmax.s8 {levels}, {levels}, %q.low", f"vmin.s8 {levels}, {levels}, %q.high")

    def _next(self, emit: Assembler, lanes: int, checks: bool = False) -> None:
        """The next pixel, and the end of the function."""
        passed = -(-self.channels // lanes) * lanes
        if self._is_flat(checks):
            emit("movs %pixels, #0", "%leave %pixels")
            return
        if checks:
            emit("movw %least, #65535", "vminv.u16 %least, %q.found", "cmp %least, #0", "beq %end")
        emit.add("%x", "%x", self.step - passed)
        emit.add("%y", "%y", self.channels - passed)
        emit("subs %pixels, %pixels, #1", "bne %pixel")
        emit.label("end")
        emit("%leave %pixels")

    def _function(self, kind: str, emit: Assembler) -> tuple[str, str]:
        size = f"{self.rows}x{self.columns}_{self.down}x{self.right}_s{self.step}_c{self.channels}{'_clamped' * self.clamps}"
        name = f"aidge_helium_{kind}_{size}"
        return name, function(name, "Neighbouring windows of a pool.", PARAMETERS, emit.lines, "int32_t")


def _predicated(instruction: str, whole: bool) -> list[str]:
    """The instruction, of the lanes that VPR names unless vectors are whole."""
    operation, operands = instruction.split(" ", 1)
    return [instruction] if whole else ["vpst", f"{operation.replace('.', 't.', 1)} {operands}"]
