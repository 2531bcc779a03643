# SPDX-License-Identifier: MIT
"""Split into any number of pieces, any type: a generated loop over blocks."""

from __future__ import annotations

import math

from aidge_build.backend.spec import SAME, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.export.call import Call, Input, Literal, Output
from aidge_build.export.node import ExportNode, kernel
from aidge_build.graph.dtype import DType


def _quantizations(view: NodeView) -> str:
    wanted = view.inputs[0].quantization
    return "" if all(tensor.quantization == wanted for tensor in view.outputs) else "the outputs differ in scale from the input"


@kernel("Split", ImplSpec(inputs=(IOSpec(DType.any_1, SAME),), outputs=(IOSpec(DType.any_1, SAME),),
                          predicates=(Predicate("all have the same quantization", _quantizations),)))
class Split(ExportNode):
    def call(self) -> Call:
        source, count = self.inputs[0], len(self.outputs)
        position = source.storage.position(self.operator.axis % source.rank)
        inner = math.prod(source.layout.stored_dims[position + 1:]) * source.dtype.size_bytes
        names = [f"part_{index}" for index in range(count)]
        lines = [f"static void aidge_ref_split_{count}(const void *input, {', '.join(f'void *{name}' for name in names)}, int32_t blocks, "
                 f"{', '.join(f'int32_t bytes_{index}' for index in range(count))})", "{", "    const uint8_t *from = (const uint8_t *)input;",
                 "    int32_t block;", "    for (block = 0; block < blocks; block++) {"]
        for index, name in enumerate(names):
            lines += [f"        memcpy((uint8_t *){name} + block * bytes_{index}, from, (uint32_t)bytes_{index});",
                      f"        from += bytes_{index};"]
        text = "\n".join([*lines, "    }", "}"])
        return Call(f"aidge_ref_split_{count}", ("split.h",),
                    (Input(0), *map(Output, range(count)), Literal(math.prod(source.layout.stored_dims[:position])),
                     *(Literal(size * inner) for size in self.operator.sizes)), texts=(text,))
