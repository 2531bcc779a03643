# SPDX-License-Identifier: MIT
"""What a rewrite must leave behind. Every recipe is damaged mechanically, one value at a time, and each damage is refused."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator

import numpy
import pytest

from aidge_build import compat
from aidge_build.base.errors import AidgeError
from aidge_build.boards import load_board
from aidge_build.build.compile import build_program
from aidge_build.build.inputs import find_libraries, load_libraries
from aidge_build.compat.mem_info import compute_default_mem_info
from aidge_build.graph.dtype import DType
from aidge_build.graph.format import channels_last, row_major
from aidge_build.graph.quantization import Quantization
from aidge_build.graph.rewrite import Rewrite
from aidge_build.graph.tensor import Tensor, constant
from aidge_build.graph.view import GraphView, Node, graph_view
from aidge_build.operators import builtin_operators
from aidge_build.operators.activation import Clip, ReLU
from aidge_build.operators.base import Operator
from aidge_build.operators.binary import Max
from aidge_build.operators.conv import Conv
from aidge_build.operators.quantize import DequantizeLinear, QuantizeLinear
from aidge_build.operators.rearrange import Gather, Slice
from aidge_build.operators.resize import Resize
from aidge_build.operators.view import Reshape, Transpose
from aidge_build.operators.window import Window
from aidge_build.prepare import recipes
from aidge_build.prepare.adaptation.adapt import adapt_to_backend
from aidge_build.prepare.adaptation.check_views import checked_views
from aidge_build.prepare.adaptation.match import Target
from aidge_build.prepare.recipes import RECIPES
from aidge_build.prepare.recipes.check import check_graph, check_rewrite, checked
from aidge_build.prepare.recipes.fuse_pad import fuse_pad
from aidge_build.prepare.recipes.meaning import require_same_meaning, seeded_inputs
from aidge_build.prepare.recipes.recipe import Recipe
from aidge_build.prepare.recipes.remove_constant_channels import remove_constant_channels
from aidge_build.sources.formats.onnx.importer import import_onnx
from tests.compiled import request_of
from tests.models import graph, model
from tests.quantized_graphs import QuantizedGraph
from tests.random_models import RandomNetwork

RANDOM = numpy.random.default_rng(7)


def floats(*dims):
    return RANDOM.normal(size=dims).astype(numpy.float32)


def int8(*dims):
    return RANDOM.integers(-100, 101, dims).astype(numpy.int8)


def sample(text: str, inputs: str, outputs: str, **constants) -> GraphView:
    return graph(text, inputs=inputs, outputs=outputs, constants=constants)


QDQ = {
    "sx": numpy.float32(0.05),
    "zx": numpy.int8(3),
    "w": int8(4, 3, 3, 2),
    "sw": numpy.linspace(0.01, 0.02, 4).astype(numpy.float32),
    "zw": numpy.zeros(4, numpy.int8),
    "b": RANDOM.integers(-9999, 9999, 4).astype(numpy.int32),
    "sb": (numpy.float32(0.05) * numpy.linspace(0.01, 0.02, 4).astype(numpy.float32)).astype(numpy.float32),
    "zb": numpy.zeros(4, numpy.int32),
    "sy": numpy.float32(0.3),
    "zy": numpy.int8(-7),
}
CONVOLUTION = (
    "xf = DequantizeLinear(x, sx, zx) wf = DequantizeLinear<axis=0>(w, sw, zw) bf = DequantizeLinear<axis=0>(b, sb, zb) "
    "a = Conv<pads=[1,1,2,2], strides=[1,2]>(xf, wf, bf) c = Relu(a) y = QuantizeLinear(c, sy, zy)"
)
UNSIGNED = {name: numpy.asarray(QDQ[name], numpy.int16).astype(numpy.uint8) + numpy.uint8(90) for name in ("zx", "zy", "zw")}


def dead_channels() -> GraphView:
    net = QuantizedGraph((1, 3, 8, 8))
    kinds = numpy.zeros(12, int)
    kinds[[1, 3, 6, 11]] = 1
    return net.view(net.convolution(net.convolution("x", 12, 3, pad=2, stride=2, dead=kinds), 5, 2, stride=2, per_channel=True))


SAMPLES: dict[str, Callable[[], GraphView]] = {
    "remove_identities": lambda: sample(
        "a = Identity(x) b = Neg(x) c = Sub(a, b) y = Identity(c)", "float[2,3] x", "float[2,3] y"
    ),
    "fold_quantize": lambda: sample(
        "q = QuantizeLinear(k, sx, zx) d = DequantizeLinear(q, sx, zx) y = Add(x, d)",
        "float[2,3] x", "float[2,3] y", k=floats(2, 3), sx=QDQ["sx"], zx=QDQ["zx"],
    ),
    "clip_stored": lambda: sample(
        "q = QuantizeLinear(x, sx, zx) c = Clip(q, low, high) y = DequantizeLinear(c, sx, zx)",
        "float[2,3] x", "float[2,3] y", sx=QDQ["sx"], zx=QDQ["zx"], low=numpy.int8(-7), high=numpy.int8(6),
    ),
    "expand_qlinear": lambda: sample(
        "y = QLinearConv<pads=[1,1,2,2], strides=[1,2]>(x, sx, zx, w, sw, zw, sy, zy, b)",
        "int8[1,3,6,6] x", "int8[1,4,?,?] y",
        **{name: values for name, values in QDQ.items() if name not in ("sb", "zb", "zw")}, zw=numpy.int8([3, -2, 1, 5]),
    ),
    "quantize_constants": lambda: sample(
        CONVOLUTION[: CONVOLUTION.index(" c = ")].replace(" a = ", " y = "), "int8[1,3,6,6] x", "float[1,4,?,?] y",
        **{name: values for name, values in QDQ.items() if name not in ("sy", "zy")},
    ),
    "pad_reals": lambda: sample(
        "p = Pad(x, pads, zx) y = DequantizeLinear(p, sx, zx)", "int8[1,3,6,6] x", "float[1,3,?,?] y",
        sx=QDQ["sx"], zx=QDQ["zx"], pads=numpy.array([0, 0, 1, 1, 0, 0, 2, 2]),
    ),
    "byte_reals": lambda: sample(
        'y = Resize<mode="linear">(x, , scales)', "uint8[2,3,6,6] x", "uint8[2,3,?,?] y",
        scales=numpy.array([1, 1, 2, 0.5], numpy.float32),
    ),
    "search_stored": lambda: sample(
        "d = DequantizeLinear(x, sx, zx) y = ArgMax<axis=1>(d)", "int8[1,3,6,6] x", "int64[1,?,?,?] y", sx=QDQ["sx"], zx=QDQ["zx"]
    ),
    "flatten_products": lambda: sample(
        "a = MatMul(x, w) b = Add(c, a) y = Relu(b)", "float[2,3,5] x", "float[2,3,4] y", w=floats(5, 4), c=floats(4)
    ),
    "fuse_pad": lambda: sample(
        "p = Pad(x, pads) a = Conv<strides=[1,2]>(p, w) q = Pad(a, pads) y = AveragePool<kernel_shape=[2,3]>(q)",
        "float[1,3,6,6] x", "float[1,4,?,?] y", w=floats(4, 3, 3, 2), pads=numpy.array([0, 0, 1, 1, 0, 0, 2, 2]),
    ),
    "convolve_transposed": lambda: sample(
        "y = ConvTranspose<pads=[1,0,2,1], dilations=[2,1], group=3>(x, w)", "float[1,6,6,6] x", "float[1,3,?,?] y",
        w=floats(6, 1, 3, 2),
    ),
    "replace_blocks": lambda: sample(
        "a = ScatterND(x, i, u) b = Gather<axis=1>(a, j) c = Gather<axis=0>(b, k) y = Neg(c)",
        "float[3,4] x, float[1,2,2] u", "float[2] y",
        i=numpy.array([[[[1, 1], [1, 2]], [[2, 1], [2, 2]]]]), j=numpy.array([0, 2]), k=numpy.array(-1),
    ),
    "cut_first": lambda: sample(
        "a = Transpose<perm=[2,0,1]>(x) b = Slice(a, first, end, axes) y = Transpose<perm=[1,2,0]>(b)",
        "float[2,3,4] x", "float[?,?,?] y",
        first=numpy.array([1, 0]), end=numpy.array([4, 2]), axes=numpy.array([0, 2]),
    ),
    "connect_windows": lambda: sample(
        "y = Conv<dilations=[2,1]>(x, w)", "float[1,3,5,2] x", "float[1,4,?,?] y", w=floats(4, 3, 3, 2)
    ),
    "fuse_fully_connected": lambda: sample(
        "a = MatMul(x, w) b = Add(c, a) d = Relu(b) y = Gemm<alpha=0.5, beta=2.0>(d, v, e)",
        "float[2,5] x", "float[2,4] y", w=floats(5, 5), c=floats(5), v=floats(5, 4), e=floats(4),
    ),
    "fuse_batch_norm": lambda: sample(
        "a = Conv<pads=[1,1,2,2], strides=[1,2]>(x, w, c) y = BatchNormalization<epsilon=0.01>(a, g, b, m, v)",
        "float[1,3,6,6] x", "float[1,4,?,?] y",
        w=floats(4, 3, 3, 2), c=floats(4), g=floats(4), b=floats(4), m=floats(4), v=numpy.abs(floats(4)) + numpy.float32(0.5),
    ),
    "fuse_scalings": lambda: sample(
        "a = Conv<pads=[1,1,2,2], strides=[1,2]>(x, w, c) d = Mul(g, a) y = Sub(b, d)",
        "float[1,3,6,6] x", "float[1,4,?,?] y",
        w=floats(4, 3, 3, 2), c=floats(4), g=floats(4).reshape(4, 1, 1), b=floats(4).reshape(1, 4, 1, 1),
    ),
    "fuse_activations": lambda: sample(
        "a = Conv<pads=[1,1,2,2], strides=[1,2]>(x, w) b = Clip(a, low, high) c = Sub(b, k) y = Relu(c)",
        "float[1,3,6,6] x", "float[1,4,?,?] y",
        w=floats(4, 3, 3, 2), k=numpy.float32([-5, -4, 0.5, 1]).reshape(1, 4, 1, 1),
        low=numpy.float32(-1.5), high=numpy.float32(2.5),
    ),
    "name_levels": lambda: sample(
        "d = DequantizeLinear(x, sx, zx) a = Conv<pads=[1,1,2,2], strides=[1,2]>(d, w, c) y = QuantizeLinear(a, sx, zx)",
        "int8[1,3,6,6] x", "int8[1,4,?,?] y", w=int8(4, 3, 3, 2) * numpy.float32(0.01), c=floats(4), sx=QDQ["sx"], zx=QDQ["zx"],
    ),
    "quantize_islands": lambda: sample(CONVOLUTION, "int8[1,3,6,6] x", "int8[1,4,?,?] y", **QDQ),
    "normalize_stored": lambda: sample(
        "d = DequantizeLinear(x, sx, zx) a = BatchNormalization<epsilon=0.5>(d, v, v, v, v) y = QuantizeLinear(a, sx, zx)",
        "int8[1,4,6,6] x", "int8[1,4,6,6] y", v=numpy.abs(floats(4)) + numpy.float32(0.5),
        sx=QDQ["sx"], zx=QDQ["zx"],
    ),
    "signed_tensors": lambda: sample(
        CONVOLUTION, "uint8[1,3,6,6] x", "uint8[1,4,?,?] y", **{**QDQ, **UNSIGNED, "w": QDQ["w"].view(numpy.uint8)}
    ),
    "read_stored": lambda: sample(
        "d = DequantizeLinear(x, sx, zx) y = RNN<hidden_size=4>(d, w, r)", "int8[2,1,3] x", "float[2,1,1,4] y",
        w=floats(1, 4, 3), r=floats(1, 4, 4), sx=QDQ["sx"], zx=QDQ["zx"],
    ),
    "dequantize_constants": lambda: sample(
        "d = DequantizeLinear(k, sx, zx) a = Sub(x, d) y = Sin(a)", "float[2,3] x", "float[2,3] y",
        k=int8(2, 3), sx=QDQ["sx"], zx=QDQ["zx"],
    ),
    "remove_constant_channels": dead_channels,
}  # fmt: skip
ALL: dict[str, Recipe] = {one.name: one for one in (*RECIPES, remove_constant_channels)}


def before(name: str) -> GraphView:
    """The sample of a recipe, after all recipes that come before it."""
    view = SAMPLES[name]()
    for earlier in () if name == "remove_constant_channels" else RECIPES[: [one.name for one in RECIPES].index(name)]:
        view = checked(earlier, view)
    return view


def damaged_values(value: object) -> Iterator[object]:
    """Other values of an attribute: one more, none, reversed, the last one left out or changed."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int | float):
        yield from (value + 1, 0 if numpy.isfinite(value) else -value)
    elif isinstance(value, DType):
        yield DType.uint8 if value is not DType.uint8 else DType.int8
    elif isinstance(value, tuple):
        yield from (value[::-1], value[:-1])
        for index, one in enumerate(value):
            yield from ((*value[:index], other, *value[index + 1 :]) for other in damaged_values(one))
    elif dataclasses.is_dataclass(value):
        yield from damaged_fields(value)


