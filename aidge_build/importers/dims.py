# SPDX-License-Identifier: MIT
"""Symbolic dims of graph inputs become numbers: the batch by rule, everything else by the user's `--bind`."""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping

from aidge_build.errors import AidgeError
from aidge_build.onnx_format import ValueInfo

MOST_ELEMENTS = 1 << 47  # sizes in bytes and their sums stay within 64 bits


def check_elements(where: str, dims: tuple[int, ...], may_be_empty: bool = False) -> None:
    """Refuse a run-time tensor without elements, or with more than any arithmetic on sizes allows."""
    elements = math.prod(dims)
    if elements == 0 and not may_be_empty:
        raise AidgeError(f"{where} has the dims {list(dims)}, no element", code="DIMS")
    if elements > MOST_ELEMENTS:
        raise AidgeError(f"{where} has the dims {list(dims)}, {elements} elements; the limit is {MOST_ELEMENTS}", code="DIMS")


class Binding:
    """The user's `--bind` values; it remembers which were needed and what was decided without them.

    A dim without a name is called `<input>.<axis>`.
    """

    def __init__(self, bind: Mapping[str, int]):
        self._values = dict(bind)
        self._used: set[str] = set()
        self._batches: dict[str, None] = {}
        self._known: dict[str, None] = {}
        for name, value in sorted(bind.items()):
            if value <= 0:
                raise AidgeError(f"--bind {name}={value}: a dimension must be positive", code="BIND")

    def dims(self, value: ValueInfo) -> tuple[int, ...]:
        """The dims of a graph input as numbers."""
        if value.dims is None:
            raise AidgeError(
                f"graph input '{value.name}': its rank is unknown",
                code="BIND",
                hint="export the model with the shape of this input, for example onnxsim --overwrite-input-shape",
            )
        dims = tuple(self._dim(value, axis, dim) for axis, dim in enumerate(value.dims))
        check_elements(f"graph input '{value.name}'", dims, may_be_empty=True)  # what reads it decides
        return dims

    def _dim(self, value: ValueInfo, axis: int, dim: int | str | None) -> int:
        if isinstance(dim, int):
            return dim
        name = dim if dim is not None else f"{value.name}.{axis}"
        self._known[name] = None
        if name in self._values:
            self._used.add(name)
            return self._values[name]
        if axis == 0:
            self._batches[name] = None
            return 1
        raise AidgeError(
            f"graph input '{value.name}': dimension {axis} ('{name}') has no fixed size",
            code="BIND",
            hint=f"give it one: --bind {name}=...",
        )

    def notices(self) -> tuple[str, ...]:
        """One line for each decision; a `--bind` that fits nothing is refused."""
        unused = sorted(self._values.keys() - self._used)
        if unused:
            near = difflib.get_close_matches(unused[0], self._known, n=1, cutoff=0.4)
            hint = (
                f"did you mean --bind {near[0]}={self._values[unused[0]]}?"
                if near
                else (
                    f"symbolic dimensions are: {', '.join(self._known)}"
                    if self._known
                    else "all dimensions of the model are fixed"
                )
            )
            raise AidgeError(
                f"--bind {unused[0]}={self._values[unused[0]]}: no input has a dimension '{unused[0]}'", code="BIND", hint=hint
            )
        return tuple(f"symbolic batch '{name}' becomes 1" for name in self._batches)
