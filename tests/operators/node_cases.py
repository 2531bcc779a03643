# SPDX-License-Identifier: MIT
"""The test cases that the package onnx ships, and how one is run through our importer and numpy backend."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from functools import cache

import numpy
import onnx

from aidge_build.base.errors import AidgeError
from aidge_build.contract.reference.cpu import run
from aidge_build.graph.view import GraphView
from aidge_build.operators import builtin_operators
from aidge_build.sources.formats.onnx.importer import import_onnx
from aidge_build.sources.onnx_format.tables import as_places

_MUST_BE_CONSTANT = re.compile(r"input \d+ \('(.*)'\) must be constant")


@cache
def supported_cases() -> Mapping[str, object]:
    """The node cases of which every operator is registered, by name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.case.node import collect_testcases

        cases = collect_testcases(None)
    return {case.name: case for case in cases if all(_full_type(node) in builtin_operators() for node in case.model.graph.node)}


@cache
def stored_cases() -> Mapping[str, object]:
    """The model cases exported from PyTorch that the package onnx stores as files, by name."""
    from onnx.backend.test.loader import load_model_tests

    cases = [case for kind in ("pytorch-converted", "pytorch-operator") for case in load_model_tests(kind=kind)]
    return {case.name: case for case in cases}


def _full_type(node: onnx.NodeProto) -> str:
    return node.op_type if node.domain in ("", "ai.onnx") else f"{node.domain}::{node.op_type}"


def check_case(case, relative: float) -> tuple[str, ...]:
    """Import, run and compare one node case; returns the inputs that had to be bound as constants.

    AidgeError where we refuse the model, AssertionError where our result is wrong.
    """
    inputs, expected = (tuple(map(_array, values)) for values in case.data_sets[0])
    return check(case.name, case.model, inputs, expected, relative, case.atol)


def check(name: str, model: onnx.ModelProto, inputs, expected, rtol: float, atol: float) -> tuple[str, ...]:
    """Import and run the model on `inputs`, compare with `expected`; see `check_case`."""
    initialised = {tensor.name for tensor in model.graph.initializer}
    named = dict(zip((value.name for value in model.graph.input if value.name not in initialised), inputs))
    view, bound = _imported(name, model, named)
    given = {tensor: as_places(numpy.asarray(named[tensor]), view.tensor(tensor).names) for tensor in view.inputs}
    values = run(view, given)
    assert len(view.outputs) == len(expected)
    for tensor, wanted in zip(view.outputs, expected):
        found, wanted = values[tensor], as_places(wanted, view.tensor(tensor).names)
        assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
        numpy.testing.assert_allclose(found, wanted, rtol=rtol, atol=atol)
    return bound


def _array(value) -> numpy.ndarray:
    return onnx.numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else numpy.asarray(value)


def _imported(name: str, model: onnx.ModelProto, values: Mapping[str, numpy.ndarray]) -> tuple[GraphView, tuple[str, ...]]:
    """The graph; inputs that must be constant, and empty ones, get their test value as an initialiser."""
    changed, bound = onnx.ModelProto(), []
    changed.CopyFrom(model)
    for tensor in (tensor for tensor, value in values.items() if numpy.size(value) == 0):
        changed.graph.initializer.append(onnx.numpy_helper.from_array(values[tensor], tensor))
    while True:
        try:
            return import_onnx(changed.SerializeToString(), name, builtin_operators(), {}, {})[0], tuple(bound)
        except AidgeError as error:
            found = _MUST_BE_CONSTANT.search(str(error))
            if not found or found[1] not in values or found[1] in bound:
                raise
            bound.append(found[1])
            changed.graph.initializer.append(onnx.numpy_helper.from_array(values[found[1]], found[1]))
