# SPDX-License-Identifier: MIT
"""Fully connected layers in assembly: a row of inputs; every weight is used once, straight from flash.

Weights are in flash as u = w + 128, so that bytes of a word never borrow from each other; w + 8 if all weights have 4 bits: two
words then share one. Two outputs o, p together: a word
F = u(o, t) + 2^8 u(o, t + 1) + 2^16 u(p, t) + 2^24 u(p, t + 1), and R, which is F with the bytes of its halves exchanged (REV16),
give modulo 2^32

    F a + R b = u(o, t) x(t) + u(o, t + 1) x(t + 1) + 2^16 (the same of p)     where a + 2^8 b = x(t) and 2^8 a + b = x(t + 1),

which a = (1 + 2^16) (x(t) - 2^8 x(t + 1)) and b = (1 + 2^16) (x(t + 1) - 2^8 x(t)) solve, as (1 + 2^16) (1 - 2^16) is 1. At the
end of a chunk of taps a word takes away 128 or 8 times the sum of the chunk's inputs, for both outputs, and adds 2^15 to each,
after which both are halfwords without sign, if the weights of the chunk are small enough (`fc_layout`). An output alone needs no
chunks: its taps come from the halves of its words, one after the other.

A layer with taps of one block (`fc_layout`) has the sums of a piece of its outputs in memory, stores these outputs and goes on;
one of several blocks has all sums. On a core with the upper half of a product, sums of one block begin in registers.
"""

from __future__ import annotations

from textwrap import indent

from aidge_build.contract.kernel_kit.narrow.core import Core
from aidge_build.contract.kernel_kit.narrow.fc_singles import PARAMETERS, end, singles
from aidge_build.contract.kernel_kit.routine import Routine

_NEAR_UNITS, _NEAR_UNITS_OF_NIBBLES = 8, 4  # in a chunk; a conditional branch still reaches its begin
_UNIT, _CHUNK, _GROUP = 6, 6, 20  # instructions of two taps of two outputs, and what they take once
_STEP = " " * 4
_ONE_BLOCK = "block.end = columns + shape->taps;\naidge_kit_narrow_fc_columns(input, shape->features, {}, &block, shape);"
_FIELDS = "columns", "corrections", "end", "sums_end", "sums", "weights"  # of the block


def pairs_cost(units: int) -> float:
    """Instructions per multiply-accumulate of outputs in pairs, for chunks of so many pairs of taps."""
    return (_UNIT * units + _CHUNK) / (4 * units)


def singles_cost() -> float:
    """The same of an output alone."""
    return 3.75


def text_bytes(units: int, together: int) -> int:
    """Returns the bytes of code of so many outputs in pairs."""
    return together * (_UNIT * units + _CHUNK + 2 * _GROUP)


def what_is_added(is_packed: bool) -> int:
    """Returns the number that makes weights of 8 bits, or of 4, unsigned."""
    return 8 if is_packed else 128


def texts(
    core: Core,
    units: tuple[int, ...],
    turn_units: int,
    has_singles: bool,
    others: tuple[str, ...],
    is_in_pieces: bool,
    has_one_block: bool,
    is_packed: bool,
) -> tuple[str, tuple[str, ...]]:
    """Name and texts of a layer with chunks of so many pairs of taps, rising; `others`: kinds of `_PARAMETERS`;
    `is_packed`: weights of groups have 4 bits."""
    is_once = has_one_block and core.emitter.multiplies_high
    variant = [f"n{each}" for each in units] + ["p"] * is_in_pieces + ["once"] * is_once
    variant += ["packed"] * is_packed + [f"singles{turn_units}"] * has_singles + list(others)
    name = "_".join([f"{core.prefix}_fc_int8", *variant])
    calls, functions = [], [store_text(core)]
    for place, each in enumerate(units):
        function, text = _pairs(core, each, is_once, is_packed)
        functions.append(text)
        join = f"aidge_kit_narrow_fc_join(&block, {each}, {each // units[place - 1]});\n" if place else ""
        calls.append((join, f"{core.outputs} * shape->groups_{each}", f"{function}(&block);"))
    if has_singles:
        function, text = singles(core, turn_units, is_once)
        functions.append(text)
        calls.append(("", "shape->singles", f"{function}(&block);"))
    given = "".join(f"{parameters}, " for kind, parameters in _PARAMETERS.items() if kind in others)
    above = what_is_added(is_packed)
    declarations, body = _in_pieces(calls, others, above) if is_in_pieces else _in_blocks(calls, others, is_once, above)
    lists = [parameter.rsplit(" *", 1) for kind in others for parameter in _PARAMETERS.get(kind, "").split(", ") if parameter]
    cursors = "".join(f"        {kind} *next_{name} = {name};\n" for kind, name in lists if is_in_pieces or name == "corrections")
    layer = f"""/* Rows of inputs. */
static void {name}(const int8_t *input, int8_t *output, const int32_t *weights, const int32_t *numbers, const uint16_t *order,
                   {given}void *scratch, const aidge_kit_narrow_fc *shape)
{{
    uint32_t *const columns = (uint32_t *)scratch;
    int32_t *const sums = (int32_t *)columns + shape->column_words;
    int32_t {declarations};
    for (row = shape->rows; row > 0; row--) {{
        aidge_kit_narrow_fc_outputs target = {{output, numbers, numbers + AIDGE_KIT_NARROW_FC_HEAD, order}};
        aidge_kit_narrow_fc_block block;
{cursors}        block.columns = columns;
        block.weights = (const uint32_t *)weights;
{indent(body, 2 * _STEP)}
        input += shape->features;
        output += shape->outputs;
    }}
}}"""
    return name, (*functions, layer)


