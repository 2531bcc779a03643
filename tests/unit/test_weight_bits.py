# SPDX-License-Identifier: MIT
"""How many bits a weight shall take in flash."""

from __future__ import annotations

import numpy
import pytest

from aidge_build.contract.kernel_kit.linear_int8 import fewest_bits


@pytest.mark.parametrize(
    ("weights", "bits"),
    [([-1, 1], 1), ([-1, 0, 1], 2), ([-2, 1], 2), ([0, 0], 2), ([2, 0], 4), ([-8, 7], 4), ([8, 0], 8), ([-9, 0], 8)],
)
def test_the_fewest_bits_hold_every_weight(weights, bits):
    assert fewest_bits(numpy.array([weights])) == bits
