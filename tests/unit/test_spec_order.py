# SPDX-License-Identifier: MIT
"""More specific means: accepts a part of what the other accepts. Laws of the order, on random specs and random nodes."""

from __future__ import annotations

import dataclasses
import os
import random
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aidge_build.base.errors import AidgeError
from aidge_build.contract.implication import extent_implies, implies, more_specific, most_specific_first
from aidge_build.contract.library import load_library
from aidge_build.contract.spec import DFormat, Extent, ImplSpec, IOSpec, NodeView, Predicate, dformat
from aidge_build.graph.dtype import DType, dtype
from aidge_build.graph.format import channels_last, row_major
from aidge_build.graph.tensor import Tensor
from aidge_build.graph.view import Node
from aidge_build.operators.conv import Conv

STRESS = 40 if os.environ.get("AIDGE_STRESS") else 1
DTYPES = (DType.any, DType.any_1, DType.any_2, DType.float32, DType.int8)
FORMATS = ("any", "any_1", "any_2", "row_major", "channels_last", "nc", "nchw", "nhwc", "nwc")
FEATURES, BUILDS = ("dsp", "fpu"), ("onnx", "double", "any")
PREDICATES = tuple(
    Predicate(name, reject)
    for name, reject in (
        ("even", lambda view: "" if view.outputs[0].elements % 2 == 0 else "odd"),
        ("long", lambda view: "" if view.outputs[0].elements > 4 else "short"),
    )
)
extents = st.one_of(
    st.integers(1, 4).map(lambda size: Extent(size, size)),
    st.builds(lambda low, more, step: Extent(low, low + more, step), st.integers(0, 4), st.integers(0, 6), st.integers(1, 3)),
    st.builds(Extent, st.integers(-1, 4), st.just(-1), st.integers(1, 4)),
)
iospecs = st.builds(IOSpec, st.sampled_from(DTYPES), st.sampled_from(FORMATS), st.lists(extents, max_size=4).map(tuple))
sides = st.lists(iospecs, min_size=1, max_size=3)
specs = st.builds(
    lambda inputs, outputs, predicates, features, rounding, attributes: ImplSpec(
        inputs, outputs, predicates, features, rounding, attributes
    ),
    sides,
    sides,
    st.lists(st.sampled_from(PREDICATES), max_size=2, unique=True),
    st.frozensets(st.sampled_from(FEATURES)),
    st.sampled_from(BUILDS),
    st.dictionaries(st.just("groups"), st.integers(1, 2)),
)


def weaker(spec: ImplSpec, rng: random.Random) -> ImplSpec:
    """A spec that states some of the conditions, each of them as it was, in part, or not at all."""

    def side(given: IOSpec) -> IOSpec:
        dims = tuple(rng.choice((each, Extent(each.low, -1, 1), Extent())) for each in given.dims)
        named = rng.random() < 0.5 or given.format.is_wildcard
        kind = given.dtype if rng.random() < 0.7 else DType.any
        if not named or not dims and rng.random() < 0.5:
            return IOSpec(kind, given.format, dims)
        return IOSpec(kind, "any", dims or ((-1,) * {"nc": 2, "nwc": 3, "nchw": 4, "nhwc": 4}.get(given.format, 0)))

    return ImplSpec(
        [side(each) for each in spec.inputs],
        [side(each) for each in spec.outputs],
        [each for each in spec.predicates if rng.random() < 0.5],
        [each for each in sorted(spec.features) if rng.random() < 0.5],
        rng.choice((spec.rounding, "any")),
        [pair for pair in spec.attributes if rng.random() < 0.5],
    )


