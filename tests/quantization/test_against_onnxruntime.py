# SPDX-License-Identifier: MIT
"""What we quantize computes the same in onnxruntime, and loses no more than what onnxruntime's own quantizer makes."""

from __future__ import annotations

import os

import numpy
import pytest

from tests.quantization.measure import measure
from tests.shared import FLOAT_MODELS

STRESS = bool(os.environ.get("AIDGE_STRESS"))
SAMPLE = ("ad_toycar", "kws_dscnn")  # of the models; all of them, with more vectors, with AIDGE_STRESS=1


@pytest.mark.parametrize("name", FLOAT_MODELS if STRESS else SAMPLE)
def test_a_quantized_model_equals_onnxruntime_and_keeps_at_least_the_signal_of_its_quantizer(name):
    found = measure(name) if STRESS else measure(name, samples=96, count=16)
    assert found.differing <= found.values / 100_000 and found.largest <= 1
    assert found.same_top1 == found.vectors
    gains = [ours - theirs for ours, theirs in found.ratios.values()]  # in dB, layer by layer
    assert len(gains) >= 10 and numpy.mean(gains) > 0.2
    assert not STRESS or min(gains) > -0.01  # a few vectors are no measure of a single layer
