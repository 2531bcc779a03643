# SPDX-License-Identifier: MIT
"""Recurrent layers as Keras writes them where they are not unrolled: a WHILE over the rows of a tensor."""

from __future__ import annotations

from dataclasses import dataclass

import numpy

from tests.tflite_files import Graph, write

STEPS, FEATURES, UNITS = 5, 3, 4
SUM = (11, (0, "int8", 0))
GATES = {"LSTM": 4, "GRU": 3, "GRU before": 3, "RNN": 1}


@dataclass(frozen=True)
class Loop:
    """`sequences`: the rows of all steps are gathered, else the last one. `oddity` is what makes the body no cell. `tensor_list`:
    the rows are in a TensorList of TensorFlow."""

    kind: str = "LSTM"
    sequences: bool = True
    oddity: str = ""
    steps: int = STEPS
    batch: int = 1
    tensor_list: bool = False

    def parameter(self, name: str, *dims: int) -> numpy.ndarray:
        return numpy.random.default_rng(sum(map(ord, name))).uniform(-0.8, 0.8, dims).astype(numpy.float32)

    @property
    def weights(self) -> tuple[numpy.ndarray, ...]:
        """W, R, the bias of the data's part, and of the state's part."""
        rows = GATES[self.kind] * UNITS
        return (
            self.parameter("W", rows, FEATURES),
            self.parameter("R", rows, UNITS),
            self.parameter("b", rows),
            self.parameter("c", rows) if self.kind == "GRU" else numpy.zeros(rows, numpy.float32),
        )

    def file(self) -> bytes:
        """Two counters, a list, the states, and the data, in this order."""
        graph, states = Graph(), 2 if self.kind == "LSTM" else 1
        data = graph.input((self.steps, self.batch, FEATURES), name="x")
        zero = graph.constant(numpy.int32(0))
        rows = self.steps if self.sequences else 1
        kinds = [((), "int32")] * 2 + [((rows, self.batch, UNITS), "float32")] + [((self.batch, UNITS), "float32")] * states
        given = [zero, zero, *(graph.constant(numpy.zeros(dims, numpy.float32)) for dims, _ in kinds[2:]), data]
        kinds.append(((self.steps, self.batch, FEATURES), "float32"))
        if self.tensor_list:
            shape = graph.constant([-1, UNITS], numpy.int32)
            kinds[2], given[2] = ((), "VARIANT"), graph.tensor((), "VARIANT")
            graph.node("CUSTOM FlexTensorListReserve", [shape, graph.constant(numpy.int32(rows))], [given[2]])
        made = [graph.tensor(dims, dtype) for dims, dtype in kinds]
        graph.node("WHILE", given, made, 93, (0, "int32", 1), (1, "int32", 2))
        if self.tensor_list:
            made = [*made, graph.tensor((rows, self.batch, UNITS))]
            graph.node("CUSTOM FlexTensorListStack", [made[2], shape], [made[-1]])
        graph.node(
            "RESHAPE",
            [made[-1 if self.tensor_list else 2], graph.constant([-1], numpy.int32)],
            [graph.output((rows * self.batch * UNITS,))],
        )
        condition, body = Graph(), Graph()
        for inner in (condition, body):
            for dims, dtype in kinds:
                inner.input(dims, dtype)
        bound = condition.tensor((1, 1, 1) if self.oddity == "data decide" else (), "bool")
        if self.oddity == "data decide":
            zeros, ones = (condition.constant([number] * 3, numpy.int32) for number in (0, 1))
            condition.node("SLICE", [condition.inputs[-1], zeros, ones], [condition.tensor((1, 1, 1))])
            condition.node("LESS", [bound + 3, condition.constant(numpy.float32(9))], [bound])
        else:
            condition.node("LESS", [condition.inputs[0], condition.constant(numpy.int32(self.steps))], [bound])
        condition.outputs = [bound]
        _Body(self, body).write()
        return write([graph, condition, body])

    def expected(self, x: numpy.ndarray) -> numpy.ndarray:
        """The rows of all steps, or the last one, by the equations of the layer in float64."""
        weights, recurrence, bias, second = (one.astype(float) for one in self.weights)
        h, c, rows = numpy.zeros((self.batch, UNITS)), numpy.zeros((self.batch, UNITS)), []
        for row in x.astype(float):
            own, after = row @ weights.T + bias, h @ recurrence.T + second
            if self.kind == "LSTM":
                i, f, g, o = numpy.split(own + after, 4, 1)
                c = sigmoid(f) * c + sigmoid(i) * numpy.tanh(g)
                h = sigmoid(o) * numpy.tanh(c)
            elif self.kind == "RNN":
                h = numpy.tanh(own + after)
            else:
                z, r = (sigmoid(own[:, k : k + UNITS] + after[:, k : k + UNITS]) for k in (0, UNITS))
                inner = r * after[:, 2 * UNITS :] if self.kind == "GRU" else (r * h) @ recurrence[2 * UNITS :].T
                h = z * h + (1 - z) * numpy.tanh(own[:, 2 * UNITS :] + inner)
            h = h * 0.5 if self.oddity == "scaled" else h + len(rows) if self.oddity == "counts" else h
            rows.append(h)
        return numpy.concatenate(rows if self.sequences else rows[-1:]).reshape(-1)


