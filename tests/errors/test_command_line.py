# SPDX-License-Identifier: MIT
"""What a user of the command line gets for bad input: one line, exit code 2, nothing written."""

from __future__ import annotations

import json
from pathlib import Path

import numpy
import onnx
import pytest

from tests.command import aidge_build
from tests.models import model

GOOD = model("y = Relu(x)", inputs="float[1,4] x", outputs="float[1,4] y")
HOSTILE = "w*/ int injected = 42; /*"


@pytest.mark.parametrize(
    "words, line",
    [
        (["chekc", "app.elf"], "aidge-build: there is no verb 'chekc'. Hint: did you mean 'check'?"),
        (["stakc"], "aidge-build: there is no verb 'stakc'. Hint: verbs: new, fit, doctor, "),
        (["bords"], "aidge-build: there is no verb 'bords'. Hint: did you mean 'list boards'?"),
        (["list", "bords"], "aidge-build: list: there is no list of 'bords'. Hint: boards, kernels, operators, zoo, options"),
        (["check"], "aidge-build: check: the following arguments are required: ELF. Hint: aidge-build check --help"),
        (
            ["compile", "README.md"],
            "aidge-build: compile: the following arguments are required: --out. Hint: add --out DIR; aidge-b",
        ),
        (
            ["compile", "README.md", "-o", "out"],
            "aidge-build: compile: the following arguments are required: --out. Hint: did you mean --out? aidge-build",
        ),
        (
            ["compile", "README.md", "--out=out", "--optimise", "size"],
            "aidge-build: compile: unrecognized arguments: --optimise size. Hint: did you mean --optimize? aidge-build",
        ),
        (
            ["accuracy", "README.md", "--labells", "x.npz"],
            "aidge-build: accuracy: unrecognized arguments: --labells x.npz. Hint: did you mean --labels? aidge-build",
        ),
        (
            ["bench", "README.md"],
            "aidge-build: README.md: is a file; bench measures a folder of models. "
            "Hint: for one model: aidge-build verify README.md --board stm32f7",
        ),
    ],
)
def test_a_wrong_word_is_answered_by_the_right_ones(words, line):
    result = aidge_build(*words)
    assert result.exit_code == 2 and result.stderr.startswith(line) and result.stderr.count("\n") == 1


def compile_model(folder: Path, data: bytes | None, *more):
    path = folder / "net.onnx"
    if data is not None:
        path.write_bytes(data)
    return aidge_build("compile", path, "--name", "net", "--out", folder / "out", *more)