def fitting(spec: ImplSpec, rng: random.Random) -> NodeView:
    """A node that the types, orders and dims of a spec are made for; predicates and attributes may not fit."""
    kinds = {each: rng.choice((DType.float32, DType.int8, DType.int16)) for each in DTYPES}
    orders = {each: rng.choice((row_major, channels_last)) for each in DFormat}

    def tensor(index: int, wanted: IOSpec) -> Tensor:
        ranks = {"nc": 2, "nwc": 3, "nchw": 4, "nhwc": 4}
        rank = len(wanted.dims) or ranks.get(wanted.format, rng.randint(1, 4))
        dims = tuple(size(each) for each in (wanted.dims or (Extent(),) * rank))
        kind = rng.choice(tuple(kinds.values())) if wanted.dtype is DType.any else wanted.dtype
        kind = kinds.get(kind, kind) if kind.is_wildcard else kind
        form = wanted.format_for(rank)
        if form is None:
            form = (rng.choice((row_major, channels_last)) if wanted.format is dformat.any else orders[wanted.format])(rank)
        return Tensor(f"t{index}", dims, kind, format=form)

    def size(wanted: Extent) -> int:
        low = -(-max(wanted.low, 1) // wanted.multiple) * wanted.multiple
        return low + wanted.multiple * rng.randint(0, 1) if wanted.high != wanted.low else low

    count = rng.randint(1, 4)
    inputs = [tensor(index, spec.input_spec(index)) if rng.random() < 0.9 else None for index in range(count)]
    outputs = [tensor(9 + index, spec.output_spec(index)) for index in range(rng.randint(1, 2))]
    return NodeView(Node("n", Conv(groups=rng.randint(1, 2)), (), ()), tuple(inputs), tuple(outputs))


def accepts(spec: ImplSpec, view: NodeView, features: tuple[str, ...], rounding: str) -> bool:
    """What `rejection` says, and the storage orders, which it leaves to adaptation."""
    bound: dict[DFormat, type] = {}
    pairs = [(each, spec.input_spec(index)) for index, each in enumerate(view.inputs) if each is not None]
    for each, wanted in (*pairs, *((each, spec.output_spec(index)) for index, each in enumerate(view.outputs))):
        if wanted.format in ("any_1", "any_2"):
            name = "last" if each.format == channels_last(each.rank) else "rows"
            if each.rank > 2 and bound.setdefault(wanted.format, name) != name:
                return False
        elif wanted.format is not dformat.any:
            if len(wanted.format) < 6 and len(wanted.format) != each.rank:
                return False
            if wanted.format_for(each.rank) != each.format:
                return False
    return not spec.rejection(view, features, rounding)


@settings(max_examples=80 * STRESS)
@given(specs, st.integers(0, 1 << 30))
def test_a_spec_that_implies_another_accepts_nothing_that_the_other_rejects(spec, seed):
    rng = random.Random(seed)
    other = weaker(spec, rng)
    pairs = [(one, two) for one, two in ((spec, other), (other, spec), (weaker(spec, rng), other)) if implies(one, two)]
    for one, two in pairs:
        for _ in range(8):
            view = fitting(one, rng)
            features, rounding = rng.choice(((), ("dsp",), FEATURES)), rng.choice(BUILDS)
            if accepts(one, view, features, rounding):
                assert accepts(two, view, features, rounding), (str(one), str(two), view)


def test_random_weaker_specs_are_implied_and_random_nodes_are_accepted_often_enough_to_mean_something():
    rng, implied, accepted = random.Random(4), 0, 0
    spec = ImplSpec(
        [IOSpec(dtype.float32, "nhwc", [1, -1, (2, 8), -1])], [IOSpec(dtype.float32, "nhwc")], features={"dsp"}, rounding="any"
    )
    for _ in range(200):
        implied += implies(spec, weaker(spec, rng))
        accepted += accepts(spec, fitting(spec, rng), FEATURES, "onnx")
    assert implied == 200 and accepted > 120


@settings(max_examples=25 * STRESS)
@given(st.lists(specs, min_size=1, max_size=3), st.integers(0, 1 << 30))
def test_implication_is_a_partial_order_and_the_order_of_registration_means_nothing(some, seed):
    rng = random.Random(seed)
    family = [*some, weaker(some[0], rng), weaker(some[-1], rng)]
    for one in family:
        assert implies(one, one) and not more_specific(one, one)
        for two in family:
            assert not (more_specific(one, two) and more_specific(two, one))
            for three in family:
                assert not (implies(one, two) and implies(two, three)) or implies(one, three)
    wanted = most_specific_first(family, lambda spec: spec, lambda spec: (str(spec),))
    for position, spec in enumerate(wanted):
        assert not any(more_specific(later, spec) for later in wanted[position:])
    for _ in range(4):
        rng.shuffle(family)
        assert most_specific_first(family, lambda spec: spec, lambda spec: (str(spec),)) == wanted


SIZES = range(0, 60)


@settings(max_examples=150 * STRESS)
@given(extents, extents)
def test_an_extent_implies_another_exactly_where_its_sizes_are_among_the_others(one, two):
    def sizes(extent: Extent) -> set[int]:
        return {size for size in SIZES if extent.accepts(Extent(size, size))}

    assert extent_implies(one, two) == (sizes(one) <= sizes(two)), (one, two)


FLOAT, ANY_1 = IOSpec(dtype.float32), IOSpec(dtype.any_1)


@pytest.mark.parametrize(
    "special, general",
    [
        (ImplSpec(FLOAT), ImplSpec(ANY_1)),
        (ImplSpec(IOSpec(dtype.float32, "any", [1, 16, 8, 8])), ImplSpec(IOSpec(dtype.float32, "any", [-1, -1, -1, -1]))),
        (ImplSpec([FLOAT]), ImplSpec([IOSpec(), IOSpec(), IOSpec()])),
        (ImplSpec(IOSpec(dtype.float32, "nchw")), ImplSpec(IOSpec(dtype.float32, "any_1"))),
        (ImplSpec(IOSpec(dtype.float32, "nchw")), ImplSpec(IOSpec(dtype.float32, "row_major"))),
        (ImplSpec(FLOAT, FLOAT, PREDICATES), ImplSpec(FLOAT, FLOAT, PREDICATES[:1])),
        (ImplSpec(FLOAT, FLOAT, (), {"dsp", "fpu"}), ImplSpec(FLOAT, FLOAT, (), {"dsp"})),
        (ImplSpec(FLOAT, rounding="onnx"), ImplSpec(FLOAT, rounding="any")),
        (ImplSpec(FLOAT, attributes={"groups": 1}), ImplSpec(FLOAT)),
    ],
    ids=str,
)
def test_what_the_library_of_a_stranger_meant_wins(special, general):
    assert more_specific(special, general)
    names = {special: "b_special", general: "a_general"}
    for given_order in permutations((special, general)):
        assert most_specific_first(given_order, lambda spec: spec, lambda spec: (names[spec],))[0] is special


@pytest.mark.parametrize(
    "one, two",
    [
        (ImplSpec(IOSpec()), ImplSpec(ANY_1)),  # free types are not one type
        (ImplSpec([IOSpec()], [FLOAT]), ImplSpec([ANY_1], [FLOAT])),  # two inputs may differ
        (ImplSpec([FLOAT, IOSpec(dtype.int8)], [FLOAT]), ImplSpec([ANY_1], [FLOAT])),
        (ImplSpec(IOSpec(format="any")), ImplSpec(IOSpec(format="any_1"))),
        (ImplSpec(IOSpec(format="row_major")), ImplSpec(IOSpec(format="nchw"))),  # another rank
        (ImplSpec(FLOAT, rounding="any"), ImplSpec(FLOAT, rounding="onnx")),
    ],
    ids=str,
)
def test_what_accepts_more_does_not_imply(one, two):
    assert not implies(one, two)


KERNELS = """
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import ImplSpec, IOSpec, Predicate
from aidge_build.graph.dtype import dtype
FLOAT = IOSpec(dtype.float32)
@kernel("ReLU", ImplSpec(FLOAT, FLOAT, [Predicate("{name}", lambda view: "")]))
class Kernel(KernelNode): pass
"""


def two_kernels(order: str):
    files = {name: KERNELS.replace("{name}", name).encode() for name in ("a.py", "b.py")}
    return load_library({"library.toml": f'name = "toy"\n{order}'.encode(), **files}, "toy")


@pytest.mark.parametrize("order, first", [("", "a"), ('order = ["b"]', "b"), ('order = ["a", "b"]', "a")])
def test_where_neither_is_more_specific_the_library_says_which_comes_first_and_else_the_name(order, first):
    assert two_kernels(order).kernels_for("ReLU")[0].name == first


def test_an_order_of_kernels_that_are_not_there_is_refused():
    with pytest.raises(AidgeError, match="`order` names 'c', which is no kernel. Tried: a; b"):
        two_kernels('order = ["c"]')
    with pytest.raises(AidgeError, match="order is 'a', wants a list"):
        two_kernels('order = "a"')


def test_a_spec_has_no_objective():
    """No kernel ever stated one; what the build wants reaches kernels by `NodeView.objective`."""
    assert "objective" not in {entry.name for entry in dataclasses.fields(ImplSpec)}
