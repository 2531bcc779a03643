# SPDX-License-Identifier: MIT
"""Vectors: what is taken from a file, what is refused, and what is drawn at random, the same numbers on every machine."""

from __future__ import annotations

import io
import zipfile

import numpy
import onnx
import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.operators import builtin_operators
from aidge_build.prepare.recipes import simplify
from aidge_build.run.verify.compare import Difference, compare, top1_equal
from aidge_build.run.verify.vectors import model_inputs, perturbed, random_vectors, read_npz, reference_outputs, remarks_on
from aidge_build.sources.formats.onnx.importer import import_onnx
from tests.models import graph

ONE = graph("y = Relu(x)", inputs="float[1,3] x", outputs="float[1,3] y")
TWO = graph("y = Relu(a) z = Neg(b)", inputs="float[2] a, float[1,2] b", outputs="float[2] y, float[1,2] z")
KINDS = graph(
    "p = Neg(a) q = Not(b) r = Neg(c)", inputs="int8[4] a, bool[4] b, float[4] c", outputs="int8[4] p, bool[4] q, float[4] r"
)


def floats(*rows):
    return numpy.array(rows, numpy.float32)


def refusal(arrays, view=ONE) -> str:
    with pytest.raises(AidgeError) as caught:
        model_inputs(arrays, view)
    assert caught.value.code == "VECTORS"
    return str(caught.value)


def test_one_input_reads_x_and_several_read_their_names():
    assert model_inputs({"x": floats([1, 2, 3], [4, 5, 6])}, ONE)["x"].tolist() == [[[1, 2, 3]], [[4, 5, 6]]]
    assert model_inputs({"x": floats([0, 0, 0]), "x_x": floats([1, 2, 3])}, ONE)["x"].tolist() == [[[1, 2, 3]]]
    found = model_inputs({"x_a": floats([1, 2]), "x_b": floats([3, 4])}, TWO)
    assert (found["a"].shape, found["b"].shape) == ((1, 2), (1, 1, 2)) and found["b"].flags.c_contiguous
    assert refusal({"x": floats([1, 2])}, TWO).startswith("there is no array for input 'a'")
    assert model_inputs({"a": floats([1, 2]), "b": floats([3, 4])}, TWO)["b"].tolist() == [[[3, 4]]]
    assert "call the array x (one input), a or x_a" in refusal({"u": floats([1])}, TWO)


def test_stored_bytes_feed_a_float_input_by_their_scale():
    stored = {"x": numpy.array([[-128, 3, 127]], numpy.int8), "x_scale": 0.5, "x_zero_point": 3}
    assert model_inputs(stored, ONE)["x"].tolist() == [[[-65.5, 0, 62]]] and model_inputs(stored, ONE)["x"].dtype == "float32"
    del stored["x_scale"]
    assert refusal(stored).startswith("array x is int8, input 'x' is float32. Hint: ")
    doubles = {"x": numpy.zeros((1, 3)), "x_scale": 0.5, "x_zero_point": 3}
    assert refusal(doubles).startswith("array x is float64, input 'x' is float32. Hint: ")
    assert model_inputs({"x": floats([1, 2, 3]), "x_scale": 0.5, "x_zero_point": 3}, ONE)["x"].tolist() == [[[1, 2, 3]]]


def stored_view(scale: float = 0.5):
    """A graph with an int8 input of this scale and zero point 3, and an int8 output of twice the scale."""
    constants = {"s": numpy.float32(scale), "z": numpy.int8(3), "t": numpy.float32(2 * scale)}
    nodes = "r = DequantizeLinear(x, s, z) p = Relu(r) y = QuantizeLinear(p, t, z)"
    return simplify(graph(nodes, inputs="int8[1,3] x", outputs="int8[1,3] y", constants=constants), "onnx")


