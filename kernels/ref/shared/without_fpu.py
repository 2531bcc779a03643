# SPDX-License-Identifier: MIT
"""When a table of 1 KB takes the place of float arithmetic."""

from __future__ import annotations

from aidge_build.contract.spec import NodeView, Predicate

FEWEST_VALUES = 64  # of fewer ones the function of a float operation is as well called


def _has_fpu(view: NodeView) -> str:
    return "the core has an FPU" if "fpu" in view.features else ""


def _few(view: NodeView) -> str:
    count = view.outputs[0].elements
    return "" if count >= FEWEST_VALUES else f"{count} values, wants at least {FEWEST_VALUES}"


def _several_scales(view: NodeView) -> str:
    return "" if view.inputs[1].elements == 1 else "several scales"


def _least_flash(view: NodeView) -> str:
    return "" if view.objective != "size" else "it needs a table of 1 KB (--optimize size)"


NO_FPU = Predicate("no FPU", _has_fpu)
TABLE_PAYS = (  # with an FPU, too: 6 instructions for each value instead of 9
    Predicate("one scale", _several_scales),
    Predicate(f"at least {FEWEST_VALUES} values", _few),
    Predicate("room for a table", _least_flash),
)
