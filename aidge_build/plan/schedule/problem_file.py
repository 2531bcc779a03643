# SPDX-License-Identifier: MIT
"""Problem files of the planner: graphs of sized tensors to be ordered and placed, and buffers with fixed lifetimes.

1. JSON object `tensors, ops, inputs, outputs`: bytes per tensor; operations with the tensors they read and write, in a legal
order.
2. JSON list of objects with `buffers`: [[first, last, bytes], ...] with half-open lifetimes.
3. CSV with the columns `id, lower, upper, size` (minimalloc).

Other keys are ignored: known answers in a file do not reach the planner.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from aidge_build.base.errors import AidgeError
from aidge_build.plan.memory.buffer import Buffer
from aidge_build.plan.schedule.order import Order
from aidge_build.plan.schedule.question import Operation, OrderQuestion

LARGEST_NUMBER = 1 << 40  # of bytes, and of steps
# Types of operations that only copy, if they have one input and one output of its size.
IDENTITIES = ("CONCATENATION", "EXPAND_DIMS", "FLATTEN", "IDENTITY", "RESHAPE", "SPLIT", "SPLIT_V", "SQUEEZE")


@dataclass(frozen=True)
class GraphProblem:
    """A question of order and places; `types` are the types of the operations, `numbers` their positions in the file."""

    question: OrderQuestion
    types: tuple[str, ...]
    numbers: tuple[int, ...]

    def buffers(self, order: Order) -> tuple[Buffer, ...]:
        """Returns the tensors with the lifetimes that an order gives them; alignment 1."""
        question, end = self.question, max(1, len(order.order))
        step_of = {operation: step for step, operation in enumerate(order.order)}
        ports = {*question.inputs, *question.outputs}
        found = []
        for tensor, size in enumerate(question.sizes):
            if tensor not in question.producers and tensor not in question.inputs:
                continue
            first = step_of[question.producers[tensor]] if tensor in question.producers else 0
            reads = [step_of[index] for index, operation in enumerate(question.operations) if tensor in operation.inputs]
            kept = tensor in question.outputs or tensor in question.inputs and not reads
            last = end if kept else max(reads, default=first) + 1
            found.append(Buffer(str(tensor), size, 1, first, last, "io" if tensor in ports else "activation"))
        return tuple(found)

    def step_name(self, order: Order, step: int) -> str:
        """Returns the operation that runs in a step, with its number in the file."""
        index = order.order[step] if step < len(order.order) else -1
        return f"op {self.numbers[index]} {self.types[index]}".strip() if index >= 0 else "the start"


@dataclass(frozen=True)
class BufferProblem:
    """A question of places alone."""

    name: str
    buffers: tuple[Buffer, ...]


def is_problem_file(name: str) -> bool:
    """Whether a file of this name is a problem and no model."""
    return name.lower().endswith((".json", ".csv"))


def read_problem(data: bytes, name: str, *, drop_identities: bool = False) -> GraphProblem | tuple[BufferProblem, ...]:
    """Returns the question in a file; AidgeError (PLAN_FILE) says what is wrong with the file."""
    try:
        text = data.decode("utf-8-sig")
        if name.lower().endswith(".csv"):
            return (
                BufferProblem(
                    name,
                    _rows([(row["lower"], row["upper"], row["size"], row["id"]) for row in csv.DictReader(io.StringIO(text))]),
                ),
            )
        content = json.loads(text)
        if isinstance(content, list):
            return tuple(
                BufferProblem(f"instance {number}", _rows([(*row, f"b{index}") for index, row in enumerate(entry["buffers"])]))
                for number, entry in enumerate(content)
            )
        return _graph(content, drop_identities)
    except AidgeError as error:
        raise error.within(name)
    except KeyError as error:
        raise _not_a_problem(name, f"there is no {error}") from error
    except (ValueError, TypeError, AttributeError, IndexError, ArithmeticError, RecursionError) as error:
        raise _not_a_problem(name, str(error)) from error


def _not_a_problem(name: str, reason: str) -> AidgeError:
    return AidgeError(
        f"not a problem of the planner: {reason}",
        where=name,
        code="PLAN_FILE",
        hint="JSON with tensors, ops, inputs, outputs; a JSON list of {buffers}; or CSV id,lower,upper,size",
    )


def _rows(rows: Sequence[Sequence]) -> tuple[Buffer, ...]:
    return tuple(Buffer(str(name), _number(size), 1, _number(first), _number(last)) for first, last, size, name in rows)


def _number(value: object) -> int:
    """Returns the number; ValueError if it is so large that sums are not exact in 64 bits, in which plans are checked."""
    number = int(value)  # type: ignore[call-overload]
    if abs(number) > LARGEST_NUMBER:
        raise ValueError(f"{number} is above {LARGEST_NUMBER:,}")
    return number


def _graph(content: dict, drop_identities: bool) -> GraphProblem:
    sizes = tuple(map(_number, content["tensors"]))
    operations = [Operation(tuple(dict.fromkeys(entry["inputs"])), tuple(entry["outputs"])) for entry in content["ops"]]
    types = [str(entry.get("type", "")).removeprefix("op") for entry in content["ops"]]
    inputs, outputs = tuple(content["inputs"]), tuple(content["outputs"])
    _require_legal(sizes, operations, inputs, outputs)
    numbers: Sequence[int] = range(len(operations))
    if drop_identities:
        kept = [number for number in numbers if not _is_identity(operations[number], types[number], sizes, outputs)]
        left_out = [(operations[number].inputs, operations[number].outputs) for number in numbers if number not in kept]
        renamed = {result: source for (source,), (result,) in left_out}
        operations = [
            replace(operation, inputs=tuple(dict.fromkeys(_root(tensor, renamed) for tensor in operation.inputs)))
            for operation in operations
        ]
        operations, types, numbers = [operations[n] for n in kept], [types[n] for n in kept], kept
    return GraphProblem(OrderQuestion(sizes, tuple(operations), inputs, outputs), tuple(types), tuple(numbers))


def _is_identity(operation: Operation, kind: str, sizes: Sequence[int], outputs: Sequence[int]) -> bool:
    """Whether the operation is a copy and its result is no graph output: a graph output needs bytes of its own."""
    if kind not in IDENTITIES or not len(operation.inputs) == len(operation.outputs) == 1:
        return False
    (source,), (result,) = operation.inputs, operation.outputs
    return sizes[source] == sizes[result] and result not in outputs


def _root(tensor: int, renamed: dict[int, int]) -> int:
    while tensor in renamed:
        tensor = renamed[tensor]
    return tensor


def _require_legal(sizes: Sequence[int], operations: Sequence[Operation], inputs: Sequence[int], outputs: Sequence[int]) -> None:
    """Raises AidgeError unless every tensor exists, is written once, and is written before it is read."""
    known = set(inputs)
    for number, operation in enumerate(operations):
        for tensor in (*operation.inputs, *operation.outputs):
            if type(tensor) is not int or not 0 <= tensor < len(sizes) or sizes[tensor] <= 0:
                raise AidgeError(f"op {number} names tensor {tensor!r}, which has no size", code="PLAN_FILE")
        for tensor in operation.inputs:
            if tensor not in known:
                raise AidgeError(f"op {number} reads tensor {tensor} before it is written", code="PLAN_FILE")
        for tensor in operation.outputs:
            if tensor in known:
                raise AidgeError(f"op {number} writes tensor {tensor}, which exists already", code="PLAN_FILE")
            known.add(tensor)
        if not operation.outputs:
            raise AidgeError(f"op {number} writes nothing", code="PLAN_FILE")
    for tensor in (*inputs, *outputs):
        if tensor not in known or not 0 <= tensor < len(sizes) or sizes[tensor] <= 0:
            raise AidgeError(f"graph input or output {tensor!r} is never written, or has no size", code="PLAN_FILE")