def damaged_fields(value) -> Iterator[object]:
    for entry in dataclasses.fields(value):
        kept = getattr(value, entry.name)
        defaults = [] if entry.default is dataclasses.MISSING else [entry.default]
        for other in (*defaults, *damaged_values(kept)):
            if other != kept:
                try:
                    yield dataclasses.replace(value, **{entry.name: other})
                except AidgeError:
                    pass  # a value that cannot even be made


def damaged_tensors(tensor: Tensor) -> Iterator[Tensor]:
    yield tensor.with_(dtype=DType.int16 if tensor.dtype is not DType.int16 else DType.int8)
    if tensor.data is None:
        yield from (tensor.with_(dims=dims) for dims in {tensor.dims[::-1], (*tensor.dims, 1), tensor.dims[1:]} - {tensor.dims})
    elif tensor.elements > 1:
        yield tensor.with_(data=numpy.roll(tensor.data, 1))
        if tensor.dims != tensor.dims[::-1]:
            yield tensor.with_(data=tensor.data.reshape(tensor.dims[::-1]))
    if tensor.quantization is not None:
        scales, points, axis = (getattr(tensor.quantization, name) for name in ("scales", "zero_points", "axis"))
        yield tensor.with_(quantization=None)
        more = 1 if tensor.dtype is not DType.int32 else 1 << 12  # in the small units of a bias
        yield tensor.with_(quantization=Quantization(scales, (points[0] + more, *points[1:]), axis))
        yield tensor.with_(quantization=Quantization((scales[0] * 1.5, *scales[1:]), points, axis))
        if axis is not None:
            yield tensor.with_(quantization=Quantization(scales, points, axis + 1))


