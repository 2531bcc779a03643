# SPDX-License-Identifier: MIT
"""int8 means over windows in float32, from sums of columns: for scales with which many means lie between two levels."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy

from aidge_build.contract.call import Call, Constant, Input, Output, Scratch, Struct, computed
from aidge_build.contract.kernel_kit.mean_pooling import IN_INTEGERS, PARTIAL
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import Demands, NodeView, Predicate
from aidge_build.operators.arithmetic.means import Order, integer_mean

from .lines import line_elements
from .mean_float_text import POINTERS, mean_text
from .mean_lines import MeanLines
from .pooling import pool_spec
from .quotients import bits_of, quotients_hold

PARAMETERS = (("const int32_t *", "numbers"), ("const int32_t *", "exact"))


def _by_columns(view: NodeView) -> str:
    node = MeanLines(view)
    taps = node.shape().fields["kernel_width"]
    if taps > len(POINTERS):
        return f"{taps} taps in a row, at most {len(POINTERS)}"
    is_flat = node.shape().fields["kernel_height"] == 1
    return "" if is_flat or node.order() is Order.COLUMNS else "values are not added up by columns"


def _unproved(view: NodeView) -> str:
    node = MeanLines(view)
    result, divisors = view.outputs[0].quantization, _divisors(node)
    counts = sorted({count for _, count in node.pairs()})
    holds = all(quotients_hold(divisors(count), count, result.scale, result.zero_point) for count in counts)
    return "" if holds else "a product and its correction are no quotient near a tie"


def _divisors(node: MeanLines):
    """What sums of so many values are divided by: twice, or once where all counts are powers of two."""
    scale = numpy.float32(node.outputs[0].quantization.scale)
    once = all(count & (count - 1) == 0 for _, count in node.pairs())
    return lambda count: (numpy.float32(count) * scale,) if once else (numpy.float32(count), scale)


@kernel(
    ("AvgPooling1D", "AvgPooling2D"),
    pool_spec(
        PARTIAL,
        IN_INTEGERS,
        Predicate("float32 is added up by columns", _by_columns),
        Predicate("quotients near a tie are proved", _unproved),
    ),
)
class AvgPoolRealInt8(MeanLines):
    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        return replace(super().demands(view), scratch_bytes=4 * line_elements(cls(view)))

    def call(self) -> Call:
        shape, data, (output,) = self.shape().fields, self.inputs[0], self.outputs
        rows, columns = self.window_kinds()
        row_kinds = [rows.index(kind) for kind in self.axis_kinds("height")]
        segments = [(len(list(group)), columns.index(kind)) for kind, group in itertools.groupby(self.axis_kinds("width"))]
        counts = [count for _, count in self.pairs()]
        step = 4 * int(shape["dilation_width"]) * int(shape["in_channels"])
        divisors = _divisors(self)
        kinds = [self._kind(step, divisors(count)) for count in counts]
        function, texts = mean_text(int(shape["kernel_width"]), len(divisors(counts[0])), self.clamps())
        function, of_rows, texts = self.of_rows(function, tuple(texts), row_kinds, PARAMETERS, "aidge_helium_float_means")
        fields = {
            "shape": tuple(shape.values()),
            "zero_point": data.quantization.zero_point,
            "scale": bits_of(numpy.float32(data.quantization.scale)),
            "kinds": len(columns),
            "segments": len(segments),
        }
        return Call(
            function,
            ("mean_float.h",),
            (
                Input(0),
                Output(0),
                Scratch(),
                Constant("numbers", numpy.array(kinds, numpy.int32)),
                Constant("exact", self._exact(counts, output)),
                of_rows,
                Constant("columns", numpy.array(segments, numpy.int32)),
                Struct("aidge_helium_float_means", fields),
            ),
            "float32 in onnxruntime's order, columns, then neighbours of a line",
            texts=texts,
            facts=computed("4 values"),
        )

    def _kind(self, step: int, divisors: tuple[numpy.float32, ...]) -> list[int]:
        """As the generated function reads them: eight numbers."""
        pairs = [(bits_of(numpy.float32(1) / divisor), bits_of(-divisor)) for divisor in divisors]
        flat = [number for pair in (pairs * 2)[:2] for number in pair]
        return [step, *flat, self.outputs[0].quantization.zero_point, *self.levels()]

    def _exact(self, counts: list[int], output) -> numpy.ndarray:
        """For plain C: the count and the numbers of kit/mean.h."""
        found = []
        for count in counts:
            mean = integer_mean(count, self.inputs[0].quantization, output.quantization)
            assert mean is not None
            found.append([count, *self._numbers(mean, mean.multiplier)])
        return numpy.array(found, numpy.int64).astype(numpy.uint32).view(numpy.int32)
