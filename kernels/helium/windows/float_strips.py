# SPDX-License-Identifier: MIT
"""Depthwise convolution in strips (strips.py) of bytes whose zero point and scale are given beside, to float32.

Unsigned bytes become signed ones, 128 less, while they are copied.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy

from ..core import floats
from ..core.assembly import SAVED_BYTES, c_function, function, loop
from ..core.finer import are_two_bytes
from ..core.floats import FloatNumbers, Floats
from ..core.geometry import Geometry
from .strips import PLACES, Strips
from .strips_text import FRAME_BYTES, PARAMETERS, StripsPrinter, places_lines


@dataclass(frozen=True)
class FloatStrips(Strips):
    """All channels of one image; `floats` says what sums become."""

    floats: Floats = field(default_factory=lambda: Floats((0, 0)))
    largest, output_bytes = 16_384, 4
    numbers_bytes = 12  # of a channel: the sum of its weights, factor and bias

    @classmethod
    def of(cls, shape: Geometry, form: Floats, weights: numpy.ndarray) -> FloatStrips | None:
        """The form with the fewest instructions that fits; None where none does."""
        if not are_two_bytes(weights):
            return None
        halves = bool(weights.min(initial=0) < -128 or weights.max(initial=0) > 127)
        forms = [cls(shape, False, tall, halves, floats=form) for tall in (False, True)]
        return min((one for one in forms if one.fits), key=lambda one: one.instructions, default=None)

    @property
    def name(self) -> str:
        return super().name.replace("strips_", "dynamic_strips_", 1) + self.floats.name

    @property
    def description(self) -> str:
        return f"one channel at a time, {self.tile[0]} x {self.tile[1]} outputs, scaled to float"

    @property
    def second_half(self) -> int:
        """How many bytes behind the first four outputs of a tile the other four are stored."""
        return 2 * self.output_bytes * self.shape.channels * (self.shape.out_width if self.tall else 1)

    @property
    def stores(self) -> numpy.ndarray:
        """Offsets of the outputs of half a tile, in elements, 16 bytes."""
        shape = self.shape
        return numpy.array([(row * shape.out_width + column) * shape.channels for row, column in PLACES], "<u4")

    def instructions_of_tile(self, outputs: tuple[int, int]) -> int:
        parts = sum(1 for part in self.parts_of(outputs) if part)
        clamps = (self.floats.bounds[0] == 0) + (self.floats.highest_bits > 0)
        return super().instructions_of_tile(outputs) + parts * (2 + clamps) - 3 + 3 * (outputs != self.tile)

    def float_stream(self, taps: numpy.ndarray, numbers: FloatNumbers) -> numpy.ndarray:
        """`taps` [channels, rows, columns]: 16 bytes that are not used, the numbers of each channel, all taps."""
        columns = [numbers.sums.astype("<i4"), *(part.astype("<f4").view("<i4") for part in (numbers.factors, numbers.bias))]
        parts = [bytes(16), numpy.stack(columns, axis=1).tobytes(), self.stored(taps).tobytes()]
        return numpy.frombuffer(b"".join(parts), numpy.int8)


class _Printer(StripsPrinter):
    """As the base, but r7, r8, r9: the zero point's part of a sum, factor, bias; q4: the highest result; q6: offsets of four
    stores; at sp + 16: zero point with its sign changed, scale."""

    def __init__(self, form: FloatStrips):
        super().__init__(form)
        self.floats, self.second_half, self.flips = form.floats, form.second_half, not form.floats.signed

    def _begin_layer(self) -> None:
        self.emit(f"ldr r4, [sp, #{SAVED_BYTES + FRAME_BYTES + 4}]", "ldrd r4, r6, [r4]", "strd r4, r6, [sp, #16]")

    def _copy(self) -> None:
        self.emit(*(["movs r8, #128"] if self.flips else []))
        super()._copy()

    def _numbers(self) -> None:
        emit = self.emit
        emit("vldrw.u32 q6, [r2]", "ldm r12!, {r7, r8, r9}", why="sum of the weights, factor, bias")
        emit("ldrd r0, r2, [sp, #16]", "mul r7, r7, r0", why="zero point, scale")
        emit("vmov s20, s21, r8, r2", "vmul.f32 s20, s20, s21", "vmov r8, s20")
        self.floats.highest(emit, "q4", "r0")

    def _mask(self, outputs: tuple[int, int], register: str = "r0") -> None:
        """Each half of a tile has one of its own."""

    def _tile(self, outputs: tuple[int, int], is_begun: bool = False, goes_on: bool = False) -> None:
        emit, form = self.emit, self.form
        used = self._sums(outputs, is_begun)
        for text in ("vadd.i32 {0}, {0}, r7", "vcvt.f32.s32 {0}, {0}", "vmul.f32 {0}, {0}, r8", "vadd.f32 {0}, {0}, r9"):
            emit(*(text.format(register) for register in used))
        self.floats.clamp(emit, used, "q4")
        for second, register in enumerate(used):
            lanes = [row < outputs[0] and column < outputs[1] for row, column, of_second in form.lanes if of_second == second]
            mark, address = "" if all(lanes) else "t", "r0" if second else "r5"
            if mark:
                emit(f"movw r2, #{sum(15 << 4 * lane for lane, is_stored in enumerate(lanes) if is_stored)}", "vmsr p0, r2")
            if second:
                emit.add("r0", "r5", self.second_half)
            emit(*(["vpst"] if mark else []), f"vstrw{mark}.32 {register}, [{address}, q6, uxtw #2]")
        emit.add("r5", "r5", form.steps(0)[1])


def texts_of(form: FloatStrips) -> tuple[str, tuple[str, ...]]:
    """The function for all images, and the C texts that it needs."""
    shape, name = form.shape, f"{form.name}_all"
    flip = 0 if form.floats.signed else 128
    parameters = PARAMETERS.replace("int8_t *y", "float *y") + floats.PARAMETERS
    purpose = f"{shape.channels} channels of {shape.out_height} x {shape.out_width} outputs, one after the other."
    pad = f"(int32_t)zero_point[0]{f' - {flip}' if flip else ''}"
    body = [
        *places_lines(form.places),
        "const int8_t *x = (const int8_t *)input;",
        f"const aidge_helium_data measured = {{-({pad}), scale[0]}};",
        "int32_t batch;",
        f"aidge_helium_fill((int8_t *)scratch, {pad}, {form.bytes});",
        *loop(
            "batch",
            shape.batches,
            [
                f"{form.name}(x, y, stream, (int8_t *)scratch, places, &measured);",
                f"x += {shape.in_height * shape.in_width * shape.channels};",
                f"y += {shape.out_height * shape.out_width * shape.channels};",
            ],
        ),
    ]
    text = function(form.name, purpose, parameters, _Printer(form).lines())
    return name, (text, c_function(name, f"{form.floats.of_driver}, void *scratch", body))
