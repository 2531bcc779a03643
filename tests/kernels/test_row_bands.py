# SPDX-License-Identifier: MIT
"""A layer may be computed band by band: the calls of its bands are one function, with the same texts and constants, and give the
rows of the layer.

A sample of random layers; AIDGE_STRESS=1 (`./sconsw stress`) takes more of them, and the candidates of all other tests.
"""

from __future__ import annotations

import functools
import os
from collections import Counter
from pathlib import Path

import armv6m_harness
import armv7m_harness
import cortexm_harness
import harness
import helium_harness
import numpy
import pytest
import rvv_harness
import test_stack
from band_layers import ROWS, Layer, layer, narrow_convolution, random_layer
from helium_harness import needs_emulator
from random_tensors import Randomness

from aidge_build.contract.call import Call, Struct

STRESS = "AIDGE_STRESS" in os.environ
SEEDS = range(600) if STRESS else range(120)
BAND_ROWS = (1, 2, 4)
TOGETHER = 60  # cases of a program


class RefCase(helium_harness.Case):
    library_name, features = "ref", frozenset()


LIBRARIES = {
    "cortexm": (cortexm_harness.Case, cortexm_harness.BOARD),
    "cortexm without FPU": (cortexm_harness.CaseWithoutFpu, cortexm_harness.BOARD_WITHOUT_FPU),
    "helium": (helium_harness.Case, "mps3-an547"),
    "armv7m": (armv7m_harness.Case, armv7m_harness.BOARD),
    "armv6m": (armv6m_harness.Case, armv6m_harness.BOARD),
    "ref": (RefCase, cortexm_harness.BOARD),
    "rvv": (rvv_harness.Case, rvv_harness.BOARD),
}
# What a kernel may say of bands that it does not take: few pixels have no blocks, and a signal whose positions are rows has taps
# far apart, where a band may be a single one.
REASONS = (
    "too few pixels",
    "a single pixel",
    "a single output",
    "rows are dilated",
    "a window of ",
    "not added up by columns",
)


@functools.cache
def layers(library: str) -> tuple[Layer, ...]:
    case, _ = LIBRARIES[library]
    made = ((random_layer(seed), Randomness(seed).choice(*BAND_ROWS)) for seed in SEEDS)
    return tuple(filter(None, (layer(one, case, rows) for one, rows in made if one)))


def candidates_of(library: str) -> list[Layer]:
    """Those of all other tests, at each number of rows."""
    case, _ = LIBRARIES[library]
    modules = sorted(path.stem for path in Path(__file__).parent.glob("test_*.py") if path != Path(__file__))
    made = [entry for module in modules for entry in test_stack.candidates_in(module) if _is_whole(entry, case)]
    mine = cortexm_harness.accepted([entry for entry in made if entry.features == case.features])
    return [Layer(entry, entry.kernel, rows) for entry in mine for rows in BAND_ROWS]


def _is_whole(entry: harness.Case, case: type[harness.Case]) -> bool:
    """Whether it is a case of this library, and of no band."""
    return entry.library_name == case.library_name and entry.stored.layer is None


def shared(call: Call) -> tuple:
    """All of a call but numbers in structs and literals, by what it is."""
    constants = [(one.name, one.values.dtype, one.values.shape, one.values.tobytes()) for one in call.constants]
    kinds = [(type(one).__name__, one.type if isinstance(one, Struct) else "") for one in call.arguments]
    return (
        ("function", call.function),
        ("texts", call.texts),
        ("sources", (call.sources, call.files)),
        ("constants", constants),
        ("arguments", kinds),
    )


def faults(one: Layer) -> list[str]:
    """What differs between the calls of two bands, and why bands are not accepted."""
    bands = one.bands()
    rejections = [one.rejection(band) for band in bands]
    if any(rejections):
        return [f"rejects: {reason}" for reason in filter(None, rejections)]
    calls = [shared(one.kernel.node_class(band).call()) for band in bands]
    return [
        f"{what}: {first} and {other}"
        for call in calls[1:]
        for (what, first), (_, other) in zip(calls[0], call)
        if first != other
    ]


@pytest.mark.parametrize("library", LIBRARIES)
def test_the_calls_of_all_bands_of_a_layer_share_functions_texts_and_constants(library):
    tried, found = Counter(), []
    for one in [*layers(library), *(candidates_of(library) if STRESS else ())]:
        tried[one.kernel.name, one.view.node.type] += bool(one.bands())
        found += [
            f"{one.kernel.name}, {one.rows} rows: {one.view.operator}({one.view.inputs[0]}): {fault[:300]}"
            for fault in faults(one)
            if not any(reason in fault for reason in REASONS)
        ]
    assert found == []
    fewest = {"rvv": 5, "armv6m": 3, "armv7m": 3}.get(library, 8)
    assert len([kind for kind, count in tried.items() if count]) >= fewest, tried


@needs_emulator
@pytest.mark.parametrize("library", LIBRARIES if STRESS else ("cortexm", "helium"))
def test_bands_give_the_rows_of_the_layer(library):
    cases = []
    for one in layers(library) if STRESS else layers(library)[::4]:
        view, (whole, *_) = one.view, one.case.expected
        if one.bands() and view.inputs[0].dtype.name == "int8":
            made = list(one.cases())
            rows = [case.expected[0] for case in made]
            assert all(any(numpy.array_equal(part, whole[:, :, a:b]) for a, b in one.ends) for part in rows)
            cases += made
    assert len(cases) >= (300 if STRESS else 20) and {case.stored.outputs[0].dims[ROWS] for case in cases} >= {1, 2, 4}
    for start in range(0, len(cases), TOGETHER):
        assert helium_harness.run(cases[start : start + TOGETHER], board=LIBRARIES[library][1]) == []


@needs_emulator
def test_blocks_of_pixels_go_across_the_ends_of_rows_with_fewer_pixels_than_a_block():
    cases = []
    for width, dilation in ((1, 1), (1, 4), (2, 1), (3, 2)):
        found = []
        for rows in (1, 8):
            one = layer(narrow_convolution(width, dilation), helium_harness.Case, rows)
            assert not any(one.rejection(band) for band in one.bands())
            found.append(max(one.kernel.node_class.demands(band).instructions for band in one.bands()))
            cases += one.cases()
        assert width > 1 or found[1] < 0.7 * 8 * found[0], found
    assert helium_harness.run(cases, board="mps3-an547") == []


def test_a_difference_between_bands_is_found():
    """The guard is guarded: a kernel whose function tells the rows of a band."""

    class Telling:
        def __init__(self, view):
            self.view = view

        def call(self):
            return Call(f"of_{self.view.inputs[0].dims[ROWS]}_rows", (), ())

    made = next(one for one in layers("ref") if one.view.node.type == "Conv2D" and one.case.view.operator.window.has_pads)
    assert faults(made) == []
    telling = type("Telling", (), {"spec": made.kernel.spec, "name": "telling", "node_class": Telling})
    Telling.demands = made.kernel.node_class.demands
    assert any(fault.startswith("function: of_") for fault in faults(Layer(made.case, telling, made.rows)))