OF_OTHER_MODES = ("nearest", "cubic", "extrapolation", "begin", "end", "exclude_outside")


def damaged_nodes(view: GraphView, node: Node) -> Iterator[Node]:
    for operator in damaged_fields(node.operator):
        if isinstance(operator, Conv) and operator.window.ceil_mode:
            continue  # ONNX's Conv has none: another last window would lie in the pads alone
        if "single_product" in vars(operator):  # which means something under the contract `double` alone
            operator = dataclasses.replace(operator, single_product=node.operator.single_product)
        if isinstance(operator, Slice) and (operator.starts, operator.counts) == (node.operator.starts, node.operator.counts):
            if all(count == 1 or one == other for count, one, other in zip(operator.counts, operator.steps, node.operator.steps)):
                continue  # the step from one element to no other
        if isinstance(operator, Resize):  # without crop, by linear weights, to which these mean nothing
            operator = dataclasses.replace(operator, **{name: getattr(node.operator, name) for name in OF_OTHER_MODES})
        if isinstance(operator, QuantizeLinear | DequantizeLinear) and view.tensor(node.inputs[1]).rank == 0:
            operator = dataclasses.replace(operator, axis=node.operator.axis)  # of one scale: the axis means nothing
        if operator != node.operator:
            yield node.with_(operator=operator)
    for index, name in enumerate(node.inputs):
        yield node.with_(inputs=(*node.inputs[:index], *node.inputs[index + 1 :]))
        if index and node.inputs[index - 1] != name and node.type != "Add":  # which means the same either way
            yield node.with_(inputs=(*node.inputs[: index - 1], name, node.inputs[index - 1], *node.inputs[index + 1 :]))
        for other, tensor in view.tensors.items():
            same = name and (tensor.dims, tensor.dtype) == (view.tensor(name).dims, view.tensor(name).dtype)
            if same and other != name and other not in node.outputs:
                yield node.with_(inputs=(*node.inputs[:index], other, *node.inputs[index + 1 :]))


