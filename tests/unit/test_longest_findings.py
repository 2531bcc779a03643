# SPDX-License-Identifier: MIT
"""What is said of steps: a promise that may be broken is an error, a step without a bound a warning, and claims nothing."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from aidge_build.cli.longest import bound_data, bound_findings, bound_lines
from aidge_build.cli.steps import what_helps
from aidge_build.prove.longest import StepBound, StepsBound
from aidge_build.prove.longest.steps import _Model
from tests.listings import DATA, listed

STEPS = (StepBound("net_conv", 900), StepBound("", 1000), StepBound("net_pool", 700))


def test_bounds_within_the_promise_are_one_line_and_no_finding():
    bound = StepsBound("net", 1000, STEPS)
    assert list(bound_findings([bound])) == []
    assert bound_lines([bound], {}) == ["steps of net: 3, at most 1,000 instructions for any input"]
    named = StepsBound("net", 1000, STEPS[:1])
    assert bound_lines([named], {"net_conv": "conv"}) == ["steps of net: 1, at most 900 instructions for any input, in 'conv'"]
    replaceable = StepsBound("net", 1000, STEPS[:1], of_weights=True)
    most = "at most 900 instructions for any input and the weights of the program, in 'net_conv'"
    assert bound_lines([replaceable], {}) == [f"steps of net: 1, {most}"]
    assert bound_data([named])[0] == {
        "model": "net",
        "max_step": 1000,
        "longest": 900,
        "refused": "",
        "steps": [{"layer": "net_conv", "instructions": 900}],
    }


@pytest.mark.requirement("INS02")
def test_a_step_that_may_be_longer_than_promised_is_an_error_with_the_longest_and_what_helps():
    (finding,) = bound_findings([StepsBound("net", 800, STEPS[:1] + STEPS[2:])])
    assert (finding.code, finding.severity) == ("INS02", "error")
    assert finding.text == "a step of net may take 900 instructions for some input, in net_conv, the model promises at most 800"
    assert "--max-step 675 makes finer pieces, so that no step is above 800" in finding.hint
    assert "if it is refused, the layer cannot be cut as finely, and --max-step 900 promises what this step takes" in finding.hint


@pytest.mark.requirement("INS03")
def test_a_step_without_a_bound_is_an_error_unless_the_user_says_otherwise_and_no_length_is_claimed():
    bound = StepsBound("net", 1000, STEPS, "how often the loop at f repeats depends on data")
    (finding,) = bound_findings([bound])
    assert (finding.code, finding.severity) == ("INS03", "error")
    assert [found.severity for found in bound_findings([bound], "warning")] == ["warning"]
    assert finding.text == "no bound of step 4 of net can be proved: how often the loop at f repeats depends on data"
    assert bound.longest is None and bound_lines([bound], {}) == [] and bound_data([bound])[0]["longest"] is None
    (finding,) = bound_findings([StepsBound("net", 1000, (), "objdump is not on this machine")])
    assert finding.text == "no bound of net can be proved: objdump is not on this machine"


def test_before_the_first_inference_the_kept_arrays_hold_zeros_and_nothing_else_is_known():
    image, instructions = listed("f:\nbx lr")
    kept = [SimpleNamespace(symbol=symbol, size_bytes=size, word="") for symbol, size in (("array", 12), ("not linked", 4))]
    memory = _Model(image, instructions, SimpleNamespace(kept=kept, update=None, weights=(), layers=(), model="kws"))._at_first()
    assert [memory.load(DATA + at, 1) for at in range(-4, 20)] == [None] * 4 + [0] * 12 + [None] * 8


@pytest.mark.parametrize("longest, cuts", [(4_000, True), (4_030, False)])  # 121 and 120: N_step itself takes that
def test_no_step_is_asked_for_in_which_nothing_fits(longest: int, cuts: bool) -> None:
    hint = what_helps(714, longest)
    assert ("makes finer pieces" in hint) is cuts and hint.endswith(f"--max-step {longest} promises what this step takes")
