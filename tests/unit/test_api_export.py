# SPDX-License-Identifier: MIT
"""Export libraries and nodes, row by row as ../shared/design/AIDGE_API.md section 2 lists them."""

from __future__ import annotations

from dataclasses import replace

import numpy
import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.compat.export_lib import ExportLib
from aidge_build.compat.export_node import ExportNode
from aidge_build.compat.export_node_cpp import ExportNodeCpp
from aidge_build.contract.library import library_of, load_library
from aidge_build.contract.mem_info import MemInfo, mem_info_of
from aidge_build.contract.spec import ImplSpec, IOSpec, NodeView, dformat
from aidge_build.graph.dtype import dtype
from aidge_build.graph.format import channels_last
from aidge_build.graph.tensor import Tensor
from aidge_build.prepare.adaptation.adapt import adapt_to_backend
from aidge_build.prepare.adaptation.fuse_meta import fuse_meta, refused_patterns
from aidge_build.prepare.adaptation.match import Target
from tests.models import graph, model, same_meaning, types

FLOAT, INT8 = ImplSpec(IOSpec(dtype.float32)), ImplSpec(IOSpec(dtype.int8))
WEIGHTS = numpy.random.default_rng(0).normal(size=(4, 3, 2, 5)).astype(numpy.float32)
CONV = graph(
    "a = Conv<strides=[1,2]>(x, w) b = Relu(a) y = Conv<kernel_shape=[1,1]>(b, v)",
    inputs="float[1,3,7,11] x",
    outputs="float[1,2,6,4] y",
    constants={"w": WEIGHTS, "v": numpy.ones((2, 4, 1, 1), numpy.float32)},
)


def node_view(view, index=0, form=None) -> NodeView:
    seen = NodeView.of(view, view.nodes[index])
    if form is None:
        return seen
    moved = [tensor.with_(format=form(tensor.rank)) for tensor in (*seen.inputs, *seen.outputs)]
    return NodeView(seen.node, tuple(moved[: len(seen.inputs)]), tuple(moved[len(seen.inputs) :]), seen.graph)


def lib(name="toy"):
    class Toy(ExportLib):
        """A toy library."""

        _name = name

    return Toy


# --- ExportLib


def test_a_library_has_a_name_and_a_registry_of_its_own():
    first, second = lib("first"), lib("second")
    first.register("ReLU", FLOAT)(ExportNode)
    assert first(node_view(CONV)).backend() == "first" and len(first.registry) == 1 and second.registry == []


def test_register_takes_one_type_or_several_and_gives_the_class_back():
    toy = lib()

    @toy.register(["ReLU", "Tanh"], FLOAT)
    class Both(ExportNode):
        pass

    assert [entry.type for entry in toy.registry] == ["ReLU", "Tanh"] and issubclass(Both, ExportNode)


def test_of_two_registrations_for_the_same_spec_the_later_one_holds_and_the_library_says_so():
    toy, later = lib(), type("Later", (ExportNode,), {})
    toy.register("ReLU", FLOAT)(ExportNode)
    toy.register("ReLU", ImplSpec([IOSpec(dtype.float32)], [IOSpec(dtype.float32)]))(later)
    assert [entry.node_class for entry in toy.registry] == [later]
    assert library_of(toy).notices == ("ExportNode is never taken: Later is registered later with the same spec for ReLU",)


def test_available_specs_are_those_of_the_operator_s_type():
    toy = lib()
    toy.register("Conv2D", FLOAT)(ExportNode)
    toy.register("Conv2D", INT8)(ExportNode)
    toy.register("ReLU", FLOAT)(ExportNode)
    assert toy(node_view(CONV)).get_available_impl_specs() == [FLOAT, INT8]


def test_the_export_node_of_a_spec_is_the_closest_match_or_none():
    toy = lib()

    class General(ExportNode):
        pass

    class Special(ExportNode):
        pass

    toy.register("Conv2D", ImplSpec())(General)
    toy.register("Conv2D", FLOAT)(Special)
    own = toy(node_view(CONV))
    assert own.get_export_node(own.get_required_spec()) is Special
    assert own.get_export_node(ImplSpec()) is General
    assert toy(node_view(CONV, 1)).get_export_node(FLOAT) is None


def test_a_library_without_a_folder_takes_part_in_adaptation():
    toy = lib()
    toy.register(["Conv2D", "ReLU"], FLOAT)(ExportNode)
    assert {choice.kernel.library for choice in adapt_to_backend(CONV, [library_of(toy)], Target()).choices.values()} == {"toy"}


