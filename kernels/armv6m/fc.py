# SPDX-License-Identifier: MIT
"""Fully connected layers in assembly: a row of inputs, of which every weight is used once, straight from flash.

Weights lie in flash as u = w + 128, so that bytes of a word never borrow from each other. Two outputs o, p together: a word
F = u(o, t) + 2^8 u(o, t + 1) + 2^16 u(p, t) + 2^24 u(p, t + 1), and R, which is F with the bytes of its halves exchanged (REV16),
give modulo 2^32

    F a + R b = u(o, t) x(t) + u(o, t + 1) x(t + 1) + 2^16 (the same of p)     where a + 2^8 b = x(t) and 2^8 a + b = x(t + 1),

which a = (1 + 2^16) (x(t) - 2^8 x(t + 1)) and b = (1 + 2^16) (x(t + 1) - 2^8 x(t)) solve, as (1 + 2^16) (1 - 2^16) is 1. At the
end of a chunk of taps a word takes away 128 times the sum of the chunk's inputs, for both outputs, and adds 2^15 to each, after
which both are halfwords without sign, if the weights of the chunk are small enough (`fc_layout`). An output alone needs no
chunks: its taps come from the halves of its words, one after the other.
"""

from __future__ import annotations

from .assembly import Routine

TOGETHER = 4  # outputs: two pairs
PARAMETERS = "aidge_armv6m_fc_block *block"
_NEAR_UNITS = 8  # in a chunk whose beginning a conditional branch still reaches
_UNIT, _CHUNK, _GROUP = 12, 12, 40  # instructions of two taps of four outputs, and what they take once
# On the stack: the fields of aidge_armv6m_fc_block but for the weights, and where these stand in it.
_COLUMNS, _CORRECTIONS, _END, _LEFT, _SUMS, _WEIGHTS = range(0, 24, 4)
_FRAME_BYTES = 24


def pairs_cost(units: int) -> float:
    """Instructions per multiply-accumulate of outputs in pairs, for chunks of so many pairs of taps."""
    return (_UNIT * units + _CHUNK) / (2 * TOGETHER * units)


def singles_cost() -> float:
    """The same of an output alone."""
    return 3.75


def text_bytes(units: int) -> int:
    """Of outputs in pairs."""
    return 2 * (_UNIT * units + _CHUNK + 2 * _GROUP)