_PARAMETERS = {
    "offsets": "const int8_t *offsets",
    "outliers": "const int16_t *outliers",
    "runs": "const int8_t *runs",
    "marks": "const uint16_t *marks, const int32_t *corrections",
}


def _in_blocks(calls: list[tuple[str, str, str]], others: tuple[str, ...], is_once: bool, above: int) -> tuple[str, str]:
    """Returns counters and text of a row with all sums in memory while block after block of its taps is added."""
    of_block = [f"{join}block.sums_end = block.sums + {count};\n{call}" for join, count, call in calls]
    if "offsets" in others:
        of_block.append(_called(("offsets",), "input", "shape->outputs"))
    each = "\n".join(of_block)
    stored = _called(("", *(kind for kind in others if kind != "offsets")), "input", "shape->outputs")
    if is_once:
        return "row", f"{_ONE_BLOCK.format(above)}\nblock.sums = sums;\n{each}\n{stored}"
    text = f"""(void)memset(sums, 0, (uint32_t)shape->outputs * sizeof *sums);
for (first = 0; first < shape->taps; first += shape->block_taps) {{
    const int32_t taps = shape->taps - first;
    block.end = columns + (taps < shape->block_taps ? taps : shape->block_taps);
    aidge_kit_narrow_fc_columns(input + first, shape->features - first, {above}, &block, shape);
    block.sums = sums;
{indent(each, _STEP)}
}}
{stored}"""
    return "row, first", text


def _in_pieces(calls: list[tuple[str, str, str]], others: tuple[str, ...], above: int) -> tuple[str, str]:
    """Returns the same for a row of one block of taps, with the sums of one piece of the outputs in memory."""
    own = f"{_STEP}const uint16_t *const own_marks = next_marks;\n" * ("marks" in others)
    each = "\n".join(
        f"""{join}for (left = {total}; left > 0; left -= count) {{
{own}    count = aidge_kit_narrow_fc_begin(&block, sums, left, shape->piece);
    {call}
{indent(_called(("", *others), "(const int8_t *)columns", "count", "next_", "own_"), _STEP)}
    target.numbers += 4 * count;
    target.order += count;
}}"""
        for join, total, call in calls
    )
    return "row, left, count", f"{_ONE_BLOCK.format(above)}\n{each}"


def _called(kinds: tuple[str, ...], values: str, count: str, cursor: str = "", own: str = "") -> str:
    """Calls of these kinds, "" for the outputs from their sums; lists are read on from the pointers called `cursor`."""
    then = f"{cursor}{{}} = " if cursor else "(void)"
    calls = {
        "offsets": f"{then}aidge_kit_narrow_fc_add_offsets(&block, sums, {cursor}offsets, {count});",
        "outliers": f"{then}aidge_kit_narrow_fc_add_outliers({values}, sums, {cursor}outliers);",
        "runs": f"{then}aidge_kit_narrow_fc_add_runs({values}, sums, {cursor}runs, {count});",
        "": f"aidge_kit_narrow_fc_store(sums, &target, {count});",
        "marks": f"{then}aidge_kit_narrow_fc_correct(sums, &target, {own}marks, &next_corrections);",
    }
    return "\n".join(call.format(kind) for kind, call in calls.items() if kind in kinds)


