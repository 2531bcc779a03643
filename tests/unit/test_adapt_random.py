# SPDX-License-Identifier: MIT
"""Conversions around random kernels, and flattened data before layers, against their definitions."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations, product
from random import Random
from types import SimpleNamespace

import numpy
import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.contract.spec import ImplSpec, IOSpec, NodeView
from aidge_build.graph.dtype import DType
from aidge_build.graph.format import Format, channels_last, row_major
from aidge_build.graph.quantization import Quantization, per_tensor
from aidge_build.graph.tensor import Tensor
from aidge_build.graph.view import GraphView, Node
from aidge_build.operators.activation import ReLU as Relu
from aidge_build.operators.binary import Add
from aidge_build.operators.matmul import FC
from aidge_build.operators.view import Flatten
from aidge_build.prepare.adaptation import adapt as adapting
from aidge_build.prepare.adaptation import choose as choosing
from aidge_build.prepare.adaptation import fewest_bytes as solving
from aidge_build.prepare.adaptation.adapt import adapt_to_backend
from aidge_build.prepare.adaptation.assignment import Assignment, Choice
from aidge_build.prepare.adaptation.check_views import checked_views
from aidge_build.prepare.adaptation.conversions import adaptation
from aidge_build.prepare.adaptation.fewest_bytes import bytes_copied
from aidge_build.prepare.adaptation.fold_copies import foldable
from aidge_build.prepare.adaptation.formats import kernel_options
from aidge_build.prepare.adaptation.match import Target
from aidge_build.prepare.recipes import simplify
from tests.models import graph, same_meaning, types
from tests.unit.test_fewest_bytes import LIBRARY, options_of, random_graph

KINDS = (DType.int8, DType.int8, DType.int16, DType.int32, DType.float32)
WANTED = (*KINDS, DType.float32, DType.any, DType.any, DType.any_1, DType.any_1)
Line = tuple[str, str, int, DType, DType, Format, Format]


def random_pair(seed: int) -> tuple[NodeView, ImplSpec]:
    random = Random(seed)
    dims = random.choice(((1, 4, 3, 3), (1, 4, 3, 3), (1, 1, 3, 3)))
    shared = random.choice(KINDS) if random.random() < 0.7 else None

    def tensor(name: str, *, may_be_constant: bool = False) -> Tensor:
        kind = shared or random.choice(KINDS)
        quantization = per_tensor(0.5, 3) if kind is DType.int8 and random.random() < 0.7 else None
        data = (
            numpy.arange(numpy.prod(dims)).reshape(dims).astype(kind.numpy) if may_be_constant and random.random() < 0.4 else None
        )
        return Tensor(name, dims, kind, data, quantization, random.choice((None, row_major(4), channels_last(4))))

    inputs, outputs = (tensor("x"), tensor("y", may_be_constant=True)), (tensor("z"),)
    sides = [IOSpec(random.choice(WANTED), random.choice(("any", "row_major", "channels_last"))) for _ in range(3)]
    return NodeView(Node("add", Add(), ("x", "y"), ("z",)), inputs, outputs), ImplSpec(tuple(sides[:2]), tuple(sides[2:]))


def conversions(view: NodeView, spec: ImplSpec, reals: bool) -> list[Line] | None:
    """The conversions by definition: None if a value would be lost on the way in, or the types do not agree."""
    lines, open_types = [], set()
    sides = [("input", index, tensor, spec.inputs[index]) for index, tensor in enumerate(view.inputs)]
    for side, index, tensor, wanted in [*sides, ("output", 0, view.outputs[0], spec.outputs[0])]:
        dtype, found = wanted.dtype, []
        if dtype in (DType.any, DType.any_1):
            dtype = DType.float32 if reals and tensor.quantization else tensor.dtype
            open_types |= {dtype} if wanted.dtype is DType.any_1 else set()
        if dtype is not tensor.dtype:
            if tensor.quantization and dtype is not DType.float32 or not numpy.can_cast(tensor.dtype.numpy, dtype.numpy):
                return None
            kind = "Cast" if not tensor.quantization else "Dequantize" if side == "input" else "Quantize"
            found.append((kind, side, index, tensor.dtype, dtype, tensor.storage, tensor.storage))
        order = {"row_major": row_major(4), "channels_last": channels_last(4)}.get(wanted.format)
        turned = order and tensor.dims[1] > 1 and order != tensor.format
        if turned and tensor.format is not None and not tensor.is_constant:
            found.append(("Transpose", side, index, dtype, dtype, tensor.storage, order))
        if side == "output":
            found = [(*one[:3], one[4], one[3], one[6], one[5]) for one in found[::-1]]
        lines += found
    return lines if len(open_types) < 2 else None


def test_conversions_lose_no_value_and_are_the_ones_between_the_tensors_and_what_the_kernel_wants():
    outcomes = set()
    for seed in range(1500):
        view, spec = random_pair(seed)
        is_stored = any(tensor.quantization for tensor in (*view.inputs, *view.outputs))
        expected = conversions(view, spec, reals=False)
        if expected is None and is_stored:
            expected = conversions(view, spec, reals=True)
        found = adaptation(view, spec, features=(), rounding="onnx")
        outcomes.add((expected is None, bool(expected), is_stored))
        if expected is None:
            assert isinstance(found, str) and found
            continue
        lines = [
            (one.type, one.side, one.index, one.read.dtype, one.written.dtype, one.read.storage, one.written.storage)
            for one in found.steps
        ]
        assert lines == expected, seed
        for step, (kind, side, index, *dtypes, before, after) in zip(found.steps, expected, strict=True):
            ends = (before, after) if kind == "Transpose" else [one.name for one in dtypes]
            assert str(step) == f"{kind} of {side} {index} from {ends[0]} to {ends[1]}"
        computed = [step for step in found.steps if not step.read.is_constant]
        assert found.cost_bytes == sum(step.read.size_bytes + step.written.size_bytes for step in computed)
        assert not spec.rejection(found.view, (), "onnx")
        ends = {(step.side, step.index): step.written for step in found.steps if step.side == "input"}
        ends |= {(step.side, step.index): step.read for step in reversed(found.steps) if step.side == "output"}
        for side, tensors in (("input", found.view.inputs), ("output", found.view.outputs)):
            assert all(ends.get((side, index), tensor) is tensor for index, tensor in enumerate(tensors)), seed
        for before, after in zip(view.inputs, found.view.inputs, strict=True):
            if before.is_constant:  # the same real numbers, in another type
                real = (before.data - 3.0) * 0.5 if before.quantization and after.dtype is DType.float32 else before.data
                assert after.data.dtype == after.dtype.numpy and numpy.array_equal(after.data, real)
    assert len(outcomes) == 6


def test_conversions_for_a_query_are_the_ones_for_tensors_as_it_asks_for_them():
    """An open type or order is the tensor's own, an open size the smallest. Other dims have no order yet, and no values."""
    for seed in range(400):
        view, spec = random_pair(seed)
        random = Random(seed)
        sides = []
        for tensor in (*view.inputs, *view.outputs):
            dims = random.choice(((), tensor.dims, (-1, *tensor.dims[1:]), (*tensor.dims[:3], (2, 9)), tensor.dims[1:]))
            form = random.choice(("any", "any", "row_major", "channels_last"))
            sides.append(IOSpec(random.choice((DType.any, tensor.dtype, *KINDS)), form, dims))
        asked = [_as_asked(tensor, side) for tensor, side in zip((*view.inputs, *view.outputs), sides, strict=True)]
        wanted = adaptation(NodeView(view.node, tuple(asked[:2]), tuple(asked[2:])), spec)
        found = adaptation(view, spec, ImplSpec(tuple(sides[:2]), tuple(sides[2:])))
        assert str(found) == str(wanted), seed


