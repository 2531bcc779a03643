# SPDX-License-Identifier: MIT
"""Questions about a model and boards: what shares a compilation, what an answer says without any compiler, and how it is kept."""

from __future__ import annotations

import json
import os
import pickle
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from aidge_build import boards
from aidge_build.base.errors import AidgeError
from aidge_build.boards import load_board
from aidge_build.build import inputs
from aidge_build.build.compile import Compilation
from aidge_build.build.inputs import read_folder
from aidge_build.cli.parsing import verb_parser
from aidge_build.measure.fit import evaluate as evaluation_room
from aidge_build.measure.fit.evaluate import _Core, evaluate, evaluate_together
from aidge_build.measure.fit.evaluation import FITS, REFUSED, TOO_SMALL, Evaluation, MemoryUse, evaluation_of
from aidge_build.measure.fit.parallel import cores
from aidge_build.measure.fit.question import Question, opened, read_question
from aidge_build.measure.fit.sharing import board_of, compilation_key, content_key, core_of, equivalence_key, start_up_of
from tests.models import model
from tests.row_networks import chain
from tests.small_model import small_model

BOARD = """
extends = "cortex-m4f"
code = "FLASH"
data = "SRAM"
arena = ["SRAM"]
[regions.FLASH]
origin = 0x08000000
length = "{flash}"
kind = "flash"
[regions.SRAM]
origin = 0x20000000
length = "{ram}"
kind = "ram"
"""


@pytest.fixture
def asked(tmp_path, monkeypatch):
    """A function of a board and options that gives the question about a small model."""
    monkeypatch.setenv("PATH", str(tmp_path))  # where no compiler is
    (tmp_path / "small.onnx").write_bytes(small_model())
    (tmp_path / "boards").mkdir()

    def ask(board: str, *words: str, file: str = "small.onnx", **wanted: bool) -> Question:
        line = [str(tmp_path / file), "--board", board, "--board-path", str(tmp_path / "boards"), *words]
        return read_question(verb_parser("plan").parse_args(line), **wanted)

    def own_board(name: str, **sizes: str) -> str:
        (tmp_path / "boards" / f"{name}.toml").write_text(BOARD.format(**{"flash": "512K", "ram": "64K", **sizes}))
        return name

    ask.own_board, ask.folder = own_board, tmp_path
    return ask


def test_boards_with_the_same_core_flags_and_libraries_share_a_compilation_and_others_do_not(asked):
    names = ("mps2-an386", "nrf52832", "stm32f7", "mps2-an386-nofpu", "rp2040", "stm32f4")
    keys = {board: equivalence_key(asked(board)) for board in names}
    assert keys["mps2-an386"] == keys["nrf52832"]
    assert len(set(keys.values())) == 5
    assert equivalence_key(asked("nrf52840")) == keys["nrf52832"]  # its serial port is of the start-up code alone
    assert equivalence_key(asked("stm32l476")) == keys["stm32f4"]  # a cache of as many bytes keeps loops as long
    assert content_key(asked("mps2-an386")) != content_key(asked("nrf52832"))


def test_memories_of_a_board_of_ones_own_change_the_answers_key_and_not_the_compilations(asked):
    small, large = asked(asked.own_board("small", ram="16K")), asked(asked.own_board("large", ram="128K"))
    assert equivalence_key(small) == equivalence_key(large) == equivalence_key(asked("nrf52832"))
    assert content_key(small) != content_key(large)
    before = content_key(large)
    asked.own_board("large", ram="96K")
    assert content_key(asked("large")) != before


def test_every_option_and_byte_of_the_model_is_part_of_the_key(asked):
    plain = asked("stm32f4")
    (asked.folder / "other.onnx").write_bytes(small_model(seed=1))
    others = [
        asked("stm32f4", file="other.onnx"),
        asked("stm32f4", "--optimize", "size"),
        asked("stm32f4", "--lib", "ref"),
        asked("stm32f4", "--memory-model", "plain"),
        asked("stm32f4", build=True),
        asked("stm32f4", measure=True),
    ]
    assert len({equivalence_key(one) for one in (plain, *others)}) == 1 + len(others)
    assert equivalence_key(asked("stm32f4", "--optimize", "balanced")) == equivalence_key(plain)  # the default


