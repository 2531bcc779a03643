# SPDX-License-Identifier: MIT
"""Chooses a kernel and formats for each node so that the fewest bytes are copied."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from aidge_build.contract.implication import more_specific
from aidge_build.contract.library import Kernel, Library
from aidge_build.graph.format import Format, same_bytes
from aidge_build.graph.tensor import Tensor
from aidge_build.graph.view import GraphView, Node
from aidge_build.prepare.adaptation.assignment import Choice
from aidge_build.prepare.adaptation.fewest_bytes import bytes_copied, fewest_bytes, stored_axes
from aidge_build.prepare.adaptation.formats import MOST_OPTIONS, Option
from aidge_build.prepare.adaptation.match import Match

SWEEPS = 20  # of the local search; each sweep only lowers the bytes moved


def choose(view: GraphView, options: Mapping[str, Sequence[Option]]) -> tuple[dict[str, Option], int, bool]:
    """Returns an option per node, the bytes that the options copy, and whether no choice among the options copies fewer.

    Most graphs need no copy, and a search node by node finds that; else the graph is solved as a whole, within a limit on the
    size of the tables. Beyond the limit the result of the search is used, unproved.
    """
    found = _swept(view, options, _one_by_one(view, options))
    found_bytes = bytes_copied(view, found)
    if not found_bytes:
        return found, 0, True
    best = fewest_bytes(view, options)
    if best is None:
        return found, found_bytes, False
    best_bytes = bytes_copied(view, best)
    proved = not any(map(_is_cut, options.values()))
    return (best, best_bytes, proved) if best_bytes < found_bytes else (found, found_bytes, proved)


def _is_cut(options: Sequence[Option]) -> bool:
    """Whether a kernel may have more options than are listed."""
    return max(Counter(id(option.kernel) for option in options).values()) >= MOST_OPTIONS


def _one_by_one(view: GraphView, options: Mapping[str, Sequence[Option]]) -> dict[str, Option]:
    """Returns for each node the option that copies the fewest bytes, given the options of the nodes before it."""
    state: dict[str, Option] = {}
    for node in view.nodes:
        state[node.name] = min(options[node.name], key=lambda option: local_bytes(view, state, node, option))
    return state


def _swept(view: GraphView, options: Mapping[str, Sequence[Option]], first: Mapping[str, Option]) -> dict[str, Option]:
    """Returns the choice after sweeps over the nodes, until no change lowers the bytes moved."""
    state = dict(first)
    open_ones = [node for node in view.nodes if len(options[node.name]) > 1]
    for _ in range(SWEEPS):
        before = dict(state)
        for node in (*reversed(open_ones), *open_ones):
            state[node.name] = min(options[node.name], key=lambda option: local_bytes(view, state, node, option))
        if all(state[name] is before[name] for name in state):
            break
    return state


def local_bytes(view: GraphView, state: Mapping[str, Option], node: Node, option: Option) -> int:
    """Returns the bytes that must be copied at the node's inputs and outputs, given the neighbours' choices so far."""
    inputs = [(view.tensor(node.inputs[index]), form) for index, form in option.inputs]
    total = sum(
        [tensor.size_bytes for tensor, form in inputs if not same_bytes(tensor.dims, given_format(view, state, tensor), form)]
    )
    for name, form in zip(node.outputs, option.outputs, strict=True):
        tensor = view.tensor(name)
        wanted = [tensor.storage] if view.is_output(name) else []
        for reader in view.consumers(name):
            if reader.name in state:
                wanted += state[reader.name].reads(reader.inputs, name)
        copies = {stored_axes(tensor.dims, want) for want in wanted} - {stored_axes(tensor.dims, form)}
        total += len(copies) * tensor.size_bytes
    return total


def given_format(view: GraphView, state: Mapping[str, Option], tensor: Tensor) -> Format:
    """Returns the format in which a tensor is computed."""
    producer = view.producer(tensor.name)
    if producer is None:
        return tensor.storage
    return state[producer.name].outputs[producer.outputs.index(tensor.name)]


def explained(
    view: GraphView,
    chosen: Mapping[str, Option],
    node: Node,
    options: Sequence[Option],
    found: Match,
    rule: str,
    libraries: Sequence[Library],
) -> Choice:
    """Returns the choice with the rule that decided, and the reason against each other kernel that accepts the node."""
    option = chosen[node.name]
    if option.kernel is None:
        return Choice(None, "the same bytes under another name", (), option.inputs, option.outputs)
    others = [kernel for kernel in found.accepted if kernel is not option.kernel]
    reasons = [_behind(view, chosen, node, kernel, options, libraries) for kernel in others]
    rivals = tuple((f"{kernel.library} {kernel.name}", reason) for kernel, (reason, _) in zip(others, reasons, strict=True))
    behind = any(reason.startswith("library ") for _, reason in found.rejected)
    decided = ["first library that accepts it"] if behind else []
    deciding = {decisive for _, decisive in reasons}
    decided += [each for each in RULES if each in deciding]
    rule = rule or ", ".join(decided) or "the only kernel that accepts it"
    return Choice(option.kernel, rule, (*rivals, *found.rejected), option.inputs, option.outputs)


RULES = ("most specific", "fewest bytes copied", "first in the library's order", "first by name")


def _behind(
    view: GraphView,
    chosen: Mapping[str, Option],
    node: Node,
    other: Kernel,
    options: Sequence[Option],
    libraries: Sequence[Library],
) -> tuple[str, str]:
    """Returns why another kernel is not taken, and the rule that decided."""
    taken = chosen[node.name].kernel
    if more_specific(taken.spec, other.spec):
        return "less specific", RULES[0]
    needed = min(local_bytes(view, chosen, node, option) for option in options if option.kernel is other)
    more = needed - local_bytes(view, chosen, node, chosen[node.name])
    if more > 0:
        return f"{more:,} B more to copy", RULES[1]
    library = next(library for library in libraries if library.name == taken.library)
    if library.places(taken):
        return f"neither is more specific, and the order of library {library.name} has {taken.name} first", RULES[2]
    return f"neither is more specific, and {taken.name} comes first by name", RULES[3]
