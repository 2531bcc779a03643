# SPDX-License-Identifier: MIT
"""Trees as data: arrays of nodes that one loop walks through.

A node has a slot, a limit and two children, in bytes where they fit, else in half-words (slot and limit then share one, if they
are bytes). A child is how many nodes further on it lies, or, with the highest bit set, the number of a leaf: of all leaves, or,
where these are too many, counted from the first of the tree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy

from aidge_build.contract.call import Constant
from aidge_build.graph.dtype import DType

from .diagram import Diagram
from .slots import Slots

MOST_NODES = 0xFFFF  # of a tree: their number is a half-word


@dataclass(frozen=True)
class Form:
    """How a node is stored: in units, whose highest bit marks leaves; `is_packed`: slot and limit share one."""

    unit: DType
    is_packed: bool = False

    @property
    def flag(self) -> int:
        """The bit of a leaf."""
        return 1 << (8 * self.unit.size_bytes - 1)

    def holds(self, slots: Slots) -> bool:
        """Whether slots and limits fit."""
        bits = 8 if self.is_packed else 8 * self.unit.size_bytes
        return 8 * slots.type.size_bytes <= bits and max((slot for slot, _ in slots.places.values()), default=0) < 1 << bits


FORMS = (Form(DType.uint8), Form(DType.uint16, is_packed=True), Form(DType.uint16))


@dataclass(frozen=True)
class Layout:
    """The nodes of all trees as numbers; `sizes` of trees in nodes, and in leaves where each has its own part of `table`."""

    form: Form
    nodes: numpy.ndarray
    sizes: numpy.ndarray
    table: tuple[int, ...]
    is_shared: bool  # whether trees share the table

    @property
    def bytes(self) -> int:
        """What the arrays take in flash, without what leaves say."""
        return self.nodes.nbytes + self.sizes.nbytes


def laid_out(diagram: Diagram, slots: Slots, leaf_numbers: int = 0) -> Layout | None:
    """The narrowest layout that holds these trees; None where there is none. Leaves keep their numbers where `leaf_numbers` says
    how many there are, else the layout's table renumbers them."""
    ways = ((form, is_shared) for form in FORMS if form.holds(slots) for is_shared in (True, False))
    given = range(leaf_numbers) if leaf_numbers else None
    return next(filter(None, (_layout(diagram, slots, *way, given) for way in ways if given is None or way[1])), None)


def _layout(diagram: Diagram, slots: Slots, form: Form, is_shared: bool, given: Sequence[int] | None) -> Layout | None:
    leaves = [diagram.leaves(root) for root in diagram.roots]
    table = given or sorted({leaf for own in leaves for leaf in own})
    table = table if is_shared else [leaf for own in leaves for leaf in own]
    if (len(table) if is_shared else max(map(len, leaves))) > form.flag:
        return None
    nodes: list[tuple[int, ...]] = []
    sizes = []
    for root, own in zip(diagram.roots, leaves):
        numbers = {leaf: form.flag | number for number, leaf in enumerate(table if is_shared else own)}
        rows = _rows(diagram, root, slots, numbers, form)
        if rows is None or len(rows) > MOST_NODES:
            return None
        nodes += rows
        sizes.append((len(rows),) if is_shared else (len(rows), len(own)))
    columns = numpy.array(nodes, numpy.int64).T
    columns[1] &= 0xFF if slots.type.size_bytes == 1 else 0xFFFF
    stored = [columns[0] | columns[1] << 8, *columns[2:]] if form.is_packed else columns
    units = numpy.stack(list(stored), -1).astype(form.unit.numpy)
    return Layout(form, units, numpy.array(sizes, numpy.uint16), tuple(table), is_shared)


def _rows(diagram: Diagram, root: int, slots: Slots, leaves: Mapping[int, int], form: Form) -> list[tuple[int, ...]] | None:
    """(slot, limit, low, high) of each node of a tree; None where a child lies too far away."""
    if root < 0:
        return [(0, 0, leaves[~root], leaves[~root])]  # a tree that asks nothing asks what does not matter
    order = diagram.tree(root)
    places = {at: place for place, at in enumerate(order)}
    rows = []
    for place, at in enumerate(order):
        node = diagram.nodes[at]
        steps = [places[child] - place for child in (node.low, node.high) if child >= 0]
        if max(steps, default=0) >= form.flag:
            return None
        rows.append((*slots.place(node), *(places[c] - place if c >= 0 else leaves[~c] for c in (node.low, node.high))))
    return rows


_WALK = """/* The leaf of a tree: from node to node, {units} units each, until a child has its highest bit set. */
static uint32_t {function}(const {value} *slots, const {unit} *node)
{{
    for (;;) {{
        const uint32_t child = node[{first} + ({test} ? 1 : 0)];
        if (child >= {flag}u) {{
            return child - {flag}u;
        }}
        node += {units}u * child;
    }}
}}"""


def walk_text(layout: Layout, value: DType) -> tuple[str, str]:
    """(function, text) of the walk through one tree."""
    form, limit = layout.form, {DType.int8: "(int8_t)", DType.int16: "(int16_t)"}.get(value, "")
    function = f"aidge_ref_tree_walk_{form.unit.name}{'_packed' if form.is_packed else ''}_{value.name}"
    if form.is_packed:
        limit = limit or "(uint8_t)"
        test, first = f"slots[node[0] & 255u] > {limit}(node[0] >> 8)", 1
    else:
        test, first = f"slots[node[0]] > {limit}node[1]", 2
    fields = {"value": value.c_type, "unit": form.unit.c_type, "flag": form.flag, "units": first + 2}
    return function, _WALK.format(function=function, test=test, first=first, **fields)


def walk_lines(layout: Layout, function: str, trees: int, after: list[str], advance: str) -> tuple[list[str], list[Constant]]:
    """(statements, constants): all trees one by one; `after` uses `leaf`, `advance` goes on to the next tree's leaves."""
    units = layout.nodes.shape[1]
    size = "trees[tree]" if layout.is_shared else "trees[2 * tree]"
    lines = [
        "node = nodes;",
        f"for (tree = 0; tree < {trees}; tree++) {{",
        f"    const uint32_t leaf = {function}(slots, node);",
        *(f"    {line}" for line in after),
        f"    node += {units} * {size};",
        *([f"    {advance}"] if advance and not layout.is_shared else []),
        "}",
    ]
    return lines, [Constant("nodes", layout.nodes), Constant("trees", layout.sizes)]
