# SPDX-License-Identifier: MIT
"""Fully connected layers in assembly: a row of inputs, of which every weight is used once, straight from flash.

Weights lie in flash as u = w + 128, so that bytes of a word never borrow from each other. Two outputs o, p together: a word
F = u(o, t) + 2^8 u(o, t + 1) + 2^16 u(p, t) + 2^24 u(p, t + 1) has the odd taps in G = (F >> 8) & 0xFF00FF, and

    F x(t) + G (x(t + 1) - 256 x(t)) = u(o, t) x(t) + u(o, t + 1) x(t + 1) + 2^16 (the same of p)

modulo 2^32: columns hold x(t) and x(t + 1) - 256 x(t). At the end of a chunk of taps a word of the column takes away 128 times
the sum of the chunk's inputs, for both outputs, and adds 2^15 to each, after which both are halfwords without sign, if the
weights of the chunk are small enough. One output alone needs no chunks: its four taps are taken from the two halves of its words.
"""

from __future__ import annotations

from .assembly import Routine

TOGETHER = 4  # outputs: two pairs
PARAMETERS = "const uint32_t *columns, const uint32_t *weights, int32_t *sums, const aidge_armv6m_fc *shape"
# On the stack.
_COLUMNS, _COLUMN_END, _LEFT, _SUMS = 0, 4, 8, 12
_FRAME_BYTES = 16
# The struct of fc.h.
_PAIRED, _SINGLE, _COLUMN_BYTES = 0, 4, 8


def costs(units: int) -> tuple[float, float]:
    """Instructions per multiply-accumulate of outputs in pairs, and of one alone, for chunks of so many pairs of taps."""
    return (14 * units + 12) / (8 * units), (7 * units + 4) / (2 * units)


def texts(units: int, has_pairs: bool, has_singles: bool, has_kinds: bool) -> tuple[str, tuple[str, ...]]:
    """Name and texts of a layer."""
    name = f"aidge_armv6m_fc_int8_n{units}{'_pairs' * has_pairs}{'_singles' * has_singles}{'_corrected' * has_kinds}"
    functions, calls = [], []
    for wanted, make in ((has_pairs, _pairs), (has_singles, _singles)):
        if wanted:
            function, text = make(units)
            functions.append(text)
            calls.append(function)
    lines = []
    if has_pairs:
        lines.append(f"            {calls[0]}(columns, block, sums, shape);")
        lines.append("            block += shape->pair_words;")
    if has_singles:
        lines.append(f"            {calls[-1]}(columns, block, sums + 4 * shape->paired, shape);")
        lines.append("            block += shape->single_words;")
    body = "\n".join(lines)
    correct = "        aidge_armv6m_fc_correct(sums, output, numbers, order, kinds, corrections, shape->outputs);\n" * has_kinds
    given = "const uint8_t *kinds, const int32_t *corrections, " * has_kinds
    layer = f"""/* Rows of inputs, in blocks of taps. */
static void {name}(const int8_t *input, int8_t *output, const int32_t *weights, const int32_t *numbers, const uint16_t *order,
                   {given}void *scratch, const aidge_armv6m_fc *shape)
{{
    uint32_t *const columns = (uint32_t *)scratch;
    int32_t *const sums = (int32_t *)columns + shape->column_bytes / 4 + 1;
    int32_t row, first;
    for (row = shape->rows; row > 0; row--) {{
        const uint32_t *block = (const uint32_t *)weights;
        memset(sums, 0, (uint32_t)shape->outputs * sizeof *sums);
        for (first = 0; first < shape->features; first += shape->block_taps) {{
            aidge_armv6m_fc_columns(input + first, shape->features - first, columns, {units}, shape);
{body}
        }}
        aidge_armv6m_fc_store(sums, output, numbers, order, shape->outputs);
{correct}        input += shape->features;
        output += shape->outputs;
    }}
}}"""
    return name, (*functions, layer)


def _begin(code: Routine, left: int) -> None:
    code.push_all()
    code(f"sub sp, #{_FRAME_BYTES}")
    code(f"str r0, [sp, #{_COLUMNS}]")
    code(f"ldr r4, [r3, #{_COLUMN_BYTES}]")
    code("adds r4, r4, r0")
    code(f"str r4, [sp, #{_COLUMN_END}]")
    code(f"ldr r4, [r3, #{left}]")
    code(f"str r4, [sp, #{_LEFT}]")
    code(f"str r2, [sp, #{_SUMS}]")


def _end(code: Routine) -> None:
    """To the next outputs (label 1), or back."""
    code(f"ldr r4, [sp, #{_LEFT}]")
    code("subs r4, r4, #1")
    code(f"str r4, [sp, #{_LEFT}]")
    code("beq 9f")
    code("b 1b")
    code.label(9)
    code(f"add sp, #{_FRAME_BYTES}")
    code.pop_all()


