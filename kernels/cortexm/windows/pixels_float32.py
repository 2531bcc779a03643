# SPDX-License-Identifier: MIT
"""4 pixels x 4 channels of a float32 convolution in assembly: from the image, or through a column of both interleaved."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..core.assembly import Routine
from ..core.float32 import Limits, in_turns, listed, values

PARAMETERS = (
    "const aidge_cortexm_table_float32 *table, const int32_t *stream, int32_t runs, const int32_t *end, const float *limits"
)
AT_ONCE = 4  # values of a pixel in one turn of the loop
GATHERED = 8  # values of a pixel that go to the column in one turn
OUTPUTS_BYTES = 16  # of the table: what lies before `column`
SOURCES = [f"%source{pixel}" for pixel in range(4)]


def direct_text(limits: Limits) -> tuple[str, str]:
    """Name and text: each group of channels reads the values of the 4 pixels from the image."""
    name = f"aidge_cortexm_pixels_float32_direct{limits.suffix}"
    code = Routine()

    def multiply(count: int) -> None:
        for first in range(0, count, 2):
            together = min(2, count - first)
            pixels = [values(f"pixel{pixel}_", together) for pixel in range(4)]
            for source, numbers in zip(SOURCES, pixels):
                code(f"vldmia {source}!, {listed(numbers)}")
            _multiply(code, list(zip(*pixels)))

    code("%enter")
    code.label("group", "a group of 4 channels")
    _load_biases(code)
    _runs(code, AT_ONCE, multiply)
    _end(code, limits)
    return name, code.function(name, PARAMETERS, "4 pixels x 4 channels of float32, fused multiply-add.")


def column_text(count: int, limits: Limits) -> tuple[str, str]:
    """Name and text: `count` values of each of the 4 pixels are gathered once, side by side, for all groups of channels."""
    turns, rest = divmod(count, AT_ONCE)
    name = f"aidge_cortexm_pixels_float32_column{'_loop' if turns else ''}_{rest}{limits.suffix}"
    code = Routine()

    def gather(count: int) -> None:
        numbers = values("gathered", 4 * count)
        for pixel, source in enumerate(SOURCES):
            if count == 1:
                code(f"vldmia {source}!, {listed(numbers[pixel : pixel + 1])}")
            for value in range(count) if count > 1 else ():
                code(f"vldr {numbers[4 * value + pixel]}, [{source}, #{4 * value}]")
        code(f"vstmia %column!, {listed(numbers)}")
        for source in SOURCES if count > 1 else ():
            code(f"adds {source}, {source}, #{4 * count}")

    def multiply(count: int) -> None:
        for first in range(0, count, 2):
            numbers = values("value", 4 * min(2, count - first))
            code(f"vldmia %column!, {listed(numbers)}")
            _multiply(code, [numbers[begin : begin + 4] for begin in range(0, len(numbers), 4)])

    code("%enter")
    code(f"ldr %column, [%table, #{OUTPUTS_BYTES}]")
    _runs(code, GATHERED, gather)
    if turns:
        code(f"ldr %last, [%table, #{OUTPUTS_BYTES + 4}]", "the end of whole turns")
    code.label("group", "a group of 4 channels")
    _load_biases(code)
    code(f"ldr %column, [%table, #{OUTPUTS_BYTES}]")
    if turns:
        code.label("values", f"{AT_ONCE} values of 4 pixels")
        multiply(AT_ONCE)
        code("cmp %column, %last")
        code("bne %values")
    multiply(rest)
    _end(code, limits)
    return name, code.function(name, PARAMETERS, "4 pixels x 4 channels of float32 through a column.")


def _load_biases(code: Routine) -> None:
    sums = values("sum", 16)
    code("ldr %channel, [%stream], #4", "4 * first channel")
    code(f"vldmia %stream!, {listed(sums[:4])}", "biases")
    for before, after in zip(sums, sums[4:]):
        code(f"vmov.f32 {after}, {before}")


def _runs(code: Routine, together: int, compute: Callable[[int], None]) -> None:
    """Run after run of the table: `compute` prints what is done with a number of values of the 4 pixels."""
    code(f"add %run, %table, #{OUTPUTS_BYTES + 8}")
    code("mov %left, %runs")
    code.label("next_run", "a run of neighbouring values")
    code(f"ldm %run!, {listed([*SOURCES, '%count'])}")
    in_turns(code, together, compute)
    code("subs %left, %left, #1")
    code("bne %next_run")


def _multiply(code: Routine, numbers: Sequence[Sequence[str]]) -> None:
    """Values of the 4 pixels, each with the weights of the 4 channels."""
    weights = values("weight", 4 * len(numbers))
    code(f"vldmia %stream!, {listed(weights)}")
    for value, pixels in enumerate(numbers):
        for pixel, number in enumerate(pixels):
            for channel, weight in enumerate(weights[4 * value : 4 * value + 4]):
                code(f"vfma.f32 %s.sum{4 * pixel + channel}, {number}, {weight}")


def _end(code: Routine, limits: Limits) -> None:
    """Limits and stores; to the next group, or back to the caller."""
    sums, targets = values("sum", 16), [f"%target{pixel}" for pixel in range(4)]
    if limits.compared:
        code("ldr %limits, [%argument.4]")
        limits.load(code, "%limits")
        limits.apply(code, sums)
    code(f"ldm %table, {listed(targets)}", "where the pixels go")
    for pixel, target in enumerate(targets):
        code(f"add {target}, {target}, %channel")
        limits.store(code, sums[4 * pixel : 4 * pixel + 4], target)
    code("cmp %stream, %end")
    code("bne %group")
    code("%leave")
