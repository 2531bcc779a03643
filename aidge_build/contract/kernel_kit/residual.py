# SPDX-License-Identifier: MIT
"""A convolution and the residual Add after it as one node, for libraries with a kernel that computes both at once.

A library declares such a kernel with the pattern `RESIDUAL`; wherever it accepts, the pair becomes one node of the type
`RESIDUAL_TYPE` (`backend.fuse_meta`), and everywhere else it stays two. The kernel must give the results of both in sequence: for
each value the convolution's requantization, then the Add's. Its output may reuse the buffer of the residual.
"""

from __future__ import annotations

from dataclasses import dataclass

from aidge_build.contract.kernel_kit.members import members
from aidge_build.contract.spec import ImplSpec, NodeView, Predicate

RESIDUAL_TYPE = "ConvAdd"
RESIDUAL = "(Conv1D|Conv2D)->Add"


@dataclass(frozen=True)
class ResidualConvolution:
    """Both nodes as separate kernels would see them, and the residual's index among the inputs of the joint node: 0 if the
    convolution reads the residual, too."""

    convolution: NodeView
    addition: NodeView
    residual: int | None  # None: the result is added to itself

    @property
    def convolved(self) -> int:
        """The index of the addition's input that the convolution computes."""
        return self.addition.node.inputs.index(self.convolution.node.outputs[0])


def residual_convolution(view: NodeView) -> ResidualConvolution:
    """Returns the two nodes of a joint node of the type `RESIDUAL_TYPE`; the tensor between them has the format of the output."""
    convolution, addition = members(view)
    residual = next((other for other in addition.node.inputs if other != convolution.node.outputs[0]), "")
    return ResidualConvolution(convolution, addition, view.operator.graph.inputs.index(residual) if residual else None)


def residual_condition(convolution: ImplSpec, addition: ImplSpec) -> Predicate:
    """Returns the condition: these specs accept the two nodes one by one, and the residual is a computed tensor of the output's
    dims."""

    def rejection(view: NodeView) -> str:
        found = residual_convolution(view)
        if found.residual is None:
            return "the result is added to itself"
        residual = view.inputs[found.residual]
        if residual.is_constant or residual.dims != view.outputs[0].dims:
            return "the residual is constant" if residual.is_constant else "the residual is broadcast"
        return convolution.rejection(found.convolution, convolution.features, convolution.rounding) or addition.rejection(
            found.addition, addition.features, addition.rounding
        )

    return Predicate(
        f"a convolution ({convolution}) and an addition ({addition}) of its result and a computed tensor of the same dims",
        rejection,
    )
