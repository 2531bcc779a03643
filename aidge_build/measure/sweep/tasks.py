# SPDX-License-Identifier: MIT
"""Work that any process of any machine may do: a pure function of a request, named by the content of both."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from aidge_build.base.errors import AidgeError, MissingTool, internal_error
from aidge_build.base.terminal import saying

MOST_DEATHS = 3  # of workers at one task: then the task is taken to be the cause


@dataclass(frozen=True)
class Task:
    """`work(request)` returns the bytes of the answer, the same on every machine; `key` is the digest of both."""

    key: str
    title: str
    work: Callable[[Any], bytes]
    request: Any


@dataclass(frozen=True)
class Answer:
    """The bytes for the task `key`, or None and the error: an error is no answer, and the task is asked again the next time."""

    key: str
    value: bytes | None
    error: AidgeError | None = None


class Crew(Protocol):
    """The workers. Answers come in any order, one for each task; ending the iteration ends the work."""

    def answers(self, tasks: Iterable[Task]) -> Generator[Answer, None, None]:
        """Yields all answers; AidgeError if no worker is left."""
        ...

    def close(self) -> None:
        """Ends the crew."""
        ...


class Alone:
    """A crew without workers: this process does the work."""

    def answers(self, tasks: Iterable[Task]) -> Generator[Answer, None, None]:
        """Yields the answers one after another."""
        yield from map(performed, tasks)

    def close(self) -> None:
        """Does nothing: this process goes on."""


def performed(task: Task) -> Answer:
    """Returns the answer of this process. A tool that this machine lacks ends the sweep; an internal error costs one answer."""
    try:
        with saying(True):  # how far one task is would be said by all workers at once
            return Answer(task.key, task.work(task.request))
    except Exception as error:
        found = error if isinstance(error, AidgeError) else internal_error(error)
        found.__cause__ = found.__context__ = found.__traceback__ = None  # other processes cannot read these
        return Answer(task.key, None, found)


class WorkerDied(MissingTool):
    """A task that cannot be answered here; other tasks may be."""


def killed(task: Task) -> Answer:
    """Returns the answer for a task that killed one worker after another."""
    error = WorkerDied(
        "every worker that tried it died",
        where=task.title,
        code="SWEEP",
        hint="is there memory enough? Fewer workers need less",
    )
    return Answer(task.key, None, error)


def key_of(*parts: object) -> str:
    """Returns a digest of texts, bytes, numbers, None, and lists and tables of them: equal for equal parts, on every machine."""
    return hashlib.sha256(b"".join(map(_piece, parts))).hexdigest()


def _piece(part: object) -> bytes:
    """Returns kind, length and content, so that no two lists of parts are the same bytes."""
    if isinstance(part, bytes):
        return b"b%d:%b" % (len(part), part)
    text = canonical(part)
    return b"j%d:%b" % (len(text), text)


def canonical(value: object) -> bytes:
    """A value of JSON as one text."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()
