# SPDX-License-Identifier: MIT
"""The set-up: what a command needs, what is installed and only with consent, and the checkout's .venv."""

from __future__ import annotations

import dataclasses
import importlib.util
import re
import subprocess
import sys
import tomllib
from importlib.metadata import distribution, distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from aidge_build.base import machine
from aidge_build.base.errors import MissingTool

PYTHON_OF_DEBIAN_12 = "3.11.2"

ROOT = Path(__file__).resolve().parents[2]


FOR_ARM = ["cc", "arm-none-eabi-gcc", "newlib", "qemu-system-arm"]
FOR_RISCV = ["riscv64-unknown-elf-gcc", "picolibc"]
ALL_TOOLS = [*FOR_ARM, "c++", "libstdc++-arm", "make", "cmake", "ninja"]


@pytest.fixture
def bootstrap():
    specification = importlib.util.spec_from_file_location("bootstrap", ROOT / "tools" / "bootstrap.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.fixture
def apt(tmp_path, monkeypatch):
    """A machine with an apt-get that only writes down what it is asked; as a user who is not root."""
    log = tmp_path / "log"
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, text in {"sudo": 'exec "$@"', "apt-get": f'echo "apt-get $@" >> "{log}"'}.items():
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    monkeypatch.setattr(machine.os, "geteuid", lambda: 1000)
    return log


def absent(log: Path | None = None) -> machine.Tool:
    """A tool that is missing until apt-get has installed something."""
    return machine.Tool(
        "newlib",
        "boards",
        ("libnewlib-arm-none-eabi",),
        lambda: "3.3.0" if log and log.exists() and " install " in log.read_text() else None,
    )


@pytest.mark.parametrize(
    "words, names",
    [
        ("doctor", []),
        ("-c board=stm32f7", []),
        ("--help", []),
        ("--version", []),
        ("board=no-such-board", []),
        ("", ["cc"]),
        ("board=host", ["cc"]),
        ("board=host run", ["cc"]),
        ("board=stm32f7", ["arm-none-eabi-gcc", "newlib"]),
        ("board=stm32f7 run", ["arm-none-eabi-gcc", "newlib", "cc"]),
        ("board=mps3-an547 run", ["arm-none-eabi-gcc", "newlib", "cc", "qemu-system-arm"]),
        ("board=qemu_riscv32 run", ["riscv64-unknown-elf-gcc", "picolibc", "cc", "qemu-system-riscv32"]),
        ("test", ALL_TOOLS),
        ("test changed", ALL_TOOLS),
        ("conformance docs", ALL_TOOLS),
        ("conformance packages", ALL_TOOLS),
        ("conformance", [*FOR_ARM, *FOR_RISCV, "qemu-system-riscv32"]),
        ("docs", []),
        ("misra", [*FOR_ARM, *FOR_RISCV, "cppcheck", "clang-tidy"]),
        ("fuzz minutes=1", ALL_TOOLS),
        ("bench --check", FOR_ARM),
    ],
)
def test_a_command_needs_only_what_it_uses(bootstrap, words, names):
    assert [tool.name for tool in bootstrap.needed_tools(words.split())] == names


def test_with_consent_the_tests_get_what_they_could_do_without(bootstrap, monkeypatch):
    gone = dataclasses.replace(machine.PICOLIBC, version=lambda: None)
    monkeypatch.setattr(machine, "FOR_RISCV", (gone,))
    assert bootstrap.missing_welcome_tools(["test"]) == bootstrap.missing_welcome_tools(["stress"]) == [gone]
    assert bootstrap.missing_welcome_tools(["board=stm32f7"]) == bootstrap.missing_welcome_tools(["test", "--help"]) == []
    asked = []
    monkeypatch.setattr(bootstrap, "provide_system_tools", lambda tools, *_: asked.append(tools))
    monkeypatch.setattr(bootstrap, "missing_tools", lambda _: [])
    monkeypatch.setattr(bootstrap, "venv_is_ready", lambda locks: True)
    monkeypatch.setattr(bootstrap, "hand_over", lambda _: 0)
    for words in (["test"], ["--install", "test"]):
        assert bootstrap.main(words) == 0
    assert asked == [[], [gone]]


def test_without_consent_the_one_line_to_type_is_the_error(bootstrap, apt):
    with pytest.raises(MissingTool) as caught:
        bootstrap.provide_system_tools([absent()], False, ["board=stm32f7", "run"])
    assert str(caught.value) == (
        "missing on this machine: newlib. Hint: type: sudo apt-get install --no-install-recommends libnewlib-arm-none-eabi"
        "   (or: ./sconsw --install board=stm32f7 run)"
    )
    assert caught.value.exit_code == 3 and not apt.exists()


def test_with_consent_apt_installs_after_an_update_and_every_line_is_printed(bootstrap, apt, capfd):
    bootstrap.provide_system_tools([absent(apt)], True, [])
    assert apt.read_text().splitlines() == [
        "apt-get -q update",
        "apt-get -q install -y --no-install-recommends libnewlib-arm-none-eabi",
    ]
    assert capfd.readouterr().out.splitlines() == [
        "INSTALL  sudo env DEBIAN_FRONTEND=noninteractive apt-get -q update",
        "INSTALL  sudo env DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends libnewlib-arm-none-eabi",
    ]


def test_root_needs_no_sudo(monkeypatch):
    monkeypatch.setattr(machine.os, "geteuid", lambda: 0)
    assert [command[0] for command in machine.install_commands([absent()])] == ["env", "env"]


def test_an_installation_that_does_not_help_is_an_error(bootstrap, apt):
    with pytest.raises(MissingTool, match="installed, but still not usable: newlib"):
        bootstrap.provide_system_tools([absent()], True, [])


def test_the_command_starts_at_a_path_with_spaces_and_quotes(bootstrap, tmp_path, monkeypatch):
    venv = tmp_path / "it's a chéckout" / ".venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    monkeypatch.setattr(bootstrap, "VENV", venv)
    monkeypatch.setattr(bootstrap, "PYTHON", venv / "bin" / "python")
    bootstrap.install_project()
    done = subprocess.run([venv / "bin" / "aidge-build", "--version"], cwd="/", capture_output=True, text=True, check=True)
    assert re.fullmatch(r"aidge-build \d+\.\d+\.\d+\n", done.stdout)


def test_a_build_needs_the_packages_of_users_and_contributors_need_all(bootstrap):
    for words in ("board=stm32f7 run", "matrix", "bench", "doctor", "-h"):
        assert bootstrap.needed_locks(words.split()) == [bootstrap.USER_LOCK]
    for words in ("test", "-n test", "docs", "conformance", "stress", "misra", "fuzz minutes=1", "mutants"):
        assert bootstrap.needed_locks(words.split()) == [bootstrap.USER_LOCK, bootstrap.LOCK]


def test_the_key_of_the_venv_follows_the_lock_file(bootstrap, tmp_path):
    lock = tmp_path / "lock"
    lock.write_bytes(bootstrap.LOCK.read_bytes())
    before = bootstrap.venv_key(bootstrap.LOCK)
    assert bootstrap.venv_key(lock) == before != bootstrap.venv_key(bootstrap.USER_LOCK)
    lock.write_bytes(lock.read_bytes() + b"\n")
    assert bootstrap.venv_key(lock) != before


def packages(lock: str) -> dict[str, str]:
    """Name -> version and hashes."""
    parts = re.split(r"\n(?=[a-z0-9_.-]+==)", (ROOT / lock).read_text())[1:]
    return {part.partition("==")[0]: part.partition("\n    # via")[0].partition("==")[2] for part in parts}


@pytest.mark.parametrize("lock", ["requirements.lock", "requirements-user.lock"])
def test_the_lock_names_no_registry_and_has_a_hash_for_every_package(lock):
    assert not re.search(r"https?:|file://|--index|--extra-index|--find-links|--trusted", (ROOT / lock).read_text())
    assert all("--hash=sha256:" in hashes for hashes in packages(lock).values())


def test_the_lock_of_users_is_the_part_of_the_other_that_a_build_needs():
    of_users, every = packages("requirements-user.lock"), packages("requirements.lock")
    assert of_users.items() <= every.items() and len(of_users) < 20 < len(every)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = [Requirement(line) for line in [*project["dependencies"], *project["optional-dependencies"]["emulate"]]]
    found: set[str] = set()
    while needed:
        one = needed.pop()
        if one.name.lower() not in found and (one.marker is None or one.marker.evaluate({"extra": ""})):
            found.add(one.name.lower().replace("_", "-"))
            needed += [Requirement(line) for line in distribution(one.name).requires or []]
    assert found == set(of_users)


def test_every_locked_package_takes_the_python_of_debian_12():
    refused = [
        f"{one.name}: {one.metadata['Requires-Python']}"
        for one in distributions()
        if not SpecifierSet(one.metadata["Requires-Python"] or "").contains(PYTHON_OF_DEBIAN_12)
    ]
    assert refused == []


def test_a_failed_step_of_the_set_up_is_one_line(bootstrap, tmp_path, monkeypatch):
    monkeypatch.setattr(bootstrap, "LOG", tmp_path / "log")
    with pytest.raises(MissingTool, match="the set-up of .venv failed: ERROR: no network") as caught:
        bootstrap.run_logged([sys.executable, "-c", "print('x\\nERROR: no network\\nmore'); raise SystemExit(1)"])
    assert "\n" not in str(caught.value) and caught.value.exit_code == 3
