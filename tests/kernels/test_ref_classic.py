# SPDX-License-Identifier: MIT
"""Operators of ai.onnx.ml in `ref`, all of them in one C file on this machine: integers equal, floats within rounding."""

from __future__ import annotations

import numpy
from harness import case, differing, run

from aidge_build.graph.dtype import DType
from aidge_build.graph.tensor import Tensor
from aidge_build.operators.class_scores import Transform
from aidge_build.operators.distances import CDist
from aidge_build.operators.features import Binarizer, Imputer, Normalizer, Scaler
from aidge_build.operators.linear_models import LinearClassifier, LinearRegressor
from aidge_build.operators.listed import Listed
from aidge_build.operators.lookup import ArrayFeatureExtractor, LabelEncoder, OneHotEncoder
from aidge_build.operators.sums_and_masks import OneHot
from aidge_build.operators.support_vectors import KERNELS, SVMClassifier, SVMRegressor

RANDOM = numpy.random.RandomState
NAN = float("nan")


def listed(random, *dims: int) -> Listed:
    return Listed(random.normal(size=dims).astype(numpy.float32).reshape(-1).tolist())


def of(operator, *values: numpy.ndarray):
    """A case with these values as computed inputs."""
    tensors = [Tensor(f"x{i}", value.shape, DType(value.dtype.name)) for i, value in enumerate(values)]
    return case(operator, tensors, values)


def wrong(cases) -> list[str]:
    """The cases whose integers differ, or whose floats are further apart than rounding explains."""
    found = []
    for one, results in zip(cases, run(cases), strict=True):
        for ours, expected in zip(results, one.expected, strict=True):
            same = (
                numpy.allclose(ours, expected, 1e-5, 1e-5, equal_nan=True)
                if expected.dtype.kind == "f"
                else numpy.array_equal(ours, expected)
            )
            if ours.dtype != expected.dtype or ours.shape != expected.shape or not same:
                found.append(f"{one.view.operator}: {ours.tolist()} for {expected.tolist()}")
    return found


def linear_models():
    random = RandomState = RANDOM(1)
    for transform in Transform:
        for count in (1, 2, 5):
            x = RandomState.normal(size=(4, 7)).astype(numpy.float32)
            weights, bias = listed(random, count, 7), listed(random, count)
            if transform is Transform.PROBIT:  # of numbers between 0 and 1
                weights, bias = Listed(0.01 * one for one in weights), Listed((0.3,) * count)
            yield of(LinearRegressor(weights, bias, transform), x)
            labels = tuple(range(count)) if count == 5 else (70000, -3)
            if not (count == 1 and transform is Transform.PROBIT):
                yield of(LinearClassifier(weights, bias, transform, labels), x)
    yield of(LinearClassifier(listed(random, 7), Listed((0.1,)), Transform.NONE, (4,)), x)
    yield of(LinearClassifier(listed(random, 2, 7), listed(random, 2), Transform.NONE, (0, 1)), x[0])


def vector_machines():
    random = RANDOM(2)
    x = random.normal(size=(6, 3)).astype(numpy.float32)
    for kernel in KERNELS:
        for degree in (2.0, 3.0, 4.0) if kernel == "POLY" else (0.0,):
            shared = {"kernel": kernel, "gamma": 0.25, "coef0": 0.5, "degree": degree}
            vectors = {"vectors": listed(random, 7, 3), "rho": Listed((0.25,))}
            for one_class in (False, True):
                yield of(SVMRegressor(listed(random, 7), one_class=one_class, **vectors, **shared), x)
            for counts in ((4, 3), (2, 0, 5), (1, 2, 3, 1)):
                classes, pairs = len(counts), len(counts) * (len(counts) - 1) // 2
                given = {"coefficients": listed(random, classes - 1, 7), "rho": listed(random, pairs), "counts": counts}
                given |= {"vectors": listed(random, 7, 3), "labels": (9, 0, -300, 2)[:classes], **shared}
                for transform in (Transform.NONE, Transform.LOGISTIC, Transform.SOFTMAX):
                    yield of(SVMClassifier(transform=transform, **given), x)
                platt = {"prob_a": Listed((-1.5,) * pairs), "prob_b": listed(random, pairs)}
                yield of(SVMClassifier(**platt, **given), x)
    for labels in ((4, 9), (0, 1, 2)):
        for weights in (listed(random, len(labels), 3), Listed(abs(one) for one in listed(random, len(labels), 3))):
            yield of(SVMClassifier(weights, rho=Listed((0.1,)), labels=labels), x)
    yield of(SVMRegressor(listed(random, 3), rho=Listed((0.1,))), x)


