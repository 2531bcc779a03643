# SPDX-License-Identifier: MIT
"""No verb lets a name of a model, a note, a board, a library or a program reach a terminal or a page as it is."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import numpy
import onnx
import pytest

from aidge_build.cli.verbs import MODULES
from aidge_build.measure.packages import targets
from tests.command import Result, aidge_build

EVIL = "\x1b]0;title\x07\x1b[2J\r\u202ec\u2066d\x9be\u2028f\nFORGED: \x7f"
TEXT = EVIL.replace("\n", " ").replace("\r", " ")  # in what cannot hold a line break

BOARD = """
title = "{evil}"
cpu = "cortex-m4"
flags = ["-mcpu=cortex-m4"]
[[region]]
name = "FLASH"
origin = 0x08000000
length = 0x100000
kind = "flash"
[[region]]
name = "RAM"
origin = 0x20000000
length = 0x20000
kind = "ram"
"""


def hostile_model(initialiser: float = 1.0) -> bytes:
    """Every name that an ONNX file has room for, a symbolic batch and NaN, which are worth a notice each."""
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    graph = helper.make_graph(
        [
            helper.make_node("Mul", [f"x{EVIL}", f"w{EVIL}"], [f"a{EVIL}"], name=f"first{EVIL}"),
            helper.make_node("Sqrt", [f"a{EVIL}"], [f"y{EVIL}"], name=f"second{EVIL}"),
        ],
        f"graph{EVIL}",
        [helper.make_tensor_value_info(f"x{EVIL}", kind, [f"batch{EVIL}", 4])],
        [helper.make_tensor_value_info(f"y{EVIL}", kind, None)],
        [onnx.numpy_helper.from_array(numpy.full(4, initialiser, numpy.float32), f"w{EVIL}")],
        doc_string=EVIL,
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], producer_name=EVIL)
    made.ir_version = 8
    return made.SerializeToString()


def assert_harmless(text: str, what: object) -> None:
    wrong = sorted({character for character in text if not character.isprintable() and character != "\n"})
    assert not wrong, f"{what}: {wrong}"
    assert not any(line.startswith("FORGED") for line in text.splitlines()), what


def assert_all_harmless(result: Result, what: object) -> None:
    assert result.stdout or result.stderr or result.exit_code == 0, what
    assert_harmless(result.stdout, what)
    assert_harmless(result.stderr, what)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A model, its vectors, a board, a library, a plan and a program, all full of names that are control sequences."""
    made = tmp_path_factory.mktemp("hostile")
    (made / "m.onnx").write_bytes(hostile_model())
    (made / "nan.onnx").write_bytes(hostile_model(numpy.nan))
    (made / "bad.onnx").write_bytes(hostile_model().replace(b"Sqrt", b"Sq\x1bt"))
    numpy.savez(made / "m.npz", x=numpy.ones((1, 4), numpy.float32), **{TEXT.replace("/", ""): numpy.ones(3)})
    numpy.savez(made / "labels.npz", x=numpy.ones((3, 1, 4), numpy.float32), targets=numpy.ones((3, 4), numpy.float32))
    (made / "library").mkdir()
    (made / "front.toml").write_text(f"[{json.dumps(EVIL)}]\n")
    (made / "library" / "library.toml").write_text(f'name = "mine"\ndescription = {json.dumps(EVIL)}\n')
    (made / "evil.toml").write_text(f"options = {{ {json.dumps(TEXT)} = {{}} }}\n")
    (made / "foreign").mkdir()
    (made / "foreign" / "CMakeLists.txt").write_text(f"add_executable(app{EVIL} main.c)")
    (made / "boards").mkdir()
    (made / "boards" / "evil.toml").write_text(BOARD.format(evil=json.dumps(TEXT)[1:-1]))
    assert aidge_build("compile", made / "m.onnx", "--name", "m", "--out", made / "out").exit_code == 0
    plain = "evil_function_of_a_program"
    (made / "main.c").write_text(
        f"int {plain}(int a);\nint {plain}(int a) {{ return a; }}\nint main(void) {{ return {plain}(0); }}\n"
    )
    words = [shutil.which("cc") or "cc", "-std=c99", "-I", made / "out", made / "main.c", *sorted((made / "out").glob("*.c"))]
    subprocess.run([*map(str, words), "-lm", "-o", str(made / "app.elf")], check=True)
    program = (made / "app.elf").read_bytes()  # the assembler takes no such name, whoever forges an ELF does
    (made / "app.elf").write_bytes(program.replace(plain.encode(), EVIL.encode()[: len(plain)].ljust(len(plain), b"_")))
    return made


