# SPDX-License-Identifier: MIT
"""There is one way to the terminal, and it ends in one line whatever happens."""

from __future__ import annotations

import ast
import gc
import io
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from aidge_build import cli
from aidge_build.base import terminal
from aidge_build.base.errors import EXIT_OUR_FAULT, located
from aidge_build.cli.outcome import Outcome
from tests.command import aidge_build

PACKAGE = Path(cli.__file__).resolve().parents[1]
HOSTILE = "a\x1b]0;title\x07\x1b[2J\rb\u202ec\u2066d\x9be\u2028f\x00\nFORGED: g\x7f\ud800"

# A file without any of them is not parsed.
WORDS = re.compile(r"\b(?:print|input|(?:__)?std(?:out|err)(?:__)?|print_exc|os\.write|rich|warnings|logging)\b")


def _calls_that_write(path: Path) -> list[str]:
    """Each place where a file of the package could reach stdout or stderr by itself."""
    text = path.read_text(encoding="utf-8")
    if not WORDS.search(text):
        return []
    found, nodes = [], list(ast.walk(ast.parse(text)))
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef)]
    named = [node for node in functions if any(each.arg == "input" for each in (*node.args.args, *node.args.kwonlyargs))]
    parameters = {id(each) for function in named for each in ast.walk(function) if getattr(each, "id", "") == "input"}
    for node in nodes:  # a field or a parameter may be called input
        is_read = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and id(node) not in parameters
        is_named = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
        text = f"{node.value.id}.{node.attr}" if is_named else node.id if is_read else ""
        is_import = isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in ("rich", "warnings", "logging")
        wrong = ("print", "input", "sys.stdout", "sys.stderr", "sys.__stdout__", "sys.__stderr__", "traceback.print_exc")
        if is_import or text in (*wrong, "os.write", "warnings.warn", "logging.getLogger"):
            found.append(f"{path.name}:{node.lineno}: {text or ast.unparse(node)}")
    return found


def test_only_the_terminals_own_file_reaches_the_terminal():
    files = sorted(PACKAGE.rglob("*.py"))
    assert len(files) > 250 and _calls_that_write(PACKAGE / "base" / "terminal.py")
    others = [line for path in files if path.name != "terminal.py" for line in _calls_that_write(path)]
    # Bytes for a serial device; the text of the Python API's is `printable`; Dask's own lines are kept from the terminal.
    to_a_device, of_the_api, silenced = others
    assert to_a_device.startswith("serial_line.py:") and to_a_device.endswith(": os.write")
    assert of_the_api.startswith("load_onnx.py:") and of_the_api.endswith(": warnings.warn")
    assert silenced.startswith("on_dask.py:") and silenced.endswith(": logging.getLogger")


def is_harmless(text: str) -> bool:
    return all(character.isprintable() or character == "\n" for character in text)


@pytest.fixture
def verb(monkeypatch):
    """Makes the verb `boards` do what the test wants."""

    def become(work):
        monkeypatch.setattr("aidge_build.cli.boards.run", lambda arguments: work())

    return become


def raising(error: BaseException):
    def work():
        raise error

    return work


def test_a_line_stays_one_line_whatever_is_in_it(verb):
    verb(lambda: Outcome(["first", HOSTILE], {"name": HOSTILE.replace("\ud800", "")}))
    result = aidge_build("boards")
    assert is_harmless(result.stdout) and result.stdout.count("\n") == 2
    assert result.stdout.splitlines()[1].startswith("a\\x1b]0;title\\x07\\x1b[2J\\rb\\u202ec") and "\nFORGED" not in result.stdout
    as_json = aidge_build("boards", "--json")
    assert as_json.json["name"] == HOSTILE.replace("\ud800", "")
    assert is_harmless(as_json.stdout) and as_json.stdout.isascii()


def test_a_long_line_is_printed_whole(verb):
    verb(lambda: Outcome(["x" * 100_000]))
    assert aidge_build("boards").stdout == "x" * 100_000 + "\n"


