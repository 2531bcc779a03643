# SPDX-License-Identifier: MIT
"""Nodes of random .tflite files under the contract of TensorFlow Lite: kernels of `ref` against the numpy meaning."""

from __future__ import annotations

from collections.abc import Iterator

from harness import Case, differing, far, run

from aidge_build.contract.reference.execution import prepare
from aidge_build.contract.spec import NodeView
from aidge_build.graph.dtype import DType
from aidge_build.prepare.recipes import simplify
from aidge_build.sources.formats.tflite.importer import import_tflite
from tests.tflite_random import GRAPHS, REFUSED, family_of, file_of, inputs_of

STORED = ("int8", "uint8", "int16", "tensor")  # how the names of types end that are no plain numbers


def nodes_of(name: str) -> Iterator[Case]:
    """The nodes that compute stored values, and what remembers, with the values of the first seeded inputs."""
    view = simplify(import_tflite(file_of(name), name, rounding="double")[0], "double")
    given = [view.tensor(one) for one in view.given]
    row = inputs_of(name, [(tensor.layout.stored_dims, tensor.dtype.name) for tensor in given], 1)[0]
    execution = prepare(view)
    inputs = {tensor.name: tensor.from_stored(values) for tensor, values in zip(given, row, strict=True)}
    inputs |= {state.read: state.initial for state in view.states}
    context = execution.forward(execution.context(), inputs)
    for node in view.nodes:
        tensors = view.input_tensors(node)
        copies = node.operator.views or node.operator.moves or "Moved" in node.operator.kinds()
        stored = view.tensor(node.outputs[0]).quantization is not None
        if not copies and (stored or node.type == "Svdf"):
            values = (None if one is None else one.data if one.is_constant else context[one.name] for one in tensors)
            yield Case(NodeView.of(view, node), tuple(values))


def test_kernels_give_every_integer_of_the_meaning():
    names = [name for name in GRAPHS if name.endswith("random 0") and family_of(name) not in REFUSED]
    cases = [case for name in names if family_of(name).endswith(STORED) for case in nodes_of(name)]
    halfwords = [case for case in cases if any(tensor.dtype is DType.int16 for tensor in case.view.outputs)]
    assert len(cases) > 90 and len(halfwords) > 25
    assert differing(cases, run(cases)) == []


def test_what_remembers_gives_the_floats_of_the_meaning_in_the_states_own_bytes_too():
    cases = [case for name in GRAPHS if family_of(name) == "SVDF float" for case in nodes_of(name)]
    assert cases and far(cases, run(cases)) == []
    assert far(cases, run(cases, overwritten=4)) == []
