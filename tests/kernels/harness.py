# SPDX-License-Identifier: MIT
"""Runs kernels of the library `ref` on this machine: many calls become one C file, compiled once with every warning an error."""

from __future__ import annotations

import ctypes
import functools
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar
from zlib import crc32

import numpy

from aidge_build.build.emit.kernels import kernel_text
from aidge_build.build.emit.unused import without_unused
from aidge_build.build.inputs import find_libraries, load_libraries
from aidge_build.contract.call import Call, Constant, Input, Literal, Output, Scratch, Struct
from aidge_build.contract.library import Kernel, Library
from aidge_build.contract.reference.evaluate import evaluate
from aidge_build.contract.spec import IOSpec, NodeView, tensors_that_move
from aidge_build.graph.format import channels_last, row_major
from aidge_build.graph.tensor import Tensor
from aidge_build.graph.view import Node
from aidge_build.operators.base import Operator
from aidge_build.plan.constant_arrays import Array

STRESS = "AIDGE_STRESS" in os.environ
WARNINGS = ("-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wundef", "-Wdouble-promotion", "-Wcast-align", "-Werror")


def under(flags: Sequence[str], cases: Sequence, usual: Sequence[str] = ()) -> Sequence:
    """All cases under the usual flags; under other ones every eighth, beginning where the flags' checksum says. AIDGE_STRESS=1
    takes all."""
    return cases if STRESS or flags == usual else cases[crc32("".join(flags).encode()) % 8 :: 8]


def of_each_form(cases: Sequence[Case], most: int = 2) -> Sequence[Case]:
    """The cases of the first functions, at most so many, of each form of a name: numbers apart. AIDGE_STRESS=1 takes all."""
    found: dict[str, dict[tuple, list[Case]]] = {}
    for entry in cases:
        functions = found.setdefault(re.sub(r"\d+", "", entry.call.function), {})
        functions.setdefault((entry.call.function, entry.call.texts), []).append(entry)
    return cases if STRESS else [entry for each in found.values() for some in list(each.values())[:most] for entry in some]


@functools.cache
def library() -> Library:
    return libraries("ref")[0]


@functools.cache
def libraries(name: str) -> tuple[Library, ...]:
    """A library that comes with the tool, and those whose files it needs."""
    return load_libraries([name], find_libraries([]))[0]


def files_of(*names: str) -> dict[str, Mapping[str, bytes]]:
    """The files of these libraries and of those that they need, by library."""
    return {library.name: library.files for name in names for library in libraries(name)}


@dataclass(frozen=True, eq=False)
class Case:
    """One node with values for its computed inputs, in logical order."""

    features: ClassVar[frozenset[str]] = frozenset()
    view: NodeView
    values: tuple[numpy.ndarray | None, ...]

    @functools.cached_property
    def expected(self) -> tuple[numpy.ndarray, ...]:
        return evaluate(self.view.operator, self.values, self.view.inputs, self.view.outputs)

    def misses_steps(self, *results: numpy.ndarray) -> bool:
        """Whether the results differ in a bit from the operations that the kernel states (`Call.steps`), if it states some."""
        if self.call.steps is None:
            return False
        with numpy.errstate(all="ignore"):
            stated = self.call.steps.forward(*self.values)
        return not all(numpy.array_equal(got, want, equal_nan=True) for got, want in zip(results, stated, strict=True))

    @property
    def rounding(self) -> str:
        """The numerical contract of the outputs."""
        return next((tensor.quantization.rounding for tensor in self.view.outputs if tensor.quantization is not None), "onnx")

    @functools.cached_property
    def matched(self) -> NodeView:
        """The node as predicates see it: no storage order is chosen, except where the case states one (a copy between two)."""
        view = replace(self.view, features=self.features)
        is_stated = any(tensor is not None and tensor.format is not None for tensor in (*view.inputs, *view.outputs))
        return view if is_stated else view.before_orders()

    @functools.cached_property
    def kernel(self) -> Kernel:
        """The kernel that the library prefers of those that accept the node."""
        rejected = []
        kernels = library().kernels_for(self.view.node.type, self.view.operator.kinds())
        for kernel in kernels:
            reason = kernel.spec.rejection(self.matched, frozenset(), self.rounding)
            if not reason:
                return kernel
            rejected.append(f"{kernel.name}: {reason}")
        raise AssertionError(f"no kernel for {self.view.operator}: {rejected}")

    @functools.cached_property
    def stored(self) -> NodeView:
        """The node with the formats that the kernel's spec asks for (an open format becomes channels last)."""
        spec, view = self.kernel.spec, self.view
        ranks = {view.inputs[index].rank for index in tensors_that_move(view.inputs)} | {tensor.rank for tensor in view.outputs}
        open_format = row_major if len(ranks) > 1 else channels_last

        def with_format(side: IOSpec, tensor: Tensor | None) -> Tensor | None:
            if tensor is None or tensor.is_constant or tensor.format is not None:
                return tensor
            return tensor.with_(format=side.format_for(tensor.rank) or open_format(tensor.rank))

        return NodeView(
            view.node,
            tuple(with_format(spec.input_spec(i), tensor) for i, tensor in enumerate(view.inputs)),
            tuple(with_format(spec.output_spec(i), tensor) for i, tensor in enumerate(view.outputs)),
            graph=view.graph,
            objective=view.objective,
            features=self.features,
            any_weights=view.any_weights,
            packs_weights=view.packs_weights,
        )

    @functools.cached_property
    def call(self) -> Call:
        return self.kernel.node_class(self.stored).call()

    @functools.cached_property
    def scratch_bytes(self) -> int:
        return self.kernel.node_class.demands(self.stored).scratch_bytes


