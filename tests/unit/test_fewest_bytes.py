# SPDX-License-Identifier: MIT
"""The formats of a graph copy the fewest bytes: against trying all combinations, on random graphs with branches and joins."""

from __future__ import annotations

import itertools
import math
import os
import random
import re
from dataclasses import replace

import numpy
import pytest

from aidge_build.contract.library import load_library
from aidge_build.contract.spec import NodeView
from aidge_build.graph.format import same_bytes
from aidge_build.graph.view import GraphView
from aidge_build.prepare.adaptation import choose as choosing
from aidge_build.prepare.adaptation import fewest_bytes as solving
from aidge_build.prepare.adaptation.adapt import _options, adapt_to_backend
from aidge_build.prepare.adaptation.fewest_bytes import bytes_copied, fewest_bytes
from aidge_build.prepare.adaptation.formats import Option
from aidge_build.prepare.adaptation.match import Target, match
from aidge_build.prepare.recipes import simplify
from tests.command import aidge_build
from tests.models import graph, model, same_meaning

SEEDS = range(400 if os.environ.get("AIDGE_STRESS") else 40)
MOST_COMBINATIONS = 3000
KERNELS = """
from aidge_build.contract.spec import IOSpec, ImplSpec
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.graph.dtype import dtype
LAST, SAME, ROWS = (IOSpec(dtype.float32, name) for name in ("channels_last", "any_1", "row_major"))
ANY = IOSpec(dtype.float32)
@kernel(["Conv2D"], ImplSpec([LAST, ANY], [LAST]))
class Window(KernelNode): pass
@kernel(["ReLU", "Add", "Concat"], ImplSpec([SAME], [SAME]))
class Same(KernelNode): pass
@kernel(["Sigmoid", "MaxPooling2D"], ImplSpec([ROWS], [ROWS]))
class Rows(KernelNode): pass
@kernel("Tanh", ImplSpec([LAST], [ROWS]))
class Turning(KernelNode): pass
@kernel("FC", ImplSpec([ROWS, ANY], [ROWS]))
class FC(KernelNode): pass
@kernel("Reformat", ImplSpec(IOSpec()))
class Copy(KernelNode): pass
"""
LIBRARY = load_library({"library.toml": b'name = "toy"', "kernels.py": KERNELS.encode()}, "toy")


def random_graph(seed: int, nodes: int = 7) -> GraphView:
    """Branches, joins, transposes, several outputs; a tensor has 4 or 8 channels."""
    rng = random.Random(seed)
    known, lines = {"x": 4}, []
    for index in range(nodes):
        name, source = f"t{index}", rng.choice(list(known)[-4:])
        channels = known[source]
        partners = [other for other, count in known.items() if count == channels]
        kind = rng.choice(("Relu", "Sigmoid", "Tanh", "Conv", "Conv", "Add", "Add", "Transpose", "Concat"))
        if kind == "Conv":
            made = rng.choice((4, 8))
            lines.append(f"{name} = Conv({source}, w{channels}{made})")
        elif kind == "Concat" and channels == 4 and len([other for other in partners if known[other] == 4]) > 1:
            made = 8
            lines.append(f"{name} = Concat<axis=1>({source}, {rng.choice(partners)})")
        elif kind == "Transpose" and channels == 4:
            made = 4
            lines.append(f"{name} = Transpose<perm={rng.choice(('[0,2,3,1]', '[0,3,1,2]', '[0,1,3,2]'))}>({source})")
        elif kind in ("Add", "Concat", "Transpose"):
            made = channels
            lines.append(f"{name} = Add({source}, {rng.choice(partners)})")
        else:
            made = channels
            lines.append(f"{name} = {kind}({source})")
        known[name] = made
    text = " ".join(lines)
    words = re.findall(r"\w+", text)
    ends = [name for name in known if name != "x" and words.count(name) == 1]  # nobody reads it
    outputs = dict.fromkeys([*ends, *([f"t{rng.randrange(nodes)}"] if rng.random() < 0.3 else [])])
    shapes = {f"w{channels}{made}": (made, channels, 1, 1) for channels in (4, 8) for made in (4, 8)}
    return graph(
        text,
        inputs="float[1,4,4,4] x",
        outputs=", ".join(f"float[1,{known[name]},4,4] {name}" for name in outputs),
        constants={name: numpy.ones(dims, numpy.float32) for name, dims in shapes.items() if name in words},
    )


