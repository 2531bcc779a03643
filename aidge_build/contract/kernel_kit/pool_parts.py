# SPDX-License-Identifier: MIT
"""Pools over the whole map that read their rows part by part: the arguments of kernels for kit/pool_part.h."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

import numpy

from aidge_build.contract.call import Call, Constant, Input, Output, Scratch, Struct
from aidge_build.contract.kernel_kit.average import AVERAGE_OF_MAP, ONE_SCALE, SUM_FITS, AverageOfMap, mean_numbers
from aidge_build.contract.kernel_kit.conditions import ALL_QUANTIZED, SAME_QUANTIZATION
from aidge_build.contract.kernel_kit.mean_pooling import IN_INTEGERS, WHOLE_MAP, MeanPool
from aidge_build.contract.kernel_kit.pooling import PoolNode
from aidge_build.contract.node import KernelNode, kernel
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


def _spec(*predicates: Predicate) -> ImplSpec:
    sides = IOSpec(DType.int8, CHANNELS_LAST)
    return ImplSpec(sides, predicates=(ALL_QUANTIZED, *predicates))


def _double(*predicates: Predicate) -> ImplSpec:
    return replace(_spec(*map(on_whole, predicates)), rounding="double")


class PartNode(KernelNode):
    """A part of a mean. Values that belong to the whole pool, such as its constants, follow from `whole`, never from the part."""

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


class Part(PartNode):
    """An int8 part. Its text is C around functions of the library's header:

    | function | does |
    | --- | --- |
    | aidge_<library>_add_pixels(input, sums, part) | adds the part's values to int32 sums of the channels |
    | aidge_<library>_add_links(input, sums, links, step, numbers, channels) | the same in float32, for kit/mean_chains.h |
    | aidge_<library>_add_largest(input, largest, part) | replaces each channel's largest value by a larger one |
    """

    types: ClassVar[Sequence[str]]
    spec: ClassVar[ImplSpec]
    kind: ClassVar[str]  # the word in names of functions
    header: ClassVar[str]
    note: ClassVar[str] = ""
    library: ClassVar[str]
    source: ClassVar[str]  # the header of the library
    facts: ClassVar[Mapping[str, str]] = {}

    def struct(self) -> Struct:
        """Returns the last argument."""
        return self.part()

    def body(self) -> str:
        """Returns the C of the function's body."""
        raise NotImplementedError

    def call(self) -> Call:
        numbers, struct = self.numbers(), self.struct()
        name = f"aidge_{self.library}_{self.kind}_int8"
        parameters = f"const {DType(numbers.values.dtype.name).c_type} *numbers, const {struct.type} *{struct.type[10:]}"
        body = self.body().replace("LIBRARY", self.library)
        text = f"""/* Part of a pool over the whole map, int8, channels last; numbers as in {self.header}. */
static void {name}(const int8_t *input, int8_t *output, void *scratch, {parameters})
{{
{body}
}}"""
        arguments = (Input(0), Output(0), Scratch(), numbers, struct)
        return Call(name, (self.header, self.source), arguments, note=self.note, texts=(text,), facts=self.facts)


class _Sum(Part):
    """`mean`: a C expression of the stored mean from `sum`, `numbers` and `part`."""

    mean: ClassVar[str]

    def body(self) -> str:
        return f"""    int32_t *const sums = (int32_t *)scratch;
    int32_t channel;
    aidge_kit_begin_part(sums, part->channels * 4, part);
    aidge_LIBRARY_add_pixels(input, sums, part);
    for (channel = 0; (part->is_last != 0) && (channel < part->channels); channel++) {{
        const int32_t sum = sums[channel];
        output[channel] = {self.mean};
    }}"""


class MeanPart(_Sum):
    """A part of a mean in the contract `onnx`; every sum decides its quantized value."""

    types, spec = MEANS, _spec(on_whole(IN_INTEGERS), SUMS_DECIDE)
    kind, header, mean = "mean_part", "kit/mean_part.h", "aidge_kit_mean_of_sum(sum, numbers, part)"
    note = "integers: every sum decides its level"

    def numbers(self) -> Constant:
        return MeanPool(self.whole).numbers()


