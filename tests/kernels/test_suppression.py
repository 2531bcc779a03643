# SPDX-License-Identifier: MIT
"""NonMaxSuppression: the C against its numpy meaning, that against a plain reading of the definition; how many rows there are."""

from __future__ import annotations

import os

import harness
import numpy
import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.graph.dtype import DType
from aidge_build.graph.tensor import Tensor
from aidge_build.operators import builtin_operators
from aidge_build.operators.suppression import NonMaxSuppression
from aidge_build.sources.formats.onnx.importer import import_onnx
from tests.models import model

COUNT = 400 if "AIDGE_STRESS" in os.environ else 60


def entry(seed: int) -> harness.Case:
    random = numpy.random.Generator(numpy.random.PCG64(seed))
    batches, classes, boxes = (int(random.integers(1, high)) for high in (3, 4, 40))
    # Few coordinates and scores: overlaps on the bound, equal scores, boxes without area, and corners in any order.
    corners = random.integers(0, 9, (batches, boxes, 4)) / 8
    if seed % 3 == 0:
        corners = random.random((batches, boxes, 4))
    scores = random.integers(-3, 12, (batches, classes, boxes)) / 8
    operator = NonMaxSuppression(
        int(random.integers(1, 12)),
        float(random.choice([0.0, 0.25, 0.5, 1.0])),
        [None, 0.25][seed % 2],
        bool(random.integers(0, 2)),
        [None, None, int(random.integers(0, 9))][seed % 3],
    )
    values = [corners.astype(numpy.float32), scores.astype(numpy.float32)]
    tensors = [Tensor(name, value.shape, DType.float32) for name, value in zip(("boxes", "scores"), values)]
    return harness.case(operator, tensors, values)


def plainly(operator: NonMaxSuppression, boxes: numpy.ndarray, scores: numpy.ndarray) -> list[tuple[int, int, int]]:
    """Boxes by falling score, each kept unless one that was kept overlaps it too much."""

    def corners(box):
        if operator.centered:
            return [box[0] - box[2] / 2, box[1] - box[3] / 2, box[0] + box[2] / 2, box[1] + box[3] / 2]
        return [min(box[0], box[2]), min(box[1], box[3]), max(box[0], box[2]), max(box[1], box[3])]

    def shared(first, second):
        a, b = corners(first), corners(second)
        common = max(0, min(a[2], b[2]) - max(a[0], b[0])) * max(0, min(a[3], b[3]) - max(a[1], b[1]))
        union = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - common
        return common / union if common > 0 else 0

    found = []
    for batch, of_classes in enumerate(scores):
        for one, row in enumerate(of_classes):
            kept = []
            for box in sorted(range(len(row)), key=lambda box: (-row[box], box)):
                good = operator.least is None or row[box] > operator.least
                if (
                    good
                    and len(kept) < operator.most
                    and all(shared(boxes[batch][box], boxes[batch][k]) <= operator.overlap for k in kept)
                ):
                    kept.append(box)
            found += [(batch, one, box) for box in kept]
    return found


@pytest.mark.parametrize("flags", [("-std=c99", "-O2"), ("-Os",)][: 1 + (COUNT > 100)], ids=" ".join)
def test_the_boxes_that_stay_are_those_of_the_definition(flags):
    cases = [entry(seed) for seed in range(COUNT)]
    for one in cases:
        (result,) = one.expected
        wanted = plainly(one.view.operator, *one.values)[: len(result)]
        assert [tuple(row) for row in result.tolist() if row[0] >= 0] == wanted
        assert (result[len(wanted) :] == -1).all()
    assert harness.differing(cases, harness.run(cases, *flags)) == []


def imported(declared: str, **constants):
    text = "y = NonMaxSuppression(boxes, scores" + "".join(f", {name}" for name in constants) + ")"
    arrays = {name: numpy.array(value) for name, value in constants.items()}
    inputs = "float[1,20,4] boxes, float[1,3,20] scores"
    file = model(text, inputs=inputs, outputs=f"int64[{declared},3] y", constants=arrays)
    return import_onnx(file, "net.onnx", builtin_operators(), {}, {})[0]


def test_there_are_as_many_rows_as_there_can_be_or_as_the_file_states():
    assert imported("?", most=5).tensor("y").dims == (15, 3)
    assert imported("?", most=500).tensor("y").dims == (60, 3)
    assert imported("7", most=5).tensor("y").dims == (7, 3)
    for constants in ({}, {"most": 0}):
        with pytest.raises(AidgeError, match="nothing bounds the number of boxes"):
            imported("?", **constants)