@pytest.mark.parametrize(
    "dtype, scale, zero_point, given, wanted, types",
    [
        ("int8", 0.25, 0, [4, 8, -4], [5, 7, 1], ("", "")),
        ("int8", 0.5, 4, [4, 5, 127], [3, 4, 126], ("", "")),
        ("uint8", 0.5, 131, [128, 131, 255], [0, 3, 127], (" as uint8", " as int8")),
        ("uint8", 1, 127.5, [127, 128, 255], [2, 4, 127], (" as uint8", " as int8")),
    ],
)
def test_stored_inputs_of_another_scale_or_type_are_converted_and_said(dtype, scale, zero_point, given, wanted, types):
    arrays = {"x": numpy.array([given], dtype), "x_scale": numpy.float32(scale), "x_zero_point": numpy.float32(zero_point)}
    found = model_inputs(arrays, stored_view())["x"]
    assert (found.dtype, found.tolist()) == ("int8", [[wanted]])
    stored = f"x: stored{types[0]} with scale {scale:g} and zero point {zero_point:g}, converted to"
    assert remarks_on(arrays, stored_view(), 1, set()) == [f"{stored} the input's scale 0.5 and zero point 3{types[1]}"]


def test_stored_inputs_of_the_models_own_scale_stay_and_nothing_is_said():
    arrays = {"x": numpy.array([[-128, 3, 127]], numpy.int8), "x_scale": numpy.float64(0.1), "x_zero_point": numpy.int32(3)}
    assert model_inputs(arrays, stored_view(0.1))["x"].tolist() == [[[-128, 3, 127]]]
    assert remarks_on(arrays, stored_view(0.1), 1, set()) == []
    named = graph("y = Add(data, scale)", inputs="int32[2] data, int32[2] scale", outputs="int32[2] y")
    pair = numpy.ones((1, 2), numpy.int32)
    assert set(model_inputs({"x_data": pair, "x_scale": pair}, named)) == {"data", "scale"}
    wrong = arrays | {"x_scale": numpy.float32(0)}
    assert refusal(wrong, stored_view()).startswith("x_scale is 0 and x_zero_point 3. Hint: ")


def test_stored_references_of_another_scale_are_converted_and_said():
    arrays = {"y_ort": numpy.array([[7, 9, 127]], numpy.int8), "y_scale": numpy.float32(0.5), "y_zero_point": numpy.int32(5)}
    for given in (arrays, arrays | {"y_ort": floats([7, 9, 127])}):
        assert reference_outputs(given, "y_ort", stored_view(), 1)["y"].tolist() == [[[4, 5, 64]]]
    (line,) = remarks_on(arrays, stored_view(), 1, {"y_ort"})
    assert line == "y_ort: stored with scale 0.5 and zero point 5, converted to the output's scale 1 and zero point 3"
    (line,) = remarks_on(arrays, ONE, 1, {"y_ort"})
    assert line == "y_ort: stored as int8 with scale 0.5 and zero point 5, converted to real values"
    assert reference_outputs(arrays, "y_ort", ONE, 1)["y"].tolist() == [[[1, 2, 61]]]
    own = arrays | {"y_ort_scale": numpy.float32(1), "y_ort_zero_point": numpy.int32(3)}
    assert reference_outputs(own, "y_ort", stored_view(), 1)["y"].tolist() == [[[7, 9, 127]]]
    assert remarks_on(own, stored_view(), 1, {"y_ort"}) == []


@pytest.mark.parametrize("values", [floats([1, 2]), floats([[1, 2, 3, 4]]), numpy.float32(1), numpy.zeros((0, 3), numpy.float32)])
def test_vectors_of_other_dims_are_refused(values):
    assert refusal({"x": values}).startswith(f"array x has dims {values.shape}, wants (vectors, 1, 3)")


def test_inputs_with_different_counts_of_vectors_are_refused():
    arrays = {"x_a": floats([1, 2], [3, 4]), "x_b": floats([3, 4])}
    assert refusal(arrays, TWO) == "the inputs have [1, 2] vectors. Hint: the same number, at least one, for each"


