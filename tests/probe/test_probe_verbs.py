# SPDX-License-Identifier: MIT
"""`run`, `verify` and `report` with a board behind a debug probe."""

from __future__ import annotations

import argparse
import dataclasses
import json
import re
from pathlib import Path

import numpy
import pytest

from aidge_build.boards import load_board
from aidge_build.build.inputs import add_model_arguments, load
from aidge_build.cli import bench, calibrate
from aidge_build.measure.bench.figures import ANY
from aidge_build.measure.bench.measure import Case, measure
from aidge_build.prove.calibrations import read_calibration
from aidge_build.prove.elf import read_image
from aidge_build.run.emulate.program import MeasuredCycles
from aidge_build.run.probe.server import probe_of
from aidge_build.run.toolchain import build_program
from tests.command import aidge_build
from tests.docs.test_schemas import compared
from tests.probe_board import Behaviour, ProbedBoard, probed
from tests.programs import build, model, needs_cross_compiler
from tests.small_model import small_model

pytestmark = needs_cross_compiler
BOARD = "mps2-an386"
OPTIONS = ("--optimize", "size", "--lib", "ref")  # verify takes them from the firmware
MAIN = """
#include "small.h"
static int8_t x[SMALL_INPUT_SIZE], y[SMALL_OUTPUT_SIZE];
volatile int calls;
int main(void) { for (;;) { if (small_run(x, y) != 0) return 1; calls++; } }
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Path:
    """A network, vectors, and a firmware with options of its own that calls it and never returns."""
    folder = tmp_path_factory.mktemp("probed")
    (folder / "small.onnx").write_bytes(small_model())
    random = numpy.random.Generator(numpy.random.PCG64(3))
    x = random.integers(-128, 128, (3, 1, 8), dtype=numpy.int8)
    numpy.savez(folder / "io.npz", x=x, labels=numpy.array([0, 1, 2]))
    assert aidge_build("compile", folder / "small.onnx", "--board", BOARD, "--out", folder, *OPTIONS).exit_code == 0
    (folder / "main.c").write_text(MAIN)
    sources = [folder / "main.c", folder / "small.c", folder / "small_weights.c"]
    build_program(load_board(BOARD), sources, folder / "app.elf", work_folder=folder / "objects", include_folders=[folder])
    return folder


def verify(project: Path, where: str, *words):
    io = project / "io.npz"
    return aidge_build("verify", project / "small.onnx", "--board", BOARD, "--io-data", io, "--probe", where, *words)


def test_a_firmware_that_never_returns_is_verified_as_it_is(project):
    with probed(project / "app.elf", BOARD) as (where, board):
        done = verify(project, where, "--elf", project / "app.elf", "--labels", "labels", "--json")
    assert done.exit_code == 0, done.stderr
    data = done.json
    assert (data["differing_values"], data["values"], data["vectors"]) == (0, 9, 3)
    assert "accuracy" in data
    assert data["cycles_measured"]["counter"] == "CYCCNT"
    assert data["cycles_measured"]["halt_cycles"] == 7
    inside = [layer["cycles_measured"] for layer in data["layers"]]
    assert all(inside) and sum(inside) < data["cycles_measured"]["per_inference"]
    assert data["instructions_per_inference"] > 0 and all(layer["cycles_estimated"] for layer in data["layers"])
    assert board.was_left == "running"


def test_values_that_a_board_computes_wrongly_are_found(project, monkeypatch):
    """A board with a bit of memory that is always 1 where the first output lies, and 0 nowhere else."""
    read, y = ProbedBoard.read, read_image(project / "app.elf").symbol("y").address
    monkeypatch.setattr(ProbedBoard, "read", lambda self, at, size: bytes(b ^ (at == y) for b in read(self, at, size)))
    with probed(project / "app.elf", BOARD) as (where, _):
        done = verify(project, where, "--elf", project / "app.elf", "--json")
    assert (done.exit_code, done.json.get("differing_values")) == (1, 9), done.stderr
    assert done.json["max_difference"] == 1


def test_a_firmware_of_another_model_is_refused(project, tmp_path):
    (tmp_path / "small.onnx").write_bytes(small_model(inputs=9))
    numpy.savez(tmp_path / "io.npz", x=numpy.zeros((1, 1, 9), numpy.int8))
    with probed(project / "app.elf", BOARD) as (where, _):
        done = verify(tmp_path, where, "--elf", project / "app.elf")
    assert done.exit_code == 2
    assert "give the options that the firmware was built with" in done.stderr


def test_other_weights_under_the_same_header_are_refused(project, tmp_path):
    (tmp_path / "small.onnx").write_bytes(small_model(seed=1))
    (tmp_path / "io.npz").write_bytes((project / "io.npz").read_bytes())
    with probed(project / "app.elf", BOARD) as (where, _):
        done = verify(tmp_path, where, "--elf", project / "app.elf")
    assert done.exit_code == 2
    assert "was made from another file" in done.stderr


def test_a_run_on_a_board_says_cycles_and_report_shows_them(project):
    app, out = project / "app.elf", project / "run.json"
    with probed(app, BOARD) as (where, _):
        done = aidge_build("run", app, "--board", BOARD, "--probe", where, "--out", out)
    assert done.exit_code == 0, done.stderr
    line = r"([\d,]+) cycles per inference \(3 measured\) on .* \(over the probe, by CYCCNT, 7 of each halt subtracted\)"
    whole = int(re.search(line, done.stdout)[1].replace(",", ""))
    stored = json.loads(out.read_text())
    compared("run", stored)
    (bound,) = aidge_build("check", app, "--board", BOARD, "--json").json["models"]
    assert 0 < stored["inference_stack_bytes"] <= bound["stack_bound_bytes"]
    assert stored["arena_written_bytes"] == stored["arena_bytes"] > 0 and stored["run_instructions"] > 0
    assert stored["cycles_measured"]["per_run"] == [whole] * 3
    reported = aidge_build("report", app, "--board", BOARD, "--counts", out, "--json")
    assert reported.exit_code == 0, reported.stderr
    (shown,) = reported.json["models"]
    layers = [layer["cycles_measured"] for layer in shown["layers"]]
    assert layers == [layer["cycles_measured"] for layer in stored["layers"]]
    assert sum(layers) + shown["other_cycles_measured"] == whole
    assert re.search(r"\bcycles\b", aidge_build("report", app, "--board", BOARD, "--counts", out).stdout)


def test_a_run_without_a_counter_says_so_and_prints_no_zero(project):
    with probed(project / "app.elf", BOARD, Behaviour(has_dwt=False)) as (where, _):
        done = aidge_build("run", project / "app.elf", "--board", BOARD, "--probe", where)
    assert done.exit_code == 0
    assert "3 inferences on Arm MPS2, AN386 (Cortex-M4F) (over the probe); cycles not measured: CYCCNT does not" in done.stdout


def test_layers_that_have_no_function_are_named(tmp_path):
    app = build(
        BOARD, model().replace("kws_fc(void)", "kws_dense(void)").replace("return kws_fc()", "return kws_dense()"), tmp_path
    )
    with probed(app, BOARD) as (where, _):
        done = aidge_build("run", app, "--board", BOARD, "--probe", where)
    assert "layers not seen (inlined, or not called): kws_fc" in done.stdout, done.stdout + done.stderr


@pytest.fixture(scope="module")
def figures(project):
    """What a board with 5 cycles around each halt says of the network."""
    request = load(model_arguments(str(project / "small.onnx"), "--board", BOARD), "model")
    case = Case("small", ANY, project / "small.onnx", None)
    with probed(project / "app.elf", BOARD, Behaviour(latency=5)) as (where, _):
        return measure(case, request, load_board(BOARD), "", 1, probe_of(where, 5))


def model_arguments(*words: str):
    parser = argparse.ArgumentParser()
    add_model_arguments(parser)
    return parser.parse_args(words)


def test_figures_of_a_board_are_measured_beside_what_is_counted(figures):
    (whole,) = figures.measured.per_run
    assert figures.differing_values == 0 and 0 < whole <= figures.instructions < figures.cycles
    assert 0 < sum(layer.cycles_measured for layer in figures.layers) < whole


def test_bench_has_the_cycles_of_the_board_beside_the_estimate(figures, project, tmp_path, monkeypatch):
    (tmp_path / "small.onnx").write_bytes((project / "small.onnx").read_bytes())
    asked = []
    monkeypatch.setattr(bench, "measure", lambda *given: asked.append(given[-1]) or figures)
    done = aidge_build("bench", tmp_path, "--probe", ":9", "--out", tmp_path / "bench.json")
    assert done.exit_code == 0, done.stderr
    assert [probe.port for probe in asked] == [9]
    assert any(
        f"| {figures.cycles:,} | 0 |" in row and row.endswith(f"| {figures.cycles_measured:,} |")
        for row in done.stdout.splitlines()
    )
    (entry,) = json.loads((tmp_path / "bench.json").read_text())["results"]
    assert entry["measured"]["overhead"] == 5
    refused = aidge_build("bench", tmp_path, "--boards", "mps2-an385,mps2-an386", "--probe", ":9")
    assert refused.exit_code == 2 and "the probe has one board" in refused.stderr


def calibrated(figures, project, monkeypatch):
    monkeypatch.setattr(calibrate, "measure", lambda *given: figures)
    out = project / "calibration.json"
    out.unlink(missing_ok=True)
    return aidge_build("calibrate", project / "small.onnx", "--board", BOARD, "--probe", ":9", "--out", out)


def test_a_calibration_says_what_the_board_counted_and_nothing_of_the_model(figures, project, monkeypatch):
    done = calibrated(figures, project, monkeypatch)
    assert done.exit_code == 0, done.stderr
    text = (project / "calibration.json").read_text()
    (entry,) = json.loads(text)["models"]
    assert json.loads(text)["halt_cycles"] == [5] and "small" not in text
    found = read_calibration(project / "calibration.json")
    assert found.layers == tuple((layer["cycles_estimated"], layer["cycles_measured"]) for layer in entry["layers"])
    errors = sorted(100 * (measured / estimated - 1) for estimated, measured in found.layers)
    assert f"measured on {BOARD}: {errors[0]:+.1f} to {errors[-1]:+.1f} % of the estimate in 2 layers" in done.stdout


@pytest.mark.parametrize(
    "changes, says",
    [
        ({"measured": MeasuredCycles("", "not measured: CYCCNT does not count on this board")}, "CYCCNT does not count"),
        ({"differing_values": 2}, "2 values differ"),
    ],
)
def test_a_board_that_does_not_count_or_not_compute_makes_no_calibration(figures, project, monkeypatch, changes, says):
    done = calibrated(dataclasses.replace(figures, **changes), project, monkeypatch)
    assert done.exit_code == 1 and says in done.stdout
    assert not (project / "calibration.json").exists()


@pytest.mark.parametrize(
    "words, says",
    [
        (("--probe", "nowhere:0"), "is no address and no runner"),
        (("--probe", ":1", "--probe-seconds", "0"), "is no number from"),
        (("--probe", "uf2"), "names no runner"),
    ],
)
def test_what_is_no_probe_is_refused(project, words, says):
    done = aidge_build("run", project / "app.elf", "--board", BOARD, *words)
    assert done.exit_code == 2 and says in done.stderr and done.stderr.count("\n") < 4


def test_a_board_that_no_probe_follows_is_refused(project):
    done = aidge_build("verify", project / "small.onnx", "--io-data", project / "io.npz", "--probe", ":1")
    assert done.exit_code == 2 and "board host: a probe works only with Cortex-M cores" in done.stderr
