# SPDX-License-Identifier: MIT
"""Input and output by rows as a plan: what arrives, what is kept of it, and how many bytes wait between calls. No compiler."""

from __future__ import annotations

from dataclasses import replace

import pytest

from aidge_build.boards import load_board
from aidge_build.build.compile import build_program
from aidge_build.plan.cascade.cascade import BandStep, Cascade, Line, Rows
from aidge_build.plan.cascade.progress import Progress
from aidge_build.plan.options import Options
from tests.command import aidge_build
from tests.compiled import request_of
from tests.row_models import image_classifier, image_filter, sparse_rows
from tests.shared import int8_model


def waiting(height: int, cursors: int, sides: str) -> Cascade:
    """A cascade whose steps wait for the firmware at these sides ("in", "out", or both), with so many whole tensors."""
    lines = {name: Line(name, height, 3, 8, {}) for name in ("x", "y")}
    rows = {name: Rows(name, 0, 1, 0) for name in (*lines, *(f"t{number}" for number in range(cursors)))}
    steps = [BandStep("", 0, 1, (), rows["x"])] if "in" in sides else []
    steps += [BandStep(f"layer{number}", 0, 1, (rows[f"t{number}"],), rows["y"]) for number in range(cursors)]
    steps += [BandStep("", 0, 1, (rows["y"],), Rows("", 0, 1, 0))] if "out" in sides else []
    return Cascade((), {}, lines, tuple(steps), arriving="x" * ("in" in sides), departing="y" * ("out" in sides))


@pytest.mark.parametrize(
    "height, pointers, cursors, sides, bytes_32, bytes_64",
    [
        (96, 1, 1, "in", 16, 24),
        (96, 1, 0, "in", 12, 16),
        (96, 0, 0, "in", 6, 6),
        (96, 0, 1, "in", 12, 12),
        (65_535, 2, 0, "in", 16, 24),
        (65_536, 0, 0, "in", 12, 12),
        (65_536, 1, 2, "in", 24, 32),
        (96, 0, 0, "out", 6, 6),
        (96, 1, 1, "out", 16, 24),
        (96, 0, 0, "in out", 12, 12),
        (96, 0, 1, "in out", 16, 16),
        (65_536, 0, 0, "in out", 24, 24),
    ],
)
def test_what_waits_between_two_calls_has_the_bytes_of_a_struct(height, pointers, cursors, sides, bytes_32, bytes_64):
    progress = Progress.of((waiting(height, cursors, sides),), pointers + len(sides.split()))
    assert (progress.size_bytes(4), progress.size_bytes(8)) == (bytes_32, bytes_64)


def test_two_cascades_that_wait_one_after_the_other_repeat_no_call_and_one_does():
    apart = Progress.of((waiting(96, 1, "in"), waiting(96, 2, "out")), 2)
    assert (apart.counts, apart.cursors, apart.takes_turns) == (("rows", "gone", "part"), 3, False)
    together = Progress.of((waiting(96, 1, "in out"),), 2)
    assert together.counts == ("rows", "gone", "part", "pushed", "pulled") and together.takes_turns
    assert apart.size_bytes(4) == 20 and Progress.of((waiting(96, 1, ""),), 2) is None


def planned(path, *words: str) -> dict:
    result = aidge_build("plan", path, "--json", *words)
    assert result.exit_code == 0, result
    return result.json


def test_an_input_by_rows_counts_with_the_rows_that_are_kept_alone(tmp_path):
    path = tmp_path / "net.onnx"
    path.write_bytes(image_filter(16, 32))
    whole, rows = planned(path, "--memory-model", "cascade"), planned(path, "--input", "rows")
    assert whole["peak_bytes"] - rows["peak_bytes"] > 0.6 * 16 * 32 * 4
    assert whole["io_bytes"] - rows["io_bytes"] == 16 * 32 * 4


def test_every_row_arrives_once_and_in_order():
    request = request_of(image_classifier(), "net.onnx", load_board("host"))
    cascade, *_ = build_program(replace(request, options=Options(input="rows"))).schedule.cascades
    arrived = [(step.first, step.last) for step in cascade.steps if step.arrives]
    assert arrived[0][0] == 0 and all(one[1] == other[0] for one, other in zip(arrived, arrived[1:]))
    line = cascade.lines[cascade.arriving]
    assert arrived[-1][1] <= line.height == 23 and line.rows < 8
    read = [rows for step in cascade.steps for rows in step.reads if rows is not None and rows.tensor == cascade.arriving]
    assert read and all(rows.slot * line.row_bytes % 4 == 0 for rows in read)


def test_rows_that_nobody_reads_are_written_nowhere():
    """When they come, the output may have the place of the rows before them."""
    request = request_of(sparse_rows(), "net.onnx", load_board("host"))
    (cascade,) = build_program(replace(request, options=Options(input="rows"))).schedule.cascades
    last = max(step.last for step in cascade.steps if step.arrives)
    assert last == 23 < cascade.lines[cascade.arriving].height and not cascade.steps[-1].arrives


def test_the_ram_of_a_camera_network_whose_input_comes_by_rows():
    plan = planned(int8_model("vww_mobilenet025"), "--board", "stm32f4", "--input", "rows", "--memory-model", "cascade")
    assert plan["peak_bytes"] + 16 <= 16_400
