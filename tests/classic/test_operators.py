# SPDX-License-Identifier: MIT
"""Operators of ai.onnx.ml on seeded numbers beside onnxruntime, and the ONNX project's own cases."""

from __future__ import annotations

from collections.abc import Iterator

import numpy
import pytest
from onnx import TensorProto, helper, parser

from aidge_build.base.errors import AidgeError
from aidge_build.boards import load_board
from aidge_build.contract.reference.cpu import run
from aidge_build.operators import builtin_operators
from aidge_build.prepare.recipes import simplify
from aidge_build.sources.formats.onnx.importer import import_onnx
from aidge_build.sources.onnx_format.node_cases import node_cases
from tests.compiled import program_of

TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
TYPES = {"float32": TensorProto.FLOAT, "float64": TensorProto.DOUBLE, "int64": TensorProto.INT64, "int32": TensorProto.INT32}
NAN = float("nan")


class Case:
    """A model of one node with its inputs."""

    def __init__(self, name: str, operator: str, inputs, outputs: str, opset: int = 3, **attributes):
        self.name = name
        self.inputs = {f"x{index}": value for index, value in enumerate(inputs)}
        results = [f"y{index}" for index in range(len(outputs.split()))]
        node = helper.make_node(operator, list(self.inputs), results, domain="ai.onnx.ml", **attributes)
        graph = helper.make_graph(
            [node],
            "one_operator",
            [helper.make_tensor_value_info(key, TYPES[value.dtype.name], value.shape) for key, value in self.inputs.items()],
            [helper.make_tensor_value_info(key, TYPES[kind], None) for key, kind in zip(results, outputs.split())],
        )
        opsets = [helper.make_opsetid("ai.onnx.ml", opset), helper.make_opsetid("", 17)]
        self.model = helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()

    def __repr__(self) -> str:
        return self.name


class Numbers:
    """Seeded numbers as attributes and inputs."""

    def __init__(self, seed: int):
        self._random = numpy.random.RandomState(seed)

    def rows(self, *dims: int, size: float = 1.0) -> numpy.ndarray:
        return (self._random.normal(size=dims) * size).astype(numpy.float32)

    def listed(self, *dims: int, size: float = 1.0, middle: float = 0.0) -> list[float]:
        return (self.rows(*dims, size=size) + numpy.float32(middle)).reshape(-1).tolist()


def linear_models() -> Iterator[Case]:
    for transform in TRANSFORMS:
        for count in (1, 2, 3):
            numbers = Numbers(count)
            probit = transform == "PROBIT"  # of numbers between 0 and 1, away from their ends
            x = numbers.rows(6, 4)
            given = {
                "coefficients": numbers.listed(count, 4, size=0.02 if probit else 1.0),
                "intercepts": numbers.listed(count, size=0.01, middle=0.3 if probit else 0.0),
                "post_transform": transform,
            }
            yield Case(f"regressor {transform} {count}", "LinearRegressor", [x], "float32", targets=count, **given)
            if count > 1 or not probit:
                labels = [5, 2, 9][: max(count, 2)]
                yield Case(
                    f"classifier {transform} {count}", "LinearClassifier", [x], "int64 float32", classlabels_ints=labels, **given
                )


def vector_machines() -> Iterator[Case]:
    for kernel in ("LINEAR", "POLY", "RBF", "SIGMOID"):
        for degree in (2.0, 3.0, 4.0) if kernel == "POLY" else (1.0,):
            numbers = Numbers(int(degree))
            shared = {"kernel_params": [0.3, 0.2, degree], "kernel_type": kernel}
            for one_class in (0, 1):
                vectors = {"support_vectors": numbers.listed(5, 4), "coefficients": numbers.listed(5), "n_supports": 5}
                yield Case(
                    f"regressor {kernel} {degree} {one_class}",
                    "SVMRegressor",
                    [numbers.rows(8, 4)],
                    "float32",
                    rho=[0.3],
                    one_class=one_class,
                    **vectors,
                    **shared,
                )
            for classes in (2, 3, 4):
                yield from _classifiers(numbers, classes, shared)
    for classes in (2, 3):
        for positive in (False, True):
            numbers = Numbers(classes)
            weights = [abs(one) if positive else one for one in numbers.listed(classes, 4)]
            yield Case(
                f"weights {classes} {positive}",
                "SVMClassifier",
                [numbers.rows(20, 4)],
                "int64 float32",
                classlabels_ints=[3, 1, 8][:classes],
                coefficients=weights,
                kernel_params=[0.0, 0.0, 0.0],
                rho=[0.1],
            )


