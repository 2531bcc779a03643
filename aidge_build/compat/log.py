# SPDX-License-Identifier: MIT
"""The inherited log: messages of libraries as notes on stderr, and records in the file that AIDGE_LOG names."""

from __future__ import annotations

import enum

from aidge_build.base.debug import log
from aidge_build.base.terminal import print_notes


class Level(enum.IntEnum):
    """The importance of a message."""

    Debug = 0
    Info = 1
    Notice = 2
    Warn = 3
    Error = 4
    Fatal = 5


def _saying(level: Level) -> classmethod:
    def say(cls: type[Log], text: object, *values: object) -> None:
        cls._say(level, text, values)

    return classmethod(say)


class Log:
    """`Log.notice("{} of {}", 3, 4)`: the text with the values in its braces. A message without values stays as it is."""

    _shown_from = Level.Warn

    @classmethod
    def set_console_level(cls, level: Level) -> None:
        """Show messages from this level on (default: warnings); the file gets all."""
        cls._shown_from = Level(level)

    @classmethod
    def _say(cls, level: Level, text: object, values: tuple) -> None:
        said = str(text).format(*values) if values else str(text)
        log(f"{level.name.lower()} of a library", said)
        if level >= cls._shown_from:
            print_notes([f"{level.name.lower()}: {line}" for line in said.splitlines()])

    debug = _saying(Level.Debug)
    info = _saying(Level.Info)
    notice = _saying(Level.Notice)
    warn = _saying(Level.Warn)
    error = _saying(Level.Error)
    fatal = _saying(Level.Fatal)  # ends nothing: the caller decides
