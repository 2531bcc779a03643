# SPDX-License-Identifier: MIT
"""Gather with constant indices of few neighbouring bytes: a vector of elements at a time, from a table of places.

Longer runs are copied one by one by `ref`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy

from aidge_build.contract.call import Call, Constant, Input, Literal, Output, computed
from aidge_build.contract.kernel_kit.conditions import SAME_QUANTIZATION
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import ROW_MAJOR, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType

from .conditions import MVE

LONGEST_RUN = 16  # bytes
WIDEST = 1 << 16  # elements of a block: places are halfwords


@dataclass(frozen=True)
class Form:
    """How elements of `bits` are read at places of `place_bits`, each in a lane of `lane_bits`."""

    bits: int
    place_bits: int
    lane_bits: int

    @classmethod
    def of(cls, size: int, block: int) -> Form:
        """The form for elements of `size` bytes in blocks of so many."""
        place_bits = 8 if size == 1 and block <= 256 else 16
        return cls(8 * size, place_bits, max(8 * size, place_bits))

    @property
    def name(self) -> str:
        return f"aidge_helium_gather_{self.bits}_at_{self.place_bits}"

    def text(self) -> str:
        element, place, lane = f"uint{self.bits}_t", f"uint{self.place_bits}_t", f"u{self.lane_bits}"
        letters = {8: "b", 16: "h", 32: "w"}
        lanes, letter = 128 // self.lane_bits, letters[self.bits]
        shifted = "_shifted" if self.bits > 8 else ""
        load, gather = f"vldr{letters[self.place_bits]}q", f"vldr{letter}q_gather{shifted}_offset"
        return f"""/* The elements of each block that `places` names. */
static void {self.name}(const void *data, void *output, const {place} *places, int32_t blocks, int32_t block, int32_t count)
{{
    const {element} *x = (const {element} *)data;
    {element} *y = ({element} *)output;
    for (; blocks > 0; blocks--) {{
        int32_t i = 0;
        for (; i + {lanes} <= count; i += {lanes}) {{
            vstr{letter}q_{lane}(y + i, {gather}_{lane}(x, {load}_{lane}(places + i)));
        }}
        if (i < count) {{
            const mve_pred16_t there = vctp{self.lane_bits}q((uint32_t)(count - i));
            vstr{letter}q_p_{lane}(y + i, {gather}_z_{lane}(x, {load}_z_{lane}(places + i, there), there), there);
        }}
        x += block;
        y += count;
    }}
}}"""


def _unfit(view: NodeView) -> str:
    data, indices = view.inputs
    axis, size = view.operator.axis % data.rank, data.dtype.size_bytes
    inner = math.prod(data.dims[axis + 1 :])
    if not indices.is_constant or not indices.elements or not data.elements:
        return "the indices are not constant"
    if size not in (1, 2, 4) or inner * size >= LONGEST_RUN:
        return f"runs of {inner * size} bytes, wants less than {LONGEST_RUN}, of elements of 1, 2 or 4"
    return "" if data.dims[axis] * inner <= WIDEST else f"blocks of {data.dims[axis] * inner} elements, wants at most {WIDEST}"


@kernel(
    "Gather",
    ImplSpec(
        inputs=(IOSpec(DType.any_1, ROW_MAJOR), IOSpec(DType.any, ROW_MAJOR)),
        outputs=(IOSpec(DType.any_1, ROW_MAJOR),),
        features=MVE,
        predicates=(SAME_QUANTIZATION, Predicate("short runs at constant indices", _unfit)),
    ),
)
class Gather(KernelNode):
    def call(self) -> Call:
        (data, indices), axis = self.inputs, self.operator.axis % self.inputs[0].rank
        size, inner = data.dims[axis], math.prod(data.dims[axis + 1 :])
        form = Form.of(data.dtype.size_bytes, size * inner)
        firsts = inner * (indices.data.astype(numpy.int64).ravel() % size)
        places = (firsts[:, None] + numpy.arange(inner)).ravel().astype(numpy.uint8 if form.place_bits == 8 else numpy.uint16)
        sizes = (math.prod(data.dims[:axis]), size * inner, places.size)
        arguments = (Input(0), Output(0), Constant("places", places), *map(Literal, sizes))
        return Call(
            form.name, ("core/mve.h",), arguments, texts=(form.text(),), facts=computed(f"{128 // form.lane_bits} elements")
        )
