# SPDX-License-Identifier: MIT
"""The cost of a build's flags: layers with faster kernels, which need a feature of the core that the flags leave out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from aidge_build.base.naming import counted
from aidge_build.boards.cores import ALIGNED_ONLY, ASSEMBLY, NO_ASSEMBLY, UNALIGNED, Core, LeftOut
from aidge_build.contract.library import Kernel, Library
from aidge_build.contract.spec import NodeView
from aidge_build.graph.dtype import DType
from aidge_build.prepare.adaptation.assignment import Assignment
from aidge_build.prepare.adaptation.match import Target

SOFT_FLOAT = "float32_soft"  # of `per_mac` in library.toml: float32 without an FPU
NARROW = "_narrow"  # suffix of the keys of cores with 16-bit instructions
WITHOUT_PRODUCTS = "int8_without_products"  # cores without an instruction for products


@dataclass(frozen=True)
class _Layer:
    """A layer that takes `taken` where the core may have what `faster` needs."""

    view: NodeView
    taken: Kernel
    faster: Kernel
    lacking: frozenset[str]


def flag_notices(assignment: Assignment, libraries: Sequence[Library], target: Target, core: Core | None) -> tuple[str, ...]:
    """Returns one line if flags of the build choose slower kernels than the core has: the flag, its cost, and what would help."""
    if core is None:
        return ()
    missing = core.left_out(target.features)
    layers = list(_layers(assignment, libraries, target, core, missing))
    if not layers:
        return ()
    causes = [missing[feature] for feature in sorted(set().union(*(layer.lacking for layer in layers)))]
    macs = sum(layer.view.multiply_accumulates for layer in layers)
    faster, taken = (_named(getattr(layer, side).library for layer in layers) for side in ("faster", "taken"))
    nodes = sum(choice.kernel is not None for choice in assignment.choices.values())
    return (
        f"{' and '.join(dict.fromkeys(cause.flag for cause in causes))}: {len(layers)} of "
        f"{counted(nodes, 'layer')}, {macs:,} MACs, take "
        f"kernels of {taken} instead of faster ones of {faster}{_cost(layers, libraries, target, core.lacks_products)}; "
        f"{', '.join(dict.fromkeys(cause.help for cause in causes))}",
    )


def _layers(
    assignment: Assignment, libraries: Sequence[Library], target: Target, core: Core, missing: Mapping[str, LeftOut]
) -> Iterable[_Layer]:
    for node in assignment.view.nodes:
        taken = assignment.choices[node.name].kernel
        if taken is None:
            continue
        view = assignment.node_view(node)
        for library in libraries:
            faster = _first_faster(library, view, taken, target, core, missing)
            if faster is not None:
                yield _Layer(view, taken, faster, _lacking(faster, target, view))
                break
            if library.name == taken.library:
                break


def _first_faster(
    library: Library, view: NodeView, taken: Kernel, target: Target, core: Core, missing: Mapping[str, LeftOut]
) -> Kernel | None:
    """Returns the library's kernel that only a left-out feature prevents; `taken` itself if its assembly is left out."""
    if library.name == taken.library:
        return taken if _lacking(taken, target, view) else None
    for kernel in library.kernels_for(view.node.type, view.operator.kinds()):
        lacking = _lacking(kernel, target, view)
        more = core.with_implied(kernel.spec.features) > core.with_implied(taken.spec.features)
        if lacking and lacking <= missing.keys() and (more or lacking & {ASSEMBLY, UNALIGNED}):
            if not kernel.rejection(view, (target.features | lacking) - {NO_ASSEMBLY, ALIGNED_ONLY}, target.rounding):
                return kernel
    return None


def _lacking(kernel: Kernel, target: Target, view: NodeView) -> frozenset[str]:
    """Returns the features that the kernel uses at this node and the build lacks."""
    lacking = set(kernel.spec.features - target.features)
    if NO_ASSEMBLY in target.features and kernel.assembly != "none":
        lacking.add(ASSEMBLY)
    if ALIGNED_ONLY in target.features and not kernel.keeps_words(view):
        lacking.add(UNALIGNED)
    return frozenset(lacking)


def _named(libraries: Iterable[str]) -> str:
    return ", ".join(sorted(set(libraries)))


def _cost(layers: Sequence[_Layer], libraries: Sequence[Library], target: Target, lacks_products: bool) -> str:
    """Returns the cost by the build's table, or else by the figures that libraries state; "" if neither knows."""
    return _cost_by_table(layers, target) or _cost_by_libraries(layers, libraries, target, lacks_products)


def _cost_by_table(layers: Sequence[_Layer], target: Target) -> str:
    """Returns the cost by the table, which knows kernels only with their assembly."""
    table = target.cost_table
    if table is None or any(ASSEMBLY in _lacking(layer.taken, target, layer.view) for layer in layers):
        return ""
    known = [
        [table.cost(kernel, layer.view, target.flash_wait_states) for kernel in (layer.taken, layer.faster)] for layer in layers
    ]
    if any(cost is None for pair in known for cost in pair):
        return ""
    taken, faster = (sum(costs) for costs in zip(*known))
    return f", {taken:,.0f} instead of {faster:,.0f} {table.unit} by the cost table"


def _cost_by_libraries(layers: Sequence[_Layer], libraries: Sequence[Library], target: Target, lacks_products: bool) -> str:
    per_mac = {library.name: library.per_mac for library in libraries}
    sums = [0.0, 0.0]
    for layer in layers:
        for side, kernel in enumerate((layer.taken, layer.faster)):
            kind = _kind(layer.view, side == 0 and "fpu" not in target.features)
            typical = per_mac.get(kernel.library, {})
            kind = kind + NARROW if "narrow" in target.features and kind + NARROW in typical else kind
            kind = WITHOUT_PRODUCTS if lacks_products and side == 0 and kind == "int8" else kind
            if kind not in typical:
                return ""
            sums[side] += layer.view.multiply_accumulates * typical[kind]
    return f", about {sums[0]:,.0f} instead of {sums[1]:,.0f} instructions" if sums[0] else ""


def _kind(view: NodeView, is_soft: bool) -> str:
    """Returns the key of `per_mac`."""
    if view.outputs[0].dtype is not DType.float32:
        return "int8"
    return SOFT_FLOAT if is_soft else "float32"
