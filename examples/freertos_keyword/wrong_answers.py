# SPDX-License-Identifier: MIT
"""Writes a network that fits the firmware and answers wrongly, for the self-test to refuse: the rows of its classifier are
rotated. python wrong_answers.py retrained.onnx wrong.onnx"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy
import onnx


def main() -> None:
    model = onnx.load(sys.argv[1])
    for tensor in model.graph.initializer:
        if tensor.name.startswith("classifier_"):
            rotated = numpy.roll(onnx.numpy_helper.to_array(tensor), 1, axis=0)
            tensor.CopyFrom(onnx.numpy_helper.from_array(rotated, tensor.name))
    Path(sys.argv[2]).write_bytes(model.SerializeToString())


if __name__ == "__main__":
    main()
