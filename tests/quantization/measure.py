# SPDX-License-Identifier: MIT
"""What quantizing costs the float models beside the checkout, ours and onnxruntime's `quantize_static` on the same samples:
`.venv/bin/python -m tests.quantization.measure` prints the table of docs/quantization.md in a minute."""

from __future__ import annotations

import logging
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy
import onnx
import onnxruntime
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process

from aidge_build.contract.reference.evaluate import evaluate
from aidge_build.operators.arithmetic.requantize import dequantize_linear
from aidge_build.operators.arithmetic.requantize import quantize as to_levels
from aidge_build.prepare.quantization import Scheme, quantize
from aidge_build.run.verify.vectors import perturbed
from tests.quantization.networks import graph_of
from tests.shared import FLOAT_MODELS, float_model, vectors

Values = dict[str, numpy.ndarray]


def inputs_of(name: str, count: int, seed: int) -> numpy.ndarray:
    """[vector, dims...]: seeded perturbations of the stored inputs, as reals. Other seeds give other vectors."""
    stored = numpy.load(vectors(name))
    real = (stored["x"].astype(numpy.float32) - numpy.float32(stored["x_zero_point"])) * numpy.float32(stored["x_scale"])
    made = perturbed({"x": real}, count, seed)["x"]
    (wanted,) = onnx.load(float_model(name)).graph.input
    return made.reshape(count, *(size.dim_value or 1 for size in wanted.type.tensor_type.shape.dim))


def traced(file: bytes):
    """A function from inputs to all tensors of the file, in onnxruntime without optimisations."""
    model = onnx.ModelProto.FromString(file)
    known = {value.name for value in model.graph.output}
    names = [name for node in model.graph.node for name in node.output if name and name not in known]
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    (given,) = session.get_inputs()
    outputs = [output.name for output in session.get_outputs()]
    return lambda values: {given.name: values} | dict(zip(outputs, session.run(outputs, {given.name: values}), strict=True))


class _Reader(CalibrationDataReader):
    def __init__(self, name: str, samples: numpy.ndarray):
        self._left = iter([{name: one} for one in samples])

    def get_next(self):
        return next(self._left, None)


def of_onnxruntime(model: bytes, name: str, samples: numpy.ndarray) -> bytes:
    """What its static quantizer makes: QDQ, weights per channel, int8, ranges from minimum and maximum."""
    logging.disable(logging.WARNING)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "float.onnx").write_bytes(model)
        quant_pre_process(folder / "float.onnx", folder / "prepared.onnx", skip_symbolic_shape=True)
        quantize_static(
            folder / "prepared.onnx",
            folder / "int8.onnx",
            _Reader(name, samples),
            quant_format=QuantFormat.QDQ,
            per_channel=True,
            activation_type=QuantType.QInt8,
            weight_type=QuantType.QInt8,
        )
        logging.disable(logging.NOTSET)
        return (folder / "int8.onnx").read_bytes()


@dataclass(frozen=True)
class Measured:
    """Of one model: signal to noise in dB by tensor (ours, theirs), values that differ from onnxruntime's, equal answers."""

    ratios: dict[str, tuple[float, float]]
    values: int
    differing: int
    largest: int
    same_top1: int
    vectors: int


def measure(name: str, samples: int = 256, count: int = 64, scheme: Scheme = Scheme()) -> Measured:
    """Quantize by `samples` vectors and compare on `count` others."""
    model, calibration = float_model(name).read_bytes(), inputs_of(name, samples, seed=1)
    file = quantize(model, {"x": calibration}, scheme)
    real, own = traced(model), traced(file)
    view = graph_of(file)
    (given,), (result,) = view.inputs, view.outputs
    other = traced(of_onnxruntime(model, given, calibration))
    power: dict[str, numpy.ndarray] = {}
    values = differing = largest = same = 0
    for one in inputs_of(name, count, seed=2):
        stored = to_levels(one, view.tensor(given).quantization, view.tensor(given).dtype)
        wanted, found, theirs = real(one), own(stored), other(one)
        found[f"{result}_dequantized"] = dequantize_linear(found[result], view.tensor(result).quantization)
        for tensor in wanted:
            noisy = found.get(f"{tensor}_dequantized"), theirs.get(f"{tensor}_DequantizeLinear_Output", theirs.get(tensor))
            if noisy[0] is not None and noisy[1] is not None and tensor != given:
                signal = wanted[tensor].astype(numpy.float64)
                sums = [numpy.square(signal).sum(), *(numpy.square(one - signal).sum() for one in noisy)]
                power[tensor] = power.get(tensor, 0.0) + numpy.array(sums)
        for difference in _differences(view, found):
            values += difference.size
            differing += int(numpy.count_nonzero(difference))
            largest = max(largest, int(difference.max(initial=0)))
        same += int(found[result].argmax() == _meaning(view, found)[result].argmax())
    ratios = {tensor: tuple(10 * numpy.log10(all_[0] / all_[1:])) for tensor, all_ in power.items()}
    return Measured(ratios, values, differing, largest, same, count)


def _differences(view, known: Values):
    """By layer: how far the numpy backend, which our C equals, is from onnxruntime on the inputs that the layer had there."""
    values = dict(known) | {name: tensor.data for name, tensor in view.tensors.items() if tensor.is_constant}
    for node in view.nodes:
        inputs = [values[name] if name else None for name in node.inputs]
        results = evaluate(node.operator, inputs, view.input_tensors(node), view.output_tensors(node))
        for name, found in zip(node.outputs, results):
            if name in known:
                yield numpy.abs(found.astype(numpy.int64) - known[name].astype(numpy.int64))
            values.setdefault(name, found)


def _meaning(view, known: Values) -> Values:
    """All tensors, computed by the numpy backend from the input alone."""
    values = {view.inputs[0]: known[view.inputs[0]]} | {
        name: tensor.data for name, tensor in view.tensors.items() if tensor.is_constant
    }
    for node in view.nodes:
        inputs = [values[name] if name else None for name in node.inputs]
        results = evaluate(node.operator, inputs, view.input_tensors(node), view.output_tensors(node))
        values |= dict(zip(node.outputs, results))
    return values


def main() -> None:
    """Print the table."""
    for name in FLOAT_MODELS:
        found = measure(name)
        ratios = numpy.array(list(found.ratios.values()))
        worse = int((ratios[:, 0] < ratios[:, 1]).sum())
        print(
            f"| {name} | {len(ratios)} | {ratios[:, 0].mean():.1f} | {ratios[:, 1].mean():.1f} | {worse} | "
            f"{found.differing} of {found.values:,} | {found.same_top1} of {found.vectors} |"
        )
        for tensor, (ours, theirs) in found.ratios.items():
            if ours < theirs:
                print(f"    {tensor}: {ours:.2f} {theirs:.2f}")


if __name__ == "__main__":
    main()
