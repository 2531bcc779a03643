# SPDX-License-Identifier: MIT
"""One tensor in two roles: read twice by one node, an input that is an output, two names for the same bytes. Run on the host."""

from __future__ import annotations

from dataclasses import replace

import numpy
import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.boards import load_board
from aidge_build.build.compile import build_program
from aidge_build.contract.reference import cpu
from aidge_build.operators import builtin_operators
from aidge_build.plan.options import Options
from aidge_build.run.verify.firmware import execute
from aidge_build.sources.formats.onnx.importer import import_onnx
from tests.compiled import request_of
from tests.models import model

VECTORS = 3
READS = {  # each reads a tensor that dies there, a, or another name of its bytes; the dims of the result
    "Mul({a}, {a})": "4,4",
    "Add({a}, {a})": "4,4",
    "Sub({a}, {a})": "4,4",
    "Mul({a}, flat_{a})": "1,4,4",
    "Mul(flat_{a}, flat_{a})": "1,4,4",
    "Sum({a}, {a}, {a})": "4,4",
    "Max({a}, {a}, {a})": "4,4",
    "MatMul({a}, {a})": "4,4",
    "Where(more_{a}, {a}, {a})": "4,4",
    "Concat<axis=0>({a}, {a})": "8,4",
    "Concat<axis=1>({a}, {a}, {a})": "4,12",
}
ROLES = {  # outputs, and the nodes that compute them
    "float[4,4] x": "",
    "float[4,4] same": "same = Identity(x)",
    "float[1,4,4] flat": "flat = Reshape(x, shape)",
    "float[4,4] a": "a = Neg(x)",
    "float[1,4,4] flat_a": "flat_a = Reshape(a, shape)",
    "float[4,4] same_a": "same_a = Identity(a)",
    "float[4,8] twice": "twice = Concat<axis=1>(x, x)",
    "float[2,4] upper, float[2,4] lower": "upper, lower = Split<axis=0>(a)",
    "float half": "",
    "float same_half": "same_half = Identity(half)",
    "float[4,4] x_output": "x_output = Add(a, a)",  # the name that x would get as an output
}
CONSTANTS = {"shape": numpy.array([1, 4, 4]), "half": numpy.float32(0.5)}


def float_reads() -> bytes:
    lines = []
    for index, form in enumerate(READS):
        a = f"a{index}"
        lines.append(f"{a} = Neg(x) flat_{a} = Reshape({a}, shape) more_{a} = Greater({a}, half)")
        lines.append(f"b{index} = {form.format(a=a)} y{index} = Neg(b{index})")
    outputs = ", ".join(f"float[{dims}] y{index}" for index, dims in enumerate(READS.values()))
    return model(" ".join(lines), inputs="float[4,4] x", outputs=outputs, constants=CONSTANTS)


def quantized_reads(kind: str, forms: tuple[str, ...], more_outputs: str = "") -> bytes:
    """Some of them between quantized tensors."""
    lines = ["real = DequantizeLinear(x, scale, zero)"]
    for index, form in enumerate(READS):
        if form in forms:
            lines.append(f"n{index} = Neg(real) q{index} = QuantizeLinear(n{index}, scale, zero)")
            lines.append(f"a{index} = DequantizeLinear(q{index}, scale, zero) flat_a{index} = Reshape(a{index}, shape)")
            lines.append(f"b{index} = {form.format(a=f'a{index}')} c{index} = QuantizeLinear(b{index}, scale, zero)")
            lines.append(f"d{index} = DequantizeLinear(c{index}, scale, zero) e{index} = Neg(d{index})")
            lines.append(f"y{index} = QuantizeLinear(e{index}, scale, zero)")
    outputs = [f"{kind}[{dims}] y{index}" for index, (form, dims) in enumerate(READS.items()) if form in forms]
    constants = {"scale": numpy.float32(0.25), "zero": numpy.array(3, kind), "shape": CONSTANTS["shape"]}
    return model(
        " ".join(lines),
        inputs=f"{kind}[4,4] x",
        outputs=", ".join([*outputs, *filter(None, [more_outputs])]),
        constants=constants,
    )


MODELS = {
    "float reads": float_reads,
    "int8 reads": lambda: quantized_reads("int8", tuple(READS)[:5]),
    "int8 joins": lambda: quantized_reads("int8", tuple(READS)[9:]),
    "uint8, the input is an output": lambda: quantized_reads("uint8", tuple(READS)[:1], "uint8[4,4] x"),
    "roles": lambda: model(
        " ".join(ROLES.values()), inputs="float[4,4] x, float[2] unread", outputs=", ".join(ROLES), constants=CONSTANTS
    ),
    "inputs alone": lambda: model("", inputs="float[4,4] x, int8[3] z", outputs="int8[3] z, float[4,4] x"),
    "a square alone": lambda: model("y = Mul(x, x)", inputs="float[4,4] x", outputs="float[4,4] y"),
}


@pytest.mark.parametrize("io", ["caller", "arena"])
@pytest.mark.parametrize("name", MODELS)
def test_the_firmware_computes_what_the_numpy_backend_says(name, io, tmp_path):
    board, data = load_board("host", []), MODELS[name]()
    request = replace(request_of(data, name, board), options=Options(io=io))
    program = build_program(request)
    whole, _ = import_onnx(data, name, builtin_operators(), {}, {})
    random = numpy.random.default_rng(2)
    vectors = {
        one: (random.normal(size=(VECTORS, *whole.tensor(one).dims)) * 40 + 50).astype(whole.tensor(one).dtype.numpy)
        for one in whole.inputs
    }
    found = execute(program, board, vectors, tmp_path).outputs
    for index in range(VECTORS):
        wanted = cpu.run(whole, {one: values[index] for one, values in vectors.items()})
        for old, new in zip(whole.outputs, program.view.outputs, strict=True):
            assert found[new][index].dtype == wanted[old].dtype
            numpy.testing.assert_allclose(found[new][index], wanted[old], rtol=1e-6, err_msg=old)


def test_an_output_that_is_an_input_gets_a_name_of_its_own_and_the_user_reads_it():
    program = build_program(request_of(MODELS["roles"](), "roles.onnx", load_board("host", [])))
    assert program.view.inputs == ("x", "unread") and program.view.outputs[0] == "x_output_2"
    assert "graph output 'x' is an input, too: its copy is the output 'x_output_2'" in program.notices


def test_an_output_that_is_listed_twice_is_refused():
    data = model("y = Neg(x)", inputs="float[4,4] x", outputs="float[4,4] y, float[4,4] y")
    with pytest.raises(AidgeError, match="two graph outputs are named 'y'"):
        build_program(request_of(data, "twice.onnx", load_board("host", [])))
