# SPDX-License-Identifier: MIT
"""The clamp of float32 values in a text."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..core.assembly import c_function


def clamp_between(low: float, high: float) -> str:
    """A clamp in a text: "" for none, "relu", which one instruction for four values does, or "limits"."""
    if low not in (0.0, -math.inf) or high != math.inf:
        return "limits"
    return "relu" if low == 0 else ""


def clamp_of(operator) -> str:
    """The same of an operator's clamp."""
    return clamp_between(operator.minimum, operator.maximum)


def is_limited(operator) -> bool:
    """Whether it is neither nothing nor ReLU."""
    return clamp_of(operator) == "limits"


def clamp_lines(clamp: str, value: str, low: str, high: str) -> list[str]:
    """The clamp of a vector; `low` and `high` are registers with the limits, or for ReLU `low` is a vector of zeros."""
    if clamp == "limits":
        return [
            f"vpt.f32 lt, {value}, {low}",
            f"vdupt.32 {value}, {low}",
            f"vpt.f32 gt, {value}, {high}",
            f"vdupt.32 {value}, {high}",
        ]
    return [f"vmax.s32 {value}, {value}, {low}"] if clamp else []


def wrapper(
    name: str, inlined: str, numbers: Sequence[int | str], parameters: Sequence[str], last: Sequence[int | str] = ()
) -> tuple[str, str]:
    """Name and text of a C function that calls an inlined one of the headers with these numbers around its own parameters."""
    names = [parameter.split()[-1].lstrip("*") for parameter in parameters]
    function = f"aidge_helium_{name}"
    call = f"aidge_helium_{inlined}({', '.join([*map(str, numbers), *names, *map(str, last)])});"
    return function, c_function(function, ", ".join(parameters), [call])
