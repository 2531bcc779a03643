# SPDX-License-Identifier: MIT
"""The C around the dense core of dynamic quantization: how the taps of one or two pixels come into the column."""

from __future__ import annotations

from collections.abc import Mapping

from ..core.conditions import GROUP
from .dynamic_gather import gather

ROW, PIXELS, WINDOWS = "row", "pixels", "windows"


def kind_of(shape: Mapping[str, int]) -> str:
    """The source of pairs of pixels: PIXELS of the image as they are, or WINDOWS in the image or in copies."""
    ones = all(shape[f"{what}_{axis}"] == 1 for what in ("kernel", "stride") for axis in ("height", "width"))
    is_image = all(shape[f"in_{axis}"] == shape[f"out_{axis}"] for axis in ("height", "width"))
    return PIXELS if ones and is_image and shape["pad_top"] == shape["pad_left"] == 0 else WINDOWS


def run_of(shape: Mapping[str, int]) -> int:
    """The bytes of a row of taps."""
    return shape["kernel_width"] * shape["in_channels"]


def driver(function: str, shape: Mapping[str, int], kind: str, signed: bool, parts: int = 1) -> tuple[str, tuple[str, ...]]:
    """Name of the function of a layer, and the texts that it needs: `function` is the core. `shape` is one of the `parts` of the
    channels that are layers of their own."""
    gathering, text = gather(run_of(shape), signed) if kind != ROW else ("", "")
    few = f"_few{shape['out_channels']}" if shape["out_channels"] < GROUP else ""
    suffix = gathering.removeprefix("aidge_cortexm_dynamic_gather") if gathering else "_signed" * signed
    words = {"function": function, "gather": gathering, **data_in_c(signed), **(_FEW if few else _ALL), **_WHOLE}
    words |= {"few": str(shape["out_channels"]), "name": f"{function}{few}_{kind}{suffix}"}
    if parts > 1:
        words["name"] += f"_of_{parts}x{shape['in_channels']}x{shape['out_channels']}"
        words |= {"input": str(parts * shape["in_channels"]), "output": str(parts * shape["out_channels"])}
    name, layer = words["name"], _filled(_BEGIN + (_ROW if kind == ROW else _PAIRS[kind]) + "}", words)
    texts = (text, layer) if text else (layer,)
    if parts == 1:
        return name, texts
    own = {"inputs": str(shape["in_channels"]), "outputs": str(shape["out_channels"]), "parts": str(parts)}
    return f"{name}_parts", (*texts, _filled(_PARTS, words | own))


def _filled(text: str, words: Mapping[str, str]) -> str:
    for _ in range(2):  # words have words in them
        for word, value in words.items():
            text = text.replace(f"<{word}>", value)
    return text


def data_in_c(signed: bool) -> dict[str, str]:
    """In C: the type of the data, their zero point if they were uint8, and the bits that uint8 has otherwise."""
    if signed:
        return {"type": "int8_t", "zero": "zero_point[0] + 128", "signs": "0x80808080u"}
    return {"type": "uint8_t", "zero": "zero_point[0]", "signs": "0u"}


# The places of the outputs of two pixels; results of whole groups come first if there are fewer channels than a group has.
_ALL = {"room": "", "first": "output", "step": "<output>", "behind": "second + <output>"}
_FEW = {
    "room": "    float results[8];\n",
    "first": "results",
    "step": "4",
    "behind": "aidge_cortexm_dynamic_few(output, results, 1 + ahead, <few>, <output>)",
}
_WHOLE = {"input": "shape->in_channels", "output": "shape->out_channels"}  # from pixel to pixel
_PARAMETERS = """(const <type> *input, const <type> *zero_point, const float *scale, float *output, const int32_t *stream,
    const float *numbers, void *scratch, const aidge_kit_window2d *shape, const aidge_cortexm_dynamic *groups)
{
"""
_BEGIN = (
    "/* Two pixels after the other, or one row; a last pixel alone is both of them: its results overwrite the first ones. */\n"
    "static void <name>"
    + _PARAMETERS
    + """    float *const table = (float *)scratch;
    uint32_t *const column = (uint32_t *)scratch + 8 * groups->groups;
    const int32_t *const end = stream + groups->channels / 4 * groups->group_words;
    const uint32_t zeros = (uint32_t)(<zero>) * 0x10001u;
"""
)
_TABLE = "    aidge_cortexm_dynamic_table(table, numbers, scale[0], groups->groups);\n"
_ROW = (
    _TABLE
    + """    (void)aidge_cortexm_dynamic_run(column, (const uint8_t *)input, 2 * groups->pairs, zeros, <signs>, 1);
    <function>(column, stream, table, output, output, end);
    (void)shape;
"""
)
_FROM_PIXELS = (
    """    const uint8_t *bytes = (const uint8_t *)input;
    const aidge_cortexm_dynamic_runs runs = {zeros, 1, shape->in_channels / 8, 0, 0, shape->in_channels};
""",
    """        <gather>(column, bytes, bytes + ahead * <input>, &runs);
        bytes += (1 + ahead) * <input>;
""",
)
_FROM_WINDOWS = (
    """    const int32_t length = shape->kernel_width * shape->in_channels;
    const uint8_t fill = (uint8_t)(zeros ^ <signs>);
    uint8_t *const copies = (uint8_t *)(column + 2 * groups->pairs);
    aidge_cortexm_dynamic_runs runs = {zeros, shape->kernel_height, length / 8, 0, 0, length};
    aidge_cortexm_dynamic_place place = {(const uint8_t *)input, 0, 0};
""",
    """        const uint8_t *const from = aidge_cortexm_dynamic_window(&place, copies, <input>, fill, &runs.first_step, shape);
        const uint8_t *last = from;
        runs.first_step -= length / 4 * 4;
        runs.second_step = runs.first_step;
        aidge_cortexm_dynamic_next(&place, <input>, shape);
        if (ahead != 0) {
            last = aidge_cortexm_dynamic_window(&place, copies + shape->kernel_height * length, <input>, fill,
                                                &runs.second_step, shape);
            runs.second_step -= length / 4 * 4;
            aidge_cortexm_dynamic_next(&place, <input>, shape);
        }
        <gather>(column, from, last, &runs);
""",
)


def _pairs(begin: str, gathered: str) -> str:
    return f"""{begin}    const int32_t pixels = shape->batches * shape->out_height * shape->out_width;
    int32_t pixel;
<room>{_TABLE}    for (pixel = 0; pixel < pixels; pixel += 2) {{
        const int32_t ahead = pixel + 1 < pixels ? 1 : 0;
        float *const second = <first> + ahead * <step>;
{gathered}        <function>(column, stream, table, <first>, second, end);
        output = <behind>;
    }}
"""


_PAIRS = {PIXELS: _pairs(*_FROM_PIXELS), WINDOWS: _pairs(*_FROM_WINDOWS)}
_PARTS = (
    "/* Parts of the channels, each a layer of its own. */\nstatic void <name>_parts"
    + _PARAMETERS
    + """    int32_t part;
    for (part = 0; part < <parts>; part++) {
        <name>(input, zero_point, scale, output, stream, numbers, scratch, shape, groups);
        input += <inputs>;
        output += <outputs>;
        stream += groups->groups * groups->group_words;
        numbers += groups->groups * 8;
    }
}"""
)