def _as_asked(tensor: Tensor, side: IOSpec) -> Tensor:
    dims = tuple(max(1, extent.low) for extent in side.dims) or tensor.dims
    kind = tensor.dtype if side.dtype is DType.any else side.dtype
    is_alike, named = (dims, kind) == (tensor.dims, tensor.dtype), {"row_major": row_major, "channels_last": channels_last}
    own = tensor.format if len(dims) == 4 else None
    order = named[side.format.value](len(dims)) if side.format.value in named else own
    return Tensor(tensor.name, dims, kind, tensor.data if is_alike else None, tensor.quantization, order)


def test_another_contract_than_onnx_computes_no_stored_output_in_floats():
    outcomes = set()
    for seed in range(600):
        view, spec = random_pair(seed)
        ways = [conversions(view, spec, reals=reals) for reals in (False, True)]
        expected = next((way for way in ways if way is not None and "Quantize" not in [one[0] for one in way]), None)
        found = adaptation(view, replace(spec, rounding="any"), features=(), rounding="double")
        assert isinstance(found, str) == (expected is None), seed
        floats = isinstance(found, str) and "it would not give what the contract 'double' says" in found
        assert not floats or view.outputs[0].quantization
        outcomes.add((expected is None, floats))
    assert len(outcomes) == 3


