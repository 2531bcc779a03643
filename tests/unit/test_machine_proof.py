# SPDX-License-Identifier: MIT
"""What a program was built for, compared with the core that a model's code was generated for, without a compiler."""

from __future__ import annotations

import re
from types import SimpleNamespace

import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.boards import load_board
from aidge_build.prove.elf.attributes import Units
from aidge_build.prove.elf.image import machine_of
from aidge_build.prove.elf.machine_proof import check_board, check_machine

UNUSED = ": kernels that are made for it are not used"


SOFT, SINGLE, DOUBLE, VECTORS = Units(), Units(4), Units(5, has_double=True), Units(5, has_double=True, has_vectors=True)
SINGLE_5 = Units(5)


def found(
    cpu: str,
    machine: str,
    architecture: str = "",
    bits: int = 32,
    folders=(),
    is_big_endian: bool = False,
    units=None,
    features=None,
) -> list:
    image = SimpleNamespace(
        machine=machine, architecture=architecture, has_64_bits=bits == 64, is_big_endian=is_big_endian, units=units
    )
    return [
        (finding.severity, finding.text.removeprefix("model kws was generated for "))
        for finding in check_machine(image, SimpleNamespace(cpu=cpu, model="kws", features=features), folders)
        if finding.code == "MEM13"
    ]


@pytest.mark.parametrize(
    "cpu, machine, architecture, bits, said",
    [
        ("cortex-m4", "ARM", "v7E-M", 32, []),
        ("cortex-m4+nofp", "ARM", "v7E-M", 32, []),
        ("cortex-m4", "ARM", "", 32, []),
        ("cortex-m4", "ARM", "v8-M.mainline", 32, [("warning", f"cortex-m4 (v7E-M), the program is for v8-M.mainline{UNUSED}")]),
        ("cortex-m4", "ARM", "v7-M", 32, [("error", "cortex-m4 (v7E-M), the program is for v7-M")]),
        ("cortex-m4", "ARM", "v9-M", 32, [("error", "cortex-m4 (v7E-M), the program is for v9-M")]),
        ("cortex-m4", "RISCV", "", 32, [("error", "cortex-m4, the program is for RISCV")]),
        ("cortex-m4", "ARM", "v7E-M", 64, [("error", "cortex-m4, the program has pointers of 64 bits")]),
        ("rv32imc", "RISCV", "", 32, []),
        ("rv32imc", "RISCV", "rv32i", 32, []),
        ("rv32imc", "RISCV", "", 64, [("error", "rv32imc, the program has pointers of 64 bits")]),
        ("rv32imc", "ARM", "v7-M", 32, [("error", "rv32imc, the program is for ARM")]),
        ("host", "X86_64", "", 64, []),
        ("host", "XTENSA", "", 32, []),
        ("host", "ARM", "v7-M", 32, [("warning", f"host, the program is for v7-M{UNUSED}")]),
        ("generic", "XTENSA", "", 32, []),
        ("generic", "X86_64", "", 64, []),
        ("generic", "ARM", "v7-M", 32, [("warning", f"generic, the program is for v7-M{UNUSED}")]),
        ("", "ARM", "v7-M", 32, []),
        ("nobody-knows", "ARM", "v7-M", 32, []),
    ],
)
def test_what_does_not_suit_is_an_error_and_what_is_slower_than_it_could_be_a_warning(cpu, machine, architecture, bits, said):
    assert found(cpu, machine, architecture, bits) == said


@pytest.mark.requirement("MEM13")
def test_a_big_endian_program_is_refused_whatever_the_core():
    for cpu in ("cortex-m4", "generic", ""):
        assert [severity for severity, _ in found(cpu, "ARM", is_big_endian=True)] == ["error"]


def test_cores_and_architectures_of_the_users_count(tmp_path):
    (tmp_path / "cores").mkdir()
    (tmp_path / "cores/mine.toml").write_text(
        'extends = "cortex-m4"\narchitecture = "v9-M"\nruns = ["v7E-M", "v9-M"]\npointer_bytes = 8\n'
    )
    assert found("mine", "ARM", "v9-M", 64, [tmp_path]) == [] == found("mine", "ARM", "v9-M", 64)
    assert found("mine", "ARM", "v9-M", 32, [tmp_path]) == [("error", "mine, the program has pointers of 32 bits")]
    (severity, _), *_ = found("cortex-m4", "ARM", "v9-M", 32, [tmp_path])
    assert severity == "warning"


