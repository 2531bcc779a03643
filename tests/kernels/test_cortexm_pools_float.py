# SPDX-License-Identifier: MIT
"""float32 pools of `cortexm` against their numpy meaning."""

from __future__ import annotations

import math
import shutil

import pytest
from cortexm_harness import BOARD, built_for, case, run
from random_tensors import Randomness

from aidge_build.operators.pool import AvgPooling, GlobalAveragePooling, GlobalMaxPooling, MaxPooling
from aidge_build.operators.window import Window

pytestmark = pytest.mark.skipif(not shutil.which("arm-none-eabi-gcc"), reason="needs arm-none-eabi-gcc")

# batch, channels, spatial, kernel, strides, dilations, pads (begin, end); no kernel: over the whole map
SHAPES = [
    (1, 8, (6, 6), (2, 2), (2, 2), (1, 1), (0, 0)),
    (2, 7, (7, 8), (3, 3), (2, 2), (1, 1), (1, 1)),
    (1, 3, (5, 6), (2, 3), (1, 2), (1, 1), (1, 0)),
    (1, 4, (9, 9), (3, 2), (1, 1), (2, 3), (1, 1)),
    (1, 17, (12,), (2,), (2,), (1,), (0, 0)),
    (2, 1, (9, 5), (5, 5), (1, 1), (1, 1), (2, 2)),
    (1, 12, (4, 4), (1, 1), (3, 2), (1, 1), (0, 0)),
    (1, 9, (7, 1), (3, 1), (2, 1), (1, 1), (0, 0)),
    (2, 19, (5, 3), None, (), (), ()),
]


def candidates():
    """Every shape as maximum and mean, with and without ReLU; of every third one most values are negative."""
    for seed, (batch, channels, spatial, kernel, strides, dilations, pads) in enumerate(SHAPES * 2):
        random = Randomness(seed)
        values = random.float32(batch, channels, *spatial)
        values = -abs(values) if seed % 3 == 1 else values
        low = (-math.inf, 0.0)[seed // len(SHAPES)]
        for pool in (MaxPooling, AvgPooling) if kernel else (GlobalMaxPooling, GlobalAveragePooling):
            fields = {"minimum": low}
            if kernel:
                rank = len(kernel)
                fields["window"] = Window(kernel, strides, dilations, (pads[0],) * rank, (pads[1],) * rank)
            if pool is AvgPooling:
                fields["count_include_pad"] = seed % 2 == 0
            yield case(pool(**fields), [random.real(batch, channels, *spatial)], [values])


def of_cortexm(cases):
    assert {entry.call.function.rsplit("_layer", 1)[0].split("_float32")[0][:21] for entry in cases} <= {
        "aidge_cortexm_largest",
        "aidge_cortexm_means",
    }
    return cases


def test_pools_are_within_tolerance_on_the_emulated_core():
    assert run(of_cortexm(list(candidates())), board=BOARD) == []


def test_short_texts_of_pools_are_within_tolerance_on_the_emulated_core():
    assert run([built_for(entry, "size") for entry in candidates()], "-Os", board=BOARD) == []
