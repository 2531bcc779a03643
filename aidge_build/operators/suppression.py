# SPDX-License-Identifier: MIT
"""Non-maximum suppression: of overlapping boxes only the box with the best score is kept."""

from __future__ import annotations

from typing import ClassVar

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.operators.base import Operator, TensorType, require
from aidge_build.operators.register import operator

HINT = "a constant max_output_boxes_per_class bounds how many there can be"


@operator("NonMaxSuppression")
class NonMaxSuppression(Operator):
    """The boxes that no better one of their class overlaps by more than a share of their union: rows [batch, class, box].

    Inputs: boxes [batch, boxes, 4], scores [batch, classes, boxes]. There are as many rows as the file states, else as there can
    be: batches * classes * the constant max_output_boxes_per_class; rows after the last found box hold -1. Equal scores
    go by the box's number. Source: ONNX operator NonMaxSuppression; steps in float32 as onnxruntime's.
    """

    by_steps: ClassVar = True

    most: int = 1
    overlap: float = 0.0
    least: float | None = None
    centered: bool = False
    rows: int | None = None

    @classmethod
    def from_onnx(cls, source):
        source.expect_attributes("center_point_box")
        most = source.optional_constant(2)
        require(most is not None and most.size == 1 and int(most.reshape(())) > 0, "nothing bounds the number of boxes", HINT)
        overlap, least = (source.optional_constant(place) for place in (3, 4))
        require(all(one is None or one.size == 1 for one in (overlap, least)), "a threshold is no single number")
        declared = source.declared_dims(0)
        return cls(
            int(most.reshape(())),
            0.0 if overlap is None else float(overlap.reshape(())),
            None if least is None else float(least.reshape(())),
            bool(source.integer("center_point_box", 0)),
            declared[0] if declared else None,
        ), source.input_names[:2]

    def infer(self, inputs):
        boxes, scores = inputs
        fits = boxes.rank == scores.rank == 3 and boxes.dims[2] == 4 and boxes.dims[0] == scores.dims[0]
        require(
            fits and boxes.dims[1] == scores.dims[2],
            f"boxes {list(boxes.dims)} and scores {list(scores.dims)}, want [batch, boxes, 4] and [batch, classes, boxes]",
        )
        require(
            boxes.dtype.is_float and scores.dtype is boxes.dtype, f"boxes of {boxes.dtype.name}, scores of {scores.dtype.name}"
        )
        can_be = scores.dims[0] * scores.dims[1] * min(self.most, scores.dims[2])
        return (TensorType((can_be if self.rows is None else self.rows, 3), DType.int64),)

    def forward(self, boxes, scores):
        batches, classes, count = scores.shape
        low, high = self._corners(boxes)
        found = []
        for batch in range(batches):
            for one in range(classes):
                left = numpy.full(count, True) if self.least is None else scores[batch, one] > scores.dtype.type(self.least)
                for _ in range(min(self.most, count)):
                    if not left.any():
                        break
                    best = int(numpy.argmax(numpy.where(left, scores[batch, one], -numpy.inf)))
                    best = best if left[best] else int(numpy.flatnonzero(left)[0])
                    found.append((batch, one, best))
                    left &= ~(_overlaps(low[batch], high[batch], best) > boxes.dtype.type(self.overlap))
                    left[best] = False
        rows = batches * classes * min(self.most, count) if self.rows is None else self.rows
        result = numpy.full((rows, 3), -1, numpy.int64)
        kept = numpy.array(found, numpy.int64).reshape(-1, 3)[:rows]
        result[: len(kept)] = kept
        return result

    def _corners(self, boxes: numpy.ndarray) -> tuple[numpy.ndarray, numpy.ndarray]:
        """Returns the corners [batch, boxes, 2] with the smaller and with the larger coordinates."""
        if self.centered:
            half = boxes[..., 2:] / boxes.dtype.type(2)
            return boxes[..., :2] - half, boxes[..., :2] + half
        return numpy.minimum(boxes[..., :2], boxes[..., 2:]), numpy.maximum(boxes[..., :2], boxes[..., 2:])


def _overlaps(low: numpy.ndarray, high: numpy.ndarray, best: int) -> numpy.ndarray:
    """Returns the intersection over union of each box [boxes, 2] with the best box; 0 if they do not intersect."""
    sides = numpy.maximum(numpy.minimum(high, high[best]) - numpy.maximum(low, low[best]), 0)
    common = sides[:, 0] * sides[:, 1]
    areas = (high[:, 0] - low[:, 0]) * (high[:, 1] - low[:, 1])
    union = areas[best] + areas - common
    return numpy.divide(common, union, out=numpy.zeros_like(common), where=(common > 0) & (union > 0))
