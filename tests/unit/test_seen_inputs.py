# SPDX-License-Identifier: MIT
"""Facts that a run saw become findings; inputs are compared with samples by the words of the claim."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.boards import load_board
from aidge_build.boards.faults import cause_of
from aidge_build.cli.run_seen import _CODES, input_findings, seen_findings
from aidge_build.prove.elf.claim import Claim
from aidge_build.prove.elf.claimed_call import ClaimedArgument
from aidge_build.prove.elf.findings import RULES
from aidge_build.prove.timing.estimate import Cycles
from aidge_build.run.emulate.program import Entry, MeasuredCycles, RunResult, Seen


@pytest.mark.requirement("CLAIM")
def test_an_input_with_a_type_that_no_version_writes_is_refused_by_its_name():
    result = SimpleNamespace(seen=SimpleNamespace(entries=[SimpleNamespace(inputs=[b"\0"], status=0)]))
    port = ClaimedArgument("picture", "a word", "no scale", 1)
    with pytest.raises(AidgeError, match="--io-data: input 'picture' is 'a word'"):
        list(input_findings(result, [port], Path("samples.npz")))


def found(seen: Seen, **more) -> list[str]:
    result = RunResult(None, "", 1000, 1000, 1, (), None, "probe", seen=seen, **more)
    return [f"{one.code} {one.text}" for one in seen_findings(result, load_board("stm32f4"), [Claim("kws", 512, (), True)])]


def test_codes_of_a_refused_call_have_words_and_other_results_are_no_code():
    def of(*statuses: int) -> list[str]:
        return found(Seen(tuple(Entry((0x20, 0x30, 0x40, 0), (), status, "kws_run") for status in statuses)))

    assert of(0, 0) == of(2, 192) == []
    assert of(0, 3) == ["RUN01 kws_run(0x20, 0x30, 0x40, 0x0) returned 3 in 1 of 2 calls: called out of order"]
    assert of(7, 7)[0].endswith("returned 7 in 2 of 2 calls: bytes next to the arena were overwritten")
    assert all(f" {code} " in RULES["RUN01"].hint for code in _CODES)


def test_a_board_that_counts_many_more_cycles_than_estimated_waits_for_something():
    cycles = {"run_cycles": Cycles(1000), "measured": MeasuredCycles("CYCCNT", per_run=(2400,))}
    assert found(Seen(clock_hz=168_000_000), **cycles)[0].startswith("RUN06 the board takes 2.4 times the estimated cycles")
    assert found(Seen(clock_hz=168_000_000), **cycles | {"measured": MeasuredCycles("CYCCNT", per_run=(1400,))}) == []
    assert "SystemCoreClock is 16 MHz" in found(Seen(clock_hz=16_000_000))[0] and found(Seen(clock_hz=167_900_000)) == []


def test_each_bit_of_the_fault_register_has_a_cause():
    assert cause_of(0) == "" and cause_of(1 << 19) == "NOCP, an instruction of the FPU, which is off (CPACR)"
    assert cause_of(1 << 12 | 1 << 4).count("did the stack overflow?") == 2 and cause_of(1 << 15 | 1 << 7) == ""
