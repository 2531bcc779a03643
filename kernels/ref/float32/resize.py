# SPDX-License-Identifier: MIT
"""Resize by weighted sums in float32."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Call, Constant, Input, Output, Scratch, Struct
from aidge_build.contract.kernel_kit.moves import weighted
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import ROW_MAJOR, Demands, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType

AXES = 5


def _copies(view: NodeView) -> str:
    if view.outputs[0].rank > AXES:
        return f"the rank is {view.outputs[0].rank}"
    return "" if weighted(view) else "it is a copy"


@kernel(
    "Resize",
    ImplSpec(IOSpec(DType.float32, ROW_MAJOR), predicates=(Predicate(f"elements are weighted, at most {AXES} axes", _copies),)),
)
class ResampleFloat32(KernelNode):
    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        return Demands(bands=False)  # the tables follow from the rows

    def call(self) -> Call:
        (source,), (target,) = self.inputs, self.outputs
        offsets, weights, taps = [], [], []
        for axis, (size, step) in enumerate(zip(source.dims, source.layout.strides)):
            indices, factors = self.operator.taps(axis, size)
            offsets.append(numpy.where(indices < 0, -1, indices * step).reshape(-1))
            weights.append(factors.reshape(-1))
            taps.append(factors.shape[1])
        missing = AXES - source.rank
        shape = Struct("aidge_ref_resample_shape", {"dims": (*(1,) * missing, *target.dims), "taps": (*(1,) * missing, *taps)})
        return Call(
            "aidge_ref_resample_float32",
            ("float32/resample_float32.h",),
            (
                Input(0),
                Output(0),
                Constant("offsets", numpy.concatenate([numpy.zeros(missing), *offsets]).astype(numpy.int32)),
                Constant("weights", numpy.concatenate([numpy.ones(missing), *weights]).astype(numpy.float32)),
                Constant("fill", numpy.array([self.operator.extrapolation], numpy.float32)),
                shape,
            ),
        )


_TAPS = {"nearest": 1, "linear": 2, "cubic": 4}
_NEAREST = {"round_prefer_floor": 0, "round_prefer_ceil": 1, "floor": 2, "ceil": 3}


@kernel(
    "CropAndResize",
    ImplSpec(
        IOSpec(DType.float32, ROW_MAJOR),
        predicates=(
            Predicate(
                f"at most {AXES} axes", lambda view: f"the rank is {view.outputs[0].rank}" if view.outputs[0].rank > AXES else ""
            ),
        ),
    ),
)
class CropAndResizeFloat32(KernelNode):
    """The offsets and weights of the places are computed in scratch, then the weighted sums as for a constant roi."""

    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        return Demands(scratch_bytes=8 * (AXES + sum(view.outputs[0].dims)) * _TAPS[view.operator.mode])

    def call(self) -> Call:
        (source, _), (target,), operator = self.inputs, self.outputs, self.operator
        missing, count = AXES - source.rank, _TAPS[operator.mode]
        begins = [operator.roi_axes.index(axis) if axis in operator.roi_axes else -1 for axis in range(source.rank)]
        ends = [place + len(operator.roi_axes) if place >= 0 else -1 for place in begins]
        lengths = [1.0] * missing + [size * scale for size, scale in zip(source.dims, operator.scales)]
        shape = Struct("aidge_ref_resample_shape", {"dims": (*(1,) * missing, *target.dims), "taps": (count,) * AXES})
        crop = Struct(
            "aidge_ref_crop_shape",
            {
                "sizes": (*(1,) * missing, *source.dims),
                "steps": (*(0,) * missing, *source.layout.strides),
                "begins": (*(-1,) * missing, *begins),
                "ends": (*(-1,) * missing, *ends),
                "nearest": _NEAREST[operator.nearest],
            },
        )
        numbers = [*lengths, operator.cubic, operator.extrapolation]
        return Call(
            "aidge_ref_crop_and_resize_float32",
            ("float32/crop_and_resize_float32.h",),
            (Input(0), Input(1), Output(0), Scratch(), Constant("numbers", numpy.array(numbers, numpy.float32)), shape, crop),
        )