@pytest.mark.parametrize(
    "words", [("--input", "rows"), ("--dma", "on"), ("--constants-in", "CCM=1K"), ("--copy-constants", "memcpy")]
)
def test_options_about_a_boards_memories_bind_the_compilation_to_the_board(asked, words):
    assert equivalence_key(asked("stm32f4", *words)) != equivalence_key(asked("netduinoplus2", *words))


def test_a_table_of_costs_is_read_with_the_wait_states_of_the_board(asked):
    table = asked.folder / "costs.toml"
    table.write_text('schema = 1\nname = "x"\nversion = "1"\nunit = "cycles"\n')
    words = ("--select", "cost", "--cost-table", str(table))
    assert equivalence_key(asked("stm32f4", *words)) != equivalence_key(asked("nrf52832", *words))
    before = equivalence_key(asked("stm32f4", *words))
    table.write_text(table.read_text().replace('"x"', '"y"'))
    assert equivalence_key(asked("stm32f4", *words)) != before


def test_a_question_is_a_value_that_can_be_sent_away_with_the_files_that_it_names(asked):
    asked.own_board("mine", ram="20K")
    question = asked("mine", "--ram-budget", "20K")
    sent = pickle.loads(pickle.dumps(question))
    assert sent == question
    for path in (asked.folder / "boards").iterdir():
        path.unlink()
    (asked.folder / "small.onnx").unlink()
    with opened(sent) as arguments:
        assert arguments.ram_budget == "20K"
        assert open(arguments.model, "rb").read() == small_model()
    found = evaluate(sent)
    assert found.arena_in == (("SRAM", found.arena_bytes),)


def test_answers_asked_for_together_are_those_of_each_alone(asked):
    names = ("mps2-an386", asked.own_board("tiny", ram="9K"), asked.own_board("none", ram="8K"), "nrf52832")
    questions = [asked(name) for name in names]
    together = evaluate_together(questions)
    assert together[1:3] == (evaluate(questions[1]), evaluate(questions[2]))
    assert [one.verdict for one in together] == [FITS, FITS, TOO_SMALL, FITS]
    assert together[3].arena_in == (("RAM", together[3].arena_bytes),)


def test_cores_with_the_same_kernels_share_a_compilation_and_get_the_answers_of_each_alone(asked, monkeypatch):
    made: list[Compilation] = []
    monkeypatch.setattr(evaluation_room, "Compilation", lambda request: made.append(Compilation(request)) or made[-1])
    questions = [asked(name) for name in ("stm32f767", asked.own_board("tiny", ram="9K"), "nrf5340", "mps2-an500")]
    assert len({equivalence_key(question) for question in questions}) == 3
    together = evaluate_together(questions)
    assert len(made) == 1
    assert together == tuple(map(evaluate, questions)) and len(made) == 5
    assert [one.core for one in together] == ["cortex-m7", "cortex-m4", "cortex-m33", "cortex-m7"]
    assert len({compilation_key(asked(name)) for name in ("nrf52832", "stm32f4", "samd51", "mps2-an386-nofpu")}) == 4


def test_the_program_for_a_board_names_that_board_in_what_is_said_of_it(asked):
    with opened(asked("stm32f4", "--optimize", "size")) as arguments:
        core = _Core(inputs.load(arguments, "model"), asked.folder / "work")
        own = core.for_board(load_board("nrf52832")).program
    assert own.made_with == ("--board=nrf52832", "--optimize=size")


def test_questions_that_share_no_compilation_are_not_answered_together(asked):
    with pytest.raises(ValueError, match="share no compilation"):
        evaluate_together([asked("stm32f4"), asked("rp2040")])


def test_without_a_compiler_the_image_is_unknown_and_constants_too_large_for_flash_are_refused_all_the_same(asked):
    names = [
        "nrf52832",
        asked.own_board("short", flash="64"),
        asked.own_board("one_short", flash="255"),
        asked.own_board("exact", flash="256"),
    ]
    found, short, one_short, exact = evaluate_together([asked(name) for name in names])
    assert found.verdict == FITS and found.image_bytes is None and found.constants_bytes == 256
    assert "arm-none-eabi-gcc" in dict(found.unknown)["image"]
    assert short.verdict == TOO_SMALL and short.code == "PLAN04" and short.missing == (("FLASH", 256 - 64),)
    assert one_short.missing == (("FLASH", 1),)
    assert exact.verdict == FITS


