# SPDX-License-Identifier: MIT
"""Runs pytest in a child of this process: what the tests import, use up or break stays there."""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import resource
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

# Imported once by the parent; nothing of the project may be among them, nor import it.
HEAVY = (
    "numpy",
    "onnx",
    "onnx.helper",
    "onnx.reference",
    "onnxruntime",
    "hypothesis",
    "hypothesis.strategies",
    "jinja2",
    "pytest",
    "elftools.elf.elffile",
    "unicorn",
)
# Bytes of address space: a fault that fills the memory ends in MemoryError. An emulator maps one gigabyte, and some tests
# start ten.
MEMORY_LIMIT = 16 << 30
IMPORT = " (import)"  # after the name of a test file that cannot be imported
WALL_FACTOR = 20  # a test that waits for ever uses no processor time; the machine may be busy


def preload() -> None:
    """Imports what every run needs and no mutant changes."""
    for name in HEAVY:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)


def cpu_seconds() -> float:
    """Processor time of this process and of the programs that it ran."""
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def _address_space() -> int:
    """Bytes of address space of this process; 0 where the system does not tell."""
    with contextlib.suppress(OSError):
        return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    return 0


class Watcher:
    """A plugin of pytest: the order of the tests, what each costs, and which failed first."""

    def __init__(
        self,
        order: Mapping[str, int] | None = None,
        begins: Callable[[str], None] = lambda name: None,
        ends: Callable[[str], None] = lambda name: None,
    ) -> None:
        self.failed = ""
        self.seconds: dict[str, float] = {}
        self.bad: set[str] = set()
        self._order = order or {}
        self._begins, self._ends = begins, ends

    def pytest_collection_modifyitems(self, items) -> None:
        items.sort(key=lambda item: self._order.get(item.nodeid, len(self._order)))

    def pytest_collectreport(self, report) -> None:
        if report.failed and not self.failed:
            self.failed = f"{report.nodeid}{IMPORT}"

    def pytest_runtest_logstart(self, nodeid, location) -> None:
        self._start = cpu_seconds()
        self._begins(nodeid)

    def pytest_runtest_logreport(self, report) -> None:
        if report.outcome != "passed":
            self.bad.add(report.nodeid)
        if report.failed and not self.failed:
            self.failed = report.nodeid

    def pytest_runtest_logfinish(self, nodeid, location) -> None:
        self.seconds[nodeid] = cpu_seconds() - self._start
        if _address_space() > MEMORY_LIMIT // 6:
            gc.collect()  # an emulator maps a gigabyte, and is in a cycle of references
        self._ends(nodeid)


def run_pytest(words: Sequence[str], watcher: Watcher) -> int:
    """pytest's exit code; property tests draw the same examples in every run."""
    import pytest
    from hypothesis import settings

    settings.register_profile("mutants", derandomize=True, database=None, deadline=None)
    settings.load_profile("mutants")
    return int(pytest.main(["-q", "-p", "no:xdist", *words], plugins=[watcher]))


def in_child(work: Callable[[], object], answer: Path, seconds: float = 0, output: Path = Path(os.devnull)) -> int:
    """Starts `work` in a child, which writes what it returns to `answer` as JSON; returns the child's number.

    What the child prints goes to `output`. `seconds` limits its processor time (0: no limit): an endless loop ends with a
    signal, and there is no answer.
    """
    answer.unlink(missing_ok=True)
    sys.stdout.flush()
    child = os.fork()
    if child:
        return child
    code = 1
    gc.freeze()  # a collection would look at all that the parent made, and copy it
    try:
        os.setsid()  # so that what it started can be ended with it
        _print_to(output)
        if seconds:
            _limit(seconds)
        result = json.dumps(work())
        answer.write_text(result)
        code = 0
    except BaseException:
        traceback.print_exc()
        answer.unlink(missing_ok=True)  # half of it, on a full disk
    finally:
        os._exit(code)


def _print_to(output: Path) -> None:
    os.dup2(os.open(os.devnull, os.O_RDWR), 0)
    file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    for number in (1, 2):
        os.dup2(file, number)


def _limit(seconds: float) -> None:
    whole = int(seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (whole, whole + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _limit_memory()
    start = subprocess.Popen.__init__

    def start_unlimited(self, *words, **options) -> None:
        _limit_memory(resource.RLIM_INFINITY)  # a sanitizer reserves terabytes of addresses
        try:
            start(self, *words, **options)
        finally:
            _limit_memory()

    subprocess.Popen.__init__ = start_unlimited
    signal.alarm(whole * WALL_FACTOR)


def _limit_memory(limit: int = MEMORY_LIMIT) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))


def answer_of(child: int, answer: Path, wait: bool = True) -> object | None:
    """What the child returned, or None if it ended without an answer; the programs that it left are ended."""
    if wait:
        os.waitpid(child, 0)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    return json.loads(answer.read_text()) if answer.exists() else None
