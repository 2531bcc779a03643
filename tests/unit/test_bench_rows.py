# SPDX-License-Identifier: MIT
"""What a bench measures is a file: boards, data and vectors in rows; whatever else stands there is refused with its place."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.boards import load_board
from aidge_build.measure.bench.figures import Figures
from aidge_build.measure.bench.peers import Peers
from aidge_build.measure.bench.record import compare_with, record_text
from aidge_build.measure.bench.rows import Row, read_rows, rows_of
from aidge_build.measure.bench.table import tables
from aidge_build.prove.timing.deviation import Deviation

OURS = Path(__file__).resolve().parents[2] / "docs" / "benchmarks.toml"
KINDS = ("int8", "float")


def rows(folder: Path, text: str):
    path = folder / "rows.toml"
    path.write_text(text)
    return read_rows(path, KINDS)


def test_a_row_takes_its_data_and_the_fewer_vectors(tmp_path):
    whole, part = rows(tmp_path, '[[rows]]\nboards = ["a"]\n[[rows]]\nboards = ["b", "c"]\ndata = ["int8"]\nvectors = 2\n')
    assert whole == Row(("a",)) and part.boards == ("b", "c")
    assert [row.takes(data) for row in (whole, part) for data in KINDS] == [True, True, True, False]
    assert [whole.most_vectors(None), whole.most_vectors(5), part.most_vectors(None), part.most_vectors(5)] == [None, 5, 2, 2]
    assert part.most_vectors(1) == 1


def test_boards_that_are_named_keep_the_data_and_vectors_of_their_rows():
    found = (Row(("a", "b")), Row(("c", "d"), ("int8",), 1))
    assert rows_of(found, ["d", "b"]) == (Row(("b",)), Row(("d",), ("int8",), 1))
    assert rows_of(found, ["c", "e"]) == (Row(("c",), ("int8",), 1), Row(("e",)))


@pytest.mark.requirement("BENCH")
@pytest.mark.parametrize(
    "text, message",
    [
        ("[[rows", "not a TOML file"),
        ("", "wants tables"),
        ("rows = 3", "wants tables"),
        ('title = "x"\n[[rows]]\nboards = ["a"]', "wants tables"),
        ("[[rows]]\nvectors = 1", "row 1.*names no boards"),
        ('[[rows]]\nboards = ["a"]\n[[rows]]\nboards = [1]', "row 2.*names no boards"),
        ('[[rows]]\nboards = ["a"]\nvectors = 0', "'vectors': 0"),
        ('[[rows]]\nboards = ["a"]\nvectors = true', "'vectors' with True"),
        ('[[rows]]\nboards = ["a"]\ndata = ["int4"]', "'data'.*int4"),
        ('[[rows]]\nboards = ["a"]\ncolour = "red"', "'colour'"),
    ],
)
def test_a_file_that_is_no_rows_is_refused(tmp_path, text, message):
    with pytest.raises(AidgeError, match=message):
        rows(tmp_path, text)


@pytest.mark.requirement("BENCH")
def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(AidgeError, match="cannot|read"):
        read_rows(tmp_path / "no.toml", KINDS)


def test_our_rows_name_a_board_for_each_kind_of_core():
    found = [load_board(name) for row in read_rows(OURS, KINDS) for name in row.boards]
    assert {board.cpu for board in found} >= {
        *("cortex-m0plus", "cortex-m3", "cortex-m4", "cortex-m7", "cortex-m33", "cortex-m33+nodsp", "cortex-m55")
    }
    assert {frozenset({"thumb2", "dsp"}), frozenset({"thumb2", "dsp", "fpu"})} <= {board.features for board in found}


def figures(cpu: str, model: str = "kws_dscnn", data: str = "int8", has_fpu: bool = True) -> Figures:
    numbers = dict.fromkeys(
        """vectors differing_values instructions cycles macs macs_executed peak_bytes arena_bytes io_bytes scratch_bytes
        stack_bytes code_bytes weights_bytes flash_bytes start_up_instructions""".split(),
        5,
    )
    return Figures(model=model, data=data, board="b", cpu=cpu, layers=(), has_fpu=has_fpu, **numbers)


def test_cores_without_an_interpreter_are_compared_with_the_kernels_alone():
    peers = Peers(
        {
            "tflm_cmsis_nn": {"instructions": {"cortex-m4": {"kws_dscnn": 40}}},
            "cmsis_nn_plain_c_kws_instructions": {"about": "how", "cortex-m3": 20, "cortex-m0plus": 30},
        }
    )
    counted = {
        cpu: peers.counted("instructions", figures(cpu)) for cpu in ("cortex-m4", "cortex-m3", "cortex-m0plus", "cortex-m55")
    }
    assert counted == {"cortex-m4": 40, "cortex-m3": 20, "cortex-m0plus": 30, "cortex-m55": None}
    assert peers.counted("instructions", figures("cortex-m33+nodsp")) == 20
    assert peers.counted("instructions", figures("cortex-m3", model="other")) is None
    assert peers.counted("instructions", figures("cortex-m3", data="float")) is None
    assert peers.counted("arena_bytes", figures("cortex-m3")) is None
    assert peers.instruction_ratio(figures("cortex-m3")) == 4


def test_a_core_is_compared_with_one_that_runs_the_same_code():
    peers = Peers(
        {
            "tflm_cmsis_nn": {"instructions": {"cortex-m4": {"kws_dscnn": 40}, "cortex-m7": {"other": 1}}},
            "published_cycles_cortex_m4": {"a": {"kws_dscnn": 70}, "b": {"kws_dscnn": 60}, "c": {"other": 5}},
            "onnx2c_float32_instructions_per_mac_cortex_m4": {"kws_dscnn_like": 9.5},
        }
    )
    cores = ("cortex-m4", "cortex-m33", "cortex-m3", "cortex-m33+nodsp", "cortex-m55", "host")
    assert [peers.counted("instructions", figures(cpu)) for cpu in cores] == [40, 40, None, None, None, None]
    assert peers.counted("instructions", figures("cortex-m7")) is None  # it was counted itself, on another model
    assert [peers.published_cycles(figures(cpu)) for cpu in ("cortex-m4", "cortex-m7")] == [60, None]
    assert [peers.float_per_mac(figures(cpu, data="float")) for cpu in cores] == [9.5, 9.5, None, None, None, None]
    assert (
        peers.float_per_mac(figures("cortex-m4")) is None and peers.published_cycles(figures("cortex-m4", data="float")) is None
    )


def test_a_core_without_its_fpu_says_so():
    assert [figures("cortex-m4", has_fpu=has).core for has in (True, False)] == ["cortex-m4", "cortex-m4 without FPU"]


def test_the_table_of_ram_adds_what_the_caller_owns_to_what_is_linked():
    entry = replace(figures("cortex-m4"), arena_bytes=1280, io_bytes=1283, peak_bytes=1920)
    lines = [line for line in tables([entry], Peers()).split("\n") if "as linked" in line or "1,280" in line]
    named = dict(zip(*([cell.strip() for cell in line.split("|")] for line in lines)))
    assert (named["arena as linked"], named["inputs, outputs of the caller"], named["both"]) == ("1,280", "1,283", "2,563")
    assert named["peak RAM, all in one arena"] == "1,920"


def test_times_are_on_every_board_and_equal_counts_in_one_row():
    emulated = figures("cortex-m4")
    error = Deviation(8, -0.1, 0.02, 0.05)
    board = replace(emulated, board="mine", cycles=2_000_000, stall_cycles=500_000, clock_hz=100_000_000, cycles_error=error)
    board = replace(board, nanojoules_per_cycle=0.5)
    assert (board.milliseconds, board.nanojoules, emulated.milliseconds, emulated.nanojoules) == (20, 1e6, None, None)
    text = tables([emulated, board], Peers())
    assert "| kws_dscnn | cortex-m4 | mine | 100 | 20.00 | 2,000,000 | 500,000 | -10.0 to +2.0 % | 1,000.00 |\n" in text
    time, instructions, *_ = text.split("### int8: ")[1:]
    assert (time.count("| kws_dscnn |"), instructions.count("| kws_dscnn |")) == (2, 1)
    assert tables([emulated, replace(board, code_bytes=6)], Peers()).count("| kws_dscnn |") == 8


def test_a_record_says_which_timing_tables_its_cycles_are_from():
    record = json.loads(record_text("a compiler", [figures("cortex-m4")]))
    for entry in record["results"]:
        entry["key"] = (entry["model"], entry["data"], entry["board"])
    assert compare_with(record, []).stale == ()
    record["timing_tables"]["cortex-m4"] = "0123456789ab"
    assert compare_with(record, []).stale == ("cycles were recorded with other timing tables: cortex-m4",)
