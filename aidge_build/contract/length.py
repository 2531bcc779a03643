# SPDX-License-Identifier: MIT
"""The most instructions that a call of a kernel takes, as measured and written into the library's lengths.toml.

These numbers cut an inference into steps before anything runs; `aidge-build run` and `verify` count the linked code.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, prod
from typing import Any

from aidge_build.base.errors import AidgeError
from aidge_build.base.reading import require_shape, toml_of
from aidge_build.boards.cores import ALIGNED_ONLY, NO_ASSEMBLY
from aidge_build.contract.spec import NodeView

LENGTHS = "lengths.toml"
NUMBERS = ("fixed", "per_mac", "per_output", "per_input", "per_position", "per_narrow", "per_gathered", "per_group")
_NUMBER = (int, float)
_FOR = {"kernel?": str, "op?": str, "type?": str, "fewer_than?": int, "without?": [str], "under?": [str], "together?": int}
_SHAPE = {**_FOR, **{f"{name}?": _NUMBER for name in NUMBERS}}
_FEATURES = ("fpu", "thumb2")
_WITHOUT_ASSEMBLY, _ALIGNED, _OPTIMIZE = "assembly off", "unaligned off", "optimize "
_OPTIONS = (_WITHOUT_ASSEMBLY, _ALIGNED, f"{_OPTIMIZE}size", f"{_OPTIMIZE}speed")
POSITION_AXIS = 1  # channels


@dataclass(frozen=True)
class Length:
    """The instructions of a call are the sum of factor * measure. Work that a kernel repeats for each line (`per_narrow`) weighs
    more in narrow images; work for each run of channels that it gathers (`per_gathered`) weighs more if groups have few channels.

    | factor | measure |
    |---|---|
    | fixed | 1 |
    | per_mac | MACs |
    | per_output | elements written |
    | per_input | elements read that are computed |
    | per_position | positions of the outputs, channels left out |
    | per_narrow | MACs / positions of a line of the output |
    | per_gathered | positions of the input in all windows of all groups |
    | per_group | groups |

    `kernel`, `op` (the operator's type) and `type` (of the first output's elements) select calls; "" selects all. `fewer_than`:
    only outputs with fewer channels, for kernels that compute several channels at once; 0 for all. `without`: cores that lack
    exactly these of the features fpu and thumb2; () for all. `under`: builds with all of these options ("assembly off", "optimize
    size"), which change the code of kernels; () for all, measured without these options. `together`: channels of the output that
    the kernel computes at a time, where missing channels take as long as channels; 0: each channel takes its own time.
    """

    kernel: str = ""
    op: str = ""
    type: str = ""
    fewer_than: int = 0
    without: tuple[str, ...] = ()
    under: tuple[str, ...] = ()
    fixed: float = 0.0
    per_mac: float = 0.0
    per_output: float = 0.0
    per_input: float = 0.0
    per_position: float = 0.0
    per_narrow: float = 0.0
    per_gathered: float = 0.0
    per_group: float = 0.0
    together: int = 0

    def fits(self, kernel: str, view: NodeView) -> bool:
        """Whether the entry holds for calls of this kernel at such a node, on such a core and in such a build."""
        is_such = self.kernel in ("", kernel) and self.op in ("", view.operator.type)
        is_such = is_such and self.type in ("", view.outputs[0].dtype.name) and self.without in ((), without(view.features))
        return is_such and (not self.fewer_than or _channels(view) < self.fewer_than) and {*self.under} <= {*under(view)}

    def of(self, view: NodeView) -> int:
        """Returns the instructions of this node, rounded up."""
        return ceil(self.sum_of(measures(view), _channels(view)))

    def sum_of(self, measured: Sequence[float], channels: int) -> float:
        """Returns the instructions of a node with these measures and channels of the output."""
        times = ceil(channels / self.together) * self.together / channels if self.together and channels else 1.0
        macs, written, read, places, narrow, *others = measured
        factors = (1, times * macs, times * written, read, places, times * narrow, *others)
        return sum(getattr(self, name) * factor for name, factor in zip(NUMBERS, factors, strict=True))


_WORDS = {"without": _FEATURES, "under": _OPTIONS}
# For kernels without a measurement: more than the slowest measured kernel takes.
UNKNOWN = Length(fixed=1000, per_mac=12, per_output=250, per_input=20)


def without(features: Collection[str]) -> tuple[str, ...]:
    """Returns the features that a core with these features lacks, among fpu and thumb2, which decide how long the same C
    takes."""
    return tuple(name for name in _FEATURES if name not in features)


def under(view: NodeView) -> tuple[str, ...]:
    """Returns the options of a node's build that change how long the same kernel takes; no default option is among them."""
    found = [_WITHOUT_ASSEMBLY] * (NO_ASSEMBLY in view.features) + [_ALIGNED] * (ALIGNED_ONLY in view.features)
    return tuple(word for word in (*found, f"{_OPTIMIZE}{view.objective}") if word in _OPTIONS)


def _channels(view: NodeView) -> int:
    output = view.outputs[0]
    return output.dims[POSITION_AXIS] if output.rank > POSITION_AXIS else 1


def measures(view: NodeView) -> tuple[float, ...]:
    """Returns the measures of a node, in the order of `NUMBERS` without `fixed`."""
    output, macs = view.outputs[0], view.multiply_accumulates
    written, channels = sum(tensor.elements for tensor in view.outputs), _channels(view)
    read = sum(tensor.elements for tensor in view.inputs if tensor is not None and not tensor.is_constant)
    width = output.dims[-1] if output.rank > POSITION_AXIS + 1 else 1
    places, (groups, gathered) = written // max(1, channels), _windows(view)
    return macs, written, read, places, macs / max(1, width), places * groups * gathered, groups


def _windows(view: NodeView) -> tuple[int, int]:
    """Returns groups, and positions of a window; 0, 0 if the operator has neither."""
    weights = view.inputs[1] if len(view.inputs) > 1 else None
    if weights is None or not hasattr(view.operator, "groups"):
        return 0, 0
    return view.operator.groups, prod(weights.dims[POSITION_AXIS + 1 :])


def lengths_of(files: Mapping[str, bytes], where: str) -> tuple[Length, ...]:
    """Returns the entries of the library's lengths.toml; () if it has none."""
    if LENGTHS not in files:
        return ()
    table = toml_of(files[LENGTHS], f"{where}/{LENGTHS}", "LIBRARY")
    hint = f"entries [[length]] with {', '.join(key.removesuffix('?') for key in _SHAPE)}"
    require_shape(table, {"length": [_SHAPE]}, f"{where}/{LENGTHS}", "LIBRARY", hint)
    for entry in table["length"]:
        fault = next(_faults(entry), "")
        if fault:
            raise AidgeError(fault, where=f"{where}/{LENGTHS}", code="LIBRARY", hint=hint)
    return tuple(_length_of(entry) for entry in table["length"])


def _faults(entry: Mapping[str, Any]) -> Iterator[str]:
    """Yields messages about unknown keys and words, and about numbers that no length has."""
    yield from (f"unknown key {key!r}" for key in sorted(set(entry) - {key.removesuffix("?") for key in _SHAPE}))
    for key, known in (("without", _FEATURES), ("under", _OPTIONS)):
        yield from (f"{key} {word!r}" for word in sorted({*entry.get(key, ())} - {*known}))
    yield from (f"{name} is {entry[name]}" for name in NUMBERS if not 0 <= entry.get(name, 0) < float("inf"))


def _length_of(entry: Mapping) -> Length:
    """Returns the entry, with its words in the order of the lists here."""
    words = {key: tuple(word for word in known if word in entry.get(key, ())) for key, known in _WORDS.items()}
    return Length(**{**entry, **words})


def entry_of(lengths: tuple[Length, ...], kernel: str, view: NodeView) -> Length:
    """Returns the most exact entry for a call at this node; an entry without `kernel` is for kernels without a measurement."""
    return max((entry for entry in lengths if entry.fits(kernel, view)), key=exactness, default=UNKNOWN)


def exactness(entry: Length) -> tuple[int, ...]:
    """Returns how exactly an entry selects calls; of the entries that fit, the largest value wins."""
    said = (entry.kernel, entry.op, entry.type, entry.fewer_than, entry.without)
    return *map(bool, said), len(entry.under)


def length_of(lengths: tuple[Length, ...], kernel: str, view: NodeView) -> int:
    """Returns the instructions of a call at this node, by the most exact entry."""
    return entry_of(lengths, kernel, view).of(view)
