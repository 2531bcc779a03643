# SPDX-License-Identifier: MIT
"""`aidge-build fit`: rows, their order, budgets and exit codes, all without a compiler."""

from __future__ import annotations

import argparse
import json
import re
import shlex
from types import SimpleNamespace

import numpy
import onnx
import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.boards import load_board
from aidge_build.cli.fit import _data, _next, add_arguments
from aidge_build.measure.fit import cache
from aidge_build.measure.fit.answer_table import _style, cells_of, lines_of, notes_of, size
from aidge_build.measure.fit.budget import Budget, Row, budget_of, sorted_rows
from aidge_build.measure.fit.evaluation import FITS, REFUSED, TOO_SMALL, Evaluation, MemoryUse
from aidge_build.measure.report.fit_page import fit_page
from tests.command import aidge_build
from tests.models import model
from tests.small_model import small_model

KNOWN = Evaluation(
    "m.onnx",
    "stm32f401",
    FITS,
    "cortex-m4",
    arena_bytes=100,
    arena_in=(("SRAM", 100),),
    memories=(MemoryUse("FLASH", "flash", 40_000, 512 << 10), MemoryUse("SRAM", "ram", 5_000, 96 << 10)),
    image_bytes=40_000,
    instructions=1_234_567,
    instructions_error=0.0,
)


BOARD = load_board("stm32f401")


def row(board: str = "stm32f401", excess: tuple[str, ...] = (), **changes) -> Row:
    return Row(
        Evaluation(**{**{name: getattr(KNOWN, name) for name in vars(KNOWN)}, "board": board, **changes}),
        load_board(board),
        excess,
    )


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))  # where no compiler is
    monkeypatch.setattr(cache, "_compiler_versions", lambda prefix, packages: "")  # kept, it would outlive this PATH
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.onnx").write_bytes(small_model())
    (tmp_path / "other.onnx").write_bytes(small_model(seed=1))
    return tmp_path


def test_every_model_gets_a_row_for_each_board_and_what_is_unknown_a_reason(folder):
    result = aidge_build("fit", "small.onnx", "other.onnx", "--boards", "stm32f4,mps2-an386")
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    assert [line for line in lines if "fits 2 of 2 boards" in line] == [
        "small.onnx: fits 2 of 2 boards",
        "other.onnx: fits 2 of 2 boards",
    ]
    first = lines[1:4]
    assert first[0].split() == ["board", "core", "verdict", "RAM", "flash", "arena", "instructions", "time"]
    assert first[1].split()[0] == "stm32f4" and first[2].split()[:2] == ["mps2-an386", "*"]
    assert "22 B" in first[1] and "? of 192K" in first[1]
    assert any(line.startswith("not known: flash: ") and "arm-none-eabi-gcc" in line for line in lines)
    assert any(line.startswith("* ") and "verified = false" in line for line in lines)
    assert "Next: aidge-build fit small.onnx --board stm32f4 --build --measure" in lines


def test_what_compile_says_of_slow_kernels_fit_and_explain_say_too(folder):
    """A core without DSP has other kernels: one line, with the names of boards where others have faster kernels."""
    words = ("--board", "rp2040")
    said = [
        line
        for line in aidge_build("compile", "small.onnx", *words, "--out", "c").stdout.splitlines()
        if "2 layers take more than" in line
    ]
    assert len(said) == 1, said
    (notice,) = (line.removeprefix("small.onnx: ") for line in said)
    alone = aidge_build("fit", "small.onnx", "--board", "rp2040,samd21").stdout.splitlines()
    assert alone.count(said[0]) == 1, alone
    mixed = ("fit", "small.onnx", "--board", "rp2040,stm32f4")
    assert f"{said[0]} (on rp2040)" in aidge_build(*mixed).stdout.splitlines()
    rows = {row["board"]: row["notices"] for row in aidge_build(*mixed, "--json").json["models"][0]["boards"]}
    assert rows == {"rp2040": [notice], "stm32f4": []}
    assert said[0] in aidge_build("explain", "small.onnx", *words).stdout.splitlines()