@pytest.mark.requirement("INPUT", "MODEL_FILE", "GRAPH", "OPERATOR", "BIND")
@pytest.mark.parametrize(
    "data, words",
    [
        (model("y = Zork(x)", inputs="float[1,4] x", outputs="float[1,4] y"), ("net.onnx", "Zork", "Hint:")),
        (GOOD[: len(GOOD) // 2], ("net.onnx", "truncated")),
        (None, ("net.onnx", "cannot be read", "Hint: check the path")),
        (b"", ("net.onnx", "empty")),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12345\n", ("net.onnx", "Git LFS pointer")),
        (model("a = Relu(b) b = Relu(a) y = Add(a, x)", inputs="float[1,4] x", outputs="float[1,4] y"), ("net.onnx", "cycle")),
        (model("y = Relu(x)", inputs="float[1,H] x", outputs="float[1,H] y"), ("net.onnx", "--bind H=")),
    ],
    ids=["unsupported operator", "truncated", "missing", "empty", "LFS pointer", "cyclic", "symbolic dimension"],
)
def test_a_bad_model_is_refused_in_one_line_and_nothing_is_written(data, words, tmp_path):
    result = compile_model(tmp_path, data)
    assert result.exit_code == 2 and result.stdout == ""
    assert len(result.stderr.strip().splitlines()) == 1 and "Traceback" not in result.stderr
    for word in words:
        assert word in result.stderr
    assert not (tmp_path / "out").exists() or not any((tmp_path / "out").iterdir())


def test_a_model_that_is_not_there_is_named_before_an_option_that_is_missing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for words in (
        ("compile", "gone.onnx"),
        ("quantize", "gone.onnx", "--out", "made.onnx"),
        ("accuracy", "--board", "host", "gone.tflite"),
    ):
        assert "gone." in (found := aidge_build(*words)).stderr and "No such file" in found.stderr
    Path("net.onnx").write_bytes(GOOD)
    assert "required: --quantize" in aidge_build("quantize", "net.onnx", "--out", "made.onnx").stderr


@pytest.mark.parametrize(
    "more, words",
    [
        (("--board", "stm32f77"), ("stm32f77", "did you mean 'stm32f7", "aidge-build list boards")),
        (("--lib", "reff"), ("reff", "did you mean ref")),
        (("--cpu", "cortex-m99"), ("cortex-m99", "cortex-m4")),
        (("--bind", "H"), ("--bind", "NAME=NUMBER")),
        (("--io", "sideways"), ("sideways", "caller")),
        (("--name", "int"), ("int", "--name kws")),
        (("--bord", "stm32f7"), ("--bord",)),
    ],
)
def test_a_wrong_option_lists_what_is_valid(more, words, tmp_path):
    result = compile_model(tmp_path, GOOD, *more)
    assert result.exit_code == 2
    for word in words:
        assert word in result.stderr
    assert not (tmp_path / "out").exists()


def test_an_existing_output_is_left_alone_when_the_model_turns_bad(tmp_path):
    assert compile_model(tmp_path, GOOD).exit_code == 0
    before = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    assert compile_model(tmp_path, GOOD[:20]).exit_code == 2
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == before


def test_names_of_the_model_never_become_code(tmp_path):
    loaded = onnx.load_from_string(GOOD)
    for value in (loaded.graph.input[0], loaded.graph.output[0]):
        value.name = f"{value.name} {HOSTILE}"
    node = loaded.graph.node[0]
    node.input[0], node.output[0], node.name = f"x {HOSTILE}", f"y {HOSTILE}", HOSTILE
    loaded.graph.name = loaded.doc_string = "../../evil\n#include <x>"
    result = compile_model(tmp_path, loaded.SerializeToString())
    assert result.exit_code == 0, result.stderr
    for path in (tmp_path / "out").glob("*.[ch]"):
        text = path.read_text()
        assert "*/ int injected" not in text and "evil" not in text
        assert text.isascii()


def test_json_errors_are_one_object_with_the_documented_keys(tmp_path):
    result = compile_model(tmp_path, GOOD[:20], "--json")
    found = json.loads(result.stdout)
    assert found["ok"] is False and found["schema"] == 1
    assert sorted(found["error"]) == ["code", "hint", "tried", "what", "where"]


def test_a_symbolic_batch_becomes_one_and_a_line_says_so(tmp_path):
    result = compile_model(tmp_path, model("y = Relu(x)", inputs="float[N,4] x", outputs="float[N,4] y"))
    assert result.exit_code == 0
    assert "symbolic batch 'N' becomes 1" in result.stdout


def test_a_symbolic_dimension_is_bound_by_the_argument_that_the_error_showed(tmp_path):
    data = model("y = Relu(x)", inputs="float[1,H] x", outputs="float[1,H] y")
    assert compile_model(tmp_path, data, "--bind", "H=5").exit_code == 0
    assert "NET_INPUT_SIZE 5" in (tmp_path / "out" / "net.h").read_text()


def test_the_version_is_printed():
    assert aidge_build("--version").stdout.startswith("aidge-build ")


def test_an_unknown_verb_names_the_valid_ones():
    result = aidge_build("compil")
    assert result.exit_code == 2 and "compile" in result.stderr


def test_a_verbose_compilation_lists_what_is_left_out(tmp_path):
    data = model(
        "y = Relu(x)\n dead = Neg(x)\n deader = Add(dead, w)\n k = Mul(w, w)\n same = Identity(x)\n z = Add(same, k)",
        inputs="float[4] x",
        outputs="float[4] y, float[4] z",
        constants={"w": numpy.ones(4, numpy.float32), "spare": numpy.ones(1, numpy.float32)},
    )
    assert "left out" not in compile_model(tmp_path, data).stdout
    lines = [line.partition("left out: ")[2] for line in compile_model(tmp_path, data, "-v").stdout.splitlines()]
    assert list(filter(None, lines)) == [
        "node 1 with output 'dead' (Neg): no output needs it",
        "node 2 with output 'deader' (Add): no output needs it",
        "node 3 with output 'k' (Mul): evaluated while generating, or only another name for its input",
        "node 4 with output 'same' (Identity): evaluated while generating, or only another name for its input",
        "initialiser 'spare': nothing that is needed reads it",
    ]


@pytest.mark.parametrize(
    "text, kind, more, hint",
    [
        ("Tan(x)", "float", ("--lib", "cortexm"), "library ref has kernels for it: --lib cortexm,ref"),
        ("Relu(x)", "double", (), "its kernels take float32 or int8: insert a Cast, or export the model in such a type"),
        ("Relu(x)", "double", ("--lib", "helium"), "name the core: --board, or --cpu with --fpu; or "),
    ],
    ids=["library", "type", "core"],
)
def test_where_no_kernel_accepts_a_node_the_hint_names_what_would(text, kind, more, hint, tmp_path):
    data = model(f"y = {text}", inputs=f"{kind}[1,4] x", outputs=f"{kind}[1,4] y")
    result = compile_model(tmp_path, data, *more)
    assert result.exit_code == 2 and f"no kernel accepts it. Tried: {more[1] if more else 'ref'} " in result.stderr
    assert f". Hint: {hint}" in result.stderr
    with_library = [*more[:1], "cortexm,ref"] if "library" in hint.split()[0] else None
    assert with_library is None or compile_model(tmp_path, data, *with_library).exit_code == 0
