# SPDX-License-Identifier: MIT
"""Trees as data: one stream of units (bytes, or half-words where there are many slots) that one loop walks through.

1. slot limit skip: a node. Behind it stands what follows where the slot is at most the limit, `skip` units further on the rest.
2. a unit with its highest bit set: a leaf, and the place of what it says in a table; of bytes, places of 64 and more take two.
3. all bits set: a jump, by a signed half-word: to a subtree that stands somewhere else already, or over a long one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy

from aidge_build.contract.call import Constant
from aidge_build.graph.dtype import DType

from .diagram import Diagram
from .slots import Slots

MOST_UNITS = 0xFFFF  # of a tree: their number is a half-word
_FARTHEST = 0x7FFF  # a jump
_SHORT = 64  # leaves of one byte


@dataclass(frozen=True)
class Form:
    """The unit of a stream."""

    unit: DType

    @property
    def flag(self) -> int:
        """The bit that tells leaves and jumps from nodes."""
        return 1 << (8 * self.unit.size_bytes - 1)

    @property
    def jump(self) -> int:
        """The unit that begins a jump."""
        return 2 * self.flag - 1

    @property
    def places(self) -> int:
        """How many places a leaf can name."""
        return _SHORT + 256 * (self.flag - 1 - _SHORT) if self.unit is DType.uint8 else self.flag - 1

    def holds(self, slots: Slots) -> bool:
        """Whether slots and limits fit into a unit."""
        return (
            slots.type.size_bytes <= self.unit.size_bytes and max((at for at, _ in slots.places.values()), default=0) < self.flag
        )

    def leaf(self, place: int) -> list[int]:
        """The units of a leaf."""
        if self.unit is DType.uint8 and place >= _SHORT:
            return [self.flag + _SHORT + (place - _SHORT >> 8), place - _SHORT & 255]
        return [self.flag + place]

    def distance(self, units: int) -> list[int]:
        """The units of a signed distance."""
        return [units & 255, units >> 8 & 255] if self.unit is DType.uint8 else [units & 0xFFFF]


FORMS = (Form(DType.uint8), Form(DType.uint16))


@dataclass(frozen=True, eq=False)
class Layout:
    """The stream, the units of each tree, and the leaves in the order of the table; `own_places`: how much of the table each
    tree has for itself, () where all share it."""

    form: Form
    stream: numpy.ndarray
    sizes: tuple[int, ...]
    table: tuple[int, ...]
    own_places: tuple[int, ...]

    @property
    def trees(self) -> numpy.ndarray:
        """The numbers that the loop over the trees reads: sizes, and the trees' own places, if they have any."""
        columns = [self.sizes, *([self.own_places] if self.own_places else [])]
        return numpy.array(columns, numpy.uint16).T

    @property
    def bytes(self) -> int:
        """The bytes of the arrays in flash, without the answers of leaves."""
        return self.stream.nbytes + self.trees.nbytes


def laid_out(diagram: Diagram, slots: Slots, width: Callable[[int], int], entry_bytes: int, is_fixed: bool) -> Layout | None:
    """The smallest layout that holds these trees; None where there is none.

    `width` is the number of entries of a leaf in the table, `entry_bytes` their size; `is_fixed`: a leaf's place is its number.
    """
    form = next(filter(lambda form: form.holds(slots), FORMS), None)
    if form is None:
        return None
    leaves = [diagram.leaves(root) for root in diagram.roots]
    uses = Counter(leaf for own in leaves for leaf in own)
    shared = sorted(uses, key=lambda leaf: (-uses[leaf], leaf))
    if is_fixed:
        numbers = {leaf: leaf for leaf in uses}
        return _layout(diagram, slots, form, [numbers] * len(leaves), (), ())
    common = places_of(shared, width)
    found = [_layout(diagram, slots, form, [common] * len(leaves), tuple(shared), ())]
    own = [places_of(leaf, width) for leaf in leaves]
    table = tuple(leaf for tree in leaves for leaf in tree)
    found.append(_layout(diagram, slots, form, own, table, tuple(sum(map(width, tree)) for tree in leaves)))
    return min(
        filter(None, found),
        key=lambda layout: layout.bytes + entry_bytes * sum(map(width, layout.table)),
        default=None,
    )


def places_of(leaves: Sequence[int], width: Callable[[int], int]) -> dict[int, int]:
    """The places of the entries of each leaf, one leaf after the other."""
    ends = numpy.cumsum([0, *map(width, leaves)]).tolist()
    return dict(zip(leaves, ends))


def _layout(
    diagram: Diagram,
    slots: Slots,
    form: Form,
    places: Sequence[Mapping[int, int]],
    table: tuple[int, ...],
    own_places: tuple[int, ...],
) -> Layout | None:
    if max(max(numbers.values()) for numbers in places) >= form.places:
        return None
    stream: list[int] = []
    sizes = []
    known: dict[int, int] = {}  # where a node stands; leaves have the numbers of one table only where trees share it
    for root, numbers in zip(diagram.roots, places):
        first = len(stream)
        _write(diagram, root, slots, form, numbers, stream, {} if own_places else known)
        sizes.append(len(stream) - first)
    if max(sizes) > MOST_UNITS:
        return None
    return Layout(form, numpy.array(stream, form.unit.numpy), tuple(sizes), table, own_places)


