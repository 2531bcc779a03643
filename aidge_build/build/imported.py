# SPDX-License-Identifier: MIT
"""From a model's file to the simplified graph, whichever kernels and memories there are."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from aidge_build.base.debug import show
from aidge_build.base.errors import AidgeError
from aidge_build.build.request import CompileRequest
from aidge_build.contract.library import Library
from aidge_build.graph.view import GraphView
from aidge_build.plan.options import Options
from aidge_build.prepare.adaptation.fuse_meta import fuse_meta
from aidge_build.prepare.recipes import simplify
from aidge_build.prepare.recipes.byte_caches import byte_caches
from aidge_build.prepare.recipes.check import check_graph, check_rewrite, checked
from aidge_build.prepare.recipes.inner_states import inner_states
from aidge_build.prepare.recipes.multiply_levels import multiply_levels
from aidge_build.prepare.recipes.remove_constant_channels import remove_constant_channels
from aidge_build.prepare.recipes.ring_caches import ring_caches
from aidge_build.prepare.recipes.seen_rows import seen_rows
from aidge_build.prepare.recipes.separate_outputs import separate_outputs
from aidge_build.prepare.recipes.slide_states import slide_states
from aidge_build.sources.importing import import_file
from aidge_build.sources.state import require_same_quantization


def import_model(request: CompileRequest) -> tuple[GraphView, tuple[str, ...]]:
    """The simplified graph of the model without the channels that need not be computed, and one-line notices for the user."""
    view, notices = simplified(request)
    return reduced(view, request.options, request.libraries), notices


def simplified(request: CompileRequest) -> tuple[GraphView, tuple[str, ...]]:
    """The simplified graph with all channels, and one-line notices for the user."""
    view, notices = import_file(request.file)
    notices = (*request.notices, *notices)
    view, renamed = separate_outputs(view)
    notices += tuple(f"graph output '{old}' is an input, too: its copy is the output '{new}'" for old, new in renamed.items())
    show(2, "imported", view)
    fused = fuse_meta(view, request.libraries, request.target, first_only=True)
    simple = simplify(check_rewrite(view, fused, "fusing what a library computes together"), request.target.contract)
    if request.options.block_data == "int8":
        simple = checked(multiply_levels, simple)
    require_same_quantization(simple)
    return simple, notices


def reduced(view: GraphView, options: Options, libraries: Sequence[Library] = ()) -> GraphView:
    """The graph without the channels that need not be computed, where the options leave them out; its states are windows where
    they may change before the end of an inference."""
    view = _with_other_states(inner_states, view)
    if _may_see_rows(options, libraries):
        view = checked(seen_rows, view)
    if options.state_type == "int8":
        view = _in_bytes(view)
    if options.changes_states_at_once:
        view = _with_other_states(slide_states, _with_other_states(ring_caches, view))
    if options.constant_channels == "off" or options.replaces_weights:
        return view
    view = checked(remove_constant_channels, view)
    show(2, "after remove_constant_channels", view)
    return view


def _may_see_rows(options: Options, libraries: Sequence[Library]) -> bool:
    """Whether the library that computes products has kernels for rows of a cache up to a position, the proof holds for all
    weights that the firmware may get, and no bound of a step is asked for, which loops of unknown length would not have."""
    first = next((library for library in libraries if library.kernels_for("MatMul")), None)
    return first is not None and bool(first.kernels_for("SeenMatMul")) and not options.max_step and not options.replaces_weights


def _in_bytes(view: GraphView) -> GraphView:
    made = _with_other_states(byte_caches, view)
    if made is view:
        raise AidgeError(
            "--state-type int8: no state is a cache that ScatterND writes by rows and only products of matrices read",
            hint="leave the option out; docs/c-api.md says which states can be bytes",
            code="OPTION",
        )
    return made


def _with_other_states(rewrite: Callable[[GraphView], GraphView], view: GraphView) -> GraphView:
    """The rewritten graph; its states may have other dims and types, which no rewrite that `check_rewrite` knows gives them."""
    made = rewrite(view)
    if made is not view:
        check_graph(made, rewrite.__name__, view)
    return made


def price_of_update(whole: GraphView) -> tuple[str, ...]:
    """Returns a notice with the cost of computing all channels, also channels that the present weights make constant."""
    reduced = checked(remove_constant_channels, whole)
    before, after = macs_of(reduced), macs_of(whole)
    if before == after:
        return ()
    return (
        f"update='weights' computes channels that are constant with these weights: {after:,} multiply-accumulates instead of "
        f"{before:,}",
    )


def macs_of(view: GraphView) -> int:
    """The multiply-accumulates of an inference."""
    return sum(node.operator.multiply_accumulates(view.input_tensors(node), view.output_tensors(node)) for node in view.nodes)