def damages(old: GraphView, new: GraphView) -> Iterator[tuple[str, GraphView]]:
    """Every damage of one value of what a rewrite made."""
    for index, node in enumerate(new.nodes):
        if node not in old.nodes:
            for other in damaged_nodes(new, node):
                nodes = (*new.nodes[:index], other, *new.nodes[index + 1 :])
                yield (
                    f"{node.where()} {other.operator} {other.inputs}",
                    GraphView("g", nodes, new.tensors, new.inputs, new.outputs),
                )
        yield f"without {node.where()}", graph_view_or_none(new, index)
    used = {name for node in new.nodes for name in (*node.inputs, *node.outputs)}
    for name in sorted(used):
        if name and new.tensor(name) is not old.tensors.get(name):
            for other in damaged_tensors(new.tensor(name)):
                yield f"'{name}' {other}", GraphView("g", new.nodes, {**new.tensors, name: other}, new.inputs, new.outputs)


def graph_view_or_none(view: GraphView, index: int) -> GraphView:
    return GraphView("g", (*view.nodes[:index], *view.nodes[index + 1 :]), view.tensors, view.inputs, view.outputs)


EQUIVALENT = {  # a damage that means the same, by recipe
    "clip_stored": r"'Clip_1' .*\('x',\)$",  # what is limited and then quantized may be limited before it was quantized first
    "connect_windows": r"'Conv_0' .*strides=\((2, 1|1, 2)\)",  # there is one output
}


@pytest.mark.requirement("G12")
@pytest.mark.parametrize("name", SAMPLES)
def test_every_damage_of_a_recipe_is_refused(name):
    old = before(name)
    new = checked(ALL[name], old)
    assert new is not old, "the sample does not need the recipe"
    require_same_meaning(old, new, name, exact=ALL[name].exact, levels=1)
    found, missed = {"GRAPH": 0, "MEANING": 0}, []
    for what, view in damages(old, new):
        try:
            check_rewrite(old, view, name)
            require_same_meaning(old, view, name, exact=ALL[name].exact, levels=1)
            missed.append(what)
        except AidgeError as error:
            found[error.code] += 1
    assert [what for what in missed if not re.search(EQUIVALENT.get(name, "$^"), what)] == []
    assert found["GRAPH"] >= found["MEANING"] or sum(found.values()) < 12, found  # most without computing anything


