# SPDX-License-Identifier: MIT
"""The test cases that the package onnx makes: models of one operator with inputs and expected outputs, as plain values."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy
import onnx


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
    """All node cases by name, without those whose values are no tensors."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.case.node import collect_testcases

        return {case.name: found for case in collect_testcases(None) if (found := _plain(case)) is not None}


def _plain(case) -> NodeCase | None:
    inputs, expected = case.data_sets[0]
    if any(isinstance(value, list | dict) for value in (*inputs, *expected)):
        return None
    graph = case.model.graph
    given = {value.name for value in graph.input}
    reads = tuple((node.op_type, position, name) for node in graph.node for position, name in enumerate(node.input) if name in given)
    return NodeCase(case.name, case.model.SerializeToString(), dict(zip((value.name for value in graph.input), map(_array, inputs))),
                    tuple(map(_array, expected)), case.rtol, case.atol, reads)


def _array(value) -> numpy.ndarray:
    return onnx.numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else numpy.asarray(value)
