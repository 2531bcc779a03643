# SPDX-License-Identifier: MIT
"""Workers of this machine: processes with one task each at a time, so that one that dies costs nothing but its own."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from multiprocessing.connection import Connection, wait

from aidge_build.sweep.tasks import MOST_DEATHS, Answer, Task, killed, performed

_PATIENCE_SECONDS = 5  # for a worker that was told to end


def usable_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Processes:
    """`count` processes, each of which starts with its first task."""

    def __init__(self, count: int):
        self._count = count

    def answers(self, tasks: Iterable[Task]) -> Iterator[Answer]:
        """A worker that dies is followed by another one, which is given the same task."""
        waiting = deque(tasks)
        deaths: Counter[str] = Counter()
        workers = [_Worker() for _ in range(min(self._count, len(waiting)))]
        busy: dict[Connection, tuple[_Worker, Task]] = {}
        try:
            while waiting or busy:
                while waiting and workers:
                    worker, task = workers.pop(), waiting.popleft()
                    worker.give(task)
                    busy[worker.pipe] = worker, task
                for pipe in wait(list(busy)):
                    assert isinstance(pipe, Connection)
                    worker, task = busy.pop(pipe)
                    answer = worker.answer()
                    if answer is not None:
                        workers.append(worker)
                        yield answer
                        continue
                    worker.end()
                    workers.append(_Worker())
                    deaths[task.key] += 1
                    if deaths[task.key] < MOST_DEATHS:
                        waiting.appendleft(task)
                    else:
                        yield killed(task)
        finally:
            for worker in (*workers, *(worker for worker, _ in busy.values())):
                worker.end()


class _Worker:
    """A process and the pipe to it. A new interpreter: what threads of this one hold would be held for ever in a copy."""

    def __init__(self):
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        self._process = context.Process(target=_serve, args=(other,), daemon=True)
        self._process.start()
        other.close()

    def give(self, task: Task) -> None:
        """The next task; whether the process is still there shows when its answer is read."""
        try:
            self.pipe.send(task)
        except OSError:
            pass

    def answer(self) -> Answer | None:
        """What it sent; None where it died."""
        try:
            return self.pipe.recv()
        except (EOFError, OSError):
            return None

    def end(self) -> None:
        """The process gets the time to take away what it has on disk."""
        self._process.terminate()
        self._process.join(_PATIENCE_SECONDS)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        self.pipe.close()


def _serve(pipe: Connection) -> None:
    """Answers tasks until the other end is gone. Ctrl-C reaches all processes of a terminal: the first one decides."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        while True:
            pipe.send(performed(pipe.recv()))
    except (EOFError, OSError):
        return
