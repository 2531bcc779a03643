# SPDX-License-Identifier: MIT
"""Timing tables are files that people write: what is wrong in one is said, and a core of one's own may have one."""

from __future__ import annotations

import re
from dataclasses import fields

import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.base.installed import board_folder
from aidge_build.boards.cores import load_core
from aidge_build.contract.thumb.instruction import read_disassembly
from aidge_build.contract.thumb.work import work_of
from aidge_build.contract.work import KINDS, PARENTS
from aidge_build.prove.timing.table import KindTiming, TimingTable, load_timing, timing_of


def core_with(folder, table: str):
    (folder / "cores" / "timing").mkdir(parents=True)
    (folder / "cores" / "ours.toml").write_text('extends = "cortex-m4"\ntiming = "ours"\n')
    (folder / "cores" / "timing" / "ours.toml").write_text(table)
    return load_core("ours", [folder])


def test_a_table_of_ones_own_is_laid_over_the_one_that_it_extends(tmp_path):
    table = timing_of(core_with(tmp_path, 'extends = "cortex-m4"\n[kinds.divide]\ncycles = 12\n'))
    assert table.kinds["divide"].cycles == 12 and table.kinds["load"] == load_timing("cortex-m4").kinds["load"]
    assert sorted(path.rsplit("/", 1)[1] for path in table.files) == ["cortex-m4.toml", "ours.toml"]


def test_a_kind_without_numbers_has_the_ones_of_the_kind_that_it_builds_on(tmp_path):
    table = timing_of(core_with(tmp_path, "[kinds.alu]\nlatency = 3\n[kinds.shift]\ncycles = 2\n"))
    assert (table.kinds["shift"].latency, table.kinds["shift"].cycles) == (3, 2)
    assert (table.kinds["add"].latency, table.kinds["add"].cycles, table.kinds["load"].latency) == (3, 1, 1)
    assert all(parent in KINDS for parent in PARENTS.values())


@pytest.mark.parametrize(
    "text, said",
    [
        ("[kinds.lod]\ncycles = 1\n", "key 'kinds': 'lod' is not valid"),
        ("[kinds.load]\ncycle = 1\n", "unknown key 'cycle'"),
        ("[kinds.load]\ncycles = true\n", "key 'cycles' has the wrong type of value"),
        ('[kinds.load]\nslot = "second"\n', "slot 'second' is not valid"),
        ('[kinds.load]\nhidden_by = ["stor"]\n', "key 'kinds.load.hidden_by': 'stor' is not valid"),
        ('pair_kinds = ["nopp"]\n', "key 'pair_kinds': 'nopp' is not valid"),
        ('[forward.one]\nof = ["load"]\nby = ["load"]\nroles = ["adress"]\ncycles = 1\n', "'adress' is not valid"),
        ('[forward.one]\nof = ["load"]\nby = ["load"]\ncycles = 1\n', "forward.one: key 'roles' is missing"),
        ('extends = "cortex-m5"\n', "there is no timing table 'cortex-m5'"),
        ('extends = "ours"\n', "timing tables extend each other in a cycle"),
    ],
)
def test_a_wrong_table_is_refused(tmp_path, text, said):
    with pytest.raises(AidgeError) as caught:
        timing_of(core_with(tmp_path, text))
    assert said in str(caught.value) or said in f"{caught.value.where}: {caught.value}"


def test_a_table_that_is_not_there_is_named(tmp_path):
    core = core_with(tmp_path, "")
    (tmp_path / "cores" / "timing" / "ours.toml").unlink()
    with pytest.raises(AidgeError, match="there is no timing table 'ours'") as caught:
        timing_of(core)
    assert "cortex-m4" in caught.value.hint


def test_a_slow_multiplier_is_a_table_of_its_own():
    slow = timing_of(load_core("cortex-m0plus"), 32)
    assert slow.kinds["multiply"].cycles == 32 and timing_of(load_core("cortex-m0plus")).kinds["multiply"].cycles == 1
    assert timing_of(None) is None and timing_of(load_core("cortex-m23")) is None


