# SPDX-License-Identifier: MIT
"""What is said about a model and a board before anything is built for it is what its own program then has."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy
import pytest

from aidge_build.boards import load_board
from aidge_build.build.compile import import_model
from aidge_build.build.inputs import load
from aidge_build.cli.parsing import verb_parser
from aidge_build.measure.fit.evaluate import evaluate, evaluate_together
from aidge_build.measure.fit.evaluation import FITS, TOO_SMALL
from aidge_build.measure.fit.question import opened, read_question
from aidge_build.run.verify.vectors import random_vectors
from tests.command import aidge_build
from tests.programs import needs_cross_compiler
from tests.row_models import image_filter
from tests.row_networks import SIDE, chain
from tests.small_model import small_model

pytestmark = needs_cross_compiler

BOARD = """
extends = "{base}"
[regions.{memory}]
origin = {origin}
length = {length}
kind = "{kind}"
"""


@pytest.fixture
def asked(tmp_path):
    """A function of a board and options that gives the question about a small model."""
    (tmp_path / "small.onnx").write_bytes(small_model(inputs=64, hidden=256))

    def ask(board, *words, **wanted):
        line = [str(tmp_path / "small.onnx"), "--board", board, "--board-path", str(tmp_path), *words]
        return read_question(verb_parser("plan").parse_args(line), **wanted)

    ask.folder = tmp_path
    return ask


def test_the_image_and_all_ram_are_known_to_the_byte_before_the_program_is_linked_for_the_board(asked):
    for name in ("stm32f4", "rp2040") if "AIDGE_STRESS" in os.environ else ("stm32f4",):
        before, after = evaluate(asked(name)), evaluate(asked(name, build=True))
        assert before.verdict == after.verdict == FITS
        assert before.memories == after.memories and before.image_bytes == after.image_bytes > before.constants_bytes
        assert before.arena_in == after.arena_in and not before.is_built and after.is_built
        assert before.stack_bytes is None and 0 < after.stack_bytes < 4096
        assert "stack" in dict(before.unknown) and "stack" not in dict(after.unknown)


def test_a_memory_that_is_too_small_is_named_with_the_bytes_that_the_linker_misses(asked):
    whole = evaluate(asked("rp2040"))
    used = {use.name: use.used_bytes for use in whole.memories}
    sizes = {"flash_short": ("FLASH", 0x10000000, used["FLASH"] - 1), "flash_exact": ("FLASH", 0x10000000, used["FLASH"])}
    for name, (memory, origin, length) in sizes.items():
        text = BOARD.format(base="cortex-m0plus", memory=memory, origin=origin, length=length, kind="flash")
        other = '[regions.SRAM]\norigin = 0x20000000\nlength = "64K"\nkind = "ram"\n'
        (asked.folder / f"{name}.toml").write_text(
            text.replace("[", 'code = "FLASH"\ndata = "SRAM"\narena = ["SRAM"]\n[', 1) + other
        )
    short, exact = evaluate_together([asked("flash_short"), asked("flash_exact")])
    assert exact.verdict == FITS
    assert short.verdict == TOO_SMALL and short.missing == (("FLASH", 1),)
    built, links = evaluate_together([asked("flash_short", build=True), asked("flash_exact", build=True)])
    assert links.verdict == FITS
    assert built.verdict == TOO_SMALL and built.missing == short.missing and built.is_built
    assert built.memories == short.memories
    assert "FLASH" in built.reason and "too small by 1 B" in built.reason


def test_the_instructions_are_those_that_verify_counts_and_a_prediction_says_how_far_it_may_be_off(asked):
    found, other = evaluate_together([asked("stm32f4", measure=True), asked("stm32l4r5", measure=True)])
    assert found.instructions == other.instructions  # behind another flash they take other cycles
    cycles = [one.milliseconds * load_board(one.board).clock_hz / 1e3 for one in (found, other)]
    assert found.instructions < cycles[0] < cycles[1] and found.milliseconds_error < 10 > other.milliseconds_error
    with opened(asked("stm32f4")) as arguments:
        view, _ = import_model(load(arguments, "small"))
    numpy.savez(asked.folder / "x.npz", **random_vectors(view, 1, seed=0))
    checked = aidge_build(
        "verify", asked.folder / "small.onnx", "--board", "stm32f4", "--io-data", asked.folder / "x.npz", "--json"
    )
    assert found.instructions == checked.json["instructions_per_inference"] > 64 * 256
    assert found.instructions_error == 0 and "instructions" not in dict(found.unknown)
    predicted = evaluate(asked("stm32f4"))
    assert 0 < predicted.instructions_error < 50
    off = abs(predicted.instructions - found.instructions)
    assert off <= 1.2 * found.instructions * predicted.instructions_error / 100  # the error of most networks


def test_the_instructions_of_a_board_that_nobody_emulates_are_those_of_its_core(asked):
    emulated, other = evaluate_together([asked("mps3-an547", measure=True), asked("stm32n657", measure=True)])
    assert emulated.instructions == other.instructions
    own = {"board": "", "memories": (), "image_bytes": 0, "arena_in": (), "unknown": ()}
    assert replace(emulated, **own) == replace(other, **own)


def test_processes_side_by_side_give_the_answers_of_one_after_the_other(asked, monkeypatch):
    words = ("fit", asked.folder / "small.onnx", "--boards", "stm32f4,mps2-an385,nrf52832", "--json")
    monkeypatch.setattr("aidge_build.measure.fit.parallel.cores", lambda: 1)
    alone = aidge_build(*words)
    monkeypatch.setattr("aidge_build.measure.fit.parallel.cores", lambda: 2)
    together = aidge_build(*words)
    assert together.exit_code == 0 and together.json == alone.json
    assert [board["board"] for board in together.json["models"][0]["boards"]] == ["nrf52832", "stm32f4", "mps2-an385"]


@pytest.mark.skipif(sys.platform != "linux", reason="looks at the processes of a session in /proc")
def test_an_interrupt_ends_the_command_its_processes_and_its_files(asked, tmp_path):
    (tmp_path / "temporary").mkdir()
    environment = {**os.environ, "TMPDIR": str(tmp_path / "temporary")}
    words = [sys.executable, "-m", "aidge_build", "fit", str(asked.folder / "small.onnx"), "--boards", "stm32f4,rp2040"]
    with subprocess.Popen(
        words, env=environment, stderr=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    ) as started:
        until = time.monotonic() + 60
        while not list((tmp_path / "temporary").glob("*/*/model/small.onnx")) and time.monotonic() < until:
            time.sleep(0.05)
        os.killpg(started.pid, signal.SIGINT)
        out, err = started.communicate(timeout=60)
    assert started.returncode == 130 and out == b"" and b"Traceback" not in err
    assert list((tmp_path / "temporary").iterdir()) == []
    until = time.monotonic() + 10
    while running_in(started.pid) and time.monotonic() < until:
        time.sleep(0.05)
    assert running_in(started.pid) == []


def running_in(session: int) -> list[str]:
    """The processes of a session that have not ended."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, *_, own = path.read_text().rpartition(")")[2].split()[:4]
            found += [path.parent.name] if int(own) == session and state != "Z" else []
    return found


