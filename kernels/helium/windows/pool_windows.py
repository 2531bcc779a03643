# SPDX-License-Identifier: MIT
"""int8 pools of windows: which windows have texts of their own, and the call of a layer."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, product
from typing import ClassVar

import numpy

from aidge_build.contract.call import Call, Constant, Input, Output, Struct, computed
from aidge_build.contract.kernel_kit.pooling import PoolNode

from ..core.assembly import c_function
from ..float32.real import wrapper
from .pool_runs import PARAMETERS, Run

MOST_IN_TEXT, ALL_IN_TEXT = 25, 64  # taps of a window, and of windows of all sizes
LAYER_PARAMETERS = "const int8_t *x, int8_t *y, const int32_t *numbers, const int32_t *runs, const aidge_helium_pools *layer"


@dataclass(frozen=True)
class SizedRun:
    """A run of windows with so many rows and columns of taps inside the image, of which so many taps count."""

    size: tuple[int, int, int]
    name: str
    text: str
    numbers: tuple[int, ...]


class PoolOfWindows(PoolNode):
    """A pool whose windows have runs in assembly, each for one size of windows."""

    word: ClassVar[str]  # of the header and of the functions
    others: ClassVar[str]  # the function of the header that computes a window of any size
    lanes: ClassVar[int]

    def sizes(self) -> list[tuple[int, int, int]]:
        """Returns rows and columns of taps inside the image, and how many taps count, of the windows that have texts."""
        layer = self.view.layer
        whole = type(self)(replace(layer.whole, layer=layer)) if layer else self
        shape, ends = whole.shape().fields, [int(end.value) for end in whole.counted_ends()]
        rows, columns = (_along(shape, *axis) for axis in zip(("height", "width"), ("pad_top", "pad_left"), ends))
        found = sorted({(row[0], column[0], row[1] * column[1]) for row, column in product(rows, columns)})
        kernel = shape["kernel_height"], shape["kernel_width"]
        is_short = sum(rows * columns for rows, columns, _ in found) <= ALL_IN_TEXT
        return [size for size in found if 0 < size[0] * size[1] <= MOST_IN_TEXT and (is_short or size[:2] == kernel)]

    def run(self, rows: int, columns: int) -> Run:
        """Returns the run of windows with so many taps inside the image."""
        low, high = self.levels()
        return Run.of(self.shape().fields, rows, columns, clamps=(low, high) != (-128, 127))

    def call_of(self, numbers: Constant, runs: Sequence[Sequence[SizedRun]], note: str) -> Call:
        """Returns the call of the layer, which computes windows by two lists of `runs`: by the second one if the first one leaves
        them, and by the function of `others` if both do."""
        every, ends = [*runs[0], *runs[1]], self.counted_ends()
        starts = numpy.cumsum([0, *(len(run.numbers) for run in every)]).tolist()
        cases = [_case(*placed) for placed in zip(every, starts)]
        digest = zlib.crc32("".join(cases).encode())  # digits, which tables of predictions leave out of names
        texts, names = list(dict.fromkeys(run.text for run in every)), []
        for index, own in enumerate((cases[: len(runs[0])], cases[len(runs[0]) :])):
            names.append(f"aidge_helium_{self.word}_{digest}_{'runs' if index == 0 else 'left'}" if own else "NULL")
            declared = f"{PARAMETERS}, const aidge_helium_pool_window *window"
            texts += [c_function(names[-1], declared, [*own, "return pixels;"], "int32_t")] if own else []
        inlined = (*names, f"aidge_helium_{self.others}")
        function, text = wrapper(f"{self.word}_{digest}", "pool_windows", inlined, LAYER_PARAMETERS.split(", "))
        layer = {
            "shape": tuple(self.shape().fields.values()),
            "kinds": len(self.counts()),
            "order": self.order_in_c(),
            "counted_height": ends[0].value,
            "counted_width": ends[1].value,
        }
        passed = (words([run.numbers for run in every] or [(0,)], "runs"), Struct("aidge_helium_pools", layer))
        arguments = (Input(0), Output(0), numbers, *passed)
        return Call(
            function, (f"{self.word}.h",), arguments, note, texts=(*texts, text), facts=computed(f"{self.lanes} channels")
        )

    def order_in_c(self) -> int:
        """Returns the order of sums for aidge_helium_pools."""
        return 0


def words(rows: Sequence[Sequence[int]], name: str) -> Constant:
    """Returns the numbers as words of 32 bits."""
    return Constant(name, numpy.array(list(chain(*rows)), numpy.int64).astype(numpy.uint32).view(numpy.int32))


def _case(run: SizedRun, start: int) -> str:
    """Returns the C that calls the run for a window of its size."""
    same = (f"(window->{field} == {number})" for field, number in zip(("taps.rows", "taps.columns", "count"), run.size))
    return f"if ({' && '.join(same)}) {{\n        return {run.name}(y, x, pixels, numbers + {start});\n    }}"


def _along(shape: Mapping[str, int], axis: str, pad: str, end: int) -> set[tuple[int, int]]:
    """Returns how many taps of windows are inside the image along an axis, and how many count: up to `end`, if it is not 0."""
    size, dilation, taps = shape[f"in_{axis}"], shape[f"dilation_{axis}"], range(shape[f"kernel_{axis}"])
    found = set()
    for place in range(shape[f"out_{axis}"]):
        places = [place * shape[f"stride_{axis}"] - shape[pad] + tap * dilation for tap in taps]
        inside = sum(0 <= tap < size for tap in places)
        found.add((inside, sum(tap < end for tap in places) if end else inside))
    return found