def test_references_belong_to_the_outputs_and_have_as_many_vectors():
    found = reference_outputs({"ref": floats([1, 2, 3])}, "ref", ONE, 1)
    assert found["y"].shape == (1, 1, 3)
    both = reference_outputs({"ref_y": floats([1, 2]), "ref": floats([3, 4])}, "ref", TWO, 1)
    assert (both["y"].tolist(), both["z"].tolist()) == ([[1, 2]], [[[3, 4]]])
    with pytest.raises(AidgeError, match="there is no array 'ref'.*Tried: x"):
        reference_outputs({"x": floats([1])}, "ref", ONE, 1)
    for wrong in (floats([1, 2, 3], [1, 2, 3]), floats([1, 2]), floats([[1, 2, 3, 4]])):
        with pytest.raises(AidgeError, match=r"array ref has dims \(.*\), wants \(1, 1, 3\)"):
            reference_outputs({"ref": wrong}, "ref", ONE, 1)
    with pytest.raises(AidgeError, match="wants"):
        reference_outputs({"ref": floats([1, 2, 3, 4, 5, 6])}, "ref", ONE, 2)


def test_one_array_of_references_for_several_outputs_is_told_the_names_of_all():
    with pytest.raises(AidgeError, match="output 'y'.*one array for each output: ref_y, ref_z"):
        reference_outputs({"ref": floats([1, 2, 3])}, "ref", TWO, 1)


def test_random_vectors_are_the_same_everywhere_and_fill_their_types():
    found = random_vectors(KINDS, 2, 7)
    assert found["a"].tolist() == [[11, -54, 101, 113], [41, -63, -122, 32]]
    assert found["b"].dtype == bool and found["c"].dtype == "float32" and found["c"].shape == (2, 4)
    assert (found["c"].astype(float) * 1e4).round().astype(int).tolist() == [[-641, -3939, -4431, -4903], [-1098, 91, 1070, 9910]]
    assert found["b"].tolist() == [[False, False, True, True], [False, True, False, False]]
    many = random_vectors(KINDS, 4000, 1)
    assert (many["a"].min(), many["a"].max()) == (-128, 127) and 0.49 < many["b"].mean() < 0.51
    assert -1 <= many["c"].min() < -0.99 and 0.99 < many["c"].max() < 1 and abs(many["c"].mean()) < 0.02


def test_perturbed_vectors_move_a_tenth_of_their_elements_within_their_type():
    base = {"a": numpy.tile(numpy.array([[100], [-100]], numpy.int8), 5000), "c": numpy.full((1, 10_000), 0.5, numpy.float32)}
    found = perturbed(base, 3, 11)
    assert {name: values.shape for name, values in found.items()} == {"a": (3, 5000), "c": (3, 10_000)}
    again = perturbed(base, 3, 11)
    assert all(numpy.array_equal(found[name], again[name]) and found[name].dtype == base[name].dtype for name in base)
    for row, start in zip(found["a"].astype(int), (100, -100, 100), strict=True):
        moved = row[row != start]
        assert 0.08 < len(moved) / row.size < 0.11
        assert (moved.min(), moved.max()) == ((-27, 127) if start > 0 else (-128, 27))
    moved = found["c"][found["c"] != 0.5]
    assert (
        0.09 < moved.size / 30_000 < 0.11 and moved.min() < 0.01 and moved.max() > 0.99 and 0 <= moved.min() and moved.max() <= 1
    )
    zeros = perturbed({"c": numpy.zeros((1, 10_000), numpy.float32)}, 1, 1)["c"]
    assert 0.0009 < numpy.abs(zeros).max() <= 0.001


