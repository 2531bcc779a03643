# SPDX-License-Identifier: MIT
"""Shared by the int8 layers with weights: multipliers and shifts of the contract `double`, levels, scratch of the assembly."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy

from aidge_build.contract.call import Argument, Call, Constant, Input, Literal, Output, Scratch, Struct
from aidge_build.contract.kernel_kit.conditions import CONSTANT_PARAMETERS, QUANTIZED, SYMMETRIC_WEIGHTS
from aidge_build.contract.kernel_kit.linear import linear_constants
from aidge_build.contract.node import KernelNode
from aidge_build.contract.spec import ANY, CHANNELS_LAST, Demands, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.operators.arithmetic.contracts import FixedFactors, contract, each_channel
from aidge_build.operators.arithmetic.ranges import INT32_LIMIT, largest_accumulators

from .layer import ESP32S3, LARGEST_SHIFT, of_checkout, words

LARGEST_SIZE = 32767  # ESP-NN counts in 16 bits
WORD_BYTES = 8  # of the widest read of weights in assembly


def _shifts_unfit(view: NodeView) -> str:
    layer = EspLinear(view)
    shifts = layer.factors[:, 1]
    if shifts.min() < -LARGEST_SHIFT:
        return f"a factor shifts to the right by {-int(shifts.min())} bits"
    data, _, bias, *_ = (*view.inputs, None)
    numbers = numpy.zeros(1) if bias is None else bias.data
    largest = largest_accumulators(layer.rows, numbers, data.quantization.zero_point, *data.dtype.range)
    halves = (numpy.int64(1) << numpy.maximum(-shifts, 0)) >> 1
    fits = (largest << numpy.maximum(shifts, 0)) + halves < INT32_LIMIT
    return "" if fits.all() else "a sum that is shifted or rounded could leave int32"


def _too_large(view: NodeView) -> str:
    largest = max(*view.inputs[0].dims[1:], *view.outputs[0].dims[1:])
    return "" if largest <= LARGEST_SIZE else f"a size of {largest}, wants at most {LARGEST_SIZE}"


FITS = Predicate("sums that int32 holds, also shifted and rounded", _shifts_unfit)
SIZES = Predicate("sizes of 15 bits", _too_large)


def linear_spec(*predicates: Predicate, form: str = CHANNELS_LAST) -> ImplSpec:
    """int8 data and weights, int32 bias."""
    return ImplSpec(
        (IOSpec(DType.int8, form), IOSpec(DType.int8, ANY), IOSpec(DType.int32, ANY)),
        (IOSpec(DType.int8, form),),
        predicates=(CONSTANT_PARAMETERS, QUANTIZED, SYMMETRIC_WEIGHTS, SIZES, FITS, *predicates),
        rounding="esp-nn",
    )


def in_assembly(spec: ImplSpec, *predicates: Predicate) -> ImplSpec:
    """Returns the spec of the assembly for ESP32-S3, which was compared with nothing: for `--rounding any` alone."""
    return replace(spec, rounding="esp-nn", features=frozenset({ESP32S3}), predicates=(*spec.predicates, *predicates))


class EspLinear(KernelNode):
    """A layer with weights. With the feature `esp32s3` of its spec it calls the assembly, which the firmware links."""

    glue: ClassVar[str]
    functions: ClassVar[tuple[str, ...]]

    @property
    def rows(self) -> numpy.ndarray:
        """The weights, [outputs, taps]."""
        weights = self.inputs[1].data
        return weights.reshape(len(weights), -1)

    @property
    def factors(self) -> numpy.ndarray:
        """Multiplier and shift of each output: the factors of the contract `double` for convolutions, also of other layers."""
        (data, weights, *_), (output,) = self.inputs, self.outputs
        found = self.operator.requantization(self.inputs, output)
        if not isinstance(found, FixedFactors) or found.once:
            scales = data.quantization.scale, weights.quantization.scales, output.quantization.scale
            found = contract("double").of_convolution(*scales)
        return each_channel(found, len(self.rows)).numbers.astype(numpy.int64)

    @classmethod
    def is_assembly(cls) -> bool:
        """Whether it calls the assembly."""
        return ESP32S3 in cls.kernel_spec.features

    @classmethod
    def plain_demands(cls, view: NodeView) -> Demands:
        """Returns the demands of the C function, which needs no scratch."""
        return Demands()

    @classmethod
    def scratch_bytes(cls, view: NodeView) -> int:
        """Returns the bytes of scratch that the assembly asks for."""
        return 0

    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        return Demands(cls.scratch_bytes(view), 16) if cls.is_assembly() else cls.plain_demands(view)

    def linear_call(self, packed: numpy.ndarray, shape: Struct) -> Call:
        """Returns the call; `packed` are the weights as ESP-NN reads them."""
        numbers = linear_constants(self.operator, self.inputs, self.outputs[0], self.rows)
        packed = packed.astype(numpy.int8).ravel()
        if self.is_assembly():
            packed = numpy.pad(packed, (0, -len(packed) % WORD_BYTES)).view(numpy.int64)
        arguments: tuple[Argument, ...] = (
            Input(0),
            Output(0),
            Constant("weights", packed),
            words("bias", numbers.plain_bias),
            words("multipliers", self.factors[:, 0]),
            words("shifts", self.factors[:, 1]),
            words("levels", [-numbers.input_zero_point, numbers.zero_point, numbers.low, numbers.high]),
        )
        if not self.is_assembly():
            return of_checkout(self, self.glue, self.functions, (*arguments, shape))
        name, bytes_ = f"{self.glue}_esp32s3", self.scratch_bytes(self.view)
        scratch = (Scratch(), Literal(bytes_)) if bytes_ else ()
        note = "assembly of ESP-NN, not compared: the firmware links it"
        return Call(f"aidge_esp_nn_{name}", (f"{name}.h",), (*arguments, *scratch, shape), note=note)
