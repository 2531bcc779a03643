# SPDX-License-Identifier: MIT
"""Shared by the kernels of a layer that filters features over time."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Call, Constant, Input, Output, Struct
from aidge_build.contract.node import KernelNode
from aidge_build.contract.spec import Demands, NodeView, Predicate

STATE = 4  # its place among the inputs; the next one is output 0


def _computed_weights(view: NodeView) -> str:
    computed = any(tensor is not None and not tensor.is_constant for tensor in view.inputs[1:STATE])
    return "weights or bias are computed at run time" if computed else ""


CONSTANT_WEIGHTS = Predicate("constant weights and bias", _computed_weights)


class SvdfNode(KernelNode):
    """The next state may take the bytes of the old one: what it needs of it is read before."""

    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        return Demands(in_place=(STATE,))

    def of_filters(self, function: str, header: str, numbers: Constant, sums: type[numpy.generic]) -> Call:
        """The call of a function with these constants, with biases as sums of this type."""
        data, features, times, bias, _ = self.inputs
        filters, memory = times.dims
        fields = {"batches": data.dims[0], "inputs": data.dims[1], "filters": filters, "memory": memory}
        arguments = (
            *(Input(0), Input(STATE), Output(0), Output(1)),
            Constant("features", features.data),
            Constant("times", times.data),
            Constant("bias", numpy.zeros(self.outputs[1].dims[1], sums) if bias is None else bias.data),
            numbers,
            Struct("aidge_ref_svdf_shape", {**fields, "rank": self.operator.rank}),
        )
        return Call(function, (header,), arguments)