def _classifiers(numbers: Numbers, classes: int, shared) -> Iterator[Case]:
    counts, pairs = [3, 2, 4, 1][:classes], classes * (classes - 1) // 2
    vectors = {
        "classlabels_ints": [3, 1, 8, 6][:classes],
        "coefficients": numbers.listed(classes - 1, sum(counts)),
        "rho": numbers.listed(pairs),
        "support_vectors": numbers.listed(sum(counts), 4),
        "vectors_per_class": counts,
    }
    x = numbers.rows(8, 4)
    for transform in TRANSFORMS[:4]:
        name = f"{shared['kernel_type']} {shared['kernel_params'][2]} {classes} {transform}"
        yield Case(name, "SVMClassifier", [x], "int64 float32", post_transform=transform, **vectors, **shared)
    platt = {"prob_a": numbers.listed(pairs, size=0.3, middle=-1.5), "prob_b": numbers.listed(pairs, size=0.2)}
    yield Case(f"{name} probabilities", "SVMClassifier", [x], "int64 float32", **platt, **vectors, **shared)


def features() -> Iterator[Case]:
    numbers = Numbers(5)
    for dtype in TYPES:
        x = (numbers.rows(5, 4, size=4.0)).astype(dtype)
        x[2] = 0
        yield Case(f"Scaler {dtype}", "Scaler", [x], "float32", offset=numbers.listed(4), scale=numbers.listed(4))
        yield Case(f"Scaler of one number {dtype}", "Scaler", [x], "float32", offset=[0.5], scale=[2.0])
        for norm in ("MAX", "L1", "L2"):
            yield Case(f"Normalizer {norm} {dtype}", "Normalizer", [x], "float32", norm=norm)
        if dtype != "int32":
            yield Case(f"OneHotEncoder {dtype}", "OneHotEncoder", [x], "float32", cats_int64s=[0, 2, -3])
        weights = {"coefficients": numbers.listed(3, 4), "intercepts": numbers.listed(3), "classlabels_ints": [0, 1, 2]}
        yield Case(f"LinearClassifier {dtype}", "LinearClassifier", [x], "int64 float32", **weights)
        yield Case(f"ArrayFeatureExtractor {dtype}", "ArrayFeatureExtractor", [x, numpy.array([3, 0, 1])], dtype)
    yield Case("ArrayFeatureExtractor of one row", "ArrayFeatureExtractor", [x[0], numpy.array([[3], [0]])], dtype)
    x = numbers.rows(5, 4)
    yield Case("Binarizer", "Binarizer", [x], "float32", threshold=0.25)
    x = numpy.where(numpy.arange(20).reshape(5, 4) % 7 == 1, numpy.float32(NAN), x)
    yield Case("Imputer", "Imputer", [x], "float32", imputed_value_floats=numbers.listed(4), replaced_value_float=NAN)
    yield Case("Imputer of one number", "Imputer", [x], "float32", imputed_value_floats=[3.0], replaced_value_float=NAN)
    whole = numpy.array([[-1, 0, 1, -1], [2, -1, -1, 0]])
    yield Case("Imputer int64", "Imputer", [whole], "int64", imputed_value_int64s=[4, 5, 6, 7], replaced_value_int64=-1)
    pair = [whole[:, :3].copy(), whole[:, :2].copy()]
    yield Case("FeatureVectorizer int64", "FeatureVectorizer", pair, "float32", inputdimensions=[3, 2])
    yield Case("OneHotEncoder of one row", "OneHotEncoder", [numpy.array([2, 4, 7])], "float32", cats_int64s=[4, 2])


def mappings() -> Iterator[Case]:
    whole, real = numpy.array([7, 2, 3, -1, 0]), numpy.array([NAN, 2.5, -1, 9, 0], numpy.float32)
    for x, kind, keys in ((whole, "int64s", [2, -1, 7]), (real, "floats", [2.5, NAN, -1.0])):
        yield Case(f"{kind} to int64", "LabelEncoder", [x], "int64", values_int64s=[5, 6, 0], **{f"keys_{kind}": keys})
        floats = {"values_floats": [0.5, 1.5, -2.0], "default_float": 0.25, f"keys_{kind}": keys}
        for opset in (2, 4):
            yield Case(f"{kind} to floats, opset {opset}", "LabelEncoder", [x], "float32", opset, **floats)