CONV = "a = Conv(x, w) "
DIMS = {"s": [1, -1], "t": [2, 32]}


@pytest.mark.parametrize(
    "text, output, is_folded",
    [
        ("e = Flatten(a) y = Gemm<transB=1>(e, v, c)", "float[1,3] y", True),
        ("e = Reshape(a, s) y = Gemm<transB=1>(e, v, c)", "float[1,3] y", True),
        ("e = Flatten(a) f = Gemm<transB=1>(e, v, c) g = Gemm<transB=1>(e, k) y = Add(f, g)", "float[1,3] y", True),
        ("e = Flatten(a) y = Gemm<transB=1>(e, v, c) z = Gemm<transB=1>(e, k)", "float[1,3] y, float[1,3] z", True),
        ("e = Flatten(a) y = Gemm<transB=1>(e, v, c)", "float[1,3] y, float[1,64] e", False),
        ("e = Flatten(a) f = Gemm<transB=1>(e, v, c) y = Sigmoid(e)", "float[1,64] y, float[1,3] f", False),
        ("e = Reshape(a, t) y = Gemm<transB=1>(e, h)", "float[2,3] y", False),
        ("e = Flatten(a) b = Sigmoid(e) y = Gemm<transB=1>(b, v, c)", "float[1,3] y", False),
    ],
)
def test_a_copy_before_flattening_folds_into_weights_if_only_layers_read_the_result(text, output, is_folded):
    random = numpy.random.default_rng(7)
    shapes = {"w": (4, 4, 1, 1), "v": (3, 64), "k": (3, 64), "h": (3, 32), "c": (3,)}
    values = {name: random.normal(size=dims).astype(numpy.float32) for name, dims in shapes.items()}
    values |= {name: numpy.array(dims) for name, dims in DIMS.items()}
    words = (CONV + text).replace("(", " ").replace(")", " ").replace(",", " ").split()
    used = {name: value for name, value in values.items() if name in words}
    view = simplify(graph(CONV + text, inputs="float[1,4,4,4] x", outputs=output, constants=used))
    assignment = adapt_to_backend(view, (LIBRARY,), Target())
    assert same_meaning(view, assignment.view)
    assert (types(assignment.view).count("Transpose") == 1) == is_folded
    assert assignment.bytes_copied == (256 if is_folded else 512)


@pytest.mark.parametrize(
    "axis, is_constant, takes", [(None, 1, True), (0, 1, True), (1, 1, False), (None, 0, False), (0, 0, False)]
)
def test_columns_of_weights_move_if_they_are_constant_and_have_no_scale_of_their_own(axis, is_constant, takes):
    of_weights = Quantization((0.5,) * (1 if axis is None else (2, 8)[axis]), (0,) * (1 if axis is None else (2, 8)[axis]), axis)
    data = numpy.zeros((2, 8), numpy.int8) if is_constant else None
    tensors = {
        name: Tensor(name, dims, DType.int8)
        for name, dims in {"x": (1, 2, 2, 2), "a": (1, 2, 2, 2), "e": (1, 8), "y": (1, 2)}.items()
    }
    tensors["w"] = Tensor("w", (2, 8), DType.int8, data, of_weights)
    nodes = (Node("a", Relu(), ("x",), ("a",)), Node("e", Flatten(1), ("a",), ("e",)), Node("y", FC(), ("e", "w"), ("y",)))
    view = GraphView("net", nodes, tensors, ("x",), ("y",))
    assert foldable(view, nodes[1]) == takes
    twice = (*nodes[:2], Node("y", FC(), ("e", "w", "e"), ("y",)))  # a bias of the same data
    assert not foldable(GraphView("net", twice, tensors, ("x",), ("y",)), nodes[1])


