# SPDX-License-Identifier: MIT
"""The SCons tool and the generator call nothing that only POSIX has, and no shell."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# What only emulates, debugs or sets up is no part of a build: these need programs that exist on POSIX first of all.
NO_PART_OF_A_BUILD = ("emulate", "verify", "machine.py", "doctor.py", "serial_line.py")
MODULES = {"crypt", "fcntl", "grp", "posix", "pty", "pwd", "resource", "syslog", "termios", "tty"}
CALLS = {
    "chown",
    "fork",
    "forkpty",
    "getegid",
    "geteuid",
    "getgid",
    "getuid",
    "killpg",
    "lchown",
    "mkfifo",
    "popen",
    "setsid",
    "setuid",
    "spawnlp",
    "spawnvp",
    "system",
    "umask",
    "getoutput",
    "getstatusoutput",
}
SHELL_WORDS = {"shell", "preexec_fn", "start_new_session"}


def sources() -> list[Path]:
    package = [
        path
        for path in sorted((ROOT / "aidge_build").rglob("*.py"))
        if not set(path.relative_to(ROOT).parts) & set(NO_PART_OF_A_BUILD)
    ]
    return [ROOT / "site_scons/site_tools/aidge.py", *package, *sorted((ROOT / "kernels").rglob("*.py"))]


def complaints(text: str) -> list[str]:
    """What a source would lack outside POSIX, with line numbers."""
    found = []
    for node in ast.walk(ast.parse(text)) if re.search(rf"\b({'|'.join(MODULES | CALLS | SHELL_WORDS)})\b", text) else ():
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
            found += [f"{node.lineno}: import {name}" for name in names if name.split(".")[0] in MODULES]
        elif isinstance(node, ast.Call):
            function = node.func
            if (
                isinstance(function, ast.Attribute)
                and isinstance(function.value, ast.Name)
                and function.value.id in ("os", "subprocess")
            ):
                found += [f"{node.lineno}: {function.value.id}.{function.attr}"] if function.attr in CALLS else []
            found += [f"{node.lineno}: {word.arg}=" for word in node.keywords if word.arg in SHELL_WORDS]
    return found


def test_no_source_of_a_build_needs_posix_or_a_shell():
    found = {path.relative_to(ROOT).as_posix(): complaints(path.read_text(encoding="utf-8")) for path in sources()}
    assert {path: lines for path, lines in found.items() if lines} == {}


def test_the_walk_sees_what_it_looks_for():
    text = "import fcntl\nimport os, subprocess\nos.fork()\nsubprocess.run('a | b', shell=True)\nos.path.join('a')\n"
    assert complaints(text) == ["1: import fcntl", "3: os.fork", "4: shell="]


def test_scons_actions_are_lists_of_arguments():
    text = (ROOT / "site_scons/site_tools/aidge.py").read_text(encoding="utf-8")
    for call in [
        node
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "SCons.Action.Action"
    ]:
        assert not isinstance(call.args[0], (ast.Constant, ast.JoinedStr, ast.BinOp)), ast.unparse(call)
