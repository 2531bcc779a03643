# SPDX-License-Identifier: MIT
"""How often the digits network is right: on the host and on the emulated board, all 450 images, with limits."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import numpy
import pytest

from aidge_build.boards import load_board
from aidge_build.prove.elf import read_claims, read_image
from aidge_build.run.toolchain import build_program
from tests.command import aidge_build
from tests.models import model
from tests.programs import needs_cross_compiler

DIGITS = Path(__file__).resolve().parents[2] / "examples" / "digits"
CORE = ("--cpu", "cortex-m4", "--fpu", "auto", "--optimize", "size")
CALLS = """#include "net.h"

int main(void)
{
    static int8_t input[NET_INPUT_SIZE], output[NET_OUTPUT_SIZE];
    return net_run(input, output);
}
"""
MODEL, IMAGES = DIGITS / "digits.onnx", DIGITS / "test_images.npz"


def accuracy(*words):
    return aidge_build("accuracy", MODEL, "--labels", IMAGES, *words)


@needs_cross_compiler
def test_all_digits_are_answered_on_the_board_as_on_the_host(tmp_path):
    done = accuracy("--board", "stm32f7", "--min-top1", "0.9888", "--out", tmp_path / "figures.json", "--json")
    assert done.exit_code == 0, done.stderr
    data = done.json
    host, board = data["stages"]
    assert (data["model"], data["task"], data["samples"], data["differing_values"]) == ("digits.onnx", "classes", 450, 0)
    for stage in (host, board):
        assert (stage["top1"]["correct"], stage["top1"]["count"]) == (445, 450)
        assert [round(stage["top1"][name], 4) for name in ("low", "high")] == [0.9743, 0.9952]
        assert sum(map(sum, stage["confusion"])) == 450
        assert sum(row[index] for index, row in enumerate(stage["confusion"])) == 445
    assert (board["name"], board["same_answers"], board["mean_deviation"]) == ("stm32f7", 450, {"scores": 0.0})
    assert board["instructions"] > 50_000 and host["instructions"] is None
    written = json.loads((tmp_path / "figures.json").read_text())
    assert written == {key: value for key, value in data.items() if key != "ok"}


def test_a_broken_limit_ends_with_its_figure_and_leaves_no_file(tmp_path):
    out = tmp_path / "figures.json"
    out.write_text("of an earlier build")
    done = accuracy("--min-top1", "0.995", "--out", out, "--samples", "100")
    assert done.exit_code == 1 and not out.exists()
    assert "FAILED: --min-top1 0.995, reached 0.99\n" in done.stdout
    assert "top-1 99.0 % (99 of 100; 95 % interval 94.6 to 99.8 %)" in done.stdout


def test_images_that_calibration_saw_are_counted(tmp_path):
    images = numpy.load(IMAGES)["x"]
    numpy.savez(tmp_path / "seen.npz", x=numpy.concatenate([images[10:13], 1 - images[:5]]))
    done = accuracy("--samples", "20", "--calibration", tmp_path / "seen.npz")
    assert "WARNING: 3 of the samples are in the calibration data, too" in done.stdout and done.exit_code == 0
    numpy.savez(tmp_path / "seen.npz", x=1 - images[:5])
    assert "WARNING" not in accuracy("--samples", "20", "--calibration", tmp_path / "seen.npz").stdout


def test_the_first_samples_alone_are_measured_when_they_are_asked_for():
    assert accuracy("--samples", "20", "--json").json["stages"][0]["top1"]["count"] == 20


def test_samples_without_labels_say_how_often_the_answer_is_that_of_the_float_model(tmp_path):
    numpy.savez(tmp_path / "images.npz", x=numpy.load(IMAGES)["x"][:8])
    words = ("accuracy", MODEL, "--labels", tmp_path / "images.npz")
    done = aidge_build(*words, "--float", MODEL)
    assert done.exit_code == 0 and "same answer in 8 of 8; mean difference of scores 0" in done.stdout
    assert aidge_build(*words, "--float", MODEL, "--json").json["stages"][0]["same_answers"] == 8
    seen = aidge_build(*words, "--float", MODEL, "--calibration", tmp_path / "images.npz").stdout
    assert "compared with the float model; calibration saw 8 of them" in seen and "WARNING: 8 of the samples are in the" in seen
    for more, reason in (
        ((), "--float F.onnx"),
        (("--float", MODEL, "--min-top1", "0.9"), "--min-top1: limits a figure of labelled"),
    ):
        assert (refused := aidge_build(*words, *more)).exit_code == 2 and reason in refused.stderr
    assert "--labels F.npz" in aidge_build("accuracy", MODEL).stderr


def test_stored_samples_with_their_scale_give_the_figures_of_their_real_values(tmp_path):
    images, labels = (numpy.load(IMAGES)[key][:8] for key in ("x", "labels"))
    stored = {"x": numpy.rint(images * 16 - 3).astype(numpy.int8), "x_scale": numpy.float32(1 / 16), "x_zero_point": -3}
    numpy.savez(tmp_path / "real.npz", x=(stored["x"] + 3).astype(numpy.float32) / 16, labels=labels)
    numpy.savez(tmp_path / "stored.npz", **stored, labels=labels)
    real, converted = (
        aidge_build("accuracy", MODEL, "--labels", tmp_path / name).stdout.splitlines() for name in ("real.npz", "stored.npz")
    )
    assert converted[1].startswith("image: stored with scale 0.0625 and zero point -3, converted to the input's scale ")
    assert [converted[0], *converted[2:]] == real


@pytest.fixture(scope="module")
def program(tmp_path_factory) -> Path:
    """The digits network, linked for the STM32F7 with a main that reads its input from a file."""
    folder = tmp_path_factory.mktemp("linked")
    numpy.savez(folder / "io.npz", x=numpy.zeros((1, 1, 1, 8, 8), numpy.int8))
    words = ("verify", MODEL, "--board", "stm32f7", "--io-data", folder / "io.npz", "--keep", folder)
    assert aidge_build(*words).exit_code == 0
    return folder / "model.elf"


@needs_cross_compiler
def test_the_code_in_a_linked_program_is_called_with_every_image(program):
    done = accuracy("--board", "stm32f7", "--elf", program, "--samples", "20", "--json")
    host, linked = done.json["stages"]
    assert (linked["name"], linked["where"]) == ("model.elf", "model.elf on stm32f7")
    assert linked["same_answers"] == 20 and done.json["differing_values"] == 0 and linked["top1"] == host["top1"]


@needs_cross_compiler
def test_a_program_whose_weights_were_changed_answers_otherwise(program, tmp_path):
    """What is measured is the program: a digest that is believed would not see it."""
    image = read_image(program)
    (claim,) = read_claims(image)
    of_classifier = [image.symbol(name) for name in claim.weights if "classifier" in name]
    symbol = max(of_classifier, key=lambda symbol: symbol.size_bytes)
    section = next(one for one in image.sections if one.name == symbol.section)
    offset = program.read_bytes().index(section.content[symbol.address - section.address :][: symbol.size_bytes])
    data = bytearray(program.read_bytes())
    for place in range(offset, offset + symbol.size_bytes, 4):
        data[place] ^= 0x20
    (tmp_path / "model.elf").write_bytes(data)
    done = accuracy("--board", "stm32f7", "--elf", tmp_path / "model.elf", "--samples", "30")
    assert done.exit_code == 1 and " between the firmware and the host" in done.stdout
    *_, command, other = done.stdout.splitlines()
    assert command == f"Next: aidge-build check {tmp_path / 'model.elf'} --board stm32f7"
    assert other.startswith("if that finds nothing: aidge-build verify ") and other.endswith(
        f" --board stm32f7 --io-data {IMAGES} --against {tmp_path / 'model.elf'}"
    )
    found = aidge_build(*shlex.split(command)[2:])
    assert found.exit_code == 1 and "error MEM14: " in found.stdout and symbol.name in found.stdout, found


@needs_cross_compiler
@pytest.mark.parametrize(
    "words, message",
    [
        ((), "--elf: works only with --board"),
        (("--cpu", "cortex-m7"), "replace --cpu cortex-m7 by --board B"),
        (("--board", "stm32f7", "--optimize", "speed"), "generated with --optimize balanced, and not with --optimize speed"),
        (("--board", "stm32f7", "--io", "arena"), "generated with --io caller, and not with --io arena"),
        (("--board", "mps3-an547"), "functions of a linked program can only be called in Unicorn"),
    ],
)
def test_a_program_that_cannot_be_called_is_refused(program, words, message):
    done = accuracy("--elf", program, "--samples", "1", *words)
    assert done.exit_code == 2 and message in done.stderr and done.stderr.count("\n") == 1


@needs_cross_compiler
def test_a_program_is_measured_with_the_options_of_its_build_which_nobody_gives(tmp_path):
    """A program for a core, as projects without a board file make it: the board of the command only runs it."""
    generated = aidge_build("compile", MODEL, "--name", "net", "--out", tmp_path, *CORE)
    assert generated.exit_code == 0, generated.stderr
    board = load_board("stm32f4")
    sources = [tmp_path / name for name in ("net.c", "net_weights.c")]
    (tmp_path / "main.c").write_text(CALLS)
    elf = tmp_path / "fw.elf"
    build_program(board, [tmp_path / "main.c", *sources], elf, work_folder=tmp_path / "objects", include_folders=[tmp_path])
    done = accuracy("--board", "stm32f4", "--elf", elf, "--samples", "5", "--json")
    assert done.exit_code == 0 and done.json["differing_values"] == 0, done.stderr
    refused = accuracy("--board", "stm32f4", "--elf", elf, "--samples", "5", "--optimize", "speed")
    assert "generated with --optimize size, and not with --optimize speed" in refused.stderr


@needs_cross_compiler
def test_a_program_is_called_with_its_own_weights_bound_with_inputs_in_its_arena_and_with_steps(program, tmp_path):
    numpy.savez(tmp_path / "io.npz", x=numpy.zeros((1, 1, 1, 8, 8), numpy.int8))
    options = ("--update", "weights", "--io", "arena", "--max-step", "20000")
    words = ("--board", "stm32f7", "--io-data", tmp_path / "io.npz", "--keep", tmp_path)
    assert aidge_build("verify", MODEL, *words, *options).exit_code == 0
    words = ("--io-data", IMAGES, "--board", "stm32f7", "--elf", tmp_path / "model.elf", "--samples", "5")
    done = aidge_build("accuracy", MODEL, *words)
    assert done.exit_code == 0 and "; 5 answers are the same" in done.stdout, done
    assert "model.elf: figures of the weights of its build, version 0; --block FILE measures weights that" in done.stdout
    block = tmp_path / "new.bin"
    assert aidge_build("weights", MODEL, "--against", tmp_path / "model.elf", "--out", block).exit_code == 0
    refused = accuracy("--board", "stm32f7", "--elf", program, "--block", block)
    assert refused.exit_code == 2 and refused.stderr.startswith(f"aidge-build: {program}: has no model whose weights can be"), (
        refused
    )


@needs_cross_compiler
def test_a_program_with_another_model_is_refused(program, regression):
    path, labels = regression
    done = aidge_build("accuracy", path, "--labels", labels, "--board", "stm32f7", "--elf", program)
    assert done.exit_code == 2 and "does not hold this model" in done.stderr


@pytest.fixture
def regression(tmp_path) -> tuple[Path, Path]:
    """y = x W in float, and the same with weights a little off; three samples with targets."""
    random = numpy.random.default_rng(0)
    weights, x = random.normal(size=(4, 2)).astype(numpy.float32), random.normal(size=(3, 1, 4)).astype(numpy.float32)
    for name, values in (("float.onnx", weights), ("model.onnx", weights + numpy.float32(0.01))):
        text = model("y = MatMul(x, w)", inputs="float[1,4] x", outputs="float[1,2] y", constants={"w": values})
        (tmp_path / name).write_bytes(text)
    numpy.savez(tmp_path / "test.npz", x=x[:, 0], targets=(x @ weights)[:, 0])
    return tmp_path / "model.onnx", tmp_path / "test.npz"


def test_real_values_have_errors_and_a_deviation_from_the_float_model(regression):
    path, labels = regression
    done = aidge_build("accuracy", path, "--labels", labels, "--float", path.parent / "float.onnx", "--board", "host", "--json")
    before, host, board = done.json["stages"]
    assert before["errors"]["y"]["mae"] < 1e-6 and before["errors"]["y"]["r2"] > 0.999999
    wanted = float(numpy.abs(numpy.load(labels)["x"].sum(1) * 0.01).mean())
    for stage in (host, board):
        assert stage["errors"]["y"]["mae"] == pytest.approx(wanted, rel=1e-3)
        assert stage["mean_deviation"]["y"] == pytest.approx(wanted, rel=1e-3)
    broken = aidge_build("accuracy", path, "--labels", labels, "--max-mae", wanted / 2)
    assert broken.exit_code == 1 and "FAILED: --max-mae" in broken.stdout


def test_outputs_that_are_nan_have_no_figure(regression):
    path, labels = regression
    nans = {"w": numpy.full((4, 2), numpy.nan, numpy.float32)}
    holed = model("y = MatMul(x, w)", inputs="float[1,4] x", outputs="float[1,2] y", constants=nans)
    (path.parent / "float.onnx").write_bytes(holed)
    done = aidge_build("accuracy", path, "--labels", labels, "--float", path.parent / "float.onnx")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "float (host, numpy backend): output 'y' is NaN in 3 of 3 samples, the first has the index 0. Hint: " in done.stderr


@pytest.mark.parametrize(
    "arrays, words, message",
    [
        ({"labels": numpy.array([1])}, (), "there is no array for input 'image'"),
        ({"x": numpy.zeros((1, 8, 8), numpy.float32)}, (), "there is no array 'labels' or 'targets'"),
        (
            {"x": numpy.zeros((1, 9), numpy.float32), "labels": numpy.array([1])},
            (),
            "have dims [9], the model takes [1, 1, 8, 8]",
        ),
        (
            {"x": numpy.zeros((1, 64), numpy.float32), "labels": numpy.array([10])},
            (),
            "a label is 10, output 'scores' has 10 values",
        ),
        ({"x": numpy.zeros((1, 64), numpy.float32), "labels": numpy.array([1])}, ("--max-mae", "1"), "no such figure"),
        (
            {"x": numpy.zeros((1, 64), numpy.float32), "labels": numpy.array([1])},
            ("--labelled-output", "none"),
            "has no output 'none'",
        ),
        (
            {"x": numpy.zeros((1, 64), numpy.float32), "labels": numpy.array([1])},
            ("--float", DIGITS.parent / "zoo" / "gas" / "gas.onnx"),
            "gas.onnx: the samples of input 'x' have dims [64], the model takes [1, 8]",
        ),
    ],
    ids=["no input", "no labels", "dims", "label", "figure", "output", "float"],
)
def test_what_cannot_be_measured_is_refused_in_one_line(tmp_path, arrays, words, message):
    numpy.savez(tmp_path / "test.npz", **arrays)
    done = aidge_build("accuracy", MODEL, "--labels", tmp_path / "test.npz", *words)
    assert done.exit_code == 2 and done.stdout == ""
    assert message in done.stderr and done.stderr.count("\n") == 1
