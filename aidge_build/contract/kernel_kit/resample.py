# SPDX-License-Identifier: MIT
"""int8 Resize by weighted sums of integers, in any storage order, shared by kernels of several libraries."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy

from aidge_build.contract.call import Call, Constant, Input, Output, Scratch, Struct, computed
from aidge_build.contract.kernel_kit.conditions import QUANTIZED
from aidge_build.contract.node import KernelNode
from aidge_build.contract.spec import SAME, Demands, DFormat, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.operators.arithmetic.near_halves import near_factors, near_is_exact
from aidge_build.operators.arithmetic.requantize import quantize
from aidge_build.operators.resampling import LARGEST_VALUE, Shares, multiplier

AXES = 5


def _shares(view: NodeView) -> tuple[Shares, ...] | None:
    return view.operator.in_integers(view.inputs[0], view.outputs[0])


def _not_in_integers(view: NodeView) -> str:
    return "" if _shares(view) else "elements are not weighted, or no whole weights keep the sums within int32"


def _axes(view: NodeView) -> str:
    rank = view.outputs[0].rank
    return "" if rank <= AXES else f"the rank is {rank}"


def resample_spec(*predicates: Predicate, features: frozenset[str] = frozenset(), form: DFormat = SAME) -> ImplSpec:
    """Returns the spec of int8 in this storage order, or in any order that is the same on both sides."""
    return ImplSpec(
        IOSpec(DType.int8, form),
        predicates=(
            QUANTIZED,
            Predicate("elements are weighted by whole numbers", _not_in_integers),
            Predicate(f"at most {AXES} axes", _axes),
            *predicates,
        ),
        features=features,
    )


class Resample(KernelNode):
    """A library's subclass names its `function`, defined in `source`, and a `near_function` for cores without an FPU."""

    function: ClassVar[str]
    near_function: ClassVar[str] = ""
    source: ClassVar[str]
    block: ClassVar[str] = "1 value"

    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        # Its tables follow from the rows.
        return Demands(bands=False, scratch_bytes=16 * math.prod(one.shares.shape[1] for one in _shares(view) or ()))

    def call(self) -> Call:
        (source,), (target,), shares = self.inputs, self.outputs, _shares(self.view)
        order, run = list(target.storage.order), 1
        while order and is_whole(shares[order[-1]], source.dims[order[-1]]):
            run *= target.dims[order.pop()]
        missing = AXES - len(order)
        offsets = [
            numpy.where(shares[axis].indices < 0, -1, shares[axis].indices * source.layout.strides[axis]).ravel()
            for axis in order
        ]
        factor = multiplier(shares, float(source.quantization.scale), float(target.quantization.scale))
        most = LARGEST_VALUE * math.prod(one.largest for one in shares)
        is_near = bool(self.near_function) and "fpu" not in self.view.features and bool(near_is_exact(factor, most))
        shape = {
            "dims": (*(1,) * missing, *(target.dims[axis] for axis in order)),
            "taps": (*(1,) * missing, *(shares[axis].shares.shape[1] for axis in order)),
            "run": run,
        }
        return Call(
            self.near_function if is_near else self.function,
            (self.source,),
            (
                Input(0),
                Output(0),
                Scratch(),
                Constant("offsets", numpy.concatenate([numpy.zeros(missing), *offsets]).astype(numpy.int32)),
                Constant(
                    "shares",
                    numpy.concatenate([numpy.ones(missing), *(shares[axis].shares.ravel() for axis in order)]).astype(
                        numpy.int32
                    ),
                ),
                Constant("multiplier", numpy.array([factor])),
                Constant("levels", self._levels(shares, int(near_factors(factor)))),
                Struct("aidge_kit_resample_shape", shape),
            ),
            facts=computed(self.block, 0),
        )

    def _levels(self, shares: tuple[Shares, ...], factor: int) -> numpy.ndarray:
        (source,), (target,) = self.inputs, self.outputs
        zero_point, (low, high) = target.quantization.zero_point, target.dtype.range
        fill = quantize(numpy.array(self.operator.extrapolation, numpy.float32), target.quantization, target.dtype)
        start = -source.quantization.zero_point * math.prod(one.whole for one in shares)
        return numpy.array([start, low - zero_point, high - zero_point, zero_point, factor, int(fill)], numpy.int32)


def is_whole(shares: Shares, size: int) -> bool:
    """Whether the axis is copied unchanged."""
    return shares.whole == 1 and numpy.array_equal(shares.indices, numpy.arange(size)[:, None])
