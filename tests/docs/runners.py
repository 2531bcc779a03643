# SPDX-License-Identifier: MIT
"""How the blocks of a page are run, by their language; a failure names page and line."""

from __future__ import annotations

import ast
import contextlib
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.command import aidge_build
from tests.docs.blocks import ROOT, Block

ENVIRONMENT = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
SHELL = re.compile(r"&&|[|>;]|\$\(|\\\n")
SEVERAL, SOMETHING = "...", re.escape("...")
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")


@dataclass
class Session:
    """What the blocks of one page have made so far: the project's folder, where commands stand in it, and Python's names."""

    folder: Path
    place: Path | None = None
    names: dict = field(default_factory=dict)
    before: dict[str, Callable[[], None]] = field(default_factory=dict)  # by a word of the Python block that it is for

    def __post_init__(self):
        self.place = self.folder
        self.names["__name__"] = "__main__"

    def run(self, block: Block) -> None:
        """Runs a block; AssertionError with page and line where it does not do what the page says."""
        try:
            if self.writes(block):
                return
            RUNNERS[block.language](self, block)
        except AssertionError as error:
            raise AssertionError(f"{block.where}: {error}") from None
        except Exception as error:
            raise AssertionError(f"{block.where}: {type(error).__name__}: {error}") from error

    def writes(self, block: Block) -> bool:
        """Blocks that are a file of the project, or lines of one."""
        words = block.words
        if "file" in words:
            (self.place / words["file"]).parent.mkdir(parents=True, exist_ok=True)
            (self.place / words["file"]).write_text(block.text)
        elif "append" in words:
            file = self.place / words["append"]
            file.write_text(file.read_text() + block.text)
        elif "replace" in words:
            self.replace_statements(self.place / words["replace"], block.text)
        else:
            return False
        return True

    @staticmethod
    def replace_statements(file: Path, text: str) -> None:
        """`name = ...` of a Python file becomes that of the block; all that stands behind it there goes to the end."""
        wanted, *others = ast.parse(text).body
        old = [node for node in ast.parse(file.read_text()).body if named(node) == named(wanted)]
        assert named(wanted) and len(old) == 1, f"{file.name} has no statement '{named(wanted)} = ...'"
        lines, new = file.read_text().splitlines(), text.splitlines()
        lines[old[0].lineno - 1 : old[0].end_lineno] = new[: wanted.end_lineno]
        file.write_text("\n".join([*lines, *(new[wanted.end_lineno :] if others else [])]) + "\n")


def named(node: ast.stmt) -> str | None:
    """The name that a statement gives a value."""
    return node.targets[0].id if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) else None


def commands(text: str) -> list[tuple[str, list[str]]]:
    """Of a console: (command, what it prints); lines behind `$ `, with their continuations."""
    found: list[tuple[str, list[str]]] = []
    lines = iter(text.splitlines())
    for line in lines:
        if line.startswith("$ "):
            command = line[2:]
            while command.endswith("\\"):
                command = command[:-1] + next(lines).strip()
            found.append((command, []))
        elif line.strip():
            assert found, f"'{line}' stands before the first command"
            found[-1][1].append(line)
    return found


def lines_of_shell(text: str) -> list[str]:
    return [line for line in re.sub(r"\\\n\s*", "", text).splitlines() if line.strip() and not line.startswith("#")]


def execute(session: Session, command: str) -> tuple[int, str]:
    """The exit code and all that is printed; verbs of aidge-build run in this process, whose start is most of their time."""
    words = shlex.split(command, comments=True)
    if words[:1] == ["cd"]:
        session.place = session.place / words[1]
        assert session.place.is_dir(), f"{command}: there is no such folder"
        return 0, ""
    if words[0] == "aidge-build" and "--help" not in words and not SHELL.search(command.partition(" #")[0]):
        with contextlib.chdir(session.place):
            done = aidge_build(*words[1:])
        return done.exit_code, done.stdout + done.stderr
    run = subprocess.run(
        ["sh", "-c", command],
        cwd=session.place,
        env=ENVIRONMENT,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    moved = re.search(r"&& cd (\S+)\s*$", command)
    if moved:
        session.place = session.place / moved[1]
    return run.returncode, run.stdout


def missing_line(wanted: list[str], printed: str, percent: float = 0) -> str | None:
    """The first line that was not printed in this order; blanks count as one, `...` stands for anything, alone for any lines.

    Numbers may be `percent` away: those of a training are not the same on every machine."""
    rest = [" ".join(line.split()) for line in printed.splitlines()]
    for line in wanted:
        if line.strip() == SEVERAL:
            continue
        while rest and not same(" ".join(line.split()), rest[0], percent):
            rest.pop(0)
        if not rest:
            return line
        rest.pop(0)
    return None


def same(wanted: str, printed: str, percent: float) -> bool:
    texts, numbers = NUMBER.split(wanted), [float(number.replace(",", "")) for number in NUMBER.findall(wanted)]
    found = re.fullmatch(f"({NUMBER.pattern})".join(re.escape(text).replace(SOMETHING, ".*") for text in texts), printed)
    if found is None:
        return False
    given = [float(number.replace(",", "")) for number in found.groups()]
    return all(abs(number - other) <= percent / 100 * abs(other) for number, other in zip(given, numbers, strict=True))


def run_console(session: Session, block: Block) -> None:
    every = commands(block.text)
    for number, (command, wanted) in enumerate(every):
        code, printed = execute(session, command)
        expected = int(block.words.get("exit", 0)) if number == len(every) - 1 else 0
        assert code == expected, f"'{command}' ends with {code}:\n{printed[-3000:]}"
        line = missing_line(wanted, printed, float(block.words.get("near", 0)))
        assert line is None, f"'{command}' does not print '{line}' there, but:\n{printed[-6000:]}"


def run_shell(session: Session, block: Block) -> None:
    for command in lines_of_shell(block.text):
        code, printed = execute(session, command)
        assert code == 0, f"'{command}' ends with {code}:\n{printed[-3000:]}"


def python_with(packages: str) -> Path:
    """The Python of an environment that has these packages; made when it is asked for, a skip where they cannot be had."""
    folder = ROOT / "build" / "docs-venv" / "-".join(sorted(packages.split(",")))
    python, ready = folder / "bin" / "python", folder / "ready"
    if not ready.exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages.split(",")]
        done = subprocess.run(install, text=True, capture_output=True, check=False)
        if done.returncode:
            pytest.skip(f"{packages}: {done.stderr.strip().splitlines()[-1]}")
        ready.touch()
    return python


def run_python(session: Session, block: Block) -> None:
    if "needs" in block.words:
        words = [python_with(block.words["needs"]), "-"]
        done = subprocess.run(words, input=block.text, cwd=session.place, text=True, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr[-3000:]
        return
    code = compile("\n" * (block.line) + block.text, str(ROOT / block.page), "exec")
    for word, prepare in session.before.items():
        if word in block.text:
            prepare()
    with contextlib.chdir(session.place):
        exec(code, session.names)


def read_toml(session: Session, block: Block) -> None:
    tomllib.loads(block.text)


def read_json(session: Session, block: Block) -> None:
    json.loads(block.text)


def read_yaml(session: Session, block: Block) -> None:
    import yaml

    yaml.safe_load(block.text)


RUNNERS = {
    "console": run_console,
    "sh": run_shell,
    "python": run_python,
    "toml": read_toml,
    "json": read_json,
    "yaml": read_yaml,
}
