# SPDX-License-Identifier: MIT
"""Breast cancer from 30 measurements of cells: a support vector machine with radial basis functions, in float32."""

from __future__ import annotations

import numpy
import onnx
from onnx import TensorProto, helper

from tools.zoo.made import Arrays, Made
from tools.zoo.training import on_grid

SEED, TEST = 0, 170
GAMMA, PENALTY, GAP = 1 / 32, 4.0, 1e-3
MOST_STEPS = 20_000


def data() -> tuple[numpy.ndarray, numpy.ndarray, numpy.ndarray, numpy.ndarray]:
    """Training and test samples, float32, and labels: 1 is benign. The split is drawn by numpy, half and half of both classes."""
    from sklearn.datasets import load_breast_cancer  # the package that the data come with

    found = load_breast_cancer()
    order = numpy.random.default_rng(SEED).permutation(len(found.target))
    x, labels = found.data[order].astype(numpy.float32), found.target[order]
    return x[TEST:], labels[TEST:], x[:TEST], labels[:TEST]


def standardized(x: numpy.ndarray) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Offset and factor of each measurement, float32."""
    wide = x.astype(numpy.float64)
    return wide.mean(axis=0).astype(numpy.float32), (1 / wide.std(axis=0)).astype(numpy.float32)


def machine(kernel: numpy.ndarray, signs: numpy.ndarray) -> tuple[numpy.ndarray, float]:
    """Multipliers times signs, and the bias: sequential minimal optimization (Platt 1998) of the pair that violates the
    conditions most (Keerthi et al. 2001). Every step is a product and a sum of single elements, so all CPUs round alike."""
    multipliers, gradient = numpy.zeros(len(signs)), -numpy.ones(len(signs))
    for _ in range(MOST_STEPS):
        violation = -signs * gradient
        can_rise = numpy.where(signs > 0, multipliers < PENALTY, multipliers > 0)
        can_fall = numpy.where(signs > 0, multipliers > 0, multipliers < PENALTY)
        i = int(numpy.where(can_rise, violation, -numpy.inf).argmax())
        j = int(numpy.where(can_fall, violation, numpy.inf).argmin())
        if violation[i] - violation[j] < GAP:
            middle = (violation[i] + violation[j]) / 2
            return on_grid(multipliers * signs), float(on_grid(numpy.array(middle)))
        step = (violation[i] - violation[j]) / max(kernel[i, i] + kernel[j, j] - 2 * kernel[i, j], 1e-9)
        rooms = [PENALTY - multipliers[i] if signs[i] > 0 else multipliers[i]]
        rooms += [multipliers[j] if signs[j] > 0 else PENALTY - multipliers[j]]
        step = min(step, *rooms)
        multipliers[i] += signs[i] * step
        multipliers[j] -= signs[j] * step
        gradient += signs * step * (kernel[i] - kernel[j])
    raise ArithmeticError(f"no solution after {MOST_STEPS} steps")


def made() -> Made:
    """Trains on the samples that are not held out."""
    x, labels, _, _ = data()
    offset, factor = standardized(x)
    scaled = on_grid((x - offset) * factor.astype(numpy.float64))
    distances = ((scaled[:, None] - scaled[None]) ** 2).sum(axis=2)
    kernel = on_grid(numpy.exp(-GAMMA * distances), 2.0**-30)
    weights, bias = machine(kernel, numpy.where(labels == 1, 1.0, -1.0))
    chosen = numpy.flatnonzero(weights)
    order = chosen[numpy.argsort(labels[chosen], kind="stable")]  # vectors of class 0 come first
    print(f"svm: {len(order)} support vectors of {len(labels)} samples")
    return Made(file_of(offset, factor, scaled[order], weights[order], bias, numpy.bincount(labels[order])))


def file_of(
    offset: numpy.ndarray,
    factor: numpy.ndarray,
    vectors: numpy.ndarray,
    weights: numpy.ndarray,
    bias: float,
    counts: numpy.ndarray,
) -> bytes:
    """Scaler, then SVMClassifier: its scores are the output. The coefficients of class 1 have a positive sign."""
    nodes = [
        helper.make_node("Scaler", ["cells"], ["scaled"], "scaler", domain="ai.onnx.ml", offset=offset, scale=factor),
        helper.make_node(
            "SVMClassifier",
            ["scaled"],
            ["label", "scores"],
            "machine",
            domain="ai.onnx.ml",
            classlabels_ints=[0, 1],
            kernel_type="RBF",
            kernel_params=[GAMMA, 0.0, 3.0],
            vectors_per_class=counts,
            support_vectors=vectors.astype(numpy.float32).reshape(-1),
            coefficients=weights.astype(numpy.float32),
            rho=[bias],
            post_transform="LOGISTIC",
        ),
    ]
    graph = helper.make_graph(
        nodes,
        "svm",
        [helper.make_tensor_value_info("cells", TensorProto.FLOAT, [1, vectors.shape[1]])],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, [1, 2])],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 1)]
    made = helper.make_model(graph, opset_imports=opsets, ir_version=8, producer_name="tools.zoo")
    onnx.checker.check_model(made)
    return made.SerializeToString(deterministic=True)


def held_out() -> Arrays:
    """170 patients."""
    _, _, x, labels = data()
    return {"x": x, "labels": labels.astype(numpy.uint8)}
