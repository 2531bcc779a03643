# SPDX-License-Identifier: MIT
"""The C of every kernel of a library in one file, as generated code has it: without what no call reaches.

A sample; AIDGE_STRESS=1 (`./sconsw stress`) takes every case of the other tests, and for `ref` every ONNX node case.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

import harness
import helium_harness
import test_ref_elementwise
import test_ref_in_place
import test_ref_linear
import test_ref_pools_and_moves
import test_ref_residual
import test_stack
from move_cases import blocks, concatenations, copies
from product_cases import product
from random_tensors import Randomness

from aidge_build.build.emit.kernels import kernel_text
from aidge_build.build.emit.unused import without_unused
from aidge_build.contract.call import Call, Constant, Input, Literal, Output, Scratch, Struct
from aidge_build.graph.dtype import DType
from aidge_build.graph.quantization import per_tensor
from aidge_build.graph.tensor import Tensor
from aidge_build.measure.conformance.cases import listed_names, prepare
from aidge_build.operators.activation import Sigmoid
from aidge_build.operators.binary import Add, Mul, Sub
from aidge_build.operators.matmul import FC
from aidge_build.plan.constant_arrays import Array
from aidge_build.sources.onnx_format.node_cases import node_cases

STRESS = "AIDGE_STRESS" in os.environ
RISCV = ("rv32", "rvv")
LIBRARIES = ("ref", "cortexm", "helium", "armv7m", "armv6m", *RISCV)
STEP = 40  # of the candidates: every second one of `test_stack`, which are made by then


@dataclass(frozen=True, eq=False)
class KernelCall:
    """One call with the tensors that it is made for."""

    library: str
    kernel: str
    call: Call
    needs_assembly: bool
    inputs: tuple[Tensor | None, ...]
    outputs: tuple[Tensor, ...]

    @property
    def is_int8(self) -> bool:
        """Whether it only computes with bytes: quantized tensors, and booleans."""
        moving = [tensor for tensor in (*self.inputs, *self.outputs) if tensor is not None and not tensor.is_constant]
        return all(tensor.dtype in (DType.int8, DType.uint8, DType.bool) for tensor in moving)


@functools.cache
def calls(library: str) -> tuple[KernelCall, ...]:
    """A call of every kernel, and of each form of its C function."""
    found = list(_of_node_cases()) if library == "ref" and STRESS else []
    for entry in _of_ref() if library == "ref" else test_stack.cases_of(library, STEP):
        found.append(
            KernelCall(
                library,
                entry.kernel.name,
                entry.call,
                entry.kernel.assembly == "needed",
                entry.stored.inputs,
                entry.stored.outputs,
            )
        )
    forms = {(one.kernel, re.sub(r"\d+", "", one.call.function), one.is_int8, STRESS and one.call.texts): one for one in found}
    return tuple(forms.values())


def _of_node_cases():
    cases, ref = node_cases(), helium_harness.library("ref")
    for number, name in enumerate(listed_names()):
        program = prepare(cases[name], f"net_{number}", (ref,)).program
        for layer in program.layers if program else ():
            yield KernelCall("ref", layer.kernel.name, layer.call, False, layer.inputs, layer.outputs)


def _of_ref() -> list[harness.Case]:
    return [*_int8_cases(), *islice(test_ref_in_place.float_cases(), 0, None, 3), *test_ref_linear.float32_convolutions()]


def _int8_cases() -> list[harness.Case]:
    random = Randomness(1)
    linear = [test_ref_linear.int8_case(seed, *edge) for seed, edge in enumerate(test_ref_linear.EDGES)]
    fully_connected = [fc_case(features, outputs) for features, outputs in ((3, 2), (64, 12), (17, 7))]
    others = []
    for dims, operator in (*test_ref_pools_and_moves.pools(random), *test_ref_pools_and_moves.SOFTMAX):
        data = random.data(*dims)
        quantization = per_tensor(1 / 256, -128) if operator.type == "Softmax" else data.quantization
        others.append(harness.case(operator, [data], [random.int8(*dims)], quantization=quantization))
    moves = [*copies(harness.case, 4), *blocks(harness.case), *concatenations(harness.case, 4, 3)]
    elements = [*islice(test_ref_elementwise.binary_cases((Add, Sub, Mul), 60), 0, None, 5), function_case()]
    matrices = [product(harness.case, 1, (2, 3, 9), (2, 9, 6))]
    residual = filter(None, map(test_ref_residual.fused, range(3), test_ref_linear.EDGES))
    return [*linear, *fully_connected, *others, *moves, *elements, *matrices, *residual]


def function_case() -> harness.Case:
    random = Randomness(3)
    return harness.case(Sigmoid(), [random.data(1, 7)], [random.int8(1, 7)], quantization=random.quantization(0.02))


def fc_case(features: int, outputs: int) -> harness.Case:
    random = Randomness(features)
    tensors = [random.data(1, features), random.weights(outputs, features), random.bias(outputs)]
    return harness.case(FC(), tensors, [random.int8(1, features)], quantization=random.quantization(0.05))


def source(made: Sequence[KernelCall], library: str) -> tuple[str, str]:
    """The C file with a function case_<number> for each call, and the one that defines the constants."""
    wanted = dict.fromkeys((library, path) for one in made for path in one.call.sources)
    text = kernel_text({name: helium_harness.library(name).files for name in (*LIBRARIES, "kit")}, wanted)
    texts = list(dict.fromkeys(text for one in made for text in one.call.texts))
    functions, constants = [], []
    for number, one in enumerate(made):
        function, needed = _case(number, one)
        functions.append(function)
        constants += needed
    called = set(re.findall(r"[A-Za-z_]\w*", "\n".join(functions)))
    used = [part for part in without_unused([*(file.text for file in text.files), *texts], called) if part]
    includes = [f"#include {name}" for name in sorted({*text.system_includes, "<stdint.h>", "<math.h>"})]
    declared = [f"extern const {constant};" for constant in constants]
    defined = [f"extern const {constant};\nconst {constant} = {{0}};" for constant in constants]
    return "\n".join([*includes, *declared, *used, *functions, ""]), "\n".join(["#include <stdint.h>", *defined, ""])


def _case(number: int, one: KernelCall) -> tuple[str, list[str]]:
    arguments, structs, constants = [], [], []
    for position, argument in enumerate(one.call.arguments):
        symbol = f"c{number}_{position}"
        match argument:
            case Input(index):
                arguments.append(f"(const {one.inputs[index].dtype.c_type} *)in[{index}]")
            case Output(index):
                arguments.append(f"({one.outputs[index].dtype.c_type} *)out[{index}]")
            case Scratch():
                arguments.append("scratch")
            case Constant(_, values):
                array = Array(symbol, values.reshape(-1), "")
                constants.append(f"{array.dtype.c_type} {symbol}[{max(1, array.length)}]")
                arguments.append(symbol)
            case Literal(value):
                arguments.append(str(value))
            case Struct(kind, fields):
                body = ", ".join("{" + ", ".join(map(str, v)) + "}" if isinstance(v, tuple) else str(v) for v in fields.values())
                structs.append(f"    static const {kind} {symbol} = {{{body}}};")
                arguments.append(f"&{symbol}")
    head = f"void case_{number}(const void *const *in, void *const *out, void *scratch)"
    unused = "    (void)in;\n    (void)out;\n    (void)scratch;"
    call = f"    {one.call.function}({', '.join(arguments)});"
    return "\n".join([f"{head};", head, "{", *structs, unused, call, "}"]), constants
