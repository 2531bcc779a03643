# SPDX-License-Identifier: MIT
"""The common parts of the kernels of this library: the specs, and the CPU that they are for."""

from __future__ import annotations

from aidge_build.contract.kernel_kit.conditions import CONSTANT_PARAMETERS, QUANTIZED, SYMMETRIC_WEIGHTS
from aidge_build.contract.kernel_kit.linear_int8 import FIXED_FORM
from aidge_build.contract.spec import ANY, CHANNELS_LAST, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType

from ..sums.stream import WIDEST
from .finer import OFFSET_BYTES

MVE = frozenset({"fpu", "mve"})


def _too_wide(view: NodeView) -> str:
    channels = view.outputs[0].dims[1]
    return f"{channels} output channels, at most {WIDEST}" if channels > WIDEST else ""


NARROW = Predicate("offsets of four pixels fit 16 bits", _too_wide)


def linear_spec(form=CHANNELS_LAST, *further: Predicate, weights: Predicate = OFFSET_BYTES) -> ImplSpec:
    """int8 data in and out, int8 or some int16 weights, int32 bias; under both contracts."""
    return ImplSpec(
        inputs=(IOSpec(DType.int8, form), IOSpec(DType.any, ANY), IOSpec(DType.int32, ANY)),
        outputs=(IOSpec(DType.int8, form),),
        features=MVE,
        predicates=(CONSTANT_PARAMETERS, weights, QUANTIZED, SYMMETRIC_WEIGHTS, *further, FIXED_FORM),
        rounding="any",
    )
