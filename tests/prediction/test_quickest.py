# SPDX-License-Identifier: MIT
"""Kernels chosen by prediction: only where both errors leave no doubt, and the whole model gains by it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from aidge_build.adaptation.adapt import adapt_to_backend
from aidge_build.adaptation.match import Target
from aidge_build.errors import AidgeError
from aidge_build.inputs import find_libraries, load_libraries
from aidge_build.operators.binary import Mul
from aidge_build.prediction.quickest import quickest
from tests.quantized_graphs import QuantizedGraph

FEATURES = frozenset({"thumb2", "dsp", "fpu"})


def table(kernel: str, function: str, per_element: float, error: float) -> bytes:
    return f"""
schema = 1
features = ["dsp", "fpu", "thumb2"]
optimize = ["balanced"]
[[cost]]
function = "{kernel}/{function}"
words = []
layers = 10
error = {error}
terms = {{ "elements" = {per_element} }}
least = {{ "elements" = 10 }}
most = {{ "elements" = 1000000 }}
""".encode()


def product():
    graph = QuantizedGraph((1, 8, 6, 6))
    graph.add(Mul(), "x", "x", scale=0.2, zero_point=1)
    return graph.view("t1")


def libraries(**tables: bytes):
    found, _ = load_libraries(["cortexm", "armv7m", "ref"], find_libraries([]))
    return [replace(one, files={"predicted/one.toml": tables[one.name]} if one.name in tables else {}) for one in found]


def chosen(preferred: tuple[float, float], other: tuple[float, float]):
    view, target = product(), Target(FEATURES)
    known = libraries(
        cortexm=table("mul_int8", "aidge_cortexm_mul_int8", *preferred),
        armv7m=table("mul_int8", "aidge_armv7m_mul_int8", *other),
    )
    assignment, notices = quickest(view, known, target, adapt_to_backend(view, known, target))
    (node,) = (node for node in assignment.view.nodes if node.type == "Mul")
    return assignment.choices[node.name].kernel.library, notices


def test_a_kernel_that_is_surely_quicker_is_taken_and_said():
    library, notices = chosen((10, 0.01), (9, 0.01))
    assert library == "armv7m"
    assert notices == ("--select cost: 288 of 2,880 instructions less are predicted with Mul_t1: armv7m mul_int8",)


@pytest.mark.parametrize(
    ("preferred", "other"),
    [((10, 0.03), (9, 0.03)), ((10, 0.051), (9, 0)), ((10, 0), (9, 0.056)), ((10, 0.0), (10, 0.0)), ((9, 0.0), (10, 0.0))],
)
def test_a_kernel_that_is_not_surely_quicker_is_left(preferred, other):
    assert chosen(preferred, other) == ("cortexm", ())


@pytest.mark.parametrize(("preferred", "other"), [((10, 0.02), (9, 0.02)), ((10, 0.049), (9, 0)), ((10, 0), (9, 0.055))])
def test_twice_both_errors_are_believed(preferred, other):
    assert chosen(preferred, other)[0] == "armv7m"


@pytest.mark.parametrize(
    ("measured", "less"),
    [(b'"elements" = 10 }', b'"elements" = 1000 }'), (b"words = []", b'words = ["rows"]')],
    ids=["sizes outside of what was measured", "numbers of several variants together"],
)
def test_what_is_known_less_well_is_not_believed(measured, less):
    view, target = product(), Target(FEATURES)
    quick = table("mul_int8", "aidge_armv7m_mul_int8", 1, 0.0)
    assert measured in quick
    known = libraries(cortexm=table("mul_int8", "aidge_cortexm_mul_int8", 10, 0.0), armv7m=quick.replace(measured, less))
    before = adapt_to_backend(view, known, target)
    assert quickest(view, known, target, before) == (before, ())


def test_a_kernel_that_nobody_measured_is_never_taken():
    view, target = product(), Target(FEATURES)
    known = libraries(cortexm=table("mul_int8", "aidge_cortexm_mul_int8", 10, 0.01))
    before = adapt_to_backend(view, known, target)
    assert quickest(view, known, target, before) == (before, ())


def test_a_core_without_predictions_is_refused():
    view, target = product(), Target(FEATURES)
    known = libraries()
    with pytest.raises(AidgeError, match="no library says what kernels cost on a core with dsp fpu thumb2") as refused:
        quickest(view, known, target, adapt_to_backend(view, known, target))
    assert refused.value.code == "COST"
    assert refused.value.hint
