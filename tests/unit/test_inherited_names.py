# SPDX-License-Identifier: MIT
"""What libraries of the inherited style name, call and register while they are imported and constructed."""

from __future__ import annotations

import importlib
import sys

import numpy
import pytest

from aidge_build import compat
from aidge_build.base.errors import AidgeError
from aidge_build.compat.compositions import KNOWN, Composition, composition_of
from aidge_build.compat.handles import InheritedOperator, InheritedView, get_node_from_metaop
from aidge_build.compat.prod_conso import demanded_by
from aidge_build.contract.library import library_of
from aidge_build.contract.spec import CHANNELS_LAST, ROW_MAJOR, SAME, Demands, NodeView
from aidge_build.prepare.adaptation.adapt import adapt_to_backend
from aidge_build.prepare.adaptation.match import Target
from aidge_build.prepare.recipes import simplify
from tests.command import aidge_build
from tests.loaded import built_in
from tests.models import graph, model

FLOAT = compat.ImplSpec(compat.IOSpec(compat.dtype.float32))
ANY = compat.ImplSpec(compat.IOSpec(compat.dtype.any))
NUMBERS = numpy.random.default_rng(5)
NET = simplify(
    graph(
        "a = Conv<pads=[1,2,3,0], strides=[2,1]>(x, w, b) r = Relu(a) c = Conv(r, v, b) y = Add(r, k)",
        inputs="float[1,2,8,9] x",
        outputs="float[1,4,2,5] c, float[1,4,5,9] y",
        constants={
            "w": NUMBERS.normal(size=(4, 2, 4, 3)).astype(numpy.float32),
            "v": NUMBERS.normal(size=(4, 4, 4, 5)).astype(numpy.float32),
            "b": numpy.arange(4, dtype=numpy.float32),
            "k": NUMBERS.normal(size=(1, 4, 5, 9)).astype(numpy.float32),
        },
    ),
    "onnx",
)
PADDED = NodeView.of(NET, NET.nodes[0])


@pytest.fixture
def core():
    """The package under the name that foreign code imports, and nothing of it afterwards."""
    before = set(sys.modules)
    yield compat.install_as("foreign_core")
    for name in set(sys.modules) - before:
        if name.startswith("foreign_"):
            del sys.modules[name]


def lib(**said):
    return type("Toy", (compat.ExportLib,), {"_name": "toy", **said})


def node_class(name="Node", **said):
    texts = {"config_template": "", "forward_template": "", "include_list": [], "kernels_to_copy": []}
    return type(compat.ExportNodeCpp)(name, (compat.ExportNodeCpp,), {**texts, **said, "__module__": __name__})


def test_every_name_that_export_libraries_import_is_there(core):
    for module, names in {
        "": "Scheduler Node Tensor Operator GenericOperator MetaOperator Log Level GraphView ProdConso Elts_t PaddingMode",
        ".export_utils": "ExportLib ExportNodeCpp aidge2c copy_file get_node_from_metaop get_chan get_height TargetExport",
        ".export_utils.code_generation": "generate_file generate_str copy_file",
        ".export_utils.data_conversion": "aidge2c",
        ".export_utils.config": "ExportConfig StaticAnalysisProfile",
        ".hw_model.processing_elements": "CortexM",
        ".mem_info": "generate_optimized_memory_info compute_default_mem_info",
    }.items():
        found = importlib.import_module(f"foreign_core{module}")
        assert [name for name in names.split() if not hasattr(found, name)] == []
    importlib.import_module("foreign_backend_cpu")
    from foreign_core.export_utils import ExportLib  # the same class, under the other name

    assert ExportLib is compat.ExportLib and core.dformat.default is core.dformat.row_major


def test_a_name_without_a_counterpart_can_be_named_and_refuses_to_work(core):
    from foreign_core.export_utils import TargetExport, compile_export, register_project_composer, register_target_export

    class Mine(TargetExport):
        def __init__(self, target):
            super().__init__(target=target)

    made = register_target_export(Mine("board"))
    assert isinstance(made, Mine) and register_project_composer()(len) is len
    with pytest.raises(AidgeError, match="compile_export is a part of the inherited system that this one does not have"):
        compile_export("folder")


def test_packed_types_are_the_types_of_no_tensor():
    kernel = lib()
    kernel.register("Conv2D", compat.ImplSpec(compat.IOSpec(compat.dtype.dual_int4)))(node_class())
    with pytest.raises(AidgeError, match="no kernel"):
        adapt_to_backend(NET, [library_of(kernel)], Target())
    assert not compat.dtype.int4.is_of_tensors and compat.dtype.boolean is compat.dtype.bool