def test_missing_ram_is_what_makes_the_board_large_enough(asked):
    names = ["enough", "short", "nearly"]
    sizes = [8192 + 22, 8192, 8192 + 21]  # of which 8 KiB are kept for the firmware
    boards = [asked.own_board(name, ram=str(size)) for name, size in zip(names, sizes, strict=True)]
    enough, short, nearly = evaluate_together([asked(board) for board in boards])
    assert enough.verdict == FITS and enough.arena_bytes == 22
    assert short.verdict == TOO_SMALL and short.missing == (("SRAM", 22),) and short.arena_bytes == 22
    assert nearly.verdict == TOO_SMALL and nearly.missing == (("SRAM", 1),)


def test_what_no_kernel_computes_is_an_answer_with_its_reason_that_names_the_file_as_it_was_given(asked):
    (asked.folder / "odd.onnx").write_bytes(model("y = Det(x)", inputs="float[3,3] x", outputs="float y", constants={}))
    found = evaluate(asked("stm32f4", file="odd.onnx"))
    assert found.verdict == REFUSED and found.reason.startswith("odd.onnx: ") and found.hint and found.code
    assert found.arena_bytes is None and found.memories == ()
    assert "aidge-fit-" not in f"{found.reason}{found.hint}"


EVALUATION = Evaluation(
    model="kws.onnx",
    board="b",
    verdict=TOO_SMALL,
    core="cortex-m4",
    libraries=("a", "b"),
    missing=(("FLASH", 5),),
    reason="r",
    arena_bytes=12,
    arena_in=(("SRAM", 12),),
    memories=(MemoryUse("FLASH", "flash", 105, 100), MemoryUse("SRAM", "ram", 20, 64), MemoryUse("CCM", "ram", 3, 64)),
    image_bytes=105,
    instructions=7,
    instructions_error=2.5,
    unknown=(("stack", "why"),),
)


def test_an_answer_comes_back_from_json_as_it_was():
    assert evaluation_of(json.loads(json.dumps(EVALUATION.as_json()))) == EVALUATION
    assert EVALUATION.ram_bytes == 23
    assert replace(EVALUATION, memories=()).ram_bytes is None
    assert [use.missing_bytes for use in EVALUATION.memories] == [5, 0, 0]


@pytest.mark.parametrize(
    "change",
    [
        {"arena_bytes": "12"},
        {"arena_bytes": True},
        {"verdict": "perhaps"},
        {"memories": [{"name": "X"}]},
        {"memories": [{"name": "X", "kind": "ram", "used_bytes": "1", "length_bytes": 2}]},
        {"memories": 3},
        {"missing": [["FLASH"]]},
        {"missing": [["FLASH", "5"]]},
        {"missing": [5]},
        {"libraries": [1]},
        {"reason": None},
        {"is_built": 1},
        {"surprise": 1},
    ],
)
def test_json_that_is_no_answer_is_refused(change):
    with pytest.raises(ValueError):
        evaluation_of({**json.loads(json.dumps(EVALUATION.as_json())), **change})


@pytest.mark.parametrize("data", [None, [], "x", {}])
def test_other_values_are_no_answer(data):
    with pytest.raises(ValueError):
        evaluation_of(data)


