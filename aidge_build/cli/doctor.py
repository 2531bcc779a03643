# SPDX-License-Identifier: MIT
"""`aidge-build doctor`: versions of everything that the tool uses, and what this machine lacks."""

from __future__ import annotations

import argparse
import importlib.metadata
import platform
import re
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

from aidge_build import machine
from aidge_build.cli.outcome import Outcome
from aidge_build.errors import EXIT_MISSING
from aidge_build.version import VERSION

SUMMARY = "list the versions of everything, and what this machine lacks"

_REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)(?:\[[^]]*\])?\s*([<>=!~0-9.,*\s]*)")
# What emulation adds to the tool, and what the tests add; these packages may be absent.
_EXTRAS = ("emulate", "test")
# There in a checkout only.
_PROJECT_FILE = Path(__file__).resolve().parents[2] / "pyproject.toml"
_REQUIRED = "needed by every command"
_TESTS = "for tests"


@dataclass(frozen=True)
class Entry:
    """One line of the list; `version` is None for what is missing, `problem` says what is wrong with it, or is empty."""

    name: str
    version: str | None
    purpose: str
    problem: str


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """It has no arguments of its own."""


def run(arguments: argparse.Namespace) -> Outcome:
    wanted = (*machine.TOOLS, *([machine.VENV] if _PROJECT_FILE.is_file() else []))
    tools = [*(_tool_entry(tool) for tool in wanted), *(_optional_entry(tool) for tool in machine.FOR_TESTS)]
    missing = [tool for tool, entry in zip(wanted, tools) if entry.problem]
    packages = [_package_entry(*requirement) for requirement in _requirements()]
    troubled = [entry for entry in (*tools, *packages) if entry.problem]
    line = machine.install_line(missing) if missing else ""
    data = {
        "aidge_build": VERSION,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "tools": [vars(entry) for entry in tools],
        "packages": [vars(entry) for entry in packages],
        "missing": [entry.name for entry in troubled],
        "install_line": line,
    }
    return Outcome(_lines(tools, packages, troubled, line), data, EXIT_MISSING if troubled else 0)


def _lines(tools: list[Entry], packages: list[Entry], troubled: list[Entry], line: str) -> list[str]:
    rows = [
        f"{'aidge_build':18} {VERSION:12} {Path(__file__).resolve().parent.parent}",
        f"{'python':18} {platform.python_version():12} {sys.executable}",
    ]
    rows += [f"{entry.name:18} {entry.version or '-':12} {entry.problem or entry.purpose}" for entry in (*tools, *packages)]
    if not troubled:
        return [*rows, "Nothing is missing."]
    rows.append(f"Missing: {', '.join(entry.name for entry in troubled)}.")
    if line:
        rows.append(f"Type: {line}")
    if any(entry in troubled for entry in packages):
        rows.append("Python packages: ./sconsw in the checkout, or pip install 'aidge_build[emulate,test]'")
    return rows


def _tool_entry(tool: machine.Tool) -> Entry:
    version = tool.version()
    return Entry(tool.name, version, f"for {tool.purpose}", f"MISSING, needed for {tool.purpose}" if version is None else "")


def _optional_entry(tool: machine.Tool) -> Entry:
    """A tool that only some builds and the tests need: its absence is no trouble."""
    version = tool.version()
    absent = f"not installed, for {tool.purpose} (package {' '.join(tool.packages)})"
    return Entry(tool.name, version, f"for {tool.purpose}" if version is not None else absent, "")


def _package_entry(name: str, bounds: str, purpose: str) -> Entry:
    try:
        version = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        optional = purpose != _REQUIRED
        return Entry(name, None, f"not installed, {purpose}" if optional else purpose, "" if optional else f"MISSING, {purpose}")
    if all(_holds(version, bound) for bound in bounds.split(",") if bound):
        return Entry(name, version, purpose, "")
    unfit = f"is too old or too new, wants {bounds}, {purpose}"
    return Entry(name, version, unfit, "" if purpose == _TESTS else unfit)


def _holds(version: str, bound: str) -> bool:
    """Whether `version` keeps `>=1.21` or `<4.12`, the two kinds of bounds that pyproject.toml uses."""
    operator, limit = re.fullmatch(r"(>=|<)([0-9.]+)", bound.strip()).groups()
    as_numbers = [tuple(int(digits) for digits in re.findall(r"\d+", text)) for text in (version, limit)]
    return as_numbers[0] >= as_numbers[1] if operator == ">=" else as_numbers[0] < as_numbers[1]


def _requirements() -> list[tuple[str, str, str]]:
    """(package, bounds, purpose): from pyproject.toml in a checkout, from the installed package's metadata otherwise."""
    if _PROJECT_FILE.is_file():
        project = tomllib.loads(_PROJECT_FILE.read_text(encoding="utf-8"))["project"]
        groups = [("", project["dependencies"]), *((extra, project["optional-dependencies"][extra]) for extra in _EXTRAS)]
    else:
        lines = importlib.metadata.requires("aidge_build") or []
        wanted = {extra: [line for line in lines if re.search(f"extra == .{extra}.", line)] for extra in _EXTRAS}
        groups = [("", [line for line in lines if "extra ==" not in line]), *wanted.items()]
    purposes = {"": _REQUIRED, "emulate": "for running on emulated boards", "test": _TESTS}
    found: dict[str, tuple[str, str, str]] = {}
    for extra, lines in groups:
        for line in lines:
            name, bounds = _REQUIREMENT.match(line).groups()
            found.setdefault(name, (name, bounds.replace(" ", ""), purposes[extra]))
    return list(found.values())
