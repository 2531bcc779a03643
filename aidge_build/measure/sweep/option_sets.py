# SPDX-License-Identifier: MIT
"""Sets of options: the words of the command line for each set of a matrix."""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from aidge_build.base.errors import AidgeError
from aidge_build.base.options import MODEL, QUANTIZATION, Option, from_words

CODE = "SWEEP"
DEFAULT = "default"  # the set without options, if the matrix names none
QUANTIZE = "quantize"
# Not allowed in a set: targets, because boards take their place in a matrix, and files, which exist on one machine alone.
_ALLOWED = {option.name: option for option in MODEL.options if option.kind not in ("target", "file", "folders", "checkouts")}
_OF_QUANTIZING = {option.name for option in QUANTIZATION}


@dataclass(frozen=True)
class OptionSet:
    """`words` are options as the command line has them. `quantizes`: the model is quantized first, as `scheme` says. `base` is
    the table that it comes from."""

    name: str
    base: str
    words: tuple[str, ...] = ()
    scheme: tuple[str, ...] = ()
    quantizes: bool = False


def option_sets(tables: Mapping, axes: Mapping, where: str) -> tuple[OptionSet, ...]:
    """Returns each table with each combination of the values of the axes, sorted by name; "" on an axis leaves the option out."""
    bases = [_set_of(name, name, table, f"{where}: options.{name}") for name, table in tables.items()]
    for key, values in axes.items():
        if not isinstance(values, list) or not values:
            raise AidgeError(f"vary.{key} is no list of values", where=where, code=CODE, hint=f"{key} = ['a', 'b']")
    combinations = [
        {key: value for key, value in zip(axes, values, strict=True) if value != ""}
        for values in itertools.product(*axes.values())
    ]
    found = [_with(one, chosen, where) for one in bases or [OptionSet(DEFAULT, DEFAULT)] for chosen in combinations]
    return tuple(sorted(found, key=lambda one: one.name))


def words_of_table(table: Mapping, where: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Returns options as sorted words, apart from the options of quantization, which come second; AidgeError for an unknown
    option or value."""
    words: list[str] = []
    scheme: list[str] = []
    for key, value in table.items():
        option = _allowed(key, where)
        several = value if isinstance(value, list) else [value]
        for one in several:
            if isinstance(one, bool) or not isinstance(one, (str, int, float)):
                raise AidgeError(f"{key} is {one!r}", where=where, code=CODE, hint="a text or a number, as on the command line")
        values = several if option.repeated else [_text(value)]
        (scheme if key in _OF_QUANTIZING else words).extend(f"--{key}={one}" for one in values)
    try:
        from_words([*words, *scheme], _ALLOWED.values())
    except ValueError as error:
        raise AidgeError(str(error), where=where, code=CODE, hint="docs/options.md has the values of each option") from None
    return tuple(sorted(words)), tuple(sorted(scheme))


def _set_of(name: str, base: str, table: object, where: str) -> OptionSet:
    if not isinstance(table, dict):
        raise AidgeError("a table is expected here", where=where, code=CODE, hint="[options.small], with a line for each option")
    quantizes = table.get(QUANTIZE, False)
    if not isinstance(quantizes, bool):
        raise AidgeError("quantize is true or false", where=where, code=CODE, hint="samples = 'F.npz' belongs to the model")
    words, scheme = words_of_table({key: value for key, value in table.items() if key != QUANTIZE}, where)
    return OptionSet(name, base, words, scheme, quantizes or bool(scheme))


def _with(one: OptionSet, chosen: Mapping, where: str) -> OptionSet:
    """The set with a value of each axis, which its name tells."""
    values = [f"{key}={_text(value)}" for key, value in chosen.items()]
    own = [] if one.name == DEFAULT and values else [one.name]
    more = _set_of(" ".join([*own, *values]), one.base, chosen, f"{where}: vary")
    return OptionSet(
        more.name,
        one.base,
        _joined(one.words, more.words, where),
        _joined(one.scheme, more.scheme, where),
        one.quantizes or more.quantizes,
    )


def _joined(first: Sequence[str], second: Sequence[str], where: str) -> tuple[str, ...]:
    both = _names(first) & _names(second)
    if both:
        raise AidgeError(f"{min(both)} is in a set and in vary", where=where, code=CODE, hint="leave it out of one of them")
    return tuple(sorted([*first, *second]))


def _names(words: Iterable[str]) -> set[str]:
    return {word.partition("=")[0] for word in words}


def _text(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def _allowed(key: str, where: str) -> Option:
    if key in _ALLOWED:
        return _ALLOWED[key]
    near = difflib.get_close_matches(key, _ALLOWED, n=1)
    hint = f"did you mean '{near[0]}'?" if near else "docs/options.md lists the options of a model; targets are the boards"
    raise AidgeError(f"'{key}' is no option of a set", where=where, code=CODE, hint=hint)