def test_boards_that_need_layers_row_by_row_get_the_plans_that_each_gets_alone(asked):
    (asked.folder / "rows.onnx").write_bytes(chain(2))
    whole = evaluate(asked("stm32f4", file="rows.onnx")).arena_bytes
    sizes = {"enough": whole, "short": whole - 16, "shorter": whole * 3 // 4, "tiny": whole // 8}
    questions = [asked(asked.own_board(name, ram=str(8192 + size)), file="rows.onnx") for name, size in sizes.items()]
    enough, short, shorter, tiny = evaluate_together(questions)
    assert not enough.by_rows and enough.arena_bytes == whole
    assert short.by_rows and shorter.by_rows and short.verdict == shorter.verdict == FITS
    assert short.arena_bytes <= whole - 16 and shorter.arena_bytes <= whole * 3 // 4
    assert tiny.verdict == TOO_SMALL and tiny.missing == (("SRAM", tiny.arena_bytes - whole // 8),)
    assert tiny.arena_bytes < whole and tiny.constants_bytes == enough.constants_bytes
    assert (short, tiny) == (evaluate(questions[1]), evaluate(questions[3]))


def test_a_question_about_the_memories_of_a_board_is_answered_for_that_board(asked):
    found = evaluate(asked("stm32f4", "--constants-in", "CCM=1K"))
    assert found.verdict == FITS and dict(found.unknown)["image"].startswith("board stm32f4 needs")
    assert evaluate_together([]) == ()


def test_predicted_cycles_become_a_time_by_the_clock_of_the_board(asked):
    found = evaluate(asked("stm32f4"))
    assert found.milliseconds > found.instructions / 168e3 and 0 < found.milliseconds_error < 100
    assert "milliseconds" not in dict(found.unknown)


def test_boards_share_a_compilation_where_the_tables_of_their_core_are_equal():
    board = load_board("stm32f4")
    keys = [core_of(replace(board, core=replace(board.core, files={"cores/mine.toml": data}))) for data in (b"a", b"b", b"a")]
    assert keys[0] == keys[2] != keys[1]
    tables = [start_up_of(replace(board, files={"boards/mine.toml": data})) for data in (b"a", b"b")]
    assert tables[0] == tables[1]


def test_boards_with_start_up_code_of_ones_own_share_a_compilation_with_each_other_alone(asked):
    names, built_in = [asked.own_board("mine"), asked.own_board("alike")], equivalence_key(asked("nrf52832"))
    assert {equivalence_key(asked(name)) for name in names} == {built_in}
    for name in names:
        path = asked.folder / "boards" / f"{name}.toml"
        path.write_text('sources = ["mine.c"]\n' + path.read_text())
    (asked.folder / "boards" / "mine.c").write_text("int mine;")
    keys = {equivalence_key(asked(name)) for name in names}
    assert len(keys) == 1 and keys != {built_in}


def test_questions_about_several_cores_read_each_library_and_each_board_of_the_tool_once(asked, monkeypatch):
    read, chain = [], []
    monkeypatch.setattr(inputs, "_own_library", cache(inputs._own_library.__wrapped__))
    monkeypatch.setattr(inputs, "read_folder", lambda folder: (read.append(folder.name), read_folder(folder))[1])
    monkeypatch.setattr(boards, "_built_in", cache(lambda name: (chain.append(name), boards._read_board(name))[1]))
    board_of.cache_clear()
    names = ["stm32f4", "stm32f7", "rp2040"]
    for name in names:
        evaluate(asked(name))
    assert len(read) == len(set(read)) and {"ref", "cortexm", "armv6m"} <= set(read)
    assert chain == names


def test_folders_go_with_a_question_though_they_have_the_same_name(asked):
    folders = [asked.folder / number / "kernels" for number in ("one", "two")]
    for folder in folders:
        folder.mkdir(parents=True)
        (folder / "told.txt").write_text(folder.parent.name)
    words = [word for folder in folders for word in ("--kernel-path", str(folder))]
    question = asked("stm32f4", *words)
    for folder in folders:
        (folder / "told.txt").unlink()
    with opened(question) as arguments:
        assert [(Path(folder) / "told.txt").read_text() for folder in arguments.kernel_path] == ["one", "two"]
    with pytest.raises(AidgeError, match="there is no such folder"):
        asked("stm32f4", "--kernel-path", str(asked.folder / "absent"))


def test_as_many_processes_work_as_this_one_has_cores(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {4, 7, 9} if process == 0 else {4}, raising=False)
    assert cores() == 3
    monkeypatch.delattr(os, "sched_getaffinity")
    for known, expected in ((None, 1), (5, 5)):
        monkeypatch.setattr(os, "cpu_count", lambda known=known: known)
        assert cores() == expected
