# SPDX-License-Identifier: MIT
"""Dropout: nothing at inference; in training mode a seeded random mask, the same one on every machine."""

from __future__ import annotations

from dataclasses import dataclass

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.operators.bands import same_rows
from aidge_build.operators.base import Operator, TensorType, require
from aidge_build.operators.register import operator
from aidge_build.operators.sample import Sample, numbers
from aidge_build.operators.view import Identity

DEFAULT_RATIO = 0.5


@operator("Dropout")
class Dropout(Identity):
    """y = x: at inference nothing is dropped. Source: ONNX operator Dropout (without the output mask)."""

    @classmethod
    def from_onnx(cls, source):
        source.expect_attributes("is_test", "ratio", "seed")
        require(
            source.opset >= 7 or source.integer("is_test", 0) == 1,
            "it is in training mode (is_test is 0)",
            "export the model in evaluation mode",
        )
        mode = source.optional_input(2)
        if mode is not None and (not mode.is_constant or mode.data.any()):
            require(
                source.has_attribute("seed"),
                "training_mode is on or computed at run time, and the node states no seed",
                "export the model in evaluation mode, or with the attribute seed",
            )
            return DropoutInTraining(source.integer("seed") & 0xFFFFFFFF, source.is_read(1)), source.input_names
        if source.is_read(1):
            return DropoutWithMask(DType.bool if source.opset >= 10 else source.input(0).dtype), source.input_names[:1]
        return cls(), source.input_names[:1]


@dataclass(frozen=True)
class DropoutWithMask(Operator):
    """y = x, and a mask that says that nothing is dropped. Replaces a Dropout with a mask that is read."""

    mask: DType = DType.bool

    def infer(self, inputs):
        (data,) = inputs
        return TensorType(data.dims, data.dtype), TensorType(data.dims, self.mask)

    def band(self, inputs, outputs, first, last):
        return same_rows(self, inputs, outputs, first, last)

    def forward(self, data):
        return data, numpy.ones(data.shape, self.mask.numpy)

    def backward(self, gradients, inputs, outputs):
        return (gradients[0],)

    @classmethod
    def samples(cls):
        return (Sample(cls(), (numbers(2, 3),)),)


@dataclass(frozen=True)
class DropoutInTraining(Operator):
    """y = mask * x / (1 - ratio), and the mask if it is read. Inputs: x, optional ratio, training mode (off: y = x).

    The mask is numpy.random.RandomState(seed).uniform() >= ratio, element by element, as in ONNX's reference; every run draws the
    same mask. Replaces a Dropout with a training mode that is on or computed at run time.
    """

    seed: int = 0
    masked: bool = False

    def infer(self, inputs):
        data, ratio, mode = inputs
        require(
            ratio is None or ratio.elements == 1, f"the ratio has the dims {list(ratio.dims) if ratio else ''}, wants one number"
        )
        require(mode.elements == 1 and mode.dtype is DType.bool, f"training_mode is {mode}, wants one truth value")
        mask = [TensorType(data.dims, DType.bool)] if self.masked else []
        return (TensorType(data.dims, data.dtype), *mask)

    def forward(self, data, ratio, mode):
        mask, kept = self._mask(data.shape, ratio, mode)
        result = numpy.where(mask, data / kept, 0) if mode.reshape(()) else data
        return (result, mask) if self.masked else result

    def backward(self, gradients, inputs, outputs):
        data, ratio, mode = inputs
        mask, kept = self._mask(data.shape, ratio, mode)
        by_kept = -(gradients[0] * mask * data).sum() / kept**2 if mode.reshape(()) else 0.0
        return gradients[0] * mask / kept, None if ratio is None else numpy.full(ratio.shape, -by_kept), None

    def _mask(self, shape: tuple[int, ...], ratio: numpy.ndarray | None, mode: numpy.ndarray) -> tuple[numpy.ndarray, float]:
        """Returns the mask of kept elements, and the probability to be kept (1 if the training mode is off)."""
        if not mode.reshape(()):
            return numpy.ones(shape, bool), 1.0
        share = DEFAULT_RATIO if ratio is None else float(ratio.reshape(()))
        return numpy.random.RandomState(self.seed).uniform(size=shape) >= share, 1 - share

    @classmethod
    def samples(cls):
        data, ratio = numbers(2, 5), numpy.array(0.3)
        return (
            Sample(cls(3, True), (data, ratio, numpy.array(True))),
            Sample(cls(3), (data, None, numpy.array(True))),
            Sample(cls(3), (data, ratio, numpy.array(False))),
        )
