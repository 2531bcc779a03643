# SPDX-License-Identifier: MIT
"""Quantizes single operators with onnxruntime, and stores its models and values: `python -m tests.exactness.measure_quantizer`.

It writes quantizer.npz beside this file: the QDQ model of each way to quantize, and what onnxruntime without optimisations
gives for the vectors, in one row each. Needs onnxruntime on x86-64 and the package sympy, which its quantizer imports.
"""

from __future__ import annotations

import logging
import tempfile
from pathlib import Path

import numpy
import onnx
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

from tests.exactness.measure import OFF, session
from tests.exactness.quantizer_cases import CASES, FILE, VECTORS, float_model, vectors

ALSO_MOVES = {"ForceQuantizeNoInputCheck": True}  # what only moves elements, too, although no neighbour is quantized
WAYS = {
    "asymmetric": {"activation_type": QuantType.QInt8, "per_channel": True, "extra_options": ALSO_MOVES},
    "symmetric": {"activation_type": QuantType.QInt8, "extra_options": ALSO_MOVES | {"ActivationSymmetric": True}},
    "uint8": {"activation_type": QuantType.QUInt8, "extra_options": ALSO_MOVES},
}


class Reader(CalibrationDataReader):
    """The vectors to calibrate with."""

    def __init__(self):
        self.rest = iter(vectors()[: VECTORS // 2])

    def get_next(self):
        return next(self.rest, None)


def quantized(folder: Path, way: str) -> bytes:
    """The common model as the quantizer writes it."""
    source, result = folder / "float.onnx", folder / "qdq.onnx"
    onnx.save(float_model(), source)
    kinds = sorted({case.kind for case in CASES.values()})
    quantize_static(
        source, result, Reader(), QuantFormat.QDQ, weight_type=QuantType.QInt8, op_types_to_quantize=kinds, **WAYS[way]
    )
    return result.read_bytes()


def in_one_row(values: list[numpy.ndarray]) -> numpy.ndarray:
    """All outputs in the order of the model."""
    return numpy.concatenate([one.reshape(-1).astype(numpy.float32) for one in values])


def main() -> None:
    logging.disable(logging.WARNING)
    record = {}
    with tempfile.TemporaryDirectory() as folder:
        for way in WAYS:
            model = quantized(Path(folder), way)
            record[f"{way}_model"] = numpy.frombuffer(model, numpy.uint8)
            found = session(model, OFF)
            record[f"{way}_values"] = numpy.array([in_one_row(found.run(None, given)) for given in vectors()])
    numpy.savez_compressed(FILE, **record)


if __name__ == "__main__":
    main()
