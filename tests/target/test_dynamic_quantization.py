# SPDX-License-Identifier: MIT
"""Dynamic quantization, bit for bit: ConvInteger and MatMulInteger with what tools put behind them, and QuantizeLinear; on
emulated cores (assembly, and the C beside it) and on this machine."""

from __future__ import annotations

import math
import re
import shutil

import numpy
import pytest

from aidge_build.boards import load_board
from aidge_build.contract.reference import cpu
from aidge_build.graph.view import GraphView
from aidge_build.prepare.recipes import simplify
from aidge_build.prepare.recipes.fuse_dynamic import fuse_dynamic
from aidge_build.run.verify.firmware import execute
from tests.compiled import program_of
from tests.models import graph, model, types

F = numpy.float32
needs_compiler = pytest.mark.skipif(not shutil.which("arm-none-eabi-gcc"), reason="needs arm-none-eabi-gcc")

# data, outputs, kernel, strides, dilations, pads (begin, end), group, weights, activation
CONVOLUTIONS = [
    ((1, 4, 5, 6), 8, (3, 3), 1, 1, (1, 1), 1, "int8", "Relu"),
    ((2, 3, 6, 5), 5, (3, 2), 2, 1, (1, 0), 1, "int8", ""),
    ((1, 5, 7, 7), 6, (3, 3), 1, 2, (2, 1), 1, "uint8", "six"),
    ((1, 16, 3, 3), 9, (1, 1), 1, 1, (0, 0), 1, "uint8", "Relu"),
    ((1, 8, 9), 4, (3,), 2, 1, (1, 1), 1, "int8", ""),
    ((1, 6, 6, 7), 6, (3, 3), 1, 1, (1, 1), 6, "int8", "Relu"),
    ((1, 8, 7, 5), 8, (5, 3), 2, 1, (2, 1), 8, "uint8", ""),
    ((2, 13, 4, 4), 13, (3, 3), 1, 2, (2, 2), 13, "int8", "six"),
    ((1, 6, 4, 4), 9, (2, 2), 1, 1, (0, 1), 3, "int8", "Relu"),
    ((1, 4, 1, 1), 4, (5, 5), 1, 1, (2, 2), 4, "int8", ""),
    ((1, 4, 3, 3), 2, (3, 3), 1, 1, (1, 1), 1, "int8", "Relu"),
    ((1, 2, 3, 3), 5, (2, 2), 1, 1, (0, 0), 1, "int8", "low"),
]
PRODUCTS = [((1, 16), 8, "int8", ""), ((3, 7), 10, "uint8", "Relu"), ((2, 5, 6), 4, "int8", ""), ((1, 33), 3, "int8", "")]