def without_end_pads(view: GraphView) -> GraphView:
    """fuse_pad that forgets `pads_end`."""
    made = fuse_pad(view)
    nodes = []
    for node in made.nodes:
        old = next(one for one in view.nodes if one.name == node.name)
        window = dataclasses.replace(node.operator.window, pads_end=old.operator.window.pads_end)
        nodes.append(node.with_(operator=dataclasses.replace(node.operator, window=window)))
    return graph_view(made.name, nodes, made.tensors, made.inputs, made.outputs)


@pytest.mark.requirement("GRAPH")
def test_a_recipe_that_leaves_out_one_attribute_never_becomes_c(monkeypatch):
    data = model(
        "p = Pad(x, pads) y = Conv(p, w)",
        inputs="float[1,3,6,6] x",
        outputs="float[1,4,?,?] y",
        constants={"w": floats(4, 3, 3, 3), "pads": numpy.array([0, 0, 1, 1, 0, 0, 1, 1])},
    )
    request = request_of(data, "pad.onnx", load_board("stm32f7", []))
    build_program(request)
    monkeypatch.setattr(recipes, "RECIPES", tuple(Recipe(without_end_pads, False) if one is fuse_pad else one for one in RECIPES))
    with pytest.raises(AidgeError) as refused:
        build_program(request)
    text = str(refused.value)
    assert refused.value.exit_code == 2 and refused.value.code == "GRAPH"
    assert "graph after without_end_pads, node 'Conv_1' (Conv2D): its output 'y' is float32[1, 4, 6, 6], but Conv2D" in text
    assert "makes float32[1, 4, 5, 5] of its inputs" in text


@pytest.mark.requirement("MEANING")
def test_what_only_values_show_is_refused_from_debug_level_5_on(monkeypatch):
    def bent(view: GraphView) -> GraphView:
        rewrite = Rewrite(view)
        rewrite.replace_node(view.nodes[0], view.nodes[0].with_(operator=Clip(minimum=0.0, maximum=5.0)))
        return rewrite.finish()

    view = sample("y = Relu(x)", "float[50] x", "float[50] y")
    monkeypatch.setenv("AIDGE_DEBUG", "4")
    assert checked(bent, view).nodes[0].type == "Clip"
    monkeypatch.setenv("AIDGE_DEBUG", "5")
    with pytest.raises(AidgeError, match="graph after bent: graph output 'y' changed by 0.459075"):
        checked(bent, view)


def test_what_recipes_promise():
    """All others are exact, and look at graphs without quantized tensors, too."""
    rounding = {"average_axes", "convolve_transposed", "dequantize_constants", "expand_qlinear", "flatten_products"}
    rounding |= {"name_root_mean_squares", "repeated_heads", "scale_queries"}
    rounding |= {"fuse_batch_norm", "fuse_fully_connected", "fuse_pad", "fuse_scalings", "name_curves", "name_levels"}
    rounding |= {"name_fake_quantization", "quantize_constants", "quantize_islands", "connect_windows", "scale_sums"}
    rounding |= {"split_transposed"}
    of_quantized = {"dequantize_constants", "keep_levels", "normalize_channels", "normalize_stored", "quantize_islands"}
    of_quantized |= {"remove_constant_channels", "restate", "signed_tensors", "staircases", "tabulate"}
    assert {name for name, one in ALL.items() if not one.exact} == rounding | {"staircases"}
    assert {name for name, one in ALL.items() if one.of_quantized} == of_quantized


@pytest.mark.parametrize("seed", range(4))
def test_every_recipe_keeps_the_meaning_of_random_networks(seed):
    view, _ = import_onnx(RandomNetwork(seed).model().SerializeToString(), "random", builtin_operators(), {}, {})
    for one in RECIPES:
        made = checked(one, view)
        require_same_meaning(view, made, one.name, exact=one.exact)
        view = made


def test_a_graph_that_somebody_builds_is_looked_at_before_it_is_exported(tmp_path):
    view = sample("a = Relu(x) y = Neg(a)", "float[2,3] x", "float[2,3] y")
    wrong = dataclasses.replace(view, tensors={**view.tensors, "a": view.tensor("a").with_(dims=(6,))})
    libraries, _ = load_libraries(["ref"], find_libraries([]))
    for run in (
        lambda: compat.adapt_to_backend(wrong, list(libraries)),
        lambda: compat.scheduler_export(compat.SequentialScheduler(wrong), str(tmp_path), "ref", compute_default_mem_info),
    ):
        with pytest.raises(AidgeError, match=r"'a' is float32\[6\], but ReLU makes float32\[2, 3\] of its inputs"):
            run()