def test_progress_and_errors_are_escaped_where_people_see_them_and_where_they_are_kept(capsys, monkeypatch):
    for shown in (False, True):
        monkeypatch.setattr(terminal, "_is_shown", lambda stream, shown=shown: shown)
        list(terminal.with_progress("RUN", [HOSTILE], str))
        terminal.print_error(f"aidge-build: {HOSTILE}")
        terminal.print_notes([HOSTILE])
        printed = capsys.readouterr().err
        assert printed.count("FORGED") >= 3 and "\nFORGED" not in printed
        assert "\x1b[2J" not in printed and "\x1b]" not in printed and "\u202e" not in printed and "\x9b" not in printed


def test_characters_that_the_terminal_lacks_are_escaped(monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stream)
    terminal.print_lines(["größer"])
    assert stream.buffer.getvalue() == b"gr\\xf6\\xdfer\n"


@pytest.mark.requirement("INTERNAL")
@pytest.mark.parametrize(
    "error",
    [
        KeyError("x_source"),
        RecursionError("too deep"),
        MemoryError(),
        OSError(5, "Input/output error", "a\nb"),
        TypeError("\x1b"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_what_nobody_foresaw_is_one_line_that_calls_it_our_fault(verb, error):
    verb(raising(error))
    result = aidge_build("boards")
    assert result.exit_code == EXIT_OUR_FAULT == 70 and result.stdout == ""
    assert len(result.stderr.splitlines()) == 1 and is_harmless(result.stderr)
    assert result.stderr.startswith(f"aidge-build: internal error: raised {type(error).__name__}")
    assert "(test_printing.py, line " in result.stderr and "a fault of aidge-build" in result.stderr
    assert "Hint: report it" in result.stderr and "AIDGE_DEBUG=1" in result.stderr
    verb(raising(error))
    assert aidge_build("boards", "--json").json["error"]["code"] == "INTERNAL"


def test_the_line_says_at_which_node_and_the_debug_level_shows_the_traceback(verb, monkeypatch):
    def work():
        with located("node 'conv' (Conv)"):
            raise KeyError("x")

    verb(work)
    assert "internal error: at node 'conv' (Conv): raised KeyError: 'x'" in aidge_build("boards").stderr
    monkeypatch.setenv("AIDGE_DEBUG", "1")
    shown = aidge_build("boards").stderr
    assert shown.startswith("Traceback") and "KeyError: 'x'" in shown


def test_an_interrupt_is_no_fault_of_ours(verb):
    verb(raising(KeyboardInterrupt()))
    assert aidge_build("boards").exit_code == 130


COMMAND = "import sys; from aidge_build.cli import main; sys.exit(main())"


def run_with(words: list[str], **streams) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, *words], stderr=subprocess.PIPE, cwd=PACKAGE.parent, text=True, **streams
    )
    return done.returncode, done.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
def test_a_full_disk_behind_stdout_is_one_line():
    for words in (["options"], ["boards", "--help"], ["boards", "--json"]):
        with open("/dev/full", "w") as full:
            code, said = run_with(words, stdout=full)
        assert code == 3 and said.startswith("aidge-build: the output: cannot be written: No space left on device"), said
        assert len(said.splitlines()) == 1


def test_a_reader_that_went_away_is_no_error():
    reading, writing = os.pipe()
    os.close(reading)
    assert run_with(["options"], stdout=writing) == (0, "")
    os.close(writing)


def test_a_closed_stdout_is_no_error_and_no_file_takes_its_place():
    assert run_with(["options"], preexec_fn=lambda: os.close(1)) == (0, "")
    assert run_with(["chekc"], preexec_fn=lambda: os.close(1))[0] == 2


def test_the_end_of_a_command_searches_nothing_for_cycles_and_a_caller_keeps_its_collector():
    command = "import gc; from aidge_build.cli import main; main(); print(gc.get_freeze_count() > 10_000)"
    done = subprocess.run([sys.executable, "-c", command, "--version"], stdout=subprocess.PIPE, cwd=PACKAGE.parent, text=True)
    assert done.stdout.splitlines()[-1] == "True"
    frozen = gc.get_freeze_count()
    assert aidge_build("--version").exit_code == 0 and gc.isenabled() and gc.get_freeze_count() == frozen
