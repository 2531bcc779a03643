# SPDX-License-Identifier: MIT
"""Tree ensembles on every core: one generated function each, trees as data or as code, whichever is cheaper for the forest."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from aidge_build.contract.call import Argument, Call, Constant, Input, Output, Scratch, computed
from aidge_build.contract.kernel_kit.conditions import REAL
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import ROW_MAJOR, Demands, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.operators.class_scores import Transform
from aidge_build.operators.tree_ensemble import TreeEnsembleClassifier

from .ballots import ballot_of, undecided
from .branches import tree_lines
from .finish import finish
from .keys import FLOATS, INTEGERS
from .plan import Plan, chosen, plans
from .slots_text import filled
from .tally import Tally, tally_of
from .walk import walk_lines, walk_text


def _types(view: NodeView) -> str:
    dtype = view.inputs[0].dtype
    return "" if dtype in (*FLOATS, *INTEGERS) else f"the features are {dtype.name}"


def _results(view: NodeView) -> str:
    dtype, transform = view.outputs[-1].dtype, view.operator.transform
    is_exact = dtype is DType.float32 or dtype is DType.float64 and transform is Transform.NONE
    return "" if is_exact else f"the scores are {dtype.name}, with {transform.name}"


def _ballot(view: NodeView) -> str:
    return ballot_of(view.operator).refusal or undecided(view.operator)


def _trees(view: NodeView) -> str:
    return "" if plans(view.operator, view.inputs[0].dtype) else "a tree is too large"


_SPEC = ImplSpec(
    IOSpec(DType.any, ROW_MAJOR),
    predicates=(
        REAL,
        Predicate("features are numbers", _types),
        Predicate("scores are float32", _results),
        Predicate("it is known who has votes", _ballot),
        Predicate("trees fit", _trees),
    ),
)


@kernel(("TreeEnsembleClassifier", "TreeEnsembleRegressor"), _SPEC)
class TreeEnsemble(KernelNode):
    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        plan = chosen(view.operator, view.inputs[0].dtype, view.objective)
        return Demands(plan.slots.bytes + tally_of(view.operator).bytes, 8)

    def call(self) -> Call:
        dtype = self.inputs[0].dtype
        plan, tally = chosen(self.operator, dtype, self.view.objective), tally_of(self.operator)
        row_size = self.inputs[0].elements // max(1, self.outputs[0].dims[0])
        texts, lines, constants = filled(plan.keys, plan.slots)
        ways = _walked(plan, tally) if plan.layout else _branched(plan, tally)
        last, last_constants = finish(self.operator, tally.votes)
        body = [*lines, *tally.start, *ways[1], *last]
        parameters = [*constants, *tally.constants(plan), *ways[2], *last_constants]
        is_classifier = isinstance(self.operator, TreeEnsembleClassifier)
        text = _function(plan, tally, body, parameters, self.outputs, row_size, is_classifier)
        name = f"aidge_ref_forest_{hashlib.sha256(text.encode()).hexdigest()[:12]}"
        outputs = [Output(index) for index in range(len(self.outputs))]
        arguments: list[Argument] = [Input(0), *outputs, *([Scratch()] if self.demands(self.view).scratch_bytes else [])]
        return Call(
            name,
            ("trees/scores.h",),
            (*arguments, *parameters),
            note=f"{plan.form}: {len(plan.diagram.roots)} trees, {len(plan.diagram.reached)} different nodes",
            texts=(*texts, *ways[0], text.replace("FUNCTION", name)),
            facts=computed(plan.form),
        )


def _walked(plan: Plan, tally: Tally) -> tuple[tuple[str, ...], list[str], list[Constant]]:
    function, text = walk_text(plan.layout, plan.slots.type)
    trees = len(plan.diagram.roots)
    lines, constants = walk_lines(plan.layout, function, trees, tally.add("tree"), tally.advance("trees[2 * tree + 1]"))
    return (text,), lines, constants


def _branched(plan: Plan, tally: Tally) -> tuple[tuple[str, ...], list[str], list[Constant]]:
    lines: list[str] = []
    for number, numbers in enumerate(tally.leaf_places(plan)):
        lines += tree_lines(plan.diagram, number, plan.slots, numbers, lambda limit: _literal(plan, limit))
        lines += tally.add(str(number))
        step = tally.advance(f"{tally.entries(numbers)}u")
        lines += [step] if step and number + 1 < len(plan.diagram.roots) else []
    return (), lines, []


def _literal(plan: Plan, limit: int) -> str:
    dtype = plan.slots.type
    if limit == dtype.range[0] and dtype.range[0] < 0:
        return f"{dtype.name.upper()}_MIN"
    suffix = "" if dtype.range[0] < 0 else "u"
    return f"{limit}{suffix}{'LL' if dtype.size_bytes == 8 else ''}"


def _function(
    plan: Plan, tally: Tally, body: Sequence[str], parameters: Sequence[Constant], outputs, row_size: int, is_classifier: bool
) -> str:
    rows, value = outputs[-1].dims[0], plan.keys.dtype.c_type
    given = [f"const {value} *input", *(["int64_t *labels"] if is_classifier else []), f"{outputs[-1].dtype.c_type} *scores"]
    given += ["void *scratch"] if tally.bytes + plan.slots.bytes else []
    given += [f"const {DType(one.values.dtype.name).c_type} *{one.name}" for one in parameters]
    slots = f"{plan.slots.type.c_type} *const slots = ({plan.slots.type.c_type} *)scratch"
    text = "\n".join(body)
    locals_ = [
        *([f"{slots};"] if plan.slots.count else []),
        *tally.locals(plan.slots.bytes),
        *tally.pointer(parameters),
        *(["const " + plan.layout.form.unit.c_type + " *item;", "int32_t tree;"] if plan.layout else ["uint32_t leaf;"]),
        *(["int32_t best;"] if "best = 0;" in text else []),
        *(["int32_t i;"] if "(i = " in text else []),
    ]
    if not plan.slots.count:
        body = [f"const {value} *const slots = input;", *body]
        text = "\n".join(body)
    used = "" if "slots" in text.replace("*const slots = input", "") else "(void)slots;"
    loop = [*locals_, *body, *([used] if used else []), f"input += {row_size};", f"scores += {outputs[-1].dims[1]};"]
    loop += ["labels++;"] if is_classifier else []
    shown = "\n".join(f"        {line}" if not line.endswith(":") else f"    {line}" for line in loop)
    return (
        f"/* {plan.form}. */\nstatic void FUNCTION({', '.join(given)})\n{{\n    int32_t row;\n"
        f"    for (row = 0; row < {rows}; row++) {{\n{shown}\n    }}\n}}"
    )
