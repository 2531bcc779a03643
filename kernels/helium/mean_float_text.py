# SPDX-License-Identifier: MIT
"""Means of windows from a line of float32 sums (mean_float.h), as text.

A quotient by a constant is a product and one step of Newton's method in fused multiplications: that of the mean by its count, and
by the output scale; where the count is a power of two, one of both. The generator has compared all levels beside the middles.
"""

from __future__ import annotations

from .assembly import Assembler, c_function, function

PARAMETERS = "int8_t *y, const float *line, const int32_t *numbers, int32_t count"
POINTERS = ("r1", "r10", "r11", "r12")  # of neighbouring taps


def mean_text(taps: int, stages: int, clamps: bool) -> tuple[str, tuple[str, ...]]:
    """The name of the function for a layer, and the texts that it needs."""
    name = f"aidge_helium_float_means_{taps}_{stages}{'_clamped' if clamps else ''}"
    run = name.replace("means", "run")
    emit = _run(taps, stages, clamps)
    # The plain version of a run is never called: see the driver.
    return name, (_only_assembly(function(run, "Levels of a run of means.", PARAMETERS, emit.lines, "")), _driver(name, run))


def _run(taps: int, stages: int, clamps: bool) -> Assembler:
    emit = Assembler()
    emit("push {r4-r12, lr}", "ldm r2!, {r4-r9}", why="step, both reciprocals with divisors, zero point")
    if clamps:
        emit("ldrd r10, r11, [r2]", "vdup.8 q2, r10", "vdup.8 q3, r11", why="lowest and highest")
    for pointer, before in zip(POINTERS[1:taps], POINTERS):
        emit(f"add {pointer}, {before}, r4")
    emit("wlstp.32 lr, r3, 2f")
    emit.label(1)
    emit("vldrw.u32 q0, [r1], #16")
    for pointer in POINTERS[1:taps]:
        emit(f"vldrw.u32 q1, [{pointer}], #16", "vadd.f32 q0, q0, q1")
    emit("vmul.f32 q1, q0, r5", "vfma.f32 q0, q1, r6", "vfma.f32 q1, q0, r5", why="what is left over corrects the quotient")
    if stages == 2:
        emit("vmul.f32 q0, q1, r7", "vfma.f32 q1, q0, r8", "vfma.f32 q0, q1, r7")
    emit(f"vcvtn.s32.f32 q0, q{2 - stages}", "vadd.i32 q0, q0, r9", "vqmovnb.s32 q0, q0", "vqmovnb.s16 q0, q0")
    if clamps:
        emit("vmax.s8 q0, q0, q2", "vmin.s8 q0, q0, q3")
    emit("vstrb.32 q0, [r0], #4", "letp lr, 1b")
    emit.label(2)
    emit("pop {r4-r12, pc}")
    return emit


def _only_assembly(text: str) -> str:
    return text[: text.index("#else\n")] + "#endif"


def _driver(name: str, run: str) -> str:
    return c_function(
        name,
        "const int8_t *x, int8_t *y, void *scratch, const int32_t *numbers, const int32_t *exact, const int32_t *row_kinds, "
        "const int32_t *segments, const aidge_helium_float_means *layer",
        [
            "const aidge_kit_window2d *const shape = &layer->shape;",
            "const aidge_helium_line line = aidge_helium_line_of(shape);",
            "const int32_t channels = line.channels;",
            "int32_t batch, out_y, segment;",
            "#if AIDGE_HELIUM_ASSEMBLY",
            "int32_t of_rows[3];",
            "of_rows[0] = layer->zero_point;",
            "of_rows[1] = layer->scale;",
            "of_rows[2] = line.row_step;",
            "(void)memset(scratch, 0, (uint32_t)(4 * line.columns * channels));",
            "#endif",
            "for (batch = 0; batch < shape->batches; batch++) {",
            "    for (out_y = 0; out_y < shape->out_height; out_y++) {",
            "        const int32_t top = out_y * shape->stride_height - shape->pad_top;",
            "        const int32_t first = aidge_kit_first_tap(top, shape->dilation_height);",
            "        const int32_t rows =",
            "            aidge_kit_end_tap(top, shape->dilation_height, shape->in_height, shape->kernel_height) - first;",
            "        const int8_t *const from = x + (top + first * shape->dilation_height) * line.in_row;",
            "        int32_t column = 0;",
            "#if AIDGE_HELIUM_ASSEMBLY",
            "        const float *sums = (const float *)scratch;",
            "        aidge_helium_float_line((float *)scratch + shape->pad_left * channels, from, rows, line.inside * channels,",
            "                                of_rows);",
            "#endif",
            "        for (segment = 0; segment < 2 * layer->segments; segment += 2) {",
            "            const int32_t kind = row_kinds[out_y] * layer->kinds + segments[segment + 1];",
            "            const int32_t end = column + segments[segment];",
            "#if AIDGE_HELIUM_ASSEMBLY",
            "            const int32_t *const own = numbers + AIDGE_HELIUM_FLOAT_MEAN_KIND * kind;",
            "            const int32_t together = line.stride == channels ? end - column : 1;",
            "            for (; column < end; column += together) {",
            f"                {run}(y, sums, own, together * channels);",
            "                sums += together * line.stride;",
            "                y += together * channels;",
            "            }",
            "#else",
            "            const int32_t *const own = exact + (AIDGE_KIT_MEAN_NUMBERS + 1) * kind;",
            "            for (; column < end; column++) {",
            "                const int32_t left = column * shape->stride_width - shape->pad_left;",
            "                const int32_t tap = aidge_kit_first_tap(left, shape->dilation_width);",
            "                const int8_t *const seen = from + (left + tap * shape->dilation_width) * channels;",
            "                aidge_kit_values window;",
            "                int32_t channel;",
            "                window.rows = rows;",
            "                window.columns =",
            "                    aidge_kit_end_tap(left, shape->dilation_width, shape->in_width, shape->kernel_width) - tap;",
            "                window.row_step = line.row_step;",
            "                window.column_step = line.column_step;",
            "                for (channel = 0; channel < channels; channel++) {",
            "                    *y++ = aidge_kit_stored_level(",
            "                        aidge_kit_mean_columns(seen + channel, &window, own[0], own + 1), own + 1);",
            "                }",
            "            }",
            "#endif",
            "        }",
            "    }",
            "    x += shape->in_height * line.in_row;",
            "}",
            "#if AIDGE_HELIUM_ASSEMBLY",
            "(void)exact;",
            "#else",
            "(void)scratch;",
            "(void)numbers;",
            "#endif",
        ],
    )
