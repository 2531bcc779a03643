# SPDX-License-Identifier: MIT
"""The accuracy that training behind the quantization wins back: networks of 8, 4, 3 and 2 bits, and with blocks of zeros.

    python -m tools.training_table [--update]      prints the tables; --update writes them into docs/accuracy.md

The data sets come with scikit-learn, the sounds with examples/keyword; ten minutes. Ranges come from training data, the figures
are those of test data that nothing else saw.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy
from sklearn import datasets
from sklearn.model_selection import train_test_split

from aidge_build import net
from aidge_build.contract.reference.execution import prepare
from aidge_build.graph.dtype import DType
from aidge_build.prepare.quantization import Scheme, quantize
from aidge_build.prepare.quantization.scheme import WEIGHT_BITS
from aidge_build.prepare.training import Adam, QuantizedTraining, batches, fit, he, pruned
from tools.accuracy_table import called, figure

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "accuracy.md"
BEGIN, END = "<!-- bits: begin (written by `python -m tools.training_table --update`) -->", "<!-- bits: end -->"
BATCH, CALIBRATION = 32, 200
BITS = {"4 bits": "int4", "3 bits": "int3", "2 bits": "int2"}
ZEROS = {"50 %": 0.5, "75 %": 0.75, "90 %": 0.9}  # of the blocks of 4 input channels
KEYWORD = ROOT / "examples" / "keyword"
BYTES = 127
Parameters = Mapping[str, numpy.ndarray]
Network = Callable[[net.Value, Mapping[str, net.Value]], net.Value]


@dataclass(frozen=True, eq=False)
class Task:
    """A data set for training and for the test, a network for it and how long it trains. `wanted` are class numbers, or reals."""

    name: str
    inputs: tuple[numpy.ndarray, numpy.ndarray]
    wanted: tuple[numpy.ndarray, numpy.ndarray]
    network: Network
    dims: Mapping[str, tuple[int, ...]]
    epochs: int
    rate: float

    @property
    def classifies(self) -> bool:
        """Whether the outputs are scores of classes."""
        return self.wanted[0].dtype.kind == "i"


def parts(inputs: numpy.ndarray, wanted: numpy.ndarray, test: int) -> tuple[tuple, tuple]:
    """For training and for the test; classes keep their shares."""
    kept = wanted if wanted.dtype.kind == "i" else None
    first, last = train_test_split(numpy.arange(len(wanted)), test_size=test, random_state=0, stratify=kept)
    return (inputs[first], inputs[last]), (wanted[first], wanted[last])


def digits(name: str, first: int, second: int) -> Task:
    """Two convolutions with so many channels, and a classifier."""
    data = datasets.load_digits()
    images = (data.images / 16).astype(numpy.float32)[:, None]

    def network(hidden: net.Value, p: Mapping[str, net.Value]) -> net.Value:
        for layer in ("conv1", "conv2"):
            hidden = net.Relu(net.Conv(hidden, p[layer], p[f"{layer}_bias"], pads=[1, 1, 1, 1], name=layer))
            hidden = net.MaxPool(hidden, kernel_shape=[2, 2], strides=[2, 2])
        return net.Gemm(net.Flatten(hidden), p["dense"], p["dense_bias"], transB=1, name="dense")

    dims = {"conv1": (first, 1, 3, 3), "conv2": (second, first, 3, 3), "dense": (10, second * 4)}
    return Task(name, *parts(images, data.target.astype(numpy.int64), 450), network, dims, 15, 1e-2)


def table_task(name: str, data: datasets.base.Bunch, wanted: numpy.ndarray, outputs: int, test: int, epochs: int) -> Task:
    """A fully connected network with 16 hidden units; inputs by mean and deviation of those for training."""
    inputs, labels = parts(data.data, wanted, test)
    mean, deviation = inputs[0].mean(0), inputs[0].std(0)
    scaled = tuple(((one - mean) / deviation).astype(numpy.float32) for one in inputs)

    def network(x: net.Value, p: Mapping[str, net.Value]) -> net.Value:
        hidden = net.Relu(net.Gemm(x, p["hidden"], p["hidden_bias"], transB=1, name="hidden"))
        return net.Gemm(hidden, p["dense"], p["dense_bias"], transB=1, name="dense")

    dims = {"hidden": (16, inputs[0].shape[1]), "dense": (outputs, 16)}
    return Task(name, scaled, labels, network, dims, epochs, 1e-2)


def keyword() -> Task:
    """The network of examples/keyword, with wider layers or as it is, on the features of its sounds."""
    sys.path.insert(0, str(KEYWORD))
    example = importlib.import_module("train")
    sounds, labels = example.clips(1000, seed=1)
    inputs = example.features(sounds).astype(numpy.float32)

    def network(hidden: net.Value, p: Mapping[str, net.Value]) -> net.Value:
        for layer in ("conv1", "conv2", "conv3"):
            strided = {"pads": [1, 1, 1, 1], "strides": [2, 2], "name": layer}
            hidden = net.Relu(net.Conv(hidden, p[layer], p[f"{layer}_bias"], **strided))
        return net.Gemm(net.Flatten(net.GlobalMaxPool(hidden)), p["dense"], p["dense_bias"], transB=1, name="dense")

    dims = {name.removesuffix("_weights"): size for name, size in example.WEIGHTS.items()}
    dims["dense"] = dims.pop("classifier")
    return Task("key words, 8, 16 and 16 channels", *parts(inputs, labels, 400), network, dims, 6, 1e-2)


def tasks() -> list[Task]:
    """The rows of the table."""
    cancer, diabetes = datasets.load_breast_cancer(), datasets.load_diabetes()
    target = ((diabetes.target - diabetes.target.mean()) / diabetes.target.std()).astype(numpy.float32)[:, None]
    return [
        digits("digits, 8 and 16 channels", 8, 16),
        digits("digits, 3 and 4 channels", 3, 4),
        digits("digits, 32 and 64 channels", 32, 64),
        keyword(),
        table_task("breast cancer, 30-16-2", cancer, cancer.target.astype(numpy.int64), 2, 170, 20),
        table_task("diabetes, 10-16-1", diabetes, target, 1, 130, 12),
    ]


def learned(task: Task, graph: net.Graph, result: net.Value, epochs: int, rate: float) -> Parameters:
    """The parameters of the graph after so many epochs of the training part."""
    dims = graph.tensor(result.name).dims
    labels = graph.input("wanted", dims[:1] if task.classifies else dims, DType.int64 if task.classifies else DType.float32)
    loss = net.SoftmaxCrossEntropyLoss if task.classifies else net.MeanSquaredError
    graph.output(loss(result, labels), "loss")
    execution = prepare(graph.view(), exact=True)
    context = execution.context({name: values.astype(float) for name, values in graph.parameters().items()})
    optimizer, random = Adam(rate, decay=1e-3), numpy.random.default_rng(2)
    for epoch in range(epochs):
        optimizer.rate = rate * (1 - epoch / epochs)
        fit(execution, context, optimizer, batches({"x": task.inputs[0], "wanted": task.wanted[0]}, BATCH, random))
    return dict(context.params)


def built(task: Task, parameters: Parameters, size: int) -> tuple[net.Graph, net.Value]:
    """The network for `size` samples."""
    graph = net.Graph("network")
    x = graph.input("x", (size, *task.inputs[0].shape[1:]))
    return graph, task.network(x, {name: graph.parameter(name, values) for name, values in parameters.items()})


def trained(task: Task) -> bytes:
    """The float model."""
    random = numpy.random.default_rng(1)
    first = {name: he(dims, random) for name, dims in task.dims.items()}
    first |= {f"{name}_bias": numpy.zeros(dims[0], numpy.float32) for name, dims in task.dims.items()}
    graph, result = built(task, learned(task, *built(task, first, BATCH), task.epochs, task.rate), 1)
    graph.output(result, "y")
    return graph.onnx()


def retrained(task: Task, coarse: bytes, levels: int, keeps_zeros: bool = False) -> bytes:
    """The quantized model after training behind its quantization."""
    training = QuantizedTraining(coarse, BATCH, levels, keeps_zeros=keeps_zeros)
    return training.model(learned(task, training.graph, training.outputs["y"], 2 * task.epochs, task.rate / 4))


def measured(task: Task, folder: Path, model: bytes) -> str:
    """Top-1 or R2 of the model on the test data, on integers in numpy (which the firmware gives, too)."""
    (folder / "model.onnx").write_bytes(model)
    numpy.savez(folder / "test.npz", x=task.inputs[1][:, None], **{"labels" if task.classifies else "targets": task.wanted[1]})
    return figure(called("accuracy", folder / "model.onnx", "--labels", folder / "test.npz")["stages"][-1])[0]


def rows(task: Task, folder: Path) -> tuple[list[str], list[str]]:
    """The cells of one network in both tables."""
    model, samples = trained(task), {"x": task.inputs[0][:CALIBRATION, None]}
    stored = quantize(model, samples, Scheme())
    by_bits = [task.name, *(measured(task, folder, one) for one in (model, stored))]
    by_zeros = [task.name, by_bits[-1]]
    for kind in BITS.values():
        coarse = quantize(model, samples, Scheme(layers=dict.fromkeys(task.dims, kind), least_sqnr=-numpy.inf))
        levels = (1 << WEIGHT_BITS[kind] - 1) - 1
        by_bits += [measured(task, folder, one) for one in (coarse, retrained(task, coarse, levels))]
    for share in ZEROS.values():  # each from the trained one before
        sparse = pruned(stored, share)
        stored = retrained(task, sparse, BYTES, keeps_zeros=True)
        by_zeros += [measured(task, folder, one) for one in (sparse, stored)]
    return by_bits, by_zeros


def table(heads: list[str], rows: list[list[str]]) -> str:
    """In Markdown."""
    lines = [heads, ["---", *["--:"] * (len(heads) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--update", action="store_true", help="write the table into docs/accuracy.md")
    update = parser.parse_args().update
    with tempfile.TemporaryDirectory() as folder:
        found = [rows(task, Path(folder)) for task in tasks()]
    heads = ["network", "float", "int8", *(head for bits in BITS for head in (f"weights of {bits}", "trained on"))]
    text = table(heads, [by_bits for by_bits, _ in found])
    heads = ["network", "int8", *(head for share in ZEROS for head in (f"{share} of blocks 0", "trained on"))]
    text += "\n\n" + table(heads, [by_zeros for _, by_zeros in found])
    print(text)
    if update:
        before, rest = PAGE.read_text().split(BEGIN)
        PAGE.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{rest.split(END)[1]}")


if __name__ == "__main__":
    main()