MEMORIES = ("--region", "ALL=0,0x7fffffff,flash")
LOOKED_AT: dict[str, list[tuple]] = {
    "compile": [
        ("m.onnx", "--name", "m", "--out", "out2"),
        ("nan.onnx", "--name", "m", "--out", "out2"),
        ("bad.onnx", "--out", "o"),
    ],
    "fit": [
        ("m.onnx", "--boards", "stm32f4"),
        ("bad.onnx", "nan.onnx", "--boards", "stm32f4", "--html", "fit.html"),
        ("--board-path", "boards"),
    ],
    "plan": [
        ("m.onnx",),
        ("m.onnx", "--why"),
        ("nan.onnx", "--html", "page.html", "--svg", "page.svg"),
        ("m.onnx", "--capacity", "1"),
    ],
    "explain": [("m.onnx",), ("nan.onnx", f"first{EVIL}"), ("m.onnx", EVIL)],
    "export": [("m.onnx", "--out", "folder"), ("nan.onnx", "--out", "folder")],
    "package": [
        *(("m.onnx", "--name", "m", "--for", target, "--out", "packages") for target in targets()),
        ("nan.onnx", "--name", "m", "--for", "plain", "--out", "packages"),
        ("m.onnx", "--name", "m", "--for", EVIL, "--out", "packages"),
        ("m.onnx", "--name", "m", "--for", "plain", "--author", EVIL, "--out", "packages"),
    ],
    "sbom": [
        ("out/m.plan.json", "--elf", "app.elf", "--out", "page.cdx.json"),
        ("out/m.plan.json", "--licence", f"m={EVIL}", "--product", EVIL, "--release", EVIL, "--out", "page2.cdx.json"),
        (EVIL, "--out", "o.json"),
    ],
    "verify": [
        ("m.onnx", "--io-data", "m.npz"),
        ("m.onnx", "--io-data", "m.npz", "--layers"),
        ("m.onnx", "--io-data", "m.npz", "--labels", EVIL),
    ],
    "accuracy": [
        ("m.onnx", "--labels", "labels.npz", "--task", "regression"),
        ("m.onnx", "--labels", "m.npz"),
        ("nan.onnx", "--labels", EVIL),
    ],
    "weights": [("m.onnx", "--against", "app.elf", "--out", "w.bin"), ("nan.onnx", "--against", EVIL, "--out", "w.bin")],
    "quantize": [("m.onnx", "--calibration", "m.npz", "--out", "q.onnx"), ("m.onnx", "--calibration", EVIL, "--out", "q.onnx")],
    "frontend": [
        ("m.onnx", "--recipe", "front.toml", "--out", "f.onnx"),
        ("nan.onnx", "--recipe", EVIL, "--out", "f.onnx"),
    ],
    "sensitivity": [("m.onnx", "--quantize", "m.npz", "--labels", "labels.npz"), ("nan.onnx", "--quantize", EVIL)],
    "check": [("app.elf",), ("app.elf", "--plan", "out/m.plan.json"), ("app.elf", "--quiet", EVIL)],
    "run": [("app.elf", "--board", "host"), ("app.elf", "--board", EVIL)],
    "bench": [(".", "--models", EVIL), (".", "--boards", EVIL)],
    "calibrate": [
        ("m.onnx", "--board", "evil", "--board-path", "boards", "--probe", ":1"),
        ("m.onnx", "--board", EVIL, "--probe", EVIL),
    ],
    "sweep": [
        ("m.onnx", "evil.toml", "--boards", "stm32f4", "--jobs", "1", "--html", "page.html"),
        ("nan.onnx", "--vary", f"lib={EVIL}"),
    ],
    "tune": [
        ("bad.onnx", "--board", "stm32f4", "--out", "t.toml", "--jobs", "1"),
        ("m.onnx", "--board", EVIL, "--out", "t.toml"),
    ],
    "report": [
        ("app.elf", *MEMORIES, "--plan", "out/m.plan.json", "--html", "page.html"),
        ("app.elf", *MEMORIES, "--diff", "old.json"),
    ],
    "flash": [("app.elf", "--board", "evil", "--board-path", "boards", "-n"), ("app.elf", "--board", EVIL)],
    "boards": [("evil", "--board-path", "boards"), (EVIL,)],
    "kernels": [("--kernel-path", "library")],
    "ops": [(EVIL,)],
    "zoo": [(EVIL,)],
    "serial_handler": [("m.onnx", "--board", "evil", "--board-path", "boards"), ("nan.onnx", "--out", EVIL)],
    "link_script": [("--board", "evil", "--board-path", "boards", "--out", "link.ld"), ("--board", EVIL, "--out", "link.ld")],
    "explain_link": [("--", "cc", EVIL)],
    "new": [("project", "--model", "m.onnx"), (EVIL,)],
    "init": [("m.onnx", "--folder", "foreign"), (EVIL,)],
}
# They read nothing that a stranger wrote.
WITHOUT_STRANGERS = {"list", "options", "conformance", "cmake_dir", "completion", "doctor", "gdb_script"}