ROWS = ("--input", "rows")


WAYS = [("--io", "arena"), (*ROWS, "--arena", "caller"), (), ROWS, (*ROWS, "--io", "arena"), ("--arena", "caller")]


@pytest.mark.parametrize("words", WAYS if "AIDGE_STRESS" in os.environ else WAYS[:2], ids=str)
def test_the_smallest_firmware_owns_what_the_options_leave_to_it_and_no_more(words, tmp_path):
    (tmp_path / "rows.onnx").write_bytes(chain(2))
    line = [str(tmp_path / "rows.onnx"), "--board", "stm32f401", *words]
    found = evaluate(read_question(verb_parser("plan").parse_args(line), build=True))
    row_bytes = SIDE if ROWS[0] in words else 0
    io_bytes = 0 if "arena" in words and "caller" not in words else found.io_bytes
    beside = found.ram_bytes - 4096 - found.arena_bytes - io_bytes - row_bytes
    assert found.verdict == FITS and 0 <= beside < 128, (found, beside)
    assert found.stack_bytes is not None


def test_the_smallest_firmware_takes_rows_in_and_out_by_turns(tmp_path):
    (tmp_path / "rows.onnx").write_bytes(image_filter())
    line = [str(tmp_path / "rows.onnx"), "--board", "stm32f401", *ROWS, "--output", "rows"]
    found = evaluate(read_question(verb_parser("plan").parse_args(line), build=True))
    assert found.verdict == FITS and found.by_rows and found.io_bytes == 0
    assert found.ram_bytes - 4096 - found.arena_bytes < 256 and found.stack_bytes
