# SPDX-License-Identifier: MIT
"""Matching: which kernels accept a node, in the total order of preference, and why the others do not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from aidge_build.base.naming import counted
from aidge_build.contract.library import Kernel, Library
from aidge_build.contract.node_view import asked_of
from aidge_build.contract.spec import NodeView
from aidge_build.prepare.adaptation.cost import CostTable

PASSED_OVER = (
    "a smaller kernel took the layer: its scratch, or what may not overlap, would make the plan larger (--optimize size, "
    "--ram-budget)"
)
FAILED = "computed other values than the numpy backend, or left its arrays, when it was tried on this machine"


@dataclass(frozen=True)
class Target:
    """The build as kernels see it: the CPU's features, the rounding and the objective.

    With a cost table the fastest or cheapest kernel of all libraries is chosen, except at nodes that are `kept`; without a table
    the libraries' order comes first. `flash_wait_states` is the board's number, for tables in cycles.
    """

    features: frozenset[str] = frozenset()
    rounding: str = "onnx"
    objective: str = "balanced"
    cost_table: CostTable | None = None
    flash_wait_states: int = 0
    any_weights: bool = False  # the generated code must be the same for other weights, too
    loop_bytes: int = 0  # see `Board.loop_bytes`
    packs_weights: bool = False  # weights that fit fewer than 8 bits share bytes in flash
    passed_over: frozenset[tuple[str, str]] = frozenset()  # (node, title of a kernel) that would need too much RAM
    failed: frozenset[tuple[str, str]] = frozenset()  # (node, title of a kernel) that was tried and is wrong
    kept: frozenset[str] = frozenset()  # nodes at which the cost table is not asked

    @property
    def asked(self) -> dict[str, Any]:
        """The values of the build that kernels see, by the fields of `NodeView`."""
        return asked_of(self)

    @property
    def contract(self) -> str:
        """The numerical contract of the graph; `any` leaves it to kernels of libraries that have their own."""
        return "onnx" if self.rounding == "any" else self.rounding


@dataclass(frozen=True)
class Match:
    """The kernels to choose from, best first; every rejection; and the rule, if it is not the usual one."""

    accepted: tuple[Kernel, ...]
    rejected: tuple[tuple[str, str], ...]
    rule: str = ""


def match(view: NodeView, libraries: Sequence[Library], target: Target) -> Match:
    """Order: library preference, acceptance, implication of specs, the library's own order, name (`Library.preferred`).

    `accepted` are the kernels of the most preferred library that accepts the node. With a cost table it is the cheapest kernel
    of all libraries; the order of libraries only decides where no accepting kernel is in the table, or between equal costs. A
    table with comparisons decides by them alone: a kernel replaces the first one if it was never slower.
    """
    asked = target.asked
    if asked != asked_of(view):
        view = replace(view, **asked)
    rejected: list[tuple[str, str]] = []
    accepted: list[Kernel] = []
    for library in libraries:
        candidates, fitting = library.kernels_for(view.node.type, view.operator.kinds()), []
        if library.kernels and not candidates and not accepted:
            rejected.append((library.name, f"has no kernel for {view.node.type}"))
        for kernel in candidates:
            reason = _rejection(kernel, view, target)
            if reason:
                rejected.append((title(kernel), reason))
            else:
                fitting.append(kernel)
        accepted += library.preferred(fitting)
    if target.cost_table is not None and view.node.name not in target.kept:
        decide = _cheapest if target.cost_table.quicker is None else _quickest
        found = decide(view, accepted, target, rejected)
        if found is not None:
            return found
    chosen = tuple(kernel for kernel in accepted if kernel.library == accepted[0].library)
    rejected += [(title(kernel), f"library {accepted[0].library} comes first") for kernel in accepted[len(chosen) :]]
    return Match(chosen, tuple(rejected))


def _rejection(kernel: Kernel, view: NodeView, target: Target) -> str:
    """Returns why the kernel does not take the node in this build; "" if it does."""
    entry = (view.node.name, title(kernel))
    return (
        kernel.rejection(view, target.features, target.rounding)
        or (PASSED_OVER if entry in target.passed_over else "")
        or (FAILED if entry in target.failed else "")
    )


def _cheapest(view: NodeView, accepted: Sequence[Kernel], target: Target, rejected: list[tuple[str, str]]) -> Match | None:
    """Returns the cheapest kernel by the table; None if the table knows none of them."""
    table = target.cost_table
    costs = [
        (cost, kernel) for kernel in accepted for cost in [table.cost(kernel, view, target.flash_wait_states)] if cost is not None
    ]
    if not costs:
        return None
    (best, chosen), *dearer = sorted(costs, key=lambda entry: entry[0])  # of equal ones, the preferred one first
    others = [(title(kernel), f"costs {cost:,.0f} {table.unit}") for cost, kernel in dearer]
    known = {id(kernel) for _, kernel in costs}
    others += [(title(kernel), "is not in the cost table") for kernel in accepted if id(kernel) not in known]
    return Match((chosen,), (*others, *rejected), f"cheapest by cost table {table}: {best:,.0f} {table.unit}")


def _quickest(view: NodeView, accepted: Sequence[Kernel], target: Target, rejected: list[tuple[str, str]]) -> Match | None:
    """Returns the kernel that was faster than the preferred one on all such layers, by the most; None if there is none."""
    table = target.cost_table
    found = table.quickest(view, accepted)
    if found is None:
        return None
    chosen, by = found
    others = [
        (title(kernel), f"took {1 / by.ratio:.2f} times as much" if kernel is accepted[0] else "is no faster than that")
        for kernel in accepted
        if kernel is not chosen
    ]
    layers = counted(by.layers, "layer")
    rule = f"measured faster by cost table {table}: at most {by.most:.2f} times as much as {by.than} on {layers}"
    return Match((chosen,), (*others, *rejected), rule)


def title(kernel: Kernel) -> str:
    """Returns a kernel's name for people: its library and its name."""
    return f"{kernel.library} {kernel.name}"
