# SPDX-License-Identifier: MIT
"""`--optimize size`: no build needs more RAM than with the portable library alone. `--ram-budget`: only as many layers fall back
to smaller kernels as the budget requires. A line names the layers."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import replace

import numpy
import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.boards import load_board
from aidge_build.build.compile import build_program, import_model
from aidge_build.plan.program import Program
from aidge_build.prepare.adaptation.adapt import adapt_to_backend
from aidge_build.prepare.adaptation.assignment import Assignment
from aidge_build.prepare.adaptation.match import PASSED_OVER
from aidge_build.prepare.adaptation.smaller_kernels import MOST_TRIALS, with_smaller_kernels
from tests.compiled import request_of
from tests.models import model
from tests.shared import MODELS, int8_model

STRESS = "AIDGE_STRESS" in os.environ
BOARDS = ("mps2-an386-nofpu", "mps2-an385", "rp2040")
F = numpy.float32


def layers(*widths: int) -> bytes:
    """Fully connected layers of int8 with so many values, the input's first."""
    random, constants = numpy.random.default_rng(3), {"s": F(0.1), "z": numpy.int8(0)}
    nodes, names = "", [*(f"x{index}" for index in range(len(widths) - 1)), "y"]
    for index, (wide, narrow) in enumerate(zip(widths, widths[1:])):
        constants[f"w{index}"] = random.integers(-4, 5, (wide, narrow)).astype(numpy.int8)
        nodes += f"r{index} = DequantizeLinear({names[index]}, s, z) v{index} = DequantizeLinear(w{index}, s, z) "
        nodes += f"a{index} = MatMul(r{index}, v{index}) {names[index + 1]} = QuantizeLinear(a{index}, s, z) "
    return model(nodes, inputs=f"int8[1,{widths[0]}] x0", outputs=f"int8[1,{widths[-1]}] y", constants=constants)


def program(data: bytes, board: str, objective: str, libs: tuple[str, ...] = (), **options) -> Program:
    on = load_board(board)
    request = request_of(data, "net.onnx", replace(on, libs=libs or on.libs))
    target, chosen = replace(request.target, objective=objective), replace(request.options, **options)
    return build_program(replace(request, target=target, options=chosen))


def bytes_of(found: Program) -> tuple[int, int]:
    return found.memory.peak.peak_bytes, found.memory.arena.peak_bytes


def libraries_of(found: Program) -> list[str]:
    return [layer.kernel.library for layer in found.layers]


def notices(found: Program) -> list[str]:
    return [line for line in found.notices if "fell back" in line]


NARROWING = layers(512, 160, 16, 16)


def test_a_layer_whose_scratch_stands_in_the_peak_gives_way_and_the_others_stay():
    small, alone = (program(NARROWING, "mps2-an386-nofpu", "size", libs) for libs in ((), ("ref",)))
    fast = program(NARROWING, "mps2-an386-nofpu", "balanced")
    assert libraries_of(fast) == ["cortexm"] * 3 and not notices(fast)
    assert all(more > less for more, less in zip(bytes_of(fast), bytes_of(alone)))
    assert bytes_of(small) == bytes_of(alone) and libraries_of(small) == ["ref", "ref", "cortexm"]
    (line,) = notices(small)
    assert f"peak {bytes_of(alone)[0]:,} B instead of {bytes_of(fast)[0]:,} B" in line and "cortexm fc_int8 fell back" in line
    assert all(PASSED_OVER in dict(layer.rejected).values() for layer in small.layers if layer.kernel.library == "ref")


@pytest.mark.parametrize("options", [{"memory_model": "cascade"}, {"max_step": 100_000}], ids=str)
def test_plans_by_rows_and_in_steps_choose_for_themselves(options):
    assert not notices(program(NARROWING, "mps2-an386-nofpu", "size", **options))


def test_on_cores_with_an_fpu_no_kernel_gives_way():
    found = program(NARROWING, "mps2-an386", "size")
    assert libraries_of(found) == ["cortexm"] * 3 and not notices(found)


