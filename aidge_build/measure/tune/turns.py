# SPDX-License-Identifier: MIT
"""The builds of a model by which every kernel is measured at every layer that it accepts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from aidge_build.base.errors import AidgeError
from aidge_build.build.compile import import_model
from aidge_build.build.request import CompileRequest
from aidge_build.contract.library import Library
from aidge_build.contract.spec import NodeView
from aidge_build.graph.view import Node
from aidge_build.prepare.adaptation.adapt import adapt_to_backend
from aidge_build.prepare.adaptation.assignment import Assignment
from aidge_build.prepare.adaptation.match import Target, match, title


def turns(request: CompileRequest, tried: Sequence[Library] | None = None) -> tuple[Target, ...]:
    """Targets under which nodes get the kernel that is preferred, and then each other one of the libraries that are `tried`, in
    their order (None: all of the request).

    Layers of one build hardly change each other's instructions, so that there are as many builds as the layer with the most
    kernels has. A kernel that cannot compute a layer exactly has no turn there.
    """
    view, _ = import_model(request)
    target = request.target
    assignment = adapt_to_backend(view, request.libraries, target)
    names = frozenset(library.name for library in (request.libraries if tried is None else tried))
    orders = {node.name: _kernels(assignment, node, request.libraries, target, names) for node in assignment.view.nodes}
    most = max((len(asked) for _, asked in orders.values()), default=0)
    return target, *(replace(target, passed_over=_passed(orders, turn)) for turn in range(most))


_Order = tuple[tuple[str, ...], tuple[str, ...]]  # titles of all kernels, and of the kernels to be measured


def _kernels(assignment: Assignment, node: Node, libraries: Sequence[Library], target: Target, tried: frozenset[str]) -> _Order:
    chosen = assignment.choices[node.name].kernel
    if chosen is None:
        return (), ()
    seen = NodeView.of(assignment.view, node)
    found = [kernel for library in libraries for kernel in match(seen, (library,), target).accepted]
    view, able = assignment.node_view(node), []
    for kernel in found:
        if kernel.library not in tried or title(kernel) == title(chosen):
            continue
        try:
            kernel.call(replace(view, symbol="layer"), None)
        except AidgeError:  # it says so in a build, too, and another one is taken
            continue
        able.append(title(kernel))
    return tuple(dict.fromkeys(map(title, found))), tuple(dict.fromkeys(able))


def _passed(orders: dict[str, _Order], turn: int) -> frozenset[tuple[str, str]]:
    """Returns at each node all kernels except the one of this turn, if the node has so many."""
    return frozenset(
        (name, kernel)
        for name, (known, asked) in orders.items()
        if turn < len(asked)
        for kernel in known
        if kernel != asked[turn]
    )
