# SPDX-License-Identifier: MIT
"""How many instructions a call of a kernel takes at most: what a library says in lengths.toml, measured.

An inference in steps is cut by these numbers before anything runs; what is linked is counted (`aidge-build run`, `verify`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil

from aidge_build.contract.spec import NodeView
from aidge_build.errors import AidgeError
from aidge_build.reading import require_shape, toml_of

LENGTHS = "lengths.toml"
_NUMBERS = ("fixed", "per_mac", "per_output", "per_input", "per_position", "per_narrow")
_NUMBER = (int, float)
_SHAPE = {"kernel?": str, "op?": str, "type?": str, "fewer_than?": int, **{f"{name}?": _NUMBER for name in _NUMBERS}}
POSITION_AXIS = 1  # channels: a position is everything of one channel


@dataclass(frozen=True)
class Length:
    """Instructions of a call: fixed + per_mac * MACs + per_output * elements written + per_input * elements read that are
    computed + per_position * places of the outputs, channels left out + per_narrow * MACs / places of a line of the output: what
    kernels do anew for each line weighs more in narrow images.

    `kernel`, `op` (the operator's type) and `type` (of the first output's elements) say for which calls; "" for all.
    `fewer_than`: for outputs of fewer channels alone, where a kernel computes several at once; 0 for all.
    """

    kernel: str = ""
    op: str = ""
    type: str = ""
    fewer_than: int = 0
    fixed: float = 0.0
    per_mac: float = 0.0
    per_output: float = 0.0
    per_input: float = 0.0
    per_position: float = 0.0
    per_narrow: float = 0.0

    def fits(self, kernel: str, op: str, type_name: str, channels: int) -> bool:
        """Whether it is about such calls."""
        is_such = self.kernel in ("", kernel) and self.op in ("", op) and self.type in ("", type_name)
        return is_such and (not self.fewer_than or channels < self.fewer_than)

    def of(self, view: NodeView) -> int:
        """The instructions of this node, rounded up."""
        factors = self.per_mac, self.per_output, self.per_input, self.per_position, self.per_narrow
        return ceil(self.fixed + sum(factor * number for factor, number in zip(factors, measures(view), strict=True)))


# Of kernels that nobody measured: more than the slowest of those that were.
UNKNOWN = Length(fixed=1000, per_mac=12, per_output=250, per_input=20)


def _channels(view: NodeView) -> int:
    output = view.outputs[0]
    return output.dims[POSITION_AXIS] if output.rank > POSITION_AXIS else 1


def measures(view: NodeView) -> tuple[float, ...]:
    """Multiply-accumulates, elements written, elements read that are computed, places of the outputs, and the first for each
    place of a line."""
    output, macs = view.outputs[0], view.multiply_accumulates
    written, channels = sum(tensor.elements for tensor in view.outputs), _channels(view)
    read = sum(tensor.elements for tensor in view.inputs if tensor is not None and not tensor.is_constant)
    width = output.dims[-1] if output.rank > POSITION_AXIS + 1 else 1
    return macs, written, read, written // max(1, channels), macs / max(1, width)


def lengths_of(files: Mapping[str, bytes], where: str) -> tuple[Length, ...]:
    """What the library's lengths.toml says; () where it has none."""
    if LENGTHS not in files:
        return ()
    table = toml_of(files[LENGTHS], f"{where}/{LENGTHS}", "LIBRARY")
    hint = "entries [[length]] with kernel, op, type, fewer_than, fixed, per_mac, per_output, per_input, per_position, per_narrow"
    require_shape(table, {"length": [_SHAPE]}, f"{where}/{LENGTHS}", "LIBRARY", hint)
    for entry in table["length"]:
        unknown = sorted(set(entry) - {key.removesuffix("?") for key in _SHAPE})
        wrong = [name for name in _NUMBERS if not 0 <= entry.get(name, 0) < float("inf")]
        if unknown or wrong:
            what = f"unknown key {unknown[0]!r}" if unknown else f"{wrong[0]} is {entry[wrong[0]]}"
            raise AidgeError(what, where=f"{where}/{LENGTHS}", code="LIBRARY", hint=hint)
    return tuple(Length(**entry) for entry in table["length"])


def entry_of(lengths: tuple[Length, ...], kernel: str, view: NodeView) -> Length:
    """The entry for a call at this node that says most exactly what it is for; one without `kernel` is for kernels that nobody
    measured."""
    op, type_name = view.operator.type, view.outputs[0].dtype.name
    fits = [entry for entry in lengths if entry.fits(kernel, op, type_name, _channels(view))]
    return max(
        fits, key=lambda entry: (bool(entry.kernel), bool(entry.op), bool(entry.type), bool(entry.fewer_than)), default=UNKNOWN
    )


def length_of(lengths: tuple[Length, ...], kernel: str, view: NodeView) -> int:
    """The instructions of a call at this node, by the entry that says most exactly what it is for."""
    return entry_of(lengths, kernel, view).of(view)
