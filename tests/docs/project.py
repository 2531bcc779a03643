# SPDX-License-Identifier: MIT
"""The project that the pages speak of: the models, samples and programs whose names stand in their commands, made small."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy
import onnx
from aidge_build.quantization import quantize
from aidge_build.quantization.scheme import Scheme

from aidge_build import net
from aidge_build.boards import load_board
from aidge_build.contract.reference import cpu
from aidge_build.operators import builtin_operators
from aidge_build.sources.formats.onnx.importer import import_onnx
from tests.build.checkout import run_in
from tests.decoders import decoder

ROOT = Path(__file__).resolve().parents[2]
PIPELINES = ROOT / "tests" / "classic" / "pipelines.npz"
RANDOM_SEED = 3
MAIN = """#include "kws.h"
int main(void)
{
    static int8_t features[KWS_INPUT_SIZE], scores[KWS_OUTPUT_SIZE];
    return kws_run(features, scores);
}
"""


def parameter(random, graph, name: str, *dims: int):
    return graph.parameter(name, (random.normal(size=dims) / numpy.sqrt(numpy.prod(dims[1:]))).astype(numpy.float32))


def dims_of_image(size: int, channels: int) -> tuple[int, ...]:
    return (1, size, size, channels) if channels > 1 else (1, 1, size, size)


def channels_first(image):
    return net.Transpose(image, perm=[0, 3, 1, 2]) if image.dims[1] > 1 else image


def image_network(size: int, channels: int, classes: int) -> bytes:
    """A float network of two convolutions and a fully connected layer; colours come last, as cameras deliver them."""
    random = numpy.random.default_rng(RANDOM_SEED)
    graph = net.Graph("small")
    hidden = channels_first(graph.input("x", dims_of_image(size, channels)))
    for number, outputs in enumerate((4, 8)):
        weights = parameter(random, graph, f"w{number}", outputs, hidden.dims[1], 3, 3)
        hidden = net.Relu(net.Conv(hidden, weights, pads=[1, 1, 1, 1]))
        hidden = net.MaxPool(hidden, kernel_shape=[2, 2], strides=[2, 2])
    flat = net.Flatten(hidden)
    graph.output(net.Gemm(flat, parameter(random, graph, "v", classes, flat.dims[1]), transB=1), "scores")
    return graph.onnx()


def mask_network(size: int) -> bytes:
    """From an image to an image."""
    random = numpy.random.default_rng(RANDOM_SEED)
    graph = net.Graph("mask")
    image = channels_first(graph.input("x", dims_of_image(size, 2)))
    hidden = net.Relu(net.Conv(image, parameter(random, graph, "w", 4, 2, 3, 3), pads=[1] * 4))
    mask = net.Conv(hidden, parameter(random, graph, "v", 2, 4, 3, 3), pads=[1] * 4)
    graph.output(net.Transpose(mask, perm=[0, 2, 3, 1]), "mask")
    return graph.onnx()


def voice_network() -> bytes:
    """An LSTM whose hidden values come back in."""
    random = numpy.random.default_rng(RANDOM_SEED)
    graph = net.Graph("vad")
    frame, hidden, cell = graph.input("frame", (1, 1, 8)), graph.input("h", (1, 1, 4)), graph.input("c", (1, 1, 4))
    weights, recurrent = parameter(random, graph, "w", 1, 16, 8), parameter(random, graph, "r", 1, 16, 4)
    every, last, state = net.LSTM(frame, weights, recurrent, None, None, hidden, cell, hidden_size=4, outputs=3)
    graph.output(net.Sigmoid(net.ReduceMean(every, keepdims=1)), "probability")
    graph.output(last, "h_out")
    graph.output(state, "c_out")
    return graph.onnx()


def quantized(model: bytes, samples: numpy.ndarray) -> bytes:
    return quantize(model, {"x": samples}, Scheme())


def make_project(folder: Path, linked: bool) -> Path:
    """Writes all of it, and where it is `linked` app.elf for the STM32F746."""
    random = numpy.random.default_rng(RANDOM_SEED)
    for name in ("models", "mine"):
        (folder / name).mkdir(parents=True)
    model, samples = image_network(8, 1, 4), random.normal(size=(20, 1, 1, 8, 8)).astype(numpy.float32)
    person, images = image_network(32, 3, 2), random.normal(size=(2, 1, 32, 32, 3)).astype(numpy.float32)
    mask, pictures = mask_network(32), random.normal(size=(2, 1, 32, 32, 2)).astype(numpy.float32)
    files = {
        "float.onnx": model,
        "kws.onnx": (kws := quantized(model, samples)),
        "models/kws.onnx": kws,
        "kws_int8.onnx": kws,
        "vad.onnx": voice_network(),
        "decoder.onnx": decoder("gpt", layers=1).SerializeToString(),
        "person.onnx": quantized(person, images),
        "mask.onnx": quantized(mask, pictures),
        "quality.onnx": numpy.load(PIPELINES)["logistic regression, labels are words, MinMaxScaler/model"].tobytes(),
        "digits.onnx": (ROOT / "examples" / "digits" / "digits.onnx").read_bytes(),
        "keyword.onnx": (ROOT / "examples" / "keyword" / "keyword.onnx").read_bytes(),
        "models/kws.tflite": b"",
        "main.c": MAIN.encode(),
        **dict.fromkeys(("train.py", "calibrate.py", "data.npz", "tiny.onnx"), b""),
        "mine/library.toml": b'name = "mine"\n',
    }
    for name, content in files.items():
        (folder / name).write_bytes(content)
    for name in ("samples.npz", "calibration.npz"):
        numpy.savez(folder / name, x=samples)
    numpy.savez(folder / "vectors.npz", x=samples, y=scores(kws, samples))
    floats_outside = quantize(model, {"x": samples}, Scheme(io_type="float32"))
    # the classes that the quantized model gives: limits of accuracy that pages name are kept, since these are its labels
    labels = [int(one.argmax()) for one in scores(floats_outside, samples)]
    numpy.savez(folder / "test.npz", x=samples, labels=numpy.array(labels))
    if linked:
        link(folder)
    return folder


def scores(file: bytes, samples: numpy.ndarray) -> list[numpy.ndarray]:
    """What the model computes of each sample in Python: the inputs of an int8 model are quantized first, as a notebook does."""
    view, _ = import_onnx(file, "model.onnx", builtin_operators(), {}, {})
    (given,), (output,) = view.inputs, view.outputs
    if view.tensor(given).dtype.is_float:
        return [cpu.run(view, {given: sample})[output] for sample in samples]
    parsed = onnx.load_from_string(file)
    constants = {one.name: onnx.numpy_helper.to_array(one) for one in parsed.graph.initializer}
    scale, zero_point = next(
        (constants[node.input[1]], constants[node.input[2]]) for node in parsed.graph.node if node.input[0] == given
    )
    inputs = numpy.clip(numpy.rint(samples / scale) + zero_point, -128, 127).astype(numpy.int8)
    return [cpu.run(view, {given: one})[output] for one in inputs]


def link(folder: Path) -> None:
    """app.elf and what it is linked of: kws for stm32f7, generated/, link.ld."""
    board = load_board("stm32f7", [])
    flags = [*board.compiler_flags, "-g", "-Igenerated", *(f"-I{folder}" for folder in board.include_folders)]
    for words in (
        ["compile", "kws.onnx", "--name", "kws", "--board", "stm32f7", "--out", "generated"],
        ["link-script", "--board", "stm32f7", "--out", "link.ld"],
    ):
        run_in(folder, *COMMAND, *words)
    for source in ("main.c", "generated/kws.c", "generated/kws_weights.c"):
        run_in(folder, "arm-none-eabi-gcc", *flags, "-c", source)
    sources = ["main.o", "kws.o", "kws_weights.o", *board.sources]
    run_in(folder, "arm-none-eabi-gcc", *flags, *board.link_flags, *sources, "-T", "link.ld", "-lm", "-o", "app.elf")


COMMAND = (sys.executable, "-m", "aidge_build")
