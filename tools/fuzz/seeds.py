# SPDX-License-Identifier: MIT
"""Good inputs: small models of every kind of arithmetic, and programs that hold one."""

from __future__ import annotations

import functools
import shutil
import subprocess
from pathlib import Path

import numpy
import onnx

from aidge_build import cli
from aidge_build.run.toolchain.compiler import MissingTool

_MAIN = """#include "good.h"
static {input} x[1024];
static {output} y[1024];
int main(void) {{ return good_run(x, y); }}
void _start(void); void _start(void) {{ main(); for (;;) {{ }} }}
"""


@functools.cache
def models() -> tuple[bytes, ...]:
    """A float chain, its quantized form with islands, and a graph with branches."""
    return (_float_chain(), _quantized_chain(), _branches())


def _float_chain() -> bytes:
    nodes = """
        c = Conv<pads=[1,1,1,1], strides=[2,2]>(x, w, b)
        r = Relu(c)
        p = MaxPool<kernel_shape=[2,2], strides=[2,2]>(r)
        f = Flatten(p)
        y = Gemm<transB=1>(f, v, u)
    """
    random = numpy.random.default_rng(1)
    constants = {
        "w": random.normal(size=(4, 2, 3, 3)),
        "b": random.normal(size=4),
        "v": random.normal(size=(3, 16)),
        "u": random.normal(size=3),
    }
    return _model(
        nodes, "float[1,2,8,8] x", "float[1,3] y", {name: values.astype(numpy.float32) for name, values in constants.items()}
    )


def _quantized_chain() -> bytes:
    nodes = """
        xq = QuantizeLinear(x, s, z)
        xd = DequantizeLinear(xq, s, z)
        wd = DequantizeLinear<axis=0>(w, ws, wz)
        bd = DequantizeLinear(b, bs, bz)
        c = Conv<pads=[1,1,1,1]>(xd, wd, bd)
        r = Relu(c)
        rq = QuantizeLinear(r, t, z)
        rd = DequantizeLinear(rq, t, z)
        a = Add(rd, rd)
        aq = QuantizeLinear(a, s, z)
        ad = DequantizeLinear(aq, s, z)
        g = GlobalAveragePool(ad)
        gq = QuantizeLinear(g, s, z)
        gd = DequantizeLinear(gq, s, z)
        f = Flatten(gd)
        m = Softmax<axis=1>(f)
        yq = QuantizeLinear(m, q, n)
        y = DequantizeLinear(yq, q, n)
    """
    random = numpy.random.default_rng(2)
    scales = numpy.array([0.01, 0.02, 0.03, 0.04], numpy.float32)
    constants = {
        "s": numpy.float32(0.05),
        "t": numpy.float32(0.02),
        "z": numpy.int8(-3),
        "q": numpy.float32(1 / 256),
        "n": numpy.int8(-128),
        "w": random.integers(-128, 128, (4, 2, 3, 3)).astype(numpy.int8),
        "ws": scales,
        "wz": numpy.zeros(4, numpy.int8),
        "b": random.integers(-999, 999, 4).astype(numpy.int32),
        "bs": scales * numpy.float32(0.05),
        "bz": numpy.zeros(4, numpy.int32),
    }
    return _model(nodes, "float[1,2,6,6] x", "float[1,4] y", constants)


def _branches() -> bytes:
    nodes = """
        a, b = Split<axis=1>(x, sizes)
        c = Sigmoid(a)
        d = Mul(b, c)
        e = Concat<axis=1>(c, d, x)
        t = Transpose<perm=[0,2,1]>(e)
        h = Reshape(t, shape)
        k = Slice(h, starts, ends, axes)
        m = ReduceMean<keepdims=1>(k)
        n = Pad(k, pads)
        y = Add(n, m)
    """
    numbers = {"sizes": [2, 4], "shape": [1, -1], "starts": [1], "ends": [20], "axes": [1], "pads": [0, 1, 0, 2]}
    nodes = nodes.replace("Concat<axis=1>(c, d, x)", "Concat<axis=1>(c, a, x)").replace("Mul(b, c)", "Tanh(b)")
    return _model(
        nodes, "float[1,6,5] x", "float[] y", {name: numpy.array(values, numpy.int64) for name, values in numbers.items()}
    )


def _model(nodes: str, inputs: str, outputs: str, constants: dict[str, numpy.ndarray]) -> bytes:
    graph = onnx.parser.parse_graph(f"seed ({inputs}) => ({outputs}) {{ {nodes} }}")
    if outputs == "float[] y":
        graph.output[0].type.tensor_type.ClearField("shape")
    graph.initializer.extend(onnx.numpy_helper.from_array(values, name) for name, values in constants.items())
    made = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)], ir_version=8)
    return made.SerializeToString()


def programs(folder: Path, linked: tuple[str, ...] = (), compiled: tuple[str, ...] = ()) -> list[bytes]:
    """Linked programs with a model for Cortex-M; more words for the linker and for `compile`."""
    compiler = shutil.which("arm-none-eabi-gcc")
    if compiler is None:
        raise MissingTool("arm-none-eabi-gcc is missing")
    (folder / "good.onnx").write_bytes(models()[0])
    cli.main(["compile", str(folder / "good.onnx"), "--name", "good", "--out", str(folder), "--cpu", "cortex-m4", *compiled])
    (folder / "main.c").write_text(_MAIN.format(input="float", output="float"))
    words = [
        compiler,
        "-mcpu=cortex-m4",
        "-mthumb",
        "-std=c99",
        "-O1",
        "-g0",
        "-nostartfiles",
        "--specs=nosys.specs",
        "-I",
        str(folder),
    ]
    words += [str(folder / name) for name in ("main.c", "good.c", "good_weights.c")]
    subprocess.run([*words, *linked, "-lm", "-Ttext=0x08000000", "-Tdata=0x20000000", "-o", str(folder / "seed.elf")], check=True)
    return [(folder / "seed.elf").read_bytes()]


def plan_of(folder: Path) -> bytes:
    """The plan of the model in these programs."""
    return (folder / "good.plan.json").read_bytes()
