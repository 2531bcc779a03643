# SPDX-License-Identifier: MIT
"""What a sweep is asked: the tables of a matrix as models, boards and option sets."""

from __future__ import annotations

from pathlib import Path

import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.measure.sweep.matrix import Matrix, matrix_of, read_matrix


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("kws_a.onnx", "kws_b.tflite", "kws_notes.txt", "ic.onnx", "sub/kws_a.onnx"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    return tmp_path


def matrix(folder: Path, text: str) -> Matrix:
    (folder / "matrix.toml").write_text(text)
    return matrix_of(read_matrix(folder / "matrix.toml"), "matrix.toml")


def refusal(folder: Path, text: str) -> str:
    with pytest.raises(AidgeError) as caught:
        matrix(folder, text)
    assert caught.value.code == "SWEEP" and "\n" not in str(caught.value)
    return str(caught.value)


def test_the_shortest_matrix_is_a_model_on_all_boards_without_options(folder):
    found = matrix(folder, "models = ['ic.onnx']")
    assert [(one.name, one.file, one.task) for one in found.models] == [("ic", folder / "ic.onnx", "ic")]
    assert found.boards == () and (found.build, found.measure) == (False, False)
    assert [(one.name, one.words, one.quantizes) for one in found.sets] == [("default", (), False)]


def test_a_pattern_stands_for_the_models_that_match_and_they_are_one_task(folder):
    found = matrix(folder, "models = ['kws_*', 'ic.onnx']\nboards = ['b', 'a', 'b']\nbuild = true\nmeasure = true")
    assert [(one.name, one.task) for one in found.models] == [("ic", "ic"), ("kws_a", "kws_*"), ("kws_b", "kws_*")]
    assert found.boards == ("a", "b") and (found.build, found.measure) == (True, True)


def test_a_model_says_its_name_task_labels_samples_options_and_sets(folder):
    text = """
        [[models]]
        file = "ic.onnx"
        name = "images"
        task = "cifar"
        labels = "test.npz"
        samples = "sub/seen.npz"
        options = { bind = ["N=1", "M=2"] }
        sets = ["fast"]
        [options.fast]
        optimize = "speed"
        [options.other]
    """
    (model,) = matrix(folder, text).models
    assert (model.name, model.task, model.words, model.sets) == ("images", "cifar", ("--bind=M=2", "--bind=N=1"), ("fast",))
    assert (model.labels, model.samples) == (folder / "test.npz", folder / "sub" / "seen.npz")
    assert [(one.name, chosen.name) for one, chosen in matrix(folder, text).pairs()] == [("images", "fast")]


def test_sets_and_axes_are_combined_and_the_names_tell(folder):
    text = """
        models = [{ file = "kws_*", samples = "s.npz", sets = ["int8", "plain"] }, "ic.onnx"]
        [options.plain]
        lib = ["cmsis_nn", "ref"]
        [options.int8]
        ranges = "percentile"
        percentile = 99.9
        [vary]
        optimize = ["size", "speed"]
        ram-budget = ["", "64K"]
    """
    text = text.replace(', "ic.onnx"', "")
    found = matrix(folder, text)
    assert [one.name for one in found.sets] == [
        "int8 optimize=size",
        "int8 optimize=size ram-budget=64K",
        "int8 optimize=speed",
        "int8 optimize=speed ram-budget=64K",
        "plain optimize=size",
        "plain optimize=size ram-budget=64K",
        "plain optimize=speed",
        "plain optimize=speed ram-budget=64K",
    ]
    first, last = found.sets[0], found.sets[-1]
    assert (first.words, first.scheme, first.quantizes) == (
        ("--optimize=size",),
        ("--percentile=99.9", "--ranges=percentile"),
        True,
    )
    assert (last.words, last.scheme, last.quantizes) == (
        ("--lib=cmsis_nn,ref", "--optimize=speed", "--ram-budget=64K"),
        (),
        False,
    )
    assert len(found.pairs()) == 16


def test_axes_alone_need_no_set_and_quantize_is_a_word_of_a_set(folder):
    found = matrix(folder, "models = ['ic.onnx']\nvary = { optimize = ['size', ''] }")
    assert [one.name for one in found.sets] == ["default", "optimize=size"]
    text = "models = [{ file = 'ic.onnx', samples = 's.npz' }]\nvary = { quantize = [true, false] }"
    assert [(one.name, one.quantizes, one.words) for one in matrix(folder, text).sets] == [
        ("quantize=False", False, ()),
        ("quantize=True", True, ()),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("boards = ['a']", "matrix.toml: there is no model"),
        ("models = ['none_*.onnx']", "no model matches"),
        ("models = ['ic.onnx', 'ic.onnx']", "two models are called 'ic'"),
        ("models = ['kws_a.onnx', 'sub/kws_a.onnx']", "two models are called 'kws_a'"),
        ("models = [{ file = 'kws_*', name = 'k' }]", "one name for 2 files"),
        ("models = [{ files = 'ic.onnx' }]", "unknown key 'files'. Hint: did you mean 'file'?"),
        ("models = [{ name = 'ic' }]", "has no 'file'"),
        ("models = 'ic.onnx'", "models is 'ic.onnx', wants a list"),
        ("models = [3]", "models[0] is 3, wants text or a table"),
        ("models = ['ic.onnx']\nboard = ['a']", "unknown key 'board'. Hint: did you mean 'boards'?"),
        ("models = ['ic.onnx']\nbuild = 1", "build is 1, wants true or false"),
        ("models = ['ic.onnx']\nvary = { optimize = 'size' }", "vary.optimize is no list of values"),
        ("models = ['ic.onnx']\nvary = { optimize = ['small'] }", "argument --optimize: invalid choice: 'small'"),
        ("models = ['ic.onnx']\nvary = { optimise = ['size'] }", "'optimise' is no option of a set. Hint: did you"),
        ("models = ['ic.onnx']\nvary = { board = ['a'] }", "'board' is no option of a set"),
        ("models = ['ic.onnx']\nvary = { optimize = ['size', 'size'] }", "two option sets are called 'optimize=size'"),
        ("models = ['ic.onnx']\noptions = { a = 'size' }", "options.a: a table is expected here"),
        ("models = ['ic.onnx']\n[options.a]\nquantize = 'x.npz'", "options.a: quantize is true or false"),
        ("models = ['ic.onnx']\n[options.a]\nweights-version = true", "weights-version is True"),
        ("models = ['ic.onnx']\n[options.a]\noptimize = 'size'\n[vary]\noptimize = ['speed']", "--optimize is in a set and"),
        ("models = ['ic.onnx']\n[options.a]\nranges = 'mse'", "model 'ic': option set 'a' quantizes, and this"),
        ("models = [{ file = 'ic.onnx', sets = ['b'] }]\n[options.a]", "there is no option set 'b'. Tried: a"),
        ("models = [{ file = 'ic.onnx', options = { ranges = 'mse' } }]", "how to quantize belongs to a set"),
        ("models = [", "not a TOML file"),
    ],
)  # fmt: skip
def test_what_is_wrong_in_a_matrix_is_said_with_its_place(folder, text, message):
    assert message in refusal(folder, text)
