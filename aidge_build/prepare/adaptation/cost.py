# SPDX-License-Identifier: MIT
"""Cost tables: the cost of kernels on a core, and comparisons of kernels on the same layers."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from aidge_build.base.errors import AidgeError
from aidge_build.base.reading import require_shape, toml_of
from aidge_build.contract.library import Kernel
from aidge_build.contract.spec import NodeView
from aidge_build.prepare.adaptation.faster import Faster, faster_of
from aidge_build.prepare.adaptation.layer_classes import shape_class, shapes_of, types_of

SCHEMA = 1
CYCLES = "cycles"  # the unit to which wait states can be added
_TABLE_KEYS = {"schema", "name", "version", "unit", "features", "optimize", "cost", "quicker"}
_SHAPE = {"features?": [str], "optimize?": str, "cost?": [{}], "quicker?": [{}]}
_NUMBERS = ("per_mac", "per_element", "lines_per_mac", "lines_per_element")
_ENTRY_KEYS = {"library", "kernel", "op", "shape", "fixed", *_NUMBERS}


@dataclass(frozen=True)
class CostEntry:
    """A kernel of a library costs fixed + per_mac * MACs + per_element * output elements.

    `op` and `shape` say for which operator type and class of shapes ("" for all). `lines_per_...`: how often its constants come
    from another line of flash, each time with the board's wait states.
    """

    library: str
    kernel: str
    op: str
    shape: str
    fixed: float
    per_mac: float
    per_element: float
    lines_per_mac: float
    lines_per_element: float


@dataclass(frozen=True)
class CostTable:
    """A table with a name and a version of its own; `digest` tells two tables of the same version apart.

    `quicker` holds comparisons of kernels, or None if the table has only costs. `features` and `optimize` are the core's features
    and the objective of the measurement, or None if the table does not say.
    """

    name: str
    version: str
    unit: str
    entries: tuple[CostEntry, ...]
    digest: str
    quicker: tuple[Faster, ...] | None = None
    features: frozenset[str] | None = None
    optimize: str | None = None

    def __str__(self) -> str:
        return f"{self.name} version {self.version} ({self.digest[:12]})"

    def cost(self, kernel: Kernel, view: NodeView, flash_wait_states: int) -> float | None:
        """Returns the cost of the kernel at this node, in the table's unit, by the entry for its class of shapes if there is one;
        None without an entry."""
        fits = [
            entry
            for entry in self.entries
            if (entry.library, entry.kernel) == (kernel.library, kernel.name) and entry.op in ("", kernel.type)
        ]
        fits = [entry for entry in fits if not entry.shape or entry.shape == shape_class(view)]
        if not fits:
            return None
        entry = max(fits, key=lambda one: (bool(one.shape), bool(one.op)))
        waits = flash_wait_states if self.unit == CYCLES else 0
        return (
            entry.fixed
            + (entry.per_mac + waits * entry.lines_per_mac) * view.multiply_accumulates
            + (entry.per_element + waits * entry.lines_per_element) * sum(tensor.elements for tensor in view.outputs)
        )

    def quickest(self, view: NodeView, accepted: Sequence[Kernel]) -> tuple[Kernel, Faster] | None:
        """Returns the kernel that is faster than the first accepted one by the most, and the comparison that says so; None if no
        kernel is known to be faster. A comparison of a narrower class of shapes goes before a wider one."""
        classes, types = shapes_of(view), types_of(view)
        found = [
            (max(known, key=lambda one: classes.index(one.shape)), kernel)
            for kernel in accepted[1:]
            for known in [[one for one in self.quicker or () if one.compares(kernel, accepted[0], types, classes)]]
            if known
        ]
        if not found:
            return None
        best, kernel = min(found, key=lambda pair: pair[0].ratio)
        return kernel, best


def read_cost_table(data: bytes, where: str) -> CostTable:
    """Returns the table in a TOML file: `schema = 1`, `name`, `version`, `unit`, and the entries `[[cost]]` and `[[quicker]]`."""
    table = toml_of(data, where, "COST")
    missing = [key for key in ("schema", "name", "version", "unit") if key not in table]
    if missing or table["schema"] != SCHEMA:
        what = f"the cost table has no {missing[0]!r}" if missing else f"schema {table['schema']} is unknown, {SCHEMA} is read"
        raise AidgeError(
            what, where=where, code="COST", hint='schema = 1, name = "...", version = "...", unit = "instructions", [[cost]] ...'
        )
    require_shape(table, _SHAPE, where, "COST", "each cost is a table [[cost]]")
    entries = tuple(_entry(entry, where) for entry in table.get("cost", ()))
    _refuse_unknown(table, _TABLE_KEYS, where)
    pairs = [(entry.library, entry.kernel, entry.op, entry.shape) for entry in entries]
    twice = next((pair for pair in pairs if pairs.count(pair) > 1), None)
    if twice:
        raise AidgeError(f"two entries for {' '.join(filter(None, twice))}", where=where, code="COST")
    return CostTable(
        str(table["name"]),
        str(table["version"]),
        str(table["unit"]),
        entries,
        hashlib.sha256(data).hexdigest(),
        faster_of(table["quicker"], where) if "quicker" in table else None,
        frozenset(table["features"]) if "features" in table else None,
        table.get("optimize"),
    )


def _entry(entry: dict, where: str) -> CostEntry:
    _refuse_unknown(entry, _ENTRY_KEYS, where)
    numbers = {key: entry.get(key, 0) for key in ("fixed", *_NUMBERS)}
    bad = next((key for key, value in numbers.items() if type(value) not in (int, float) or not 0 <= value < float("inf")), None)
    if bad or "library" not in entry or "kernel" not in entry:
        what = f"{bad} is {numbers[bad]!r}" if bad else "an entry has no library or no kernel"
        raise AidgeError(what, where=where, code="COST", hint="numbers are finite and not negative")
    return CostEntry(
        str(entry["library"]), str(entry["kernel"]), str(entry.get("op", "")), str(entry.get("shape", "")), **numbers
    )


def _refuse_unknown(table: dict, known: set[str], where: str) -> None:
    unknown = sorted(set(table) - known)
    if unknown:
        raise AidgeError(f"unknown key {unknown[0]!r}", where=where, code="COST", tried=sorted(known))
