# SPDX-License-Identifier: MIT
"""Files beside the model that are no such files: one line each, before they cost time or memory."""

from __future__ import annotations

import io
import json
import os
import resource
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy
import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.base.npz import LARGEST_VECTOR_BYTES, read_npz
from aidge_build.base.reading import read_regular, require_shape
from tests.command import aidge_build
from tests.models import model

GOOD = model("y = Relu(x)", inputs="float[1,4] x", outputs="float[1,4] y")
COMMAND = "import sys; from aidge_build.cli import main; sys.exit(main())"
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "net.onnx").write_bytes(GOOD)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refused(*words) -> str:
    result = aidge_build(*words)
    assert result.exit_code == 2, (result.exit_code, result.stdout, result.stderr)
    assert result.stdout == "" and len(result.stderr.splitlines()) == 1, result.stderr
    assert "Hint: " in result.stderr
    return result.stderr.removeprefix("aidge-build: ").rstrip("\n")


def within_limits(folder: Path, *words: str, megabytes: int = 600, seconds: int = 10) -> tuple[int, str]:
    """Exit code and stderr of the command in a process that gets so much memory and processor time."""

    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))

    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, *words], cwd=folder, env=environment, preexec_fn=limit, capture_output=True, text=True
    )
    return done.returncode, done.stderr


def test_two_gigabytes_of_zeros_are_refused_by_their_size_and_a_keras_file_of_that_size_by_its_kind(folder):
    for name, head, words in (
        ("zeros.onnx", b"", "the file has 2,147,483,647 bytes, the limit is 268,435,456"),
        ("big.onnx", b"\x89HDF\r\n\x1a\n", "this is an HDF5 file (a Keras .h5 model?), not ONNX"),
        ("big.tflite", b"\x1c\0\0\0TFL3", "the file has 2,147,483,647 bytes, the limit is 268,435,456"),
    ):
        with open(folder / name, "wb") as stream:
            stream.write(head)
            stream.truncate((1 << 31) - 1)
        code, said = within_limits(folder, "compile", name, "--out", "out")
        assert code == 2 and f"{name}: {words}" in said and len(said.splitlines()) == 1