def case(operator: Operator, inputs: Sequence[Tensor | None], values: Sequence[numpy.ndarray], **output) -> Case:
    """A case; `values` are those of the computed inputs in order. Outputs are inferred; `output` sets further fields of them."""
    types = operator.infer(inputs)
    outputs = tuple(Tensor(f"y{i}", t.dims, **{"dtype": t.dtype, **output}) for i, t in enumerate(types))
    names = tuple(tensor.name if tensor is not None else "" for tensor in inputs)
    view = NodeView(Node("case", operator, names, tuple(t.name for t in outputs)), tuple(inputs), outputs)
    given = iter(values)
    return Case(view, tuple(None if tensor is None else tensor.data if tensor.is_constant else next(given) for tensor in inputs))


def under_double(entry: Case) -> Case:
    """The case with outputs of the contract `double`."""
    outputs = (tensor.with_(quantization=replace(tensor.quantization, rounding="double")) for tensor in entry.view.outputs)
    return type(entry)(replace(entry.view, outputs=tuple(outputs)), entry.values)


def source_of(cases: Sequence[Case]) -> str:
    """One C file with a function run_<number>(inputs, outputs) for each case."""
    text = kernel_text(files_of("ref"), [("ref", path) for entry in cases for path in entry.call.sources])
    lines = [f"#include {name}" for name in sorted({*text.system_includes, "<math.h>"})]  # math.h: INFINITY in constants
    texts = [*(part.text for part in text.files), *dict.fromkeys(text for entry in cases for text in entry.call.texts)]
    structs = {one.type for entry in cases for one in entry.call.arguments if isinstance(one, Struct)}
    lines += without_unused(texts, structs | {entry.call.function for entry in cases})
    for number, entry in enumerate(cases):
        arguments = []
        for position, argument in enumerate(entry.call.arguments):
            symbol = f"c{number}_{position}"
            match argument:
                case Input(index) | Output(index) as side:
                    tensors, array = (entry.stored.inputs, "in") if isinstance(side, Input) else (entry.stored.outputs, "out")
                    const = "const " if array == "in" else ""
                    arguments.append(f"({const}{tensors[index].dtype.c_type} *){array}[{index}]")
                case Constant(_, values):
                    array = Array(symbol, numpy.ascontiguousarray(values).reshape(-1), "")
                    body = "\n".join(array.lines())
                    lines.append(f"static const {array.dtype.c_type} {symbol}[{array.length}] = {{{body}}};")
                    arguments.append(symbol)
                case Scratch():
                    lines.append(f"static int64_t {symbol}[{entry.scratch_bytes // 8 + 1}];")
                    arguments.append(symbol)
                case Literal(value):
                    arguments.append(str(value))
                case Struct(kind, fields):
                    body = ", ".join(
                        "{" + ", ".join(map(str, value)) + "}" if isinstance(value, tuple) else str(value)
                        for value in fields.values()
                    )
                    lines.append(f"static const {kind} {symbol} = {{{body}}};")
                    arguments.append(f"&{symbol}")
        lines.append(
            f"EXPORT void run_{number}(const void *const *in, void *const *out)\n"
            f"{{\n    (void)in;\n    {entry.call.function}({', '.join(arguments)});\n}}"
        )
    head = '#ifdef __cplusplus\n#define EXPORT extern "C"\n#else\n#define EXPORT\n#endif\nEXPORT void run_placeholder(void);\n'
    declarations = "".join(f"EXPORT void run_{n}(const void *const *in, void *const *out);\n" for n in range(len(cases)))
    return head + declarations + "\n".join(lines) + "\n"


