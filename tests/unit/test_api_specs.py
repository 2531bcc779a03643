# SPDX-License-Identifier: MIT
"""Specs, matching and adaptation, row by row as ../shared/design/AIDGE_API.md section 1 lists them."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aidge_build.base.errors import AidgeError
from aidge_build.compat.host import HostBackend
from aidge_build.compat.operator_impl import Impl, OperatorImpl
from aidge_build.compat.prod_conso import ProdConso
from aidge_build.contract.library import Library, load_library
from aidge_build.contract.reference import cpu
from aidge_build.contract.spec import Demands, Extent, ImplSpec, IOSpec, NodeView, Predicate, dformat, multiple_of
from aidge_build.graph.dtype import dtype
from aidge_build.graph.format import channels_last
from aidge_build.graph.quantization import Quantization, per_tensor
from aidge_build.graph.tensor import Tensor
from aidge_build.graph.view import Node, graph_view
from aidge_build.operators.activation import Tanh
from aidge_build.operators.binary import Add
from aidge_build.operators.view import Identity
from aidge_build.prepare.adaptation.adapt import adapt_to_backend
from aidge_build.prepare.adaptation.conversions import adaptation
from aidge_build.prepare.adaptation.formats import kernel_options
from aidge_build.prepare.adaptation.match import Match, Target, match
from aidge_build.prepare.adaptation.widen import widen
from aidge_build.prepare.recipes import simplify
from tests.models import graph, same_meaning, types

CONDITION = Predicate("is small", lambda view: "" if view.outputs[0].elements < 100 else "has 100 elements or more")


def add_node(kind=dtype.int8, dims=(1, 4, 3, 3), quantization=None) -> NodeView:
    x, y, z = (Tensor(name, dims, kind, quantization=quantization) for name in "xyz")
    return NodeView(Node("add", Add(), ("x", "y"), ("z",)), (x, y), (z,))


def reason(spec: ImplSpec, view: NodeView, features=()) -> str:
    return spec.rejection(view, frozenset(features), "onnx")


# --- IOSpec


def test_an_iospec_is_a_frozen_value_that_hashes_and_prints():
    spec = IOSpec(dtype.int16, dformat.nhwc, [1, (1, 8), -1, multiple_of(4)])
    assert spec == IOSpec(dtype.int16, "nhwc", ((1, 1), (1, 8), (-1, -1), (-1, -1, 4)))
    assert hash(spec) == hash(IOSpec(dtype.int16, dformat.nhwc, [1, (1, 8), -1, multiple_of(4)]))
    assert str(spec) == "int16 nhwc [1, 1..8, .., multiple of 4]"
    with pytest.raises(AttributeError):
        spec.dtype = dtype.int8


def test_the_inherited_spelling_names_only_the_type():
    assert IOSpec(dtype.int16) == IOSpec(dtype.int16, dformat.any, ())


@pytest.mark.requirement("SPEC")
@pytest.mark.parametrize(
    "wrong",
    [
        lambda: IOSpec("int8"),
        lambda: IOSpec(dtype.int8, "NCHW8c"),
        lambda: IOSpec(dtype.int8, dims=[(4, 2)]),
        lambda: ImplSpec([]),
        lambda: ImplSpec(IOSpec(), predicates=[lambda view: ""]),
    ],
)
def test_a_spec_that_means_nothing_is_refused(wrong):
    with pytest.raises(AidgeError):
        wrong()


def test_any_accepts_every_type_and_format():
    assert reason(ImplSpec(IOSpec(dtype.any, dformat.any)), add_node(dtype.uint16)) == ""


def test_any_1_unifies_types_across_inputs_and_outputs():
    same = ImplSpec(IOSpec(dtype.any_1))
    view = add_node()
    assert reason(same, view) == ""
    mixed = NodeView(view.node, view.inputs, (view.outputs[0].with_(dtype=dtype.float32),))
    assert reason(same, mixed) == "output 0 is float32, wants int8 as elsewhere"
    assert reason(ImplSpec([IOSpec(dtype.any_1), IOSpec(dtype.any_1)], IOSpec(dtype.any_2)), mixed) == ""


def test_any_1_unifies_formats_and_any_2_is_another_one():
    kernel = "ImplSpec([IOSpec(dtype.float32, dformat.{})], [IOSpec(dtype.float32, dformat.{})])"
    options = {}
    for second in ("any_1", "any_2", "any"):
        found = library(f'@kernel("ReLU", {kernel.format("any_1", second)})\nclass K(KernelNode): pass').kernels[0]
        view = graph("y = Relu(x)", inputs="float[1,4,3,3] x", outputs="float[1,4,3,3] y")
        options[second] = {
            (str(o.inputs[0][1]), str(o.outputs[0])) for o in kernel_options(NodeView.of(view, view.nodes[0]), found)
        }
    assert options["any_1"] == {("nchw", "nchw"), ("nhwc", "nhwc")}
    assert options["any_2"] == options["any"] == {(a, b) for a in ("nchw", "nhwc") for b in ("nchw", "nhwc")}


@pytest.mark.parametrize(
    "dims, expected",
    [
        ([1, 4, 3, 3], ""),
        ([1, (1, 8), -1, -1], ""),
        ([1, (5, -1), -1, -1], "input 0 has 4 on axis 1, wants 5.."),
        ([1, multiple_of(4), -1, -1], ""),
        ([1, multiple_of(3), -1, -1], "input 0 has 4 on axis 1, wants multiple of 3"),
        ([1, (1, 16, 8), -1, -1], "input 0 has 4 on axis 1, wants multiple of 8 in 1..16"),
        ([1, 4], "input 0 has rank 4, wants 2"),
    ],
)
def test_dims_are_ranges_open_ends_and_multiples(dims, expected):
    assert reason(ImplSpec(IOSpec(dtype.int8, dims=dims)), add_node()) == expected


def test_a_named_format_wants_its_rank():
    assert reason(ImplSpec(IOSpec(dtype.int8, dformat.ncw)), add_node()) == "input 0 has rank 4, wants 3"


# --- ImplSpec


def test_one_iospec_stands_for_all_inputs_and_outputs():
    io, other = IOSpec(dtype.int16), IOSpec(dtype.int8)
    assert ImplSpec(io) == ImplSpec([io], [io]) == ImplSpec((io,), io)
    assert ImplSpec(io, other) == ImplSpec([io], [other])
    assert ImplSpec([io, other]).outputs == (IOSpec(),)


def test_the_last_spec_of_a_side_repeats():
    assert reason(ImplSpec([IOSpec(dtype.int8)], [IOSpec()]), add_node()) == ""
    assert "input 1" in reason(ImplSpec([IOSpec(dtype.int8), IOSpec(dtype.int16)], [IOSpec()]), add_node())


def test_attributes_are_values_that_the_operator_must_have():
    view = graph(
        "y = Conv<group=2>(x, w)",
        inputs="float[1,4,5,6] x",
        outputs="float[1,4,3,4] y",
        constants={"w": numpy.ones((4, 2, 3, 3), numpy.float32)},
    )
    seen = NodeView.of(view, view.nodes[0])
    assert reason(ImplSpec(attributes={"groups": 2, "kernel": [3, 3]}), seen) == ""
    assert reason(ImplSpec(attributes={"groups": 1}), seen) == "attribute groups is 2, wants 1"
    assert reason(ImplSpec(attributes={"axis": 1}), seen) == "Conv2D has no attribute axis"


def test_predicates_are_named_and_give_the_reason():
    assert str(ImplSpec(IOSpec(dtype.int8), predicates=[CONDITION])) == "int8 -> int8 if is small"
    assert reason(ImplSpec(predicates=[CONDITION]), add_node(dims=(1, 4, 10, 10))) == "has 100 elements or more"
    assert ImplSpec(predicates=[CONDITION]) == ImplSpec(predicates=[Predicate("is small", lambda view: "another function")])


def test_the_hash_of_a_spec_is_the_same_in_every_process():
    code = (
        "from aidge_build.contract.spec import *; from aidge_build.graph.dtype import dtype; "
        "s = ImplSpec(IOSpec(dtype.int8, 'nhwc', [1, multiple_of(4)]), features={'dsp', 'fpu', 'mve'}, "
        "attributes={'groups': 1}); print(hash(s), s.key)"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            cwd=Path(__file__).resolve().parents[2],
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }
    assert len(found) == 1


def test_cpu_features_and_rounding_belong_to_the_spec():
    spec = ImplSpec(IOSpec(dtype.int8), features={"dsp", "fpu"}, rounding="double")
    assert spec.rejection(add_node(), {"fpu"}, "double") == "the CPU has no dsp"
    quantized = add_node(quantization=per_tensor(0.5, 0))
    assert spec.rejection(quantized, {"fpu", "dsp"}, "onnx") == "rounds as 'double', the build wants 'onnx'"
    assert str(spec) == "int8 -> int8 if CPU with dsp, CPU with fpu, rounding double"


def test_elements_that_only_move_are_rounded_by_no_contract():
    spec = ImplSpec(IOSpec(dtype.int8), rounding="double")
    x, y = (Tensor(name, (2, 2), dtype.int8, quantization=per_tensor(0.5, 0)) for name in "xy")
    view = NodeView(Node("view", Identity(), ("x",), ("y",)), (x,), (y,))
    assert spec.rejection(view, set(), "onnx") == ""
    other = replace(view, outputs=(y.with_(quantization=per_tensor(0.25, 0)),))
    assert spec.rejection(other, set(), "onnx") == "rounds as 'double', the build wants 'onnx'"
    plain = replace(view, inputs=(x.with_(quantization=None),), outputs=(y.with_(quantization=None),))
    assert spec.rejection(plain, set(), "onnx") == ""


# --- Impl and ProdConso


def test_the_default_model_protects_every_input():
    model = ProdConso.default_model(add_node())
    assert (model.required_bytes(0), model.protected_bytes(1), model.required_memory_bytes(0)) == (36, 36, 36)
    assert (model.consumed_bytes(0, 3), model.produced_bytes(0, 2), model.scratch_bytes) == (108, 72, 0)


def test_the_in_place_model_protects_no_input_of_the_output_s_size():
    model = ProdConso.in_place_model(add_node())
    assert model.demands.in_place == (0, 1) and model.protected_bytes(0) == 0


def test_a_kernel_declares_overlap_and_scratch_once_for_planner_and_model():
    model = ProdConso(add_node(), Demands(scratch_bytes=64, overlap=((0, 12),)))
    assert (model.protected_bytes(0), model.protected_bytes(1), model.scratch_bytes) == (12, 36, 64)


# --- OperatorImpl


class Toy(OperatorImpl):
    specs: list = []

    def get_available_impl_specs(self):
        return list(self.specs)


def toy(*specs, view=None) -> Toy:
    made = Toy(view or add_node(), "toy")
    made.specs = list(specs)
    return made


INT8, INT16, FLOAT = (ImplSpec(IOSpec(kind)) for kind in (dtype.int8, dtype.int16, dtype.float32))


def test_backend_and_operator_are_what_the_implementation_was_made_of():
    view = add_node()
    assert Toy(view, "toy").backend() == "toy" and Toy(view, "toy").get_operator().view is view


def test_the_required_spec_is_exactly_the_operator_s_tensors():
    io = IOSpec(dtype.int8, dformat.nchw, (1, 4, 3, 3))
    assert toy().get_required_spec() == ImplSpec([io, io], [io])
    view = add_node()
    view = replace(view, inputs=(None, view.inputs[1].with_(format=channels_last(4))))
    assert toy(view=view).get_required_spec() == ImplSpec([IOSpec(), replace(io, format=dformat.nhwc)], [io])


@given(st.permutations([INT8, ImplSpec(), ImplSpec(IOSpec(dtype.int8, dformat.nchw)), INT16, ImplSpec(IOSpec(dtype.any_1))]))
def test_the_best_match_is_the_most_specific_whatever_the_order_of_registration(specs):
    assert toy(*specs).get_best_match() == ImplSpec(IOSpec(dtype.int8, dformat.nchw))


def test_no_match_is_none_with_a_reason_for_each_candidate():
    impl = toy(INT16, ImplSpec(IOSpec(dtype.int8, dformat.nhwc)), FLOAT)
    assert impl.get_best_match() is None
    assert dict(impl.get_rejections()) == {
        INT16: "needs Cast of input 0 from int8 to int16, Cast of input 1 from int8 to int16, Cast of output 0 from "
        "int16 to int8",
        ImplSpec(
            IOSpec(dtype.int8, dformat.nhwc)
        ): "needs Transpose of input 0 from nchw to nhwc, Transpose of input 1 from nchw to nhwc, "
        "Transpose of output 0 from nhwc to nchw",
        FLOAT: "needs Cast of input 0 from int8 to float32, Cast of input 1 from int8 to float32, Cast of output 0 "
        "from float32 to int8",
    }


def test_a_match_can_be_asked_for_a_spec_that_the_operator_does_not_have_yet():
    assert toy(INT16, INT8).get_best_match(ImplSpec(IOSpec(dtype.int16, dims=(1, 4, 3, 3)))) == INT16


def test_an_adaptation_states_its_steps_and_costs_bytes_and_not_operators():
    impl = toy(INT16, view=add_node(dims=(1, 4, 3, 3)))
    found = impl.get_adaptation(INT16)
    assert [step.type for step in found.steps] == ["Cast"] * 3
    assert found.cost_bytes == 3 * (36 + 72)
    assert impl.get_adaptation(ImplSpec(IOSpec(dtype.bool))) is None


@pytest.mark.parametrize("low, dim", [(-1, 1), (0, 1), (1, 1), (2, 2), (7, 7)])
def test_an_axis_that_a_query_leaves_open_has_its_smallest_size(low, dim):
    found = adaptation(add_node(), INT8, ImplSpec(IOSpec(dtype.int8, dims=(Extent(low), 4, 3, Extent(3, 9)))))
    assert [tensor.dims for tensor in (*found.view.inputs, *found.view.outputs)] == [(dim, 4, 3, 3)] * 3


def test_the_best_adaptation_moves_the_fewest_bytes():
    assert toy(FLOAT, INT16).get_best_adaptation().spec == INT16
    assert toy(FLOAT, INT16, INT8).get_best_adaptation().steps == ()
    assert toy(ImplSpec(IOSpec(dtype.bool))).get_best_adaptation() is None


def test_prod_conso_comes_from_the_matching_implementation():
    class InPlace(Toy):
        def get_impl(self, spec):
            return Impl(ProdConso.in_place_model)

    impl = InPlace(add_node(), "toy")
    impl.specs = [INT8]
    assert impl.prod_conso().protected_bytes(0) == 0 and impl.get_prod_conso() is impl.get_prod_conso()
    assert toy(INT8).prod_conso().protected_bytes(0) == 36


def test_forward_and_backward_run_the_implementation_or_say_that_they_cannot():
    class Host(Toy):
        def get_impl(self, spec):
            return Impl(
                forward=lambda view, values: (values[0] + values[1],), backward=lambda view, values, gradients: gradients * 2
            )

    impl = Host(add_node(), "host2")
    impl.specs = [INT8]
    ones = numpy.ones((1, 4, 3, 3), numpy.int8)
    assert impl.forward(ones, ones)[0].sum() == 72 and len(impl.backward([ones, ones], (ones,))) == 2
    with pytest.raises(AidgeError, match="has no forward kernel that runs here"):
        toy(INT8).forward(ones, ones)
    with pytest.raises(AidgeError, match="does not accept it"):
        toy().forward(ones, ones)


# --- several host backends


def test_a_second_host_backend_runs_what_it_accepts_and_cpu_the_rest():
    second, ran = HostBackend("second"), []

    @second.register("Tanh", ImplSpec(IOSpec(dtype.float32)))
    def tanh(view, values):
        ran.append(view.node.name)
        return (numpy.tanh(values[0]),)

    view = graph("a = Tanh(x) b = Relu(a) y = Tanh(b)", inputs="float[2,3] x", outputs="float[2,3] y")
    values = {"x": numpy.linspace(-1, 1, 6, dtype=numpy.float32).reshape(2, 3)}
    assert numpy.allclose(cpu.run(view, values, [second])["y"], cpu.run(view, values)["y"]) and ran == ["Tanh_0", "Tanh_2"]
    assert second.operator_impl(NodeView.of(view, view.nodes[1])).get_best_match() is None
    with pytest.raises(AidgeError, match="two implementations of Tanh"):
        second.register("Tanh", ImplSpec(IOSpec(dtype.float32)))(tanh)


# --- adaptation of a graph

HEADER = """
from aidge_build.contract.spec import IOSpec, ImplSpec, Predicate, dformat, multiple_of
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.graph.dtype import dtype
FLOAT = IOSpec(dtype.float32)
"""
CONVERSIONS = """
@kernel("DequantizeLinear", ImplSpec([IOSpec(dtype.int8), FLOAT, IOSpec(dtype.int8)], [FLOAT]))
class D(KernelNode): pass
@kernel("QuantizeLinear", ImplSpec([FLOAT, FLOAT, IOSpec(dtype.int8)], [IOSpec(dtype.int8)]))
class Q(KernelNode): pass
@kernel("Cast", ImplSpec())
class C(KernelNode): pass
"""
QDQ = (
    "xd = DequantizeLinear(x, s, zi) yd = {}(xd) y = QuantizeLinear(yd, t, zo)",
    {"s": numpy.float32(0.1), "t": numpy.float32(0.05), "zi": numpy.int8(3), "zo": numpy.int8(-7)},
)


def library(text: str, name: str = "toy") -> Library:
    return load_library({"library.toml": f'name = "{name}"'.encode(), "kernels.py": (HEADER + text).encode()}, name)


def adapt(view, *libraries):
    return adapt_to_backend(view, libraries, Target())


def test_a_quantized_node_without_a_kernel_computes_in_float_between_quantize_and_dequantize():
    text, constants = QDQ
    before = simplify(graph(text.format("Tanh"), inputs="int8[2,50] x", outputs="int8[2,50] y", constants=constants))
    assert types(before) == ["Tanh"]
    after = adapt(before, library(CONVERSIONS + '@kernel("Tanh", ImplSpec(FLOAT))\nclass T(KernelNode): pass'))
    assert types(after.view) == ["DequantizeLinear", "Tanh", "QuantizeLinear"]
    assert (
        after.choices[after.view.nodes[1].name].rule == "no kernel accepts it as it is: Dequantize to float32, Quantize to int8"
    )
    values = {"x": numpy.arange(-50, 50, dtype=numpy.int8).reshape(2, 50)}
    difference = cpu.run(before, values)["y"].astype(int) - cpu.run(after.view, values)["y"]
    assert numpy.abs(difference).max() <= 1


@pytest.mark.parametrize("axis", [0, 1])
def test_scales_along_an_axis_stay_along_it_in_the_conversions(axis):
    scales, points = (0.5, 0.25), (3, -4)
    along = Quantization(scales, points, axis)
    tensors = {name: Tensor(name, (2, 2), dtype.int8, quantization=along) for name in "xy"}
    node = Node("tanh", Tanh(), ("x",), ("y",))
    kernels = library(CONVERSIONS + '@kernel("Tanh", ImplSpec(FLOAT))\nclass T(KernelNode): pass')
    nothing = Match((), ())
    after, _ = widen(graph_view("net", [node], tensors, "x", "y"), (kernels,), Target(), lambda view, one: nothing)
    assert types(after) == ["DequantizeLinear", "Tanh", "QuantizeLinear"]
    given = numpy.array([[5, 6], [7, 8]], numpy.int8)
    shape = (2, 1) if axis == 0 else (1, 2)
    by, offset = (numpy.reshape(each, shape) for each in (scales, points))
    expected = numpy.clip(numpy.rint(numpy.tanh((given - offset) * by) / by) + offset, -128, 127)
    assert numpy.array_equal(cpu.run(after, {"x": given})["y"], expected)


def test_kernels_see_the_build_that_is_asked_for_whatever_the_view_says():
    view = NodeView(
        Node("add", Add(), ("x", "y"), ("z",)), *([Tensor(name, (2,), dtype.float32) for name in side] for side in ("xy", "z"))
    )
    seen = 'Predicate("is small", lambda view: f"{view.objective} {sorted(view.features)} {view.any_weights}")'
    kernels = library(f'@kernel("Add", ImplSpec(FLOAT, predicates=({seen},)))\nclass A(KernelNode): pass')
    found = match(view, (kernels,), Target(frozenset({"dsp"}), objective="size", any_weights=True))
    assert found.rejected == (("toy kernels", "size ['dsp'] True"),)


def test_a_quantized_node_with_a_kernel_is_left_alone():
    text, constants = QDQ
    before = simplify(graph(text.format("Tanh"), inputs="int8[2,50] x", outputs="int8[2,50] y", constants=constants))
    both = library(
        CONVERSIONS + '@kernel("Tanh", ImplSpec(FLOAT))\nclass T(KernelNode): pass\n'
        '@kernel("Tanh", ImplSpec(IOSpec(dtype.int8)))\nclass T8(KernelNode): pass'
    )
    assert types(adapt(before, both).view) == ["Tanh"]


def test_a_narrow_type_is_cast_to_the_type_that_fits_better():
    before = graph("y = Neg(x)", inputs="int8[2,3] x", outputs="int8[2,3] y")
    after = adapt(
        before,
        library(
            CONVERSIONS + '@kernel("Neg", ImplSpec(FLOAT))\nclass F(KernelNode): pass\n'
            '@kernel("Neg", ImplSpec(IOSpec(dtype.int16)))\nclass S(KernelNode): pass'
        ),
    )
    assert types(after.view) == ["Cast", "Neg", "Cast"]
    assert after.view.tensor(after.view.nodes[0].outputs[0]).dtype is dtype.int16
    assert same_meaning(before, after.view)


def test_constants_are_converted_while_generating():
    before = graph(
        "y = Add(x, c)", inputs="int8[2,3] x", outputs="int8[2,3] y", constants={"c": numpy.arange(3, dtype=numpy.int8)}
    )
    after = adapt(before, library(CONVERSIONS + '@kernel("Add", ImplSpec(IOSpec(dtype.int32)))\nclass A(KernelNode): pass'))
    assert types(after.view) == ["Cast", "Add", "Cast"]
    assert same_meaning(before, after.view)


def test_nothing_is_wrapped_when_a_conversion_itself_has_no_kernel():
    view = graph("y = Neg(x)", inputs="int8[2,3] x", outputs="int8[2,3] y")
    with pytest.raises(AidgeError, match="no kernel accepts it"):
        adapt(view, library('@kernel("Neg", ImplSpec(FLOAT))\nclass F(KernelNode): pass'))


def test_a_type_is_never_narrowed():
    view = graph("y = Neg(x)", inputs="double[2,3] x", outputs="double[2,3] y")
    with pytest.raises(AidgeError, match="input 0 is float64, wants float32"):
        adapt(view, library(CONVERSIONS + '@kernel("Neg", ImplSpec(FLOAT))\nclass F(KernelNode): pass'))


KERNELS = [
    "ImplSpec()",
    "ImplSpec(FLOAT)",
    "ImplSpec(IOSpec(dtype.any_1))",
    "ImplSpec(FLOAT, features={'dsp'})",
    "ImplSpec(IOSpec(dtype.float32, dims=[multiple_of(2), -1]))",
    "ImplSpec(IOSpec(dtype.float32, dformat.row_major))",
]


@settings(max_examples=25)
@given(st.permutations(range(len(KERNELS))), st.sampled_from([frozenset(), frozenset(["dsp"])]))
def test_the_order_of_registration_changes_nothing(order, features):
    text = "".join(f'@kernel("ReLU", {KERNELS[index]})\nclass K{index}(KernelNode): pass\n' for index in order)
    view = graph("y = Relu(x)", inputs="float[2,3] x", outputs="float[2,3] y")
    found = match(NodeView.of(view, view.nodes[0]), [library(text)], Target(features))
    plain = match(
        NodeView.of(view, view.nodes[0]),
        [library("".join(f'@kernel("ReLU", {spec})\nclass K{index}(KernelNode): pass\n' for index, spec in enumerate(KERNELS)))],
        Target(features),
    )
    assert [kernel.spec for kernel in found.accepted] == [kernel.spec for kernel in plain.accepted]
    assert sorted(found.rejected) == sorted(plain.rejected)


def test_a_structural_duplicate_is_refused_at_registration():
    twice = (
        '@kernel("ReLU", ImplSpec(FLOAT))\nclass A(KernelNode): pass\n@kernel("ReLU", ImplSpec([FLOAT], [FLOAT]))\n'
        "class B(KernelNode): pass"
    )
    with pytest.raises(AidgeError, match="register the same spec for ReLU"):
        library(twice)


def test_the_choice_is_recorded_with_every_rejection():
    view = graph("y = Relu(x)", inputs="float[2,3] x", outputs="float[2,3] y")
    found = adapt(
        view,
        library('@kernel("ReLU", ImplSpec(FLOAT))\nclass A(KernelNode): pass', "mine"),
        library('@kernel("ReLU", ImplSpec(IOSpec(dtype.int8)))\nclass B(KernelNode): pass', "other"),
    )
    choice = found.choices["Relu_0"]
    assert choice.kernel.library == "mine" and choice.rejected == (("other kernels", "input 0 is float32, wants int8"),)


def test_an_operator_says_which_backends_have_it():
    mine = library('@kernel("ReLU", ImplSpec(FLOAT))\nclass A(KernelNode): pass', "of_this_test")
    view = graph("y = Relu(x) z = Tanh(x)", inputs="float[2,3] x", outputs="float[2,3] y, float[2,3] z")
    known = [node.operator.get_available_backends() for node in view.nodes]  # other tests may have registered more than "cpu"
    found = [node.operator.get_available_backends([mine]) for node in view.nodes]
    assert [set(now) - set(before) for now, before in zip(found, known)] == [{"of_this_test"}, set()]
    assert all("cpu" in backends for backends in known)


@pytest.mark.parametrize("kind", ["float", "int8"])
def test_an_output_is_never_the_input_tensor_itself(kind):
    view = graph("y = Identity(x)", inputs=f"{kind}[2,3] x", outputs=f"{kind}[2,3] y")
    given_values = numpy.ones((2, 3), view.tensor("x").dtype.numpy)
    results = cpu.run(view, {"x": given_values})
    assert results["y"] is not given_values and not numpy.shares_memory(results["y"], given_values)