def test_the_log_formats_where_values_are_given_and_else_leaves_braces_alone(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("AIDGE_LOG", str(tmp_path / "log"))
    compat.Log.notice("{} of {}", 3, 4)
    compat.Log.warn("struct {x}")
    assert (tmp_path / "log").read_text() == "== notice of a library\n   3 of 4\n== warn of a library\n   struct {x}\n"
    assert "warn: struct {x}" in capsys.readouterr().err


# --- compositions


def test_a_composition_is_an_operator_with_pads_a_clamp_or_both():
    assert composition_of("PadConvAct") == Composition("Conv2D", True, True)
    assert composition_of("PaddedMaxPooling2D") == Composition("MaxPooling2D", True, False)
    assert composition_of("Mine", "Pad->Conv2D->Quantizer?->ReLU") == Composition("Conv2D", True, True)
    assert composition_of("GlobalAvgPoolAct", "GlobalAveragePooling2D->ReLU") == Composition("GlobalAveragePooling", False, True)
    assert composition_of("Unknown") is None and composition_of("Two", "Conv2D->Conv2D") is None
    assert "no node is a Quantizer" in composition_of("QConv")
    assert all(composition_of(name) is not None for name in KNOWN)


def test_a_kernel_of_a_composition_gets_the_nodes_that_are_it_and_the_plain_kernel_the_others():
    kernel = lib()
    kernel.register("Conv2D", FLOAT)(node_class("Plain", handles={"strides"}))
    kernel.register_metaop("PadConvAct", FLOAT)(node_class("Both", handles={"strides"}))
    kernel.register_metaop(["ConvAct", "QConv"], FLOAT)(node_class("Act"))
    chosen = adapt_to_backend(NET, [library_of(kernel), *built_in("ref")], Target()).choices
    assert [chosen[node.name].kernel.name for node in NET.nodes[:2]] == ["Both", "Plain"]
    assert kernel.library_notices() == [
        "QConv is registered and never taken: no node is a Quantizer: here scales belong to tensors"
    ]


def test_explain_says_what_a_library_registers_and_no_node_ever_gets(tmp_path):
    (tmp_path / "net.onnx").write_bytes(model("y = Relu(x)", inputs="float[2,3] x", outputs="float[2,3] y"))
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "library.toml").write_text('name = "mine"\n')
    (tmp_path / "mine" / "mine.py").write_text(
        "from aidge_build import ExportLib, ExportNodeCpp, ImplSpec, IOSpec\n"
        "class Mine(ExportLib):\n    _name = 'mine'\n"
        "@Mine.register_metaop('QFC', ImplSpec(IOSpec()))\nclass Never(ExportNodeCpp):\n    pass\n"
    )
    said = aidge_build("explain", tmp_path / "net.onnx", "--kernel-path", tmp_path, "--lib", "mine,ref").stdout
    assert "library mine: QFC is registered and never taken: no node is a Quantizer" in said


def test_register_takes_a_producer_consumer_model_and_metaops_a_recipe_before_the_spec():
    class Ahead(compat.ProdConso):
        def __init__(self, op):
            compat.ProdConso.__init__(self, op, False)

        def get_nb_required_protected(self, input_idx):
            assert self.get_operator().get_input(0).dims == [1, 2, 8, 9]
            return compat.Elts_t.data_elts(7)

    kernel = lib()
    kernel.register_metaop("Mine", "Pad->Conv2D->ReLU", FLOAT, Ahead)(node_class())
    kernel.register("ReLU", FLOAT, compat.ProdConso.in_place_model)(node_class())
    padded, relu = kernel.registered_kernels()
    assert padded.type == "Conv2D" and padded.node_class.demands(PADDED) == Demands(overlap=((0, 28),))
    act = graph("y = Relu(x)", inputs="float[3] x", outputs="float[3] y")
    assert relu.node_class.demands(NodeView.of(act, act.nodes[0])).in_place == (0,)
    assert demanded_by(compat.ProdConso.default_model, PADDED) == Demands()


# --- storage orders that specs leave open


def test_what_a_spec_leaves_open_follows_from_what_the_library_shows():
    class Constants(compat.ExportNode):
        def __init__(self, node, mem_info):
            super().__init__(node, mem_info)
            values = numpy.array(self.operator.get_output(0))
            self.values = values.transpose(0, 2, 3, 1) if values.ndim == 4 else values

    def formats(kernel):
        return [(one.type, one.spec.input_spec(0).format, one.node_class.parameter_format) for one in kernel.registered_kernels()]

    plain, shown, named = lib(), lib(), lib()
    for kernel in (plain, shown):
        for kind in ("Conv2D", "Add", "Softmax"):
            kernel.register(kind, ANY)(node_class())
    shown.register("Producer", ANY)(Constants)
    named.register("Conv2D", compat.ImplSpec(compat.IOSpec(compat.dtype.any, compat.dformat.nhwc)))(node_class())
    named.register("MaxPooling2D", ANY)(node_class())
    rest = [("Add", SAME, ROW_MAJOR), ("Softmax", ROW_MAJOR, ROW_MAJOR)]
    assert formats(plain) == [("Conv2D", ROW_MAJOR, ROW_MAJOR), *rest]
    assert formats(shown) == [("Conv2D", CHANNELS_LAST, CHANNELS_LAST), *rest]
    assert formats(named)[1] == ("MaxPooling2D", CHANNELS_LAST, CHANNELS_LAST)