def test_the_machine_of_a_file_is_read_from_its_head_alone(tmp_path):
    elf = tmp_path / "app.elf"
    elf.write_bytes(b"\x7fELF\x01\x01\x01" + bytes(9) + b"\2\0\xf3\0\1\0\0\0" + bytes(28))
    assert machine_of(elf) == "RISCV"
    elf.write_bytes(b"\x7fELG")
    assert machine_of(elf) == ""
    with pytest.raises(AidgeError):
        machine_of(tmp_path / "none.elf")


@pytest.mark.parametrize(
    "cpu, architecture, units, features, said",
    [
        ("cortex-m4", "v7E-M", SOFT, ("dsp", "fpu"), "error"),
        ("cortex-m7", "v7E-M", SOFT, ("dsp", "fpu"), "error"),
        ("cortex-m33", "v8-M.mainline", SOFT, ("dsp", "fpu"), "error"),
        ("cortex-m4", "v7E-M", SINGLE, ("dsp", "fpu"), ""),
        ("cortex-m4", "v7E-M", None, ("dsp", "fpu"), ""),
        ("cortex-m4", "v7E-M", SOFT, ("dsp",), ""),
        ("cortex-m4", "v7E-M", SOFT, None, ""),
        ("cortex-m4", "v7E-M", SINGLE, ("dsp",), "note"),
        ("cortex-m3", "v7-M", SINGLE, ("thumb2",), ""),
    ],
)
def test_kernels_for_an_fpu_in_a_program_without_one_are_an_error_and_the_reverse_a_note(
    cpu, architecture, units, features, said
):
    assert [severity for severity, _ in found(cpu, "ARM", architecture, units=units, features=features)] == (
        [said] if said else []
    )


def of_board(name: str, architecture: str, units=None, cpu: str = "", machine: str = "ARM", folders=()) -> list[tuple[str, str]]:
    image = SimpleNamespace(machine=machine, architecture=architecture, units=units, extensions="")
    claims = [SimpleNamespace(cpu=cpu, model="kws")] if cpu else []
    return [(finding.severity, finding.text) for finding in check_board(image, claims, load_board(name, folders))]


OTHER_CHIPS = [
    ("stm32f4", "v7E-M", SOFT, "cortex-m7", "model kws was generated for cortex-m7, board stm32f4 has cortex-m4"),
    ("stm32f4", "v7E-M", SINGLE_5, "", "the program uses version 5 of the FPU's instructions, board stm32f4 has fpv4-sp-d16"),
    ("stm32f7", "v7E-M", DOUBLE, "", "the program uses an FPU in double precision, board stm32f7 has fpv5-sp-d16"),
    ("stm32f4", "v8-M.mainline", None, "", "the program is for v8-M.mainline, board stm32f4 has cortex-m4 (v7E-M)"),
    (
        "stm32h563",
        "v8.1-M.mainline",
        None,
        "",
        "the program is for v8.1-M.mainline, board stm32h563 has cortex-m33 (v8-M.mainline)",
    ),
    ("stm32h563", "v7E-M", SOFT, "cortex-m7", "the program is for v7E-M, board stm32h563 has cortex-m33 (v8-M.mainline)"),
    ("stm32f4", "v6-M", None, "", "the program is for v6-M, board stm32f4 has cortex-m4 (v7E-M)"),
    ("stm32f103", "v7E-M", None, "", "the program is for v7E-M, board stm32f103 has cortex-m3 (v7-M)"),
    ("microbit", "v7-M", None, "cortex-m3", "the program is for v7-M, board microbit has cortex-m0 (v6-M)"),
    ("mps2-an386-nofpu", "v7E-M", SINGLE, "", "the program uses an FPU, board mps2-an386-nofpu has none"),
    ("stm32h563", "v8-M.mainline", VECTORS, "", "the program uses an FPU in double precision, board stm32h563 has fpv5-sp-d16"),
    ("stm32h563", "v8-M.mainline", VECTORS, "", "the program uses MVE, board stm32h563 has none"),
    (
        "mps3-an547",
        "v8.1-M.mainline",
        VECTORS,
        "cortex-m85",
        "model kws was generated for cortex-m85, board mps3-an547 has cortex-m55",
    ),
]