CASES = [*linear_models(), *vector_machines(), *features(), *mappings()]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_an_operator_means_what_onnxruntime_computes(case):
    onnxruntime = pytest.importorskip("onnxruntime")
    session = onnxruntime.InferenceSession(case.model, providers=["CPUExecutionProvider"])
    view, _ = import_onnx(case.model, "case", builtin_operators(), {}, {})
    ours = run(view, case.inputs)
    for name, wanted in zip(view.outputs, session.run(None, case.inputs), strict=True):
        found = ours[name]
        assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
        if wanted.dtype.kind == "f":
            assert numpy.allclose(found, wanted, rtol=1e-5, atol=1e-5, equal_nan=True), (found, wanted)
        else:
            assert found.tolist() == wanted.tolist()


def test_every_case_of_the_onnx_project_comes_out_right():
    own = {name: case for name, case in node_cases().items() if name.startswith("test_ai_onnx_ml")}
    for name, case in own.items():
        view, _ = import_onnx(case.model, name, builtin_operators(), {}, {})
        found = run(view, dict(case.inputs))
        for output, wanted in zip(view.outputs, case.expected, strict=True):
            assert numpy.allclose(found[output], wanted, case.relative, case.absolute, equal_nan=True), name
    assert len(own) >= 8


@pytest.mark.parametrize(
    ("case", "message"),
    [
        (Case("", "LinearClassifier", [numpy.zeros((1, 3), "f4")], "int64 float32", coefficients=[1.0] * 4), "no class labels"),
        (
            Case("", "LinearRegressor", [numpy.zeros((1, 3), "f4")], "float32", coefficients=[1.0] * 4),
            "4 coefficients, wants 3",
        ),
        (
            Case("", "SVMRegressor", [numpy.zeros((1, 3), "f4")], "float32", coefficients=[1.0], rho=[0.0], n_supports=2),
            "n_supports is 2, the vectors are 0",
        ),
        (
            Case("", "Scaler", [numpy.zeros((1, 3), "f4")], "float32", offset=[0.0] * 2, scale=[1.0]),
            r"offset has 2 numbers, the input \[1, 3\] wants 1 or 3",
        ),
        (Case("", "OneHotEncoder", [numpy.zeros(2, int)], "float32", cats_int64s=[1, 2, 1]), "a category is listed twice"),
        (Case("", "ArrayFeatureExtractor", [numpy.zeros((1, 3), "f4")] * 2, "float32"), "is float32"),
        (Case("", "Normalizer", [numpy.zeros((1, 3, 2), "f4")], "float32"), r"dims \[1, 3, 2\], wants one or two"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_attributes_that_do_not_fit_are_refused(case, message):
    with pytest.raises(AidgeError, match=message):
        import_onnx(case.model, "case", builtin_operators(), {}, {})


@pytest.mark.parametrize(
    "node",
    [
        "Scaler<offset = [0.5, -1.0, 2.0], scale = [2.0, 0.25, -1.0]>",
        "Imputer<imputed_value_floats = [0.5, -1.0, 2.0], replaced_value_float = 0.0>",
    ],
)
def test_what_depends_on_the_column_is_no_table_of_quantized_values(node):
    text = f"""<ir_version: 8, opset_import: ["" : 17, "ai.onnx.ml" : 3]> g (int8[4,3] x) => (int8[4,3] y)
        <float s = {{0.1}}, int8 z = {{3}}> {{
        real = DequantizeLinear(x, s, z)  made = ai.onnx.ml.{node}(real)  y = QuantizeLinear(made, s, z) }}"""
    model = parser.parse_model(text).SerializeToString()
    view, _ = import_onnx(model, "quantized", builtin_operators(), {}, {})
    x = numpy.array([[3, 3, 3], [-128, 0, 127], [3, 40, -7], [9, 3, 3]], numpy.int8)
    assert run(simplify(view), {"x": x})["y"].tolist() == run(view, {"x": x})["y"].tolist()
    assert program_of(model, "quantized.onnx", load_board("host")).layers