def test_the_same_seed_perturbs_alike_on_every_machine():
    found = perturbed(
        {"a": numpy.arange(40, dtype=numpy.int8)[None], "c": numpy.linspace(-1, 1, 40, dtype=numpy.float32)[None]}, 1, 5
    )
    changed = numpy.flatnonzero(found["a"][0] != numpy.arange(40)).tolist()
    assert [changed, found["a"][0, changed].tolist()] == [[4, 7, 8, 19, 23, 29, 31], [80, -60, -116, 63, 59, -49, 107]]
    differs = numpy.flatnonzero(found["c"][0] != numpy.linspace(-1, 1, 40, dtype=numpy.float32)).tolist()
    assert [differs, [round(float(value), 4) for value in found["c"][0, differs]]] == [
        [8, 19, 31, 32],
        [-0.1951, -0.2928, 1.0404, 0.711],
    ]


def npz(**arrays) -> bytes:
    file = io.BytesIO()
    numpy.savez(file, **arrays)
    return file.getvalue()


@pytest.mark.requirement("VECTORS")
@pytest.mark.parametrize(
    "content, text",
    [
        (b"", "is not an NPZ file of plain arrays"),
        (b"PK\x03\x04 and nothing", "is not an NPZ file of plain arrays"),
        (npz(x=numpy.array([{}], object)), "is not an NPZ file of plain arrays"),
        (None, "cannot be read: No such file or directory"),
    ],
)
def test_a_file_that_holds_no_arrays_is_refused_in_one_line(tmp_path, content, text):
    path = tmp_path / "io.npz"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(AidgeError) as caught:
        read_npz(path)
    assert str(caught.value).startswith(f"{path}: {text}") and caught.value.code == "VECTORS" and "\n" not in str(caught.value)


def test_the_arrays_of_a_file_are_read_by_name(tmp_path):
    (tmp_path / "io.npz").write_bytes(npz(x=numpy.arange(3), y=numpy.eye(2)))
    found = read_npz(tmp_path / "io.npz")
    assert sorted(found) == ["x", "y"] and found["x"].tolist() == [0, 1, 2]
    assert zipfile.is_zipfile(tmp_path / "io.npz")


def test_the_largest_value_of_every_output_counts_for_top_1():
    wanted = {"y": floats([1, 2, 3], [3, 2, 1]), "z": floats([1, 0], [1, 0])}
    assert top1_equal(wanted, wanted) == 2
    assert top1_equal({**wanted, "z": floats([0, 1], [1, 0])}, wanted) == 1
    assert top1_equal({"y": floats([0, 9, 3], [0, 9, 1]), "z": floats([0, 1], [1, 0])}, wanted) == 0


def test_a_difference_as_json_says_everything_but_the_verdict():
    found = compare("y", numpy.array([[1, 5]], numpy.int8), numpy.array([[1, 2]], numpy.int8))
    assert found == Difference("y", "level", 2, 1, 3, False)
    assert found.as_json() == {"name": "y", "unit": "level", "values": 2, "differing_values": 1, "max_difference": 3}


def words_view():
    """The graph of a model from three colours to two kinds."""
    text = """g (string[2] colour) => (string[2] kind) { kind = ai.onnx.ml.LabelEncoder<
        keys_strings = ["red", "green", "blue"], values_strings = ["warm", "cold", "cold"], default_string = "cold">(colour) }"""
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17, "ai.onnx.ml" : 3]> {text}')
    return import_onnx(model.SerializeToString(), "words", builtin_operators(), {}, {})[0]


def test_words_are_places_in_the_tables_of_inputs_and_outputs():
    view = words_view()
    colours = numpy.array([["blue", "violet"], ["red", "green"]])
    assert model_inputs({"x": colours}, view)["colour"].tolist() == [[2, -1], [0, 1]]
    kinds = numpy.array([["cold", "cold"], ["warm", "cold"]])
    assert reference_outputs({"y": kinds}, "y", view, 2)["kind"].tolist() == [[1, 1], [0, 1]]
    assert refusal({"x": numpy.array([["blue"]])}, ONE).startswith("array x is <U4")


def test_random_words_are_all_that_the_model_knows_and_one_that_it_does_not():
    drawn = random_vectors(words_view(), 200, 3)["colour"]
    assert drawn.dtype == numpy.int64 and set(drawn.reshape(-1).tolist()) == {-1, 0, 1, 2}


