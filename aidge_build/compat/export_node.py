# SPDX-License-Identifier: MIT
"""ExportNode: a kernel's node with the attributes that templates of the inherited style ask for."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

from aidge_build.compat.attributes import node_attributes
from aidge_build.compat.handles import InheritedNode, InheritedOperator, InheritedView, nodes_in
from aidge_build.compat.inherited import restricted
from aidge_build.compat.prod_conso import ProdConso
from aidge_build.contract.mem_info import MemInfo
from aidge_build.contract.node import KernelNode
from aidge_build.contract.spec import ImplSpec, NodeView
from aidge_build.graph.dtype import C_TYPES, DType


class _Constructed(type):
    """Constructors get a node that answers the inherited calls, and an instance count where they want one."""

    def __call__(cls, node: NodeView, *further: Any, **named: Any) -> Any:
        if "instance_count" in inspect.signature(cls.__init__).parameters and len(further) < 2:
            named.setdefault("instance_count", 0)  # each node of a graph without cycles runs once
        return super().__call__(InheritedView.seen_as(node), *(further or (None,)), **named)


class ExportNode(KernelNode, metaclass=_Constructed):
    """`attributes` is the documented dictionary for templates; `conversion_map` gives the C type of each element type.

    A node reaches the class if it says no more than the inherited operator of its type, or if the class handles what it says
    more: `handles` lists words of `compat.inherited.CONDITIONS`.
    """

    handles: ClassVar[Collection[str]] = ()

    def __init__(
        self,
        node: NodeView,
        mem_info: Sequence[MemInfo] | None = None,
        conversion_map: Mapping[DType, str] | int | None = C_TYPES,
    ):
        """`conversion_map` may be an instance count, which newer releases of the inherited API have in its place."""
        super().__init__(node, mem_info)
        self.node = InheritedNode(node.node, node.graph)
        self.operator = InheritedOperator(node)
        self.conversion_map = conversion_map if isinstance(conversion_map, Mapping) else C_TYPES

    @cached_property
    def attributes(self) -> dict:
        """Everything that a template may ask for; a class may add entries of its own."""
        found = node_attributes(self.view, self.mem_info, self.conversion_map)
        graph = self.view.graph
        if graph is not None:
            found["in_node"] = [None if node is None else InheritedNode(node, graph) for node in found["in_node"]]
            found["out_node"] = [list(nodes_in(graph, nodes)) for nodes in found["out_node"]]
        return {**found, "node": self.node}

    @classmethod
    def registered_spec(cls, spec: ImplSpec) -> ImplSpec:
        return restricted(spec, cls)

    @classmethod
    def named_attributes(cls, view: NodeView) -> Collection[str] | None:
        """The attributes that the class's templates take from the node; None for a class without templates."""
        return None

    @classmethod
    def clamps_behind(cls, view: NodeView) -> bool:
        """Whether the clamp of the operator is computed after the kernel's own text."""
        return False

    @classmethod
    def prod_conso(cls, view: NodeView) -> ProdConso:
        """The producer-consumer model that follows from the demands."""
        return ProdConso(view, cls.demands(view))