def test_only_steps_that_fold_or_convert_types_may_round(monkeypatch):
    said, check = {}, adapting.check_rewrite

    def noted(before, after, step, *, exact=False):
        said[step] = exact
        return check(before, after, step, exact=exact)

    monkeypatch.setattr(adapting, "check_rewrite", noted)
    text = CONV + "e = Flatten(a) y = Gemm<transB=1>(e, v)"
    ones = {"w": numpy.ones((4, 4, 1, 1), numpy.float32), "v": numpy.ones((3, 64), numpy.float32)}
    adapt_to_backend(
        simplify(graph(text, inputs="float[1,4,4,4] x", outputs="float[1,3] y", constants=ones)), (LIBRARY,), Target()
    )
    assert {step for step, exact in said.items() if not exact} == {
        "converting types around kernels",
        "folding copies into weights",
    }
    assert len(said) == 7


def test_a_kernel_has_each_combination_of_orders_that_its_spec_leaves_open_once():
    for seed in range(300):
        random = Random(seed)
        ranks = [random.choice((1, 2, 3, 4, 4)) for _ in range(4)]
        sides = [random.choice(("any", "any_1", "any_1", "any_2", "row_major", "channels_last")) for _ in range(4)]
        data = numpy.zeros((2,) * ranks[1], numpy.float32) if seed % 3 == 0 else None
        given = [Tensor(name, (2,) * rank, DType.float32) for name, rank in zip("abyz", ranks, strict=True)]
        given[1] = given[1].with_(data=data)  # a constant does not move
        spec = ImplSpec(
            tuple(IOSpec(DType.any, side) for side in sides[:2]), tuple(IOSpec(DType.any, side) for side in sides[2:])
        )
        view = NodeView(Node("n", Add(), ("a", "b"), ("y", "z")), tuple(given[:2]), tuple(given[2:]))
        moving = [place for place in range(4) if not given[place].is_constant]
        expected = set()
        for orders in product((row_major, channels_last), repeat=len(moving)):
            together = {(sides[place], order) for place, order in zip(moving, orders, strict=True) if sides[place] != "any"}
            fixed = {("row_major", channels_last), ("channels_last", row_major)}
            split = [side for side in ("any_1", "any_2") if {(side, row_major), (side, channels_last)} <= together]
            uneven = [
                side
                for side, order in together
                if order is channels_last and side.startswith("any")
                and len({ranks[place] for place in moving if sides[place] == side}) > 1
            ]  # fmt: skip
            if not (fixed & together or split or uneven):
                expected.add(tuple(order(ranks[place]) for place, order in zip(moving, orders, strict=True)))
        found = kernel_options(view, SimpleNamespace(spec=spec))
        forms = [(*(form for _, form in one.inputs), *one.outputs) for one in found]
        assert len(forms) == len(set(forms)) and set(forms) == expected, seed
        assert [[index for index, _ in one.inputs] for one in found] == [[place for place in moving if place < 2]] * len(found)
        is_open = [sides[place] not in ("row_major", "channels_last") for place in moving]
        assert all(form == row_major(form.rank) for form, each in zip(forms[0], is_open, strict=True) if each)


LEAST = [4, 12, 6, 60, 21, 42, 12, 6, 12, 4, 8, 21, 1, 4, 32, 42, 12, 32, 12, 12, 28, 4, 4]


def test_the_tables_that_a_graph_needs_are_counted_exactly(monkeypatch):
    """The least limit with which a graph is solved: that of the largest table on the way."""
    least = []
    for seed in range(24):
        view = random_graph(seed)
        options = options_of(view)
        for limit in range(1, 99):
            monkeypatch.setattr(solving, "MOST_ENTRIES", limit)
            if solving.fewest_bytes(view, options) is not None:
                least.append(limit)
                break
    assert least == LEAST


