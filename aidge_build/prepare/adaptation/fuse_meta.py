# SPDX-License-Identifier: MIT
"""Nodes that a library computes together become one meta-operator."""

from __future__ import annotations

import re
from collections.abc import Sequence

from aidge_build.contract.library import Kernel, Library
from aidge_build.contract.spec import NodeView
from aidge_build.graph.pattern import Found, find
from aidge_build.graph.rewrite import Rewrite
from aidge_build.graph.view import GraphView, Node
from aidge_build.prepare.adaptation.match import Target, match, title
from aidge_build.prepare.adaptation.meta_operator import MetaOperator, meta_node


def fuse_meta(view: GraphView, libraries: Sequence[Library], target: Target, *, first_only: bool = False) -> GraphView:
    """Fuses, for each library in order of preference and its longest pattern first, every fit that the kernel's spec accepts.

    A later library takes no layer from an earlier one: nothing is fused if an earlier library has a kernel for the covered node
    with the most multiply-accumulates, and every other covered node has a kernel in some library. `first_only` asks the first
    library alone: for the graph as the file holds it, before recipes have rewritten it, and for kernels that say so. A pattern
    may name meta-operators: all patterns are tried again until none fits, at most once for each pattern, so that neither the
    order of patterns nor the order of names matters.
    """
    for position, library in enumerate(libraries[:1] if first_only else libraries):
        patterns = sorted(
            library.preferred(kernel for kernel in library.kernels if _is_tried(kernel, first_only)),
            key=lambda kernel: (-kernel.pattern.count(">"), kernel.type, kernel.pattern),
        )
        for _ in patterns:
            before = view
            for kernel in patterns:
                view = _fused(view, kernel, libraries[:position], libraries, target)
            if view is before:
                break
    return view


def _is_tried(kernel: Kernel, before_recipes: bool) -> bool:
    return bool(kernel.pattern) and (kernel.node_class.before_recipes or not before_recipes)


def _fused(
    view: GraphView, kernel: Kernel, preferred: Sequence[Library], libraries: Sequence[Library], target: Target
) -> GraphView:
    rewrite = Rewrite(view)
    for found in find(view, kernel.pattern):
        if not all(_may_cover(kernel, node) for node in found.nodes):
            continue
        node = meta_node(view, kernel.type, found)
        if _rejection(view, kernel, node, libraries, target) or _better_apart(view, found, preferred, libraries, target):
            continue
        rewrite.replace_node(found.last, node)  # nothing reads the others any more
    return rewrite.finish()


def refused_patterns(view: GraphView, name: str, libraries: Sequence[Library], target: Target) -> list[tuple[str, str]]:
    """Returns (kernel and pattern, reason) of each kernel whose pattern fits the node of this name and others, and that does not
    compute them."""
    refused = []
    for kernel in (kernel for library in libraries for kernel in library.kernels if kernel.pattern):
        for found in find(view, kernel.pattern):
            if any(node.name == name for node in found.nodes) and all(_may_cover(kernel, node) for node in found.nodes):
                reason = _rejection(view, kernel, meta_node(view, kernel.type, found), libraries, target)
                refused.append((f"{title(kernel)}, {kernel.pattern}", reason or "an earlier library has their kernels"))
    return refused


def _rejection(view: GraphView, kernel: Kernel, node: Node, libraries: Sequence[Library], target: Target) -> str:
    """Why the kernel does not take the meta-operator, or why no kernel is left for it; "" if there is one."""
    seen = NodeView.of(view, node, **target.asked).before_orders()
    found = match(seen, libraries, target)
    refused = kernel.rejection(seen, target.features, target.rounding)
    return refused or ("" if found.accepted else dict(found.rejected)[title(kernel)])


def _may_cover(kernel: Kernel, node: Node) -> bool:
    """Whether the pattern may cover the node: a meta-operator only by name, and never the kernel's own type."""
    return not isinstance(node.operator, MetaOperator) or (
        node.type != kernel.type and re.search(rf"\b{re.escape(node.type)}\b", kernel.pattern) is not None
    )


def may_come_apart(node: Node, libraries: Sequence[Library], target: Target) -> bool:
    """Whether each node that a meta-operator covers has a kernel of its own."""
    graph = node.operator.graph
    return all(match(NodeView.of(graph, member), libraries, target).accepted for member in graph.nodes)


def _better_apart(
    view: GraphView, found: Found, preferred: Sequence[Library], libraries: Sequence[Library], target: Target
) -> bool:
    """Whether every node has its own kernel or needs none, and the heaviest (all, if none multiplies) has one in a preferred
    library."""
    seen = [NodeView.of(view, node).before_orders() for node in found.nodes]
    most = max(node.multiply_accumulates for node in seen)
    needing = [node for node in seen if node.multiply_accumulates == most or not node.operator.views]
    return all(match(node, preferred if node.multiply_accumulates == most else libraries, target).accepted for node in needing)
