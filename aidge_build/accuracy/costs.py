# SPDX-License-Identifier: MIT
"""What a network costs on a core before it is built: instructions by a table of measured kernels, or bytes of constants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from aidge_build.adaptation.adapt import adapt_to_backend
from aidge_build.adaptation.cost import CostTable, read_cost_table
from aidge_build.compile import build_program, import_model
from aidge_build.contract.library import Kernel
from aidge_build.contract.spec import NodeView
from aidge_build.emit import emit
from aidge_build.errors import AidgeError
from aidge_build.reading import LARGEST_TEXT_BYTES, read_regular
from aidge_build.request import CompileRequest

SHIPPED = Path(__file__).resolve().parent / "costs"  # <core>.toml, written by `bench --costs`
OBJECTIVES = ("instructions", "bytes")


@dataclass(frozen=True)
class Cost:
    """An estimate in `unit`; `unknown` are kernels that the table does not know, which count as its dearest of their operator."""

    number: float
    unit: str
    unknown: tuple[str, ...] = ()


def cost_table_for(request: CompileRequest, path: Path | None) -> CostTable:
    """The table in the file, or the shipped one of the core; AidgeError where there is none."""
    cpu = request.cpu.partition("+")[0]
    found = path or SHIPPED / f"{cpu}.toml"
    if path is None and (not found.is_file() or "fpu" not in request.target.features):
        raise AidgeError(
            f"no table of costs is shipped for {request.cpu or 'any core'}"
            + ("" if "fpu" in request.target.features else " without FPU"),
            where="--costs",
            tried=sorted(f"{one.stem} with FPU" for one in SHIPPED.glob("*.toml")),
            hint="write one: aidge-build bench DIR --boards B --costs F.toml; or name --objective bytes",
            code="COST",
        )
    return read_cost_table(read_regular(found, LARGEST_TEXT_BYTES), str(found))


def cost_in_instructions(request: CompileRequest, table: CostTable) -> Cost:
    """What the table says of all kernels that the model of the request would get."""
    view, _ = import_model(request)
    assignment = adapt_to_backend(view, request.libraries, request.target)
    whole, unknown = 0.0, []
    for node in assignment.view.nodes:
        kernel = assignment.choices[node.name].kernel
        if kernel is None:
            continue
        seen = assignment.node_view(node)
        known = table.cost(kernel, seen, request.target.flash_wait_states)
        if known is None:
            unknown.append(f"{kernel.library} {kernel.name}")
            known = _dearest(table, kernel, seen, request)
        whole += known
    return Cost(whole, table.unit, tuple(dict.fromkeys(unknown)))


def cost_in_bytes(request: CompileRequest) -> Cost:
    """The bytes of all constants, as they will lie in flash."""
    return Cost(emit(build_program(request)).manifest["weights_bytes"], "bytes of constants")


def _dearest(table: CostTable, kernel: Kernel, seen: NodeView, request: CompileRequest) -> float:
    """The largest cost of a kernel for the same operator, or else of all: what nobody measured is not taken for cheap."""
    same = [entry for entry in table.entries if entry.op == kernel.type]
    return max(_each(same or table.entries, table, kernel, seen, request), default=0.0)


def _each(entries: Sequence, table: CostTable, kernel: Kernel, seen: NodeView, request: CompileRequest):
    for entry in entries:
        alike = replace(entry, library=kernel.library, kernel=kernel.name, op="", shape="")
        yield replace(table, entries=(alike,)).cost(kernel, seen, request.target.flash_wait_states) or 0.0
