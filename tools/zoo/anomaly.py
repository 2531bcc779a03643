# SPDX-License-Identifier: MIT
"""Vibration of a pump: the autoencoder of examples/anomaly, which computes in float32."""

from __future__ import annotations

import numpy

from aidge_build.prepare.quantization import Scheme, quantize
from tools.zoo.made import Arrays, Made, module_of, run_script, stored

SEED = 1


# Squares and logarithms of powers need more than 8 bits; the network alone is int8 in the trial.
FLOATS = ("waves", "squares", "parts", "power", "audible", "logarithms", "centred", "spectrum")
FLOATS += ("error", "squared", "deviation", "alarms", "score")


def made() -> Made:
    """What the script of the example trains."""
    (model,) = run_script("anomaly", "train.py", "@anomaly.onnx")
    seen = module_of("anomaly", "vibration").windows(200, seed=SEED, faulty=False)
    scheme = Scheme(io_type="float32", layers=dict.fromkeys(FLOATS, "float32"))
    return Made(model, trial=quantize(model, {"samples": seen[:, None]}, scheme))


def held_out() -> Arrays:
    """The windows that the example is measured on: 60 with a fault, 60 of the sound machine."""
    windows = module_of("anomaly", "vibration").windows
    both = numpy.concatenate([windows(60, seed=12, faulty=True), windows(60, seed=11, faulty=False)])
    return stored(both, 1 / 1024, numpy.int16) | {"labels": numpy.repeat([1, 0], 60).astype(numpy.uint8)}
