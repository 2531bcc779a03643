# SPDX-License-Identifier: MIT
"""What the stages hand over are values: nobody changes them afterwards."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
from pathlib import Path

import pytest

from tools.mutants.rooms import ROOMS

ROOT = Path(__file__).resolve().parents[2]
NAMES = [room.name for room in ROOMS]
GROWING = {
    "aidge_build.prove.elf.state.CallState",  # the registers of a simulated core, changed instruction by instruction
    "aidge_build.prove.elf.frames.State",
    "aidge_build.prove.elf.riscv_frames.RiscvState",
    "aidge_build.prove.elf.deepest._Begun",  # a walk that waits for an answer
    "aidge_build.prove.elf.start_up._Held",  # what is known on a way
    "aidge_build.prove.longest.ends.State",  # a way through the code
    "aidge_build.prove.longest.memory.Room",  # how far the stack of a followed function has grown
    "aidge_build.plan.cascade.moves.RowMoves",  # a list of moves while it is made
    "aidge_build.plan.cascade.pieces.PieceMoves",
    "aidge_build.measure.tune.table._Sum",  # a sum
    "aidge_build.prepare.adaptation.by_cost._Trials",  # the best kernels so far
    "aidge_build.prepare.adaptation.smaller_kernels._Trials",
    "aidge_build.build.emit.definitions.Item",  # a definition of C while it is split off its file
    "aidge_build.build.emit.definitions.Group",
}
BY_IDENTITY = {
    "aidge_build.operators.arithmetic.carried_steps.CarriedSteps",
    "aidge_build.operators.arithmetic.channel_lines.ChannelLines",
    "aidge_build.operators.arithmetic.contracts.FixedFactors",
    "aidge_build.operators.arithmetic.contracts.FloatFactors",
    "aidge_build.operators.arithmetic.contracts.HalfwordFactors",
    "aidge_build.operators.arithmetic.curved_products.CurvedProducts",
    "aidge_build.operators.arithmetic.curved_sums.CurvedSums",
    "aidge_build.operators.arithmetic.curved_sums.ScaledSums",
    "aidge_build.operators.arithmetic.curved_sums.StepsOfSums",
    "aidge_build.operators.arithmetic.piecewise_linear.PiecewiseLinear",
    "aidge_build.operators.arithmetic.ties_to_even.EvenForm",
    "aidge_build.operators.arithmetic.fixed_form.FixedForm",
    "aidge_build.operators.arithmetic.fused.FusedForm",
    "aidge_build.operators.arithmetic.lines.Line",
    "aidge_build.operators.arithmetic.narrow_products.NarrowForm",
    "aidge_build.operators.arithmetic.thresholds.HighForm",
    "aidge_build.operators.arithmetic.thresholds.LowForm",
    "aidge_build.operators.arithmetic.thresholds.Staircase",
    "aidge_build.operators.arithmetic.rounded_products.RoundedForm",
    "aidge_build.plan.cascade.question.Question",
    "aidge_build.plan.cascade.row_layer.RowLayer",
    "aidge_build.prove.longest.values.Few",
    "aidge_build.build.emit.definitions.Item",
    "aidge_build.build.emit.definitions.Group",
    "aidge_build.prepare.adaptation.meta_operator.MetaOperator",
    "aidge_build.prepare.recipes.channel_reach.Reach",
    "aidge_build.prepare.recipes.channel_reach.Sums",
    "aidge_build.prepare.recipes.channel_use.Product",
    "aidge_build.prepare.recipes.fit_bias.Fitted",
    "aidge_build.run.verify.likeness.Passed",
    "aidge_build.run.verify.likeness._Known",
    "aidge_build.run.verify.likeness._Match",
    "aidge_build.prepare.recipes.fit_bias._Layer",
}


def dataclasses_of(room: str) -> dict[str, type]:
    found = {}
    for path in sorted((ROOT / "aidge_build").glob(f"*/{room}/*.py")):
        module = importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"))
        for name, value in vars(module).items():
            if inspect.isclass(value) and dataclasses.is_dataclass(value) and value.__module__ == module.__name__:
                found[f"{module.__name__}.{name}"] = value
    return found


@pytest.mark.parametrize("room", NAMES)
def test_every_value_of_a_room_is_frozen(room):
    found = dataclasses_of(room)
    changeable = {name for name, kind in found.items() if not kind.__dataclass_params__.frozen}
    assert changeable == GROWING & set(found)


def test_values_that_hold_arrays_or_are_told_apart_are_compared_by_identity():
    """Two arrays are equal in each element, which is no answer to whether two values are equal."""
    found = [entry for room in NAMES for entry in dataclasses_of(room).items()]
    assert {name for name, kind in found if not kind.__dataclass_params__.eq} == BY_IDENTITY
