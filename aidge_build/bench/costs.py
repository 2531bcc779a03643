# SPDX-License-Identifier: MIT
"""What every kernel costs on a board, measured on the layers of models: the table that `--select cost` reads."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from aidge_build.adaptation.adapt import adapt_to_backend
from aidge_build.adaptation.cost import CYCLES, SCHEMA, CostEntry, CostTable
from aidge_build.bench.figures import Figures, LayerFigures
from aidge_build.bench.measure import Case, measure
from aidge_build.boards import Board
from aidge_build.compile import import_model
from aidge_build.elf.cycles import cycle_model
from aidge_build.errors import AidgeError
from aidge_build.graph.view import GraphView
from aidge_build.request import CompileRequest

UNITS = ("instructions", CYCLES)


def measure_alternatives(case: Case, request: CompileRequest, board: Board, reference: str, most_vectors: int) -> list[Figures]:
    """The model built as usual, and again with each further kernel wherever that one accepts a layer."""
    view, _ = import_model(request)
    seen: set[tuple[str, str, str]] = set()
    found = []
    for table in (None, *preferences(view, request)):
        target = replace(request.target, cost_table=table)
        assignment = adapt_to_backend(view, request.libraries, target)
        chosen = {
            (name, choice.kernel.library, choice.kernel.name) for name, choice in assignment.choices.items() if choice.kernel
        }
        if not chosen <= seen:
            seen |= chosen
            found.append(measure(case, replace(request, target=target), board, reference, most_vectors))
    return found


def preferences(view: GraphView, request: CompileRequest) -> Iterator[CostTable]:
    """Tables that make one kernel per operator type free.

    Kernels of different types never compete, so one build measures many.
    """
    operators = {node.type: node.operator for node in view.nodes}
    kernels = {
        kind: list(
            dict.fromkeys(
                (kernel.library, kernel.name)
                for library in request.libraries
                for kernel in library.kernels_for(kind, operator.kinds())
            )
        )
        for kind, operator in sorted(operators.items())
    }
    for turn in range(max(map(len, kernels.values()), default=0)):
        entries = tuple(CostEntry(*found[turn], kind) for kind, found in kernels.items() if turn < len(found))
        yield CostTable(f"turn {turn}", "1", UNITS[0], entries, "")


@dataclass
class _Sum:
    """What the layers of a class cost together."""

    cost: int = 0
    lines: int = 0
    macs: int = 0
    elements: int = 0

    def add(self, cost: int, layer: LayerFigures) -> None:
        self.cost, self.lines = self.cost + cost, self.lines + (layer.flash_lines or 0)
        self.macs, self.elements = self.macs + layer.macs, self.elements + layer.elements

    def numbers(self, unit: str) -> str:
        """Lines of the entry: per multiply-accumulate where there are any, else per output."""
        key, count = ("per_mac", self.macs) if self.macs else ("per_element", self.elements)
        text = f"\n{key} = {self.cost / max(1, count):.5g}"
        return text + (f"\nlines_{key} = {self.lines / max(1, count):.5g}" if unit == CYCLES else "")


def require_one_board(boards: Sequence[Board], unit: str) -> Board:
    """The board that a table is for; AidgeError for several, and for one whose core has no cycles."""
    if len(boards) != 1:
        raise AidgeError(
            f"a table of costs is for one board, not for {', '.join(board.name for board in boards)}",
            where="--boards",
            code="USAGE",
        )
    if unit == CYCLES and cycle_model(boards[0].core) is None:
        raise AidgeError(
            "cycles of this core are not estimated", where=f"board {boards[0].name}", hint="--unit instructions", code="BENCH"
        )
    return boards[0]


def cost_table(figures: Sequence[Figures], board: Board, unit: str, compiler: str) -> str:
    """The TOML file: an entry for each kernel, operator and class of shapes that was measured, and one for all shapes."""
    sums: dict[tuple[str, str, str, str], _Sum] = {}
    for layer in _distinct(figures):
        cost = layer.instructions if unit == "instructions" else layer.cycles
        for shape in ("", layer.shape):
            sums.setdefault((layer.library, layer.kernel, layer.operator, shape), _Sum()).add(cost, layer)
    models = ", ".join(sorted({f"{entry.model} {entry.data}" for entry in figures}))
    head = [
        "# SPDX-License-Identifier: MIT",
        f"# Written by `aidge-build bench --costs` from the layers of: {models}.",
        f"schema = {SCHEMA}",
        f"name = {json.dumps(board.name)}",
        f"version = {json.dumps(compiler)}",
        f"unit = {json.dumps(unit)}",
    ]
    return "\n".join([*head, *(_entry(key, total, unit) for key, total in sorted(sums.items()))]) + "\n"


def _distinct(figures: Sequence[Figures]) -> Iterator[LayerFigures]:
    """Each layer of each model once with each kernel."""
    seen = set()
    for entry in figures:
        for layer in entry.layers:
            key = (*entry.key, layer.name, layer.library, layer.kernel)
            if key not in seen:
                seen.add(key)
                yield layer


def _entry(key: tuple[str, str, str, str], total: _Sum, unit: str) -> str:
    library, kernel, operator, shape = map(json.dumps, key)
    where = f"\nshape = {shape}" if key[3] else ""
    return f"\n[[cost]]\nlibrary = {library}\nkernel = {kernel}\nop = {operator}{where}{total.numbers(unit)}"
