# SPDX-License-Identifier: MIT
"""Input by rows as a plan: what arrives, what is kept of it, and how many bytes wait between two pushes. No compiler."""

from __future__ import annotations

from dataclasses import replace

import pytest

from aidge_build.boards import load_board
from aidge_build.cascade.cascade import Line
from aidge_build.cascade.progress import Progress
from aidge_build.compile import build_program
from aidge_build.program import Options
from tests.command import aidge_build
from tests.compiled import request_of
from tests.row_models import image_classifier, image_filter, sparse_rows
from tests.shared import int8_model


@pytest.mark.parametrize(
    "height, pointers, cursors, bytes_32, bytes_64",
    [
        (96, 1, 1, 16, 24),
        (96, 1, 0, 12, 16),
        (96, 0, 0, 6, 6),
        (96, 0, 1, 12, 12),
        (65_535, 2, 0, 16, 24),
        (65_536, 0, 0, 12, 12),
        (65_536, 1, 2, 24, 32),
    ],
)
def test_what_waits_between_two_pushes_has_the_bytes_of_a_struct(height, pointers, cursors, bytes_32, bytes_64):
    progress = Progress(Line("x", height, 3, 8, {}), pointers, cursors)
    assert (progress.size_bytes(4), progress.size_bytes(8)) == (bytes_32, bytes_64)


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
    cascade, *_ = build_program(replace(request, options=Options(input="rows"))).cascades
    arrived = [(step.first, step.last) for step in cascade.steps if step.arrives]
    assert arrived[0][0] == 0 and all(one[1] == other[0] for one, other in zip(arrived, arrived[1:]))
    line = cascade.lines[cascade.arriving]
    assert arrived[-1][1] <= line.height == 23 and line.rows < 8
    read = [rows for step in cascade.steps for rows in step.reads if rows is not None and rows.tensor == cascade.arriving]
    assert read and all(rows.slot * line.row_bytes % 4 == 0 for rows in read)


def test_rows_that_nobody_reads_are_written_nowhere():
    """When they come, the output may have the place of the rows before them."""
    request = request_of(sparse_rows(), "net.onnx", load_board("host"))
    (cascade,) = build_program(replace(request, options=Options(input="rows"))).cascades
    last = max(step.last for step in cascade.steps if step.arrives)
    assert last == 23 < cascade.lines[cascade.arriving].height and not cascade.steps[-1].arrives


def test_the_ram_of_a_camera_network_whose_input_comes_by_rows():
    plan = planned(int8_model("vww_mobilenet025"), "--board", "stm32f4", "--input", "rows", "--memory-model", "cascade")
    assert plan["peak_bytes"] + 16 <= 16_400
