# SPDX-License-Identifier: MIT
"""float32 normalizations whose statistics or parameters are computed at run time."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy

from aidge_build.contract.call import Argument, Call, Constant, Input, Literal, Output, Struct
from aidge_build.contract.kernel_kit.float_layers import NormalizedRows
from aidge_build.contract.kernel_kit.float_steps import unit_of
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import ROW_MAJOR, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType

from ..any.reduce import reduce_shape
from ..shared.channels import channels_shape
from .linear_float32 import bounds

_FLOAT = IOSpec(DType.float32, ROW_MAJOR)
_SPEC = ImplSpec(_FLOAT)


class _Normalize(KernelNode):
    def parameters(self) -> tuple[Argument, Argument]:
        """Scale and bias; a bias that is not given is a null pointer."""
        return Input(1), Input(2) if len(self.inputs) > 2 and self.inputs[2] is not None else Literal(0)

    def epsilon(self) -> Constant:
        return Constant("epsilon", numpy.array([self.operator.epsilon], numpy.float32))

    def of_rows(self, shape: Struct, with_mean: int) -> Call:
        """The call for the rows of this struct."""
        statistics = map(Output, (1, 2)) if len(self.outputs) > 1 else (Literal(0), Literal(0))
        return Call(
            "aidge_ref_normalize_float32",
            ("float32/normalize_float32.h",),
            (Input(0), *self.parameters(), Output(0), *statistics, self.epsilon(), Literal(with_mean), shape),
        )


@kernel(("LayerNormalization", "RMSNormalization"), _SPEC)
class LayerNormalization(_Normalize):
    def call(self) -> Call:
        dims, axis = self.inputs[0].dims, self.operator.axis
        shape = Struct(
            "aidge_ref_normalize_shape",
            {"rows": math.prod(dims[:axis]), "length": math.prod(dims[axis:]), "period": 1, "step": 0, "run": 1},
        )
        with_mean = self.node.type == "LayerNormalization"
        call = self.of_rows(shape, int(with_mean))
        if len(self.outputs) > 1:
            return call
        return replace(call, steps=NormalizedRows(unit_of(self.view.features), axis, self.operator.epsilon, with_mean))


@kernel(("GroupNormalization", "InstanceNormalization"), _SPEC)
class GroupNormalization(_Normalize):
    def call(self) -> Call:
        data, scale = self.inputs[:2]
        groups, channels, plane = self.operator.group_count(data.dims), data.dims[1], math.prod(data.dims[2:])
        length = channels // groups * plane
        by_channel = scale.dims[0] == channels
        shape = Struct(
            "aidge_ref_normalize_shape",
            {
                "rows": data.dims[0] * groups,
                "length": length,
                "period": groups,
                "step": channels // groups if by_channel else 1,
                "run": plane if by_channel else length,
            },
        )
        return self.of_rows(shape, 1)


@kernel("MeanVarianceNormalization", _SPEC)
class MeanVarianceNormalization(KernelNode):
    def call(self) -> Call:
        return Call(
            "aidge_ref_normalize_axes_float32",
            ("float32/normalize_axes_float32.h",),
            (Input(0), Output(0), Struct("aidge_ref_reduce_shape", reduce_shape(self.inputs[0], self.operator.axes))),
        )


@kernel("LRN", _SPEC)
class Lrn(KernelNode):
    def call(self) -> Call:
        operator = self.operator
        numbers = numpy.array([operator.bias, operator.alpha / operator.size, operator.beta], numpy.float32)
        return Call(
            "aidge_ref_lrn_float32",
            ("float32/lrn_float32.h",),
            (
                Input(0),
                Output(0),
                Constant("numbers", numbers),
                Literal((operator.size - 1) // 2),
                Literal(operator.size // 2),
                channels_shape(self.outputs[0], 1),
            ),
        )


def _all_constant(view: NodeView) -> str:
    return "all parameters are constant" if all(tensor.is_constant for tensor in view.inputs[1:]) else ""


@kernel("BatchNormalization", ImplSpec(_FLOAT, predicates=(Predicate("a parameter is computed at run time", _all_constant),)))
class BatchNormalization(_Normalize):
    def call(self) -> Call:
        (output,) = self.outputs
        return Call(
            "aidge_ref_batchnorm_run_float32",
            ("float32/batchnorm_run_float32.h",),
            (
                *map(Input, range(5)),
                Output(0),
                self.epsilon(),
                bounds(self.operator),
                channels_shape(output, 1 if output.rank > 1 else None),
            ),
        )


@kernel("BatchNormalizationTraining", _SPEC)
class BatchNormalizationTraining(KernelNode):
    def call(self) -> Call:
        numbers = numpy.array([self.operator.epsilon, self.operator.momentum], numpy.float32)
        return Call(
            "aidge_ref_batchnorm_train_float32",
            ("float32/batchnorm_train_float32.h",),
            (*map(Input, range(5)), *map(Output, range(3)), Constant("numbers", numbers), channels_shape(self.outputs[0], 1)),
        )
