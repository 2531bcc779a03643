# SPDX-License-Identifier: MIT
"""The base class of kernels: one class per kernel, about fifteen lines, one `Call` as its result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from aidge_build.backend.prod_conso import ProdConso
from aidge_build.backend.spec import Demands, ImplSpec, NodeView
from aidge_build.export.attributes import node_attributes
from aidge_build.export.call import Call
from aidge_build.export.mem_info import MemInfo
from aidge_build.graph.dtype import C_TYPES, DType
from aidge_build.graph.tensor import Tensor


class ExportNode:
    """A kernel applied to one node: `inputs` and `outputs` are the node's tensors with their final formats.

    `attributes` is the documented dictionary for templates; `mem_info` has one entry per output when all of them lie in the
    arena, else it is None. `conversion_map` gives the C type of each element type.
    """

    def __init__(self, node: NodeView, mem_info: Sequence[MemInfo] | None = None, conversion_map: Mapping[DType, str] = C_TYPES):
        self.view = node
        self.node = node.node
        self.operator = node.operator
        self.name = node.node.name
        self.inputs: tuple[Tensor | None, ...] = node.inputs
        self.outputs: tuple[Tensor, ...] = node.outputs
        self.mem_info = [MemInfo.of(info) for info in mem_info] if mem_info else None
        self.conversion_map = conversion_map

    @cached_property
    def attributes(self) -> dict:
        """Everything that a template may ask for; a class may add entries of its own."""
        return node_attributes(self.view, self.mem_info, self.conversion_map)

    @property
    def output_gap(self) -> int:
        """Elements to leave out behind each position of output 0: not 0 only where `demands` said `output_stride`."""
        return self.mem_info[0].gap_bytes // self.outputs[0].dtype.size_bytes if self.mem_info else 0

    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        """What the kernel asks of the planner for this node."""
        return Demands()

    @classmethod
    def prod_conso(cls, view: NodeView) -> ProdConso:
        """The producer-consumer model that follows from the demands."""
        return ProdConso(view, cls.demands(view))

    def call(self) -> Call:
        """The call; AidgeError when this node cannot be computed exactly."""
        raise NotImplementedError


def kernel(types: str | Sequence[str], spec: ImplSpec, pattern: str = ""):
    """Mark a class as a kernel for these operator types; the loader of the library registers what is marked.

    With a `pattern` the type is that of a meta-operator: nodes that the pattern fits and the spec accepts become one.
    """

    def mark(cls: type[ExportNode]) -> type[ExportNode]:
        cls.kernel_types = (types,) if isinstance(types, str) else tuple(types)
        cls.kernel_spec = spec
        cls.kernel_pattern = pattern
        return cls

    return mark