@pytest.mark.parametrize(
    "words, command",
    [
        ("--optimize size --io arena", "fit m.onnx --board stm32f401 --io arena --optimize size --build --measure"),
        (
            "--quantize 'my samples.npz' --ranges mse --budget ram=64K",
            "fit m.onnx --board stm32f401 --quantize 'my samples.npz' --ranges mse --budget ram=64K --build --measure",
        ),
        (
            "--board-path a --board-path b --bind n=2",
            "fit m.onnx --board stm32f401 --bind n=2 --board-path a --board-path b --build --measure",
        ),
        ("--build --measure", "new DIR --board stm32f401 --model m.onnx"),
        ("--build --measure --board-path a", "new DIR --board stm32f401 --model m.onnx --board-path a"),
        ("--build --measure --quantize s.npz", "compile m.onnx --board stm32f401 --quantize s.npz --out generated"),
    ],
)
def test_the_command_to_type_next_keeps_the_options_that_the_answer_depends_on(words, command):
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    assert _next("m.onnx", [row()], parser.parse_args(["m.onnx", *shlex.split(words)])) == [f"Next: aidge-build {command}"]


def test_a_model_that_fits_no_board_fails_the_command_and_names_what_is_missing(folder):
    (folder / "none.toml").write_text('extends = "stm32f401"\nreserved = "96K"\n')
    result = aidge_build("fit", "small.onnx", "--boards", "none", "--board-path", folder, "--json")
    assert result.exit_code == 1 and not result.json["ok"]
    (model,) = result.json["models"]
    (board,) = model["boards"]
    assert model["fits"] == 0 and board["verdict"] == "too small" and board["missing"] == [["SRAM", 22]]
    text = aidge_build("fit", "small.onnx", "--boards", "none", "--board-path", folder).stdout
    assert "small.onnx: fits 0 of 1 board" in text and "too small: SRAM +22 B" in text and "Less RAM: --io arena" in text


def lacking(code: str = "PLAN01", **options) -> list[str]:
    """The advice for a board without RAM for the model."""
    given = {
        "io": "caller",
        "input": "whole",
        "output": "whole",
        "optimize": "balanced",
        "memory_model": "default",
        "ram_budget": None,
    }
    arguments = SimpleNamespace(build=False, measure=False, **{**given, **options})
    return _next("m.onnx", [row(verdict=TOO_SMALL, code=code, missing=(("SRAM", 9),))], arguments)


@pytest.mark.parametrize(
    "code, options, advice",
    [
        ("PLAN01", {}, "--io arena, --input rows, --output rows; no promise"),
        ("PLAN01", {"io": "arena", "input": "rows"}, "--output rows; no promise"),
        (
            "PLAN01",
            {"memory_model": "plain", "input": "rows", "output": "rows"},
            "--io arena, --memory-model cascade or --ram-budget B",
        ),
        (
            "LINK_OVERFLOW",
            {"io": "arena"},
            "--input rows, --output rows, --memory-model cascade or --ram-budget BYTES; no promise",
        ),
        ("LINK_OVERFLOW", {"io": "arena", "ram_budget": "9K"}, "--input rows, --output rows, a smaller --ram-budget; no promise"),
        ("PLAN01", {"io": "arena", "input": "rows", "output": "rows", "memory_model": "cascade"}, "no option is left"),
    ],
)
def test_options_that_are_on_or_that_the_planner_tried_already_are_not_advised(code, options, advice):
    (line,) = lacking(code, **options)
    assert line.startswith(f"Less RAM: {advice}")


