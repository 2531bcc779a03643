# SPDX-License-Identifier: MIT
"""Float models quantized by onnxruntime in every spelling, and how our graph compares with onnxruntime layer by layer."""

from __future__ import annotations

import functools
import itertools
import shutil
from pathlib import Path

import numpy
import onnx

from aidge_build.contract.reference.evaluate import evaluate
from aidge_build.graph.dtype import DType
from aidge_build.graph.view import GraphView
from aidge_build.operators.flip_sign import flipped

SPELLINGS = [
    f"{form}-{kind}-{channels}"
    for form, kind, channels in itertools.product(("QDQ", "QOperator"), ("QInt8", "QUInt8"), ("per_tensor", "per_channel"))
]


def quantized(source: Path, target: Path, spelling: str, vectors: numpy.ndarray, left: tuple[str, ...] = (), **options) -> Path:
    """The float model `source` quantized by onnxruntime, calibrated on `vectors`; the nodes `left` stay as they are.

    `options` are onnxruntime's extra options.
    """
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

    form, kind, channels = spelling.split("-")
    name = onnx.load(source).graph.input[0].name
    own = shutil.copyfile(source, target.with_suffix(".float.onnx"))  # onnxruntime writes a file of its own beside what it reads

    class Reader(CalibrationDataReader):
        def __init__(self):
            self.left = iter([{name: vector} for vector in vectors])

        def get_next(self):
            return next(self.left, None)

    quantize_static(
        str(own),
        str(target),
        Reader(),
        quant_format=QuantFormat[form],
        per_channel=channels == "per_channel",
        activation_type=QuantType[kind],
        weight_type=QuantType.QInt8 if kind == "QInt16" else QuantType[kind],
        nodes_to_exclude=list(left),
        extra_options=options,
    )
    return target


def every_tensor(path: Path, vector: numpy.ndarray) -> dict[str, numpy.ndarray]:
    """All tensors of the model by name, computed by onnxruntime without optimisations."""
    session, outputs = _session_of(path)
    name = session.get_inputs()[0].name
    return {name: vector, **dict(zip(outputs, session.run(outputs, {name: vector})))}


@functools.cache
def _session_of(path: Path):
    """A session that gives all tensors, and their names."""
    import onnxruntime

    model = onnx.load(path)
    declared = {value.name for value in model.graph.output}
    outputs = [name for node in model.graph.node for name in node.output if name]
    model.graph.output.extend(onnx.helper.make_empty_tensor_value_info(name) for name in outputs if name not in declared)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session, outputs


def distances(view: GraphView, theirs: dict[str, numpy.ndarray]) -> dict[str, numpy.ndarray]:
    """For each quantized tensor the distance in levels to onnxruntime's values when our node reads onnxruntime's inputs."""
    found = {}
    for node in view.nodes:
        inputs, outputs = view.input_tensors(node), view.output_tensors(node)
        if any(tensor.quantization is None or tensor.name not in theirs for tensor in outputs):
            continue
        values = [
            None if tensor is None else tensor.data if tensor.is_constant else _as_ours(tensor, theirs.get(tensor.name))
            for tensor in inputs
        ]
        if any(value is None for tensor, value in zip(inputs, values) if tensor is not None):
            continue
        for tensor, ours in zip(outputs, evaluate(node.operator, values, inputs, outputs)):
            reference = _as_ours(tensor, theirs[tensor.name])
            if reference.shape == ours.shape:  # a recipe may have taken channels out
                found[tensor.name] = numpy.abs(ours.astype(numpy.int64) - reference)
    return found


def _as_ours(tensor, values: numpy.ndarray | None) -> numpy.ndarray | None:
    """onnxruntime's values in the type that our graph has, uint8 as int8."""
    if values is None or values.dtype == tensor.dtype.numpy:
        return values
    return flipped(values) if tensor.dtype is DType.int8 and values.dtype == numpy.uint8 else None
