# SPDX-License-Identifier: MIT
"""The base class of kernels: one class per kernel, about fifteen lines, one `Call` as its result."""

from __future__ import annotations

from collections.abc import Sequence

from aidge_build.backend.spec import Demands, ImplSpec, NodeView
from aidge_build.export.call import Call
from aidge_build.graph.tensor import Tensor


class ExportNode:
    """A kernel applied to one node: `inputs` and `outputs` are the node's tensors with their final formats."""

    def __init__(self, view: NodeView):
        self.view = view
        self.node = view.node
        self.operator = view.operator
        self.name = view.node.name
        self.inputs: tuple[Tensor | None, ...] = view.inputs
        self.outputs: tuple[Tensor, ...] = view.outputs

    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        """What the kernel asks of the planner for this node."""
        return Demands()

    def call(self) -> Call:
        """The call; AidgeError when this node cannot be computed exactly."""
        raise NotImplementedError


def kernel(types: str | Sequence[str], spec: ImplSpec):
    """Mark a class as a kernel for these operator types; the loader of the library registers what is marked."""

    def mark(cls: type[ExportNode]) -> type[ExportNode]:
        cls.kernel_types = (types,) if isinstance(types, str) else tuple(types)
        cls.kernel_spec = spec
        return cls

    return mark
