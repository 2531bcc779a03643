# SPDX-License-Identifier: MIT
"""The cost of a network on a core before it is built: instructions by a table of measured kernels, or bytes of constants."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from pathlib import Path

from aidge_build.boards.cores import of_instructions
from aidge_build.build.compile import build_program, import_model
from aidge_build.build.emit import emit
from aidge_build.build.request import CompileRequest
from aidge_build.contract.library import Kernel
from aidge_build.contract.spec import NodeView
from aidge_build.prepare.adaptation.adapt import adapt_to_backend
from aidge_build.prepare.adaptation.cost import CostEntry, CostTable
from aidge_build.prepare.adaptation.layer_classes import shape_class
from aidge_build.prepare.adaptation.shipped import shipped_path, table_at

OBJECTIVES = ("instructions", "bytes")
FURTHEST = 4.5  # doublings: a measurement further away is worth less than the mean of all shapes


@dataclass(frozen=True)
class Cost:
    """An estimate in `unit`; `unknown` are kernels that the table does not know, which count as the median of others."""

    number: float
    unit: str
    unknown: tuple[str, ...] = ()


def cost_table_for(request: CompileRequest, path: Path | None) -> CostTable:
    """Returns the table in the file, or the table that comes with the tool; AidgeError if there is none for such a core."""
    features = of_instructions(request.target.features)
    named = "" if features else "name the core with --board B or --cpu CORE; "
    hint = f"{named}aidge-build tune MODEL --board B --out F.toml measures a table for --costs; --objective bytes needs none"
    return table_at(path or shipped_path(features, "--objective instructions", hint), features)


def cost_in_instructions(request: CompileRequest, table: CostTable) -> Cost:
    """Returns the sum of the table's costs of all kernels that the model of the request would get."""
    view, _ = import_model(request)
    assignment = adapt_to_backend(view, request.libraries, request.target)
    whole, unknown = 0.0, []
    for node in assignment.view.nodes:
        kernel = assignment.choices[node.name].kernel
        if kernel is not None:
            cost, is_known = estimate(table, kernel, assignment.node_view(node), request.target.flash_wait_states)
            whole += cost
            unknown += [] if is_known else [f"{kernel.library} {kernel.name}"]
    return Cost(whole, table.unit, tuple(dict.fromkeys(unknown)))


def estimate(table: CostTable, kernel: Kernel, seen: NodeView, flash_wait_states: int = 0) -> tuple[float, bool]:
    """Returns the kernel's cost at this node, and whether the table knows the kernel.

    The nearest of the measured classes of shapes counts, in powers of two of products per output and of outputs. A kernel that
    was not measured for this operator costs the same as for another operator. A kernel that was not measured at all costs the
    median of the table's kernels, of the same library if it has any there.
    """
    named = [entry for entry in table.entries if (entry.library, entry.kernel) == (kernel.library, kernel.name)]
    for entries in ([entry for entry in named if entry.op == kernel.type], named):
        if entries:
            nearest = min(entries, key=lambda entry: (_distance(entry.shape, shape_class(seen)), entry.shape))
            return _alone(table, nearest, kernel, seen, flash_wait_states), True
    return _usual(table, kernel, seen, flash_wait_states), False


def _usual(table: CostTable, kernel: Kernel, seen: NodeView, flash_wait_states: int) -> float:
    """Returns the median cost of measured kernels: of the same library, and with products like this one, if there are such
    kernels."""
    plain = [entry for entry in table.entries if not entry.shape]
    others = [entry for entry in plain if entry.library == kernel.library] or plain
    has_macs = seen.multiply_accumulates > 0
    alike = [entry for entry in others if bool(entry.per_mac) == has_macs] or others
    costs = sorted(_alone(table, entry, kernel, seen, flash_wait_states) for entry in alike)
    return costs[len(costs) // 2] if costs else 0.0


def _alone(table: CostTable, entry: CostEntry, kernel: Kernel, seen: NodeView, flash_wait_states: int) -> float:
    """Returns the cost of the node by this entry, even if the entry was measured for another node."""
    alike = replace(entry, library=kernel.library, kernel=kernel.name, op="", shape="")
    return replace(table, entries=(alike,)).cost(kernel, seen, flash_wait_states) or 0.0


def _distance(shape: str, wanted: str) -> float:
    """Returns by how many doublings two classes differ; FURTHEST if one is for all shapes or of another kind."""
    one, other = (dict(re.findall(r"(terms|outputs) (\d+)", text)) for text in (shape, wanted))
    if set(one) != set(other):
        return FURTHEST
    return sum(abs(math.log2(max(int(one[key]), 1)) - math.log2(max(int(other[key]), 1))) for key in other)


def cost_in_bytes(request: CompileRequest) -> Cost:
    """Returns the bytes of all constants, as stored in flash."""
    return Cost(emit(build_program(request)).manifest["weights_bytes"], "bytes of constants")
