# SPDX-License-Identifier: MIT
"""Work that tests give to workers of a sweep: pure, but for those that die, which leave a mark of it."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from aidge_build.base.errors import AidgeError
from aidge_build.measure.sweep.tasks import Alone, Task


def loaded(name: str) -> bytes:
    """Whether the process had the module before it was asked."""
    return b"%d" % (name in sys.modules)


def doubled(number: int) -> bytes:
    return b"%d" % (2 * number)


def marked(request: tuple[str, int]) -> bytes:
    """Leaves a mark each time that it runs."""
    folder, number = request
    _mark(folder, number)
    return doubled(number)


def dying_once(request: tuple[str, int]) -> bytes:
    """The process that is given number 3 is killed the first time."""
    folder, number = request
    if _mark(folder, number) == 0 and number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return doubled(number)


def dying_always(request: int) -> bytes:
    if request == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return doubled(request)


def refusing(request: int) -> bytes:
    if request == 3:
        raise AidgeError("no", where="three", hint="take four", code="SWEEP")
    if request == 4:
        raise ZeroDivisionError("nobody foresaw this")
    return doubled(request)


def process(_: object) -> bytes:
    return b"%d" % os.getpid()


def marks(folder: Path | str, number: object) -> int:
    """How often `number` was worked on."""
    return len(list(Path(folder).glob(f"{number}-*")))


def _mark(folder: str, number: object) -> int:
    """How many marks there were before this one."""
    before = marks(folder, number)
    (Path(folder) / f"{number}-{before}-{os.getpid()}").touch()
    return before


def killed_at(request: tuple[str, str, Task]) -> bytes:
    """The work of a task; the process that is the first to be given the task of this key is killed."""
    folder, key, task = request
    if _mark(folder, task.key) == 0 and task.key == key:
        os.kill(os.getpid(), signal.SIGKILL)
    return task.work(task.request)


class Stopping:
    """A crew of this process that is stopped after some answers."""

    def __init__(self, after: int, stop):
        self._after, self._stop = after, stop

    def answers(self, tasks):
        for number, answer in enumerate(Alone().answers(tasks)):
            if number == self._after:
                self._stop()
            yield answer

    def close(self):
        pass