def test_an_alias_is_refused_unless_it_has_the_bytes_of_its_source():
    outcomes = {True: 0, False: 0}
    for seed in range(300):
        random = Random(seed)
        dims = random.choice(((1, 2, 3, 2), (2, 3, 1, 1), (1, 4, 1, 2)))
        made = random.choice((dims, tuple(size for size in dims if size > 1), (*dims, 1), (dims[0] * dims[1], *dims[2:])))
        data = numpy.arange(numpy.prod(dims)).reshape(dims)
        moved, text, constants = data.reshape(made), "y = Reshape(x, s) z = Relu(y)", {"s": numpy.array(made)}
        if seed % 2:
            axes = random.sample(range(4), 4)
            moved, text, constants = data.transpose(axes), f"y = Transpose<perm={axes}>(x) z = Relu(y)", {}
        shapes = (f"float[{','.join(map(str, each))}]" for each in (dims, moved.shape))
        view = graph(text, inputs=f"{next(shapes)} x", outputs=f"{next(shapes)} z", constants=constants)
        alias = next((node for node in view.nodes if node.operator.views), None)
        if alias is None:
            continue  # a Transpose that moves nothing
        orders = [Format(tuple(random.sample(range(each.ndim), each.ndim))) for each in (data, moved)]
        if random.random() < 0.6:  # an order of the result with the same bytes, axes of one element anywhere
            stored = data.transpose(orders[0].order).ravel()
            fitting = [one for one in permutations(range(moved.ndim)) if (moved.transpose(one).ravel() == stored).all()]
            orders[1] = Format(random.choice(fitting or [orders[1].order]))
        alike = [numpy.ravel(each.transpose(order.order)) for each, order in zip((data, moved), orders, strict=True)]
        expected = bool((alike[0] == alike[1]).all())
        is_one_to_one = seed % 2 or [size for size in dims if size > 1] == [size for size in made if size > 1]
        choices = {node.name: Choice("kernel", "") for node in view.nodes}
        choices[alias.name] = Choice(None, "", (), ((0, orders[0]),), (orders[1],))
        if expected and not is_one_to_one and (alike[0] != data.ravel()).any():
            continue  # the same bytes, but no axes that correspond
        outcomes[expected] += 1
        if expected:
            assert checked_views(Assignment(view, choices)).view is view
        else:
            with pytest.raises(AidgeError, match="is no other name for the bytes of"):
                checked_views(Assignment(view, choices))
    assert min(outcomes.values()) > 60


def test_a_node_that_moves_elements_and_a_constant_have_no_alias():
    view = graph("a = Relu(x) y = Relu(a)", inputs="float[2] x", outputs="float[2] y")
    with pytest.raises(AidgeError, match="is no other name for the bytes of 'x'"):
        checked_views(Assignment(view, {node.name: Choice(None, "") for node in view.nodes}))
    view = graph("a = Relu(x) b = Flatten(a) y = Add(b, b)", inputs="float[1,2] x", outputs="float[1,2] y")
    tensors = {**view.tensors, "a": view.tensor("a").with_(data=numpy.zeros((1, 2), numpy.float32))}
    view = GraphView("net", view.nodes[1:], tensors, view.inputs, view.outputs)
    alias = Choice(None, "", (), ((0, row_major(2)),), (row_major(2),))
    with pytest.raises(AidgeError, match="only another name for the constant 'a', in no buffer"):
        checked_views(Assignment(view, {view.nodes[0].name: alias, view.nodes[1].name: Choice("kernel", "")}))


def test_a_search_node_by_node_ends_where_no_other_option_of_one_node_copies_less(monkeypatch):
    monkeypatch.setattr(choosing, "fewest_bytes", lambda view, options: None)
    swept = 0
    for seed in range(40):
        view = random_graph(seed)
        options = options_of(view)
        chosen, copied, _ = choosing.choose(view, options)
        assert copied == bytes_copied(view, chosen)
        for node in view.nodes:
            moved = [choosing.local_bytes(view, chosen, node, option) for option in (chosen[node.name], *options[node.name])]
            assert moved[0] == min(moved)
        swept += copied < bytes_copied(view, choosing._one_by_one(view, options))
    assert swept > 3


def test_an_assignment_copies_nothing_and_its_weights_are_the_models_unless_it_says_otherwise():
    view = graph("y = Relu(x)", inputs="float[2] x", outputs="float[2] y")
    alone = Assignment(view, {view.nodes[0].name: Choice("kernel", "")})
    assert alone.format_line() == "formats: nothing is copied"
    assert replace(alone, bytes_copied=8).format_line() == "formats: 8 B are copied, no choice of formats copies fewer"
    assert alone.node_view(view.nodes[0]).any_weights is False and not alone.features and alone.loop_bytes == 0
