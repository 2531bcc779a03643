# SPDX-License-Identifier: MIT
"""From the simplified graph to kernels: one for each node, within the options' limits of memory and of steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial

from aidge_build.build.request import CompileRequest
from aidge_build.contract.spec import Demands
from aidge_build.graph.view import GraphView, Node
from aidge_build.plan.cascade.kernels import BandKernels
from aidge_build.plan.options import Options
from aidge_build.plan.planning import Planning, bytes_of_whole
from aidge_build.plan.stepping import MOST_CUTS, Limit, groups_wanted, too_long_together, wanted_of_layers
from aidge_build.prepare.adaptation.adapt import adapt_to_backend
from aidge_build.prepare.adaptation.assignment import Assignment
from aidge_build.prepare.adaptation.by_cost import with_faster
from aidge_build.prepare.adaptation.cost_of_flags import flag_notices
from aidge_build.prepare.adaptation.float_layers import float_normalizations, missing_quantization
from aidge_build.prepare.adaptation.slow_layers import (
    layers_with_float_weights,
    layers_without_products,
    slow_layers,
    wide_layers,
)
from aidge_build.prepare.adaptation.smaller_kernels import with_smaller_kernels
from aidge_build.prepare.adaptation.undefined import undefined_notices
from aidge_build.prepare.adaptation.unused_libraries import unused_checkouts
from aidge_build.prepare.recipes.check import check_rewrite
from aidge_build.prepare.recipes.split_outputs import split_outputs


def assigned(view: GraphView, request: CompileRequest) -> tuple[Assignment, tuple[str, ...]]:
    """Returns a kernel for every node of the simplified graph, and notices about kernels that a faster or a smaller one replaced.

    Plans of layers row by row, or of an inference in steps, choose the kernels that they need. A core with an FPU keeps its
    kernels: a few bytes are not worth layers that take ten times as long, and there is --ram-budget. With a table that compares
    kernels, faster ones are taken if the plan does not grow."""
    target, options, bytes_of = request.target, request.options, partial(_bytes_of, request)
    quicker: tuple[str, ...] = ()
    if options.select == "cost" and target.cost_table is not None and target.cost_table.quicker is not None:
        preferred = adapt_to_backend(view, request.libraries, replace(target, cost_table=None))
        assignment, target, quicker = with_faster(view, request.libraries, target, preferred, bytes_of)
    else:
        assignment = adapt_to_backend(view, request.libraries, target)
    if target.objective != "size" or "fpu" in target.features or options.by_rows:
        return assignment, quicker
    assignment, smaller = with_smaller_kernels(view, request.libraries, target, assignment, bytes_of)
    return assignment, (*quicker, *smaller)


def _bytes_of(request: CompileRequest, trial: Assignment) -> tuple[int, int]:
    return bytes_of_whole(trial, cache(partial(demands_of, trial)), request.options, request.board)


def with_budget(view: GraphView, request: CompileRequest, assignment: Assignment) -> tuple[Assignment, tuple[str, ...]]:
    """Returns the assignment with smaller kernels for --ram-budget, and notices about these kernels."""
    budget = request.options.ram_budget
    return with_smaller_kernels(
        view, request.libraries, request.target, assignment, partial(_bytes_of, request), (budget, budget)
    )


def in_groups(view: GraphView, assignment: Assignment, request: CompileRequest) -> Assignment:
    """The assignment of the graph in which layers are cut by channels where rows do not make them as short as a step may be, and
    layers come apart that one kernel would compute in too long a step."""
    if not request.options.max_step:
        return assignment
    limit, most = Limit(request.options.max_step, request.libraries, "fpu" in request.target.features), dict[str, int]()
    target = request.target
    for _ in range(MOST_CUTS):
        kernels = bands_of(request)(assignment)
        new = wanted_of_layers(view, groups_wanted(assignment, kernels, limit), most)
        together = too_long_together(assignment, kernels, limit)
        if not new and not together:
            break
        most |= new
        target = replace(target, passed_over=target.passed_over | together)
        cut = check_rewrite(view, split_outputs(view, most), "cutting layers by channels")
        assignment = adapt_to_backend(cut, request.libraries, target)
    return assignment


def planned(request: CompileRequest, assignment: Assignment, options: Options) -> Planning:
    """The plans of the assignment, for whichever board."""
    return Planning(assignment, cache(partial(demands_of, assignment)), options, bands_of(request))


def demands_of(assignment: Assignment, node: Node) -> Demands:
    """Returns the demands that the kernel of a node makes on the planner."""
    return assignment.choices[node.name].kernel.demands(assignment.node_view(node))


def bands_of(request: CompileRequest) -> Callable[[Assignment], BandKernels]:
    """Returns the function that gives the band kernels of an assignment."""
    return lambda assignment: BandKernels(assignment, request.libraries, request.target)


def notices_of(assignment: Assignment, request: CompileRequest) -> tuple[str, ...]:
    """Returns the notices for the user about the chosen kernels."""
    names = [one.name for one in request.libraries]
    return (
        *unused_checkouts(assignment, request.libraries),
        *flag_notices(assignment, (*request.left_out, *request.libraries), request.target, request.core),
        *missing_quantization(assignment, request.libraries, request.target),
        *float_normalizations(assignment, request.libraries),
        *(
            layers_without_products(assignment)
            if _lacks_products(request)
            else slow_layers(assignment, request.target.features, names, lacks_fpu=_lacks_fpu(request))
        ),
        *wide_layers(assignment, names),
        *layers_with_float_weights(assignment),
        *undefined_notices(assignment),
    )


def _lacks_products(request: CompileRequest) -> bool:
    """Whether the core, whatever its board says, has no instruction for them, as some RISC-V cores."""
    core = request.core or (request.board.core if request.board else None)
    return core is not None and core.lacks_products


def _lacks_fpu(request: CompileRequest) -> bool:
    """Whether the core is known to have none: of this machine and of code for any core nothing is known."""
    core = request.core or (request.board.core if request.board else None)
    return core is not None and not (core.is_native or core.is_portable) and "fpu" not in request.target.features
