# SPDX-License-Identifier: MIT
"""What is estimated of a cascade: what its kernels say of their bands, or as usual where they say nothing."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from test_cascades import cascaded

from aidge_build.contract.spec import Demands
from aidge_build.plan.cascade.cost import PER_BYTE_OF_VECTORS, PER_BYTE_READ_AGAIN, PER_CALL, PER_MOVED_BYTE, PER_STEP, beyond
from aidge_build.plan.cascade.kernels import BandKernels

BANDS = ((0, 2), (2, 4), (4, 5))
LAYER = SimpleNamespace(name="layer", shapes=lambda bands: tuple(zip(bands, (1, 2, 1))))  # as many have the shape of each


class Kernels:
    """`known`: instructions of layers beyond those of the whole."""

    def __init__(self, known, features=()):
        self.known, self.target = known, SimpleNamespace(features=frozenset(features))

    def instructions_beyond(self, layer, bands):
        return self.known.get(layer.name)


@pytest.fixture(scope="module")
def cascade():
    """Layers by two rows, of which some read rows again."""
    for seed in range(40):
        layers, found, _ = cascaded(seed, 2)
        if found.shifted_bytes and any(found.work.bytes_read_again.values()):
            return found, layers
    raise AssertionError("no such network")


def test_calls_bytes_read_again_and_moves_cost_what_they_did_on_a_cortex_m4(cascade):
    found, layers = cascade
    calls = len(found.steps) - len(layers)
    expected = (
        PER_CALL * calls + PER_MOVED_BYTE * found.shifted_bytes + PER_BYTE_READ_AGAIN * sum(found.work.bytes_read_again.values())
    )
    assert beyond(found.work, layers, Kernels({})) == pytest.approx(expected)


def test_a_kernel_that_says_what_its_bands_take_is_believed(cascade):
    found, layers = cascade
    told = max(layers, key=lambda layer: found.work.bytes_read_again[layer.name])
    bands, again = len(found.bands_of(told.name)), found.work.bytes_read_again[told.name]
    assert again > 0
    less = PER_CALL * (bands - 1) + PER_BYTE_READ_AGAIN * again - PER_STEP * bands
    without = beyond(found.work, layers, Kernels({}))
    assert beyond(found.work, layers, Kernels({told.name: 5000})) == pytest.approx(without - less + 5000)
    assert beyond(found.work, layers, Kernels({told.name: 0})) == pytest.approx(without - less)


def test_moves_cost_less_where_a_core_has_vectors(cascade):
    found, layers = cascade
    saved = beyond(found.work, layers, Kernels({})) - beyond(found.work, layers, Kernels({}, {"mve"}))
    assert saved == pytest.approx((PER_MOVED_BYTE - PER_BYTE_OF_VECTORS) * found.shifted_bytes)
    assert 0 < PER_BYTE_OF_VECTORS < PER_MOVED_BYTE < PER_BYTE_READ_AGAIN


@pytest.mark.parametrize(
    "whole, of_bands, expected",
    [(100, (50, 50, 30), 80), (150, (20, 30, 30), -40), (0, (50, 50, 30), None), (100, (50, 0, 30), None)],
)
def test_bands_take_so_much_more_than_the_whole_if_the_kernel_says_both(monkeypatch, whole, of_bands, expected):
    kernels, asked = BandKernels(None, (), None), dict(zip(BANDS, of_bands))
    monkeypatch.setattr(BandKernels, "_of_whole", lambda self, layer: whole)
    monkeypatch.setattr(BandKernels, "of_band", lambda self, layer, band, sizes: Demands(instructions=asked[band]))
    assert kernels.instructions_beyond(LAYER, BANDS) == expected


def test_a_band_that_is_refused_has_no_estimate(monkeypatch):
    monkeypatch.setattr(BandKernels, "_of_whole", lambda self, layer: 100)
    monkeypatch.setattr(BandKernels, "of_band", lambda self, layer, band, sizes: None)
    assert BandKernels(None, (), None).instructions_beyond(LAYER, BANDS) is None
