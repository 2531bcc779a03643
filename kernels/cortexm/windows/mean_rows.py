# SPDX-License-Identifier: MIT
"""The common part of rows of means in assembly, whatever becomes of their sums."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from ..core.assembly import Routine
from .narrow_windows import narrow_row
from .windows_inside import all_channels, are_flat, is_narrow, step_of

PARAMETERS = "const int8_t *source, int8_t *output, const aidge_cortexm_mean2d *mean, int32_t pixels"
# The place of the numbers of a mean in its struct, and of bytes, scales and count among them, in bytes.
NUMBERS, BYTES, INPUT_SCALE, SCALE, COUNT = 28, 8, 12, 16, 20


def mean_row(
    code: Routine, shape: Mapping[str, int], begin: Callable[[], None], four: Callable[[], None], on_stack: bool = False
) -> None:
    """The function up to its return: `begin` uses %mean, `four` computes 4 values. Other numbers are kept in
    FPU registers, or `on_stack`."""
    code("%enter" if on_stack else "%enter.floats")
    code.constant("%channels", shape["in_channels"])
    if is_narrow(shape):
        code("mla %end, %pixels, %channels, %output")
        begin()
        narrow_row(code, shape, four)
    elif are_flat(shape):
        code("mul %values, %pixels, %channels")
        begin()
        all_channels(code, shape, four, "%values")
    else:
        code("mla %last, %pixels, %channels, %output")
        code("put %last", "the end of the output")
        begin()
        code.label("pixel", "a pixel")
        all_channels(code, shape, four)
        code("get %last")
        code("cmp %output, %last")
        code("bne %pixel")
    code("%leave")


def mean_function(code: Routine, name: str, shape: Mapping[str, int]) -> str:
    """The text of the function, whose instructions are complete."""
    arguments = f"source, output, mean, pixels, {step_of(shape)}, {shape['in_channels']}"
    return code.function(
        name, PARAMETERS, "Means of a row of windows inside the image.", f"aidge_cortexm_means_of_row({arguments});"
    )


def totals_of(lanes: tuple[int, ...]) -> Iterator[tuple[str, str]]:
    """The value that sums up bytes 0 and 2, the one that sums up 1 and 3, and how the words are turned for it; as far as these
    lanes are among them."""
    for first, (total, turned) in enumerate((("%even", ""), ("%odd", ", ror #8"))):
        if any(lane % 2 == first for lane in lanes):
            yield total, turned