@pytest.mark.parametrize("board", ["mps2-an386", "rp2040"])
def test_within_a_budget_as_few_kernels_give_way_as_it_takes(board):
    fast, alone = (program(NARROWING, board, "balanced", libs, io="arena") for libs in ((), ("ref",)))
    (most, _), (least, _) = bytes_of(fast), bytes_of(alone)
    assert least < most and not notices(program(NARROWING, board, "balanced", io="arena", ram_budget=most))
    for budget in (most - 1, (most + least) // 2, least):
        found = program(NARROWING, board, "balanced", io="arena", ram_budget=budget)
        assert bytes_of(found)[0] <= budget
        stayed = [one for one, other in zip(libraries_of(found), libraries_of(fast)) if one == other]
        assert len(stayed) < 3 and (budget < most - 1 or len(stayed) == 2)
        line = notices(found)[0]
        assert line.startswith("--ram-budget: at ") and f"instead of {most:,} B" in line


@pytest.mark.requirement("ROWS")
def test_a_budget_below_every_plan_is_refused_with_the_least_bytes_which_are_then_met():
    with pytest.raises(AidgeError) as caught:
        program(NARROWING, "rp2040", "balanced", io="arena", ram_budget=100)
    least = bytes_of(program(NARROWING, "rp2040", "balanced", ("ref",), io="arena"))[0]
    assert f"the smallest that was found needs {least:,} B" in caught.value.what
    assert caught.value.hint.startswith(f"ram_budget={least} is met")
    assert bytes_of(program(NARROWING, "rp2040", "balanced", io="arena", ram_budget=least))[0] == least


IMAGE = model(
    """r = DequantizeLinear(x, s, z) v = DequantizeLinear(w, s, z)
    a = Conv<kernel_shape=[3,3], strides=[2,2]>(r, v) y = QuantizeLinear(a, s, z)""",
    inputs="int8[1,1,81,81] x",
    outputs="int8[1,1,40,40] y",
    constants={"s": F(0.1), "z": numpy.int8(0), "w": numpy.ones((1, 1, 3, 3), numpy.int8)},
)


def test_a_refusal_names_the_option_that_would_keep_the_budget():
    with pytest.raises(AidgeError) as caught:
        program(IMAGE, "mps2-an386", "balanced", ram_budget=3072)
    assert re.match(r"input=rows \(--input rows\) keeps this budget, with [\d,]+ B; ram_budget=\d+ is met", caught.value.hint)
    assert bytes_of(program(IMAGE, "mps2-an386", "balanced", ram_budget=3072, input="rows"))[0] <= 3072


POOLED = model(
    """t = Transpose<perm=[0,3,1,2]>(x) r = DequantizeLinear(t, s, z) v = DequantizeLinear(w, s, z)
    a = Conv<kernel_shape=[3,3], pads=[1,1,1,1]>(r, v) q = QuantizeLinear(a, s, z) d = DequantizeLinear(q, s, z)
    p = MaxPool<kernel_shape=[2,2], strides=[2,2]>(d) o = QuantizeLinear(p, s, z) y = Transpose<perm=[0,2,3,1]>(o)""",
    inputs="int8[1,8,8,16] x",
    outputs="int8[1,4,4,4] y",
    constants={"s": F(0.1), "z": numpy.int8(0), "w": numpy.ones((4, 16, 3, 3), numpy.int8)},
)


def test_layers_of_one_kernel_come_apart_if_a_budget_needs_it():
    (most, _), (least, _) = (bytes_of(program(POOLED, "mps2-an386", "balanced", libs)) for libs in ((), ("ref",)))
    assert least < most
    for budget in (least, most - 1):
        found = program(POOLED, "mps2-an386", "balanced", ram_budget=budget)
        assert bytes_of(found)[0] <= budget and [layer.kernel.name for layer in found.layers][1:] == ["maxpool2d_int8"]
        assert "cortexm conv_pool_int8" in notices(found)[0]


class Counted:
    """The bytes of assignments, by a rule of the test."""

    def __init__(self, rule: Callable[[dict[str, str]], int]):
        self.rule, self.calls = rule, 0

    def __call__(self, assignment: Assignment) -> tuple[int, int]:
        self.calls += 1
        taken = {name: choice.kernel.library for name, choice in assignment.choices.items() if choice.kernel}
        return self.rule(taken), 0


def with_rule(
    rule: Callable[[dict[str, str]], int],
    layer_count: int = 6,
    swapped: bool = False,
    libs: tuple[str, ...] = ("cortexm", "armv7m", "ref"),
) -> tuple[list[str], Counted]:
    """The libraries of a chain of layers on a Cortex-M4."""
    on = load_board("mps2-an386")
    request = request_of(layers(*[64] * (layer_count + 1)), "net.onnx", replace(on, libs=libs))
    view, _ = import_model(request)
    counted = Counted(rule)

    def measured(assignment: Assignment) -> tuple[int, int]:
        peak, arena = counted(assignment)
        return (arena, peak) if swapped else (peak, arena)

    first = adapt_to_backend(view, request.libraries, request.target)
    found, _ = with_smaller_kernels(view, request.libraries, request.target, first, measured)
    return [found.choices[node.name].kernel.library for node in found.view.nodes], counted


def position(taken: dict[str, str], index: int) -> str:
    return list(taken.values())[index]


@pytest.mark.parametrize("swapped", [False, True], ids=["peak", "arena"])
@pytest.mark.parametrize("index", [0, 3, 5])
def test_a_kernel_between_is_taken_where_it_needs_no_more(index, swapped):
    libraries, _ = with_rule(lambda taken: 10 + (position(taken, index) == "cortexm"), swapped=swapped)
    assert libraries == ["armv7m" if each == index else "cortexm" for each in range(6)]


def test_the_last_library_is_taken_where_all_others_need_more():
    libraries, _ = with_rule(lambda taken: 10 + (position(taken, 2) != "ref") + (position(taken, 4) != "ref"))
    assert libraries == ["cortexm", "cortexm", "ref", "cortexm", "ref", "cortexm"]


def test_one_library_has_nothing_to_try_and_of_two_the_last_is_taken():
    libraries, counted = with_rule(lambda taken: 10, libs=("ref",))
    assert set(libraries) == {"ref"} and counted.calls == 0
    libraries, _ = with_rule(lambda taken: 10 + (position(taken, 2) != "ref"), libs=("cortexm", "ref"))
    assert libraries == ["ref" if each == 2 else "cortexm" for each in range(6)]


def test_the_notice_counts_layers_and_both_kinds_of_bytes_before_and_after():
    on = load_board("mps2-an386")
    request = request_of(layers(*[64] * 4), "net.onnx", replace(on, libs=("cortexm", "armv7m", "ref")))
    view, _ = import_model(request)

    def measured(assignment: Assignment) -> tuple[int, int]:
        fast = sum(choice.kernel.library == "cortexm" for choice in assignment.choices.values() if choice.kernel)
        return 1_000 + fast, 2_000 + 3 * fast

    first = adapt_to_backend(view, request.libraries, request.target)
    _, lines = with_smaller_kernels(view, request.libraries, request.target, first, measured, (1_001, 2_004))
    assert lines == (
        "--ram-budget: at 2 layers cortexm fc_int8 fell back to slower kernels; peak 1,001 B instead of 1,003 B, "
        "arena 2,003 B instead of 2,009 B",
    )


def test_nothing_is_tried_where_the_chosen_kernels_need_no_more():
    libraries, counted = with_rule(lambda taken: 10)
    assert set(libraries) == {"cortexm"} and counted.calls == 2


def test_trials_end_at_their_limit():
    libraries, counted = with_rule(lambda taken: 10 + any(each != "ref" for each in taken.values()), layer_count=40)
    assert set(libraries) == {"ref"} and counted.calls == MOST_TRIALS + 3


@pytest.mark.parametrize("board", BOARDS if STRESS else BOARDS[:1])
@pytest.mark.parametrize("name", MODELS if STRESS else ("ic_resnet8",))
def test_models_need_no_more_than_with_the_portable_library(name, board):
    data = int8_model(name).read_bytes()
    small, alone = (program(data, board, "size", libs) for libs in ((), ("ref",)))
    assert all(less <= more for less, more in zip(bytes_of(small), bytes_of(alone)))
    assert set(libraries_of(small)) != {"ref"} or board in BOARDS[1:]