@pytest.mark.parametrize(
    "words",
    [
        ("compile", "{}", "--out", "out"),
        ("check", "{}"),
        ("check", "app.elf", "--plan", "{}"),
        ("report", "app.elf", "--region", "R=0,1,ram", "--plan", "{}"),
        ("export", "net.onnx", "--out", "out", "--io-data", "{}"),
        ("plan", "{}.json"),
        ("compile", "net.onnx", "--out", "out", "--select", "cost", "--cost-table", "{}"),
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_a_pipe_or_device_is_refused_and_never_waited_for(folder, words):
    program = folder / "app.elf"
    program.write_bytes(Path(sys.executable).resolve().read_bytes())
    os.mkfifo(folder / "pipe")
    os.mkfifo(folder / "pipe.json")
    os.symlink("/dev/zero", folder / "device")
    os.symlink("/dev/zero", folder / "device.json")
    for name in ("pipe", "device"):
        assert "this is not a regular file" in refused(*(word.format(name) for word in words))


def test_a_path_with_nul_is_refused(folder):
    assert refused("compile", "net\0.onnx", "--out", "out") == "net\\x00.onnx: the word holds a NUL character. Hint: leave it out"
    with pytest.raises(ValueError):
        read_regular(Path("a\0b"), 10)


DEEP = "[" * 20_000


@pytest.mark.parametrize(
    "text, reason",
    [
        (DEEP, "is JSON that is nested too deep"),
        ('{"a":' * 20_000, "is JSON that is nested too deep"),
        ("not json", "is not JSON (Expecting value: line 1 column 1 (char 0))"),
        ("[]", "the whole is [], wants a table"),
        ('{"model": "m"}', "has no 'model_sha256'"),
        ('{"model": 7, "model_sha256": "", "arena_bytes": 1}', "model is 7, wants text"),
        ('{"model": "m", "model_sha256": "", "arena_bytes": "1"}', "arena_bytes is '1', wants an integer"),
        ('{"model": "m", "model_sha256": "", "arena_bytes": true}', "arena_bytes is True, wants an integer"),
        (
            '{"model": "m", "model_sha256": "", "arena_bytes": 1, "layers": [{"symbol": null}]}',
            "layers[0].symbol is None, wants text",
        ),
        ('{"model": "m", "model_sha256": "", "arena_bytes": 1, "layers": 5}', "layers is 5, wants a list"),
        (
            '{"model": "m", "model_sha256": "", "arena_bytes": 1, "peak_bytes": 1.5}',
            "peak_bytes is 1.5, wants an integer or nothing",
        ),
    ],
)
def test_a_damaged_plan_is_refused_with_the_place(folder, text, reason):
    (folder / "m.plan.json").write_text(text)
    said = refused("check", sys.executable, "--plan", "m.plan.json")
    assert said == f"m.plan.json: {reason}. Hint: N.plan.json of `compile`"


@pytest.mark.requirement("REPORT")
@pytest.mark.parametrize(
    "option, fields, reason",
    [
        ("--plan", {"model": "m", "layers": [{}]}, "has no 'layers[0].symbol'"),
        ("--plan", {"model": "m", "layers": [], "buffers": [{"name": "b"}]}, "has no 'buffers[0].kind'"),
        ("--plan", {"model": "m", "layers": [], "lower_bound_bytes": []}, "lower_bound_bytes is [], wants an integer or nothing"),
        (
            "--counts",
            {"layers": [{"name": "l", "instructions": "9"}]},
            "layers[0].instructions is '9', wants an integer or nothing",
        ),
        ("--diff", {"schema": 1, "regions": [{"name": "R"}]}, "has no 'regions[0].kind'"),
        (
            "--diff",
            {"schema": 1, "regions": [], "stack_bound_bytes": "x"},
            "stack_bound_bytes is 'x', wants an integer or nothing",
        ),
    ],
)
def test_a_report_refuses_damaged_files_with_the_place(folder, option, fields, reason):
    (folder / "given.json").write_text(json.dumps(fields))
    assert refused("report", sys.executable, "--region", "R=0,0x7fffffff,ram", option, "given.json").startswith(
        f"given.json: {reason}. "
    )


def test_an_old_plan_that_is_damaged_does_not_keep_anybody_from_building(folder):
    for text in (
        DEEP,
        "[]",
        '{"files": 3}',
        '{"files": {"net.c": 1}, "layers": [3]}',
        '{"layers": {"a": 1}, "files": {"net.c": ""}}',
    ):
        (folder / "out").mkdir(exist_ok=True)
        (folder / "out" / "net.plan.json").write_text(text)
        assert aidge_build("compile", "net.onnx", "--out", "out").exit_code == 0, text


@pytest.mark.parametrize(
    "place, words",
    [
        ("boards/mine.toml", ("boards", "mine", "--board-path", "boards")),
        ("mine/library.toml", ("kernels", "--kernel-path", "mine")),
        ("costs.toml", ("compile", "net.onnx", "--out", "out", "--select", "cost", "--cost-table", "costs.toml")),
    ],
)
def test_toml_that_is_damaged_or_nested_too_deep_is_refused(folder, place, words):
    (folder / place).parent.mkdir(exist_ok=True)
    for text, reason in (
        (f"a = {'[' * 5000}", "is TOML that is nested too deep"),
        ("a = = 1", "not a TOML file: Invalid value (at line 1, column 5)"),
        (b"\xff", "not a TOML file: 'utf-8' codec can't decode byte 0xff"),
    ):
        (folder / place).write_bytes(text if isinstance(text, bytes) else text.encode())
        assert f"{place}: {reason}" in refused(*words)


@pytest.mark.parametrize(
    "line, reason",
    [
        ("needs = 5", "needs is 5, wants a list"),
        ("needs = [1]", "needs[0] is 1, wants text"),
        ("checkout = true", "checkout is True, wants a list"),
        ("description = 1", "description is 1, wants text"),
        ("default_for = [[]]", "default_for[0] is [], wants text"),
        ("order = {}", "order is {}, wants a list"),
    ],
)
def test_a_key_of_a_library_has_its_type(folder, line, reason):
    (folder / "mine").mkdir()
    (folder / "mine/library.toml").write_text(f'name = "mine"\n{line}\n')
    assert refused("kernels", "--kernel-path", "mine").startswith(f"mine/library.toml: {reason}. Hint: keys: ")


def _zip(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return stream.getvalue()


def _npy(values: numpy.ndarray) -> bytes:
    stream = io.BytesIO()
    numpy.save(stream, values)
    return stream.getvalue()


GOOD_NPY = _npy(numpy.ones((1, 4), numpy.float32))
LYING_NPY = GOOD_NPY.replace(b"(1, 4)", b"(1<<4", 1)
HUGE_NPY = GOOD_NPY.replace(b"'shape': (1, 4), }        ", b"'shape': (1099511627776,) }", 1)[:128] + GOOD_NPY[128:]
SQUEEZED = _zip({"x.npy": GOOD_NPY})


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"PK\x03\x04",
        GOOD_NPY[:20],
        _zip({"x.npy": LYING_NPY}),
        _zip({"x.npy": HUGE_NPY}),
        _zip({"x.npy": b"text"}),
        _zip({"x": b"text"}),
        SQUEEZED.replace(GOOD_NPY[:1], b"", 1)[:-30],
        SQUEEZED[:60] + bytes(40) + SQUEEZED[100:],
        SQUEEZED.replace(b"PK\x01\x02\x14\x03\x14\0\0\0\x08\0", b"PK\x01\x02\x14\x03\x14\0\0\0\x63\0"),
        _zip({"x.npy": _npy(numpy.array([{}], object))}),
    ],
)
def test_damaged_vectors_are_refused(folder, content):
    (folder / "v.npz").write_bytes(content)
    assert refused("export", "net.onnx", "--out", "out", "--io-data", "v.npz").startswith("v.npz: ")
    with pytest.raises(AidgeError, match="is not an NPZ file of plain arrays"):
        read_npz(folder / "v.npz")


def test_vectors_that_unpack_to_more_than_there_is_room_for_are_refused_before_that(folder, monkeypatch):
    monkeypatch.setattr("aidge_build.base.npz.LARGEST_VECTOR_BYTES", 1 << 20)
    (folder / "v.npz").write_bytes(_zip({"x.npy": GOOD_NPY + bytes(1 << 20)}))
    assert "v.npz: is not an NPZ file of plain arrays: its arrays have 1,048,720 bytes, the limit is 1,048,576" in refused(
        "export", "net.onnx", "--out", "out", "--io-data", "v.npz"
    )
    assert LARGEST_VECTOR_BYTES == 512 << 20


def test_a_shape_says_where_a_value_is_another():
    shape = {"a": [{"b?": (int, str)}], "c?": float}
    require_shape({"a": [{}, {"b": 1}, {"b": ""}], "c": 1.5, "more": None}, shape, "f", "X", "h")
    for value, reason in (
        ({}, "has no 'a'"),
        ({"a": [1]}, r"a\[0\] is 1, wants a table"),
        ({"a": [{"b": None}]}, r"a\[0\].b is None, wants an integer or text"),
        ({"a": [], "c": 1}, "c is 1, wants a number"),
        ({"a": "x" * 99}, r"a is 'x{56}\.\.\., wants a list"),
    ):
        with pytest.raises(AidgeError, match=f"f: {reason}"):
            require_shape(value, shape, "f", "X", "h")


@pytest.mark.parametrize("number", ["1e999", "9223372036854775808", "1099511627777", "[]", '"x"', "null"])
def test_a_problem_of_the_planner_with_a_number_that_is_none_is_refused(folder, number):
    for text in (
        '[{"buffers": [[0, 3, %s]]}]',
        '[{"buffers": [[0, %s, 8]]}]',
        '{"tensors": [4, %s], "ops": [], "inputs": [0], "outputs": [0]}',
    ):
        (folder / "p.json").write_text(text % number)
        assert refused("plan", "p.json").startswith("p.json: not a problem of the planner: ")
