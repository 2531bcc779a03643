# SPDX-License-Identifier: MIT
"""Dropout: the mask that drops nothing, and the seeded mask of the training mode."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Call, Constant, Input, Literal, Output, Scratch
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import ROW_MAJOR, Demands, ImplSpec, IOSpec, NodeView
from aidge_build.graph.dtype import DType
from aidge_build.operators.dropout import DEFAULT_RATIO

_ANY = IOSpec(DType.any, ROW_MAJOR)
STATE_BYTES = 625 * 4  # of the random number generator


@kernel("DropoutWithMask", ImplSpec(_ANY))
class DropoutWithMask(KernelNode):
    def call(self) -> Call:
        data, mask = self.outputs
        return Call(
            "aidge_ref_copy_and_fill",
            ("float32/fill.h",),
            (
                Input(0),
                Output(0),
                Output(1),
                Constant("one", numpy.ones(1, mask.dtype.numpy)),
                Literal(data.size_bytes),
                Literal(mask.elements),
                Literal(mask.dtype.size_bytes),
            ),
        )


@kernel(
    "DropoutInTraining",
    ImplSpec(
        inputs=(IOSpec(DType.float32, ROW_MAJOR), IOSpec(DType.float32), IOSpec(DType.bool)),
        outputs=(IOSpec(DType.float32, ROW_MAJOR), IOSpec(DType.bool, ROW_MAJOR)),
    ),
)
class DropoutInTraining(KernelNode):
    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        return Demands(scratch_bytes=STATE_BYTES)

    def call(self) -> Call:
        ratio = Constant("ratio", numpy.array([DEFAULT_RATIO], numpy.float32)) if self.inputs[1] is None else Input(1)
        mask = Output(1) if self.operator.masked else Literal(0)
        return Call(
            "aidge_ref_dropout_float32",
            ("float32/dropout_float32.h",),
            (
                Input(0),
                ratio,
                Input(2),
                Output(0),
                mask,
                Scratch(),
                Literal(self.outputs[0].elements),
                Literal(self.operator.seed),
            ),
        )