@pytest.mark.requirement("KERNEL")
def test_a_library_alone_that_cannot_copy_is_told_to_name_another_one_behind_it():
    toy = lib()
    toy.register(["Conv2D", "ReLU"], ImplSpec(IOSpec(dtype.float32, dformat.channels_last)))(ExportNode)
    with pytest.raises(
        AidgeError, match=r"\(Reformat\): no kernel accepts it.*Hint: add a library that has one at the end of the list"
    ):
        adapt_to_backend(CONV, [library_of(toy)], Target())


def test_a_generic_operator_is_known_through_its_library_alone():
    from aidge_build.operators import builtin_operators
    from aidge_build.sources.formats.onnx.importer import import_onnx

    toy = lib()
    toy.register_generic("toy.domain::Halve", FLOAT, forward=lambda data: data / 2)(ExportNode)
    operators = {**builtin_operators(), **{name: cls for name, cls in zip(["toy.domain::Halve"], toy.generic_operators.values())}}
    import onnx

    text = model("y = Relu(x)", inputs="float[2] x", outputs="float[2] y")
    made = onnx.load_from_string(text)
    made.graph.node[0].CopyFrom(onnx.helper.make_node("Halve", ["x"], ["y"], domain="toy.domain", strength=3))
    made.opset_import.append(onnx.helper.make_opsetid("toy.domain", 1))
    view, _ = import_onnx(made.SerializeToString(), "test.onnx", operators, {}, {})
    assert types(view) == ["Halve"]
    node = ExportNode(node_view(view))
    assert node.attributes["strength"] == 3
    assert adapt_to_backend(view, [library_of(toy)], Target()).choices[view.nodes[0].name].kernel.library == "toy"


# --- meta-operators

META = "a = Relu(x) b = Conv<pads=[1,1,1,1]>(a, w) c = Relu(b) y = Tanh(c)"
META_GRAPH = graph(META, inputs="float[1,3,7,11] x", outputs="float[1,4,8,9] y", constants={"w": WEIGHTS})


class Padding(ExportNode):
    handles = ("pads",)


def meta_library(pattern="Conv2D->ReLU", name="ConvReLU", spec=FLOAT):
    toy = lib()
    toy.register_metaop(name, spec, pattern)(Padding)
    return library_of(toy)


def test_a_meta_operator_covers_what_its_pattern_fits_and_lists_the_origin():
    after = fuse_meta(META_GRAPH, [meta_library()], Target())
    assert types(after) == ["ReLU", "ConvReLU", "Tanh"]
    assert after.nodes[1].origin == ("Conv_1", "Relu_2")
    assert same_meaning(META_GRAPH, after)


def test_members_of_a_meta_operator_need_no_registration():
    toy = lib()
    toy.register_metaop("ReLU->Conv2D->ReLU->Tanh", FLOAT)(Padding)
    assert types(adapt_to_backend(META_GRAPH, [library_of(toy)], Target()).view) == ["ReLU->Conv2D->ReLU->Tanh"]


def test_a_meta_operator_is_left_alone_where_its_spec_refuses():
    assert fuse_meta(META_GRAPH, [meta_library(spec=INT8)], Target()) is META_GRAPH


def test_a_meta_operator_may_wait_until_recipes_have_named_quantized_layers():
    class Late(Padding):
        before_recipes = False

    toy = lib()
    toy.register_metaop("ConvReLU", FLOAT, "Conv2D->ReLU")(Late)
    assert fuse_meta(META_GRAPH, [library_of(toy)], Target(), first_only=True) is META_GRAPH
    assert types(fuse_meta(META_GRAPH, [library_of(toy)], Target())) == ["ReLU", "ConvReLU", "Tanh"]


def test_the_reason_why_a_pattern_was_refused_is_known_for_each_node_that_it_fits():
    (refused,) = refused_patterns(META_GRAPH, "Conv_1", [meta_library(spec=INT8)], Target())
    assert refused[0].endswith(", Conv2D->ReLU") and refused[1] == "input 0 is float32, wants int8"
    assert refused_patterns(META_GRAPH, "Tanh_3", [meta_library(spec=INT8)], Target()) == []
    front = lib("front")
    front.register(["Conv2D", "ReLU"], FLOAT)(Padding)
    ((_, reason),) = refused_patterns(META_GRAPH, "Relu_2", [library_of(front), meta_library()], Target())
    assert reason == "an earlier library has their kernels"


