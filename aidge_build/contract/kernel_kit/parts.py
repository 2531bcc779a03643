# SPDX-License-Identifier: MIT
"""Concatenations and splits of any number of tensors: block by block, each part's bytes as they are or through a table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy

from aidge_build.contract.call import Argument, Call, Constant, Input, Literal, Output
from aidge_build.contract.kernel_kit.conditions import ALL_QUANTIZED
from aidge_build.contract.kernel_kit.tables import table_of
from aidge_build.contract.node import KernelNode
from aidge_build.contract.spec import SAME, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.graph.tensor import Tensor
from aidge_build.operators.view import Identity

AS_IT_IS = -1  # in place of the number of a table


@dataclass(frozen=True)
class PartCopying:
    """The functions with which a library copies. Its file `source` defines `copy`(to, from, bytes) and `table`(to, from, 256
    entries by the stored byte, bytes), of uint8_t; they are inlined, so that literal sizes are constants to them. Names of
    functions begin with `prefix`."""

    prefix: str
    source: str
    copy: str
    table: str

    def concatenation(self, parts: Sequence[Argument], blocks: int, sizes: list[int], tables: tuple[Constant, ...] = ()) -> Call:
        """Returns the call that joins the parts, block by block. `tables`: none, or the tables and for each part the number of
        its table or AS_IT_IS."""
        moves, start = [], 0
        for index, size in enumerate(sizes):
            copy = f"{self.copy}(joint{_plus(start)}, from_{index}, {size});"
            through = f"{self.table}(joint{_plus(start)}, from_{index}, (const uint8_t *)tables + 256 * choice[{index}], {size});"
            moves += [f"if (choice[{index}] < 0) {{", f"    {copy}", "} else {", f"    {through}", "}"] if tables else [copy]
            moves.append(f"from_{index} += {size};")
            start += size
        given = ", const int8_t *tables, const int32_t *choice" if tables else ""
        name = "_".join(map(str, (self.prefix, "concat", *(["tables"] if tables else []), *sizes)))
        text = _by_blocks(
            f"{name}({_each('const void *part_', parts)}, void *output{given}, int32_t blocks)",
            ["uint8_t *joint = (uint8_t *)output;", *_pointers("const uint8_t *from_", sizes)],
            [*moves, f"joint += {start};"],
        )
        return Call(name, (self.source,), (*parts, Output(0), *tables, Literal(blocks)), texts=(text,))

    def split(self, parts: Sequence[Argument], blocks: int, sizes: list[int]) -> Call:
        """Returns the call that splits a joint tensor, block by block: `sizes` bytes of each part in a block."""
        moves, start = [], 0
        for index, size in enumerate(sizes):
            moves += [f"{self.copy}(to_{index}, joint{_plus(start)}, {size});", f"to_{index} += {size};"]
            start += size
        name = "_".join(map(str, (self.prefix, "split", *sizes)))
        text = _by_blocks(
            f"{name}(const void *input, {_each('void *part_', parts)}, int32_t blocks)",
            ["const uint8_t *joint = (const uint8_t *)input;", *_pointers("uint8_t *to_", sizes)],
            [*moves, f"joint += {start};"],
        )
        return Call(name, (self.source,), (Input(0), *parts, Literal(blocks)), texts=(text,))


def _plus(number: int) -> str:
    return f" + {number}" if number else ""


def _each(text: str, items: Sequence) -> str:
    return ", ".join(f"{text}{index}" for index in range(len(items)))


def _pointers(declaration: str, sizes: list[int]) -> list[str]:
    kind = declaration[: declaration.index("*") + 1]
    return [f"{declaration}{index} = ({kind})part_{index};" for index in range(len(sizes))]


def _by_blocks(signature: str, pointers: list[str], moves: list[str]) -> str:
    """Returns the C text of a function that makes the moves for each block."""
    lines = [*pointers, "for (; blocks > 0; blocks--) {", *(f"    {move}" for move in moves), "}"]
    body = "\n".join(f"    {line}" for line in lines)
    return f"static void {signature}\n{{\n{body}\n}}"


class ConcatNode(KernelNode):
    """A concatenation of tensors in the output's storage order; a library's subclass names its `copying`."""

    copying: PartCopying

    def call(self) -> Call:
        order = self.outputs[0].storage.order
        parts = [
            Constant(f"part_{index}", tensor.data.transpose(order)) if tensor.is_constant else Input(index)
            for index, tensor in enumerate(self.inputs)
        ]
        blocks, sizes = _blocks(self.outputs[0], self.operator.axis, [tensor.dims[self.operator.axis] for tensor in self.inputs])
        return self.copying.concatenation(parts, blocks, sizes, self.tables())

    def tables(self) -> tuple[Constant, ...]:
        """Returns the tables and the choice for each part; nothing if no value changes."""
        (output,) = self.outputs
        others = list(dict.fromkeys(tensor.quantization for tensor in self.inputs if tensor.quantization != output.quantization))
        if not others:
            return ()
        examples = [next(tensor for tensor in self.inputs if tensor.quantization == each) for each in others]
        tables = numpy.stack([numpy.roll(table_of(Identity(), tensor, output), 128) for tensor in examples])  # by the byte
        choice = [others.index(tensor.quantization) if tensor.quantization in others else AS_IT_IS for tensor in self.inputs]
        return Constant("tables", tables), Constant("choice", numpy.array(choice, numpy.int32))


class SplitNode(KernelNode):
    """A split of a tensor into any number of pieces in its storage order."""

    copying: PartCopying

    def call(self) -> Call:
        blocks, sizes = _blocks(self.inputs[0], self.operator.axis, self.operator.sizes)
        return self.copying.split([Output(index) for index in range(len(self.outputs))], blocks, sizes)


def _blocks(joint: Tensor, axis: int, lengths: list[int]) -> tuple[int, list[int]]:
    """Returns the number of blocks, and the bytes of each part in a block."""
    position, stored = joint.storage.position(axis % joint.rank), joint.layout.stored_dims
    inner = math.prod(stored[position + 1 :]) * joint.dtype.size_bytes
    return math.prod(stored[:position]), [length * inner for length in lengths]


def _rescaled(view: NodeView) -> str:
    """Returns why values would change without a table; only concatenations of int8 tensors with one scale each have tables."""
    if len({tensor.quantization for tensor in (*view.inputs, *view.outputs)}) == 1:
        return ""
    if view.node.type != "Concat" or view.inputs[0].dtype is not DType.int8:
        return "the inputs and the outputs differ in scale"
    return ALL_QUANTIZED.rejection(view)


def parts_spec(features: frozenset[str] = frozenset()) -> ImplSpec:
    """Returns the spec of any type in any storage order."""
    side = IOSpec(DType.any_1, SAME)
    return ImplSpec(side, predicates=(Predicate("no value changes, or by a table", _rescaled),), features=features)
