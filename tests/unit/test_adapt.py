# SPDX-License-Identifier: MIT
"""Adaptation: which kernel a node gets, where copies are needed, and that neither depends on the order of registration."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy
import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.contract.library import load_library
from aidge_build.contract.reference import cpu
from aidge_build.contract.spec import NodeView
from aidge_build.graph.dtype import DType
from aidge_build.graph.format import channels_last, row_major
from aidge_build.graph.view import Node, graph_view
from aidge_build.operators.flip_sign import FlipSign
from aidge_build.prepare.adaptation.adapt import adapt_to_backend
from aidge_build.prepare.adaptation.formats import Option, view_options
from aidge_build.prepare.adaptation.match import Target
from aidge_build.prepare.adaptation.meta_operator import MetaOperator
from aidge_build.prepare.recipes import simplify
from aidge_build.prepare.recipes.check import check_graph
from tests.models import graph, same_meaning, types

HEADER = """
from aidge_build.contract.spec import IOSpec, ImplSpec, Predicate
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.graph.dtype import dtype
LAST, SAME, ROWS = IOSpec(dtype.float32, "channels_last"), IOSpec(dtype.float32, "any_1"), IOSpec(dtype.float32, "row_major")
ANY = IOSpec(dtype.float32)
"""
IMAGES = """
@kernel(["Conv2D", "MaxPooling2D"], ImplSpec((LAST, ANY), (LAST,)))
class Window(KernelNode): pass
@kernel(["ReLU", "Add", "Sigmoid", "Concat"], ImplSpec((SAME,), (SAME,)))
class Same(KernelNode): pass
@kernel("FC", ImplSpec((ROWS, ANY), (ROWS,)))
class FC(KernelNode): pass
@kernel("Reformat", ImplSpec((IOSpec(),), (IOSpec(),)))
class Copy(KernelNode): pass
"""
WEIGHTS = {"w": numpy.random.default_rng(0).normal(size=(4, 4, 3, 3)).astype(numpy.float32)}
CONV = "Conv<pads=[1,1,1,1]>"


def library(text: str = IMAGES, name: str = "toy"):
    return load_library({"library.toml": f'name = "{name}"'.encode(), "kernels.py": (HEADER + text).encode()}, name)


def adapt(view, *libraries, features=()):
    return adapt_to_backend(view, libraries or (library(),), Target(frozenset(features)))


def test_a_channels_last_input_behind_a_transpose_needs_no_copy():
    before = graph(
        f"t = Transpose<perm=[0,3,1,2]>(x) y = {CONV}(t, w) z = Transpose<perm=[0,2,3,1]>(y)",
        inputs="float[1,5,6,4] x",
        outputs="float[1,5,6,4] z",
        constants=WEIGHTS,
    )
    after = adapt(before).view
    assert types(after) == ["Transpose", "Conv2D", "Transpose"]
    rules = [adapt(before).choices[node.name].rule for node in after.nodes]
    assert rules == ["the same bytes under another name", "the only kernel that accepts it", "the same bytes under another name"]
    assert same_meaning(before, after)


def test_a_channels_first_model_is_copied_once_at_the_input_and_once_at_the_output():
    before = graph(
        f"a = {CONV}(x, w) b = Relu(a) c = {CONV}(b, w) d = Add(b, c) y = Relu(d)",
        inputs="float[1,4,5,6] x",
        outputs="float[1,4,5,6] y",
        constants=WEIGHTS,
    )
    after = adapt(before).view
    assert types(after).count("Reformat") == 2 and types(after)[0] == "Reformat"
    assert same_meaning(before, after)


def test_transposes_cancel_across_a_residual_graph():
    before = graph(
        f"""t = Transpose<perm=[0,3,1,2]>(x) a = {CONV}(t, w) back = Transpose<perm=[0,2,3,1]>(a) r = Relu(back)
        again = Transpose<perm=[0,3,1,2]>(r) c = {CONV}(again, w) d = Add(again, c) y = Transpose<perm=[0,2,3,1]>(d)""",
        inputs="float[1,5,6,4] x",
        outputs="float[1,5,6,4] y",
        constants=WEIGHTS,
    )
    after = adapt(before).view
    assert "Reformat" not in types(after)
    assert same_meaning(before, after)


def test_flattening_permutes_the_weights_instead_of_the_activations():
    weights = numpy.random.default_rng(1).normal(size=(3, 120)).astype(numpy.float32)
    before = simplify(
        graph(
            f"t = Transpose<perm=[0,3,1,2]>(x) a = {CONV}(t, w) f = Flatten(a) y = Gemm<transB=1>(f, v)",
            inputs="float[1,5,6,4] x",
            outputs="float[1,3] y",
            constants={**WEIGHTS, "v": weights},
        )
    )
    after = adapt(before).view
    assert "Reformat" not in types(after)
    assert same_meaning(before, after)


def test_flattening_for_another_reader_is_copied():
    before = graph(
        f"t = Transpose<perm=[0,3,1,2]>(x) a = {CONV}(t, w) f = Flatten(a) y = Relu(f)",
        inputs="float[1,5,6,4] x",
        outputs="float[1,120] y",
        constants=WEIGHTS,
    )
    after = adapt(before).view
    assert types(after).count("Reformat") == 1
    assert same_meaning(before, after)


def test_axes_of_length_one_need_no_copy():
    before = graph(
        f"a = {CONV}(x, w) s = Squeeze(a, axes) y = Relu(s)",
        inputs="float[1,4,1,1] x",
        outputs="float[1,4] y",
        constants={**WEIGHTS, "axes": numpy.array([2, 3])},
    )
    assert "Reformat" not in types(adapt(before).view)


@pytest.mark.parametrize(
    "text, outputs",
    [
        ("y = Reshape(x, s)", "float[6] y"),
        ("a = Relu(x) y = Reshape(a, s) z = Identity(a)", "float[6] y, float[2,3] z"),
        ("a = Relu(x) y = Reshape(a, s) b = Relu(y)", "float[2,3] a, float[6] y, float[6] b"),
    ],
)
def test_every_output_has_bytes_of_its_own(text, outputs):
    before = graph(text, inputs="float[2,3] x", outputs=outputs, constants={"s": numpy.array([6])})
    assignment = adapt(before)
    roots = []
    for name in assignment.view.outputs:
        node = assignment.view.producer(name)
        while assignment.choices[node.name].kernel is None:
            name = node.inputs[0]
            node = assignment.view.producer(name)
        roots.append(name)
    assert len(set(roots)) == len(roots)
    assert same_meaning(before, assignment.view)


def test_an_input_or_a_constant_that_is_an_output_is_copied():
    constants = {"c": numpy.array([3, 5], numpy.float32)}
    before = graph("y = Relu(x)", inputs="float[2] x", outputs="float[2] y, float[2] x, float[2] c", constants=constants)
    after = adapt(before).view
    assert (
        after.outputs == ("y", "x_output", "c") and [after.producer(name).type for name in after.outputs[1:]] == ["Reformat"] * 2
    )
    assert cpu.run(after, {"x": numpy.zeros(2, numpy.float32)})["c"].tolist() == [3, 5]


@pytest.mark.requirement("KERNEL")
def test_a_copy_has_the_most_specific_kernel_for_copies_and_is_refused_without_one():
    view = graph(f"y = {CONV}(x, w)", inputs="float[1,4,5,6] x", outputs="float[1,4,5,6] y", constants=WEIGHTS)
    special = '@kernel("Reformat", ImplSpec((ANY,), (ANY,)))\nclass Special(KernelNode): pass'
    choices = [one for one in adapt(view, library(f"{IMAGES}{special}")).choices.values() if one.kernel.type == "Reformat"]
    assert [(one.kernel.node_class.__name__, one.rule) for one in choices] == [("Special", "copy between two formats")] * 2
    with pytest.raises(AidgeError, match=r"Conv_0_reformat_1' \(Reformat\): no kernel accepts it"):
        adapt(view, library(IMAGES.replace("Reformat", "Tanh")))


def test_bytes_that_flip_their_sign_are_copied_next_to_the_output():
    last, flips = ('IOSpec(dtype.int8, "channels_last")', 'IOSpec(dtype.{}, "any_1")')
    text = f"""{IMAGES.replace("ReLU", "Softmax")}
