# SPDX-License-Identifier: MIT
"""Symbolic dims of graph inputs become numbers, inputs that never change constants: by `--bind`; the batch is 1 by rule."""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping, Sequence

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.graph.dtype import DType
from aidge_build.graph.tensor import Tensor, constant
from aidge_build.sources.dims import Bound, check_elements, shown
from aidge_build.sources.onnx_format import ValueInfo

SUM = " + "  # in the name of a dim that is the sum of others: "past_sequence_length + sequence_length"


class Binding:
    """The user's `--bind` values; it remembers which were needed and what was decided without them.

    A dim without a name is called `<input>.<axis>`. The name of a sum of dims needs no value. A name that is both a dim's and an
    input's is refused.
    """

    def __init__(self, bind: Mapping[str, Bound], inputs: Sequence[ValueInfo]):
        self._values = dict(bind)
        self._used: set[str] = set()
        self._batches: dict[str, None] = {}
        self._constants: dict[str, None] = {}
        self._inputs = {value.name for value in inputs}
        self._known = {name: place for value in inputs for name, place in _open_dims(value)}
        for name, bound in sorted(bind.items()):
            if name in self._known and name in self._inputs:
                raise AidgeError(
                    f"--bind {name}={shown(bound)}: '{name}' is an input and a dimension ({self._known[name]})",
                    code="BIND",
                    hint="rename one of them in the model",
                )
            if name in self._known and not (type(bound) is int and bound > 0):
                raise AidgeError(f"--bind {name}={shown(bound)}: a dimension must be a positive integer", code="BIND")

    def refuse_open(self, inputs: Sequence[ValueInfo]) -> None:
        """One refusal that asks for every size that is missing; a name that the batch of an input has is a batch everywhere."""
        batches = {name for value in inputs for axis, (name, _) in _by_axis(value) if axis == 0}
        missing = {
            part: (value, axis)
            for value in inputs
            if value.name not in self._values
            for axis, (name, _) in _by_axis(value)
            for part in (name.split(SUM) if name not in self._values else ())
            if part not in batches and part not in self._values
        }
        if not missing:
            return
        value, axis = next(iter(missing.values()))
        asked = " ".join(f"--bind {name}=..." for name in missing)
        raise AidgeError(
            f"graph input '{value.name}': dimension {axis} ('{next(iter(missing))}') has no fixed size",
            code="BIND",
            hint=f"give it one: {asked}" if len(missing) == 1 else f"{len(missing)} sizes are needed: {asked}",
        )

    def tensor(self, value: ValueInfo) -> Tensor:
        """A graph input with its dims as numbers; a constant where its value is bound."""
        if value.name in self._values and value.name in self._inputs and value.name not in self._known:
            return self._constant(value, self._values[value.name])
        if value.dims is None:
            raise AidgeError(
                f"graph input '{value.name}': its rank is unknown",
                code="BIND",
                hint="export the model with the shape of this input, for example onnxsim --overwrite-input-shape",
            )
        dims = tuple(self._dim(value, axis, dim) for axis, dim in enumerate(value.dims))
        check_elements(f"graph input '{value.name}'", dims, may_be_empty=True)  # what reads it decides
        return Tensor(value.name, dims, value.dtype)

    def _constant(self, value: ValueInfo, bound: Bound) -> Tensor:
        """Returns the constant for an input: a number is its only element; a list has its elements in order."""
        where, items = f"--bind {value.name}={shown(bound)}", bound if isinstance(bound, tuple) else (bound,)
        self._used.add(value.name)
        stored = _stored(items, value.dtype, where)
        declared = value.dims if value.dims is not None else ((None,) if isinstance(bound, tuple) else ())
        dims = _filled([self._size(dim) for dim in declared], len(items))
        if math.prod(dims) != len(items):
            raise AidgeError(
                f"{where}: {len(items)} values; the input has the dims [{', '.join(map(_dim_text, declared))}]",
                code="BIND",
                hint=f"give them in order: --bind {value.name}=1,2,3",
            )
        self._constants[value.name] = None
        return constant(value.name, stored.reshape(dims))

    def _size(self, dim: int | str | None) -> int | None:
        """Returns a dim of an input with a bound value, None if the dim is not known."""
        if isinstance(dim, str) and type(self._values.get(dim)) is int:
            self._used.add(dim)
            return int(self._values[dim])  # type: ignore[arg-type]
        return dim if isinstance(dim, int) else None

    def _dim(self, value: ValueInfo, axis: int, dim: int | str | None) -> int:
        if isinstance(dim, int):
            return dim
        name = dim if dim is not None else f"{value.name}.{axis}"
        parts = [name] if name in self._values else name.split(SUM)
        sizes = [size for part in parts if isinstance(size := self._values.get(part), int)]
        if len(sizes) == len(parts):
            self._used.update(parts)
            return sum(sizes)
        self._batches[name] = None
        return 1

    @property
    def assumed(self) -> tuple[str, ...]:
        """The open first axes that became 1."""
        return tuple(self._batches)

    def notices(self) -> tuple[str, ...]:
        """One line for each decision; a `--bind` that fits nothing is refused."""
        unused = sorted(self._values.keys() - self._used)
        if unused:
            self._refuse_unused(unused[0])
        return (
            *(f"symbolic batch '{name}' becomes 1 (--bind {name}=NUMBER gives another size)" for name in self._batches),
            *(f"input '{name}' is a constant: {shown(self._values[name])}" for name in self._constants),
        )

    def _refuse_unused(self, name: str) -> None:
        bound = shown(self._values[name])
        near = difflib.get_close_matches(name, [*self._known, *self._inputs], n=1, cutoff=0.4)
        if near:
            hint = f"did you mean --bind {near[0]}={bound}?"
        elif self._known:
            hint = f"symbolic dimensions are: {', '.join(self._known)}"
        else:
            hint = "all dimensions of the model are fixed"
        raise AidgeError(f"--bind {name}={bound}: the model has no input or dimension '{name}'", code="BIND", hint=hint)


def _stored(items: Sequence[int | float | bool], dtype: DType, where: str) -> numpy.ndarray:
    """The values in the type of the input; AidgeError where it does not hold one."""
    exact = numpy.array(items)
    with numpy.errstate(all="ignore"):
        stored = exact.astype(dtype.numpy)
    same = (stored.astype(object) == exact.astype(object)).all()
    if not (numpy.isfinite(stored).all() if dtype.is_float else same):
        raise AidgeError(f"{where}: the input is {dtype.name}, which does not hold that", code="BIND")
    return stored


def _filled(dims: Sequence[int | None], count: int) -> list[int]:
    """Returns the dims with numbers for the unknown ones: the last one gets what `count` elements leave, the others 1."""
    known = math.prod(size for size in dims if size is not None)
    filled = [1 if size is None else size for size in dims]
    if None in dims and known and count % known == 0:
        filled[max(axis for axis, size in enumerate(dims) if size is None)] = count // known
    return filled


def _by_axis(value: ValueInfo) -> list[tuple[int, tuple[str, str]]]:
    """Returns each axis without a number, with its name and its name in messages."""
    return [
        (axis, (dim if dim is not None else f"{value.name}.{axis}", f"axis {axis} of input '{value.name}'"))
        for axis, dim in enumerate(value.dims or ())
        if not isinstance(dim, int)
    ]


def _open_dims(value: ValueInfo) -> list[tuple[str, str]]:
    return [named for _, named in _by_axis(value)]


def _dim_text(dim: int | str | None) -> str:
    return "?" if dim is None else str(dim)
