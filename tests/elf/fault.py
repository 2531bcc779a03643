# SPDX-License-Identifier: MIT
"""A fault that is put into a good program with a linker script of its own, and what the check must say about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from elftools.elf.elffile import ELFFile

from tests.command import Result, aidge_build
from tests.elf.own_script import CPU, REGIONS, SCRIPT, edited, link, program

# What is true of some of these programs, too: a memory that is too small, a model without a note, a heap.
BESIDE = {"MEM01", "MEM04", "MEM08"}


@dataclass(frozen=True)
class Fault:
    """What is linked how, changed after the link, and checked with which further options; what the check must say: a code, a
    severity, and words of the line, in which # stands behind the text."""

    code: str
    words: tuple[str, ...]
    program: str = field(default_factory=program)
    script: str = SCRIPT
    options: tuple[str, ...] = ()
    severity: str = "error"
    edit: Callable[[bytearray, ELFFile], None] | None = None
    says: tuple[str, ...] = ()
    cpu: tuple[str, ...] = CPU


def check(elf: Path, *options: str) -> Result:
    return aidge_build("check", elf, *(options or REGIONS), "--json")


def memory_findings(result: Result) -> list[dict]:
    return [finding for finding in result.json["findings"] if finding["code"].startswith("MEM")]


def require_found(folder: Path, fault: Fault) -> None:
    """The check calls the fault by its code and severity, once, and finds nothing else."""
    elf = link(folder, fault.program, fault.script, *fault.options, cpu=fault.cpu)
    result = check(edited(elf, fault.edit) if fault.edit else elf, *REGIONS, *fault.says)
    found = memory_findings(result)
    hit = [finding for finding in found if all(word in f"{finding['text']}# {finding['hint']}" for word in fault.words)]
    assert [(finding["code"], finding["severity"]) for finding in hit] == [(fault.code, fault.severity)], found
    assert {finding["code"] for finding in found} - BESIDE <= {fault.code}, found
    assert result.exit_code == (1 if fault.severity == "error" else 0)