def test_a_library_behind_fuses_only_what_those_before_it_lack():
    front = lib("front")
    front.register(["Conv2D", "ReLU"], FLOAT)(Padding)
    assert fuse_meta(META_GRAPH, [library_of(front), meta_library()], Target()) is META_GRAPH


def test_a_library_behind_takes_no_product_from_one_before_with_the_transpose_that_needs_no_kernel():
    text = "t = Transpose<perm=[0,2,1]>(b) y = MatMul(a, t)"
    view = graph(text, inputs="float[1,4,8] a, float[1,6,8] b", outputs="float[1,4,6] y")
    front, behind = lib("front"), lib("behind")
    front.register("MatMul", FLOAT)(ExportNode)
    behind.register_metaop("Stored", FLOAT, "Transpose-1>MatMul")(ExportNode)
    assert types(fuse_meta(view, [library_of(behind)], Target())) == ["Stored"]
    assert fuse_meta(view, [library_of(front), library_of(behind)], Target()) is view


def test_a_library_behind_fuses_where_no_other_has_every_node_or_the_heaviest_is_not_taken_from_one_before():
    front, behind = lib("front"), lib("behind")
    front.register("ReLU", FLOAT)(ExportNode)
    behind.register_metaop("ConvReLU", FLOAT, "Conv2D->ReLU")(Padding)
    assert types(fuse_meta(META_GRAPH, [library_of(front), library_of(behind)], Target())) == ["ReLU", "ConvReLU", "Tanh"]
    fast = lib("fast")
    fast.register("Conv2D", FLOAT)(Padding)
    assert types(fuse_meta(META_GRAPH, [library_of(fast), library_of(behind)], Target())) == ["ReLU", "ConvReLU", "Tanh"]
    assert fuse_meta(META_GRAPH, [library_of(fast), library_of(behind)], Target(), first_only=True) is META_GRAPH
    assert fuse_meta(META_GRAPH, [library_of(behind), library_of(fast)], Target(), first_only=True) is not META_GRAPH
    behind.register("ReLU", FLOAT)(ExportNode)
    assert fuse_meta(META_GRAPH, [library_of(fast), library_of(behind)], Target()) is META_GRAPH


def test_the_attributes_of_a_meta_operator_are_found_recursively():
    node = ExportNode(node_view(fuse_meta(META_GRAPH, [meta_library()], Target()), 1))
    assert node.attributes["conv2d_kernel"] == [2, 5] and node.attributes["kernel_dims"] == [2, 5]
    assert node.attributes["pads_begin"] == [1, 1] and node.attributes["origin"] == ["Conv_1", "Relu_2"]


TWO = graph(
    "a = Conv<strides=[1,2]>(x, w) b = Relu(a) c = Conv<kernel_shape=[1,1], strides=[2,2]>(b, v) y = Relu(c)",
    inputs="float[1,3,7,11] x",
    outputs="float[1,2,3,2] y",
    constants={"w": WEIGHTS, "v": numpy.ones((2, 4, 1, 1), numpy.float32)},
)


def test_each_of_two_members_of_one_type_is_reached_by_position_and_by_anchor():
    after = fuse_meta(TWO, [meta_library("Conv2D#first->ReLU->Conv2D#second->ReLU")], Target())
    attributes = ExportNode(node_view(after)).attributes
    assert attributes["conv2d_0_strides"] == attributes["first_strides"] == attributes["first_stride_dims"] == [1, 2]
    assert attributes["conv2d_1_strides"] == attributes["second_strides"] == [2, 2]


def test_a_plain_name_stands_only_for_what_all_members_say():
    attributes = ExportNode(node_view(fuse_meta(TWO, [meta_library("Conv2D->ReLU->Conv2D->ReLU")], Target()))).attributes
    assert "strides" not in attributes and "conv2d_strides" not in attributes and "kernel_dims" not in attributes
    assert attributes["dilations"] == [1, 1] and attributes["groups"] == 1


@pytest.mark.requirement("TEMPLATE")
def test_a_template_that_asks_for_an_ambiguous_name_is_told_the_others(folder):
    (folder / "forward.jinja").write_text("{{ stride_dims[0] }}")
    view = fuse_meta(TWO, [meta_library("Conv2D#first->ReLU->Conv2D->ReLU")], Target())
    with pytest.raises(
        AidgeError, match="its members differ in it: conv2d_0_stride_dims, first_stride_dims, conv2d_1_stride_dims"
    ):
        cpp(node_view(view), **complete(folder)).forward()


