# SPDX-License-Identifier: MIT
"""Small float networks, samples of their inputs, and what a quantized file gives in onnxruntime and in our numpy backend."""

from __future__ import annotations

import numpy
import onnxruntime

from aidge_build.contract.reference.cpu import run
from aidge_build.graph.view import GraphView
from aidge_build.operators import builtin_operators
from aidge_build.prepare.recipes import simplify
from aidge_build.sources.formats.onnx.importer import import_onnx
from tests.models import model

BATCH_NORM = ("gamma", "beta", "mean", "variance")


def small_cnn(seed: int = 0) -> bytes:
    """Convolution with batch normalisation, a depthwise one behind Clip, two pools, a sum, a fully connected layer, Softmax."""
    random = numpy.random.default_rng(seed)

    def normal(*dims: int) -> numpy.ndarray:
        return random.normal(size=dims).astype(numpy.float32)

    constants = {
        "w0": normal(8, 3, 3, 3) / 3,
        "w1": normal(8, 1, 3, 3) / 2,
        "b1": normal(8) / 4,
        "w2": normal(8, 8, 1, 1) / 3,
        "w3": normal(8, 5),
        "b3": normal(5),
        "low": numpy.float32(0),
        "high": numpy.float32(6),
        "gamma": 1 + numpy.abs(normal(8)),
        "beta": normal(8) / 4,
        "mean": normal(8) / 4,
        "variance": 1 + numpy.abs(normal(8)),
    }
    return model(
        """c0 = Conv <pads = [1, 1, 1, 1]> (x, w0)
           n0 = BatchNormalization (c0, gamma, beta, mean, variance)
           r0 = Relu (n0)
           p0 = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (r0)
           c1 = Conv <group = 8, pads = [1, 1, 1, 1]> (p0, w1, b1)
           r1 = Clip (c1, low, high)
           c2 = Conv (r1, w2)
           s2 = Add (c2, p0)
           p2 = GlobalAveragePool (s2)
           f2 = Flatten (p2)
           g3 = Gemm (f2, w3, b3)
           y = Softmax (g3)""",
        inputs="float[1,3,8,8] x",
        outputs="float[1,5] y",
        constants=constants,
    )


def keras_cnn() -> bytes:
    """As exporters of Keras write a classifier of the digits: channels last, batch normalization as Mul and Add."""
    random = numpy.random.default_rng(0)

    def normal(*dims: int) -> numpy.ndarray:
        return (0.3 * random.normal(size=dims)).astype(numpy.float32)

    constants = {"w2": normal(64, 10), "b2": normal(10), "flat": numpy.array([1, 64])}
    first, last, text, value = "<perm = [0, 3, 1, 2]>", "<perm = [0, 2, 3, 1]>", "", "x"
    for index, (channels, filters) in enumerate(((1, 8), (8, 16))):
        constants |= {f"w{index}": normal(filters, channels, 3, 3), f"add{index}": normal(1, 1, 1, filters)}
        constants[f"mul{index}"] = 0.5 + numpy.abs(normal(1, 1, 1, filters))
        text += f"""t{index} = Transpose {first} ({value}) c{index} = Conv <pads = [1, 1, 1, 1]> (t{index}, w{index})
            n{index} = Transpose {last} (c{index}) m{index} = Mul (n{index}, mul{index}) a{index} = Add (m{index}, add{index})
            r{index} = Relu (a{index}) q{index} = Transpose {first} (r{index})
            p{index} = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (q{index}) e{index} = Transpose {last} (p{index}) """
        value = f"e{index}"
    text += "f = Reshape (e1, flat) g = MatMul (f, w2) y = Add (g, b2)"
    return model(text, inputs="float[1,8,8,1] x", outputs="float[1,10] y", constants=constants, opset=17)


def samples(count: int = 16, seed: int = 1) -> dict[str, numpy.ndarray]:
    """Inputs of the small CNN."""
    return {"x": numpy.random.default_rng(seed).normal(size=(count, 1, 3, 8, 8)).astype(numpy.float32)}


def graph_of(file: bytes) -> GraphView:
    """The graph that a build makes of the file."""
    return simplify(import_onnx(file, "quantized.onnx", builtin_operators(), {}, {})[0])


def ours(file: bytes, inputs: dict[str, numpy.ndarray]) -> dict[str, numpy.ndarray]:
    """The outputs in the numpy backend, which our C equals bit for bit."""
    view = graph_of(file)
    values = run(view, inputs)
    return {name: values[name] for name in view.outputs}


def theirs(file: bytes, inputs: dict[str, numpy.ndarray]) -> dict[str, numpy.ndarray]:
    """The outputs in onnxruntime without optimisations."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    session = onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, inputs), strict=True))
