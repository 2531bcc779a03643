# SPDX-License-Identifier: MIT
"""RISC-V's -march names a core: the one whose instructions it has all, by the core files alone."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.boards.cores import all_cores, find_core, load_core
from aidge_build.boards.instruction_sets import instruction_set, unknown_extensions

LONG = ("zba", "zbb", "zbkb", "zca", "zcb", "xtheadba", "svinval", "zve32x")


@pytest.mark.parametrize(
    "march, core",
    [
        ("rv32imac_zba_zicsr_zifencei", "rv32imac"),
        ("rv32i2p1_m2p0_a2p1_c2p0", "rv32imac"),
        ("rv32_m_a_c_i_zicsr", "rv32imac"),
        ("rv32imacxw", "rv32imac"),
        ("rv32imcb", "rv32imc"),
        ("rv32gc", "rv32imafc"),
        *((march, "rv32imafc-zve32f") for march in ("rv32gcv", "rv32imafc_zve32f_zvl128b", "rv32gc_zve64x_zve32f_zvl512b")),
        *((march, "rv32im-zve32x") for march in ("rv32imac_zve32x_zvl128b", "rv32im_zicsr_zve32x_zvl256b")),
        ("rv32gc_zve32f", "rv32imafc"),
        ("rv32imaf_zca_zcf", "rv32imafc"),
        ("rv32imaf_zca", "rv32imac"),
        ("rv32imac_zicsr_zifencei_zba_zbb_zbs_zbkb", "hazard3"),
        ("rv32ima_zicsr_zifencei_zba_zbb_zbs_zbkb_zca_zcb_zcmp", "hazard3"),
        ("rv32imzicsr_zve32x1p0", "rv32im"),
        ("rv32ic", "rv32i"),
        ("rv32ic_zmmul", "rv32i"),
        ("rv32emc_zicsr", "rv32emc"),
        ("rv32ec_zmmul_zcb", "rv32ec-zmmul"),
        ("rv32e", "generic"),
        ("rv64gc", "generic"),
        ("rv128i+lp64", "generic"),
        ("rv32imafc_zba+ilp32e", "rv32emc"),  # programs of this ABI keep 16 registers
        ("hazard3+ilp32e", "rv32emc"),
        ("rv32im+ilp32e", "rv32im"),  # no core file has M without C and 16 registers
        ("rv32ic+ilp32e", "rv32i"),
    ],
)
def test_an_march_takes_the_core_with_the_most_of_its_extensions(march, core):
    assert load_core(march).name == core


@pytest.mark.parametrize(
    "march, unknown",
    [
        ("rv32imac_zfoo_zve32g1p0", ["zfoo", "zve32g"]),
        ("rv32imacw", ["w"]),
        ("rv32gcv_zicsr_zifencei_zbc_zvl2048b_xtheadba_svinval_zcf", []),
        ("rv32ima_zba_zbb_zbs_zbkb_zca_zcb_zcmp_zmmul2p0", []),
        ("cortex-m4", []),
    ],
)
def test_an_extension_that_nobody_ratified_is_named(march, unknown):
    assert unknown_extensions(march) == unknown


@pytest.mark.parametrize("march", ["rv32", "rv32m", "rv32ie", "rv33i", "rv32i-zba", "RV32I", "armv7e-m", "rv32imac_zba+lp64"])
def test_what_is_no_march_is_no_core(march):
    with pytest.raises(AidgeError, match="unknown"):
        load_core(march)


def test_order_versions_and_underscores_say_nothing():
    drawn = random.Random(7)
    for _ in range(200):
        letters, long = drawn.sample("mafdcbv", drawn.randrange(8)), drawn.sample(LONG, drawn.randrange(len(LONG)))
        plain = instruction_set("rv32i" + "".join(sorted(letters)) + "".join(f"_{name}" for name in sorted(long)))
        parts = [name + drawn.choice(["", "2", "2p1", "12p0"]) for name in drawn.sample([*letters, "i"], len(letters) + 1)]
        version = drawn.choice(["", "1p0", "2"])
        text = "rv32" + drawn.choice(["", "_"]).join(parts) + "".join(f"_{name}{version}" for name in long)
        assert plain is not None and instruction_set(text) == plain, text


def test_each_core_file_is_the_core_of_its_own_march_but_for_one_that_adds_times_to_another():
    for core in all_cores():
        own = core.instruction_set
        if own:
            march = next(flag for flag in core.flags if flag.startswith("-march=")).removeprefix("-march=")
            found = find_core(march + "_zvl32b")
            assert found.instruction_set == own and own.bits == 32 and (found == core or core.timing and not found.timing)


def test_an_abi_with_16_registers_leaves_out_the_kernels_for_32():
    core = load_core("rv32im_zicsr+ilp32e")
    assert core.cpu == "rv32im+ilp32e" and core.features_with() == set()
    assert load_core("rv32imafc_zicsr+ilp32f") == load_core("rv32imafc_zicsr+ilp32") == load_core("rv32imafc")


def test_all_core_files_that_an_march_was_compared_with_are_read():
    names = {Path(path).stem for path in load_core("rv32imac_zba").files}
    assert {core.name for core in all_cores() if core.instruction_set} < names
    assert "rv32imac" not in {Path(path).stem for path in load_core("rv32imc").files}


def test_a_users_core_file_takes_part_and_features_count_before_extensions(tmp_path):
    (tmp_path / "cores").mkdir()
    (tmp_path / "cores/mine.toml").write_text('extends = "rv32imac"\nflags = ["-march=rv32imac_zba"]\n')
    (tmp_path / "cores/less.toml").write_text('extends = "mine"\nfeatures = []\nflags = ["-march=rv32imac_zba_zbb"]\n')
    assert load_core("rv32imac_zba_zbb", [Path(tmp_path)]).name == "mine"
