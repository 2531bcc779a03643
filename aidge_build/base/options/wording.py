# SPDX-License-Identifier: MIT
"""Hints in the words of the build system that runs us: who writes a SConstruct types no `--weights-in`."""

from __future__ import annotations

import os
import re

from aidge_build.base.options.option import CMAKE, SCONS, Option
from aidge_build.base.options.table import TABLE

FRONT_END = "AIDGE_FRONT_END"  # set by the SCons tool and the CMake package
_OPTIONS = {option.name: option for group in TABLE for option in group.options}
# A command line, in backticks or after our name, is typed as it is; after an option its value may follow.
_WORDS = re.compile(r"`[^`]*`|aidge-build [^;,]*|--(?P<name>[a-z][a-z-]*)(?P<value> (?:[^\s,;:.)]|[,.](?=\S))+)?")


def as_typed(hint: str) -> str:
    """The hint with options as they are called where this process was started; as it is on a command line."""
    front_end = {name.lower(): name for name in (SCONS, CMAKE)}.get(os.environ.get(FRONT_END, "").lower())
    return _WORDS.sub(lambda match: _typed(match, front_end), hint) if front_end else hint


def _typed(match: re.Match[str], front_end: str) -> str:
    option = _OPTIONS.get(match["name"] or "")
    name = option.name_in(front_end) if option else ""
    if option is None or not name:
        return match[0]
    value = (match["value"] or "").strip()
    if not _is_value(option, value):
        return f"{name}{'=' if front_end == SCONS else ''}{match['value'] or ''}"
    return f"{name}={_in_python(option, value)}" if front_end == SCONS else f"{name} {value}"


def _is_value(option: Option, word: str) -> bool:
    """A value, and not the next word of the sentence."""
    return word in option.values or bool(re.search(r"[A-Z0-9=+_]", word))


def _in_python(option: Option, value: str) -> str:
    before, _, after = value.partition("=")
    return repr({before: after}) if option.kind == "pairs" and after else value if option.kind == "number" else repr(value)