@pytest.mark.parametrize("outer", ["Twice", "AlphabeticallyFirst"])
def test_a_meta_operator_of_meta_operators_is_matched_whatever_the_names(outer):
    toy = lib()
    toy.register_metaop(outer, FLOAT, "ConvReLU->ConvReLU#last")(ExportNode)
    toy.register_metaop("ConvReLU", FLOAT, "Conv2D->ReLU")(ExportNode)
    after = fuse_meta(TWO, [library_of(toy)], Target())
    assert types(after) == [outer] and after.nodes[0].origin == ("Conv_0", "Relu_1", "Conv_2", "Relu_3")
    assert same_meaning(TWO, after)
    attributes = ExportNode(node_view(after)).attributes
    assert attributes["conv_re_lu_0_strides"] == [1, 2] and attributes["last_conv2d_strides"] == [2, 2]


def test_a_pattern_of_any_type_covers_no_meta_operator_and_none_of_its_own():
    toy = lib()
    toy.register_metaop("Anything", FLOAT, ".")(ExportNode)
    toy.register_metaop("ConvReLU", FLOAT, "Conv2D->ReLU")(ExportNode)
    assert types(fuse_meta(fuse_meta(TWO, [library_of(toy)], Target()), [library_of(toy)], Target())) == ["ConvReLU", "ConvReLU"]


def test_a_meta_operator_does_not_cover_itself():
    toy = lib()
    toy.register_metaop("Again", FLOAT, "(Again|ReLU)")(ExportNode)
    after = fuse_meta(fuse_meta(TWO, [library_of(toy)], Target()), [library_of(toy)], Target())
    assert types(after) == ["Conv2D", "Again", "Conv2D", "Again"] and types(after.nodes[1].operator.graph) == ["ReLU"]


def test_a_meta_operator_of_which_nothing_says_what_it_covers_sleeps_and_the_library_says_so():
    toy = lib()
    toy.register_metaop("ConvReLU", FLOAT)(ExportNode)
    assert toy.registry == []
    (notice,) = library_of(toy).notices
    assert notice.startswith("ConvReLU is registered and never taken: nothing says which nodes it covers")


# --- ExportNode

DOCUMENTED = """node name nb_in nb_out in_name in_dims in_node in_size in_chan in_height in_width in_dtype in_cdtype
    out_name out_node out_dims out_size
    out_chan out_height out_width out_dtype out_cdtype mem_info mem_info_size mem_info_offset mem_info_stride mem_info_length
    mem_info_cont_size
    mem_info_cont_offset mem_info_wrap_offset mem_info_wrap_size""".split()


def test_every_documented_attribute_is_there():
    seen = node_view(CONV)
    attributes = ExportNode(seen, [mem_info_of(seen.outputs[0], 64)]).attributes
    assert [name for name in DOCUMENTED if name not in attributes] == []
    assert attributes["nb_in"] == 2 and attributes["nb_out"] == 1
    assert attributes["in_dims"] == [[1, 3, 7, 11], [4, 3, 2, 5]] and attributes["out_size"] == [1 * 4 * 6 * 4]
    assert attributes["in_dtype"] == [dtype.float32] * 2 and attributes["out_cdtype"] == ["float"]
    assert attributes["stride_dims"] == [1, 2] and attributes["kernel_dims"] == [2, 5] and attributes["groups"] == 1


@pytest.mark.parametrize("form", [None, channels_last])
def test_channel_height_and_width_are_right_whatever_the_format(form):
    attributes = ExportNode(node_view(CONV, form=form)).attributes
    assert (attributes["in_chan"], attributes["in_height"], attributes["in_width"]) == ([3, 3], [7, 2], [11, 5])
    assert (attributes["out_chan"], attributes["out_height"], attributes["out_width"]) == ([4], [6], [4])


def test_names_say_which_node_a_tensor_comes_from():
    first, second = (ExportNode(node_view(CONV, index)).attributes for index in (0, 1))
    assert first["in_name"] == ["Conv_0_input_0", "w_output_0"] and first["out_name"] == ["Conv_0_output_0"]
    assert second["in_name"] == ["Conv_0_output_0"] and second["in_node"] == [CONV.nodes[0]] and first["in_node"] == [None, None]
    assert first["out_node"] == [[CONV.nodes[1]]]