def texts(units: tuple[int, ...], turn_units: int, has_singles: bool, others: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """Name and texts of a layer with chunks of so many pairs of taps, rising; `others`: "outliers" or "runs", "marks", "fine"."""
    variant = [f"n{each}" for each in units] + [f"singles{turn_units}"] * has_singles + list(others)
    name = "_".join(["aidge_armv6m_fc_int8", *variant])
    functions, lines = [], []
    for place, each in enumerate(units):
        function, text = _pairs(each)
        functions.append(text)
        if place:
            lines.append(f"aidge_armv6m_fc_join(&block, {each}, {each // units[place - 1]});")
        lines += [f"block.groups = shape->groups_{each};", f"{function}(&block);"]
    if has_singles:
        function, text = _singles(turn_units)
        functions.append(text)
        lines += ["block.groups = shape->singles;", f"{function}(&block);"]
    body = "\n".join(f"            {line}" for line in lines)
    given = "".join(f"{parameters}, " for kind, (parameters, _) in _OTHERS.items() if kind in others and parameters)
    behind = {kind: f"        {call}\n" if kind in others else "" for kind, (_, call) in _OTHERS.items()}
    layer = f"""/* Rows of inputs, in blocks of taps. */
static void {name}(const int8_t *input, int8_t *output, const int32_t *weights, const int32_t *numbers, const uint16_t *order,
                   {given}void *scratch, const aidge_armv6m_fc *shape)
{{
    uint32_t *const columns = (uint32_t *)scratch;
    int32_t *const sums = (int32_t *)columns + shape->column_words;
    int32_t row, first;
    for (row = shape->rows; row > 0; row--) {{
        aidge_armv6m_fc_block block = {{columns, 0, 0, 0, 0, (const uint32_t *)weights}};
        (void)memset(sums, 0, (uint32_t)shape->outputs * sizeof *sums);
        for (first = 0; first < shape->features; first += shape->block_taps) {{
            aidge_armv6m_fc_columns(input + first, shape->features - first, &block, shape);
            block.sums = sums;
{body}
        }}
{behind["outliers"]}{behind["runs"]}        aidge_armv6m_fc_store(sums, output, numbers, order, shape->outputs);
{behind["marks"]}{behind["fine"]}        input += shape->features;
        output += shape->outputs;
    }}
}}"""
    return name, (*functions, layer)


_OTHERS = {  # parameters and call
    "outliers": ("const int16_t *outliers", "aidge_armv6m_fc_add_outliers(input, sums, outliers, shape->outliers);"),
    "runs": ("const int8_t *runs", "aidge_armv6m_fc_add_runs(input, sums, runs, shape->outputs);"),
    "marks": (
        "const uint16_t *marks, const int32_t *corrections",
        "aidge_armv6m_fc_correct(sums, output, numbers, order, marks, corrections, shape->marks);",
    ),
    "fine": ("", "aidge_armv6m_fc_fine(sums, output, numbers, order, marks, shape->marks);"),
}


def _begin(code: Routine) -> None:
    code.push_all()
    code(f"sub sp, #{_FRAME_BYTES}")
    code("mov r7, sp")
    code("ldm r0!, {r1-r5}", "columns, corrections, end, groups, sums")
    code("stm r7!, {r1-r5}")
    code(f"str r0, [sp, #{_WEIGHTS}]")
    code("ldr r1, [r0]", "weights")


def _end(code: Routine) -> None:
    """To the next outputs (label 1), or back."""
    code(f"ldr r4, [sp, #{_LEFT}]")
    code("subs r4, r4, #1")
    code(f"str r4, [sp, #{_LEFT}]")
    code("beq 9f")
    code("b 1b")
    code.label(9)
    code(f"ldr r0, [sp, #{_WEIGHTS}]")
    code("str r1, [r0]")
    code("subs r0, r0, #4")
    code(f"ldr r1, [sp, #{_SUMS}]")
    code("str r1, [r0]")
    code(f"add sp, #{_FRAME_BYTES}")
    code.pop_all()


def _pairs(units: int) -> tuple[str, str]:
    """Four outputs at a time: words of sums of a chunk in r8 and r9, of all in r10 and r11, their high halves in r12 and lr."""
    name = f"aidge_armv6m_fc_int8_pairs_n{units}"
    code = Routine()
    _begin(code)
    code.label(1, "four outputs")
    code(f"ldr r0, [sp, #{_COLUMNS}]")
    code(f"ldr r2, [sp, #{_CORRECTIONS}]")
    code("movs r3, #0")
    for register in ("r10", "r11", "r12", "lr"):
        code(f"mov {register}, r3")
    code.label(2, f"{2 * units} taps")
    for unit in range(units):
        code("ldm r0!, {r5, r6}", "two taps")
        code("ldm r1!, {r3, r4}", "their weights of two pairs of outputs")
        for weights, total in (("r3", "r8"), ("r4", "r9")):
            code(f"rev16 r7, {weights}")
            code(f"muls {weights}, r5")
            code("muls r7, r6")
            code(f"adds {weights}, {weights}, r7")
            if unit + 1 == units:
                code(f"add {weights}, {total}")
            else:
                code(f"add {total}, {weights}" if unit else f"mov {total}, {weights}")
    code("ldm r2!, {r5}", "what the chunk takes away")
    for weights, total, high in (("r3", "r10", "r12"), ("r4", "r11", "lr")):
        code(f"adds {weights}, {weights}, r5")
        code(f"add {total}, {weights}")
        code(f"lsrs {weights}, {weights}, #16")
        code(f"add {high}, {weights}")
    code(f"ldr r5, [sp, #{_END}]")
    code("cmp r0, r5")
    if units <= _NEAR_UNITS:
        code("bne 2b")
    else:
        code("beq 3f")
        code("b 2b")
        code.label(3)
    code(f"ldr r7, [sp, #{_SUMS}]")
    for pair, (total, high) in enumerate((("r10", "r12"), ("r11", "lr"))):
        code(f"mov r4, {high}", f"of output {2 * pair + 1}")
        code("lsls r3, r4, #16")
        code(f"mov r5, {total}")
        code("subs r3, r5, r3", f"of output {2 * pair}")
        code("ldr r5, [r7]")
        code("ldr r6, [r7, #4]")
        code("adds r3, r3, r5")
        code("adds r4, r4, r6")
        code("stm r7!, {r3, r4}")
    code(f"str r7, [sp, #{_SUMS}]")
    _end(code)
    portable = f"aidge_armv6m_fc_pairs_of(block, {units});"
    return name, code.function(name, PARAMETERS, "Sums of four outputs at a time.", portable)


def _singles(turn_units: int) -> tuple[str, str]:
    """One output at a time, its sum in r8."""
    name = f"aidge_armv6m_fc_int8_singles_n{turn_units}"
    code = Routine()
    _begin(code)
    code.label(1, "an output")
    code(f"ldr r3, [sp, #{_END}]")
    code("mov r9, r3")
    code(f"ldr r0, [sp, #{_COLUMNS}]")
    code("movs r3, #0")
    code("mov r8, r3")
    code.label(2, f"{2 * turn_units} taps")
    for _ in range(turn_units // 2):
        code("ldm r0!, {r4-r7}", "four taps")
        code("ldm r1!, {r2}", "their weights")
        for place, half in enumerate(("uxth r3, r2", "lsrs r3, r2, #16")):
            code(half)
            code(f"muls r{4 + 2 * place}, r3")
            code("rev16 r3, r3")
            code(f"muls r{5 + 2 * place}, r3")
        code("adds r4, r4, r5")
        code("adds r6, r6, r7")
        code("adds r4, r4, r6")
        code("add r8, r4")
    code("cmp r0, r9")
    code("bne 2b")
    code("mov r3, r8")
    code("ldr r4, [r0]", "what an output alone takes away")
    code("adds r3, r3, r4")
    code(f"ldr r7, [sp, #{_SUMS}]")
    code("ldr r4, [r7]")
    code("adds r3, r3, r4")
    code("stm r7!, {r3}")
    code(f"str r7, [sp, #{_SUMS}]")
    _end(code)
    return name, code.function(name, PARAMETERS, "Sums of one output at a time.", "aidge_armv6m_fc_singles_of(block);")
