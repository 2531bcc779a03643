# SPDX-License-Identifier: MIT
"""A kernel of an export library gets no node that says more than the kernel's class handles."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy
import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.compat.export_lib import ExportLib
from aidge_build.compat.export_node import ExportNode
from aidge_build.compat.export_node_cpp import ExportNodeCpp
from aidge_build.compat.inherited import CONDITIONS, restricted
from aidge_build.contract.library import library_of, load_library
from aidge_build.contract.node import KernelNode
from aidge_build.contract.spec import ImplSpec, IOSpec, NodeView
from aidge_build.graph.dtype import DType, dtype
from aidge_build.graph.quantization import Quantization
from aidge_build.prepare.adaptation.adapt import adapt_to_backend
from aidge_build.prepare.adaptation.fuse_meta import fuse_meta
from aidge_build.prepare.adaptation.match import Target
from tests.models import graph

FLOAT = ImplSpec(IOSpec(dtype.float32))
RANDOM = numpy.random.default_rng(5)


@dataclass(frozen=True)
class Case:
    """One node that says more: its text, dims, the word of the condition, and an attribute with which a template knows of it."""

    text: str
    word: str
    named: str = ""
    weights: tuple[int, ...] = (4, 4, 3, 3)
    inputs: str = "float[1,4,8,8] x"

    def view(self):
        weights = RANDOM.normal(size=self.weights).astype(numpy.float32)
        return graph(
            self.text,
            inputs=self.inputs,
            outputs="float[a,b,c,d] y" if "8,8" in self.inputs else "float[a,b] y",
            constants={"w": weights} if "w" in self.text else {},
        )


CASES = {
    "groups": Case("y = Conv<group=2>(x, w)", "groups", "groups", (4, 2, 3, 3)),
    "groups of one channel": Case("y = Conv<group=4>(x, w)", "groups", "groups", (8, 1, 3, 3)),
    "pads": Case("y = Conv<pads=[1,1,1,1]>(x, w)", "pads", "pads_begin"),
    "pads of one side": Case("y = Conv<pads=[0,0,1,0]>(x, w)", "pads", "pads_end"),
    "pads of a pool": Case("y = MaxPool<kernel_shape=[3,3], pads=[1,1,1,1]>(x)", "pads", "pads_begin"),
    "pads of a depthwise layer": Case("y = Conv<group=4, pads=[1,1,1,1]>(x, w)", "pads", "pads_begin", (4, 1, 3, 3)),
    "pads of a pool that counts them": Case(
        "y = AveragePool<kernel_shape=[3,3], pads=[1,1,1,1], count_include_pad=1>(x)", "count_include_pad", "count_include_pad"
    ),
    "dilations": Case("y = Conv<dilations=[2,2]>(x, w)", "dilations", "dilation_dims"),
    "dilations of a pool": Case("y = MaxPool<kernel_shape=[2,2], dilations=[2,2]>(x)", "dilations", "dilations"),
    "strides": Case("y = Conv<strides=[2,2]>(x, w)", "strides", "stride_dims"),
    "a size that is rounded up": Case("y = MaxPool<kernel_shape=[3,3], strides=[2,2], ceil_mode=1>(x)", "ceil_mode", "ceil_mode"),
    "batch": Case("y = Conv(x, w)", "batch", "in_batch", inputs="float[2,4,8,8] x"),
    "batch of a pool": Case("y = MaxPool<kernel_shape=[2,2]>(x)", "batch", "out_batch", inputs="float[3,4,8,8] x"),
    "rows of a fully connected layer": Case("y = Gemm<transB=1>(x, w)", "batch", "in_batch", (5, 4), "float[3,4] x"),
    "batch of an element-wise operator": Case("y = Tanh(x)", "batch", "out_size", inputs="float[2,4,8,8] x"),
    "broadcasting": Case("y = Add(x, z)", "broadcasting", inputs="float[1,4,8,8] x, float[1,4,1,1] z"),
    "rows of a Softmax": Case("y = Softmax<axis=1>(x)", "axis", "axis", inputs="float[4,10] x"),
    "some axes": Case("y = ReduceMean<axes=[2]>(x)", "axes", "axes"),
}
PLAIN = ["y = Conv(x, w)", "y = MaxPool<kernel_shape=[2,2]>(x)", "y = Tanh(x)"]


def own_class(folder, template, node_class=ExportNodeCpp, handles=()):
    (folder / "forward.jinja").write_text(template)
    said = {"config_template": "", "forward_template": str(folder / "forward.jinja"), "include_list": [], "kernels_to_copy": []}
    return type("Own", (node_class,), {**said, "handles": handles})


def library(case_view, folder, template="", node_class=ExportNodeCpp, handles=()):
    class Toy(ExportLib):
        _name = "toy"

    Toy.register(sorted({node.type for node in case_view.nodes}), FLOAT)(own_class(folder, template, node_class, handles))
    return library_of(Toy)


def rejection(case_view, found) -> str:
    node = case_view.nodes[-1]
    return found.kernels_for(node.type)[0].rejection(NodeView.of(case_view, node).before_orders(), frozenset(), "onnx")


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_template_that_knows_nothing_of_it_is_passed_over_and_the_reason_says_what_to_write(case, tmp_path):
    view, others = case.view(), {condition.word for condition in CONDITIONS} - {case.word}
    reason = rejection(view, library(view, tmp_path, "kernel();", handles=others))
    assert f"which Own does not handle (handles = {{'{case.word}'}}" in reason
    with pytest.raises(AidgeError, match="does not handle"):
        adapt_to_backend(view, [library(view, tmp_path, "kernel();")], Target())


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_class_that_says_that_it_handles_it_gets_the_node(case, tmp_path):
    view = case.view()
    assert not rejection(view, library(view, tmp_path, "kernel();", handles=[condition.word for condition in CONDITIONS]))


@pytest.mark.parametrize("case", [case for case in CASES.values() if case.named])
def test_a_template_that_names_the_attribute_gets_the_node(case, tmp_path):
    view, others = case.view(), {condition.word for condition in CONDITIONS} - {case.word}
    (tmp_path / "part.jinja").write_text(f"{{{{ {case.named} }}}}")
    assert not rejection(view, library(view, tmp_path, "kernel({% include 'part.jinja' %});", handles=others))


@pytest.mark.parametrize("text", PLAIN)
@pytest.mark.parametrize("node_class", [ExportNodeCpp, ExportNode, KernelNode])
def test_a_node_that_says_no_more_than_the_inherited_operator_needs_no_word(text, node_class, tmp_path):
    view = Case(text, "").view()
    assert not rejection(view, library(view, tmp_path, "kernel();", node_class))


@pytest.mark.parametrize("node_class", [ExportNode, KernelNode])
@pytest.mark.parametrize("name", ["groups", "pads", "batch", "broadcasting"])
def test_a_class_without_templates_is_passed_over_as_well(node_class, name, tmp_path):
    view = CASES[name].view()
    assert "does not handle" in rejection(view, library(view, tmp_path, "", node_class))


def test_a_clamp_reaches_a_class_that_computes_its_own_call_only_if_it_says_so(tmp_path):
    view = graph(
        "y = Clip(x, lo, hi)",
        inputs="float[1,8] x",
        outputs="float[1,8] y",
        constants=dict(lo=numpy.float32(0), hi=numpy.float32(6)),
    )
    assert "clamps to 0..6, which Own does not handle" in rejection(view, library(view, tmp_path, "", ExportNode))
    assert not rejection(view, library(view, tmp_path, "", ExportNode, handles=("clamp",)))
    assert not rejection(view, library(view, tmp_path, "kernel();"))  # behind the text of a template


def test_a_name_that_the_class_gives_a_meaning_of_its_own_does_not_count(tmp_path):
    view = CASES["pads"].view()

    class Renaming(ExportNodeCpp):
        def __init__(self, node, mem_info):
            super().__init__(node, mem_info)
            self.attributes["pads_begin"] = "none"

    assert "has pads" in rejection(view, library(view, tmp_path, "kernel({{ pads_begin }});", Renaming))


def test_a_quantized_tensor_needs_a_template_that_knows_scales_and_zero_points(tmp_path):
    view = Case("y = Tanh(x)", "").view()
    seen = NodeView.of(view, view.nodes[0]).before_orders()
    tensors = [
        tensor.with_(dtype=DType.int8, quantization=Quantization((0.5,), (3,))) for tensor in (*seen.inputs, *seen.outputs)
    ]
    seen = replace(seen, inputs=tuple(tensors[:1]), outputs=tuple(tensors[1:]))

    def reason(template):
        registered = own_class(tmp_path, template)
        return restricted(ImplSpec(), registered).refusal(seen)

    assert "a tensor is quantized" in reason("kernel();")
    assert "zero point" in reason("kernel({{ in_scale[0] }});")
    assert not reason("kernel({{ in_scale[0] }}, {{ in_zero_point[0] }});")


@pytest.mark.parametrize("template, accepted", [("{{ pad_pads_begin }}", False), ("{{ conv2d_pads_begin }}", True), ("", False)])
def test_a_member_of_a_meta_operator_is_known_by_its_own_names_alone(template, accepted, tmp_path):
    text = "p = Pad(x, n) a = Conv<pads=[1,1,1,1]>(p, w) y = Relu(a)"
    constants = {"n": numpy.array([0, 0, 1, 1, 0, 0, 1, 1]), "w": numpy.ones((2, 4, 3, 3), numpy.float32)}
    view = graph(text, inputs="float[1,4,8,8] x", outputs="float[1,2,10,10] y", constants=constants)

    class Toy(ExportLib):
        _name = "toy"

    Toy.register_metaop("PadConvAct", FLOAT, "Pad->Conv2D->ReLU")(own_class(tmp_path, template))
    assert (len(fuse_meta(view, [library_of(Toy)], Target()).nodes) == 1) is accepted


def test_a_convolution_without_bias_in_a_meta_operator_gets_zeros_behind_its_weights(tmp_path):
    constants = {"w": numpy.ones((4, 4, 1, 1), numpy.float32)}
    text = "a = Conv(x, w) b = Relu(a) y = Add(b, z)"
    view = graph(text, inputs="float[1,4,8,8] x, float[1,4,8,8] z", outputs="float[1,4,8,8] y", constants=constants)

    class Toy(ExportLib):
        _name = "toy"

    Toy.register_metaop("ConvAdd", FLOAT, "Conv2D->ReLU->Add")(own_class(tmp_path, "kernel({{ in_name | join(', ') }});"))
    fused = fuse_meta(view, [library_of(Toy)], Target())
    call = library_of(Toy).kernels_for("ConvAdd")[0].call(NodeView.of(fused, fused.nodes[0]), None)
    kinds = [(type(one).__name__, getattr(one, "index", None)) for one in call.arguments]
    assert kinds == [("Input", 0), ("Input", 1), ("Constant", None), ("Constant", None), ("Output", 0)]
    assert not call.arguments[3].values.any() and len(call.arguments[3].values) == 4


def test_a_marked_template_class_of_a_folder_is_held_to_the_same():
    text = (
        "from aidge_build import ExportNodeCpp, ImplSpec, IOSpec, dtype, kernel\n"
        "@kernel('Conv2D', ImplSpec(IOSpec(dtype.float32)))\n"
        "class Conv(ExportNodeCpp):\n"
        "    config_template, include_list, kernels_to_copy, forward_template = '', [], [], 'conv.jinja'\n"
    )
    files = {"library.toml": b'name = "mine"\n', "conv.py": text.encode(), "conv.jinja": b"kernel();"}
    assert "has 2 groups" in rejection(CASES["groups"].view(), load_library(files, "mine"))


def test_an_unknown_word_is_refused_with_those_that_there_are(tmp_path):
    view = CASES["pads"].view()
    with pytest.raises(AidgeError, match=r"Own handles 'padding', which is no condition.*Tried:.*pads"):
        library(view, tmp_path, "", handles=("padding",))