@pytest.mark.parametrize(
    "nodes, stored",
    [("y = MatMul (x, w)", numpy.float32), ("v = DequantizeLinear (w, s) y = MatMul (x, v)", numpy.int8)],
    ids=["float weights", "weights stored in int8"],
)
def test_a_float_model_is_called_one_and_gets_the_option_that_makes_it_int8(folder, nodes, stored):
    made = onnx.load_from_string(model(nodes, inputs="float[1,8] x", outputs="float[1,3] y"))
    constants = {"w": numpy.ones((8, 3), stored), "s": numpy.float32(0.5)}
    made.graph.initializer.extend(onnx.numpy_helper.from_array(array, name) for name, array in constants.items())
    (folder / "float.onnx").write_bytes(made.SerializeToString())
    numpy.savez(folder / "samples.npz", x=numpy.random.default_rng(1).normal(size=(100, 8)).astype(numpy.float32))
    asked = (["float.onnx"], ["small.onnx"], ["float.onnx", "--quantize", "samples.npz"])
    texts = [aidge_build("fit", *words, "--board", "stm32f4").stdout for words in asked]
    assert ["\nFloat: the model computes in float32; --quantize samples.npz makes it int8" in text for text in texts] == [
        True,
        False,
        False,
    ]


def test_a_chip_is_answered_for_with_the_board_that_it_means(folder):
    said = aidge_build("fit", "small.onnx", "--board", "stm32f405,stm32f4").stdout
    meant, title, *_ = said.splitlines()
    assert meant == "--board stm32f405: netduinoplus2 is the board with this chip (Netduino Plus 2 (STM32F405, without its CCM))"
    assert title.startswith("small.onnx: fits ")


def test_a_board_that_lacks_room_in_several_memories_says_what_each_of_them_holds():
    short = row("stm32f4", verdict=TOO_SMALL, missing=(("SRAM1", 9), ("CCM", 7)))
    (line,) = [line for line in notes_of([short]) if line.startswith("too small: ")]
    assert "stm32f4: " in line and "SRAM1 holds data and stack and arena" in line and "CCM holds arena" in line
    assert not any(line.startswith("too small") for line in notes_of([row(verdict=TOO_SMALL, missing=(("SRAM", 9),))]))


@pytest.mark.parametrize(
    "words, named",
    [
        (("small.onnx", "--budget", "ram=many"), "--budget"),
        (("small.onnx", "--boards", "stm32f5"), "stm32f5"),
        (("small.onnx", "--boards", "stm32f4", "--ram-budget", "x"), "ram-budget"),
        (("small.onnx", "--boards", "stm32f4", "--ranges", "mse"), "--ranges"),
        (("absent.onnx", "--boards", "stm32f4"), "absent.onnx"),
    ],
)
def test_wrong_words_are_refused_in_one_line_as_in_every_verb(folder, words, named):
    result = aidge_build("fit", *words)
    assert result.exit_code == 2 and named in result.stderr and len(result.stderr.splitlines()) == 1, result.stderr


def test_without_a_model_the_boards_are_listed_and_those_that_nobody_compared_marked(folder):
    result = aidge_build("fit")
    assert result.exit_code == 0
    rows = {line.split()[0]: line for line in result.stdout.splitlines()}
    assert rows["mps2-an386"].endswith("*") and not rows["stm32f4"].endswith("*") and "host" not in rows
    listed = aidge_build("fit", "--json").json["boards"]
    assert {board["name"] for board in listed} <= set(rows) and not all(board["verified"] for board in listed)


def _fail(questions):
    raise ArithmeticError(questions)


def test_the_second_time_is_answered_from_what_the_first_one_kept(folder, monkeypatch):
    monkeypatch.setenv("AIDGE_CACHE", str(folder / "cache"))
    monkeypatch.setattr("aidge_build.measure.fit.parallel.is_lasting", lambda question, evaluation: True)
    words = ("fit", "small.onnx", "--boards", "stm32f4,nrf52832", "--json")
    first = aidge_build(*words)
    assert len(list((folder / "cache").rglob("*.json"))) == 2
    monkeypatch.setattr("aidge_build.measure.fit.parallel.evaluate_together", _fail)
    assert aidge_build(*words).json == first.json
    (folder / "small.onnx").write_bytes(small_model(seed=2))
    assert aidge_build(*words).exit_code == 70


