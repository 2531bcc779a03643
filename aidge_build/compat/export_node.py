# SPDX-License-Identifier: MIT
"""ExportNode: a kernel's node with the attributes that templates of the inherited style ask for."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

from aidge_build.compat.attributes import node_attributes
from aidge_build.compat.data_conversion import datatype_converter_aidge2c as CONVERSION
from aidge_build.compat.graph_handles import nodes_in
from aidge_build.compat.handles import InheritedNode, InheritedOperator, InheritedView
from aidge_build.compat.inherited import restricted
from aidge_build.compat.prod_conso import ProdConso
from aidge_build.contract.mem_info import MemInfo
from aidge_build.contract.node import KernelClass, KernelNode
from aidge_build.contract.spec import ImplSpec, NodeView
from aidge_build.graph.dtype import DType


class _Constructed(type):
    """Constructors get a node that answers the inherited calls, and what releases of the inherited API add where they want it."""

    def __call__(cls, aidge_node: NodeView, *further: Any, **named: Any) -> Any:
        wanted = inspect.signature(cls.__init__).parameters  # type: ignore[misc]
        if "instance_count" in wanted and len(further) < 2:
            named.setdefault("instance_count", 0)  # each node of a graph without cycles runs once
        if len(further) < 2 and "is_input" in wanted:
            named |= _at_the_border(aidge_node)
        further = further or (() if "mem_info" in named else (None,))
        return super().__call__(InheritedView.seen_as(aidge_node), *further, **named)


def _at_the_border(view: NodeView) -> dict[str, bool]:
    """Whether the node reads an input of its graph, and whether it computes an output."""
    inputs, outputs = (view.graph.inputs, view.graph.outputs) if view.graph else ((), ())
    return {
        "is_input": any(name in inputs for name in view.node.inputs),
        "is_output": any(name in outputs for name in view.node.outputs),
    }


class ExportNode(KernelNode, metaclass=_Constructed):
    """`attributes` is the documented dictionary for templates; `conversion_map` gives the C type of each element type.

    A node reaches the class if it says no more than the inherited operator of its type, or if the class handles what it says
    more: `handles` lists words of `compat.inherited.CONDITIONS`.
    """

    handles: ClassVar[Collection[str]] = ()

    def __init__(
        self,
        aidge_node: NodeView,
        mem_info: Sequence[MemInfo] | None = None,
        conversion_map: Mapping[DType, str] | int | None = CONVERSION,
    ):
        """`conversion_map` may be an instance count, which newer releases of the inherited API have in its place."""
        super().__init__(aidge_node, mem_info)
        self.node = InheritedNode(aidge_node.node, aidge_node.graph)  # type: ignore[assignment]  # a Node with further calls
        self.operator = InheritedOperator(aidge_node)
        self.conversion_map = conversion_map if isinstance(conversion_map, Mapping) else CONVERSION

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


def derived(node_class: KernelClass, said: Mapping[str, object], *further: type) -> Any:
    """The class with these attributes, under its own name; `further` are classes that it gets the rest from."""
    make: Any = type(node_class)
    named = {"__module__": node_class.__module__, "__doc__": node_class.__doc__}
    return make(node_class.__name__, (node_class, *further), {**named, **said})
