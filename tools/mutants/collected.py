# SPDX-License-Identifier: MIT
"""Tries the mutants of a room in forks of one pytest session, which collects once; a fork swaps the code of functions.

The session answers where a process of its own would end the same way. The other mutants, such as what runs at import, get one.
"""

from __future__ import annotations

import contextlib
import gc
import inspect
import json
import os
import signal
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import CodeType, FrameType, FunctionType

from tools.mutants import trial
from tools.mutants.guards import Guard, runs_at_import
from tools.mutants.sites import Mutant, mutated
from tools.mutants.trial import Task, Verdict
from tools.testmap.session import Watcher, in_child, run_pytest


def verdicts(tasks: Sequence[Task], root: Path, jobs: int) -> Iterator[Verdict]:
    """Tries the mutants, `jobs` at a time: first in forks of one session, in their order, then the rest, in their order."""
    answered = set()
    for index, killer, passed in _answers(tasks, root, jobs):
        answered.add(index)
        yield Verdict(tasks[index][0], killer, passed)
    yield from trial.verdicts([task for index, task in enumerate(tasks) if index not in answered], root, jobs)


def _answers(tasks: Sequence[Task], root: Path, jobs: int) -> Iterator[tuple[int, str, int]]:
    """Index, killer and number of passed tests, of each mutant that the session answers for."""
    tried = {index: task for index, task in enumerate(tasks) if task[1] and not runs_at_import(task[0])}
    if not tried:
        return
    receive, send = os.pipe()
    with tempfile.TemporaryDirectory() as folder:
        session = in_child(lambda: _Session(tried, root, jobs, send).run(), Path(folder) / "code.json")
        os.close(send)
        try:
            with open(receive, encoding="utf-8") as lines:
                yield from map(json.loads, lines)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(session, signal.SIGKILL)
            os.waitpid(session, 0)


class _Session(Watcher):
    """A plugin of pytest that collects, and then tries mutants instead of running the tests."""

    def __init__(self, tasks: dict[int, Task], root: Path, jobs: int, send: int) -> None:
        super().__init__()
        self._tasks, self._root, self._jobs, self._send = tasks, root, jobs, send
        self._began: dict[int, CodeType] = {}

    def run(self) -> int:
        """pytest's exit code."""
        files = {guard.name.split("::")[0] for _, guards in self._tasks.values() for guard in guards}
        sys.settrace(self._note)
        return run_pytest(["--capture=sys", *sorted(files)], self)  # forks would share the file of captured output

    def _note(self, frame: FrameType, event: str, argument: object) -> None:
        self._began[id(frame.f_code)] = frame.f_code

    def pytest_runtestloop(self, session) -> bool:
        sys.settrace(None)
        self._items = {item.nodeid: item for item in session.items}
        files = {str(self._root / mutant.file) for mutant, _ in self._tasks.values()}
        gc.unfreeze()
        every = [thing for thing in gc.get_objects() if type(thing) is FunctionType]
        self._functions = [function for function in every if function.__code__.co_filename in files]
        del every
        gc.collect()
        gc.freeze()  # a collection in a fork would copy what they share
        found = trial.verdicts(list(self._tasks.values()), self._root, self._jobs, self._try)
        for index, verdict in zip(self._tasks, found, strict=True):
            if not verdict.error and (verdict.killer or not self._ran(verdict.mutant)):
                os.write(self._send, f"{json.dumps([index, verdict.killer, verdict.passed])}\n".encode())
        return True

    def _ran(self, mutant: Mutant) -> bool:
        """Whether the function ran while the tests were collected: what it returned then is kept somewhere, without the fault."""
        return any(self._holds(code, mutant) for code in self._began.values())

    def _try(self, guards: Sequence[Guard], root: Path, mutant: Mutant | None) -> list:
        """Runs the tests in this fork, up to the first that fails."""
        os.close(self._send)
        if mutant:
            self._swap(mutant)
        self.failed = ""
        items = [self._items[guard.name] for guard in guards]
        for item, following in zip(items, [*items[1:], None], strict=True):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if self.failed:
                break
        return [int(self.failed != ""), self.failed]

    def _swap(self, mutant: Mutant) -> None:
        """Gives the function that holds the mutant the code with the fault; who imported the function by its name has it, too."""
        path = self._root / mutant.file
        tree = mutated(path.read_text(encoding="utf-8"), mutant)
        codes = {_place(code): code for code in _codes(compile(tree, str(path), "exec", dont_inherit=True))}
        functions = [function for function in self._functions if self._holds(function.__code__, mutant)]
        if not functions:
            raise LookupError(f"no function {mutant.function} in {mutant.file}")
        for function in functions:
            function.__code__ = codes[_place(function.__code__)]

    def _holds(self, code: CodeType, mutant: Mutant) -> bool:
        """Whether it is the code of the mutant's function, or of a function around it."""
        name = code.co_qualname.replace(".<locals>", "")
        is_function = code.co_flags & inspect.CO_OPTIMIZED  # a class body is none
        is_around = f"{mutant.function}.".startswith(f"{name}.")
        return bool(is_function and is_around and code.co_filename == str(self._root / mutant.file))


def _codes(code: CodeType) -> Iterator[CodeType]:
    """The codes of all functions and classes inside."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes(constant)


def _place(code: CodeType) -> tuple[str, int]:
    """Tells the functions of a file that are not lambdas from each other."""
    return code.co_qualname, code.co_firstlineno
