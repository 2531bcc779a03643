# SPDX-License-Identifier: MIT
"""Steps that were counted: how long the longest is, and whether it is longer than the model promises."""

from __future__ import annotations

from collections.abc import Mapping

from aidge_build.base.naming import counted
from aidge_build.plan.stepping import STEP_INSTRUCTIONS
from aidge_build.prove.elf.findings import ERROR, Finding
from aidge_build.run.emulate import RunResult

_NAMED = 3  # layers in a message


def step_finding(result: RunResult, max_step: int) -> Finding | None:
    """Returns the finding for a program with a longest step above `max_step` (0: nothing is promised). Counts are exact, so there
    is no tolerance."""
    if not max_step or result.steps is None or result.steps.longest <= max_step:
        return None
    longest = result.steps.longest
    too_long = {layer.symbol: layer.longest_step for layer in result.layers if (layer.longest_step or 0) > max_step}
    named = ", ".join(f"{name} {length:,}" for name, length in sorted(too_long.items(), key=lambda one: -(one[1] or 0))[:_NAMED])
    return Finding(
        "INS02",
        ERROR,
        f"a step takes {longest:,} instructions, the model promises at most {max_step:,}: {named or 'no layer is known'}",
        f"the estimate of its length was too small: {what_helps(max_step, longest)}",
    )


def what_helps(max_step: int, longest: int) -> str:
    """Returns what to do about a step of `longest` instructions where `max_step` were promised: cut finer by the same factor, or
    promise more, as only the generator knows how finely the layer can be cut."""
    smaller, promised = max_step * max_step * 95 // (longest * 100), f"--max-step {longest} promises what this step takes"
    if smaller <= STEP_INSTRUCTIONS:
        return f"the layer cannot be cut as finely: {promised}"
    finer = f"--max-step {smaller} makes finer pieces, so that no step is above {max_step:,}"
    return f"{finer}; if it is refused, the layer cannot be cut as finely, and {promised}"


def step_lines(result: RunResult, inferences: int | None, names: Mapping[str, str]) -> list[str]:
    """Returns how many steps there were, and the longest with its layer; `names` are the names of layers by symbol."""
    if result.steps is None:
        return []
    longest = max(result.layers, key=lambda layer: layer.longest_step or 0, default=None)
    per_inference = f"{counted(round(result.steps.count / inferences), 'step')} per inference" if inferences else "steps"
    where = ""
    if longest is not None and longest.longest_step == result.steps.longest:
        where = f", in '{names.get(longest.symbol, longest.symbol)}'"
    return [f"{per_inference}, the longest takes {result.steps.longest:,} instructions{where}"]


def step_data(result: RunResult, max_step: int) -> dict:
    """The same for programs; {} where no steps were counted."""
    if result.steps is None:
        return {}
    return {
        "max_step": max_step or None,
        "count": result.steps.count,
        "longest": result.steps.longest,
        "layers": {layer.symbol: layer.longest_step for layer in result.layers if layer.longest_step},
    }