class ChainedPart(Part):
    """A part of a mean of values that are added up in float32, in order: the chains of kit/mean_chains.h."""

    types, spec = MEANS, _spec(on_whole(IN_INTEGERS), ORDER_DECIDES)
    kind, header, note = "mean_chains", "kit/mean_chains.h", "float32 in onnxruntime's order"

    @staticmethod
    def kept_bytes(view: NodeView) -> int:
        return 4 * view.inputs[0].dims[1] * chains_of(view)

    def numbers(self) -> Constant:
        return MeanPool(self.whole).numbers()

    def struct(self) -> Struct:
        """Returns the struct: the part, the number of chains, and whether the chains are lanes."""
        in_lanes = MeanPool(self.whole).order() is Order.LANES
        fields = {"part": tuple(self.part().fields.values()), "count": chains_of(self.view), "in_lanes": int(in_lanes)}
        return Struct("aidge_kit_chains", fields)

    def body(self) -> str:
        return """    const aidge_kit_part *const part = &chains->part;
    const int32_t channels = part->channels;
    const int32_t step = chains->count * channels;
    int32_t *const kept = (int32_t *)scratch;
    int32_t chain;
    aidge_kit_begin_part(kept, step * 4, part);
    for (chain = 0; chain < chains->count; chain++) {
        aidge_LIBRARY_add_links(input, kept + chain * channels, aidge_kit_links_of(chain, chains), step, numbers, channels);
    }
    if (aidge_kit_ends_chains(chains) != 0) {
        aidge_kit_join_chains(kept, chains);
    }
    aidge_LIBRARY_add_links(input, kept, aidge_kit_links_left_over(chains), channels, numbers, channels);
    if (part->is_last != 0) {
        aidge_kit_means_of_chains(output, kept, numbers, part);
    }"""


class AveragePart(_Sum):
    """A part of a mean in the contract `double`."""

    types, spec = MEANS, _double(*AVERAGE_OF_MAP)
    kind, header, mean = "average_part", "kit/average.h", "aidge_kit_average(sum, numbers)"
    note = "integers, one product for each quotient"

    def numbers(self) -> Constant:
        constant, *_ = AverageOfMap(self.whole).arguments()
        assert isinstance(constant, Constant)
        return constant


class HalvesUpPart(_Sum):
    """A part of a mean of a file's bytes in the contract `double`."""

    types, spec = HALVES_UP, _double(WHOLE_MAP, ONE_SCALE)
    kind, header = "average_up_part", "kit/average_halves_up.h"
    mean = "aidge_kit_average_halves_up(sum, numbers, part)"
    note = "integers, halves upwards"

    def numbers(self) -> Constant:
        return Constant("numbers", numpy.array(AverageOfMap(self.whole).levels(), numpy.int32))


class FixedMeanPart(_Sum):
    """A part of a ReduceMean in the contract `double`."""

    types, spec = REDUCE_MEAN, _double(SUM_FITS)
    kind, header, mean = "fixed_mean_part", "kit/mean_fixed.h", "(int8_t)aidge_kit_fixed_mean(sum, numbers)"
    note = "integers, one factor"

    def numbers(self) -> Constant:
        return mean_numbers(self.whole)


class MaximumPart(Part):
    """A part of a maximum: the scratch keeps the largest of each channel, and begins with the lowest there is."""

    types, spec = MAXIMA, replace(_spec(SAME_QUANTIZATION), rounding="any")
    kind, header = "max_part", "kit/pool_part.h"

    @staticmethod
    def kept_bytes(view: NodeView) -> int:
        return view.inputs[0].dims[1]

    def numbers(self) -> Constant:
        return Constant("levels", numpy.array(PoolNode(self.whole).levels(), numpy.int8))

    def body(self) -> str:
        return """    int8_t *const largest = (int8_t *)scratch;
    int32_t channel;
    if (part->before == 0) {
        (void)memset(largest, -128, (size_t)part->channels);
    }
    aidge_LIBRARY_add_largest(input, largest, part);
    for (channel = 0; (part->is_last != 0) && (channel < part->channels); channel++) {
        const int8_t most = largest[channel] < numbers[1] ? largest[channel] : numbers[1];
        output[channel] = most > numbers[0] ? most : numbers[0];
    }"""


KINDS = (MeanPart, ChainedPart, AveragePart, HalvesUpPart, FixedMeanPart, MaximumPart)


def parts(
    features: frozenset[str] = frozenset(), of_chains: frozenset[str] = frozenset(), of_maxima: Sequence[Predicate] = ()
) -> Callable[[type[Part]], type[Part]]:
    """Makes kernels of all KINDS of a library's part, for cores with these features, and more of them for chains; maxima have
    further conditions."""

    def mark(library: type[Part]) -> type[Part]:
        first, *others = (_kernel(library, kind, features, of_chains, of_maxima) for kind in KINDS)
        first.kernel_variants = tuple(others)
        return first

    return mark


def _kernel(library: type[Part], kind: type[Part], features, of_chains, of_maxima) -> type[Part]:
    made = type(kind.__name__, (library, kind), {"__module__": library.__module__})
    features = features | of_chains if kind is ChainedPart else features
    further = of_maxima if kind is MaximumPart else ()
    return kernel(kind.types, replace(kind.spec, features=features, predicates=(*kind.spec.predicates, *further)))(made)
