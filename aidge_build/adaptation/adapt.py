# SPDX-License-Identifier: MIT
"""adapt_to_backend: a kernel for every node and a format for every tensor, with the fewest bytes moved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aidge_build.adaptation.assignment import Assignment, Choice
from aidge_build.adaptation.check_views import checked_views
from aidge_build.adaptation.fold_copies import fold_into_weights
from aidge_build.adaptation.formats import Option, kernel_options, view_options
from aidge_build.adaptation.fuse_meta import fuse_meta
from aidge_build.adaptation.match import Match, Target, match
from aidge_build.adaptation.widen import widen
from aidge_build.contract.library import Library
from aidge_build.contract.spec import NodeView
from aidge_build.errors import AidgeError
from aidge_build.graph.format import Format, row_major, same_bytes
from aidge_build.graph.rewrite import Rewrite
from aidge_build.graph.tensor import Tensor
from aidge_build.graph.view import GraphView, Node
from aidge_build.operators.reformat import Reformat
from aidge_build.recipes.check import check_graph, check_rewrite
from aidge_build.recipes.separate_outputs import separate_outputs

SWEEPS = 20  # of the local search; each sweep only lowers the bytes moved


def adapt_to_backend(view: GraphView, libraries: Sequence[Library], target: Target) -> Assignment:
    """Choose per node the best kernel of the most preferred library, then the formats that move the fewest bytes.

    A node that no kernel accepts as it is gets conversions around it where a kernel then does (`widen`).
    Copies (operator Reformat) are put where two neighbours need different formats, and fold into constants where they
    can. All nodes that no kernel accepts are reported at once.
    """
    check_graph(view, "its construction")
    view, _ = separate_outputs(view)
    view = check_rewrite(view, _with_own_outputs(view), "copying outputs", exact=True)
    view = check_rewrite(view, fuse_meta(view, libraries, target), "fusing what a library computes together", exact=True)
    wrapped, widened = widen(view, libraries, target)
    view = check_rewrite(view, wrapped, "converting types around kernels")
    while True:
        matches = {node.name: match(NodeView.of(view, node), libraries, target) for node in view.nodes}
        options = {node.name: _options(view, node, matches[node.name]) for node in view.nodes}
        _refuse_unsupported(view, matches, options)
        chosen = _choose(view, options)
        folded = fold_into_weights(view, chosen)
        if folded is None:
            break
        view = check_rewrite(view, folded, "folding copies into weights")
    adapted = check_rewrite(view, _with_copies(view, chosen), "copying between formats", exact=True)
    choices = {}
    for node in adapted.nodes:
        if node.name in chosen:
            choices[node.name] = _choice(
                chosen[node.name], matches[node.name], widened.get(node.name, "") or matches[node.name].rule
            )
        else:
            copy = match(NodeView.of(adapted, node), libraries, target)
            _refuse_unsupported(adapted, {node.name: copy}, {node.name: copy.accepted}, (node,))
            choices[node.name] = Choice(copy.accepted[0], "copy between two formats", copy.rejected)
    return checked_views(Assignment(adapted, choices))


def _with_own_outputs(view: GraphView) -> GraphView:
    """Each graph output is computed: one that is only another name for an input, constant or other output is copied."""
    rewrite = Rewrite(view)
    taken: set[str] = set()
    for name in view.outputs:
        root, node = name, view.producer(name)
        while node is not None and node.operator.views:
            root = node.inputs[0]
            node = view.producer(root)
        if node is not None and root not in taken and (root == name or root not in view.outputs):
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


def _options(view: GraphView, node: Node, found: Match) -> list[Option]:
    seen = NodeView.of(view, node)
    return [
        *(view_options(seen) if node.operator.views else ()),
        *(option for kernel in found.accepted for option in kernel_options(seen, kernel)),
    ]


def _refuse_unsupported(
    view: GraphView, matches: Mapping[str, Match], options: Mapping[str, Sequence], nodes: Sequence[Node] | None = None
) -> None:
    missing = [node for node in nodes or view.nodes if not options[node.name] and not node.operator.views]
    if not missing:
        return
    first = missing[0]
    others = f" ({len(missing)} nodes have none: {', '.join(node.where() for node in missing[:20])})" if len(missing) > 1 else ""
    raise AidgeError(
        f"no kernel accepts it{others}",
        where=first.where(),
        code="KERNEL",
        tried=[f"{name} ({reason})" for name, reason in matches[first.name].rejected],
        hint="aidge-build kernels lists what each library accepts; a library of your own: --kernel-path",
    )


def _choice(option: Option, found: Match, rule: str) -> Choice:
    if option.kernel is None:
        return Choice(None, "the same bytes under another name", (), option.inputs, option.outputs)
    rivals = tuple(
        (f"{kernel.library} {kernel.name}", "less specific, or moves more bytes")
        for kernel in found.accepted
        if kernel is not option.kernel
    )
    if any(reason.startswith("library ") for _, reason in found.rejected):
        rule = rule or "first library that accepts it"
    rule = rule or ("the only kernel that accepts it" if len(found.accepted) == 1 else "most specific, fewest bytes moved")
    return Choice(option.kernel, rule, (*rivals, *found.rejected), option.inputs, option.outputs)


def _choose(view: GraphView, options: Mapping[str, Sequence[Option]]) -> dict[str, Option]:
    """Forward choice, then sweeps over the nodes until no change lowers the bytes moved: exact on chains in practice."""
    state: dict[str, Option] = {}
    for node in view.nodes:
        if options[node.name]:
            state[node.name] = min(options[node.name], key=lambda option: _cost(view, state, node, option))
        else:
            state[node.name] = _view_after_copy(view, node)
    for _ in range(SWEEPS):
        before = dict(state)
        for node in (*reversed(view.nodes), *view.nodes):
            if options[node.name]:
                state[node.name] = min(
                    options[node.name], key=lambda option: (_cost(view, state, node, option), option is not state[node.name])
                )
        if all(state[name] is before[name] for name in state):
            break
    return state


def _view_after_copy(view: GraphView, node: Node) -> Option:
    """A Reshape of a permuted tensor: the copy to row-major goes before it."""
    return Option(None, ((0, row_major(view.tensor(node.inputs[0]).rank)),), (row_major(view.tensor(node.outputs[0]).rank),))


def _cost(view: GraphView, state: Mapping[str, Option], node: Node, option: Option) -> int:
    """Bytes that must be copied at the node's inputs and outputs, given the neighbours' choices so far."""
    total = 0
    for index, form in option.inputs:
        tensor = view.tensor(node.inputs[index])
        given = _format_of(view, state, tensor)
        if given is not None and not same_bytes(tensor.dims, given, form):
            total += tensor.size_bytes
    for name, form in zip(node.outputs, option.outputs):
        tensor = view.tensor(name)
        wanted = [row_major(tensor.rank)] if name in view.outputs else []
        wanted += [
            want for reader in view.consumers(name) if reader.name in state for want in _reads(reader, state[reader.name], name)
        ]
        distinct = [
            want
            for position, want in enumerate(wanted)
            if not any(same_bytes(tensor.dims, want, other) for other in wanted[:position])
        ]
        total += sum(tensor.size_bytes for want in distinct if not same_bytes(tensor.dims, want, form))
    return total


def _reads(reader: Node, option: Option, name: str) -> list[Format]:
    return [form for index, form in option.inputs if reader.inputs[index] == name]


def _format_of(view: GraphView, state: Mapping[str, Option], tensor: Tensor) -> Format | None:
    producer = view.producer(tensor.name)
    if producer is None:
        return row_major(tensor.rank)
    if producer.name not in state:
        return None
    return state[producer.name].outputs[producer.outputs.index(tensor.name)]


def _with_copies(view: GraphView, chosen: Mapping[str, Option]) -> GraphView:
    """The view with final formats, and a Reformat node for each tensor and further format that somebody reads."""
    rewrite = Rewrite(view)
    copies: dict[tuple[str, Format], str] = {}
    permuted: dict[str, str] = {}  # graph output -> the tensor in the kernel's format that it is copied from
    before: dict[str, list[Node]] = {}

    def in_format(name: str, form: Format, reader: Node) -> str:
        tensor = view.tensor(name)
        given = _format_of(view, chosen, tensor)
        if same_bytes(tensor.dims, given, form):
            return permuted.get(name, name)
        if (name, form) not in copies:
            copy = rewrite.add_tensor(tensor.with_(name=f"{name}_{form}", format=form))
            copies[name, form] = copy
            node_name = f"{reader.name}_reformat_{len(copies)}"
            before.setdefault(reader.name, []).append(
                Node(node_name, Reformat(), (permuted.get(name, name),), (copy,), reader.origin)
            )
        return copies[name, form]

    for node in view.nodes:
        option = chosen[node.name]
        formats = dict(option.inputs)
        names = [in_format(name, formats[index], node) if index in formats else name for index, name in enumerate(node.inputs)]
        outputs, after = list(node.outputs), []
        for position, (name, form) in enumerate(zip(node.outputs, option.outputs)):
            tensor = view.tensor(name)
            if name in view.outputs and not same_bytes(tensor.dims, form, row_major(tensor.rank)):
                outputs[position] = rewrite.add_tensor(tensor.with_(name=f"{name}_{form}", format=form))
                after.append(Node(f"{node.name}_reformat_out", Reformat(), (outputs[position],), (name,), node.origin))
                rewrite.update_tensor(name, format=row_major(tensor.rank))
                permuted[name] = outputs[position]
                copies[name, row_major(tensor.rank)] = name
            else:
                rewrite.update_tensor(name, format=form)
        rewrite.replace_node(node, *before.get(node.name, ()), node.with_(inputs=tuple(names), outputs=tuple(outputs)), *after)
    for name in view.inputs:
        rewrite.update_tensor(name, format=row_major(view.tensor(name).rank))
    return rewrite.finish()
