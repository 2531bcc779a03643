# SPDX-License-Identifier: MIT
"""The test cases that the package onnx makes: models of one operator with inputs and expected outputs, as plain values."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy
import onnx

from aidge_build.base.errors import AidgeError
from aidge_build.sources.onnx_format.reader import read_model
from aidge_build.sources.onnx_format.tables import as_places


@dataclass(frozen=True, eq=False)
class NodeCase:
    """One case. `reads` lists (operator, position, input) for every read of a graph input by a node."""

    name: str
    model: bytes
    inputs: Mapping[str, numpy.ndarray]
    expected: tuple[numpy.ndarray, ...]
    relative: float
    absolute: float
    reads: tuple[tuple[str, int, str], ...]

    def bound(self, names: tuple[str, ...]) -> bytes:
        """The model in which these inputs are constants with their test values."""
        model = onnx.ModelProto.FromString(self.model)
        model.graph.initializer.extend(onnx.numpy_helper.from_array(self.inputs[name], name) for name in names)
        return model.SerializeToString()


@cache
def node_cases() -> Mapping[str, NodeCase]:
    """Returns all node cases by name, without cases with values that are no tensors."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.case.node import collect_testcases

        return {case.name: found for case in collect_testcases(None) if (found := _plain(case)) is not None}


@cache
def stored_cases(kind: str) -> Mapping[str, NodeCase]:
    """The models with inputs and expected outputs that the package stores as files, by name; `kind` is "pytorch-converted",
    for example."""
    from onnx.backend.test.loader import load_model_tests

    return {case.name: _stored(case) for case in sorted(load_model_tests(kind=kind), key=lambda case: case.name)}


def _plain(case) -> NodeCase | None:
    inputs, expected = case.data_sets[0]
    if any(isinstance(value, list | dict) for value in (*inputs, *expected)):
        return None
    return _case(case, case.model, inputs, expected)


def _stored(case) -> NodeCase:
    folder = Path(case.model_dir)
    model = onnx.load(folder / "model.onnx")
    inputs, expected = (
        [onnx.load_tensor(path) for path in sorted((folder / "test_data_set_0").glob(f"{kind}_*.pb"), key=_number)]
        for kind in ("input", "output")
    )
    return _case(case, model, inputs, expected)


def _number(path: Path) -> int:
    return int(path.stem.rpartition("_")[2])


def _case(case, model: onnx.ModelProto, inputs, expected) -> NodeCase:
    graph = model.graph
    constant = {tensor.name for tensor in graph.initializer}
    given = [value.name for value in graph.input if value.name not in constant]
    reads = tuple(
        (node.op_type, position, name) for node in graph.node for position, name in enumerate(node.input) if name in given
    )
    tables = _tables(model)
    outputs = [value.name for value in graph.output]
    return NodeCase(
        case.name,
        model.SerializeToString(),
        {name: as_places(_array(value), tables.get(name, ())) for name, value in zip(given, inputs)},
        tuple(as_places(_array(value), tables.get(name, ())) for name, value in zip(outputs, expected)),
        case.rtol,
        case.atol,
        reads,
    )


def _tables(model: onnx.ModelProto) -> dict[str, tuple[str, ...]]:
    """The words of the inputs and outputs that are text; nothing where the model is refused."""
    try:
        read = read_model(model.SerializeToString(), "model", {})
    except AidgeError:
        return {}
    return {value.name: value.names for value in (*read.inputs, *read.outputs)}


def _array(value) -> numpy.ndarray:
    return onnx.numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else numpy.asarray(value)
