# SPDX-License-Identifier: MIT
"""What a program was built for, compared with the core that a model's code was generated for, without a compiler."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from aidge_build.elf.image import machine_of
from aidge_build.elf.machine_proof import check_machine
from aidge_build.errors import AidgeError

UNUSED = ": kernels that are made for it are not used"


def found(cpu: str, machine: str, architecture: str = "", bits: int = 32, folders=(), is_big_endian: bool = False) -> list:
    image = SimpleNamespace(machine=machine, architecture=architecture, has_64_bits=bits == 64, is_big_endian=is_big_endian)
    return [
        (finding.severity, finding.text.removeprefix("model kws was generated for "))
        for finding in check_machine(image, SimpleNamespace(cpu=cpu, model="kws"), folders)
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
