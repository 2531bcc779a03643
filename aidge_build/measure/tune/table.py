# SPDX-License-Identifier: MIT
"""The table made from measured layers: the cost of kernels, and the kernels that were never slower than the preferred one."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from aidge_build.base.naming import counted
from aidge_build.measure.tune.measured import Measured
from aidge_build.prepare.adaptation.cost import CYCLES, SCHEMA
from aidge_build.prepare.adaptation.faster import Faster

MOST = 0.99  # of the preferred kernel's instructions: a smaller gain here may be a loss on other layers
_DIGITS = 4
Layers = Sequence[Sequence[Measured]]  # of each model, the build with the preferred kernels first


@dataclass(frozen=True)
class Head:
    """The head of a table."""

    name: str
    compiler: str
    unit: str
    features: tuple[str, ...]
    optimize: str


@dataclass(frozen=True)
class Pair:
    """A layer with the preferred kernel and with another one."""

    preferred: Measured
    other: Measured

    @property
    def ratio(self) -> float:
        """The other kernel's instructions relative to the preferred kernel's."""
        return self.other.instructions / self.preferred.instructions


def table_text(layers: Layers, head: Head, fewest: int) -> str:
    """Returns the TOML file. A comparison needs `fewest` measured layers. A table in cycles holds costs alone, because it depends
    on the wait states of a board which kernel is faster."""
    costs = [_cost_text(key, total, head.unit) for key, total in sorted(_sums(layers, head.unit).items())]
    found = [] if head.unit == CYCLES else [_faster_text(one) for one in comparisons(layers, fewest)]
    lines = [
        "# SPDX-License-Identifier: MIT",
        f"# Written by `aidge-build tune` from the layers of {counted(len(layers), 'model')}.",
        f"schema = {SCHEMA}",
        f"name = {json.dumps(head.name)}",
        f"version = {json.dumps(head.compiler)}",
        f"unit = {json.dumps(head.unit)}",
        f"features = {json.dumps(sorted(head.features))}",
        f"optimize = {json.dumps(head.optimize)}",
        *([] if found or head.unit == CYCLES else ["quicker = []"]),
    ]
    return "\n".join(lines) + "\n" + "".join([*found, *costs])


def comparisons(layers: Layers, fewest: int) -> list[Faster]:
    """Returns the kernels that were faster than the preferred one at every layer of a class of shapes, the widest such class."""
    groups: dict[tuple[str, str, str, str], list[Pair]] = defaultdict(list)
    for own in layers:
        for pair in _pairs(own):
            groups[pair.other.op, pair.other.types, pair.other.title, pair.preferred.title].append(pair)
    return [one for _, pairs in sorted(groups.items()) for one in _compared(pairs, 0, fewest)]


def _pairs(layers: Sequence[Measured]) -> Iterator[Pair]:
    """Yields the preferred kernel of each layer of a model with each other kernel that left all tensors in the same formats."""
    first: dict[str, Measured] = {}
    seen: set[tuple[str, str]] = set()
    for one in layers:
        preferred = first.setdefault(one.layer, one)
        is_new = (one.layer, one.title) not in seen
        seen.add((one.layer, one.title))
        if (
            is_new
            and one is not preferred
            and (one.op, one.types, one.formats) == (preferred.op, preferred.types, preferred.formats)
        ):
            yield Pair(preferred, one)


def _compared(pairs: Sequence[Pair], level: int, fewest: int) -> Iterator[Faster]:
    """Yields a comparison for each class of this level in which the other kernel was always faster; else descends to narrower
    classes."""
    classes: dict[str, list[Pair]] = defaultdict(list)
    for pair in pairs:
        classes[pair.other.shapes[level]].append(pair)
    for shape, own in sorted(classes.items()):
        if _different(own) < fewest or min(pair.ratio for pair in own) > MOST:
            continue
        if max(pair.ratio for pair in own) <= MOST:
            yield _faster(own, shape)
        elif level + 1 < len(own[0].other.shapes):
            yield from _compared(own, level + 1, fewest)


def _different(pairs: Sequence[Pair]) -> int:
    """Returns how many layers there are with different dims."""
    return len({pair.other.shapes[-1] for pair in pairs})


def _faster(pairs: Sequence[Pair], shape: str) -> Faster:
    one = pairs[0].other
    taken, before = (sum(side.instructions for side in sides) for sides in zip(*((pair.other, pair.preferred) for pair in pairs)))
    most = max(pair.ratio for pair in pairs)
    ratio = round(taken / before, _DIGITS)
    than = pairs[0].preferred.title
    return Faster(
        one.library, one.kernel, than, one.op, one.types, shape, _different(pairs), ratio, max(ratio, round(most, _DIGITS))
    )


def _faster_text(one: Faster) -> str:
    texts = [f"{name} = {json.dumps(getattr(one, name))}" for name in ("library", "kernel", "than", "op", "types", "shape")]
    numbers = [f"layers = {one.layers}", f"ratio = {one.ratio:g}", f"most = {one.most:g}"]
    return "\n".join(["", "[[quicker]]", *texts, *numbers, ""])


@dataclass
class _Sum:
    """The costs of all layers of a class together."""

    cost: int = 0
    lines: int = 0
    macs: int = 0
    elements: int = 0

    def add(self, cost: int, layer: Measured) -> None:
        self.cost, self.lines = self.cost + cost, self.lines + (layer.flash_lines or 0)
        self.macs, self.elements = self.macs + layer.macs, self.elements + layer.elements

    def numbers(self, unit: str) -> str:
        """Returns the lines of the entry: per multiply-accumulate if there are any, else per output."""
        key, count = ("per_mac", self.macs) if self.macs else ("per_element", self.elements)
        text = f"\n{key} = {self.cost / max(1, count):.5g}"
        return text + (f"\nlines_{key} = {self.lines / max(1, count):.5g}" if unit == CYCLES else "")


def _sums(layers: Layers, unit: str) -> dict[tuple[str, str, str, str], _Sum]:
    """Returns the sums by library, kernel, operator and class of shapes ("": of all), each layer once with each kernel."""
    sums: dict[tuple[str, str, str, str], _Sum] = {}
    for own in layers:
        for layer in {(one.layer, one.title): one for one in reversed(own)}.values():
            cost = layer.cycles if unit == CYCLES else layer.instructions
            for shape in ("", layer.size):
                sums.setdefault((layer.library, layer.kernel, layer.op, shape), _Sum()).add(cost or 0, layer)
    return sums


def _cost_text(key: tuple[str, str, str, str], total: _Sum, unit: str) -> str:
    library, kernel, op, shape = map(json.dumps, key)
    where = f"\nshape = {shape}" if key[3] else ""
    return f"\n[[cost]]\nlibrary = {library}\nkernel = {kernel}\nop = {op}{where}{total.numbers(unit)}\n"
