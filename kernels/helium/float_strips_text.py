# SPDX-License-Identifier: MIT
"""The assembly of float_strips.py: as strips_text.py, but sums become float32."""

from __future__ import annotations

from . import floats
from .assembly import SAVED_BYTES, c_function, function, loop
from .float_strips import OUTPUT_BYTES, FloatLongStrips, FloatStrips
from .long_strips_text import LongStripsPrinter
from .planes_text import FRAME_BYTES, PARAMETERS, places_lines
from .strips_text import StripsPrinter


class FloatStripsPrinter(StripsPrinter):
    """As the base, but r7, r8, r9: the zero point's part of a sum, factor, bias; q4: the highest result; q6: offsets of four
    stores; at sp + 16: zero point with its sign changed, scale."""

    output_bytes = OUTPUT_BYTES

    def __init__(self, form: FloatStrips):
        super().__init__(form)
        self.floats, self.second_half, self.flips = form.floats, form.second_half, not form.floats.signed

    def _begin_layer(self) -> None:
        self.emit(f"ldr r4, [sp, #{SAVED_BYTES + FRAME_BYTES + 4}]", "ldrd r4, r6, [r4]", "strd r4, r6, [sp, #16]")

    def _copy(self) -> None:
        self.emit(*(["movs r8, #128"] if self.flips else []))
        super()._copy()

    def _channel(self) -> None:
        emit, bits = self.emit, self.floats.highest_bits
        emit(f"vldrw.u32 q6, [r2, #{self.stores}]", "ldm r12!, {r7, r8, r9}", why="sum of the weights, factor, bias")
        emit("ldrd r0, r2, [sp, #16]", "mul r7, r7, r0", why="zero point, scale")
        emit("vmov s20, s21, r8, r2", "vmul.f32 s20, s20, s21", "vmov r8, s20")
        emit(*([f"movw r0, #{bits & 0xFFFF}", f"movt r0, #{bits >> 16}", "vdup.32 q4, r0"] if bits else []))
        self._tiles()

    def _mask(self, outputs: tuple[int, int], register: str = "r0") -> None:
        """Each half of a tile has one of its own."""

    def _tile(self, outputs: tuple[int, int], is_begun: bool = False, goes_on: bool = False) -> None:
        emit, form = self.emit, self.floats
        used = self._sums(outputs, is_begun)
        texts = ["vadd.i32 {0}, {0}, r7", "vcvt.f32.s32 {0}, {0}", "vmul.f32 {0}, {0}, r8", "vadd.f32 {0}, {0}, r9"]
        texts += ["vqshlu.s32 {0}, {0}, #0"] if form.bounds[0] == 0 else []
        texts += ["vmin.s32 {0}, {0}, q4"] if form.highest_bits else []
        for text in texts:
            emit(*(text.format(register) for register in used))
        for second, register in enumerate(used):
            stored = [
                second_of == second and row < outputs[0] and column < outputs[1] for row, column, second_of in self.form.lanes
            ]
            lanes = [is_stored for is_stored, lane in zip(stored, self.form.lanes) if lane[2] == second]
            if not all(lanes):
                emit(f"movw r2, #{sum(15 << 4 * lane for lane, is_stored in enumerate(lanes) if is_stored)}", "vmsr p0, r2")
            emit.add("r0", "r5", self.second_half if second else 0) if second else None
            emit(*([] if all(lanes) else ["vpst"]))
            emit(f"vstrw{'' if all(lanes) else 't'}.32 {register}, [{'r0' if second else 'r5'}, q6, uxtw #2]")
        emit.add("r5", "r5", self.form.steps(self.form.axes[0])[1])


class FloatLongStripsPrinter(FloatStripsPrinter, LongStripsPrinter):
    """Of larger windows."""


def texts_of(form: FloatStrips) -> tuple[str, tuple[str, ...]]:
    """The function for all images, and the C texts that it needs."""
    shape, name = form.shape, f"{form.name}_all"
    flip = 0 if form.floats.signed else 128
    halves = int(isinstance(form, FloatLongStrips) and form.halves)
    plain = f"""    static const aidge_helium_planes_shape shape = {{{", ".join(map(str, form.fields))}}};
    (void)places;
    aidge_helium_dynamic_planes(x, y, stream, plane, data, {flip}, {halves}, {form.floats.in_c}, &shape);"""
    parameters = PARAMETERS.replace("int8_t *y", "float *y") + floats.PARAMETERS
    purpose = f"{shape.channels} channels of {shape.out_height} x {shape.out_width} outputs, one after the other."
    pad = f"(int32_t)zero_point[0]{f' - {flip}' if flip else ''}"
    body = [
        *places_lines(form.places),
        "const int8_t *x = (const int8_t *)input;",
        f"const aidge_helium_data measured = {{-({pad}), scale[0]}};",
        "int32_t batch;",
        f"aidge_helium_fill((int8_t *)scratch, {pad}, {form.plane_bytes});",
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
    printer = FloatLongStripsPrinter if isinstance(form, FloatLongStrips) else FloatStripsPrinter
    text = function(form.name, purpose, parameters, printer(form).lines(), plain)
    return name, (text, c_function(name, f"{form.floats.of_driver}, void *scratch", body))
