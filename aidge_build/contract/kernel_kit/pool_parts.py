# SPDX-License-Identifier: MIT
"""Pools over the whole map that read their rows part by part: the arguments of kernels for kit/pool_part.h."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import replace

import numpy

from aidge_build.contract.call import Call, Constant, Input, Output, Scratch, Struct
from aidge_build.contract.kernel_kit.average import AVERAGE_OF_MAP, ONE_SCALE, SUM_FITS, AverageOfMap, mean_numbers
from aidge_build.contract.kernel_kit.conditions import ALL_QUANTIZED, SAME_QUANTIZATION
from aidge_build.contract.kernel_kit.mean_pooling import IN_INTEGERS, WHOLE_MAP, MeanPool
from aidge_build.contract.kernel_kit.pooling import PoolNode
from aidge_build.contract.node import KernelNode
from aidge_build.contract.spec import CHANNELS_LAST, Demands, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.operators.arithmetic.means import Order, every_sum_decides
from aidge_build.operators.bands import resized

MAXIMA = ("MaxPooling1DPart", "MaxPooling2DPart", "GlobalMaxPoolingPart")
MEANS = ("AvgPooling1DPart", "AvgPooling2DPart", "GlobalAveragePoolingPart")
HALVES_UP, REDUCE_MEAN = "AvgPoolingHalvesUp2DPart", "ReduceMeanPart"
LANES = 4
LARGEST_SUMS = 1 << 22  # the most different sums of a map that are tried one by one


def whole_of(view: NodeView) -> NodeView:
    """Returns the pool with its whole input, given a node that reads one part of it."""
    part, (data,) = view.operator, view.inputs
    whole = data.with_(dims=resized(data.dims, part.rows))
    return replace(view, node=view.node.with_(operator=part.whole), inputs=(whole,), layer=None)


def part_of(view: NodeView) -> Struct:
    """Returns the struct: pixels of the part, before the part and of all parts, channels, and whether the part is the last. The
    storage order is channels last."""
    (data,), part = view.inputs, view.operator
    per_row = data.elements // (data.dims[1] * data.dims[2])
    return Struct(
        "aidge_kit_part",
        {
            "pixels": (part.last - part.first) * per_row,
            "before": part.first * per_row,
            "all": part.rows * per_row,
            "channels": data.dims[1],
            "is_last": int(part.is_last),
        },
    )


class PartNode(KernelNode):
    """A part of a pool. Values that belong to the whole pool, such as its constants, follow from `whole`, never from the part.

    `header` defines `mean`, a C expression that computes the stored mean from `sum`, `numbers` and `part`.
    """

    kind: str  # the word for the mean in names of functions
    header: str
    mean: str
    note: str

    @functools.cached_property
    def whole(self) -> NodeView:
        """The pool with all of its input."""
        return whole_of(self.view)

    def numbers(self) -> Constant:
        """Returns the constants for the means of the whole pool."""
        raise NotImplementedError

    @staticmethod
    def kept_bytes(view: NodeView) -> int:
        """Returns the bytes that the scratch keeps: a sum of 4 bytes for each channel."""
        return 4 * view.inputs[0].dims[1]

    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        return Demands(scratch_bytes=cls.kept_bytes(view), keeps_scratch=True)

    def part(self) -> Struct:
        """The struct of kit/pool_part.h."""
        return part_of(self.view)


class MeanPart(PartNode):
    """A part of a mean in the contract `onnx`; every sum decides its quantized value."""

    kind, header, mean = "mean", "kit/mean_part.h", "aidge_kit_mean_of_sum(sum, numbers, part)"
    note = "integers: every sum decides its level"

    def numbers(self) -> Constant:
        return MeanPool(self.whole).numbers()


class ChainedPart(MeanPart):
    """A part of a mean whose values are added up in float32, in order: the chains of kit/mean_chains.h."""

    note = "float32 in onnxruntime's order"

    @staticmethod
    def kept_bytes(view: NodeView) -> int:
        return 4 * view.inputs[0].dims[1] * chains_of(view)

    def chains(self) -> Struct:
        """Returns the struct: the part, the number of chains, and whether the chains are lanes."""
        in_lanes = MeanPool(self.whole).order() is Order.LANES
        fields = {"part": tuple(self.part().fields.values()), "count": chains_of(self.view), "in_lanes": int(in_lanes)}
        return Struct("aidge_kit_chains", fields)

    def call_of(self, library: str, source: str, facts: Mapping[str, str]) -> Call:
        """Returns the call of the function aidge_<library>_mean_chains_int8 in this file."""
        return Call(
            f"aidge_{library}_mean_chains_int8",
            (source,),
            (Input(0), Output(0), Scratch(), self.numbers(), self.chains()),
            note=self.note,
            facts=facts,
        )


class AveragePart(PartNode):
    """A part of a mean in the contract `double`."""

    kind, header, mean = "average", "kit/average.h", "aidge_kit_average(sum, numbers)"
    note = "integers, one product for each quotient"

    def numbers(self) -> Constant:
        constant, *_ = AverageOfMap(self.whole).arguments()
        assert isinstance(constant, Constant)
        return constant


class HalvesUpPart(PartNode):
    """A part of a mean of a file's bytes in the contract `double`."""

    kind, header = "average_up", "kit/average_halves_up.h"
    mean = "aidge_kit_average_halves_up(sum, numbers, part)"
    note = "integers, halves upwards"

    def numbers(self) -> Constant:
        return Constant("numbers", numpy.array(AverageOfMap(self.whole).levels(), numpy.int32))


