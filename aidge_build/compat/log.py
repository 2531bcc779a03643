# SPDX-License-Identifier: MIT
"""The inherited log: messages of libraries as notes on stderr, and records in the file that AIDGE_LOG names."""

from __future__ import annotations

import enum

from aidge_build.debug import log
from aidge_build.terminal import print_notes


class Level(enum.IntEnum):
    """How much a message matters."""

    Debug = 0
    Info = 1
    Notice = 2
    Warn = 3
    Error = 4
    Fatal = 5


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

    @classmethod
    def debug(cls, text: object, *values: object) -> None:
        """A message for who looks for a fault."""
        cls._say(Level.Debug, text, values)

    @classmethod
    def info(cls, text: object, *values: object) -> None:
        """A message of no consequence."""
        cls._say(Level.Info, text, values)

    @classmethod
    def notice(cls, text: object, *values: object) -> None:
        """A message worth a line in the log."""
        cls._say(Level.Notice, text, values)

    @classmethod
    def warn(cls, text: object, *values: object) -> None:
        """A message that is shown."""
        cls._say(Level.Warn, text, values)

    @classmethod
    def error(cls, text: object, *values: object) -> None:
        """A message of a fault; what goes on is for the caller to decide."""
        cls._say(Level.Error, text, values)

    @classmethod
    def fatal(cls, text: object, *values: object) -> None:
        """A message of a fault that ends the work; the caller ends it."""
        cls._say(Level.Fatal, text, values)