def test_references_that_nobody_compared_with_are_named_and_floats_that_were_quantized_are_said():
    stored = numpy.zeros((2, 3), numpy.int8)
    arrays = {"x": floats([1, 2, 3], [4, 5, 6]), "y": stored, "y_ort": stored}
    arrays |= {"names": numpy.array(["a", "b"]), "x_scale": floats(1)}
    assert remarks_on(arrays, ONE, 2, {"y_ort"}) == ["not compared with: y; --reference y compares with that array"]
    assert remarks_on(arrays, ONE, 2, {"y", "y_ort"}) == [] == remarks_on({"x": arrays["x"]}, ONE, 2, set())
    assert remarks_on(arrays | {f"y{n}": stored for n in range(6)}, ONE, 2, set())[0].startswith(
        "not compared with: y, y0, y1, y2 and 4 more; --reference y "
    )
    constants = {"s": numpy.float32(0.5), "z": numpy.int8(3)}
    view = graph("r = DequantizeLinear(x, s, z) y = Relu(r)", inputs="int8[1,3] x", outputs="float[1,3] y", constants=constants)
    (line,) = remarks_on({"x": arrays["x"]}, simplify(view, "onnx"), 2, set())
    assert line == "x: real values, quantized with the input's scale 0.5 and zero point 3"


IMAGE = graph("y = Relu(x)", inputs="float[1,2,3,1] x", outputs="float[1,2,3,1] y")


@pytest.mark.parametrize("dims", [(4, 1, 2, 3, 1), (4, 2, 3), (4, 1, 2, 3), (4, 6)])
def test_axes_of_one_element_may_be_left_out_and_all_axes_be_one(dims):
    values = numpy.arange(24, dtype=numpy.float32)
    assert model_inputs({"x": values.reshape(dims)}, IMAGE)["x"].ravel().tolist() == values.tolist()
    assert reference_outputs({"r": values.reshape(dims)}, "r", IMAGE, 4)["y"].ravel().tolist() == values.tolist()


@pytest.mark.parametrize("dims", [(4, 3, 2), (4, 1, 3, 2, 1), (4, 6, 1, 2, 1), (4, 2, 3, 2)])
def test_axes_in_another_order_are_refused_with_those_that_are_wanted(dims):
    values = numpy.zeros(dims, numpy.float32)
    assert refusal({"x": values}, IMAGE).startswith(f"array x has dims {dims}, wants (vectors, 1, 2, 3, 1)")
    with pytest.raises(AidgeError, match=r"array r has dims .*, wants \(4, 1, 2, 3, 1\)"):
        reference_outputs({"r": values}, "r", IMAGE, 4)


def test_references_of_a_quantized_output_may_be_real_numbers_and_fit_its_type():
    constants = {"s": numpy.float32(0.5), "z": numpy.int8(3)}
    view = simplify(
        graph("y = QuantizeLinear(x, s, z)", inputs="float[1,3] x", outputs="int8[1,3] y", constants=constants), "onnx"
    )
    for given, stored in (([-1.5, 0, 0.2], [0, 3, 3]), ([-7, 0, 127], [-7, 0, 127]), ([0.1, 500, -500], [3, 127, -128])):
        assert reference_outputs({"r": floats(given)}, "r", view, 1)["y"].astype(int).tolist() == [[stored]]
    with pytest.raises(
        AidgeError, match="array r has values from 0 to 200, output 'y' is int8. Hint: store it as int8, or as real"
    ):
        reference_outputs({"r": numpy.array([[0, 3, 200]], numpy.uint8)}, "r", view, 1)
    (line,) = remarks_on({"x": floats([0, 0, 0]), "r": floats([0.1, 0, 0])}, view, 1, {"r"})
    assert line == "r: real values, quantized with the output's scale 0.5 and zero point 3"
    assert remarks_on({"x": floats([0, 0, 0]), "r": floats([1, 0, 0])}, view, 1, {"r"}) == []