def test_the_smallest_board_that_does_is_first_and_the_others_follow_by_what_they_miss():
    rows = [
        row("stm32f4"),
        row("stm32l053", verdict=TOO_SMALL, missing=(("SRAM", 9),)),
        row("nrf52832", verdict=REFUSED, code="KERNEL"),
        row("stm32f401", excess=("RAM +1 B",)),
        row("stm32f446", verdict=TOO_SMALL, missing=(("SRAM", 3), ("FLASH", 5))),
        row("stm32f411"),
    ]
    assert [each.board.name for each in sorted_rows(rows)] == [
        "stm32f411",
        "stm32f4",
        "stm32f401",
        "stm32f446",
        "stm32l053",
        "nrf52832",
    ]


def test_a_verdict_says_how_it_fits_or_what_is_missing():
    assert row().verdict == "fits"
    assert row(by_rows=True, arena_in=(("A", 1), ("B", 2))).verdict == "fits, by rows, in 2 memories"
    assert row(verdict=TOO_SMALL, missing=(("SRAM", 1_234), ("FLASH", 5))).verdict == "too small: SRAM +1,234 B, FLASH +5 B"
    assert row(verdict=REFUSED, code="KERNEL").verdict == "refused: KERNEL"
    assert row(excess=("RAM +1 B", "time not known")).verdict == "over budget: RAM +1 B, time not known"
    assert row().is_kept and not row(excess=("x",)).is_kept and not row(verdict=TOO_SMALL).is_kept


def test_a_budget_holds_to_the_byte_and_what_is_unknown_is_over_it():
    assert budget_of("") == Budget() and budget_of("ram=64K,flash=256K,ms=50") == Budget(65536, 262144, 50.0)
    assert Budget().excess(KNOWN, BOARD) == ()
    assert Budget(ram_bytes=5_000, flash_bytes=40_000).excess(KNOWN, BOARD) == ()
    assert Budget(ram_bytes=4_999).excess(KNOWN, BOARD) == ("RAM +1 B",)
    assert Budget(flash_bytes=39_000).excess(KNOWN, BOARD) == ("flash +1,000 B",)
    assert Budget(milliseconds=50).excess(KNOWN, BOARD) == ("time not known",)
    timed = row(milliseconds=50.0, milliseconds_error=10.0).found
    assert Budget(milliseconds=56).excess(timed, BOARD) == () and Budget(milliseconds=54).excess(timed, BOARD) == ("+1.0 ms",)
    assert Budget(1, 1).excess(row(memories=(), image_bytes=None).found, BOARD) == ("RAM not known", "flash not known")
    cached = row(milliseconds=50.0, milliseconds_error=10.0, milliseconds_uncached=400.0).found
    assert Budget(milliseconds=56).excess(cached, BOARD) == ("+344.0 ms",)
    assert Budget(milliseconds=56).excess(timed, load_board("stm32n657")) == ("time compared with no chip",)


@pytest.mark.parametrize(
    "text", ["ram", "ram=", "ram=x", "rom=4K", "ram=1K,ram=2K", "ms=-1", "ms=0", "ms=nan", "ms=inf", "ms=x", "flash=1.5"]
)
def test_words_that_are_no_budget_are_refused(text):
    with pytest.raises(AidgeError, match="wants ram=BYTES"):
        budget_of(text)


def test_cells_say_what_is_predicted_and_with_which_error():
    assert cells_of(row())[3:] == ("5,000 of 96K", "40,000 of 512K", "100 B", "1,234,567", "not known", "not known")
    predicted = cells_of(row(instructions_error=4.5, milliseconds=12.34, milliseconds_error=8.0, stack_bytes=312))
    assert predicted[6:] == ("~1,234,567 ±4.5 %", "11 to 14 ms at 84 MHz", "312 B")
    assert [size(count) for count in (1 << 20, 96 << 10, 1_000, 1_025 << 10)] == ["1M", "96K", "1,000 B", "1,025K"]


