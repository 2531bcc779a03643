# SPDX-License-Identifier: MIT
"""What holds for all tests: the programs that they may start."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.called_programs import COMPILERS, complaint

# Before numpy is imported. The matrices of tests are small: threads that wait for each other took four fifths of the
# processor's time in some tests.
for library in ("OPENBLAS", "MKL", "OMP"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

# A shell that runs the tests in the background has them ignore Ctrl-C, and every program that they start; some tests send it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

os.environ.pop("COLUMNS", None)  # kept output is not broken to the width of somebody's terminal

# Python keeps what it compiles, even if somebody's shell tells it not to: tests start hundreds of Pythons, and compiling the
# package and the libraries was half of each.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

os.environ["AIDGE_CACHE"] = ""  # no test is answered by what an earlier run kept

# A loaded machine draws slowly: that is no fault of a test.
settings.register_profile("tests", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tests")

# Models and test items have no cycles: searching them for some took a tenth to a fifth of the processor's time.
gc.set_threshold(100_000, 50, 50)

ROOT = Path(__file__).resolve().parents[1]
# Programs that were made a moment ago lie here, those of the machine elsewhere.
MADE_HERE = (tempfile.gettempdir(), str(ROOT))
WITHOUT_COMPILER = f"{ROOT / 'tests' / 'unit'}{os.sep}"

_running = ""


@pytest.fixture(scope="session", autouse=True)
def kept_objects():
    """Programs of all tests share their objects, those of all workers and of later runs, too. AIDGE_TEST_OBJECTS names a folder
    that several checkouts share."""
    from tests.kept_objects import keep_objects_in  # imports numpy

    with pytest.MonkeyPatch.context() as patch:
        keep_objects_in(Path(os.environ.get("AIDGE_TEST_OBJECTS") or ROOT / "build" / "test-objects"), patch)
        yield


@pytest.fixture(scope="session", autouse=True)
def ended_servers():
    """Processes that ran commands for tests are waited for."""
    yield
    from tests.served import end_servers

    end_servers()


def pytest_collection_finish() -> None:
    """What was collected stays until the end."""
    gc.freeze()


def pytest_sessionfinish() -> None:
    """pytest and Python search all objects several times before they end."""
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Remembers whose programs are being started: fixtures and the test itself."""
    global _running
    _running = str(item.path)
    try:
        return (yield)
    finally:
        _running = ""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Believes a mark that names a finding or a refusal only if the test causes it."""
    names = {name for mark in item.iter_markers("requirement") for name in mark.args}
    if not names:
        return (yield)
    from tests.requirements import caused  # imports the package

    with caused(names, hasattr(item, "callspec")):
        return (yield)


def _look_at(event: str, arguments: tuple) -> None:
    """An audit hook: Python tells it of every program before it starts."""
    if event != "subprocess.Popen" or not _running:
        return
    program = os.fsdecode(arguments[0])
    found = shutil.which(program)
    is_relative = os.sep in program and not os.path.isabs(program)  # to the folder where the test has just built it
    if found is None or is_relative or found.startswith(MADE_HERE):
        return
    name = os.path.basename(program)
    if _running.startswith(WITHOUT_COMPILER) and name in COMPILERS:
        pytest.fail(f"tests/unit starts no compiler, and this test starts {name}")
    if complaint(name):
        pytest.fail(complaint(name))


sys.addaudithook(_look_at)