def store_text(core: Core) -> str:
    """Returns the function that makes outputs from their sums, at least one; outputs without a narrow form get a level that means
    nothing."""
    code = core.emitter()
    code("%enter.low")
    code("%frame below, above")
    code("lsls %outputs, %outputs, #2")
    code("adds %outputs, %outputs, %sums")
    code("mov %end, %outputs", "of the sums")
    code("ldm %target!, {%spare, %head, %numbers, %level}")
    code("mov %output, %spare")
    code("mov %order, %level")
    code("ldm %head!, {%spare, %level, %high}", "lowest - highest level, highest level, bits")
    code("str %spare, [sp, %frame.below]")
    code("str %level, [sp, %frame.above]")
    if code.multiplies_high:
        code("lsrs %level_bits, %high, #8")
    code("mov %bits, %high")
    code.label("turn")
    code("ldm %sums!, {%level}")
    code("ldm %numbers!, {%spare, %low, %constant, %high}", "offset, width, constant, multiplier")
    code("adds %level, %level, %spare")
    code("cmp %level, %low")
    code("bhi %beyond")
    _level(code)
    code.label("store")
    code("mov %spare, %order")
    code("ldrh %low, [%spare]")
    code("adds %spare, #2")
    code("mov %order, %spare")
    code("mov %constant, %output")
    code("strb %level, [%constant, %low]")
    code("cmp %sums, %end")
    code("bne %turn")
    code("%leave")
    code.label("beyond", "below the first step or above the last one")
    code("asrs %level, %level, #31")
    code("ldr %spare, [sp, %frame.below]")
    code("ands %level, %spare")
    code("ldr %spare, [sp, %frame.above]")
    code("adds %level, %level, %spare")
    code("b %store")
    parameters = "const int32_t *sums, const aidge_kit_narrow_fc_outputs *target, int32_t outputs"
    return code.function("aidge_kit_narrow_fc_store", parameters, "Outputs from their sums.")


def _level(code: Routine) -> None:
    """From a sum its level, as in `requantize.level`."""
    if code.multiplies_high:
        code("lsls %level, %bits")
        code("mulhu %level, %level, %high")
        code("adds %level, %level, %constant")
        code("lsrs %level, %level_bits")
        return
    code("mov %spare, %bits")
    code("mov %low, %high")
    code("lsrs %high, %spare", "the high bits of the multiplier")
    code("mov %part, %high")
    code("lsls %part, %spare")
    code("subs %low, %low, %part", "and the low ones")
    code("muls %low, %level")
    code("lsrs %low, %spare")
    code("muls %level, %high")
    code("adds %level, %level, %low")
    code("adds %level, %level, %constant")
    code("lsrs %level, %level, #24")