def test_a_time_is_a_range_of_two_digits_that_holds_both_ends():
    for shortest, longest, text in ((19.07, 143.9, "19 to 150 ms"), (0.0, 4.0, "0 to 4 ms"), (0.0123, 0.0999, "0.012 to 0.1 ms")):
        middle = (shortest + longest) / 2
        found = row(milliseconds=middle, milliseconds_error=100 * (longest / middle - 1))
        assert cells_of(found)[7] == f"{text} at 84 MHz"
    assert cells_of(row(milliseconds=1234.0, milliseconds_error=0.0))[7] == "1,200 to 1,300 ms at 84 MHz"


def test_the_notes_name_the_memories_that_ram_adds_up_and_the_stack_in_it():
    (line,) = [line for line in notes_of([row()]) if line.startswith("RAM: ")]
    assert re.fullmatch(r"RAM: inputs, outputs and a stack of [\d,]+ B included, of stm32f401: SRAM 96K", line)
    many = notes_of([row(), *(row(name) for name in ("nrf52832", "stm32f4", "stm32f411", "stm32f446"))])
    assert any(line.endswith("included, of all RAM of a board together") for line in many)


def test_columns_of_which_nothing_is_known_are_left_out_and_a_model_that_no_board_takes_is_one_line():
    assert "stack" not in lines_of("m", [row()])[1] and "instructions" in lines_of("m", [row()])[1]
    refused = lines_of("m", [row(verdict=REFUSED, reason="no kernel for Det", hint="write one", code="KERNEL")])
    assert refused == ["FAILED: no kernel for Det", "Hint: write one"]
    mixed = lines_of("m", [row(), row("nrf52832", verdict=REFUSED, reason="no", hint="h", code="KERNEL")])
    assert mixed[0] == "m: fits 1 of 2 boards" and mixed[-1] == "Refused: no. Hint: h"


def test_the_page_draws_each_board_and_escapes_names():
    page = fit_page({"<m>.onnx": [row(), row("nrf52832", verdict=TOO_SMALL, missing=(("RAM", 7),), memories=())]})
    assert "&lt;m&gt;.onnx: fits 1 of 2 boards" in page and "<m>" not in page
    assert page.count("too small: RAM +7 B") == 2  # in the picture and in the table
    assert "stm32f401: SRAM 5,000 of 98,304 B" in page and "stm32f401: FLASH 40,000 of 524,288 B" in page
    assert "http" not in page


def test_a_page_is_written_where_it_is_asked_for(folder):
    result = aidge_build("fit", "small.onnx", "--boards", "stm32f4", "--html", "page.html", "--json")
    assert result.exit_code == 0 and json.loads(result.stdout)["models"][0]["boards"][0]["arena_bytes"] == 22
    assert "small.onnx: fits 1 of 1 board" in (folder / "page.html").read_text()


def test_the_energy_is_that_of_the_time_where_the_board_states_it():
    boards = {name: _data({"m": [row(name, milliseconds=20.0)]})[0]["boards"][0] for name in ("stm32u575", "stm32f4")}
    assert boards["stm32u575"]["nanojoules"] == pytest.approx(0.02 * 160e6 * 0.145) and boards["stm32f4"]["nanojoules"] is None
    assert _data({"m": [row("stm32u575", milliseconds=None)]})[0]["boards"][0]["nanojoules"] is None


def test_what_is_kept_what_only_fits_and_what_does_not_have_colours_of_their_own():
    def style(is_kept: bool, verdict: str) -> str:
        return _style(SimpleNamespace(is_kept=is_kept, found=SimpleNamespace(verdict=verdict)))

    assert (style(True, FITS), style(False, FITS), style(False, TOO_SMALL)) == ("green", "yellow", "bold red")
