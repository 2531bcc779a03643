# SPDX-License-Identifier: MIT
"""Workers of this machine: processes with one task each at a time, so that one that dies costs nothing but its own."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Generator, Iterable, Sequence
from queue import Queue

from aidge_build.measure.sweep.tasks import MOST_DEATHS, Answer, Task, killed, performed

_PATIENCE_SECONDS = 5  # for a worker that was told to end
_COMMAND = f"from {__name__} import serve; serve()"


class Processes:
    """`count` processes at most, and no more than there are tasks: one that dies is followed by another, which is given the same
    task. They live until `close`."""

    def __init__(self, count: int):
        self._count = count
        self._idle: list[_Worker] = []
        self._busy: set[_Worker] = set()

    def answers(self, tasks: Iterable[Task]) -> Generator[Answer, None, None]:
        """Returns the answers in the order in which they arrive. Ending the iteration ends the processes at work.

        Processes begin at once, before this process has threads, such as the threads that show progress.
        """
        waiting = list(tasks)[::-1]
        while len(self._idle) < min(self._count, len(waiting)):
            self._idle.append(_Worker())
        return self._answers(waiting)

    def _answers(self, waiting: list[Task]) -> Generator[Answer, None, None]:
        deaths: Counter[str] = Counter()
        came: Queue[tuple[_Worker, Task, Answer | None]] = Queue()
        try:
            while waiting or self._busy:
                while waiting and len(self._busy) < self._count:
                    worker = self._idle.pop() if self._idle else _Worker()
                    self._busy.add(worker)
                    worker.work_on(waiting.pop(), came)
                worker, task, answer = came.get()
                self._busy.remove(worker)
                if answer is not None:
                    self._idle.append(worker)
                    yield answer
                    continue
                worker.end()
                deaths[task.key] += 1
                if deaths[task.key] < MOST_DEATHS:
                    waiting.append(task)
                else:
                    yield killed(task)
        finally:
            while self._busy:
                self._busy.pop().end()

    def close(self) -> None:
        """Ends all workers."""
        while self._idle:
            self._idle.pop().end()


class _Copy:
    """A copy of this process that serves, with the needed methods of `subprocess.Popen`. A copy need not load the modules."""

    def __init__(self) -> None:
        asked, stdin = os.pipe()
        stdout, answers = os.pipe()
        context = multiprocessing.get_context("fork")
        self._process = context.Process(target=_serve_as_copy, args=(asked, answers, (stdin, stdout)), daemon=True)
        self._process.start()
        os.close(asked)
        os.close(answers)
        self.stdin, self.stdout = os.fdopen(stdin, "wb"), os.fdopen(stdout, "rb")
        self.terminate, self.kill = self._process.terminate, self._process.kill

    def wait(self, seconds: float | None = None) -> None:
        """Waits for the process; TimeoutExpired if it does not end in time."""
        self._process.join(seconds)
        if self._process.is_alive():
            raise subprocess.TimeoutExpired("serve", seconds or 0)


def _serve_as_copy(asked: int, answers: int, others: Sequence[int]) -> None:
    for end in others:  # otherwise the pipe would stay open after the end of the first process
        os.close(end)
    os.dup2(asked, 0)
    os.dup2(answers, 1)
    os.close(asked)
    os.close(answers)
    serve()


def _new_interpreter() -> subprocess.Popen:
    modules = os.pathsep.join(path for path in sys.path if path)
    return subprocess.Popen(
        [sys.executable, "-P", "-c", _COMMAND],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={"OPENBLAS_NUM_THREADS": "1", **os.environ, "PYTHONPATH": modules},
    )


class _Worker:
    """A process that reads tasks and writes answers. If this process has threads, the worker is a new interpreter, because a copy
    would keep their locks for ever. The interpreter does not run the script of this process, which would begin the whole sweep
    again."""

    def __init__(self) -> None:
        is_copy = sys.platform == "linux" and threading.active_count() == 1
        self._process = _Copy() if is_copy else _new_interpreter()

    def work_on(self, task: Task, came: Queue) -> None:
        """Puts the answer into `came`, or None if the process dies."""
        threading.Thread(target=lambda: came.put((self, task, self._answer(task))), daemon=True).start()

    def _answer(self, task: Task) -> Answer | None:
        assert self._process.stdin and self._process.stdout
        try:
            pickle.dump(task, self._process.stdin)
            self._process.stdin.flush()
            return pickle.load(self._process.stdout)
        except (EOFError, OSError, ValueError, pickle.UnpicklingError):
            return None

    def end(self) -> None:
        """Ends the process, and gives it the time to remove its files."""
        self._process.terminate()
        with contextlib.suppress(OSError, ValueError):
            self._process.stdin.close()  # type: ignore[union-attr]
        try:
            self._process.wait(_PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()  # type: ignore[union-attr]


def serve() -> None:
    """Answers tasks of stdin on the former stdout, until the other end is gone; the output of a task goes to stderr.

    Ctrl-C reaches all processes of a terminal: the first one ends the others.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    asked, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    with contextlib.suppress(EOFError, OSError):
        while True:
            pickle.dump(performed(pickle.load(asked)), answers)
            answers.flush()
