# SPDX-License-Identifier: MIT
"""A user's decisions about quantization: how ranges are found, which layers are spared, what the border looks like."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from aidge_build.base.errors import AidgeError
from aidge_build.graph.quantization import Quantization

ACTIVATIONS = ("asymmetric", "symmetric")
CALIBRATIONS = ("minmax", "moving-average", "percentile", "mse", "entropy")
WEIGHT_BITS = {"int4": 4, "int3": 3, "int2": 2}  # of layers whose data are int8
LAYER_TYPES = ("int8", *WEIGHT_BITS, "int16", "float32")
IO_TYPES = ("int8", "float32")
IO_LAYOUTS = ("model", "nhwc")


@dataclass(frozen=True)
class Scheme:
    """How a float model is quantized.

    `layers` maps layers (a node's name, or the name of a tensor that it writes) to the type of their result: int8, int16, or
    float32 for a layer that computes in float; int4, int3 and int2 are int8 with weights of fewer bits. `percentile` is the share
    of values, in percent, that the range of calibration "percentile" holds. `least_sqnr` is the least signal to quantization
    noise ratio of each float output on the samples, in dB;
    minus infinity: the result is not compared with the float model. `ports` are quantizations that inputs, then outputs keep, in
    the order of the model, whatever the samples are; None: the samples decide. `states` names outputs that are inputs of the next
    inference, in addition to the outputs that the file names: both get one scale, and the quantized file names them.
    """

    activations: str = "asymmetric"
    calibration: str = "minmax"
    equalize: bool = False
    correct_bias: bool = False
    round_weights: bool = False
    layers: Mapping[str, str] = field(default_factory=dict)
    io_type: str = "int8"
    io_layout: str = "model"
    percentile: float = 99.99
    least_sqnr: float = 10.0
    ports: tuple[Quantization | None, ...] = ()
    states: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self):
        object.__setattr__(self, "layers", dict(self.layers))
        for name, allowed in (
            ("activations", ACTIVATIONS),
            ("calibration", CALIBRATIONS),
            ("io_type", IO_TYPES),
            ("io_layout", IO_LAYOUTS),
        ):
            if getattr(self, name) not in allowed:
                raise AidgeError(f"{name} is {getattr(self, name)!r}, wants {' or '.join(allowed)}", code="USAGE")
        for layer, kind in sorted(self.layers.items()):
            if kind not in LAYER_TYPES:
                raise AidgeError(f"layer '{layer}' is to be {kind!r}, wants {' or '.join(LAYER_TYPES)}", code="USAGE")
        if math.isnan(self.least_sqnr):
            raise AidgeError("least_sqnr is no number", code="USAGE")
        if not 50 < self.percentile <= 100:
            raise AidgeError(f"percentile is {self.percentile}, wants more than 50, at most 100", code="USAGE")
