# SPDX-License-Identifier: MIT
"""Every float operator of docs/operators.md alone, side by side in one model, for onnxruntime's quantizer.

The inputs are `RandomState`'s, numpy's frozen stream: the same everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy
from onnx import ModelProto, TensorProto, helper, numpy_helper, shape_inference

FILE = Path(__file__).with_name("quantizer.npz")
OPSET = 24
VECTORS = 4  # the quantizer calibrates with the first half of them
BLOCK, IMAGE = (2, 4, 6), (1, 4, 6, 6)
RANDOM = numpy.random.RandomState(7)
IN_FRONT = "in front"  # before the constants: they come before the computed inputs


@dataclass(frozen=True)
class Single:
    """The operator `kind` on inputs of these dims with values from `low` to `high`, then constants (None: not given)."""

    kind: str
    dims: tuple[tuple[int, ...], ...] = (BLOCK,)
    attributes: Mapping[str, object] = field(default_factory=dict)
    constants: tuple = ()
    low: float = -2.0
    high: float = 2.0
    outputs: int = 1


def _weights(*dims: int, low: float = -1.0) -> numpy.ndarray:
    return RANDOM.uniform(low, 1, dims).astype(numpy.float32)


def _reals(*values: float) -> numpy.ndarray:
    return numpy.array(values, numpy.float32)


def _wholes(*values: int) -> numpy.ndarray:
    return numpy.array(values, numpy.int64)


def _each(kinds: str, *arguments, **keywords) -> dict[str, Single]:
    return {kind: Single(kind, *arguments, **keywords) for kind in kinds.split()}


POOL = {"kernel_shape": [2, 2], "strides": [2, 2]}
DOUBLE = (None, _reals(1, 1, 2, 2))
ROWS = numpy.array([[0], [2], [1]])
CASES: dict[str, Single] = {
    **_each(
        "Abs Asinh Atan Ceil Celu Cos Cosh Elu Erf Exp Floor Gelu HardSigmoid HardSwish Hardmax Identity LeakyRelu LogSoftmax "
        "Mish Neg Relu Round Selu Shrink Sigmoid Sign Sin Sinh Softmax Softplus Softsign Swish Tanh ThresholdedRelu Dropout "
        "Flatten Trilu LpNormalization IsNaN IsInf Shape Size"
    ),
    **_each("Acos Asin Atanh", low=-0.95, high=0.95),
    **_each("Acosh", low=1.1, high=4.0),
    **_each("Log Reciprocal", low=0.3, high=4.0),
    **_each("Sqrt", low=0.0, high=4.0),
    **_each("Tan", low=-1.3, high=1.3),
    **_each("Add Sub Mul Max Min Mean Sum Equal Greater GreaterOrEqual Less LessOrEqual", (BLOCK, BLOCK)),
    **_each("Div Pow", (BLOCK, BLOCK), low=0.3),
    "Mod": Single("Mod", (BLOCK, BLOCK), {"fmod": 1}, low=0.3),
    "Concat": Single("Concat", (BLOCK, BLOCK), {"axis": 1}),
    "Clip": Single("Clip", constants=(_reals(-0.5)[0], _reals(1.2)[0])),
    "PRelu": Single("PRelu", constants=(_weights(4, 1),)),
    **_each(
        "ReduceL1 ReduceL2 ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare",
        constants=(_wholes(1),),
    ),
    **_each("ReduceLogSum", constants=(_wholes(1),), low=0.2),
    "ReduceMean of maps": Single("ReduceMean", (IMAGE,), constants=(_wholes(2, 3),)),
    "CumSum": Single("CumSum", constants=(numpy.array(1),)),
    **_each("DepthToSpace SpaceToDepth", (IMAGE,), {"blocksize": 2}),
    **{f"Resize {mode}": Single("Resize", (IMAGE,), {"mode": mode}, DOUBLE) for mode in ("nearest", "linear", "cubic")},
    **_each("AveragePool MaxPool LpPool", (IMAGE,), POOL),
    **_each("GlobalAveragePool GlobalMaxPool MeanVarianceNormalization", (IMAGE,)),
    "BatchNormalization": Single(
        "BatchNormalization", (IMAGE,), {}, (_weights(4, low=0.5), _weights(4), _weights(4), _weights(4, low=0.5))
    ),
    "InstanceNormalization": Single("InstanceNormalization", (IMAGE,), {}, (_weights(4), _weights(4))),
    "GroupNormalization": Single("GroupNormalization", (IMAGE,), {"num_groups": 2}, (_weights(4), _weights(4))),
    "LayerNormalization": Single("LayerNormalization", constants=(_weights(6), _weights(6))),
    "RMSNormalization": Single("RMSNormalization", constants=(_weights(6),)),
    "LRN": Single("LRN", (IMAGE,), {"size": 3}),
    "Conv": Single("Conv", (IMAGE,), {"pads": [1, 1, 1, 1]}, (_weights(5, 4, 3, 3), _weights(5))),
    "Conv of each channel": Single("Conv", (IMAGE,), {"group": 4}, (_weights(4, 1, 3, 3), _weights(4))),
    "Conv of a line": Single("Conv", ((1, 4, 9),), {}, (_weights(5, 4, 3), _weights(5))),
    "Conv of a volume": Single("Conv", ((1, 2, 4, 4, 4),), {}, (_weights(3, 2, 2, 2, 2), _weights(3))),
    "ConvTranspose": Single("ConvTranspose", (IMAGE,), {"strides": [2, 2]}, (_weights(4, 5, 3, 3), _weights(5))),
    "Gemm": Single("Gemm", ((3, 8),), {"transB": 1}, (_weights(5, 8), _weights(5))),
    "MatMul": Single("MatMul", ((3, 8),), {}, (_weights(8, 5),)),
    "MatMul of two": Single("MatMul", ((3, 8), (8, 5))),
    "Reshape": Single("Reshape", constants=(_wholes(4, 12),)),
    "Transpose": Single("Transpose", attributes={"perm": [2, 0, 1]}),
    "Squeeze": Single("Squeeze", ((1, 4, 6),), {}, (_wholes(0),)),
    "Unsqueeze": Single("Unsqueeze", constants=(_wholes(0),)),
    "Expand": Single("Expand", ((4, 1),), {}, (_wholes(4, 6),)),
    "Tile": Single("Tile", constants=(_wholes(1, 2, 1),)),
    "Gather": Single("Gather", attributes={"axis": 1}, constants=(_wholes(2, 0),)),
    "GatherElements": Single("GatherElements", ((3, 4),), {"axis": 1}, (ROWS,)),
    "GatherND": Single("GatherND", ((3, 4),), {}, (ROWS,)),
    "ScatterElements": Single("ScatterElements", ((3, 4),), {"axis": 1}, (ROWS, _weights(3, 1))),
    "ScatterND": Single("ScatterND", ((3, 4),), {}, (ROWS[:2], _weights(2, 4))),
    "Slice": Single("Slice", constants=(_wholes(1), _wholes(3), _wholes(1))),
    "Split": Single("Split", attributes={"axis": 1, "num_outputs": 2}, outputs=2),
    "Pad": Single("Pad", ((1, 2, 4),), {}, (_wholes(0, 0, 1, 0, 0, 1),)),
    "TopK": Single("TopK", constants=(_wholes(2),), outputs=2),
    **_each("ArgMax ArgMin", attributes={"axis": 2}),
    "Where": Single("Where", ((4, 6), (4, 6)), {}, (IN_FRONT, RANDOM.randint(0, 2, (4, 6)).astype(bool))),
    "Cast": Single("Cast", attributes={"to": TensorProto.INT32}),
    **{
        kind: Single(kind, ((5, 1, 4),), {"hidden_size": 3}, (_weights(1, 3 * g, 4), _weights(1, 3 * g, 3), _weights(1, 6 * g)))
        for kind, g in (("RNN", 1), ("GRU", 3), ("LSTM", 4))
    },
}


def input_names(name: str) -> list[str]:
    """Of the case in the common model."""
    return [f"{name.replace(' ', '_')}_x{place}" for place in range(len(CASES[name].dims))]


def output_names(name: str) -> list[str]:
    """Of the case in the common model."""
    return [f"{name.replace(' ', '_')}_y{place}" for place in range(CASES[name].outputs)]


def float_model() -> ModelProto:
    """All cases in one model."""
    nodes, initializers, inputs = [], [], []
    for name, case in CASES.items():
        constants = [one for one in case.constants if not isinstance(one, str)]
        known = ["" if one is None else f"{name.replace(' ', '_')}_c{place}" for place, one in enumerate(constants)]
        initializers += [numpy_helper.from_array(values, key) for values, key in zip(constants, known, strict=True) if key]
        given = input_names(name)
        inputs += [
            helper.make_tensor_value_info(key, TensorProto.FLOAT, dims) for key, dims in zip(given, case.dims, strict=True)
        ]
        names = known + given if len(constants) < len(case.constants) else given + known
        nodes.append(helper.make_node(case.kind, names, output_names(name), name=name.replace(" ", "_"), **case.attributes))
    outputs = [helper.make_empty_tensor_value_info(key) for name in CASES for key in output_names(name)]
    graph = helper.make_graph(nodes, "operators", inputs, outputs, initializers)
    opset = helper.make_opsetid("", OPSET)
    model = shape_inference.infer_shapes(helper.make_model(graph, ir_version=10, opset_imports=[opset]))
    for output in model.graph.output:  # onnx says nothing of GroupNormalization
        if not output.type.HasField("tensor_type"):
            output.CopyFrom(helper.make_tensor_value_info(output.name, TensorProto.FLOAT, IMAGE))
    return model


def vectors() -> list[dict[str, numpy.ndarray]]:
    """Inputs of the common model."""
    random = numpy.random.RandomState(5)
    return [
        {
            key: random.uniform(case.low, case.high, dims).astype(numpy.float32)
            for name, case in CASES.items()
            for key, dims in zip(input_names(name), case.dims, strict=True)
        }
        for _ in range(VECTORS)
    ]
