# SPDX-License-Identifier: MIT
"""`aidge-build doctor`: versions of everything that the tool uses, and what this machine lacks."""

from __future__ import annotations

import argparse
import importlib.metadata
import operator
import platform
import re
import sys
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from aidge_build.base import machine
from aidge_build.base.errors import EXIT_MISSING
from aidge_build.base.version import VERSION
from aidge_build.cli.outcome import Outcome

EXAMPLES = (("doctor", "what is there, what is missing, what is too old"),)

_REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)(?:\[[^]]*\])?\s*([<>=!~0-9.,*\s]*)")
# The extras with packages that may be absent: for emulation, for bills of materials, for tests.
_EXTRAS = ("emulate", "sbom", "test")
# There in a checkout only.
_PROJECT_FILE = Path(__file__).resolve().parents[2] / "pyproject.toml"
_REQUIRED = "needed by every command"
_COMPARISONS = {">=": operator.ge, "<": operator.lt, "!=": operator.ne}
_UNFIT = {">=": "too old", "<": "too new", "!=": "not supported"}
_TESTS = "for tests"


@dataclass(frozen=True)
class Entry:
    """One line of the list; `version` is None for what is missing, `problem` says what is wrong with it, or is empty.

    `bounds` are the bounds of the version, such as ">=3.20".
    """

    name: str
    version: str | None
    purpose: str
    problem: str
    bounds: str = ""

    @property
    def is_gone(self) -> bool:
        """Whether it is needed and missing."""
        return bool(self.problem) and self.version is None

    @property
    def is_unfit(self) -> bool:
        """Whether it is needed, and there in a version that does not do."""
        return bool(self.problem) and self.version is not None

    @property
    def is_left_out(self) -> bool:
        """Whether -v alone lists it: absent or too old without being needed, or for tests."""
        is_there = self.version is not None and not self.purpose.startswith("is ") and self.purpose != _TESTS
        return not self.problem and not is_there


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """It has no arguments of its own."""


def run(arguments: argparse.Namespace) -> Outcome:
    tools, missing = _tools()
    packages = [_package_entry(*requirement) for requirement in _requirements()]
    entries = [*tools, *packages]
    troubled = [entry for entry in entries if entry.problem]
    line = machine.install_line(missing) if missing else ""
    servers = _probe_servers()
    data = {
        "aidge_build": VERSION,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "tools": [vars(entry) for entry in tools],
        "packages": [vars(entry) for entry in packages],
        "missing": [entry.name for entry in troubled],
        "install_line": line,
        "probe_servers": list(servers),
    }
    shown = entries if arguments.verbosity else [entry for entry in entries if not entry.is_left_out]
    optional = [entry for entry in entries if entry.is_left_out and not entry.purpose.endswith(_TESTS)]
    lines = [*_table(shown), _servers(servers), *_remedies(shown, packages, line), *_verdict(troubled, optional)]
    return Outcome(lines, data, EXIT_MISSING if troubled else 0)


def _tools() -> tuple[list[Entry], list[machine.Tool]]:
    """All tools, and which of the needed ones are missing."""
    wanted = (*machine.COMPILERS, *([machine.VENV] if _PROJECT_FILE.is_file() else []))
    optional = (machine.QEMU, *machine.FOR_TESTS, *machine.FOR_RISCV, machine.GDB)
    found = [_tool_entry(tool) for tool in wanted]
    missing = [tool for tool, entry in zip(wanted, found) if entry.is_gone]
    return [*found, *map(_optional_entry, optional)], missing


def _probe_servers() -> tuple[str, ...]:
    """Returns the probe servers on this machine; none if missing packages keep the table of servers from being read."""
    try:
        from aidge_build.run.toolchain.runners import installed_servers
    except ImportError:
        return ()
    return installed_servers()


def required_packages() -> list[Entry]:
    """The packages without which no command works."""
    return [_package_entry(*one) for one in _requirements() if one[2] == _REQUIRED]


def _table(entries: Sequence[Entry]) -> list[str]:
    return [
        f"{'aidge_build':18} {VERSION:12} {Path(__file__).resolve().parent.parent}",
        f"{'python':18} {platform.python_version():12} {sys.executable}",
        *(f"{entry.name:18} {entry.version or '-':12} {entry.problem or entry.purpose}" for entry in entries),
    ]


def _remedies(entries: Sequence[Entry], packages: Sequence[Entry], line: str) -> Iterator[str]:
    """The trouble, and what to type; `line` installs the tools that are missing, "" where none is."""
    gone = [entry for entry in entries if entry.is_gone]
    unfit = [f"{entry.name} {entry.version} ({entry.bounds})" for entry in entries if entry.is_unfit]
    if gone:
        yield f"Missing: {_names(gone)}."
    if unfit:
        yield f"Unsupported versions: {', '.join(unfit)}."
    if line:
        yield f"Type: {line}"
    if any(entry.problem for entry in packages):
        yield "Python packages: ./sconsw in the checkout, or pip install 'aidge_build[emulate,test]'"


