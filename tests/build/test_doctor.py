# SPDX-License-Identifier: MIT
"""What `aidge-build doctor` reports about this machine."""

from __future__ import annotations

import dataclasses
import importlib.metadata

import pytest

from aidge_build.base import machine
from aidge_build.cli import doctor
from aidge_build.run.toolchain import runners
from tests.command import aidge_build


def with_versions(monkeypatch, **versions):
    real = importlib.metadata.version

    def version(name):
        if versions.get(name, "") is None:
            raise importlib.metadata.PackageNotFoundError(name)
        return versions.get(name) or real(name)

    monkeypatch.setattr(doctor.importlib.metadata, "version", version)


def test_every_tool_and_package_is_listed_with_its_version():
    data = aidge_build("doctor", "--json").json
    needed = {"cc", "arm-none-eabi-gcc", "newlib", "qemu-system-arm", "ensurepip"}
    for_tests = {"c++", "libstdc++-arm", "make", "cmake", "ninja", "riscv64-unknown-elf-gcc", "picolibc", "qemu-system-riscv32"}
    assert {entry["name"] for entry in data["tools"]} == needed | for_tests | {"gdb-multiarch"}
    assert {"onnx", "numpy", "scons", "unicorn", "pytest"} <= {entry["name"] for entry in data["packages"]}
    assert next(entry["version"] for entry in data["packages"] if entry["name"] == "numpy") == importlib.metadata.version("numpy")


def test_a_missing_tool_is_named_with_the_line_that_installs_it(monkeypatch):
    gone = dataclasses.replace(machine.CROSS_COMPILER, version=lambda: None)
    monkeypatch.setattr(machine, "COMPILERS", (machine.HOST_COMPILER, gone))
    done = aidge_build("doctor")
    assert done.exit_code == 3
    assert "Missing: arm-none-eabi-gcc." in done.stdout
    assert "Type: sudo apt-get install --no-install-recommends gcc-arm-none-eabi" in done.stdout


def test_nothing_is_missing_for_want_of_qemu_because_unicorn_runs_the_boards_of_the_first_steps(monkeypatch):
    monkeypatch.setattr(machine, "QEMU", dataclasses.replace(machine.QEMU, version=lambda: None))
    done = aidge_build("doctor")
    assert done.exit_code == 0 and "Nothing that every command needs is missing." in done.stdout
    assert "Optional, not installed or too old: qemu-system-arm" in done.stdout
    assert (
        "not installed, for running on boards that QEMU emulates, tests (package qemu-system-arm)"
        in aidge_build("doctor", "-v").stdout
    )


def test_a_tool_that_only_tests_and_some_builds_need_may_be_absent(monkeypatch):
    gone = dataclasses.replace(machine.CROSS_CPLUSPLUS, version=lambda: None)
    monkeypatch.setattr(machine, "FOR_TESTS", (gone,))
    done = aidge_build("doctor", "-v")
    line = next(line for line in done.stdout.splitlines() if line.startswith("libstdc++-arm "))
    assert "not installed, for C++ on boards but host, tests (package libstdc++-arm-none-eabi-newlib)" in line
    assert "libstdc++-arm" not in aidge_build("doctor", "--json").json["missing"]


@pytest.mark.parametrize("version, words", [("1.20.0", "is too old, wants >=1.21"), (None, "MISSING")])
def test_an_old_or_missing_package_is_named(monkeypatch, version, words):
    with_versions(monkeypatch, onnx=version)
    done = aidge_build("doctor")
    line = next(line for line in done.stdout.splitlines() if line.startswith("onnx "))
    assert done.exit_code == 3 and words in line


@pytest.mark.parametrize("version", ["1.0", None])
def test_packages_of_the_tests_may_be_old_or_absent(monkeypatch, version):
    with_versions(monkeypatch, hypothesis=version)
    assert "hypothesis" not in aidge_build("doctor", "--json").json["missing"]


def with_optional(monkeypatch, **changes):
    monkeypatch.setattr(machine, "FOR_TESTS", (dataclasses.replace(machine.CMAKE, **changes),))


def test_what_only_some_commands_need_is_named_before_nothing_is_said_to_be_missing(monkeypatch):
    with_optional(monkeypatch, version=lambda: None)
    with_versions(monkeypatch, unicorn=None, hypothesis=None)
    done = aidge_build("doctor")
    assert done.exit_code == 0 and "Nothing is missing." not in done.stdout
    assert done.stdout.splitlines()[-2:] == [
        "Optional, not installed or too old: cmake, unicorn (aidge-build doctor -v: what each is for).",
        "Nothing that every command needs is missing.",
    ]
    assert not any(line.startswith(("cmake", "hypothesis", "pytest")) for line in done.stdout.splitlines())


@pytest.mark.parametrize("version, is_old", [("3.19.8", True), ("3.20", False), ("3.20.0", False), ("4.0", False), ("", False)])
def test_a_tool_that_is_too_old_is_listed_with_the_least_version(monkeypatch, version, is_old):
    with_optional(monkeypatch, version=lambda: version)
    done = aidge_build("doctor", "-v")
    assert done.exit_code == 0 and ("is too old, wants >=3.20, for builds with CMake" in done.stdout) == is_old
    assert ("Optional, not installed or too old: cmake" in aidge_build("doctor").stdout) == is_old
    monkeypatch.setattr(machine, "COMPILERS", (dataclasses.replace(machine.CMAKE, version=lambda: version),))
    monkeypatch.setattr(machine, "FOR_TESTS", ())
    done = aidge_build("doctor")
    assert done.exit_code == (3 if is_old else 0) and "apt-get" not in done.stdout
    assert (f"Unsupported versions: cmake {version} (>=3.20)." in done.stdout) == is_old


@pytest.mark.parametrize(
    "found, says", [((), "--probe HOST:PORT takes any that runs"), (("openocd", "pyocd"), "openocd, pyocd (--probe openocd;")]
)
def test_servers_of_debug_probes_are_listed(monkeypatch, found, says):
    monkeypatch.setattr(runners, "installed_servers", lambda: found)
    assert says in aidge_build("doctor").stdout
    assert aidge_build("doctor", "--json").json["probe_servers"] == list(found)


@pytest.mark.parametrize(
    "package, version, words",
    [("scons", "4.12.0", "is too new, wants >=4.4,<4.12, needed by every"), ("unicorn", "2.1.4", "is not supported, wants >=")],
)
def test_a_package_of_a_version_that_does_not_work_is_called_so(monkeypatch, package, version, words):
    with_versions(monkeypatch, **{package: version})
    done = aidge_build("doctor")
    assert done.exit_code == 3 and words in done.stdout


def test_a_compiler_with_a_fault_is_listed_with_it(monkeypatch):
    for version, is_named in (("12.2.0", True), ("13.1.0", False)):
        found = dataclasses.replace(machine.RISCV_COMPILER, version=lambda version=version: version)
        monkeypatch.setattr(machine, "FOR_RISCV", (found,))
        (line,) = [line for line in aidge_build("doctor", "-v").stdout.splitlines() if line.startswith(found.name)]
        assert ("; gcc 12 ends with an internal error for -march with zbs" in line) == is_named