def _next_chunk(code: Routine, spare: str) -> None:
    code(f"ldr {spare}, [sp, #{_COLUMN_END}]")
    code(f"cmp r0, {spare}")
    code("beq 3f")
    code("b 2b")
    code.label(3)


def _pairs(units: int) -> tuple[str, str]:
    """Four outputs at a time: words of sums of a chunk in r8 and r9, of all in r10 and r11, their high halves in r12 and lr."""
    name = f"aidge_armv6m_fc_int8_pairs_n{units}"
    code = Routine()
    _begin(code, _PAIRED)
    code("movs r2, #255")
    code("lsls r3, r2, #16")
    code("orrs r2, r3", "the bytes of even taps")
    code.label(1, "four outputs")
    code(f"ldr r0, [sp, #{_COLUMNS}]")
    code("movs r3, #0")
    for register in ("r10", "r11", "r12", "lr"):
        code(f"mov {register}, r3")
    code.label(2, f"{2 * units} taps")
    for unit in range(units):
        code("ldm r0!, {r5, r6}", "two taps")
        code("ldm r1!, {r3, r4}", "their weights of two pairs of outputs")
        for weights, total in (("r3", "r8"), ("r4", "r9")):
            code(f"lsrs r7, {weights}, #8")
            code("ands r7, r2")
            code(f"muls {weights}, r5")
            code("muls r7, r6")
            code(f"adds {weights}, {weights}, r7")
            if unit + 1 == units:
                if unit:
                    code(f"add {weights}, {total}")
            else:
                code(f"add {total}, {weights}" if unit else f"mov {total}, {weights}")
    code("ldm r0!, {r5}", "what the chunk takes away")
    for weights, total, high in (("r3", "r10", "r12"), ("r4", "r11", "lr")):
        code(f"adds {weights}, {weights}, r5")
        code(f"add {total}, {weights}")
        code(f"lsrs {weights}, {weights}, #16")
        code(f"add {high}, {weights}")
    _next_chunk(code, "r5")
    for pair, (total, high) in enumerate((("r10", "r12"), ("r11", "lr"))):
        code(f"mov r4, {high}", f"of output {2 * pair + 1}")
        code("lsls r3, r4, #16")
        code(f"mov r5, {total}")
        code("subs r3, r5, r3", f"of output {2 * pair}")
        code(f"ldr r7, [sp, #{_SUMS}]")
        code("ldr r5, [r7]")
        code("ldr r6, [r7, #4]")
        code("adds r3, r3, r5")
        code("adds r4, r4, r6")
        code("stm r7!, {r3, r4}")
        code(f"str r7, [sp, #{_SUMS}]")
    _end(code)
    portable = f"aidge_armv6m_fc_pairs_of(columns, weights, sums, shape, {units});"
    return name, code.function(name, PARAMETERS, "Sums of four outputs at a time.", portable)


def _singles(units: int) -> tuple[str, str]:
    """One output at a time, its sum in r8."""
    name = f"aidge_armv6m_fc_int8_singles_n{units}"
    code = Routine()
    _begin(code, _SINGLE)
    code.label(1, "an output")
    code(f"ldr r0, [sp, #{_COLUMNS}]")
    code("movs r3, #0")
    code("mov r8, r3")
    code.label(2, f"{2 * units} taps")
    for _ in range(units // 2):
        code("ldm r0!, {r4-r7}", "four taps")
        code("ldm r1!, {r2}", "their weights")
        code("uxth r3, r2")
        code("muls r4, r3")
        code("lsrs r3, r3, #8")
        code("muls r5, r3")
        code("lsrs r3, r2, #16")
        code("muls r6, r3")
        code("lsrs r2, r2, #24")
        code("muls r7, r2")
        code("adds r4, r4, r5")
        code("adds r6, r6, r7")
        code("adds r4, r4, r6")
        code("add r8, r4")
    code("adds r0, #4", "what pairs take away")
    _next_chunk(code, "r5")
    code("mov r3, r8")
    code("ldr r4, [r0]", "what an output alone takes away")
    code("adds r3, r3, r4")
    code(f"ldr r7, [sp, #{_SUMS}]")
    code("ldr r4, [r7]")
    code("adds r3, r3, r4")
    code("stm r7!, {r3}")
    code(f"str r7, [sp, #{_SUMS}]")
    _end(code)
    portable = f"aidge_armv6m_fc_singles_of(columns, weights, sums, shape, {units});"
    return name, code.function(name, PARAMETERS, "Sums of one output at a time.", portable)