def _verdict(troubled: Sequence[Entry], optional: Sequence[Entry]) -> Iterator[str]:
    if optional:
        yield f"Optional, not installed or too old: {_names(optional)} (aidge-build doctor -v: what each is for)."
    if not troubled:
        yield "Nothing that every command needs is missing." if optional else "Nothing is missing."


def _servers(found: tuple[str, ...]) -> str:
    """Returns a line with the probe servers that reach a board on the desk."""
    if not found:
        return "No server of a debug probe is installed; --probe HOST:PORT takes any that runs (docs/probes.md)."
    return f"Servers of debug probes: {', '.join(found)} (--probe {found[0]}; docs/probes.md)."


def _names(entries: Sequence[Entry]) -> str:
    return ", ".join(entry.name for entry in entries)


def _tool_entry(tool: machine.Tool) -> Entry:
    version = tool.version()
    if version is None:
        return Entry(tool.name, None, f"for {tool.purpose}", f"MISSING, needed for {tool.purpose}")
    old = _age(tool, version)
    return Entry(tool.name, version, f"for {tool.purpose}", old and f"is {old}, needed for {tool.purpose}", _bounds(tool))


def _optional_entry(tool: machine.Tool) -> Entry:
    """A tool that only some builds and the tests need: its absence, or its age, is no trouble."""
    version = tool.version()
    if version is None:
        absent = f"not installed, for {tool.purpose} (package {' '.join(tool.packages)})"
        return Entry(tool.name, None, absent, "")
    old = _age(tool, version)
    purpose = f"is {old}, for {tool.purpose}" if old else f"for {tool.purpose}{tool.remark(version)}"
    return Entry(tool.name, version, purpose, "", _bounds(tool))


def _age(tool: machine.Tool, version: str) -> str:
    """Returns the words for a tool that is too old; "" for a tool that is not, or a version that nobody could read."""
    return f"too old, wants {_bounds(tool)}" if tool.least and version and not _holds(version, f">={tool.least}") else ""


def _bounds(tool: machine.Tool) -> str:
    return f">={tool.least}" if tool.least else ""


def _package_entry(name: str, bounds: str, purpose: str) -> Entry:
    try:
        version = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        optional = purpose != _REQUIRED
        return Entry(name, None, f"not installed, {purpose}" if optional else purpose, "" if optional else f"MISSING, {purpose}")
    broken = next((bound for bound in bounds.split(",") if bound and not _holds(version, bound)), "")
    if not broken:
        return Entry(name, version, purpose, "", bounds)
    unfit = f"is {_UNFIT[re.match('[<>=!]+', broken)[0]]}, wants {bounds}, {purpose}"
    return Entry(name, version, unfit, "" if purpose == _TESTS else unfit, bounds)


def _holds(version: str, bound: str) -> bool:
    """Whether `version` keeps `>=1.21`, `<4.12` or `!=2.1.4`, the kinds of bounds that pyproject.toml uses."""
    sign, limit = re.fullmatch(r"(>=|<|!=)([0-9.]+)", bound.strip()).groups()
    return _COMPARISONS[sign](*(tuple(int(digits) for digits in re.findall(r"\d+", text)) for text in (version, limit)))


def _requirements() -> list[tuple[str, str, str]]:
    """(package, bounds, purpose): from pyproject.toml in a checkout, from the installed package's metadata otherwise."""
    if _PROJECT_FILE.is_file():
        project = tomllib.loads(_PROJECT_FILE.read_text(encoding="utf-8"))["project"]
        groups = [("", project["dependencies"]), *((extra, project["optional-dependencies"][extra]) for extra in _EXTRAS)]
    else:
        lines = importlib.metadata.requires("aidge_build") or []
        wanted = {extra: [line for line in lines if re.search(f"extra == .{extra}.", line)] for extra in _EXTRAS}
        groups = [("", [line for line in lines if "extra ==" not in line]), *wanted.items()]
    purposes = {"": _REQUIRED, "emulate": "for running on emulated boards", "sbom": "for report --sbom", "test": _TESTS}
    found: dict[str, tuple[str, str, str]] = {}
    for extra, lines in groups:
        for line in lines:
            name, bounds = _REQUIREMENT.match(line).groups()
            found.setdefault(name, (name, bounds.replace(" ", ""), purposes[extra]))
    return list(found.values())
