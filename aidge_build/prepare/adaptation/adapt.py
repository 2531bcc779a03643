# SPDX-License-Identifier: MIT
"""adapt_to_backend: a kernel for every node and a format for every tensor, with the fewest bytes moved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from aidge_build.base.errors import AidgeError
from aidge_build.contract.library import Library
from aidge_build.contract.spec import NodeView
from aidge_build.graph.format import Format, same_bytes
from aidge_build.graph.rewrite import Rewrite
from aidge_build.graph.view import GraphView, Node
from aidge_build.operators.flip_sign import FlipSign
from aidge_build.operators.reformat import Reformat
from aidge_build.prepare.adaptation.assignment import Assignment, Choice
from aidge_build.prepare.adaptation.check_views import checked_views
from aidge_build.prepare.adaptation.choose import choose, explained, given_format
from aidge_build.prepare.adaptation.fewest_bytes import stored_axes
from aidge_build.prepare.adaptation.fold_copies import fold_into_weights, fold_option, foldable
from aidge_build.prepare.adaptation.formats import Option, kernel_options, view_options
from aidge_build.prepare.adaptation.fuse_meta import fuse_meta
from aidge_build.prepare.adaptation.match import Match, Target, match
from aidge_build.prepare.adaptation.state_orders import with_state_orders
from aidge_build.prepare.adaptation.widen import widen
from aidge_build.prepare.recipes.check import check_graph, check_rewrite
from aidge_build.prepare.recipes.separate_outputs import separate_outputs
from aidge_build.prepare.recipes.store_states import store_states


def adapt_to_backend(view: GraphView, libraries: Sequence[Library], target: Target) -> Assignment:
    """Chooses per node the best kernel of the most preferred library, then the formats that move the fewest bytes.

    A node that no kernel accepts as it is gets conversions around it if a kernel accepts the result (`widen`). Copies (operator
    Reformat) go between neighbours that need different formats, and fold into constants if they can. All nodes that no kernel
    accepts are reported at once.
    """
    check_graph(view, "its construction")
    view, _ = separate_outputs(view)
    view = check_rewrite(view, store_states(view), "storing states", exact=True)
    view = check_rewrite(view, _with_own_outputs(view), "copying outputs", exact=True)
    view = check_rewrite(view, fuse_meta(view, libraries, target), "fusing what a library computes together", exact=True)
    seen_in = cache(lambda graph, node: NodeView.of(graph, node, **target.asked).before_orders())
    matches_in = cache(lambda graph, node: match(seen_in(graph, node), libraries, target))
    wrapped, widened = widen(view, libraries, target, matches_in)
    view = check_rewrite(view, wrapped, "converting types around kernels")
    while True:
        matches = {node.name: matches_in(view, node) for node in view.nodes}
        options = {node.name: _options(view, seen_in(view, node), matches[node.name]) for node in view.nodes}
        _refuse_unsupported(view, matches, options, libraries, target)
        view = check_rewrite(view, with_state_orders(view, options), "storing states in other orders", exact=True)
        chosen, copied_bytes, proved = choose(view, options)
        folded = fold_into_weights(view, chosen)
        if folded is None:
            break
        view = check_rewrite(view, folded, "folding copies into weights")
    adapted = check_rewrite(view, _with_copies(view, chosen), "copying between formats", exact=True)
    originals = {node.name: node for node in view.nodes}
    choices = {}
    for node in adapted.nodes:
        if node.name in chosen:
            rule = widened.get(node.name, "") or matches[node.name].rule
            before = originals[node.name]  # which reads no copies yet
            choices[node.name] = explained(view, chosen, before, options[node.name], matches[node.name], rule, libraries)
        else:
            copy = match(NodeView.of(adapted, node), libraries, target)
            _refuse_unsupported(adapted, {node.name: copy}, {node.name: copy.accepted}, libraries, target, (node,))
            choices[node.name] = Choice(copy.accepted[0], "copy between two formats", copy.rejected)
    return checked_views(Assignment(adapted, choices, copied_bytes, proved, **target.asked))


def _with_own_outputs(view: GraphView) -> GraphView:
    """Returns the view with every graph output computed: an alias of an input, constant or other output becomes a copy."""
    rewrite = Rewrite(view)
    taken: set[str] = set()
    for name in view.outputs:
        root, node = name, view.producer(name)
        while node is not None and node.operator.views:
            root = node.inputs[0]
            node = view.producer(root)
        if node is not None and root not in taken and (root == name or not view.is_output(root)):
            taken.add(root)
            continue
        tensor, last = view.tensor(name), view.producer(name)
        source = rewrite.add_tensor(tensor.with_(name=f"{name}_source"))
        rewrite.update_tensor(name, data=None)
        copy = Node(f"{name}_copy", Reformat(), (source,), (name,), last.origin if last else ())
        if last is None:
            rewrite.append_node(copy)
        else:
            rewrite.replace_node(
                last, last.with_(outputs=tuple(source if output == name else output for output in last.outputs)), copy
            )
    return rewrite.finish()


def _options(view: GraphView, seen: NodeView, found: Match) -> list[Option]:
    node = seen.node
    options = view_options(seen) if node.operator.views else []
    options += [option for kernel in found.accepted for option in kernel_options(seen, kernel)]
    if isinstance(node.operator, FlipSign):
        options.reverse()  # a copy between formats goes after it, next to a graph output, and it works in place
    return [*options, fold_option(view, node)] if foldable(view, node) else options


def _refuse_unsupported(
    view: GraphView,
    matches: Mapping[str, Match],
    options: Mapping[str, Sequence],
    libraries: Sequence[Library],
    target: Target,
    nodes: Sequence[Node] | None = None,
) -> None:
    missing = [node for node in nodes or view.nodes if not options[node.name] and not node.operator.views]
    if not missing:
        return
    first = missing[0]
    others = f" ({len(missing)} nodes have none: {', '.join(node.where() for node in missing[:20])})" if len(missing) > 1 else ""
    tried = [f"{name} ({reason})" for name, reason in matches[first.name].rejected]
    remedy = _remedy(matches[first.name], NodeView.of(view, first).before_orders(), libraries)
    raise NoKernel(
        f"no kernel accepts it{others}",
        first.where(),
        tried,
        remedy,
        tuple(NodeView.of(view, node).before_orders() for node in missing),
        tuple(library.name for library in libraries if library.kernels),
        target,
    )


class NoKernel(AidgeError):
    """The error for `nodes` without a kernel in the `libraries`."""

    def __init__(
        self,
        what: str,
        where: str,
        tried: Sequence[str],
        hint: str,
        nodes: tuple[NodeView, ...],
        libraries: tuple[str, ...],
        target: Target,
    ):
        super().__init__(what, where=where, tried=tried, hint=hint, code="KERNEL")
        self.nodes, self.libraries, self.target = nodes, libraries, target


def _remedy(found: Match, view: NodeView, libraries: Sequence[Library]) -> str:
    """Returns what to type or change: name the core, change the rounding, cast the data, or add a library or a kernel."""
    reasons = [reason for _, reason in found.rejected]
    if _all_begin(reasons, "the CPU has no "):
        return "name the core: --board, or --cpu with --fpu; or add a library for every core at the end of the list: --lib A,B"
    if any(reason.startswith("rounds as 'onnx', the build wants 'double'") for reason in reasons):
        return "--rounding onnx computes it, at most one level from LiteRT in most layers (docs/tflite.md)"
    types = _types_of_data(view, libraries)
    given = next((tensor.dtype.name for tensor in view.inputs if tensor is not None), "")
    if types and given and given not in types:
        return f"its kernels take {' or '.join(types)}: insert a Cast, or export the model in such a type"
    if _all_begin(reasons, "has no kernel for"):
        return "add a library that has one at the end of the list: --lib A,B; aidge-build list kernels lists them"
    return "aidge-build list kernels lists what each library accepts; a library of your own: --kernel-path"


def _types_of_data(view: NodeView, libraries: Sequence[Library]) -> list[str]:
    """Returns the types of input 0 that kernels for such a node name, sorted."""
    kernels = [kernel for library in libraries for kernel in library.kernels_for(view.node.type, view.operator.kinds())]
    return sorted({side.dtype.name for kernel in kernels for side in kernel.spec.inputs[:1] if not side.dtype.is_wildcard})


def _all_begin(reasons: Sequence[str], words: str) -> bool:
    return bool(reasons) and all(reason.startswith(words) for reason in reasons)


def _with_copies(view: GraphView, chosen: Mapping[str, Option]) -> GraphView:
    """Returns the view with final formats, and a Reformat node for each tensor and further format that a node reads."""
    rewrite = Rewrite(view)
    copies: dict[tuple[str, tuple[int, ...]], str] = {}  # by tensor and order of the stored axes
    permuted: dict[str, str] = {}  # graph output -> the tensor in the kernel's format that it is copied from
    before: dict[str, list[Node]] = {}

    def in_format(name: str, form: Format, reader: Node) -> str:
        tensor = view.tensor(name)
        given = given_format(view, chosen, tensor)
        if same_bytes(tensor.dims, given, form):
            return permuted.get(name, name)
        key = name, stored_axes(tensor.dims, form)
        if key not in copies:
            copy = rewrite.add_tensor(tensor.with_(name=f"{name}_{form}", format=form))
            copies[key] = copy
            node_name = f"{reader.name}_reformat_{len(copies)}"
            before.setdefault(reader.name, []).append(
                Node(node_name, Reformat(), (permuted.get(name, name),), (copy,), reader.origin)
            )
        return copies[key]

    for node in view.nodes:
        option = chosen[node.name]
        formats = dict(option.inputs)
        names = [in_format(name, formats[index], node) if index in formats else name for index, name in enumerate(node.inputs)]
        outputs, after = list(node.outputs), []
        for position, (name, form) in enumerate(zip(node.outputs, option.outputs)):
            tensor = view.tensor(name)
            if view.is_output(name) and not same_bytes(tensor.dims, form, tensor.storage):
                outputs[position] = rewrite.add_tensor(tensor.with_(name=f"{name}_{form}", format=form))
                after.append(Node(f"{node.name}_reformat_out", Reformat(), (outputs[position],), (name,), node.origin))
                rewrite.put_tensor(tensor.in_format(tensor.storage))
                permuted[name] = outputs[position]
                copies[name, stored_axes(tensor.dims, tensor.storage)] = name
            else:
                rewrite.put_tensor(tensor.in_format(tensor.format if view.is_output(name) and tensor.format else form))
        if after or names != list(node.inputs):
            changed = node.with_(inputs=tuple(names), outputs=tuple(outputs))
            rewrite.replace_node(node, *before.get(node.name, ()), changed, *after)
    for name in view.inputs:
        rewrite.put_tensor(view.tensor(name).in_format(view.tensor(name).storage))
    return rewrite.finish()
