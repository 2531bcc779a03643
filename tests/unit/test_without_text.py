# SPDX-License-Identifier: MIT
"""Text and maps of a model become numbers with tables of names; what cannot be numbers is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy
import onnx
import pytest
from onnx import TensorProto, helper, parser

from aidge_build.base.errors import AidgeError
from aidge_build.contract.reference.cpu import run
from aidge_build.operators import builtin_operators
from aidge_build.sources.formats.onnx.importer import import_onnx
from aidge_build.sources.onnx_format import read_model, write_model

HEAD = '<ir_version: 8, opset_import: ["" : 17, "ai.onnx.ml" : 3]>'


def view_of(text: str, **words):
    """The graph of a model, whose initialisers of text are given."""
    return import_onnx(serialised(text, **words), "toy", builtin_operators(), {}, {})[0]


def serialised(text: str, **words) -> bytes:
    model = parser.parse_model(f"{HEAD} g {text}")
    for name, values in words.items():
        array = numpy.array(values)
        flat = [word.encode() for word in array.reshape(-1).tolist()]
        model.graph.initializer.append(helper.make_tensor(name, TensorProto.STRING, array.shape, flat))
    return model.SerializeToString()


def values(view, **inputs) -> list:
    given = {name: numpy.array(value, view.tensor(name).dtype.numpy) for name, value in inputs.items()}
    found = run(view, given)
    return [found[name].tolist() for name in view.outputs]


def test_a_word_of_an_input_is_its_place_in_a_table():
    view = view_of(
        """(string[2] colour) => (int64[2] y) {
           y = ai.onnx.ml.LabelEncoder<
               keys_strings = ["red", "green", "red"], values_int64s = [5, 7, 9], default_int64 = -3>(colour) }"""
    )
    assert view.tensor("colour").names == ("red", "green") and view.tensor("colour").dtype.name == "int64"
    assert values(view, colour=[1, 0]) == [[7, 5]]
    assert values(view, colour=[-1, 2]) == [[-3, -3]]


def test_a_word_of_an_output_is_its_place_in_a_table_which_ends_in_the_default():
    view = view_of(
        """(int64[3] x) => (string[3] y) {
           y = ai.onnx.ml.LabelEncoder<keys_int64s = [4, 2], values_strings = ["cat", "dog"], default_string = "?">(x) }"""
    )
    assert view.tensor("y").names == ("cat", "dog", "?")
    assert values(view, x=[2, 4, 0]) == [[1, 0, 2]]


def test_tensors_that_meet_share_a_table_and_a_mapping_separates_two():
    view = view_of(
        """(string[1,1] a, string[1,1] b, string[1,1] c) => (float[1,2,3] one, string[1,1] other) {
           both = Concat<axis = 1>(a, b)
           one = ai.onnx.ml.OneHotEncoder<cats_strings = ["x", "y", "z"]>(both)
           other = ai.onnx.ml.LabelEncoder<keys_strings = ["no", "x"], values_strings = ["p", "q"], default_string = "p">(c) }"""
    )
    assert [view.tensor(name).names for name in ("a", "b", "c", "other")] == [("x", "y", "z")] * 2 + [("no", "x"), ("p", "q")]
    assert values(view, a=[[2]], b=[[-1]], c=[[1]]) == [[[[0, 0, 1], [0, 0, 0]]], [[1]]]


def test_missing_words_are_replaced_as_an_imputer_of_text_is_written():
    view = view_of(
        """(string[1,1] x) => (int64[1,1] y) {
           gap = ai.onnx.ml.LabelEncoder<keys_strings = [""], values_int64s = [1], default_int64 = 0>(x)
           isgap = Cast<to = 9>(gap)
           filled = Where(isgap, fill, x)
           y = ai.onnx.ml.LabelEncoder<keys_strings = ["low", "high"], values_int64s = [10, 20]>(filled) }""",
        fill=[["high"]],
    )
    table = view.tensor("x").names
    assert sorted(table) == ["", "high", "low"]
    assert [values(view, x=[[table.index(word)]]) for word in ("", "low", "high")] == [[[[20]]], [[[10]]], [[[20]]]]


def test_labels_of_a_constant_table_are_its_places():
    view = view_of(
        """(int64[2] best) => (string[2,1] label) {
           one = ai.onnx.ml.ArrayFeatureExtractor(classes, best)
           column = Reshape(one, dims)
           label = Cast<to = 8>(column) }""".replace("{", "<int64[2] dims = {2, 1}> {", 1),
        classes=["setosa", "virginica", "versicolor"],
    )
    assert view.tensor("label").names == ("setosa", "virginica", "versicolor")
    assert values(view, best=[2, 0]) == [[[2], [0]]]


def test_a_category_mapper_maps_both_ways():
    text = """({0}[2] x) => ({1}[2] y) {{ y = ai.onnx.ml.CategoryMapper<cats_int64s = [3, 8], cats_strings = ["a", "b"]>(x) }}"""
    there, back = view_of(text.format("string", "int64")), view_of(text.format("int64", "string"))
    assert values(there, x=[1, 5]) == [[8, -1]] and there.tensor("x").names == ("a", "b")
    assert values(back, x=[8, 5]) == [[1, 2]] and back.tensor("y").names == ("a", "b", "_Unused")


def test_the_first_opset_of_label_encoders_counts_its_words():
    data = serialised('(string[2] x) => (int64[2] y) { y = ai.onnx.ml.LabelEncoder<classes_strings = ["n", "m"]>(x) }').replace(
        b"ai.onnx.ml\x10\x03", b"ai.onnx.ml\x10\x01"
    )
    view = import_onnx(data, "toy", builtin_operators(), {}, {})[0]
    assert values(view, x=[1, 7]) == [[1, -1]]


def test_words_of_constants_and_comparisons_with_them():
    view = view_of(
        """(string[2] x) => (bool[2] y) {
           word = Constant<value_string = "b">()
           y = Equal(x, word) }"""
    )
    assert view.tensor("x").names == ("b",)
    assert values(view, x=[0, 3]) == [[True, False]]


def zip_map(keys: str):
    model = helper.make_model(
        helper.make_graph(
            [helper.make_node("ZipMap", ["x"], ["y"], domain="ai.onnx.ml", **eval(keys))],
            "g",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2])],
            [helper.make_value_info("y", helper.make_sequence_type_proto(helper.make_map_type_proto(TensorProto.INT64, FLOAT)))],
        ),
        opset_imports=[helper.make_opsetid("ai.onnx.ml", 1)],
        ir_version=8,
    )
    return import_onnx(model.SerializeToString(), "toy", builtin_operators(), {}, {})[0]


FLOAT = helper.make_tensor_type_proto(TensorProto.FLOAT, None)


@pytest.mark.parametrize(
    ("keys", "names"),
    [
        ("{'classlabels_strings': ['no', 'yes']}", ("no", "yes")),
        ("{'classlabels_int64s': [0, 1]}", ()),
        ("{'classlabels_int64s': [1, 4]}", ("1", "4")),
    ],
)
def test_a_sequence_of_maps_is_the_tensor_and_its_keys_name_the_columns(keys, names):
    view = zip_map(keys)
    assert view.tensor("y").names == names and view.tensor("y").dims == (1, 2)
    assert values(view, x=[[0.25, 0.75]]) == [[[0.25, 0.75]]]


def test_a_map_that_is_read_is_a_row_whose_columns_have_names():
    kind = helper.make_map_type_proto(TensorProto.STRING, FLOAT)
    model = helper.make_model(
        helper.make_graph(
            [helper.make_node("DictVectorizer", ["x"], ["y"], domain="ai.onnx.ml", string_vocabulary=["b", "a"])],
            "g",
            [helper.make_value_info("x", kind)],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 2])],
        ),
        opset_imports=[helper.make_opsetid("ai.onnx.ml", 1)],
        ir_version=8,
    )
    view = import_onnx(model.SerializeToString(), "toy", builtin_operators(), {}, {})[0]
    assert view.tensor("x").names == ("b", "a") and view.tensor("x").dims == (1, 2)


def test_names_keep_what_a_text_of_numpy_would_drop():
    model = read_model(
        serialised("(string[1] x) => (bool[1] y) { y = Equal(x, w) }", w=["a"]).replace(b"\x01a", b"\x01\0"), "toy", {}
    )
    assert model.inputs[0].names == ("\0",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(string[1] x) => (string[1] y) { y = Identity(x) }", "hands out the text of the input 'x'"),
        ("(string[1] x, string[1] z) => (bool[1] y) { y = Equal(x, z) }", "compares two texts that are both known at run time"),
        ("(string[1] x) => (string[1] y) { y = StringNormalizer(x) }", "it works on the text 'x'"),
        ("(string[1] x) => (float[1] y) { y = Cast<to = 1>(x) }", "it works on the text 'x'"),
        ("(int64[1] x) => (string[1] y) { y = Cast<to = 8>(x) }", "numbers become text"),
        ("(int64[1] x) => (string[1] y) { y = Neg(x) }", "'y' is declared as text, but holds numbers"),
        (
            '(int64[1] x) => (int64[1] y) { y = ai.onnx.ml.LabelEncoder<keys_strings = ["a"], values_int64s = [1]>(x) }',
            "its keys are text, its input is not",
        ),
        (
            '(string[1] x) => (int64[1] y) { y = ai.onnx.ml.LabelEncoder<keys_strings = ["a"], values_int64s = [1, 2]>(x) }',
            "it has 1 keys, 2 values and 1 defaults",
        ),
        ('(string[1] x) => (int64[1] y) { y = ai.onnx.ml.LabelEncoder<keys_strings = ["a"]>(x) }', "it has no values"),
    ],
)
def test_text_that_is_more_than_looked_up_is_refused(text, message):
    with pytest.raises(AidgeError, match=message):
        view_of(text)


def test_a_sequence_that_no_zip_map_makes_is_refused():
    kind = helper.make_sequence_type_proto(helper.make_map_type_proto(TensorProto.INT64, FLOAT))
    graph = helper.make_graph([], "g", [helper.make_value_info("x", kind)], [helper.make_value_info("x", kind)])
    data = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)]).SerializeToString()
    with pytest.raises(AidgeError, match="graph input 'x': its type is sequence, which only the output of a ZipMap"):
        read_model(data, "toy", {})


def test_an_operator_of_the_domain_is_checked_against_its_schema():
    with pytest.raises(AidgeError, match="unknown attribute 'sharp'"):
        view_of("(int64[1] x) => (float[1,1] y) { y = ai.onnx.ml.OneHotEncoder<cats_int64s = [1], sharp = 2>(x) }")
    with pytest.raises(AidgeError, match="of ai.onnx.ml has no operator|unsupported operator"):
        view_of("(int64[1] x) => (float[1,1] y) { y = ai.onnx.ml.Nothing(x) }")


def damaged(change, text: str, **words) -> bytes:
    """A model of which `change` damages the first node."""
    model = onnx.ModelProto.FromString(serialised(text, **words))
    change(model.graph.node[0])
    return model.SerializeToString()


ENCODER = '(string[1] x) => (int64[1] y) { y = ai.onnx.ml.LabelEncoder<keys_strings = ["a"], values_int64s = [1]>(x) }'


def without(field: str):
    return lambda node: node.ClearField(field)


def with_attribute(name: str, value):
    def change(node) -> None:
        kept = [one for one in node.attribute if one.name != name]
        node.ClearField("attribute")
        node.attribute.extend([*kept, helper.make_attribute(name, value)])

    return change


@pytest.mark.requirement("MODEL", "TEXT")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (without("input"), "it has 0 inputs and 1 outputs"),
        (without("output"), "it has 1 inputs and 0 outputs"),
        (with_attribute("keys_strings", 3), "attribute 'keys_strings' is '3', wants strings"),
        (with_attribute("values_int64s", [1.5]), "wants int64s"),
        (with_attribute("default_int64", "none"), "attribute 'default_int64' is .*, wants int64s"),
        (with_attribute("keys_strings", helper.make_tensor("t", TensorProto.STRING, [1], [b"a"])), "wants strings"),
    ],
)
def test_a_mapping_that_lies_is_refused(change, message):
    with pytest.raises(AidgeError, match=message):
        import_onnx(damaged(change, ENCODER), "toy", builtin_operators(), {}, {})


def test_defaults_of_another_kind_than_the_values_are_refused():
    words, numbers = (
        helper.make_tensor("t", TensorProto.STRING, [1], [b"a"]),
        helper.make_tensor("t", TensorProto.INT64, [1], [1]),
    )
    model = onnx.ModelProto.FromString(serialised(ENCODER))
    node = model.graph.node[0]
    node.ClearField("attribute")
    for name, value in (("keys_tensor", words), ("values_tensor", numbers), ("default_tensor", words)):
        node.attribute.append(helper.make_attribute(name, value))
    model.opset_import[1].version = 4
    with pytest.raises(AidgeError, match="default_tensor and values are of different kinds"):
        import_onnx(model.SerializeToString(), "toy", builtin_operators(), {}, {})


def test_text_that_nobody_reads_is_left_alone():
    view = view_of("(string[1] x) => (bool[1] y) { y = Equal(x, one) }", one=["a"], unread=["b", "c"])
    assert view.tensor("x").names == ("a",)


def test_names_survive_in_files_that_are_written():
    names = ("no", "yes")
    model = read_model(serialised("(float[1] x) => (float[1] y) { y = Neg(x) }"), "toy", {})
    named = replace(model, outputs=(replace(model.outputs[0], names=names),))
    assert read_model(write_model(named), "toy", {}).outputs[0].names == names
    assert b"aidge_build.names" not in write_model(model)


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"y": "no"}', '{"y": [1]}', '{"z": ["a"]}', "[" * 100000])
def test_metadata_of_others_is_no_names(text):
    model = onnx.ModelProto.FromString(serialised("(float[1] x) => (float[1] y) { y = Neg(x) }"))
    model.metadata_props.add(key="aidge_build.names", value=text)
    assert read_model(model.SerializeToString(), "toy", {}).outputs[0].names == ()