def _pairs(core: Core, units: int, is_once: bool, is_packed: bool) -> tuple[str, str]:
    """Some outputs at a time: words of sums of a chunk, of all taps, and the high halves of these."""
    name = f"{core.prefix}_fc_int8_pairs_n{units}{'_once' * is_once}{'_packed' * is_packed}"
    code = core.emitter()
    code("%enter.low")
    if code.multiplies_high:
        code(f"ldr %weights, {_field(code, 'weights')}")
        code(f"ldr %end, {_field(code, 'end')}")
        code(f"mov %mask, #{0x00FF00FF}", "weights of even taps")
    else:
        code(f"%frame {', '.join((*_FIELDS[:-1], *['correction'] * is_packed))}")
        code("mov %frame, sp")
        code("ldm %block!, {%columns, %corrections, %end, %sums_end, %sums}")
        code("stm %frame!, {%columns, %corrections, %end, %sums_end, %sums}")
        code("put %block")
        code("ldr %weights, [%block]")
    if is_packed:
        _load_nibbles(code)
    code.label("outputs", f"{core.outputs} outputs")
    pairs = range(core.outputs // 2)
    _begin_sums(code, pairs, is_once)
    code(f"ldr %columns, {_field(code, 'columns')}")
    if is_packed and not code.multiplies_high:  # all low registers are in use
        code(f"ldr %spare, {_field(code, 'corrections')}")
        code("str %spare, [sp, %frame.correction]")
    else:
        code(f"ldr %corrections, {_field(code, 'corrections')}")
    _chunk(code, units, pairs, is_packed)
    if not code.multiplies_high:
        code(f"ldr %end, {_field(code, 'end')}")
    code("cmp %columns, %end")
    if units <= (_NEAR_UNITS_OF_NIBBLES if is_packed and not code.multiplies_high else _NEAR_UNITS):
        code("bne %chunk")
    else:
        code("beq %done")
        code("b %chunk")
        code.label("done")
    for pair in pairs:
        code(f"mov %high{pair}, %halves{pair}", f"of output {2 * pair + 1}")
        code(f"lsls %spare, %high{pair}, #16")
        code(f"mov %low{pair}, %total{pair}")
        code(f"subs %low{pair}, %low{pair}, %spare", f"of output {2 * pair}")
    code(f"ldr %sums, {_field(code, 'sums')}")
    code(f"stm %sums!, {{{_halves(pairs)}}}")
    code(f"str %sums, {_field(code, 'sums')}")
    code(f"ldr %sums_end, {_field(code, 'sums_end')}")
    code("cmp %sums, %sums_end")
    code("beq %last")
    code("b %outputs")
    code.label("last")
    if code.multiplies_high:
        code(f"str %weights, {_field(code, 'weights')}")
        code("%leave")
    else:
        code("get %block")
        end(code)
    return name, code.function(name, PARAMETERS, f"Sums of {core.outputs} outputs at a time.")


def _begin_sums(code: Routine, pairs: range, is_once: bool) -> None:
    """Zeros, or the sums before this block of taps."""
    if is_once:
        for pair in pairs:
            code(f"movs %total{pair}, #0")
            code(f"movs %halves{pair}, #0")
        return
    code(f"ldr %sums, {_field(code, 'sums')}")
    code(f"ldm %sums!, {{{_halves(pairs)}}}", "what was summed before")
    for pair in pairs:
        code(f"lsls %spare, %high{pair}, #16")
        code(f"adds %low{pair}, %low{pair}, %spare")
        code(f"mov %total{pair}, %low{pair}")
        code(f"mov %halves{pair}, %high{pair}")


def _field(code: Routine, name: str) -> str:
    """The place of a field of the block: there, or in the frame on a core with few registers."""
    return f"[%block, #{4 * _FIELDS.index(name)}]" if code.multiplies_high else f"[sp, %frame.{name}]"


def _halves(pairs: range) -> str:
    return ", ".join(f"%low{pair}, %high{pair}" for pair in pairs)


def _chunk(code: Routine, units: int, pairs: range, is_packed: bool) -> None:
    """The taps of a chunk, and their sums to all."""
    code.label("chunk", f"{2 * units} taps")
    for unit in range(units):
        code("ldm %columns!, {%tap, %next_tap}", "two taps")
        if is_packed:
            _unpack(code, pairs)
        elif not code.multiplies_high:
            code(f"ldm %weights!, {{{', '.join(f'%low{pair}' for pair in pairs)}}}", "their weights of the pairs of outputs")
        for pair in pairs:
            if code.multiplies_high and not is_packed:
                code(f"ldm %weights!, {{%low{pair}}}", "their weights of two outputs")
            _products(code, f"low{pair}")
            if unit + 1 == units:
                code(f"add %low{pair}, %chunk{pair}")
            else:
                code(f"add %chunk{pair}, %low{pair}" if unit else f"mov %chunk{pair}, %low{pair}")
    if is_packed and not code.multiplies_high:
        code("ldr %next_tap, [sp, %frame.correction]")
        code("ldm %next_tap!, {%tap}", "what the chunk takes away")
        code("str %next_tap, [sp, %frame.correction]")
    else:
        code("ldm %corrections!, {%tap}", "what the chunk takes away")
    for pair in pairs:
        code(f"adds %low{pair}, %low{pair}, %tap")
        code(f"add %total{pair}, %low{pair}")
        code(f"lsrs %low{pair}, %low{pair}, #16")
        code(f"add %halves{pair}, %low{pair}")


def _load_nibbles(code: Routine) -> None:
    """The mask of the lower half of each byte."""
    if code.multiplies_high:
        code(f"mov %nibbles, #{0x0F0F0F0F}")
        return
    code("movs %nibbles, #15")
    for shift in (8, 16):
        code(f"lsls %spare, %nibbles, #{shift}")
        code("orrs %nibbles, %spare")


def _unpack(code: Routine, pairs: range) -> None:
    """The words of two taps of all pairs of outputs; two pairs share a word."""
    for pair in pairs[::2]:
        code(f"ldm %weights!, {{%low{pair}}}", "their weights of four outputs")
        code(f"lsrs %low{pair + 1}, %low{pair}, #4")
        code(f"ands %low{pair}, %nibbles")
        code(f"ands %low{pair + 1}, %nibbles")


def _products(code: Routine, word: str) -> None:
    """The word of weights times both taps, for two outputs."""
    if code.multiplies_high:
        code(f"ands %even, %{word}, %mask")
        code(f"subs %spare, %{word}, %even", "weights of the odd tap, 8 bits further up")
        code(f"muls %{word}, %even, %tap")
        code("mulhsu %spare, %next_tap, %spare")
    else:
        code(f"rev16 %spare, %{word}")
        code(f"muls %{word}, %tap")
        code("muls %spare, %next_tap")
    code(f"adds %{word}, %{word}, %spare")