def test_a_reader_s_in_name_is_the_producer_s_out_name_where_layers_have_symbols():
    symbols = {"Conv_0": "net_conv_0", "Relu_1": "net_relu_1", "Conv_2": "net_conv_2"}
    attributes = [
        ExportNode(replace(node_view(CONV, index), symbol=symbols[node.name], symbols=symbols)).attributes
        for index, node in enumerate(CONV.nodes)
    ]
    assert attributes[0]["out_name"] == ["net_conv_0_output_0"]
    for producer, reader in zip(attributes, attributes[1:]):
        assert reader["in_name"][0] == producer["out_name"][0]


def test_a_reader_behind_a_reshape_names_the_layer_before_it():
    view = graph("a = Relu(x) b = Flatten(a) y = Tanh(b)", inputs="float[1,2,3,4] x", outputs="float[1,24] y")
    assert ExportNode(node_view(view, 2)).attributes["in_name"] == ["Relu_0_output_0"]


def test_the_conversion_map_can_be_overridden():
    seen = node_view(CONV)
    assert ExportNode(seen, conversion_map={dtype.float32: "real_t"}).attributes["in_cdtype"] == ["real_t", "real_t"]


def test_without_memory_info_the_attribute_says_so():
    attributes = ExportNode(node_view(CONV)).attributes
    assert attributes["mem_info"] is False
    assert (attributes["mem_info_offset"], attributes["mem_info_size"]) == ([0], [1 * 4 * 6 * 4 * 4])


def test_memory_info_counts_bytes():
    image = Tensor("t", (1, 3, 5, 7), dtype.int16, format=channels_last(4))
    assert mem_info_of(image, 32) == MemInfo(
        size=6, offset=32, stride=6, length=7, count=5, cont_size=210, cont_offset=32, wrap_offset=32
    )
    assert mem_info_of(image.with_(format=None), 0).size == 210
    assert mem_info_of(image, 32).extent_bytes == 210


def test_memory_info_may_come_as_a_dict():
    seen = node_view(CONV)
    node = ExportNode(
        seen,
        [
            {
                "size": 384,
                "offset": 16,
                "stride": 384,
                "length": 1,
                "count": 1,
                "cont_offset": 16,
                "cont_size": 384,
                "wrap_offset": 0,
                "wrap_size": 0,
                "mem_component_id": 0,
            }
        ],
    )
    assert node.attributes["mem_info_offset"] == [16]
    assert ExportNode(aidge_node=seen, mem_info=[{"size": 384, "offset": 16}]).attributes["mem_info_stride"] == [384]
    with pytest.raises(AidgeError, match="has no 'offset'"):
        ExportNode(seen, [{"size": 384}])


# --- ExportNodeCpp


def cpp(seen=None, **attributes):
    made = type("Cpp", (ExportNodeCpp,), {"__module__": __name__, **attributes})
    return made(seen or node_view(CONV))


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "config.jinja").write_text('#define {{ name | upper }}_CHANNELS {{ out_chan[0] }}\n{% include "end.jinja" %}')
    (tmp_path / "end.jinja").write_text("/* end */\n")
    (tmp_path / "forward.jinja").write_text("convolve({{ in_name[0] }}, {{ out_name[0] }}, {{ name | upper }}_CHANNELS);\n")
    (tmp_path / "convolve.h").write_text("/* a kernel */\n")
    return tmp_path


def complete(folder, **changes):
    return {
        "config_template": str(folder / "config.jinja"),
        "forward_template": str(folder / "forward.jinja"),
        "include_list": ["<math.h>"],
        "kernels_to_copy": [str(folder / "convolve.h")],
        **changes,
    }


def test_export_writes_configuration_and_kernels_and_gives_the_includes(folder, tmp_path):
    includes = cpp(**complete(folder)).export(str(tmp_path / "out"))
    assert includes == ["<math.h>", "kernels/convolve.h", "layers/Conv_0.h"]
    assert (tmp_path / "out/include/layers/Conv_0.h").read_text() == "#define CONV_0_CHANNELS 4\n/* end */\n"
    assert (tmp_path / "out/include/kernels/convolve.h").is_file()


def test_paths_and_extension_of_the_export_can_be_chosen(folder, tmp_path):
    node = cpp(**complete(folder, kernels_path="k", config_path="c", config_extension="hpp"))
    assert node.export(str(tmp_path / "out")) == ["<math.h>", "k/convolve.h", "c/Conv_0.hpp"]


def test_forward_renders_the_template(folder):
    assert cpp(**complete(folder)).forward() == "convolve(Conv_0_input_0, Conv_0_output_0, CONV_0_CHANNELS);\n"