def run(
    cases: Sequence[Case], *flags: str, overwritten: int | None = None, lead: Callable[[Case], int] | None = None
) -> list[tuple[numpy.ndarray, ...]]:
    """The outputs of every case, in logical order; output 0 takes the place of input `overwritten`, or begins `lead` bytes
    before input 0."""
    loaded = _loaded(source_of(cases), flags or ("-std=c99", "-O2" if STRESS else "-O0"))
    return [_run_one(getattr(loaded, f"run_{number}"), entry, overwritten, lead) for number, entry in enumerate(cases)]


@functools.lru_cache(maxsize=8)
def _loaded(text: str, flags: tuple[str, ...]) -> ctypes.CDLL:
    """The compiled functions; tests often run the same ones with outputs at several places."""
    compiler = os.environ.get("CC") or shutil.which("cc")
    with tempfile.TemporaryDirectory() as folder:
        source, binary = Path(folder, "cases.c"), Path(folder, "cases.so")
        source.write_text(text)
        subprocess.run([compiler, *flags, *WARNINGS, "-shared", "-fPIC", "-o", binary, source, "-lm"], check=True)
        return ctypes.CDLL(str(binary))


def _run_one(function, entry: Case, overwritten: int | None, lead: Callable[[Case], int] | None) -> tuple[numpy.ndarray, ...]:
    view = entry.stored
    inputs = [
        None if tensor is None or tensor.is_constant else tensor.to_stored(value)
        for tensor, value in zip(view.inputs, entry.values)
    ]
    outputs = [numpy.full(tensor.layout.stored_dims, 99, tensor.dtype.numpy) for tensor in view.outputs]
    if overwritten is not None:
        outputs[0] = inputs[overwritten] = numpy.array(inputs[overwritten])
    if lead is not None:
        distance, given, result = lead(entry), inputs[0], outputs[0]
        together = numpy.zeros(max(distance + given.nbytes, result.nbytes), numpy.int8)
        inputs[0] = together[distance : distance + given.nbytes]
        inputs[0][:] = given.reshape(-1).view(numpy.int8)
        outputs[0] = together[: result.nbytes].view(result.dtype).reshape(result.shape)
    function(_pointers(inputs), _pointers(outputs))
    return tuple(tensor.from_stored(values) for tensor, values in zip(view.outputs, outputs))


def _pointers(arrays):
    return (ctypes.c_void_p * len(arrays))(*(None if array is None else array.ctypes.data for array in arrays))


def differing(cases: Sequence[Case], results) -> list[str]:
    """A sentence for each case whose int8 result differs from the numpy meaning."""
    found = []
    for entry, result in zip(cases, results, strict=True):
        for got, want in zip(result, entry.expected, strict=True):
            if got.shape != want.shape or got.dtype != want.dtype or not numpy.array_equal(got, want):
                inputs = ", ".join(str(tensor) for tensor in entry.view.inputs)
                found.append(
                    f"{entry.view.operator}({inputs}) -> {entry.view.outputs[0]}: "
                    f"{int((got != want).sum())} of {want.size} differ"
                )
    return found


def far(cases: Sequence[Case], results, tolerance: float = 1e-5) -> list[str]:
    """A sentence for each case whose float32 result is not within `tolerance`, relative to the largest expected value."""
    found = []
    for entry, result in zip(cases, results, strict=True):
        for got, want in zip(result, entry.expected, strict=True):
            size = max(numpy.abs(want[numpy.isfinite(want)]).max(initial=0), 1e-30)
            error = numpy.abs(numpy.where(got == want, 0, got.astype(numpy.float64) - want)).max(initial=0) / size
            if got.shape != want.shape or got.dtype != want.dtype or not error <= tolerance:
                found.append(f"{entry.view.operator}({entry.view.inputs[0]}): relative error {error}")
        if entry.misses_steps(*result):
            found.append(f"{entry.view.operator}({entry.view.inputs[0]}): other bits than the kernel states")
    return found