def options_of(view: GraphView) -> dict[str, list[Option]]:
    seen = [NodeView.of(view, node) for node in view.nodes]
    return {one.node.name: _options(view, one, match(one, (LIBRARY,), Target())) for one in seen}


def cost(view: GraphView, options, chosen) -> tuple[int, int]:
    """The bytes that are copied, and how late the options come in their lists."""
    return bytes_copied(view, chosen), sum(options[name].index(option) for name, option in chosen.items())


def least_of_all(view: GraphView, options) -> tuple[int, int]:
    return min(cost(view, options, dict(zip(options, each, strict=True))) for each in itertools.product(*options.values()))


@pytest.fixture(scope="module")
def graphs():
    views = [random_graph(seed) for seed in SEEDS]
    pairs = [(view, options_of(view)) for view in views]
    small = [(view, options) for view, options in pairs if math.prod(map(len, options.values())) <= MOST_COMBINATIONS]
    assert len(small) > len(SEEDS) // 2
    return small


def test_no_combination_of_options_copies_fewer_bytes_or_as_many_with_earlier_options(graphs):
    better, others = 0, 0
    views = [random_graph(seed, nodes=1 + seed % 3) for seed in SEEDS]
    for view, options in [*graphs, *((view, options_of(view)) for view in views)]:
        best, wanted = fewest_bytes(view, options), least_of_all(view, options)
        assert cost(view, options, best) == wanted, view
        chosen, _, proved = choosing.choose(view, options)
        assert proved and bytes_copied(view, chosen) == wanted[0]
        searched = choosing._swept(view, options, choosing._one_by_one(view, options))
        better += bytes_copied(view, searched) > wanted[0]
        if bytes_copied(view, searched) == wanted[0]:
            assert chosen == searched, "a choice of as many bytes is no reason to leave what the search has found"
            others += best != searched
    assert better, "the samples do not need more than a search node by node"
    assert others, "the samples have no two choices that copy the fewest bytes"


def test_the_copies_of_the_adapted_graph_have_the_bytes_that_were_counted_and_change_nothing(graphs):
    for view, _ in graphs:
        assignment = adapt_to_backend(view, (LIBRARY,), Target())
        for node in assignment.view.nodes:
            choice, read = assignment.choices[node.name], assignment.view.input_tensors(node)
            pairs = [(read[index], form) for index, form in choice.inputs]
            for tensor, form in (*pairs, *zip(assignment.view.output_tensors(node), choice.outputs, strict=False)):
                assert tensor.format and same_bytes(tensor.dims, tensor.format, form), (node, tensor, form)
        ends = map(assignment.view.tensor, (*assignment.view.inputs, *assignment.view.outputs))
        assert all(tensor.format and tensor.format.order == (0, 1, 2, 3) for tensor in ends)
        made = [node for node in assignment.view.nodes if node.type == "Reformat" and not node.name.endswith("_copy")]
        assert assignment.bytes_copied == sum(assignment.view.tensor(node.outputs[0]).size_bytes for node in made)
        assert assignment.formats_proved
    assert all(same_meaning(view, adapt_to_backend(view, (LIBRARY,), Target()).view) for view, _ in graphs[:12])


def hard() -> GraphView:
    """The first sample that a search node by node does not solve."""
    views = map(random_graph, range(400))
    return next(view for view in views if not _is_solved_by_search(view))


def _is_solved_by_search(view: GraphView) -> bool:
    options = options_of(view)
    return bytes_copied(view, choosing._swept(view, options, choosing._one_by_one(view, options))) == bytes_copied(
        view, fewest_bytes(view, options)
    )


def test_beyond_the_limit_the_search_stands_and_is_not_called_proved(monkeypatch):
    view = hard()
    best = adapt_to_backend(view, (LIBRARY,), Target())
    monkeypatch.setattr(solving, "MOST_ENTRIES", 1)
    searched = adapt_to_backend(view, (LIBRARY,), Target())
    assert not searched.formats_proved and best.formats_proved
    assert searched.bytes_copied > best.bytes_copied
    assert replace(best, bytes_copied=0).format_line() == "formats: nothing is copied"
    assert best.format_line() == f"formats: {best.bytes_copied} B are copied, no choice of formats copies fewer"
    assert searched.format_line().endswith(" B are copied, not proved to be the fewest: the graph is too wide")