def features():
    random = RANDOM(3)
    x = random.normal(size=(3, 4)).astype(numpy.float32)
    x[1] = 0
    gaps = x.copy()
    gaps[0, 1] = gaps[2, 3] = NAN
    whole = random.randint(-2, 3, (3, 4))
    yield of(Scaler(listed(random, 4), listed(random, 1)), x)
    yield of(Scaler(Listed((0.5,)), Listed((2.0,))), x.reshape(2, 3, 2))
    for norm in ("MAX", "L1", "L2"):
        yield of(Normalizer(norm), x)
        yield of(Normalizer(norm), x[0])
    yield of(Imputer(listed(random, 4), NAN), gaps)
    yield of(Imputer(Listed((7.0,)), 0.0), gaps)
    for dtype in (numpy.int64, numpy.int32):
        yield of(Imputer(Listed((5, 6, 7, 8)), -1), whole.astype(dtype))
    yield of(Binarizer(0.25), x)


def lookups():
    whole = numpy.array([[7, 2, -1], [1 << 40, -(1 << 63), 3]])
    yield of(LabelEncoder((2, -1, 7, 2), (1, 2, 3, 4), -9), whole)
    yield of(LabelEncoder((1 << 40, -1, 7), (100, 200000, 3), 0), whole)
    yield of(LabelEncoder((0, 1, 2), (0.5, 1.5, 2.5), -0.25, DType.float32), whole)
    yield of(LabelEncoder((0, 1, 2), (0, 1, 2), -1, DType.int32), whole.astype(numpy.int32))
    reals = numpy.array([0.5, NAN, -2.0, 8.0, numpy.inf], numpy.float32)
    for keys in ((8.0, NAN, -2.0), (0.5, -2.0), (NAN,)):
        yield of(LabelEncoder(keys, tuple(range(5, 5 + len(keys))), -1), reals)
        yield of(LabelEncoder(keys, tuple(1.5 * key for key in range(len(keys))), -1.0, DType.float32), reals)
    yield of(OneHotEncoder((7, 3, 1 << 40)), whole)
    yield of(OneHotEncoder((0, 1, 2)), whole.astype(numpy.int32))
    yield of(OneHotEncoder((0, -2, 8)), numpy.array([[0.75, -2.5], [8.0, 9.0]], numpy.float32))
    yield of(ArrayFeatureExtractor(), whole, numpy.array([[2, 0]]))
    yield of(ArrayFeatureExtractor(), reals, numpy.array([4, 2, 0]))


def distances():
    random = RANDOM(4)
    for rows, others, length in ((1, 1, 1), (3, 5, 4), (1, 40, 7)):
        pair = [random.normal(size=(count, length)).astype(numpy.float32) for count in (rows, others)]
        for metric in ("sqeuclidean", "euclidean"):
            yield of(CDist(metric), *pair)


def test_both_operators_with_one_hot_rows_are_functions_of_their_own():
    indices, values = numpy.float32([1, 3]), numpy.float32([0, 1])
    cases = [of(OneHot(axis=1, depth=4), indices, values), of(OneHotEncoder((0, 1, 3)), indices)]
    assert differing(cases, run(cases)) == []


def test_distances_between_rows():
    assert wrong(list(distances())) == []


def test_linear_models_give_labels_and_scores_of_every_transform():
    assert wrong(list(linear_models())) == []


def test_vector_machines_of_every_kernel_vote_and_give_probabilities():
    assert wrong(list(vector_machines())) == []


def test_features_are_scaled_normalized_filled_and_cut():
    assert wrong(list(features())) == []


def test_lookups_find_every_key_and_nothing_else():
    assert wrong(list(lookups())) == []
