# SPDX-License-Identifier: MIT
"""4 pixels x 4 channels of a float32 convolution in assembly: from the image, or through a column of both interleaved."""

from __future__ import annotations

from .assembly import Routine
from .float32 import SAVED_BYTES, Limits

PARAMETERS = (
    "const aidge_cortexm_table_float32 *table, const int32_t *stream, int32_t runs, const int32_t *end, const float *limits"
)
PORTABLE = "aidge_cortexm_pixels_float32(table, stream, runs, end, limits);"
AT_ONCE = 4  # values of a pixel in one turn of the loop
GATHERED = 8  # values of a pixel that go to the column in one turn
OUTPUTS_BYTES = 16  # of the table: what lies before `column`


def direct_text(limits: Limits) -> tuple[str, str]:
    """Name and text: each group of channels reads the values of the 4 pixels from the image."""
    name = f"aidge_cortexm_pixels_float32_direct{limits.suffix}"
    code = _begin()
    code.label(1, "a group of 4 channels")
    _load_biases(code)
    code(f"add r10, r0, #{OUTPUTS_BYTES + 8}")
    code("mov r9, r2")
    code.label(2, "a run of neighbouring values")
    code("ldm r10!, {{r4-r8}}", "4 sources, length")
    code(f"subs r8, r8, #{AT_ONCE}")
    code("blo 4f")
    code.label(3, "4 values of 4 pixels")
    for _ in range(2):
        for pixel in range(4):
            code(f"vldmia r{4 + pixel}!, {{{{s{2 * pixel}-s{2 * pixel + 1}}}}}")
        code("vldmia r1!, {{s8-s15}}", "weights of 2 values for 4 channels")
        for value in range(2):
            _multiply(code, [2 * pixel + value for pixel in range(4)], 8 + 4 * value)
    code(f"subs r8, r8, #{AT_ONCE}")
    code("bhs 3b")
    code.label(4)
    code(f"adds r8, r8, #{AT_ONCE}")
    code("beq 6f")
    code.label(5, "the values left over")
    for pixel in range(4):
        code(f"vldmia r{4 + pixel}!, {{{{s{pixel}}}}}")
    code("vldmia r1!, {{s8-s11}}")
    _multiply(code, range(4), 8)
    code("subs r8, r8, #1")
    code("bne 5b")
    code.label(6)
    code("subs r9, r9, #1")
    code("bne 2b")
    _end(code, limits)
    return name, code.function(name, PARAMETERS, "4 pixels x 4 channels of float32, fused multiply-add.", PORTABLE)


def column_text(values: int, limits: Limits) -> tuple[str, str]:
    """Name and text: the `values` of the 4 pixels are gathered once, side by side, for all groups of channels."""
    turns, rest = divmod(values, AT_ONCE)
    name = f"aidge_cortexm_pixels_float32_column{'_loop' if turns else ''}_{rest}{limits.suffix}"
    code = _begin()
    _gather(code)
    code(f"ldr r9, [r0, #{OUTPUTS_BYTES + 4}]", "the end of whole turns")
    code.label(1, "a group of 4 channels")
    _load_biases(code)
    code(f"ldr r10, [r0, #{OUTPUTS_BYTES}]", "column")
    if turns:
        code.label(3, "4 values of 4 pixels")
        for _ in range(AT_ONCE // 2):
            _two_values(code)
        code("cmp r10, r9")
        code("bne 3b")
    if rest >= 2:
        _two_values(code)
    if rest % 2:
        code("vldmia r10!, {{s0-s3}}")
        code("vldmia r1!, {{s8-s11}}")
        _multiply(code, range(4), 8)
    _end(code, limits)
    return name, code.function(name, PARAMETERS, "4 pixels x 4 channels of float32 through a column.", PORTABLE)


def _begin() -> Routine:
    code = Routine({})
    code("push {{r4-r11, lr}}")
    code("vpush {{s16-s31}}")
    code(f"ldr r12, [sp, #{SAVED_BYTES}]", "limits")
    return code


def _load_biases(code: Routine) -> None:
    code("ldr r11, [r1], #4", "4 * first channel")
    code("vldmia r1!, {{s16-s19}}", "biases")
    for register in range(20, 32):
        code(f"vmov.f32 s{register}, s{register - 4}")


def _multiply(code: Routine, pixels, weights: int) -> None:
    for index, pixel in enumerate(pixels):
        for channel in range(4):
            code(f"vfma.f32 s{16 + 4 * index + channel}, s{pixel}, s{weights + channel}")


def _two_values(code: Routine) -> None:
    code("vldmia r10!, {{s0-s7}}", "2 values of 4 pixels")
    code("vldmia r1!, {{s8-s15}}", "weights of 2 values for 4 channels")
    for value in range(2):
        _multiply(code, range(4 * value, 4 * value + 4), 8 + 4 * value)


def _gather(code: Routine) -> None:
    """All runs into the column, value by value of the 4 pixels; labels 7 to 9."""
    code(f"ldr r9, [r0, #{OUTPUTS_BYTES}]", "column")
    code(f"add r10, r0, #{OUTPUTS_BYTES + 8}")
    code.label(2, "a run of neighbouring values")
    code("ldm r10!, {{r4-r8}}", "4 sources, length")
    code(f"subs r8, r8, #{GATHERED}")
    code("blo 7f")
    code.label(6, f"{GATHERED} values of 4 pixels")
    for pixel in range(4):
        for value in range(GATHERED):
            code(f"vldr s{4 * value + pixel}, [r{4 + pixel}, #{4 * value}]")
    code("vstmia r9!, {{s0-s31}}")
    for pixel in range(4):
        code(f"adds r{4 + pixel}, r{4 + pixel}, #{4 * GATHERED}")
    code(f"subs r8, r8, #{GATHERED}")
    code("bhs 6b")
    code.label(7)
    code(f"adds r8, r8, #{GATHERED}")
    code("beq 9f")
    code.label(8, "the values left over")
    for pixel in range(4):
        code(f"vldmia r{4 + pixel}!, {{{{s{pixel}}}}}")
    code("vstmia r9!, {{s0-s3}}")
    code("subs r8, r8, #1")
    code("bne 8b")
    code.label(9)
    code("subs r2, r2, #1")
    code("bne 2b")


def _end(code: Routine, limits: Limits) -> None:
    """Limits and stores; to the next group (label 1), or back to the caller."""
    limits.load(code, "r12")
    limits.apply(code, range(16, 32))
    code("ldm r0, {{r4-r7}}", "where the pixels go")
    for pixel in range(4):
        code(f"add r{4 + pixel}, r{4 + pixel}, r11")
        limits.store(code, range(16 + 4 * pixel, 20 + 4 * pixel), f"r{4 + pixel}", ("r8", "r10"))
    code("cmp r1, r3")
    code("bne 1b")
    code("vpop {{s16-s31}}")
    code("pop {{r4-r11, pc}}")