def test_every_verb_is_looked_at():
    assert set(MODULES) == {*LOOKED_AT, *WITHOUT_STRANGERS}


@pytest.mark.parametrize("verb", LOOKED_AT)
def test_hostile_names_reach_no_terminal_and_no_page(verb, folder, monkeypatch):
    monkeypatch.chdir(folder)
    if verb == "report":
        Path("old.json").write_text(aidge_build("report", "app.elf", *MEMORIES, "--json").stdout.replace("m_run", f"m{TEXT[-1]}"))
    name = verb.replace("_", "-")
    for words in LOOKED_AT[verb]:
        assert_all_harmless(aidge_build(name, *words), (verb, *words))
    assert_all_harmless(aidge_build(name, "--json", *LOOKED_AT[verb][-1]), (verb, "--json"))
    for path in [*folder.rglob("page*.*"), *folder.glob("packages/*/**/*.*")]:
        assert_harmless(path.read_text(), path.name)


def test_what_is_looked_at_is_really_shown(folder, monkeypatch):
    """The names come through, escaped: a verb that hid them would pass the test above."""
    monkeypatch.chdir(folder)
    shown = "\\x1b]0;title\\x07\\x1b[2J\\r\\u202ec\\u2066d\\x9be\\u2028f\\nFORGED: \\x7f"
    assert f"symbolic batch 'batch{shown}' becomes 1" in aidge_build("compile", "m.onnx", "--name", "m", "--out", "o2").stdout
    assert f"constant 'w{shown}' holds NaN" in aidge_build("plan", "nan.onnx").stdout
    assert shown in aidge_build("plan", "m.onnx", "--why").stdout
    assert "first\\x1b]0;title" in aidge_build("explain", "m.onnx", "-v").stdout
    assert f"mine: {shown}" in aidge_build("kernels", "--kernel-path", "library").stdout
    assert "\\x1b]0;title\\x07\\x1b[2J\\r" in aidge_build("report", "app.elf", *MEMORIES, "--items", "1000").stdout


def test_the_debug_levels_and_the_log_escape_too(folder, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("AIDGE_DEBUG", "4")
    monkeypatch.setenv("AIDGE_LOG", "kept.log")
    result = aidge_build("plan", "m.onnx")
    assert "first\\x1b" in result.stderr
    wrong = {character for character in result.stderr + Path("kept.log").read_text() if not character.isprintable()} - {"\n"}
    assert not wrong