# What an instruction is, reads and writes: as objdump prints it.
WORKS = {
    "adds r0, r1": "add reads r0:operand r1:second writes r0:result flags:status",
    "addeq r0, r1, #4": "add_constant reads r1:operand flags:condition writes r0:result",
    "bls 100": "branch reads flags:condition writes",
    "mov r8, r5, lsr #3": "shift reads r5:shifted writes r8:result",
    "eor r0, r1, r2, ror #8": "shifted reads r1:operand r2:shifted writes r0:result",
    "and r0, r1, #8128": "shifted_constant reads r1:operand writes r0:result",
    "and r0, r1, #454761243": "logic_constant reads r1:operand writes r0:result",
    "umlal r0, r1, r2, r3": "multiply_accumulate_long reads r0:accumulate r1:accumulate r2:operand r3:operand "
    "writes r0:result r1:result",
    "smlad r0, r1, r2, r3": "multiply_accumulate reads r1:operand r2:operand r3:accumulate writes r0:result",
    "ldr r0, [r1, r2, lsl #2]": "load reads r1:address r2:index writes r0:result",
    "ldrd r0, r1, [r2], #8": "load_pair reads r2:address writes r2:update r0:result r1:result",
    "pop {r4, pc}": "load_multiple reads sp:address writes sp:update r4:result pc:result",
    "stmdb r0!, {r1, r2}": "store_multiple reads r0:address r1:data r2:data writes r0:update",
    "vldr s0, [r0]": "float_load reads r0:address writes s0:result",
    "vfma.f32 s0, s1, s2": "float_fused reads s0:accumulate s1:operand s2:operand writes s0:result",
    "vadd.f64 d0, d1, d2": "double_add reads s2:operand s3:operand s4:operand s5:operand writes s0:result s1:result",
    "vmov s0, r1": "float_from_core reads r1:operand writes s0:result",
    "vadd.i32 q0, q1, r1": "vector_integer reads q1:operand r1:operand writes q0:result",
    "vadd.f32 q0, q1, r1": "vector_float_add reads q1:operand r1:operand writes q0:result",
    "vmlava.s8 r0, q1, q2": "vector_multiply_across reads r0:accumulate q1:operand q2:operand writes r0:result",
    "vcmp.s32 ge, q0, r1": "vector_compare reads q0:operand r1:operand writes vpr:status",
    "vaddt.i32 q0, q1, q2": "vector_integer reads q1:operand q2:operand vpr:condition writes q0:result",
    "vmovnb.i32 q0, q1": "vector_narrow reads q0:accumulate q1:operand writes q0:result",
    "vldrb.u8 q0, [r0, q1]": "vector_gather reads r0:address q1:index writes q0:result",
    "vstrb.16 q0, [r0], #8": "vector_store reads r0:address q0:data writes r0:update",
    "letp lr, 0": "loop_end reads lr:operand writes lr:result",
}


@pytest.mark.parametrize("text", WORKS)
def test_an_instruction_is_taken_apart(text):
    name, _, operands = text.partition(" ")
    (found,) = read_disassembly(f"0:\tf3af 8000\t{name}\t{operands}\n").values()
    work = work_of(found.mnemonic, found.operands, found.size_bytes, found.data_type)
    reads, writes = ([f"{register}:{role}" for register, role in pairs] for pairs in (work.reads, work.writes))
    said = " ".join([work.kind.removesuffix("_wide"), "reads", *reads, "writes", *writes])
    for number in range(3):  # a vector is four words
        words = [rf"s{number * 4 + word}:(\w+)" for word in range(4)]
        said = re.sub(" ".join(words), rf"q{number}:\1", said)
    assert said == WORKS[text]


def test_the_page_of_the_boards_explains_every_key():
    page = (board_folder() / "README.md").read_text(encoding="utf-8")
    keys = [each.name for kind in (TimingTable, KindTiming) for each in fields(kind)]
    files_and_caches = {"name", "forwarding", "files", "known"}
    assert [key for key in keys if f"`{key}`" not in page and key not in files_and_caches] == []