@pytest.mark.parametrize("missing", ["config_template", "include_list", "kernels_to_copy"])
def test_what_is_undefined_is_an_error_when_it_is_exported(folder, tmp_path, missing):
    defined = {name: value for name, value in complete(folder).items() if name != missing}
    with pytest.raises(AidgeError, match=f"Cpp does not define {missing}"):
        cpp(**defined).export(str(tmp_path / "out"))


def test_an_undefined_forward_template_is_an_error(folder):
    defined = {name: value for name, value in complete(folder).items() if name != "forward_template"}
    with pytest.raises(AidgeError, match="Cpp does not define forward_template"):
        cpp(**defined).forward()


def test_an_empty_string_means_none(folder, tmp_path):
    node = cpp(**complete(folder, config_template="", forward_template="", include_list=[], kernels_to_copy=[]))
    assert node.export(str(tmp_path / "out")) == [] and node.forward() == "" and not (tmp_path / "out").exists()


@pytest.mark.requirement("TEMPLATE")
def test_an_unknown_name_in_a_template_is_an_error(folder):
    (folder / "forward.jinja").write_text("{{ no_such_attribute }}")
    with pytest.raises(AidgeError, match="forward.jinja: the template uses a name that it is not given"):
        cpp(**complete(folder)).forward()


def test_a_template_node_becomes_one_function_of_the_generated_file(folder):
    call = cpp(**complete(folder)).call()
    (text,) = call.texts
    assert call.function == "Conv_0_forward" and "#include <math.h>" in text
    assert (
        "static AIDGE_FUNCTION void Conv_0_forward(const float *Conv_0_input_0, const float *w_output_0, const float "
        "*Conv_0_no_bias_output_0, float *Conv_0_output_0)\n{\n    convolve(" in text
    )
    assert [type(argument).__name__ for argument in call.arguments] == ["Input", "Constant", "Constant", "Output"]
    assert not call.arguments[2].values.any()  # the convolution has no bias
    assert list(call.files.values()) == [b"/* a kernel */\n"]


# --- libraries in a folder

LIBRARY = '''
from pathlib import Path
from aidge_build import ExportLib, ExportNodeCpp, ImplSpec, IOSpec, dtype
HERE = Path(__file__).parent
class Mine(ExportLib):
    """Mine."""
    _name = "mine"
@Mine.register("ReLU", ImplSpec(IOSpec(dtype.float32)))
class ReLU(ExportNodeCpp):
    def __init__(self, node, mem_info):
        super().__init__(node, mem_info)
        self.config_template, self.include_list = "", []
        self.forward_template = str(HERE / "templates" / "relu.jinja")
        self.kernels_to_copy = [str(HERE / "kernels" / "relu.hpp")]
'''


def test_a_library_in_the_template_style_is_loaded_from_its_folder():
    found = load_library(
        {
            "library.toml": b'name = "mine"\nlanguage = "c++"\n',
            "mine.py": LIBRARY.encode(),
            "templates/relu.jinja": b"relu<{{ in_cdtype[0] }}>({{ in_name[0] }}, {{ out_name[0] }}, {{ in_size[0] }});",
            "kernels/relu.hpp": b"template <typename T> static void relu(const T *in, T *out, int n) {}",
        },
        "some/where",
    )
    (kernel,) = found.kernels
    assert (kernel.library, kernel.name, kernel.type, found.language) == ("mine", "ReLU", "ReLU", "c++")
    call = kernel.node_class(node_view(CONV, 1), None).call()
    assert "    relu<float>(Conv_0_output_0, Relu_1_output_0, 96);" in call.texts[0]
    assert call.sources == ("kernels/relu.hpp",) and call.files == {}


@pytest.mark.parametrize(
    "files, message",
    [
        (
            {"library.toml": b'name = "other"\n', "mine.py": LIBRARY.encode()},
            "Mine is the registry of 'mine', library.toml says 'other'",
        ),
        ({"library.toml": b'name = "mine"\nlanguage = "fortran"\n'}, "language 'fortran' is unknown"),
    ],
)
def test_a_library_that_contradicts_its_manifest_is_refused(files, message):
    with pytest.raises(AidgeError, match=message):
        load_library(files, "mine")


def test_dimension_templated_operators_have_types_of_their_own():
    assert types(CONV) == ["Conv2D", "ReLU", "Conv2D"]


def test_a_constant_is_known_as_such_by_the_graph():
    assert [tensor.is_constant for tensor in node_view(CONV).inputs] == [False, True]
    assert dformat.nhwc == "nhwc"