class FixedMeanPart(PartNode):
    """A part of a ReduceMean in the contract `double`."""

    kind, header, mean = "fixed_mean", "kit/mean_fixed.h", "(int8_t)aidge_kit_fixed_mean(sum, numbers)"
    note = "integers, one factor"

    def numbers(self) -> Constant:
        return mean_numbers(self.whole)


class MaximumPart(KernelNode):
    """A part of a maximum, int8: the scratch keeps the largest of each channel, and begins with the lowest there is."""

    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        return Demands(scratch_bytes=view.inputs[0].dims[1], keeps_scratch=True)

    def call_of(self, library: str, source: str, facts: Mapping[str, str]) -> Call:
        """Returns the call of the function aidge_<library>_max_part_int8 in this file."""
        levels = Constant("levels", numpy.array(PoolNode(whole_of(self.view)).levels(), numpy.int8))
        return Call(
            f"aidge_{library}_max_part_int8",
            (source,),
            (Input(0), Output(0), Scratch(), levels, part_of(self.view)),
            facts=facts,
        )


def on_whole(predicate: Predicate) -> Predicate:
    """Returns the condition applied to the whole pool, for a node that reads one part of it."""
    return Predicate(f"{predicate.name} (of all parts)", lambda view: predicate.rejection(whole_of(view)))


def count_of(view: NodeView) -> int:
    """Returns the number of values that a mean adds up."""
    data = whole_of(view).inputs[0]
    return data.elements // data.dims[1]


def chains_of(view: NodeView) -> int:
    """Returns the number of partial sums in which a mean first adds up its values."""
    whole = whole_of(view)
    return {Order.TURN: 1, Order.LANES: LANES, Order.COLUMNS: whole.inputs[0].dims[-1]}[MeanPool(whole).order()]


def _in_doubt(view: NodeView) -> str:
    (mean,), count = MeanPool(whole_of(view)).means(), count_of(view)
    point = view.inputs[0].quantization.zero_point
    lowest, highest = count * (-128 - point), count * (127 - point)
    if mean is not None and highest - lowest < LARGEST_SUMS and every_sum_decides(mean, lowest, highest):
        return ""
    return "a sum is near a tie, where the order of float32 additions decides"


def _decided(view: NodeView) -> str:
    return "" if _in_doubt(view) else "every sum decides its level"


ORDER_DECIDES = Predicate("a sum of the map does not decide its level", _decided)
SUMS_DECIDE = Predicate("every sum of the map decides its level", _in_doubt)


def means_spec(*predicates: Predicate, features: frozenset[str] = frozenset()) -> ImplSpec:
    """Returns the spec of int8 means under the contract `onnx`, channels last."""
    spec = ImplSpec(
        inputs=(IOSpec(DType.int8, CHANNELS_LAST),),
        outputs=(IOSpec(DType.int8, CHANNELS_LAST),),
        features=features,
    )
    return replace(spec, predicates=(ALL_QUANTIZED, on_whole(IN_INTEGERS), *predicates))


def maxima_spec(*predicates: Predicate, features: frozenset[str] = frozenset()) -> ImplSpec:
    """Returns the spec of int8 maxima, channels last, under every contract."""
    spec = means_spec(features=features)
    return replace(spec, rounding="any", predicates=(ALL_QUANTIZED, SAME_QUANTIZATION, *predicates))


def _double(*predicates: Predicate, features: frozenset[str]) -> ImplSpec:
    spec = means_spec(features=features)
    return replace(spec, rounding="double", predicates=(ALL_QUANTIZED, *map(on_whole, predicates)))


def averages_spec(features: frozenset[str] = frozenset()) -> ImplSpec:
    """Returns the spec of int8 means under the contract `double`, channels last."""
    return _double(*AVERAGE_OF_MAP, features=features)


def halves_up_spec(features: frozenset[str] = frozenset()) -> ImplSpec:
    """Returns the spec of int8 means of values that a file stores as bytes, under the contract `double`, channels last."""
    return _double(WHOLE_MAP, ONE_SCALE, features=features)


def fixed_means_spec(features: frozenset[str] = frozenset()) -> ImplSpec:
    """Returns the spec of ReduceMean of whole maps, int8, under the contract `double`, channels last."""
    return _double(SUM_FITS, features=features)
