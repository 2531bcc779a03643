# SPDX-License-Identifier: MIT
"""Named conditions of the specs of this library."""

from __future__ import annotations

from aidge_build.contract.spec import ANY, CHANNELS_LAST, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.kernel_kit.conditions import CONSTANT_PARAMETERS, QUANTIZED, SYMMETRIC_WEIGHTS


def _groups(view: NodeView) -> str:
    return "" if view.operator.groups == 1 else f"{view.operator.groups} groups, wants 1"


def _least_memory(view: NodeView) -> str:
    return "" if view.objective != "size" else "it needs scratch, and the build asks for the least memory (--optimize size)"


FEATURES: frozenset[str] = frozenset()  # every Cortex-M can run this library


ONE_GROUP = Predicate("one group", _groups)


SCRATCH = Predicate("the build does not ask for the least memory", _least_memory)


def linear_spec(*predicates: Predicate, form: str = CHANNELS_LAST) -> ImplSpec:
    """int8 data, int8 weights, int32 bias."""
    return ImplSpec(
        inputs=(IOSpec(DType.int8, form), IOSpec(DType.int8, ANY), IOSpec(DType.int32, ANY)),
        outputs=(IOSpec(DType.int8, form),),
        predicates=(CONSTANT_PARAMETERS, QUANTIZED, SYMMETRIC_WEIGHTS, SCRATCH, *predicates),
    )
