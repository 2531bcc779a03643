# SPDX-License-Identifier: MIT
"""The C functions around the dense core: all channels of 6 pixels, a layer, its groups."""

from __future__ import annotations

from aidge_build.contract.kernel_kit.narrow.packing import Form, Stream

NUMBERS_BYTES = 12  # after the weights of a channel
SHIFT_BYTES = 24  # before the columns: what an offset of 1 adds to the sums


def channels_text(name: str) -> str:
    """Returns the C function that computes all channels of 6 pixels by the general requantization."""
    return f"""/* All channels of 6 pixels. */
AIDGE_KIT_NOINLINE void {name}_channels(const aidge_kit_narrow_window *window, const int32_t *stream)
{{
    const int32_t *weights = stream + AIDGE_KIT_NARROW_HEAD_WORDS;
    int32_t channel;
    for (channel = 0; channel < window->dense->channels; channel++) {{
        int32_t sums[AIDGE_KIT_NARROW_PIXELS];
        weights = {name}_block(window->columns, weights, sums, window->dense);
        aidge_kit_narrow_store(sums, weights - {NUMBERS_BYTES // 4}, stream, channel, window->outputs);
    }}
}}"""


def layer_text(name: str, stream: Stream, call: str) -> str:
    """The C function around the assembly."""
    shift, room = "", 0
    if stream.has_offsets:
        taps = "shape->kernel_height * dense->runs * dense->run"
        room = SHIFT_BYTES // 4
        shift = f"aidge_kit_narrow_shift_of(window.columns, {taps}, {stream.form is Form.single:d});\n            "
    return f"""/* Gathers 6 pixels after the other and computes all their channels. */
static void {name}(const int8_t *input, int8_t *output, const int32_t *stream, void *scratch, const aidge_kit_narrow_dense *dense,
                   const aidge_kit_window2d *shape)
{{
    aidge_kit_narrow_window window = {{{{0}}, input, output, (uint32_t *)scratch + {room}, dense, shape, 0, 0, 0}};
    int32_t batch;
    aidge_kit_narrow_fill(&window, stream);
    for (batch = shape->batches; batch > 0; batch--) {{
        window.left = shape->out_height * shape->out_width;
        while (window.left > 0) {{
            aidge_kit_narrow_gather(&window);
            {shift}{call}
        }}
        aidge_kit_narrow_next_image(&window);
    }}
}}"""


def groups_text(name: str) -> str:
    """Returns the C function that calls the layer for each group of channels, with the steps between pixels of all groups."""
    return f"""/* Group by group; their streams begin at `starts`. */
static void {name}_groups(const int8_t *input, int8_t *output, const int32_t *stream, const int32_t *starts, void *scratch,
                          const aidge_kit_narrow_dense *dense, const aidge_kit_window2d *shape)
{{
    int32_t group;
    for (group = 0; group < shape->groups; group++) {{
        {name}(input, output, stream + starts[group], scratch, dense, shape);
        input += dense->run;
        output += dense->channels;
    }}
}}"""