@kernel("ReLU", ImplSpec(({last},), ({last},)))
class Bytes(KernelNode): pass
@kernel("FlipSign", ImplSpec(({flips.format("int8")},), ({flips.format("uint8")},)))
class Flips(KernelNode): pass"""
    view = graph("y = Relu(x)", inputs="int8[1,4,5,6] x", outputs="int8[1,4,5,6] y")
    flipped = view.tensor("y").with_(name="z", dtype=DType.uint8)
    nodes = (*view.nodes, Node("flip", FlipSign(), ("y",), ("z",)))
    found = adapt(graph_view("net", nodes, {**view.tensors, "z": flipped}, ("x",), ("z",)), library(text))
    assert types(found.view) == ["Reformat", "ReLU", "FlipSign", "Reformat"]


def test_an_output_that_others_read_in_another_format_is_right():
    before = graph(
        f"a = {CONV}(x, w) b = {CONV}(a, w) f = Flatten(a) y = Relu(f)",
        inputs="float[1,4,5,6] x",
        outputs="float[1,4,5,6] a, float[1,4,5,6] b, float[1,120] y",
        constants=WEIGHTS,
    )
    after = adapt(before)
    assert same_meaning(before, after.view)
    assert types(after.view).count("Reformat") == 3  # the input and both outputs: the flattening reads the output
    for name in after.view.outputs:
        assert after.view.tensor(name).storage.order == tuple(range(after.view.tensor(name).rank))


def test_all_unsupported_nodes_are_reported_at_once_with_reasons():
    view = graph("a = Relu(x) b = Tanh(a) c = Tanh(b) y = Add(c, x)", inputs="double[2,3] x", outputs="double[2,3] y")
    with pytest.raises(AidgeError) as caught:
        adapt(view)
    message = str(caught.value)
    assert "node 'Relu_0' (ReLU): no kernel accepts it (4 nodes have none:" in message
    assert "toy kernels (input 0 is float64, wants float32)" in message


def test_an_option_says_in_which_formats_a_node_with_these_inputs_reads_a_tensor():
    form, other = channels_last(4), row_major(4)
    option = Option(None, ((0, form), (2, other)), ())
    assert option.reads(("a", "b", "a"), "a") == (form, other) and option.reads(("a", "b", "c"), "b") == ()


@pytest.mark.parametrize("count, named", [(20, 20), (21, 20)])
def test_of_many_unsupported_nodes_the_first_ones_are_named(count, named):
    text = "".join(f"t{at + 1} = Tanh(t{at}) " for at in range(count - 1))
    view = graph(f"{text}y = Tanh(t{count - 1})", inputs="double[2,3] t0", outputs="double[2,3] y")
    with pytest.raises(AidgeError, match=f"{count} nodes have none") as caught:
        adapt(view)
    assert [f"'Tanh_{at}' (" in str(caught.value) for at in range(count)] == [at < named for at in range(count)]


@pytest.mark.parametrize("seed", range(60))
def test_a_view_gives_its_result_an_order_in_which_the_same_bytes_are_right(seed):
    """For axes of one and two elements, and channels-last wherever that order has the same bytes."""
    random = numpy.random.default_rng(seed)
    long = [int(size) for size in random.integers(2, 4, random.integers(1, 4))]
    source, result = (numpy.insert(long, random.integers(0, len(long) + 1, count), 1) for count in random.integers(0, 3, 2))
    if seed % 3 == 0:
        order = tuple(int(axis) for axis in random.permutation(len(source)))
        text, result = f"y = Transpose<perm={list(order)}>(x)", source[list(order)]
    else:
        text, order = "y = Reshape(x, dims)", None
    given, made = (f"float[{','.join(map(str, dims))}]" for dims in (source, result))
    view = graph(text, inputs=f"{given} x", outputs=f"{made} y", constants={} if order else {"dims": numpy.array(result)})
    data = numpy.arange(math.prod(long)).reshape(source)
    moved = data.transpose(order) if order else data.reshape(result)
    options = view_options(NodeView.of(view, view.nodes[0]))
    last = channels_last(len(result))
    assert len(options) == (1 if len(source) < 3 else 2) or order  # each order in which data lie in images
    for option in options:
        ((index, form),), (out,) = option.inputs, option.outputs
        assert (index, option.kernel) == (0, None)
        stored = list(data.transpose(form.order).ravel())
        assert stored == list(moved.transpose(out.order).ravel())
        is_permuted = stored != list(data.ravel())
        assert order or not is_permuted or out == last or stored != list(moved.transpose(last.order).ravel())


TANH = "class Tanh(KernelNode): pass"
REFUSING = f'@kernel("Tanh", ImplSpec((SAME,), (SAME,), predicates=(Predicate("is long", lambda view: "is short"),)))\n{TANH}'


@pytest.mark.parametrize(
    "texts, hint",
    [
        ([IMAGES], "add a library that has one at the end of the list"),
        ([IMAGES, IMAGES.replace("ReLU", "Softmax")], "add a library that has one at the end of the list"),
        ([REFUSING], "aidge-build list kernels lists what each library accepts"),
        ([IMAGES, REFUSING], "aidge-build list kernels lists what each library accepts"),
        ([f'@kernel("Tanh", ImplSpec((SAME,), (SAME,), features=frozenset(["dsp"])))\n{TANH}'], "name the core"),
        (
            [f'@kernel("Tanh", ImplSpec((IOSpec(dtype.int8), IOSpec(dtype.int16)), (SAME,)))\n{TANH}'],
            "its kernels take int8: insert a Cast",
        ),
    ],
)
def test_the_hint_says_what_helps_where_no_kernel_accepts_a_node(texts, hint):
    view = graph("y = Tanh(x)", inputs="float[2,3] x", outputs="float[2,3] y")
    with pytest.raises(AidgeError, match="no kernel accepts it") as caught:
        adapt(view, *(library(text, f"toy{number}") for number, text in enumerate(texts)))
    assert caught.value.hint.startswith(hint) and "nodes have none" not in str(caught.value)


def test_the_hint_names_the_contract_under_which_a_kernel_computes_the_node():
    text = "f = DequantizeLinear(x, s, z) g = Sigmoid(f) y = QuantizeLinear(g, s, z)"
    constants = {"s": numpy.float32(0.1), "z": numpy.int8(3)}
    view = simplify(graph(text, inputs="int8[2] x", outputs="int8[2] y", constants=constants))
    kernels = library('@kernel("Sigmoid", ImplSpec(IOSpec(dtype.int8)))\nclass Bytes(KernelNode): pass')
    assert [choice.kernel.type for choice in adapt(view, kernels).choices.values()] == ["Sigmoid"]
    with pytest.raises(AidgeError, match="rounds as 'onnx', the build wants 'double'") as caught:
        adapt_to_backend(view, (kernels,), Target(rounding="double"))
    assert caught.value.hint.startswith("--rounding onnx computes it")


def test_the_first_library_that_accepts_wins_and_the_reasons_are_kept():
    special = library(
        '@kernel("ReLU", ImplSpec((SAME,), (SAME,), features=frozenset(["dsp"])))\nclass Fast(KernelNode): pass', "special"
    )
    view = graph("y = Relu(x)", inputs="float[2,3] x", outputs="float[2,3] y")
    with_dsp = adapt(view, special, library(), features=["dsp"]).choices["Relu_0"]
    without = adapt(view, special, library()).choices["Relu_0"]
    assert with_dsp.kernel.library == "special" and ("toy kernels", "library special comes first") in with_dsp.rejected
    assert without.kernel.library == "toy" and ("special kernels", "the CPU has no dsp") in without.rejected


def test_the_more_specific_kernel_wins_whatever_the_order_of_registration():
    kernels = [
        '@kernel("ReLU", ImplSpec((IOSpec(),), (IOSpec(),)))\nclass General(KernelNode): pass\n',
        '@kernel("ReLU", ImplSpec((SAME,), (SAME,)))\nclass Special(KernelNode): pass\n',
    ]
    view = graph("y = Relu(x)", inputs="float[2,3] x", outputs="float[2,3] y")
    for order in (kernels, kernels[::-1]):
        assert adapt(view, library("".join(order))).choices["Relu_0"].kernel.node_class.__name__ == "Special"


PAIR = """
@kernel("ReLU", ImplSpec({0}))
class First(KernelNode): pass
@kernel("ReLU", ImplSpec({1}))
class Second(KernelNode): pass
"""
NAMED = '[{0}], [{0}], [Predicate("{1}", lambda view: "")]'


@pytest.mark.parametrize(
    "first, second, order, chosen, rule, reason",
    [
        ("SAME", "IOSpec(dtype.any, 'any_1')", "", "kernels", "most specific", "less specific"),
        ("LAST", "ROWS", "", "others", "fewest bytes copied", "960 B more to copy"),
        (
            NAMED.format("LAST", "p"),  # what it reads is copied first
            NAMED.format("LAST", "q"),
            "",
            "kernels",
            "first by name",
            "neither is more specific, and kernels comes first by name",
        ),
        (
            NAMED.format("SAME", "p"),
            NAMED.format("SAME", "q"),
            "",
            "kernels",
            "first by name",
            "neither is more specific, and kernels comes first by name",
        ),
        (
            NAMED.format("SAME", "p"),
            NAMED.format("SAME", "q"),
            'order = ["others"]',
            "others",
            "first in the library's order",
            "neither is more specific, and the order of library toy has others first",
        ),
    ],
)
def test_the_rule_that_decided_between_two_kernels_is_said(first, second, order, chosen, rule, reason):
    files = {"kernels.py": PAIR.split("@kernel")[1].format(first), "others.py": PAIR.split("@kernel")[2].format("", second)}
    made = load_library(
        {
            "library.toml": f'name = "toy"\n{order}'.encode(),
            **{name: (HEADER + "@kernel" + text).encode() for name, text in files.items()},
        },
        "toy",
    )
    view = graph("a = Relu(x) y = Relu(a)", inputs="float[1,4,5,6] x", outputs="float[1,4,5,6] y")
    found = adapt(view, made, library('@kernel("Reformat", ImplSpec(IOSpec()))\nclass Copy(KernelNode): pass', "copies"))
    for choice in (found.choices["Relu_0"], found.choices["Relu_1"]):
        (other,) = {"kernels", "others"} - {chosen}
        assert (choice.kernel.name, choice.rule) == (chosen, rule)
        assert (f"toy {other}", reason) in choice.rejected


def test_two_kernels_of_equal_structure_are_refused_when_the_library_is_loaded():
    with pytest.raises(AidgeError, match="register the same spec for ReLU"):
        library(
            '@kernel("ReLU", ImplSpec((SAME,), (SAME,)))\nclass A(KernelNode): pass\n'
            '@kernel("ReLU", ImplSpec((SAME,), (SAME,)))\nclass B(KernelNode): pass\n'
        )


def test_a_plug_in_that_raises_is_named():
    with pytest.raises(AidgeError, match=r"broken/kernels.py: the module raised ZeroDivisionError: division by zero \("):
        library("1 / 0", "broken")


def test_the_adapted_graph_still_runs_on_the_numpy_backend():
    before = graph(f"a = {CONV}(x, w) y = Relu(a)", inputs="float[1,4,5,6] x", outputs="float[1,4,5,6] y", constants=WEIGHTS)
    after = adapt(before).view
    assert cpu.run(after, {"x": numpy.zeros((1, 4, 5, 6), numpy.float32)})["y"].shape == (1, 4, 5, 6)


def test_a_node_that_adaptation_makes_never_shares_a_name_with_one_of_the_model():
    named = graph("z = Relu(x) y = Identity(x)", inputs="float[1,2] x", outputs="float[1,2] z, float[1,2] y")
    nodes = tuple(node.with_(name="y_copy") if node.type == "ReLU" else node for node in named.nodes)
    assignment = adapt(graph_view(named.name, nodes, named.tensors, named.inputs, named.outputs))
    assert sorted(node.name for node in assignment.view.nodes if node.type != "Identity") == ["y_copy", "y_copy_2"]
    assert all(
        assignment.choices[node.name].kernel.type == node.type for node in assignment.view.nodes if node.type != "Identity"
    )


def test_kernels_see_the_objective_and_the_core_when_they_say_what_they_ask_of_the_planner():
    view = graph("y = Relu(x)", inputs="float[1,4] x", outputs="float[1,4] y")
    assignment = adapt_to_backend(view, (library(),), Target(frozenset(("dsp", "fpu")), objective="size"))
    seen = [assignment.node_view(node) for node in assignment.view.nodes]
    assert [(each.objective, each.features) for each in seen] == [("size", {"dsp", "fpu"})]


def test_a_layer_that_leaves_inputs_out_is_wrapped_in_conversions_too():
    recurrent = library(
        f"""{IMAGES}
