# SPDX-License-Identifier: MIT
"""Options of the table as arguments of a verb."""

from __future__ import annotations

import argparse
import math
import shlex
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

from aidge_build.base.options.option import Option


def _decimal(word: str, unlimited: str = "") -> float:
    """Returns the number of a limit; refuses infinity and NaN, because such a limit never fails, or always. The word `unlimited`
    alone may say so."""
    try:
        number = float(word)
    except ValueError:
        number = math.nan
    if not math.isfinite(number) and word != unlimited:
        raise argparse.ArgumentTypeError(f"'{word}' is no finite number")
    return number


_TYPES = {
    "folders": lambda option: Path,
    "number": lambda option: int,
    "decimal": lambda option: partial(_decimal, unlimited=option.unlimited),
}


def add_options(parser: argparse.ArgumentParser, options: Iterable[Option]) -> None:
    """Adds each option, with its values and default; only one of several alternatives is accepted.

    Folders become a list of paths and pairs one of strings, [] where there are none; an option that was not given is its default,
    or else None.
    """
    topics: dict[str, argparse._ActionsContainer] = {group.title or "": group for group in parser._action_groups}
    exclusive: dict[str, argparse._MutuallyExclusiveGroup] = {}
    for option in options:
        if option.topic and option.topic not in topics:
            topics[option.topic] = parser.add_argument_group(option.topic)
        into = topics[option.topic] if option.topic else parser
        if option.alternatives:
            if option.alternatives not in exclusive:
                exclusive[option.alternatives] = into.add_mutually_exclusive_group()
            into = exclusive[option.alternatives]
        settings: dict = {"help": _help(option), "default": option.default or None}
        if option.required:
            settings["required"] = True
        if option.metavar:
            settings["metavar"] = option.metavar
        if option.values:
            settings["choices"] = option.values
        if option.kind in _TYPES:
            settings["type"] = _TYPES[option.kind](option)
        if option.repeated:
            settings |= {"action": "append", "default": []}
        into.add_argument(f"--{option.name}", **settings)


def also_called(parser: argparse.ArgumentParser, name: str, *older: str) -> None:
    """Lets an option of the parser have older names, which no help shows."""
    for word in older:
        parser._option_string_actions[word] = parser._option_string_actions[name]


def _help(option: Option) -> str:
    default = f" (default: {option.default})" if option.default else ""
    return option.meaning + (" (repeat)" if option.repeated else default)


_PATHS = ("file", "folders", "checkouts")


class _Remembered(argparse.ArgumentParser):
    """Reads words that were not typed: a wrong word raises ValueError, and nothing is printed."""

    def __init__(self):
        super().__init__(add_help=False, allow_abbrev=False)

    def error(self, message: str):
        raise ValueError(message)


def _without_paths(options: Iterable[Option]) -> list[Option]:
    return [option for option in options if option.kind not in _PATHS]


def words_of(arguments: argparse.Namespace, options: Iterable[Option]) -> list[str]:
    """Returns the words of a command line that means the same, without options at their default and without paths."""
    return [f"--{name}={value}" for name, value in _given(arguments, _without_paths(options))]


def typed_again(arguments: argparse.Namespace, options: Iterable[Option]) -> str:
    """Returns the text to type to give another command the same options and paths, quoted for a shell: each value after a space,
    or after an equals sign if it begins with a dash."""
    given = _given(arguments, options)
    return "".join(f" --{name}{'=' if value.startswith('-') else ' '}{shlex.quote(value)}" for name, value in given)


def _given(arguments: argparse.Namespace, options: Iterable[Option]) -> Iterator[tuple[str, str]]:
    """Yields name and value of each option that is not at its default, once for each of several values."""
    for option in options:
        value = getattr(arguments, option.argument, None)
        if value not in (option.default or None, None, []):
            yield from ((option.name, str(one)) for one in (value if isinstance(value, list) else [value]))


def from_words(words: Iterable[str], options: Iterable[Option]) -> argparse.Namespace:
    """Reads the words that `words_of` wrote; ValueError for a word of no such option. A path is refused: its files might run."""
    parser = _Remembered()
    add_options(parser, _without_paths(options))
    return parser.parse_args(list(words))


def with_given(arguments: argparse.Namespace, remembered: argparse.Namespace, options: Iterable[Option]) -> argparse.Namespace:
    """Returns `arguments` with the values of `remembered` (made by `from_words`) for each option at its default."""
    values = vars(arguments).copy()
    for option in _without_paths(options):
        if values[option.argument] in (option.default or None, None, []):
            values[option.argument] = getattr(remembered, option.argument)
    return argparse.Namespace(**values)


def differing(arguments: argparse.Namespace, remembered: argparse.Namespace, options: Iterable[Option]) -> list[tuple[str, str]]:
    """Returns the options that differ, as words of both command lines; "without --dma" if one has no value for an option."""
    found = []
    for option in _without_paths(options):
        given, before = (getattr(one, option.argument) or None for one in (arguments, remembered))
        if given != before:
            found.append((_said(option, given), _said(option, before)))
    return found


def _said(option: Option, value: object) -> str:
    values = value if isinstance(value, list) else [value]
    return f"without --{option.name}" if value is None else " ".join(f"--{option.name} {one}" for one in values)