def _write(
    diagram: Diagram,
    root: int,
    slots: Slots,
    form: Form,
    places: Mapping[int, int],
    stream: list[int],
    known: dict[int, int],
) -> None:
    """Append a tree to the stream."""
    jump = 1 + len(form.distance(0))
    mask = 0xFF if slots.type.size_bytes == 1 else 0xFFFF
    most = _sizes(diagram, root, form, jump)
    waiting: list[tuple[str, int, int]] = [("write", root, 0)]
    end = len(stream) + MOST_UNITS
    while waiting and len(stream) <= end:
        task, at, place = waiting.pop()
        if task == "skip":
            stream[place] = len(stream) - place + 2
        elif task == "jump":
            is_near = at in known and abs(known[at] - place) <= _FARTHEST
            target = known[at] if is_near else len(stream)
            stream[place + 1 : place + jump] = form.distance(target - place)
            waiting += [] if is_near else [("write", at, 0)]
        elif at < 0:
            stream += form.leaf(places[~at])
        elif at in known and len(stream) - known[at] <= _FARTHEST and most[at] > jump:
            stream += [form.jump, *form.distance(known[at] - len(stream))]
        else:
            known[at] = len(stream)
            slot, limit = slots.place(diagram.nodes[at])
            low, high = diagram.nodes[at].low, diagram.nodes[at].high
            stream += [slot, limit & mask, 0]
            if _most(most, low) + 3 < 2 * form.flag:
                waiting += [("write", high, 0), ("skip", low, len(stream) - 1), ("write", low, 0)]
            else:  # the rest follows, and a jump leads over it
                stream[-1] = 3 + jump
                stream += [form.jump] * jump
                waiting += [("jump", low, len(stream) - jump), ("write", high, 0)]


def _most(most: Mapping[int, int], child: int) -> int:
    return most[child] if child >= 0 else 2


def _sizes(diagram: Diagram, root: int, form: Form, jump: int) -> dict[int, int]:
    """The most units that each subtree takes."""
    most: dict[int, int] = {}
    for at in reversed(diagram.tree(root)):
        low, high = _most(most, diagram.nodes[at].low), _most(most, diagram.nodes[at].high)
        most[at] = 3 + low + high + (jump if low + 3 >= 2 * form.flag else 0)
    return most


_WALK = """/* The place of the leaf that a tree reaches: over nodes (slot, limit, skip) and jumps. */
static uint32_t {function}(const {value} *slots, const {unit} *item)
{{
    for (;;) {{
        uint32_t first = item[0];
        while (first < {flag}u) {{
            item += slots[first] > {limit}item[1] ? item[2] : 3u;
            first = item[0];
        }}
        if (first != {jump}u) {{
            return {leaf};
        }}
        item += {distance};
    }}
}}"""


def walk_text(layout: Layout, value: DType) -> tuple[str, str]:
    """(function, text) of the walk through one tree."""
    form = layout.form
    function = f"aidge_ref_tree_walk_{form.unit.name}_{value.name}"
    fields = {
        "function": function,
        "value": value.c_type,
        "unit": form.unit.c_type,
        "flag": form.flag,
        "jump": form.jump,
        "limit": {DType.int8: "(int8_t)", DType.int16: "(int16_t)"}.get(value, ""),
    }
    if form.unit is DType.uint8:
        long_leaf = f"((first - {form.flag + _SHORT}u) << 8) + item[1] + {_SHORT}u"
        fields["leaf"] = f"first < {form.flag + _SHORT}u ? first - {form.flag}u : {long_leaf}"
        fields["distance"] = "(int16_t)(uint16_t)(item[1] | (item[2] << 8))"
    else:
        fields["leaf"], fields["distance"] = f"first - {form.flag}u", "(int16_t)item[1]"
    return function, _WALK.format(**fields)


def walk_lines(layout: Layout, function: str, trees: int, after: list[str], advance: str) -> tuple[list[str], list[Constant]]:
    """(statements, constants): all trees one by one; `after` uses `leaf`, `advance` goes on to the next tree's entries."""
    size = "trees[2 * tree]" if layout.own_places else "trees[tree]"
    lines = [
        "item = stream;",
        f"for (tree = 0; tree < {trees}; tree++) {{",
        f"    const uint32_t leaf = {function}(slots, item);",
        *(f"    {line}" for line in after),
        f"    item += {size};",
        *([f"    {advance}"] if advance and layout.own_places else []),
        "}",
    ]
    return lines, [Constant("stream", layout.stream), Constant("trees", layout.trees)]
