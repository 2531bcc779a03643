# SPDX-License-Identifier: MIT
"""A budget of cycles or milliseconds is kept by a figure whose error was measured, and by no other."""

from __future__ import annotations

from dataclasses import replace

import pytest

from aidge_build.boards import load_board
from aidge_build.boards.cores import find_core
from aidge_build.cli.cycles import cycle_findings, time_lines
from aidge_build.prove.timing.deviation import Deviation, measured_deviation
from aidge_build.prove.timing.estimate import Cycles
from aidge_build.run.emulate.program import MeasuredCycles, RunResult
from tests.command import aidge_build
from tests.programs import ROOT
from tests.unit.test_estimate_errors import core_with


def said(board, cycles: Cycles | None = None, measured: MeasuredCycles | None = None, budget: int = 10**9, ms=None) -> str:
    """The finding about a run of two inferences, or ""; `ms`: a budget of milliseconds instead."""
    result = RunResult(0, "", 0, 0, 2, (), None, "", run_cycles=cycles, measured=measured)
    return "; ".join(finding.text for finding in cycle_findings(result, board, None if ms else budget, ms))


def board_of(core: str, *features: str):
    return replace(load_board("stm32f4"), core=find_core(core), features=frozenset(features))


KNOWN = Cycles(1800, 100, 100)  # 1,000 an inference


@pytest.mark.parametrize(
    "core", ["cortex-m0", "cortex-m0plus", "cortex-m3", "cortex-m4", "cortex-m7", "cortex-m33", "cortex-m85"]
)
def test_the_margin_is_the_largest_error_of_the_core_whatever_its_sign(core):
    board, errors = board_of(core, "dsp"), measured_deviation(find_core(core), ())
    most = errors.bound_of(1000)
    assert most == pytest.approx(1000 * max(1 / (1 + errors.lowest), 1 + errors.highest)) and most > 1000
    assert not said(board, KNOWN, budget=int(most) + 1)
    assert said(board, KNOWN, budget=int(most) - 1).startswith(
        f"up to {int(most) + 1:,} cycles per inference, estimated at 1,000"
    )


@pytest.mark.requirement("CYC01")
@pytest.mark.parametrize(
    "core, features, reason",
    [
        ("cortex-m55", ("mve",), "no program with vector instructions was measured on a cortex-m55"),
        ("cortex-m85", ("mve", "dsp"), "no program with vector instructions was measured on a cortex-m85"),
        ("cortex-m55", (), "no program was measured on a cortex-m55"),  # another model of the core is no chip
    ],
)
def test_a_core_whose_code_no_chip_was_measured_with_keeps_no_budget(core, features, reason):
    assert reason in said(board_of(core, *features), KNOWN)


def test_measured_vector_code_makes_budgets_of_vector_code_possible(tmp_path):
    scalar, vector = (core_with(tmp_path / name, '"a" = [100, 90]') for name in ("scalar", "vector"))
    path = tmp_path / "vector" / "cores" / "counts" / "ours.first.toml"
    path.write_text("vectors = true\n" + path.read_text())
    assert measured_deviation(scalar, {"mve"}) is None
    assert measured_deviation(vector, {"mve"}) == Deviation(1, *[pytest.approx(-0.1)] * 2, pytest.approx(0.1))


@pytest.mark.parametrize("total, shown", [(2 * 168_000, "1"), (2 * 168_000 * 1234, "1,234")])
def test_milliseconds_are_written_without_exponents(total, shown):
    assert f"estimated at {shown}, the budget is 0.5 (+" in said(board_of("cortex-m4"), Cycles(total, 0, 0), ms=0.5)


@pytest.mark.parametrize("cycles", [Cycles(1800), Cycles(1800, None, 100), Cycles(1800, 100, None)])
def test_stalls_that_nobody_described_keep_no_budget(cycles):
    assert "does not describe its flash" in said(board_of("cortex-m4"), cycles)


@pytest.mark.parametrize("stalls, line", [(200, []), (600, ["the core waits for code 30 % of the time: --optimize size"])])
def test_code_that_waits_for_flash_much_gets_a_line_with_what_to_type(stalls, line):
    result = RunResult(0, "", 0, 0, 2, (), None, "", run_cycles=Cycles(2000 - stalls, stalls, 0))
    assert [text.partition(" makes")[0] for text in time_lines(result, board_of("cortex-m4"))[1:]] == line


@pytest.mark.requirement("CYC01")
def test_an_external_flash_is_compared_without_its_cache():
    finding = said(board_of("cortex-m0plus"), replace(KNOWN, uncached=8200), budget=4000)
    assert finding.startswith("up to 5,15") and "estimated at 5,000 without the cache of the external flash" in finding


@pytest.mark.parametrize(
    "per_run, finding",
    [
        ((900, 1000), ""),
        ((1000, 1010), "1,005 cycles per inference, measured, the budget is 1,000 (+5)"),
        ((900, None), "an inference takes more cycles than SysTick counts"),
    ],
)
def test_a_board_that_counted_decides_whatever_was_estimated(per_run, finding):
    measured = MeasuredCycles("SysTick", per_run=per_run)
    for cycles, board in ((None, board_of("cortex-m55", "mve")), (Cycles(10, 0, 0), board_of("cortex-m4"))):
        found = said(board, cycles, measured, budget=1000)
        assert finding in found and bool(finding) == bool(found)


@pytest.mark.requirement("CYC01")
def test_a_board_that_did_not_count_leaves_the_estimate():
    assert "measured on a cortex-m55" in said(board_of("cortex-m55", "mve"), KNOWN, MeasuredCycles("", "no counter"))


@pytest.mark.parametrize("word", ["inf", "-inf", "nan", "1,000"])
def test_a_limit_that_nothing_could_exceed_is_refused(word):
    """The same for every limit with a fraction: an infinite one passes each program."""
    for words in (
        ("run", "app.elf", "--board", "stm32f4", f"--max-ms={word}"),
        ("accuracy", ROOT / "examples" / "digits" / "digits.onnx", f"--max-loss={word}"),
    ):
        refused = aidge_build(*words)
        assert refused.exit_code == 2 and f"'{word}' is no finite number" in refused.stderr, refused