@kernel("DequantizeLinear", ImplSpec((IOSpec(dtype.int8), ANY, IOSpec(dtype.int8)), (ANY,)))
class Conversion(KernelNode): pass
@kernel("GRU", ImplSpec((ROWS, ANY, ANY, ANY, IOSpec(), ANY), (ROWS, IOSpec())))
class Recurrent(KernelNode): pass"""
    )
    weights = {
        "w": numpy.ones((1, 6, 3), numpy.float32),
        "r": numpy.ones((1, 6, 2), numpy.float32),
        "h": numpy.ones((1, 1, 2), numpy.float32),
    }
    scale = {"s": numpy.float32(0.1), "z": numpy.int8(3)}
    text = "f = DequantizeLinear(x, s, z) y = GRU<hidden_size=2>(f, w, r, , , h)"
    view = simplify(graph(text, inputs="int8[5,1,3] x", outputs="float[5,1,1,2] y", constants={**weights, **scale}))
    assert types(adapt(view, recurrent).view) == ["DequantizeLinear", "GRU"]


def test_meta_operators_are_the_same_if_name_anchors_and_covered_nodes_are():
    first, other = (graph(f"y = {kind}(x)", inputs="float[2] x", outputs="float[2] y") for kind in ("Relu", "Abs"))
    made, again = MetaOperator("Pair", first, (("a", "b"),)), MetaOperator("Pair", replace(first, name="n"), (("a", "b"),))
    assert made == again and hash(made) == hash(again)
    for name, covered, anchors in (("Two", first, (("a", "b"),)), ("Pair", other, (("a", "b"),)), ("Pair", first, ())):
        assert made != MetaOperator(name, covered, anchors)


MAPS = "a = Conv<pads=[1,1,1,1]>(x, w) b = {} y = MaxPool<kernel_shape=[2,2], strides=[2,2]>(b)"


@pytest.mark.parametrize(
    "middle, has_bands",
    [
        ("Relu(a)", True),
        ("Conv<pads=[2,0,0,2], dilations=[2,2]>(a, v)", True),
        ("Add(a, x)", False),  # reads more than the chain
        ("Softmax<axis=2>(a)", False),  # each result from all rows
        ("Add(k, a)", False),  # the data come second
    ],
)
def test_rows_of_a_meta_operator_are_computed_from_the_rows_that_its_chain_reads(middle, has_bands):
    random = numpy.random.default_rng(4)
    shapes = {"w": (3, 3, 3, 3), "v": (3, 3, 2, 2), "k": (1, 3, 1, 1)}
    constants = {name: random.normal(size=dims).astype(numpy.float32) for name, dims in shapes.items()}
    text = MAPS.format(middle)
    used = {name: value for name, value in constants.items() if f"{name})" in text or f"{name}," in text}
    view = graph(text, inputs="float[1,3,8,8] x", outputs="float[1,3,?,?] y", constants=used)
    inside = graph_view("Fused", view.nodes, view.tensors, ("x", *used), view.outputs)
    meta = MetaOperator("Fused", inside)
    inputs, outputs = [inside.tensor(name) for name in inside.inputs], [inside.tensor("y")]
    data = [random.normal(size=(1, 3, 8, 8)).astype(numpy.float32), *used.values()]
    assert "tensors" not in repr(meta)
    (whole,) = meta.forward(*data)
    for first in range(whole.shape[2]):
        for last in range(first + 1, whole.shape[2] + 1):
            band = meta.band(inputs, outputs, first, last)
            assert (band is not None) == has_bands
            if has_bands:
                (begin, end), *others = band.reads
                check_graph(band.operator.graph, "taking rows")  # every tensor has the dims of its rows
                (rows,) = band.operator.forward(data[0][:, :, begin:end], *data[1:])
                assert others == [None] * len(used) and numpy.allclose(rows, whole[:, :, first:last], atol=1e-5)
