# SPDX-License-Identifier: MIT
"""The mean over any axes of 8-bit tensors is an average pool, which has kernels of integers; other means stay."""

from __future__ import annotations

import math

import numpy
import pytest

from aidge_build.contract.reference import cpu
from aidge_build.graph.dtype import DType
from aidge_build.prepare.recipes import simplify
from tests.models import graph, types

POOL = "GlobalAveragePooling"
KINDS = {"int8": numpy.int8, "uint8": numpy.uint8, "int16": numpy.int16}


def mean(dims: tuple[int, ...], axes: tuple[int, ...], keep: int, kind: str = "int8", result: float = 0.017):
    made = numpy.zeros(dims).mean(axis=axes, keepdims=bool(keep)).shape
    attributes = f"keepdims={keep}, noop_with_empty_axes=1"
    return graph(
        f"r = DequantizeLinear(x, s, z) m = ReduceMean<{attributes}>(r, a) y = QuantizeLinear(m, t, z)",
        inputs=f"{kind}[{','.join(map(str, dims))}] x",
        outputs=f"{kind}[{','.join(map(str, made))}] y",
        constants={"s": numpy.float32(0.031), "t": numpy.float32(result), "z": KINDS[kind](5), "a": numpy.array(axes, int)},
        opset=21,
    )


@pytest.mark.parametrize(
    "dims, axes, keep, wanted",
    [
        ((2, 3, 4, 5), (2, 3), 1, [(POOL, (2, 3, 1, 1))]),
        ((2, 3, 4, 5), (-1, -2), 0, [(POOL, (2, 3, 1, 1)), ("Reshape", (2, 3))]),
        ((2, 3, 4), (2,), 1, [(POOL, (2, 3, 1))]),
        ((2, 3, 4), (1,), 0, [("Transpose", (2, 4, 3)), (POOL, (2, 4, 1)), ("Reshape", (2, 4))]),
        ((2, 3, 4, 5), (1, 2), 1, [("Transpose", (2, 5, 3, 4)), (POOL, (2, 5, 1, 1)), ("Reshape", (2, 1, 1, 5))]),
        ((2, 3, 4, 5), (3,), 1, [("Reshape", (2, 12, 5)), (POOL, (2, 12, 1)), ("Reshape", (2, 3, 4, 1))]),
        ((2, 3, 4, 5), (1, 2, 3), 0, [("Reshape", (2, 1, 60)), (POOL, (2, 1, 1)), ("Reshape", (2,))]),
        ((3, 4, 5), (0,), 0, [("Transpose", (4, 5, 3)), ("Reshape", (1, 20, 3)), (POOL, (1, 20, 1)), ("Reshape", (4, 5))]),
        ((6, 7), (1,), 1, [("Reshape", (6, 1, 7)), (POOL, (6, 1, 1)), ("Reshape", (6, 1))]),
        ((6, 7), (0, 1), 0, [("Reshape", (1, 1, 42)), (POOL, (1, 1, 1)), ("Reshape", ())]),
        ((6, 7), (), 1, [("Reshape", (6, 7, 1)), (POOL, (6, 7, 1)), ("Reshape", (6, 7))]),
    ],
)
def test_the_mean_over_any_axes_is_a_pool_between_views_and_gives_the_nearest_level(dims, axes, keep, wanted):
    view = simplify(mean(dims, axes, keep))
    assert [(node.type, view.tensor(node.outputs[0]).dims) for node in view.nodes] == wanted
    assert all(tensor.dtype is DType.int8 for tensor in view.tensors.values())
    assert len({node.name for node in view.nodes}) == len(view.nodes)
    stored = numpy.random.default_rng(sum(dims)).integers(-128, 128, dims).astype(numpy.int8)
    exact = (
        (stored.astype(float) - 5).mean(axis=axes, keepdims=bool(keep))
        * float(numpy.float32(0.031))
        / float(numpy.float32(0.017))
    )
    found = cpu.run(view, {"x": stored})["y"]
    assert found.shape == exact.shape
    decided = abs(exact - numpy.floor(exact) - 0.5) > 1e-4
    assert decided.any() and (found == numpy.clip(numpy.rint(exact) + 5, -128, 127))[decided].all()


def test_a_mean_of_uint8_is_a_pool_too_and_one_of_int16_stays():
    assert POOL in types(simplify(mean((1, 3, 4, 4), (2, 3), 1, "uint8")))
    assert "ReduceMean" in types(simplify(mean((1, 3, 4, 4), (2, 3), 1, "int16")))


def test_a_mean_of_floats_and_one_under_the_contract_of_tensorflow_lite_stay():
    plain = graph("y = ReduceMean<axes=[2,3]>(x)", inputs="float[1,3,4,4] x", outputs="float[1,3,1,1] y")
    assert types(simplify(plain)) == ["ReduceMean"]
    assert types(simplify(mean((1, 3, 4, 4), (2, 3), 1), "double")) == ["ReduceMean"]


def test_means_of_equal_scales_take_the_ties_as_pools_over_maps_do():
    dims = (1, 500, 8, 8)
    assert math.prod(dims[2:]) == 64  # one mean of 64 lies in the middle of two levels
    stored = numpy.random.default_rng(3).integers(-128, 128, dims).astype(numpy.int8)
    found = cpu.run(simplify(mean(dims, (2, 3), 1, result=0.031)), {"x": stored})["y"]
    last = cpu.run(simplify(mean((1, 8, 8, 500), (1, 2), 0, result=0.031)), {"x": stored.transpose(0, 2, 3, 1)})["y"]
    text = "r = DequantizeLinear(x, s, z) m = GlobalAveragePool(r) y = QuantizeLinear(m, s, z)"
    constants = {"s": numpy.float32(0.031), "z": numpy.int8(5)}
    pool = graph(text, inputs="int8[1,500,8,8] x", outputs="int8[1,500,1,1] y", constants=constants)
    wanted = cpu.run(simplify(pool), {"x": stored})["y"]
    assert numpy.array_equal(found, wanted) and numpy.array_equal(last, wanted.reshape(1, 500))


@pytest.mark.parametrize("axes", [(1,), (1, 3), (-1, 0), ()])
def test_a_mean_that_stays_in_float32_adds_value_by_value_as_its_kernel_does(axes):
    values = numpy.random.default_rng(4).normal(size=(3, 40, 5, 30)).astype(numpy.float32)
    shape = ",".join(map(str, numpy.zeros(values.shape).mean(axis=axes, keepdims=True).shape))
    view = graph(
        "y = ReduceMean<noop_with_empty_axes=1>(x, a)",
        inputs="float[3,40,5,30] x",
        outputs=f"float[{shape}] y",
        constants={"a": numpy.array(axes, numpy.int64)},
        opset=18,
    )
    rest = [axis for axis in range(4) if axis not in {one % 4 for one in axes}]
    order = (*sorted(one % 4 for one in axes), *rest)
    total, count = numpy.float32(0), 0
    for one in values.transpose(order).reshape(-1, *(values.shape[axis] for axis in rest)):
        total, count = total + one, count + 1
    assert numpy.array_equal(cpu.run(view, {"x": values})["y"].ravel(), (total / numpy.float32(count)).ravel())