# --- nodes and operators


def test_a_node_with_pads_and_a_clamp_is_three_inherited_operators():
    operator = InheritedOperator(PADDED)
    pad, conv, relu = operator.get_micro_graph().get_nodes()
    assert not operator.is_atomic() and [pad.type(), conv.type(), relu.type()] == ["Pad2D", "Conv2D", "ReLU"]
    assert pad.get_operator().attr.pads == pad.get_operator().attr.begin_end_borders == [1, 2, 3, 0]
    assert conv.get_operator().attr.stride_dims == [2, 1] and conv.get_operator().get_input(0).dims() == [1, 2, 12, 11]
    assert conv.get_operator().is_atomic() and relu.get_operator().get_output(0).size == 4 * 5 * 9
    assert [get_node_from_metaop(InheritedView.seen_as(PADDED), kind)[0].type() for kind in ("Pad", "Pad2D", "ReLU")] == [
        *("Pad2D", "Pad2D"),
        "ReLU",
    ]
    assert get_node_from_metaop(InheritedView.seen_as(PADDED), "Quantizer") == []


def test_the_calls_of_scheduler_graph_and_node_answer():
    scheduler = compat.SequentialScheduler(NET)
    scheduler.generate_scheduling()
    conv, second, add = scheduler.get_sequential_static_scheduling()
    assert scheduler.graph_view().get_nodes() == [conv, second, add] and conv == NET.nodes[0]
    assert (conv.name(), conv.type(), conv.get_nb_inputs(), conv.get_nb_outputs()) == (NET.nodes[0].name, "Conv2D", 3, 1)
    assert conv.get_parent(0) is None and second.get_parent(0) == conv and conv.get_children() == [second, add]
    assert conv.inputs() == [(None, 0)] * 3 and conv.outputs() == [[(second, 0), (add, 0)]]
    assert scheduler.graph_view().get_ordered_inputs() == [(conv, 0)] and scheduler.graph_view().get_output_nodes() == [
        second,
        add,
    ]
    assert numpy.array_equal(numpy.array(conv.get_operator().get_input(2)), numpy.arange(4)) and not conv.attributes().has_attr(
        "x"
    )
    with pytest.raises(AidgeError, match="is no constant"):
        numpy.array(conv.get_operator().get_input(0))
    assert {conv: 1}[NET.nodes[0]] == 1


def test_a_graph_that_is_loaded_answers_the_inherited_calls(tmp_path):
    (tmp_path / "net.onnx").write_bytes(model("y = Relu(x)", inputs="float[2,3] x", outputs="float[2,3] y"))
    loaded = compat.load_onnx(tmp_path / "net.onnx")
    assert [node.type() for node in loaded.get_nodes()] == ["ReLU"] and loaded.get_ordered_outputs()[0][0].get_nb_outputs() == 1


def test_a_class_whose_constructor_says_that_it_is_not_written_for_a_node_does_not_get_it():
    class Dummy(compat.ExportNodeCpp):
        def __init__(self, node, mem_info):
            raise NotImplementedError("only squares")

    kernel = lib()
    kernel.register("Add", FLOAT)(Dummy)
    assignment = adapt_to_backend(NET, [library_of(kernel), *built_in("ref")], Target())
    assert assignment.choices[NET.nodes[2].name].kernel.library == "ref"
    assert ("toy Dummy", "Dummy is not written for it: only squares") in assignment.choices[NET.nodes[2].name].rejected


def test_constructors_get_an_instance_count_where_they_ask_for_one():
    class Counted(compat.ExportNodeCpp):
        def __init__(self, node, mem_info, instance_count):
            super().__init__(node, mem_info, instance_count)
            self.seen = node.type(), instance_count, self.attributes["in_dformat"][0]

    assert Counted(PADDED).seen == ("Conv2D", 0, "dformat.nchw")


def test_a_condition_on_inherited_attributes_is_one_of_the_spec():
    strides = compat.mandatory_attrs(compat.DynamicAttributes({"stride_dims": [2, 1]}))
    assert strides.rejection(PADDED) == ""
    assert strides.rejection(NodeView.of(NET, NET.nodes[1])) == "attribute stride_dims is [1, 1], wants [2, 1]"
    assert "has no attribute x" in compat.mandatory_attrs({"x": 1}).rejection(PADDED)