def test_a_view_whose_formats_store_other_bytes_is_refused():
    view = sample("t = Transpose<perm=[0,3,1,2]>(x) y = Relu(t)", "float[1,5,6,4] x", "float[1,4,5,6] y")
    libraries, _ = load_libraries(["ref"], find_libraries([]))
    assignment = adapt_to_backend(view, libraries, Target())
    (name,) = [node.name for node in assignment.view.nodes if node.type == "Transpose"]
    choice = assignment.choices[name]
    assert choice.kernel is None and choice.outputs == (channels_last(4),)
    wrong = dataclasses.replace(choice, outputs=(row_major(4),))
    with pytest.raises(AidgeError, match="is no other name for the bytes of 'x'"):
        checked_views(dataclasses.replace(assignment, choices={**assignment.choices, name: wrong}))


def test_a_view_of_a_constant_never_reaches_the_schedule():
    view = sample("r = Flatten(x) y = Add(x, r)", "float[2,3] x", "float[2,3] y")
    libraries, _ = load_libraries(["ref"], find_libraries([]))
    (node, add), held = view.nodes, constant("held", numpy.ones((2, 3), numpy.float32))
    wrong = dataclasses.replace(view, nodes=(node.with_(inputs=("held",)), add), tensors={**view.tensors, "held": held})
    with pytest.raises(AidgeError, match="is only another name for the constant 'held'"):
        adapt_to_backend(wrong, libraries, Target())


STEP, LAYER = Quantization((0.5,), (0,)), Conv(window=Window((1, 1), (1, 1), (1, 1), (0, 0), (0, 0)))
ROWS = Quantization((0.5, 0.25), (0, 1), 0)


def chain(**changes) -> GraphView:
    """x -> first -> a -> second -> y, with other tensors or nodes; the nodes are not sorted."""
    made = {name: Tensor(name, (2, 3), DType.int8, quantization=STEP) for name in "xay"}
    tensors = {**made, **{name: tensor for name, tensor in changes.items() if isinstance(tensor, Tensor)}}
    first, second = Node("first", ReLU(), ("x",), ("a",)), Node("second", ReLU(), ("a",), ("y",))
    nodes = changes.get("nodes", lambda one, other: (one, other))(first, second)
    return GraphView("g", nodes, tensors, ("x",), changes.get("outputs", ("y",)))


def inner(**changes) -> GraphView:
    """The chain with another tensor in the middle."""
    return chain(a=dataclasses.replace(Tensor("a", (2, 3), DType.int8, quantization=STEP), **changes))


def shaped(*dims: int) -> GraphView:
    """Two views of x: as these dims, and back."""
    steps = Reshape(dims), Reshape((2, 3))
    middle = Tensor("a", dims, DType.int8, quantization=STEP)
    return chain(a=middle, nodes=lambda *nodes: tuple(node.with_(operator=step) for node, step in zip(nodes, steps, strict=True)))


def layer(weights: Quantization, bias: Quantization, other: int = 0) -> GraphView:
    tensors = {
        "x": Tensor("x", (1, 2, 3, 3), DType.int8, quantization=STEP),
        "w": constant("w", numpy.ones((2, 2, 1, 1), numpy.int8), weights),
        "b": constant("b", numpy.array([1, other], numpy.int32), bias),
        "y": Tensor("y", (1, 2, 3, 3), DType.int8, quantization=STEP),
    }
    return GraphView("g", (Node("layer", LAYER, ("x", "w", "b"), ("y",)),), tensors, ("x",), ("y",))


def stating(node: type, zero_point: int) -> GraphView:
    """A QuantizeLinear or DequantizeLinear between int8 and float, with the scale of x or y and this zero point."""
    real, stored = Tensor("", (2, 3), DType.float32), Tensor("", (2, 3), DType.int8, quantization=STEP)
    given, made = (real, stored) if node is QuantizeLinear else (stored, real)
    tensors = {"x": given.with_(name="x"), "y": made.with_(name="y"), "s": constant("s", numpy.array(0.5, numpy.float32))}
    tensors["z"] = constant("z", numpy.array(zero_point, numpy.int8))
    operator = QuantizeLinear(0, DType.int8) if node is QuantizeLinear else DequantizeLinear(0)
    return GraphView("g", (Node("states", operator, ("x", "s", "z"), ("y",)),), tensors, ("x",), ("y",))


