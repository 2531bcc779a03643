# SPDX-License-Identifier: MIT
"""Seeded random networks of the operators that microcontroller models contain; float32, ONNX."""

from __future__ import annotations

import numpy
from onnx import ModelProto, TensorProto, helper, numpy_helper, shape_inference


class RandomNetwork:
    """Grows a network node by node; every random decision comes from the seed.

    `groups`: convolutions may have groups, several outputs per channel of a depthwise one, dilation, and strides of 3.
    `wide`: up to 48 channels and windows of up to 7x7, which take other forms of the kernels.
    """

    def __init__(self, seed: int, nodes: int = 8, opset: int = 17, *, groups: bool = False, wide: bool = False):
        self.random = numpy.random.default_rng(seed)
        self.opset, self.groups, self.wide = opset, groups, wide
        self.nodes, self.constants, self.shapes = [], [], {}
        dims = [1, int(self.random.integers(1, 6)), int(self.random.integers(5, 14)), int(self.random.integers(5, 14))]
        if wide:
            dims[1] = int(self.random.integers(1, 41))
        self.shapes["x"] = dims
        self.current = "x"
        self.input_dims = dims
        for _ in range(nodes):
            self.grow()
        self.finish()

    def pick(self, *choices):
        return choices[int(self.random.integers(len(choices)))]

    def constant(self, values) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(numpy.asarray(values), name))
        return name

    def floats(self, *dims, scale=1.0):
        return (self.random.normal(size=dims) * scale).astype(numpy.float32)

    def add(self, op: str, inputs, dims, **attributes) -> str:
        name = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], f"{op}_{len(self.nodes)}", **attributes))
        self.shapes[name] = list(dims)
        self.current = name
        return name

    def inferred(self, op: str, inputs, **attributes) -> str:
        """Adds a node whose output dims ONNX infers."""
        name = self.add(op, inputs, [], **attributes)
        values = [helper.make_tensor_value_info(i, TensorProto.FLOAT, self.shapes[i]) for i in inputs if i in self.shapes]
        made = helper.make_model(
            helper.make_graph(
                [self.nodes[-1]],
                "one",
                values,
                [helper.make_empty_tensor_value_info(name)],
                [c for c in self.constants if c.name in inputs],
            ),
            opset_imports=[helper.make_opsetid("", self.opset)],
        )
        found = shape_inference.infer_shapes(made, data_prop=True).graph.output[0].type.tensor_type.shape.dim
        self.shapes[name] = [dim.dim_value for dim in found]
        return name

    def grow(self) -> None:
        n, c, h, w = self.shapes[self.current]
        source = self.current
        kind = self.pick(
            "conv",
            "conv",
            "depthwise",
            "pointwise",
            "activation",
            "activation",
            "pool",
            "residual",
            "concat",
            "normalize",
            "scale",
            "pad",
        )
        if kind in ("conv", "depthwise", "pointwise"):
            self.convolve(source, c, h, w, kind)
        elif kind == "activation":
            self.activate(source)
        elif kind == "pool" and min(h, w) >= 4:
            window = {
                "kernel_shape": self.pick([2, 2], [3, 3], [3, 2]),
                "strides": self.pick([1, 1], [2, 2], [2, 1]),
                "ceil_mode": int(self.pick(0, 1)),
            }
            padding = self.pick({}, {"pads": [1, 1, 1, 1]}, {"pads": [0, 1, 1, 0]})
            if self.window_in_the_pads((h, w), **window, **padding):
                window["ceil_mode"] = 0
            if self.pick(True, False):
                self.inferred("MaxPool", [source], **window, **padding)
            else:
                self.inferred("AveragePool", [source], **window, **padding, count_include_pad=int(self.pick(0, 1)))
        elif kind == "residual":
            branch = self.convolve(source, c, h, w, "same")
            self.add(self.pick("Add", "Add", "Sub", "Mul"), [source, branch], [n, c, h, w])
        elif kind == "concat":
            branch = self.activate(source)
            self.add("Concat", [source, branch], [n, 2 * c, h, w], axis=1)
        elif kind == "normalize":
            values = [self.floats(c) + 1, self.floats(c), self.floats(c), numpy.abs(self.floats(c)) + numpy.float32(0.5)]
            self.add("BatchNormalization", [source, *map(self.constant, values)], [n, c, h, w])
        elif kind == "scale":
            self.add(
                self.pick("Mul", "Add", "Sub"),
                [source, self.constant(self.pick(self.floats(1), self.floats(1, c, 1, 1)))],
                [n, c, h, w],
            )
        elif kind == "pad":
            self.add("Pad", [source, self.constant(numpy.array([0, 0, 1, 0, 0, 0, 0, 1]))], [n, c, h + 1, w + 1])

    @staticmethod
    def window_in_the_pads(sizes, kernel_shape, strides, pads=(0, 0, 0, 0), **_) -> bool:
        """Whether ceil_mode lets a window start in the pads behind the data: ONNX leaves it out, its shape inference counts
        it."""
        return any(
            -(-(size + before + behind - kernel) // stride) * stride >= size + before
            for size, kernel, stride, before, behind in zip(sizes, kernel_shape, strides, pads[:2], pads[2:])
        )

    def convolve(self, source, c, h, w, kind) -> str:
        groups = c if kind == "depthwise" else 1
        outputs = c if kind in ("depthwise", "same") else int(self.random.integers(1, 49 if self.wide else 10))
        if self.groups and kind == "depthwise":
            outputs = c * self.pick(1, 2, 3, 4)
        elif self.groups and kind != "same":
            groups = self.pick(*[divisor for divisor in range(1, c + 1) if c % divisor == 0])
            outputs = groups * int(self.random.integers(1, 9))
        size = self.window(kind)
        attributes = {"kernel_shape": size, "group": groups}
        if kind == "same":
            attributes["pads"] = [1, 1, 1, 1]
        elif self.pick(True, False) or min(h, w) < max(4, max(size) + 1):
            attributes |= {"auto_pad": self.pick("SAME_UPPER", "SAME_LOWER"), "strides": self.pick([1, 1], [2, 2], [1, 2])}
        else:
            attributes |= {"pads": self.pick([0, 0, 0, 0], [1, 1, 1, 1], [0, 1, 1, 0]), "strides": self.pick([1, 1], [2, 2])}
        if (
            self.groups
            and kind != "same"
            and "pads" in attributes
            and min(h, w) > max(8, 3 * max(size) - 1)
            and self.pick(True, False)
        ):
            attributes |= {"dilations": self.pick([2, 2], [1, 3]), "strides": self.pick([1, 1], [3, 3])}
        weights = self.constant(self.floats(outputs, c // groups, *size, scale=1 / numpy.sqrt(c // groups * size[0] * size[1])))
        bias = [self.constant(self.floats(outputs, scale=0.2))] if self.pick(True, True, False) else []
        return self.inferred("Conv", [source, weights, *bias], **attributes)

    def window(self, kind: str) -> list[int]:
        if kind in ("pointwise", "same"):
            return [1, 1] if kind == "pointwise" else [3, 3]
        if self.wide:
            return self.pick([3, 3], [5, 5], [7, 7], [1, 5], [7, 1], [4, 6])
        return self.pick([3, 3], [3, 1], [2, 3])

    def activate(self, source) -> str:
        dims = self.shapes[source]
        kind = self.pick("Relu", "Relu", "Clip", "LeakyRelu", "Sigmoid", "Tanh", "HardSwish")
        if kind == "Clip":
            return self.add("Clip", [source, self.constant(numpy.float32(0)), self.constant(numpy.float32(6))], dims)
        return self.add(kind, [source], dims, **({"alpha": 0.1} if kind == "LeakyRelu" else {}))

    def finish(self) -> None:
        n, c, h, w = self.shapes[self.current]
        ending = self.pick("flatten", "pool", "pool", "none")
        if ending == "none":
            return
        if ending == "pool":
            self.add("GlobalAveragePool", [self.current], [n, c, 1, 1])
            h = w = 1
        features = c * h * w
        if self.pick(True, False):
            self.add("Flatten", [self.current], [n, features])
        else:
            self.add("Reshape", [self.current, self.constant(numpy.array([n, features]))], [n, features])
        classes = int(self.random.integers(2, 11))
        weights = self.floats(features, classes, scale=1 / numpy.sqrt(features))
        if self.pick(True, False):
            self.add(
                "Gemm",
                [self.current, self.constant(weights.T.copy()), self.constant(self.floats(classes))],
                [n, classes],
                transB=1,
            )
        else:
            self.add("MatMul", [self.current, self.constant(weights)], [n, classes])
            self.add("Add", [self.current, self.constant(self.floats(classes))], [n, classes])
        if self.pick(True, False):
            self.add("Softmax", [self.current], [n, classes])

    def model(self) -> ModelProto:
        """The network as an ONNX model."""
        graph = helper.make_graph(
            self.nodes,
            "random",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, self.input_dims)],
            [helper.make_tensor_value_info(self.current, TensorProto.FLOAT, self.shapes[self.current])],
            self.constants,
        )
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)])
        made.ir_version = 8
        return made

    def inputs(self, count: int) -> numpy.ndarray:
        """Random input vectors."""
        return self.random.normal(size=(count, *self.input_dims)).astype(numpy.float32)