@pytest.mark.parametrize("name, architecture, units, cpu, text", OTHER_CHIPS)
def test_a_program_of_another_chip_is_an_error(name, architecture, units, cpu, text):
    assert ("error", text) in of_board(name, architecture, units, cpu)


@pytest.mark.parametrize(
    "name, architecture, units, cpu, severities",
    [
        ("stm32f7", "v7E-M", SINGLE, "cortex-m4", ["note"]),
        ("stm32f7", "v7E-M", SINGLE_5, "cortex-m7", []),
        ("stm32f7", "v7-M", SOFT, "cortex-m3", []),
        ("stm32f767", "v7E-M", DOUBLE, "cortex-m7", []),
        ("stm32h743", "v7E-M", DOUBLE, "cortex-m7", []),
        ("mimxrt1062", "v7E-M", DOUBLE, "cortex-m7", []),
        ("stm32h563", "v8-M.baseline", SOFT, "cortex-m23", []),
        ("rp2040", "v6-M", None, "cortex-m0", ["note"]),
        ("stm32f4", "", None, "", []),
        ("stm32f4", "v7E-M", SINGLE, "generic", []),
        ("mps3-an547", "v8.1-M.mainline", VECTORS, "cortex-m55", []),
        ("mps3-an547", "v8-M.mainline", SINGLE_5, "cortex-m33", []),
    ],
)
def test_a_program_that_the_board_runs_is_no_error(name, architecture, units, cpu, severities):
    assert [severity for severity, _ in of_board(name, architecture, units, cpu)] == severities


def test_the_hint_names_the_key_by_which_a_board_has_more_of_an_fpu_than_its_flags_use(tmp_path):
    image = SimpleNamespace(machine="ARM", architecture="v7E-M", units=DOUBLE, extensions="")
    for number, name in enumerate(("stm32f7", "mps2-an386-nofpu")):
        (finding,) = check_board(image, [], load_board(name))
        key = re.search(r'chip_fpu = ".*?"', finding.hint)[0]
        text = f'extends = "{name}"\n{key}\n'.replace("-sp", "" if number else "-sp")
        (tmp_path / f"own{number}.toml").write_text(text)
        assert of_board(f"own{number}", "v7E-M", DOUBLE, folders=[tmp_path]) == []
        assert load_board(f"own{number}", [tmp_path]).compiler_flags == load_board(name).compiler_flags
    (tmp_path / "own0.toml").write_text('extends = "stm32f7"\nchip_fpu = "double"\n')
    with pytest.raises(AidgeError, match="'chip_fpu'.*fpv5-d16"):
        load_board("own0", [tmp_path])


@pytest.mark.parametrize(
    "name, extensions, missing",
    [
        ("qemu_riscv32", "rv32i2p1_m2p0_a2p1_f2p2_d2p2_c2p0_v1p0_zicsr2p0", "A, F, D, V"),
        ("qemu_riscv32", "rv32i2p1_m2p0_c2p0_zicsr2p0_zba1p0", ""),
        ("qemu_riscv32", "rv32e2p0_m2p0_c2p0", ""),
        ("qemu_riscv32_v", "rv32i2p1_m2p0_f2p2_zve32f1p0_zvl256b1p0", ""),
        ("ch32v006", "rv32i2p1_m2p0_c2p0", "32 registers, M"),
        ("rp2350-riscv", "rv32i2p1_m2p0_a2p1_c2p0_zba1p0_zbb1p0_zbs1p0_zbkb1p0", ""),
        ("esp32c3", "", ""),
    ],
)
def test_a_program_with_instructions_of_risc_v_that_the_board_lacks_is_an_error(name, extensions, missing):
    image = SimpleNamespace(machine="RISCV", architecture="", units=None, extensions=extensions)
    found = [(finding.code, finding.text.partition(", without ")[2]) for finding in check_board(image, [], load_board(name))]
    assert found == ([("MEM13", missing)] if missing else [])


def test_a_program_of_another_machine_is_an_error():
    assert of_board("qemu_riscv32", "v7E-M") == [("error", "the program is for ARM, board qemu_riscv32 has rv32imc")]