KNOWN, BYTE = constant("a", numpy.zeros((2, 3), numpy.int8), STEP), Tensor("a", (2, 3), DType.int8)
NAMED = BYTE.with_(name="x", quantization=STEP)
WRONG = {
    "two nodes have its name": chain(nodes=lambda one, other: (one, other.with_(name="first"))),
    "node 'second' .*it reads 'a', which nothing computes before": chain(nodes=lambda one, other: (other, one)),
    "node 'second' .*its output 'a' is there already": chain(nodes=lambda one, other: (one, other.with_(outputs=("a",)))),
    "node 'first' .*its output 'a' is there already": chain(a=KNOWN),
    "nothing computes the graph output 'z'": chain(outputs=("y", "z"), z=BYTE.with_(name="z")),
    "ReLU.* refuses its inputs: .*": chain(nodes=lambda one, other: (one.with_(inputs=("x", "x")), other)),
    "it has 2 outputs, its operator makes 1": chain(
        nodes=lambda one, other: (one.with_(outputs=("a", "b")), other), b=BYTE.with_(name="b", quantization=STEP)
    ),
    r"its output 'a' is float32\[2, 2\], but ReLU.* makes float32\[2, 3\] of its inputs": inner(dims=(2, 2)),
    "'y' has no quantization and 'x' has scale 0.5 zero point 0": chain(
        nodes=lambda one, other: (one.with_(operator=Max(), inputs=("x", "a"), outputs=("y",)),), a=KNOWN, y=BYTE.with_(name="y")
    ),
    r"'y' is int8 with scale 0.25 zero point 0 and 'x' int8 with scale 0.5 zero point 0": chain(
        nodes=lambda one, other: (one.with_(operator=Transpose((0, 1)), outputs=("y",)),),
        y=BYTE.with_(name="y", quantization=Quantization((0.25,), (0,))),
    ),
    "'y' has scale 0.5 zero point 0, the node states scale 0.5 zero point 1": stating(QuantizeLinear, 1),
    "'x' has scale 0.5 zero point 0, the node states scale 0.5 zero point 2": stating(DequantizeLinear, 2),
    r"do not fit: 'x' has .*; 'w' has 2 scales and zero points on axis 0 \(from 0.5 and 0 on\); 'b' has .*": layer(
        ROWS, Quantization((0.25, 0.5), (0, 0), 0)
    ),
    r"'x' is int8\[2, 3\] .*, its values are int16\[2, 3\]": chain(x=NAMED.with_(data=numpy.zeros((2, 3), numpy.int16))),
    r"'x' is int8\[2, 3\] .*, its values are int8\[3, 2\]": chain(x=NAMED.with_(data=numpy.zeros((3, 2), numpy.int8))),
    r"'a' has the dims \[2, 3\] in the format .*": inner(format=row_major(3)),
    "'a' is float32 and has scale 0.5": inner(dtype=DType.float32),
    "'a' is int8 and has scale 0.5 zero point 128": inner(quantization=Quantization((0.5,), (128,))),
    "'a' is int8 and has scale 0.5 zero point -129": inner(quantization=Quantization((0.5,), (-129,))),
    r"'a' has the dims \[2, 3\] and 2 scales on axis 1": inner(quantization=dataclasses.replace(ROWS, axis=1)),
    r"'a' has the dims \[2, 3\] and 2 scales on axis 2": inner(quantization=dataclasses.replace(ROWS, axis=2)),
}  # fmt: skip


@pytest.mark.parametrize("words", WRONG)
def test_what_is_wrong_with_a_graph_is_said(words):
    with pytest.raises(AidgeError, match=f"^graph after mine.*{words}") as refused:
        check_graph(WRONG[words], "mine")
    assert refused.value.code == "GRAPH"


@pytest.mark.parametrize("point", [-128, 127])
def test_zero_points_at_both_ends_of_a_type_are_fine(point):
    check_graph(inner(quantization=Quantization((0.5,), (point,))), "mine")


def stated(operator: Operator, inputs: tuple[str, ...], reads: str, **known: Quantization) -> GraphView:
    """The operator gives a; a DequantizeLinear reads one of the tensors and states its quantization."""
    tensors = {name: Tensor(name, (3,), DType.int8, quantization=known.get(name)) for name in "xa"}
    tensors |= {
        "y": Tensor("y", (3,), DType.float32),
        "s": constant("s", numpy.array(0.5, numpy.float32)),
        "places": constant("places", numpy.arange(3)),
    }
    return GraphView(
        "g", (Node("gives", operator, inputs, ("a",)), STATES.with_(inputs=(reads, "s"))), tensors, ("x",), ("a", "y")
    )


