# SPDX-License-Identifier: MIT
"""The C function of a depthwise layer: groups of 4 channels, band by band."""

from __future__ import annotations

from .depthwise_layout import Depthwise

_BANDS = """\
            for (y = 0; y < shape->out_height; y += shape->band) {{
                const int32_t left = shape->out_height - y;
                const int32_t lines = left < shape->band ? left : shape->band;
                aidge_cortexm_band band;
                aidge_cortexm_keep_rows(shape, words, y);
                band = aidge_cortexm_band_of(shape, words, fill, y, lines);
                if (band.count > 0) {{
                    {gather}(input + band.source + first, band.target, band.count, {fill});
                }}
                {band}(words, output + y * shape->out_width * shape->channels + first, group, lines, {last});
            }}"""
_ONE_BAND = """\
            {gather}(input + whole.source + first, whole.target, whole.count, {fill});
            {band}(words, output + first, group, shape->out_height, {last});"""


def layer_text(
    layer: Depthwise,
    name: str,
    functions: tuple[str, str],
    begin: tuple[str, str, str],
    arguments: tuple[str, str, str],
) -> str:
    """All groups of channels, by the functions that gather and that compute a band. `begin`: the parameters in front of the
    stream, the first declarations and the first statements; `arguments`: the words of the stream's head, what gathering fills
    with, the last argument of a band. With one band the rows outside the image are filled once: no
    group of channels writes there."""
    (gather, band), (parameters, declarations, statements), (head, fill, last) = functions, begin, arguments
    once = "        const aidge_cortexm_band whole = aidge_cortexm_band_of(shape, words, fill, 0, shape->out_height);\n"
    once = once if layer.is_one_band else ""
    inner = (_ONE_BAND if layer.is_one_band else _BANDS).format(gather=gather, band=band, fill=fill, last=last)
    return f"""/* All groups of 4 channels{"" if layer.is_one_band else ", band by band"}. */
static void {name}(
    {parameters}, const int32_t *stream, void *scratch, const aidge_cortexm_depthwise *shape)
{{
    uint32_t *const words = (uint32_t *)scratch;
{declarations}
    const int32_t *const end = stream + shape->stream_words;
    const int32_t last = shape->channels - 4; /* where the last group begins, whose channels may be in the one before, too */
    const int32_t *group;
    int32_t first, batch{"" if layer.is_one_band else ", y"};
{statements}    for (batch = 0; batch < shape->batches; batch++) {{
{once}        first = 0;
        for (group = stream + {head}; group != end; group += shape->group_words) {{
{inner}
            first = first + 4 < last ? first + 4 : last;
        }}
        input += shape->in_height * shape->in_width * shape->channels;
        output += shape->out_height * shape->out_width * shape->channels;
    }}
}}"""