class Parts:
    """Nodes, signature and constants of a model that grows."""

    def __init__(self):
        self.random = numpy.random.default_rng(7)
        self.nodes, self.inputs, self.outputs, self.constants = [], [], [], {}

    def constant(self, name, values):
        self.constants[name] = values
        return name

    def layer(self, dims, out_dims, node, weights, kind, activation):
        """`node` is a text with the names of data, weights and both zero points left open."""
        n = len(self.inputs)
        points = {"int8": numpy.zeros((), numpy.int8), "uint8": numpy.array(self.random.integers(90, 160), numpy.uint8)}[kind]
        factors = F(self.random.uniform(0.001, 0.01))
        bias = self.random.normal(size=(out_dims[1], *(1,) * (len(out_dims) - 2)) if "Conv" in node else out_dims[-1:]).astype(F)
        self.constant(f"w{n}", weights.astype(kind))
        self.constant(f"p{n}", points)
        self.constant(f"f{n}", factors)
        self.constant(f"b{n}", bias)
        tails = {"": "y = Identity(a)", "Relu": "y = Relu(a)", "six": "y = Clip(a, zero, six)", "low": "y = Clip(a, low)"}
        text = f"""q, s, z = DynamicQuantizeLinear(x) t = Mul(s, f{n}) i = {node.format(weights=f"w{n}", zero=f"p{n}")}
        c = Cast<to=1>(i) m = Mul(c, t) a = Add(m, b{n}) {tails[activation]}"""
        self.nodes.append(re.sub(r"\b([qsztxicmay])\b", rf"\g<1>{n}", text))
        self.inputs.append(f"float[{','.join(map(str, dims))}] x{n}")
        self.outputs.append(f"float[{','.join(map(str, out_dims))}] y{n}")

    def convolution(self, dims, outputs, kernel, stride, dilation, pads, group, kind, activation):
        low, high = (-128, 128) if kind == "int8" else (0, 256)
        weights = self.random.integers(low, high, (outputs, dims[1] // group, *kernel))
        rank = len(kernel)
        sizes = [(size + sum(pads) - (taps - 1) * dilation - 1) // stride + 1 for size, taps in zip(dims[2:], kernel)]
        each = [stride] * rank, [dilation] * rank, [pads[0]] * rank + [pads[1]] * rank
        attributes = "strides={}, dilations={}, pads={}, group={}".format(*(str(one).replace(" ", "") for one in each), group)
        node = f"ConvInteger<{attributes}>" + "(q, {weights}, z, {zero})"
        self.layer(dims, (dims[0], outputs, *sizes), node, weights, kind, activation)

    def product(self, dims, outputs, kind, activation):
        low, high = (-128, 128) if kind == "int8" else (0, 256)
        weights = self.random.integers(low, high, (dims[-1], outputs))
        self.layer(dims, (*dims[:-1], outputs), "MatMulInteger(q, {weights}, z, {zero})", weights, kind, activation)

    def arguments(self) -> dict:
        limits = {"zero": F(0), "six": F(1.5), "low": F(-0.25)}
        return {
            "text": "\n".join(self.nodes),
            "inputs": ", ".join(self.inputs),
            "outputs": ", ".join(self.outputs),
            "constants": self.constants | limits,
        }


def network() -> dict:
    parts = Parts()
    for shape in CONVOLUTIONS:
        parts.convolution(*shape)
    for shape in PRODUCTS:
        parts.product(*shape)
    return parts.arguments()


def inputs_of(view: GraphView, count: int) -> dict[str, numpy.ndarray]:
    random = numpy.random.default_rng(3)
    found = {}
    for place, name in enumerate(view.inputs):
        values = random.normal(size=(count, *view.tensor(name).dims)).astype(F)
        found[name] = numpy.abs(values) if place % 4 == 3 else values  # of one sign: the zero point is 0
    return found


def test_layers_of_dynamic_quantization_are_one_node_with_the_same_values():
    arguments = network()
    before = graph(**arguments)
    after = fuse_dynamic(before)
    assert {"ConvInteger", "MatMulInteger", "Cast"} & set(types(after)) == set()
    assert types(after).count("DynamicConv") == len(CONVOLUTIONS) and types(after).count("DynamicFC") == len(PRODUCTS)
    given = {name: values[0] for name, values in inputs_of(before, 1).items()}
    old, new = cpu.run(before, given), cpu.run(after, given)
    assert all(numpy.array_equal(old[name], new[name]) for name in before.outputs)


def test_sums_that_somebody_else_reads_stay_integers():
    parts = Parts()
    parts.product((1, 16), 8, "int8", "")
    arguments = parts.arguments()
    arguments["outputs"] += ", int32[1,8] i0"
    assert "MatMulInteger" in types(simplify(graph(**arguments)))


@needs_compiler
@pytest.mark.parametrize("board", ["mps2-an386", "host"])
def test_firmware_computes_dynamic_quantization_bit_for_bit(board, tmp_path):
    machine = load_board(board)
    program = program_of(model(**network()), "dynamic.onnx", machine)
    vectors = inputs_of(program.view, 2)
    found = execute(program, machine, vectors, tmp_path).outputs
    for index in range(2):
        wanted = cpu.run(program.view, {name: values[index] for name, values in vectors.items()})
        wrong = [name for name in program.view.outputs if not numpy.array_equal(found[name][index], wanted[name])]
        assert wrong == []


@needs_compiler
@pytest.mark.parametrize("board", ["mps2-an386", "host"])
def test_quantized_inputs_are_what_a_division_gives(board, tmp_path):
    """Values beside the middle between two levels, far outside, and no numbers; counts that are no multiple of 4."""
    machine, scale = load_board(board), F(0.037)
    middles = ((numpy.arange(-140, 140) + 0.5) * numpy.float64(scale)).astype(F)
    values = numpy.concatenate([numpy.nextafter(middles, F(math.inf)), middles, numpy.nextafter(middles, F(-math.inf))])
    values = numpy.concatenate([values, numpy.array([0, -0.0, 1e30, -1e30, math.inf, -math.inf, math.nan], F)])
    program = program_of(
        model(
            "q = QuantizeLinear(x, s, z) y = DequantizeLinear(q, s, z)",
            inputs=f"float[1,{len(values)}] x",
            outputs=f"float[1,{len(values)}] y",
            constants={"s": scale, "z": numpy.int8(-9)},
        ),
        "quantize.onnx",
        machine,
    )
    found = execute(program, machine, {"x": values[None, None]}, tmp_path).outputs["y"]
    assert numpy.array_equal(found[0], cpu.run(program.view, {"x": values[None]})["y"])