HALF, STATES = Quantization((0.25,), (0,)), Node("states", DequantizeLinear(0), (), ("y",))
KEPT = stated(Max(), ("x", "x"), "a")
CHANGED = {
    "the graph's outputs are a, they were y": (chain(), chain(outputs=("a",))),
    "the graph's inputs are , they were x": (chain(), dataclasses.replace(chain(), inputs=())),
    r"'x' of the graph's inputs is int8\[3, 2\] .*, it was int8\[2, 3\]": (chain(), chain(x=NAMED.with_(dims=(3, 2)))),
    r"'y' of the graph's outputs is int8\[3, 2\] .*, it was int8\[2, 3\]": (chain(), chain(y=NAMED.with_(name="y", dims=(3, 2)))),
    "'x' of the graph's inputs has other names for its elements": (
        chain(), chain(x=NAMED.with_(names=("b",)))
    ),
    "'a' became int16, it was int8": (chain(), inner(dtype=DType.int16)),
    "'a' became int8, it was uint8": (inner(dtype=DType.uint8, quantization=None), inner(quantization=None)),
    "'a' has scale 0.25 zero point 0, it had scale 0.5 zero point 0": (chain(), inner(quantization=HALF)),
    "'a' has no quantization, it had scale 0.5 zero point 0": (chain(), inner(quantization=None)),
    "'a' got scale 0.25 zero point 0, which no operator around it states": (inner(quantization=None), inner(quantization=HALF)),
    r"'a' has the dims \[3, 2\], it had \[2, 3\]": (shaped(2, 3), shaped(3, 2)),
    "the constant 'b' has other values than before": (layer(STEP, HALF), layer(STEP, HALF, other=1)),
    "it hands on stored values, but 'a' has scale 0.5 zero point 0 and 'x' has no quantization": (
        KEPT, dataclasses.replace(KEPT, tensors=stated(Max(), ("x", "x"), "a", a=STEP).tensors)  # with the nodes of before
    ),
}  # fmt: skip


@pytest.mark.requirement("G12")
@pytest.mark.parametrize("words", CHANGED)
def test_what_a_rewrite_may_not_change_is_said(words):
    before, after = CHANGED[words]
    with pytest.raises(AidgeError, match=f"^graph after mine(, .*)?: {words}"):
        check_rewrite(before, after, "mine")


def test_elements_that_are_gathered_may_get_the_quantization_that_a_reader_of_their_source_states():
    gather = Gather(0), ("x", "places"), "x"
    check_rewrite(stated(*gather, x=STEP), stated(*gather, x=STEP, a=STEP), "mine")


def known(*values: float, kind: str = "float32") -> numpy.ndarray:
    return numpy.array(values, kind)


MEANINGS = [
    (known(0, kind="int8"), known(16, kind="int8"), "differs if exact"),
    (known(0, kind="int8"), known(17, kind="int8"), "differs"),
    (known(1e4, 0), known(1e4, 1), "differs if exact"),
    (known(1e4, 0), known(1e4, 1.0078125), "differs"),
    (known(0.5), known(0.50006), "differs"),
    (known(numpy.nan, numpy.inf, 1), known(numpy.nan, numpy.inf, 1), "same"),
    (known(numpy.inf), known(numpy.inf), "same"),
    (known(numpy.inf, 1), known(1, 1), "differs"),
    (known(1), known(numpy.inf), "differs"),
    (known(-numpy.inf), known(numpy.inf), "differs"),
    (known(0), known(numpy.nan), "differs"),
    (known(numpy.nan), known(0), "differs"),
    (known(), known(), "same"),
    (known(1, 2), known(1, 2)[None], "differs"),
    (known(1), known(1, kind="int8"), "differs"),
]


@pytest.mark.parametrize(("old", "new", "wanted"), MEANINGS, ids=str)
def test_a_result_may_differ_by_rounding_and_not_where_a_rewrite_is_exact(old, new, wanted):
    views = [GraphView("g", (), {"y": constant("y", values)}, (), ("y",)) for values in (old, new)]
    found = []
    for exact in (False, True):
        try:
            require_same_meaning(*views, "mine", exact=exact)
        except AidgeError as refused:
            assert refused.code == "MEANING"
            found.append(exact)
    assert found == {"same": [], "differs if exact": [True], "differs": [False, True]}[wanted]


def test_reals_of_stored_values_may_differ_by_an_eighth_of_the_largest():
    """16 of 128 steps."""
    text = "q = QuantizeLinear(k, s, z) y = DequantizeLinear(q, {}, z) a = Add(x, k)"
    constants = {"k": known(-10, 10), "s": numpy.float32(0.5), "z": numpy.int8(0)}
    old, near, far = (
        sample(text.format("t"), "float[2] x", "float[2] y, float[2] a", **constants, t=numpy.float32(0.5 * factor))
        for factor in (1, 1.12, 1.13)
    )
    require_same_meaning(old, near, "mine", exact=False)
    with pytest.raises(AidgeError, match="graph output 'y' changed by 1.3, at most 1.25 is allowed"):
        require_same_meaning(old, far, "mine", exact=False)


def test_seeded_inputs_have_both_truth_values_and_values_of_a_byte():
    tensors = {name: Tensor(name, (500,), DType[name]) for name in ("bool", "int8", "uint8", "int32")}
    found = seeded_inputs(GraphView("g", (), tensors, tuple(tensors), ()), 1)
    ends = {name: (int(values.min()), int(values.max())) for name, values in found.items()}
    assert ends["bool"] == (0, 1) and all(ends[name][0] < -100 for name in ("int8", "int32"))
    assert all(ends[name][1] > 200 for name in ("uint8", "int32"))