def test_explain_and_plan_say_what_formats_cost_and_that_nothing_costs_less(tmp_path):
    text = "a = Transpose<perm=[0,2,3,1]>(x) b = Softmax<axis=1>(a) y = Transpose<perm=[0,2,1,3]>(b)"
    (tmp_path / "m.onnx").write_bytes(model(text, inputs="float[1,4,5,6] x", outputs="float[1,6,5,4] y"))
    found = aidge_build("explain", tmp_path / "m.onnx", "--board", "host")
    said = re.search(r"^formats: (\d+) B are copied, no choice of formats copies fewer$", found.stdout, re.M)
    wanted = {"format_copies_bytes": int(said[1]), "formats_proved_optimal": True}
    assert wanted["format_copies_bytes"] % 480 == 0
    for verb in ("explain", "plan"):
        data = aidge_build(verb, tmp_path / "m.onnx", "--board", "host", "--json").json
        assert {key: data[key] for key in wanted} == wanted


def test_a_copy_that_folds_into_weights_is_not_counted():
    """Turning the data before the flattening would cost the network's only copy of 64 elements."""
    view = graph(
        "a = Conv(x, w44) b = Transpose<perm=[0,2,3,1]>(a) c = Transpose<perm=[0,3,1,2]>(b) d = Relu(c) e = Flatten(d) "
        "y = Gemm<transB=1>(e, v)",
        inputs="float[1,4,4,4] x",
        outputs="float[1,3] y",
        constants={"w44": numpy.ones((4, 4, 1, 1), numpy.float32), "v": numpy.arange(192, dtype=numpy.float32).reshape(3, 64)},
    )
    view = simplify(view)
    assignment = adapt_to_backend(view, (LIBRARY,), Target())
    assert assignment.bytes_copied == 256 and assignment.formats_proved  # the input alone
    assert same_meaning(view, assignment.view)


def test_a_tensor_with_many_readers_and_a_chain_of_blocks_are_solved_within_the_limit():
    lines, last = [], "x"
    for block in range(60):
        lines.append(f"a{block} = Conv({last}, w44) b{block} = Sigmoid(a{block}) c{block} = Add({last}, b{block})")
        last = f"c{block}"
    many = [f"m{index} = {'Sigmoid' if index % 2 else 'Tanh'}({last})" for index in range(40)]
    outputs = ", ".join(f"float[1,4,4,4] m{index}" for index in range(40))
    view = graph(
        " ".join([*lines, *many]),
        inputs="float[1,4,4,4] x",
        outputs=outputs,
        constants={"w44": numpy.ones((4, 4, 1, 1), numpy.float32)},
    )
    options = options_of(view)
    best = fewest_bytes(view, options)
    assert bytes_copied(view, best) == 256 * (60 * 2 + 1)  # per block to the convolution and back; one for all Tanh


def test_a_tensor_wanted_in_too_many_orders_is_not_solved_and_a_node_with_many_inputs_is(monkeypatch):
    monkeypatch.setattr(solving, "MOST_ENTRIES", 64)
    orders = [one for one in itertools.permutations(range(4)) if one != (0, 1, 2, 3)]
    turns = "".join(f"t{index} = Transpose<perm={list(one)}>(x) u{index} = Tanh(t{index}) " for index, one in enumerate(orders))
    outputs = (f"float[{','.join(str(2 + axis) for axis in one)}] u{index}" for index, one in enumerate(orders))
    view = graph(turns, inputs="float[2,3,4,5] x", outputs=", ".join(outputs))
    assert fewest_bytes(view, options_of(view)) is None
    names = [f"t{index}" for index in range(70)]  # each of one storage order, as the result is not
    turns = "".join(f"{name} = Relu(x) " for name in names)
    joins = "".join(f"j{index} = Concat<axis=2>({', '.join(names)}) y{index} = Tanh(j{index}) " for index in range(3))
    outputs = ", ".join(f"float[1,4,70,1] y{index}" for index in range(3))
    view = graph(turns + joins, inputs="float[1,4,1,1] x", outputs=outputs)
    assert bytes_copied(view, fewest_bytes(view, options_of(view))) == 0
