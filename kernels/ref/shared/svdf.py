# SPDX-License-Identifier: MIT
"""What the kernels of a layer that filters features over time share."""

from __future__ import annotations

from aidge_build.contract.call import Struct
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

    def shape(self) -> Struct:
        """The struct of svdf_shape.h."""
        data, _, times, *_ = self.inputs
        filters, memory = times.dims
        fields = {"batches": data.dims[0], "inputs": data.dims[1], "filters": filters, "memory": memory}
        return Struct("aidge_ref_svdf_shape", {**fields, "rank": self.operator.rank})

    def units(self) -> int:
        """How many outputs there are."""
        return self.outputs[1].dims[1]
