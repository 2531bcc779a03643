# SPDX-License-Identifier: MIT
"""Rows of a fully connected layer with many zeros: only blocks of 4 taps with a weight are in flash, and are multiplied.

The stream has for each output its blocks and the byte END. A block is a byte, the number of blocks without a weight that precede
it, and 4 weights as the model has them.
"""

from __future__ import annotations

import numpy

from aidge_build.contract.kernel_kit.narrow.core import Core
from aidge_build.contract.kernel_kit.narrow.packing import BLOCK

END = 255
MOST_KEPT = 0.3  # of the blocks; a block takes nearly three times the instructions of 4 weights in pairs of outputs
_PARAMETERS = "const int8_t *input, int32_t *sums, const int8_t *blocks, int32_t outputs"


def fits(rows: numpy.ndarray, is_packed: bool) -> bool:
    """Whether few enough blocks of weights [outputs, features] are kept; packed weights take half of the bytes."""
    if rows.shape[1] % BLOCK:
        return False
    return bool(rows.reshape(-1, BLOCK).any(axis=1).mean() <= MOST_KEPT / (1 + is_packed))


def stream(rows: numpy.ndarray) -> numpy.ndarray:
    """Returns the stream of weights [outputs, features] as int8."""
    found: list[int] = []
    for row in rows.reshape(len(rows), -1, BLOCK):
        place = 0
        for block in numpy.flatnonzero(row.any(axis=1)).tolist():
            while block - place >= END:
                found += [END - 1, 0, 0, 0, 0]
                place += END
            found += [block - place, *row[block].tolist()]
            place = block + 1
        found.append(END)
    return numpy.array(found).astype(numpy.int8)


def texts(core: Core, has_marks: bool, store: str) -> tuple[str, tuple[str, ...]]:
    """Name and texts of a layer; `store` is the text of the function that makes outputs from sums."""
    sums, sums_text = _sums(core)
    name = f"{core.prefix}_fc_blocks_int8{'_marks' * has_marks}"
    given = "const uint16_t *marks, const int32_t *corrections, " * has_marks
    cursors = "const uint16_t *next_marks = marks;\n        const int32_t *next_corrections = corrections;\n        " * has_marks
    correct = "next_marks = aidge_kit_narrow_fc_correct(sums, &target, next_marks, &next_corrections);\n            " * has_marks
    layer = f"""/* Rows of inputs. */
static void {name}(const int8_t *input, int8_t *output, const int8_t *blocks, const int32_t *numbers, const uint16_t *order,
                   {given}void *scratch, const aidge_kit_narrow_fc *shape)
{{
    int32_t *const sums = (int32_t *)scratch;
    int32_t row, left, count;
    for (row = shape->rows; row > 0; row--) {{
        aidge_kit_narrow_fc_outputs target = {{output, numbers, numbers + AIDGE_KIT_NARROW_FC_HEAD, order}};
        {cursors}const int8_t *next_blocks = blocks;
        for (left = shape->outputs; left > 0; left -= count) {{
            count = left < shape->piece ? left : shape->piece;
            next_blocks = {sums}(input, sums, next_blocks, count);
            aidge_kit_narrow_fc_store(sums, &target, count);
            {correct}target.numbers += 4 * count;
            target.order += count;
        }}
        input += shape->features;
        output += shape->outputs;
    }}
}}"""
    return name, (store, sums_text, layer)


def _sums(core: Core) -> tuple[str, str]:
    """Some outputs, at least one; returns what follows their blocks."""
    code = core.emitter()
    name = f"{core.prefix}_fc_blocks_int8_sums"
    places = [f"#{tap}" for tap in range(BLOCK)]
    code("%enter.low")
    for kept, given in {"row": "input", "sums_at": "sums", "left": "outputs"}.items():
        code(f"mov %{kept}, %{given}")
    if not code.loads_bytes_anywhere:  # a byte with its sign has its distance in a register
        for tap in range(BLOCK):
            code(f"movs %at{tap}, #{tap}")
        places = [f"%at{tap}" for tap in range(BLOCK)]
    code.label("output", "an output")
    code("movs %x, #0")
    code("mov %sum, %x")
    code("mov %value, %row")
    code(f"subs %blocks, #{BLOCK}")
    code("b %next_block")
    code.label("block")
    code(f"lsls %x, %x, #{BLOCK.bit_length() - 1}")
    code("adds %value, %value, %x")
    for place in places:
        code(f"ldrsb %x, [%value, {place}]")
        code(f"ldrsb %weight, [%blocks, {place}]")
        code("muls %x, %weight")
        code("add %sum, %x")
    code(f"adds %value, #{BLOCK}")
    code.label("next_block")
    code(f"ldrb %x, [%blocks, #{BLOCK}]", "blocks without a weight")
    code(f"adds %blocks, #{BLOCK + 1}")
    code(f"cmp %x, #{END}")
    code("bne %block")
    code("mov %x, %sum")
    code("mov %weight, %sums_at")
    code("stm %weight!, {%x}")
    code("mov %sums_at, %weight")
    code("mov %x, %left")
    code("subs %x, %x, #1")
    code("mov %left, %x")
    code("bne %output")
    code("mov %next, %blocks")
    code("%leave %next")
    return name, code.function(name, _PARAMETERS, "Sums of outputs from their blocks.", result="const int8_t *")