def sigmoid(values: numpy.ndarray) -> numpy.ndarray:
    return 1 / (1 + numpy.exp(-values))


class _Body:
    """One step."""

    def __init__(self, loop: Loop, graph: Graph):
        self.loop, self.graph = loop, graph
        self.counter, self.second, self.list, self.h, *self.c = graph.inputs[:-1]
        self.data = graph.inputs[-1]

    def add(self, kind, inputs, options=(), dims=None, dtype="float32"):
        made = self.graph.tensor((self.loop.batch, UNITS) if dims is None else dims, dtype)
        self.graph.node(kind, inputs, [made], *options)
        return made

    def product(self, data, weights, bias):
        names = [data, self.graph.constant(weights), self.graph.constant(bias)]
        return self.add("FULLY_CONNECTED", names, (8, (0, "int8", 0)), (self.loop.batch, len(weights)))

    def parts(self, value, count):
        made = [self.graph.tensor((self.loop.batch, UNITS)) for _ in range(count)]
        self.graph.node("SPLIT", [self.graph.constant(numpy.int32(-1)), value], made, 35, (0, "int32", count))
        return made

    def write(self) -> None:
        graph, loop, batch = self.graph, self.loop, self.loop.batch
        one = graph.constant(numpy.int32(1))
        counters = [self.add("ADD", [value, one], SUM, (), "int32") for value in (self.counter, self.second)]
        row = self.add("GATHER", [self.data, self.second], (23, (0, "int32", 0)), (batch, FEATURES))
        h, *c = getattr(self, loop.kind.split()[0].lower())(row)
        if loop.oddity == "scaled":
            h = self.add("MUL", [h, graph.constant(numpy.float32(0.5))], (21, (0, "int8", 0)))
        if loop.oddity == "counts":
            h = self.add("ADD", [h, self.add("CAST", [self.counter], (37,), ())], SUM)
        if loop.tensor_list:
            place = self.counter if loop.sequences else graph.constant(numpy.int32(0))
            listed = self.add("CUSTOM FlexTensorListSetItem", [self.list, place, h], (), (), "VARIANT")
            self.graph.outputs = [*counters, listed, h, *c, self.data]
            return
        item = self.add("RESHAPE", [h, graph.constant([1, batch, UNITS], numpy.int32)], dims=(1, batch, UNITS))
        self.graph.outputs = [*counters, self.listed(item, counters[0]) if loop.sequences else item, h, *c, self.data]

    def listed(self, item, following):
        """The list with the item in the row of this step."""
        graph, batch = self.graph, self.loop.batch

        def places(counter, rest):
            one = self.add("RESHAPE", [counter, graph.constant([1], numpy.int32)], dims=(1,), dtype="int32")
            return self.add("CONCATENATION", [one, graph.constant(rest, numpy.int32)], (10, (0, "int32", 0)), (3,), "int32")

        zeros, all_of_it = graph.constant([0, 0, 0], numpy.int32), graph.constant([-1, -1, -1], numpy.int32)
        made = [self.graph.tensor((1, batch, UNITS), signature=[-1, batch, UNITS]) for _ in range(2)]
        graph.node("SLICE", [self.list, zeros, places(self.counter, [-1, -1])], [made[0]])
        graph.node("SLICE", [self.list, places(following, [0, 0]), all_of_it], [made[1]])
        dims = (self.loop.steps, batch, UNITS)
        return self.add("CONCATENATION", [made[0], item, made[1]], (10, (0, "int32", 0)), dims)

    def curve(self, kind, value):
        return self.add(kind, [value])

    def times(self, *values):
        return self.add("MUL", values, (21, (0, "int8", 0)))

    def plus(self, *values, count=1):
        return self.add("ADD", values, SUM, (self.loop.batch, count * UNITS))

    def rnn(self, row):
        weights, recurrence, bias, second = self.loop.weights
        return [self.curve("TANH", self.plus(self.product(self.h, recurrence, second), self.product(row, weights, bias)))]

    def lstm(self, row):
        weights, recurrence, bias, second = self.loop.weights
        sums = self.plus(self.product(row, weights, bias), self.product(self.h, recurrence, second), count=4)
        i, f, g, o = self.parts(sums, 4)
        i, f, o = (self.curve("LOGISTIC", gate) for gate in (i, f, o))
        c = self.plus(self.times(f, self.c[0]), self.times(i, self.curve("TANH", g)))
        return [self.times(o, self.curve("TANH", c)), c]

    def gru(self, row):
        weights, recurrence, bias, second = self.loop.weights
        own, last = self.parts(self.product(row, weights, bias), 3), 2 * UNITS
        if self.loop.kind == "GRU":
            after = self.parts(self.product(self.h, recurrence, second), 3)
        else:
            after = self.parts(self.product(self.h, recurrence[:last], second[:last]), 2)
        z, r = (self.curve("LOGISTIC", self.plus(*pair)) for pair in zip(own[:2], after))
        if self.loop.kind == "GRU":
            inner = self.times(r, after[2])
        else:
            inner = self.product(self.times(r, self.h), recurrence[last:], second[last:])
        rest = self.add("SUB", [self.graph.constant(numpy.float32(1)), z], (28, (0, "int8", 0)))
        new = self.curve("TANH", self.plus(own[2], inner))
        return [self.plus(self.times(z, self.h), self.times(rest, new))]
