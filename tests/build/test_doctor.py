# SPDX-License-Identifier: MIT
"""What `aidge-build doctor` reports about this machine."""

from __future__ import annotations

import dataclasses
import importlib.metadata

import pytest

from aidge_build import machine
from aidge_build.cli import doctor
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
    assert {entry["name"] for entry in data["tools"]} == needed | {"c++", "libstdc++-arm", "make", "cmake", "ninja"}
    assert {"onnx", "numpy", "scons", "unicorn", "pytest"} <= {entry["name"] for entry in data["packages"]}
    assert next(entry["version"] for entry in data["packages"] if entry["name"] == "numpy") == importlib.metadata.version("numpy")


def test_a_missing_tool_is_named_with_the_line_that_installs_it(monkeypatch):
    gone = dataclasses.replace(machine.QEMU, version=lambda: None)
    monkeypatch.setattr(machine, "TOOLS", (machine.HOST_COMPILER, gone))
    done = aidge_build("doctor")
    assert done.exit_code == 3
    assert "Missing: qemu-system-arm." in done.stdout
    assert "Type: sudo apt-get install --no-install-recommends qemu-system-arm" in done.stdout


def test_a_tool_that_only_tests_and_some_builds_need_may_be_absent(monkeypatch):
    gone = dataclasses.replace(machine.CROSS_CPLUSPLUS, version=lambda: None)
    monkeypatch.setattr(machine, "FOR_TESTS", (gone,))
    done = aidge_build("doctor")
    line = next(line for line in done.stdout.splitlines() if line.startswith("libstdc++-arm "))
    assert "not installed, for C++ on boards but host, tests (package libstdc++-arm-none-eabi-newlib)" in line
    assert "libstdc++-arm" not in aidge_build("doctor", "--json").json["missing"]


@pytest.mark.parametrize("version, words", [("1.20.0", "is too old or too new, wants >=1.21"), (None, "MISSING")])
def test_an_old_or_missing_package_is_named(monkeypatch, version, words):
    with_versions(monkeypatch, onnx=version)
    done = aidge_build("doctor")
    line = next(line for line in done.stdout.splitlines() if line.startswith("onnx "))
    assert done.exit_code == 3 and words in line


@pytest.mark.parametrize("version", ["1.0", None])
def test_packages_of_the_tests_may_be_old_or_absent(monkeypatch, version):
    with_versions(monkeypatch, hypothesis=version)
    assert "hypothesis" not in aidge_build("doctor", "--json").json["missing"]
