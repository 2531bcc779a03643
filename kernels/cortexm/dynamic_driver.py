# SPDX-License-Identifier: MIT
"""The C around the dense core of dynamic quantization: how the taps of two pixels come into the column."""

from __future__ import annotations

from collections.abc import Mapping

from .conditions import GROUP
from .dynamic_gather import LEAST_RUN, gather
from .dynamic_lines import is_one_tap, line_bytes


def driver(
    function: str, shape: Mapping[str, int], length: int, signed: bool, objective: str, parts: int = 1
) -> tuple[str, tuple[str, ...]]:
    """Name of the function of a layer, and the texts that it needs: `function` is the core, a run has `length` bytes. `shape` is
    one of the `parts` of the channels that are layers of their own."""
    if is_one_tap(shape):
        kind, has_runs = "pixels", True
    else:
        has_lines = line_bytes(shape, length, parts) > 0
        has_runs = shape["dilation_width"] == 1 and (has_lines or length >= LEAST_RUN) and objective != "size"
        kind = ("lines" if has_lines else "windows") if has_runs else "image"
    gathering, text = gather(length, signed) if has_runs else ("", "")
    few = f"_few{shape['out_channels']}" if shape["out_channels"] < GROUP else ""
    name = (
        f"{function}{few}_{kind}{gathering.removeprefix('aidge_cortexm_dynamic_gather')}{'_signed' * (signed and not has_runs)}"
    )
    pieces = {
        "pixels": [_BEGIN, _PIXELS, _RUNS, _BATCHES, _PAIRS, _OWN_TAPS, _END],
        "windows": [_BEGIN, _PIXELS, _RUNS, _ROOM, _BATCHES, _PLACE, _PAIRS, _WINDOWS, _END, _NEXT_IMAGE],
        "image": [_BEGIN, _PIXELS, _ROOM, _BATCHES, _PLACE, _PAIRS, _IMAGE, _END, _NEXT_IMAGE],
        "lines": [_BEGIN, _LINE_RUNS, _BATCHES, _LINES, _NEXT_IMAGE],
    }[kind]
    words = {"function": function, "gather": gathering, **data_in_c(signed), **(_FEW if few else _ALL), **_WHOLE}
    words["few"] = str(shape["out_channels"])
    if parts > 1:
        name = f"{name}_of_{parts}x{shape['in_channels']}x{shape['out_channels']}"
        words |= {"input": str(parts * shape["in_channels"]), "output": str(parts * shape["out_channels"])}
    words["name"] = name
    texts = [*([text] if has_runs else []), _filled("".join([*pieces, "    }\n}"]), words)]
    if parts == 1:
        return name, tuple(texts)
    own = {"inputs": str(shape["in_channels"]), "outputs": str(shape["out_channels"]), "parts": str(parts)}
    return f"{name}_parts", (*texts, _filled(_PARTS, words | own))


def _filled(text: str, words: Mapping[str, str]) -> str:
    for _ in range(2):  # words have words in them
        for word, value in words.items():
            text = text.replace(f"<{word}>", value)
    return text


def data_in_c(signed: bool) -> dict[str, str]:
    """In C: the type of the data, its zero point as that of uint8, and the bits that uint8 has otherwise."""
    if signed:
        return {"type": "int8_t", "zero": "zero_point[0] + 128", "signs": "0x80808080u"}
    return {"type": "uint8_t", "zero": "zero_point[0]", "signs": "0u"}


