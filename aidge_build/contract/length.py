# SPDX-License-Identifier: MIT
"""How many instructions a call of a kernel takes at most: what a library says in lengths.toml, measured.

An inference in steps is cut by these numbers before anything runs; what is linked is counted (`aidge-build run`, `verify`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from math import ceil, prod

from aidge_build.contract.spec import NodeView
from aidge_build.errors import AidgeError
from aidge_build.reading import require_shape, toml_of

LENGTHS = "lengths.toml"
NUMBERS = ("fixed", "per_mac", "per_output", "per_input", "per_position", "per_narrow", "per_gathered", "per_group")
_NUMBER = (int, float)
_FOR = {"kernel?": str, "op?": str, "type?": str, "fewer_than?": int, "without?": [str]}
_SHAPE = {**_FOR, **{f"{name}?": _NUMBER for name in NUMBERS}}
_FEATURES = ("fpu", "thumb2")
POSITION_AXIS = 1  # channels: a position is everything of one channel


@dataclass(frozen=True)
class Length:
    """Instructions of a call: fixed + per_mac * MACs + per_output * elements written + per_input * elements read that are
    computed + per_position * places of the outputs, channels left out + per_narrow * MACs / places of a line of the output: what
    kernels do anew for each line weighs more in narrow images + per_gathered * places of the input in all windows of all groups:
    what kernels do for each run of channels that they gather weighs more if groups have few channels + per_group * groups.

    `kernel`, `op` (the operator's type) and `type` (of the first output's elements) say for which calls; "" for all.
    `fewer_than`: for outputs of fewer channels alone, where a kernel computes several at once; 0 for all. `without`: for cores
    that lack exactly these of the features fpu and thumb2; () for all.
    """

    kernel: str = ""
    op: str = ""
    type: str = ""
    fewer_than: int = 0
    without: tuple[str, ...] = ()
    fixed: float = 0.0
    per_mac: float = 0.0
    per_output: float = 0.0
    per_input: float = 0.0
    per_position: float = 0.0
    per_narrow: float = 0.0
    per_gathered: float = 0.0
    per_group: float = 0.0

    def fits(self, kernel: str, op: str, type_name: str, channels: int, lacking: tuple[str, ...]) -> bool:
        """Whether it is about such calls on a core that lacks these features."""
        is_such = self.kernel in ("", kernel) and self.op in ("", op) and self.type in ("", type_name)
        is_such = is_such and self.without in ((), lacking)
        return is_such and (not self.fewer_than or channels < self.fewer_than)

    def of(self, view: NodeView) -> int:
        """The instructions of this node, rounded up."""
        factors = (getattr(self, name) for name in NUMBERS)
        return ceil(sum(factor * number for factor, number in zip(factors, (1, *measures(view)), strict=True)))


# Of kernels that nobody measured: more than the slowest of those that were.
UNKNOWN = Length(fixed=1000, per_mac=12, per_output=250, per_input=20)


def without(features: Collection[str]) -> tuple[str, ...]:
    """The features that a core with these lacks, of those that decide how long the same C takes."""
    return tuple(name for name in _FEATURES if name not in features)


def _channels(view: NodeView) -> int:
    output = view.outputs[0]
    return output.dims[POSITION_AXIS] if output.rank > POSITION_AXIS else 1


def measures(view: NodeView) -> tuple[float, ...]:
    """Multiply-accumulates, elements written, elements read that are computed, places of the outputs, the first for each place of
    a line, places of the input in all windows of all groups, and groups."""
    output, macs = view.outputs[0], view.multiply_accumulates
    written, channels = sum(tensor.elements for tensor in view.outputs), _channels(view)
    read = sum(tensor.elements for tensor in view.inputs if tensor is not None and not tensor.is_constant)
    width = output.dims[-1] if output.rank > POSITION_AXIS + 1 else 1
    places, (groups, gathered) = written // max(1, channels), _windows(view)
    return macs, written, read, places, macs / max(1, width), places * groups * gathered, groups


def _windows(view: NodeView) -> tuple[int, int]:
    """Groups, and places of a window; 0 where the operator has none."""
    weights = view.inputs[1] if len(view.inputs) > 1 else None
    if weights is None or not hasattr(view.operator, "groups"):
        return 0, 0
    return view.operator.groups, prod(weights.dims[POSITION_AXIS + 1 :])


def lengths_of(files: Mapping[str, bytes], where: str) -> tuple[Length, ...]:
    """What the library's lengths.toml says; () where it has none."""
    if LENGTHS not in files:
        return ()
    table = toml_of(files[LENGTHS], f"{where}/{LENGTHS}", "LIBRARY")
    hint = f"entries [[length]] with {', '.join(key.removesuffix('?') for key in _SHAPE)}"
    require_shape(table, {"length": [_SHAPE]}, f"{where}/{LENGTHS}", "LIBRARY", hint)
    for entry in table["length"]:
        unknown = sorted(set(entry) - {key.removesuffix("?") for key in _SHAPE})
        strange = sorted({*entry.get("without", ())} - {*_FEATURES})
        wrong = [name for name in NUMBERS if not 0 <= entry.get(name, 0) < float("inf")]
        if unknown or wrong or strange:
            what = f"unknown key {unknown[0]!r}" if unknown else f"without {strange[0]!r}" if strange else ""
            what = what or f"{wrong[0]} is {entry[wrong[0]]}"
            raise AidgeError(what, where=f"{where}/{LENGTHS}", code="LIBRARY", hint=hint)
    lacking = [without(set(_FEATURES) - {*entry.get("without", ())}) for entry in table["length"]]
    return tuple(Length(**{**entry, "without": names}) for entry, names in zip(table["length"], lacking, strict=True))


def entry_of(lengths: tuple[Length, ...], kernel: str, view: NodeView) -> Length:
    """The entry for a call at this node that says most exactly what it is for; one without `kernel` is for kernels that nobody
    measured."""
    op, type_name = view.operator.type, view.outputs[0].dtype.name
    lacking = without(view.features)
    fits = [entry for entry in lengths if entry.fits(kernel, op, type_name, _channels(view), lacking)]
    return max(fits, key=_exactness, default=UNKNOWN)


def _exactness(entry: Length) -> tuple[bool, ...]:
    return bool(entry.kernel), bool(entry.op), bool(entry.type), bool(entry.fewer_than), bool(entry.without)


def length_of(lengths: tuple[Length, ...], kernel: str, view: NodeView) -> int:
    """The instructions of a call at this node, by the entry that says most exactly what it is for."""
    return entry_of(lengths, kernel, view).of(view)
