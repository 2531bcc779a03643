# SPDX-License-Identifier: MIT
"""Random operators under the contract of TensorFlow Lite, against what its reference kernels gave."""

from __future__ import annotations

from collections.abc import Iterator

import numpy
import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.contract.reference.execution import prepare
from aidge_build.graph.view import GraphView
from aidge_build.prepare.recipes import simplify
from aidge_build.sources.formats.tflite.importer import import_tflite
from tests.exactness.test_tflite import FLOAT_TOLERANCE
from tests.exactness.tflite_references import STORED_RANDOM, stored_random, unpacked
from tests.tflite_cases import one
from tests.tflite_files import write
from tests.tflite_random import GRAPHS, REFUSED, family_of, file_of, inputs_of


@pytest.fixture(scope="module")
def stored() -> dict[str, numpy.ndarray]:
    with numpy.load(STORED_RANDOM) as archive:
        return {key: archive[key] for key in archive.files}


def stream(view: GraphView, rows: list[list[numpy.ndarray]]) -> Iterator[numpy.ndarray]:
    """The outputs of one frame after another, in the order of the file; what is remembered goes from one to the next."""
    execution, kept = prepare(view), {state.read: state.initial for state in view.states}
    for row in rows:
        given = {name: view.tensor(name).from_stored(values) for name, values in zip(view.given, row, strict=True)}
        context = execution.forward(execution.context(), {**given, **kept})
        kept = {state.read: context[state.written] for state in view.states}
        for name in view.handed_out:
            yield view.tensor(name).to_stored(context[name])


def rows_of(name: str, view: GraphView) -> list[list[numpy.ndarray]]:
    """The seeded inputs of a case."""
    given = [view.tensor(one) for one in view.given]
    return inputs_of(name, [(tensor.layout.stored_dims, tensor.dtype.name) for tensor in given])


@pytest.mark.parametrize("family", sorted({family_of(name) for name in GRAPHS} - {*REFUSED}))
def test_no_integer_differs_from_litert_and_floats_hardly(family, stored):
    for name in (name for name in GRAPHS if family_of(name) == family):
        content = file_of(name)
        view = simplify(import_tflite(content, "case.tflite", rounding="double")[0], "double")
        found = list(stream(view, rows_of(name, view)))
        for got, wanted in zip(found, unpacked(stored[stored_random(name, content)], found), strict=True):
            if got.dtype.kind == "f":
                allowed = FLOAT_TOLERANCE * max(float(numpy.nan_to_num(numpy.abs(wanted)).max()), 1e-9)
                assert numpy.allclose(got, wanted, rtol=0, atol=allowed, equal_nan=True), name
            else:
                assert numpy.array_equal(got, wanted), name


@pytest.mark.parametrize("family", REFUSED)
def test_what_the_contract_does_not_say_is_refused(family):
    for name in (name for name in GRAPHS if family_of(name) == family):
        with pytest.raises(AidgeError, match="contract tflite|a rule of its own"):
            view = simplify(import_tflite(file_of(name), "case.tflite", rounding="double")[0], "double")
            list(stream(view, rows_of(name, view)))


BYTES, REAL, HALFWORDS = (
    {"dtype": "int8", "scale": 0.05, "zero_point": 3},
    {"dtype": "float32"},
    {"dtype": "int16", "scale": 2.0**-15},
)


@pytest.mark.parametrize(
    ("kind", "given", "made", "reason"),
    [
        ("TANH", [{"dtype": "uint16"}], BYTES, "uint16 without scale, its output has one"),
        ("TANH", [REAL], BYTES, "float32 without scale, its output has one"),
        ("SOFTMAX", [BYTES], HALFWORDS, "from int8 to int16 has no meaning"),
        ("SOFTMAX", [HALFWORDS], {**HALFWORDS, "scale": 0.1}, "to this scale has no meaning"),
        ("LOGISTIC", [HALFWORDS], {**HALFWORDS, "scale": 0.1}, "to this scale has no meaning"),
        ("LEAKY_RELU", [BYTES], {**BYTES, "scale": 1e-38}, "could leave int32"),
        ("MUL", [BYTES, BYTES], {**BYTES, "scale": 1e-45}, "beyond all numbers"),
        ("ADD", [HALFWORDS, HALFWORDS], HALFWORDS, "a rule of their own"),
    ],
)
def test_what_litert_would_compute_from_other_bytes_is_refused(kind, given, made, reason):
    options = {"SOFTMAX": (9, (0, "float32", 1.0)), "LEAKY_RELU": (75, (0, "float32", 0.2))}.get(kind, (0,))
    content = write(one(kind, [((2, 3), how) for how in given], [((2, 3), made)], options=options))
    with pytest.raises(AidgeError, match=reason):
        view = simplify(import_tflite(content, "case.tflite", rounding="double")[0], "double")
        list(stream(view, [[numpy.zeros((2, 3), how["dtype"]) for how in given]]))


def test_a_sigmoid_rounds_each_of_its_steps_to_float32():
    """1 / (1 + e^-x) of x = 2 / 256: 128.4999975 levels, which float32 rounds to 128.5 where it is rounded once. LiteRT: 128."""
    unit = {"dtype": "uint8", "scale": 1 / 256}
    content = write(one("LOGISTIC", [((1, 3), unit)], [((1, 3), unit)]))
    view = simplify(import_tflite(content, "case.tflite", rounding="double")[0], "double")
    (found,) = stream(view, [[numpy.array([[0, 2, 255]], numpy.uint8)]])
    assert found.tolist() == [[128, 128, 187]]