# Where the outputs of two pixels go; where there are fewer than a group of channels by way of results of whole groups.
_ALL = {"room": "", "first": "output", "step": "<output>", "behind": "second + <output>"}
_FEW = {
    "room": "    float results[8];\n",
    "first": "results",
    "step": "4",
    "behind": "aidge_cortexm_dynamic_few(output, results, 1 + ahead, <few>, <output>)",
}
_WHOLE = {"input": "shape->in_channels", "output": "shape->out_channels"}  # from pixel to pixel
_BEGIN = """/* Two pixels after the other; a last one alone is the second of them, whose results are written over the others. */
static void <name>(const <type> *input, const <type> *zero_point, const float *scale, float *output, const int32_t *stream,
    const float *numbers, void *scratch, const aidge_kit_window2d *shape, const aidge_cortexm_dynamic *groups)
{
    float *const table = (float *)scratch;
    uint32_t *const column = (uint32_t *)scratch + 8 * groups->groups;
    const uint8_t *bytes = (const uint8_t *)input;
    const int32_t *const end = stream + groups->channels / 4 * groups->group_words;
    const uint32_t zeros = (uint32_t)(<zero>) * 0x10001u;
<room>"""
_PIXELS = """\
    const int32_t pixels = shape->out_height * shape->out_width;
"""
_RUNS = """\
    const int32_t length = shape->kernel_width * shape->in_channels;
    const aidge_cortexm_dynamic_runs runs = {zeros, shape->kernel_height, length / 8,
        shape->dilation_height * shape->in_width * shape->in_channels - length / 4 * 4, length};
"""
_ROOM = """\
    const aidge_cortexm_dynamic_data data = {zeros, <signs>, aidge_cortexm_dynamic_room(column + 2 * groups->pairs)};
"""
_BATCHES = """\
    int32_t batch;
    aidge_cortexm_dynamic_table(table, numbers, scale[0], groups->groups);
    for (batch = 0; batch < shape->batches; batch++) {
"""
_PLACE = """\
        aidge_cortexm_dynamic_place place = {0, 0};
"""
_PAIRS = """\
        int32_t pixel;
        for (pixel = 0; pixel < pixels; pixel += 2) {
            const int32_t ahead = pixel + 1 < pixels ? 1 : 0;
            float *const second = <first> + ahead * <step>;
"""
_LINE_RUNS = """\
    const int32_t width = (shape->out_width - 1) * shape->stride_width + shape->kernel_width;
    const int32_t length = shape->kernel_width * shape->in_channels;
    const int32_t step = width * shape->in_channels;
    const aidge_cortexm_dynamic_runs runs = {zeros, shape->kernel_height, length / 8, step - length / 4 * 4, length};
    uint8_t *const lines = (uint8_t *)(column + 2 * groups->pairs);
"""
_LINES = """\
        int32_t y, x;
        for (y = 0; y < shape->out_height; y++) {
            aidge_cortexm_dynamic_lines(lines, bytes, y, width, (zeros ^ <signs>) & 0xFFu, <input>, shape);
            for (x = 0; x < shape->out_width; x += 2) {
                const uint8_t *const from = lines + x * shape->stride_width * shape->in_channels;
                const int32_t ahead = x + 1 < shape->out_width ? 1 : 0;
                float *const second = <first> + ahead * <step>;
                <gather>(column, from, from + ahead * shape->stride_width * shape->in_channels, &runs);
                <function>(column, stream, table, <first>, second, end);
                output = <behind>;
            }
        }
"""
_OWN_TAPS = """\
            <gather>(column, bytes, bytes + ahead * <input>, &runs);
            bytes += (1 + ahead) * <input>;
"""
_EACH = """\
            if (ahead != 0) {
                aidge_cortexm_dynamic_gather(column, bytes, place.y, place.x, &data, shape);
                aidge_cortexm_dynamic_next(&place, shape);
            }
            aidge_cortexm_dynamic_gather(column + 1, bytes, place.y, place.x, &data, shape);
"""
_NEXT = """\
            aidge_cortexm_dynamic_next(&place, shape);
"""
_IMAGE = _EACH + _NEXT
_WINDOWS = (
    """\
            aidge_cortexm_dynamic_place next = place;
            const uint8_t *first, *last;
            if (ahead != 0) {
                aidge_cortexm_dynamic_next(&next, shape);
            }
            first = aidge_cortexm_dynamic_inside(bytes, &place, shape);
            last = aidge_cortexm_dynamic_inside(bytes, &next, shape);
            if ((first != NULL) && (last != NULL)) {
                <gather>(column, first, last, &runs);
                place = next;
            } else {
"""
    + _EACH.replace("            ", "                ", 1).replace("\n            ", "\n                ")
    + "            }\n"
    + _NEXT
)
_END = """\
            <function>(column, stream, table, <first>, second, end);
            output = <behind>;
        }
"""
_NEXT_IMAGE = """\
        bytes += shape->in_height * shape->in_width * <input>;
"""
_PARTS = """/* Parts of the channels, each a layer of its own. */
static void <name>_parts(const <type> *input, const <type> *zero_point, const float *scale, float *output, const int32_t *stream,
    const float *numbers, void *scratch, const aidge_kit_window2d *shape, const aidge_cortexm_dynamic *groups)
{
    int32_t part;
    for (part = 0; part < <parts>; part++) {
        <name>(input, zero_point, scale, output, stream, numbers, scratch, shape, groups);
        input += <inputs>;
        output += <outputs>;
        stream += groups->groups * groups->group_words;
        numbers += groups->groups * 8;
    }
}"""
