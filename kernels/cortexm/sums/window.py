# SPDX-License-Identifier: MIT
"""Geometry of convolutions that read their input through a buffer of rows, and the C function around their assembly."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, replace

from aidge_build.contract.call import Struct
from aidge_build.contract.kernel_kit.following import following, row_steps
from aidge_build.contract.kernel_kit.window2d import two_axes
from aidge_build.contract.spec import Demands, NodeView
from aidge_build.graph.tensor import Tensor

from ..core.assembly import Routine
from . import dense
from .stream import Stream

ROW_PARAMETERS = "uint32_t *words, int8_t *output, const int32_t *stream, const aidge_cortexm_run *run"
SCRATCH_BYTES = 4096  # wished for; a single pair of pixels may need more


@dataclass(frozen=True)
class Plane:
    """A window over an image (one spatial axis is an image of height 1); pairs are (height, width)."""

    batches: int
    in_size: tuple[int, int]
    out_size: tuple[int, int]
    in_channels: int
    out_channels: int
    kernel: tuple[int, int]
    strides: tuple[int, int]
    dilations: tuple[int, int]
    pads: tuple[int, int]  # top, left
    in_gap: int = 0  # channels of other groups between the pixels of the input, which are not computed with
    out_gap: int = 0
    largest: tuple[int, int] | None = None  # of a band of rows: the output of the largest one, which texts are made for
    is_outside: bool = False  # of a band of rows: whether one of them may see nothing but pads

    @property
    def made_for(self) -> tuple[int, int]:
        """The output's size that texts are made for: bands of one layer share them."""
        return self.largest or self.out_size

    @property
    def turned(self) -> Plane:
        """With columns as rows, and rows as columns."""
        pairs = (self.in_size, self.out_size, self.kernel, self.strides, self.dilations, self.pads)
        in_size, out_size, kernel, strides, dilations, pads = (pair[::-1] for pair in pairs)
        changed = {"kernel": kernel, "strides": strides, "dilations": dilations, "pads": pads}
        return replace(self, in_size=in_size, out_size=out_size, **changed)

    @property
    def suffix(self) -> str:
        """The end of the names of functions for bands."""
        return "_band" if self.largest else ""

    @property
    def taps(self) -> int:
        """Values that a window sees."""
        return self.kernel[0] * self.kernel[1] * self.in_channels

    def extent(self, axis: int, outputs: int) -> int:
        """Input positions that `outputs` neighbouring output positions see."""
        return (outputs - 1) * self.strides[axis] + (self.kernel[axis] - 1) * self.dilations[axis] + 1


def plane_of_view(view: NodeView, is_upright: bool = False) -> Plane:
    """The window of a convolution node. `is_upright`: rows of a band are rows of the image, whatever its width."""
    data, output, window = view.inputs[0], view.outputs[0], view.operator.window
    layer = view.layer
    whole = layer.whole if layer else view

    def pair(numbers, missing: int) -> tuple[int, int]:
        of_layer = whole.inputs[0], whole.outputs[0], whole.operator.window
        return two_axes(*of_layer, numbers, missing, is_upright and layer is not None)

    plane = Plane(
        data.dims[0],
        pair(data.dims[2:], 1),
        pair(output.dims[2:], 1),
        data.dims[1],
        output.dims[1],
        pair(window.kernel, 1),
        pair(window.strides, 1),
        pair(window.dilations, 1),
        pair(window.pads_begin, 0),
    )
    if layer is None:
        return plane
    pads = max(layer.whole.operator.window.pads_begin[0], layer.whole.operator.window.pads_end[0])
    largest = pair((layer.rows, *output.dims[3:]), 1)
    return replace(plane, largest=largest, is_outside=pads >= window.extents[0])


@dataclass(frozen=True)
class Buffer:
    """The rows that a convolution keeps: `pixel_bytes` of one pixel, `tile` output columns, `lines` output rows at once."""

    plane: Plane
    rows: int
    row_words: int
    span: int
    tile: int
    lines: int
    second_input: int
    input_step: int

    @property
    def size_bytes(self) -> int:
        return 4 * self.rows * self.row_words

    @property
    def leaves_one(self) -> bool:
        """Whether the last of several tiles would have a single column."""
        return self.tile < self.plane.made_for[1] and self.plane.made_for[1] % self.tile == 1

    @property
    def beside(self) -> Buffer:
        """The same, with pairs side by side in a band of a single row."""
        if self.lines <= self.plane.out_size[0]:
            return self
        step = self.plane.strides[1] * self.plane.in_channels
        return replace(self, rows=self.plane.extent(0, 1), lines=1, second_input=step, input_step=2 * step)

    @property
    def work(self) -> dict[str, int]:
        """Calls of the row function, and pairs of pixels (`aidge_cortexm_run_of`)."""
        (height, width), lines = self.plane.out_size, self.beside.lines
        tiles = [min(self.tile, width - first) for first in range(0, width, self.tile)]
        rows = self.plane.batches * -(-height // lines)
        return {"rows": rows * len(tiles), "pairs": rows * sum(tile if lines > 1 else (tile + 1) // 2 for tile in tiles)}

    def demands(self, output: Tensor, column_bytes: int = 0) -> Demands:
        """The scratch; one tile reads rows into the buffer before it writes the rows that see them."""
        plane, steps = self.plane, ()
        if self.tile >= plane.out_size[1] and self.beside is self:
            lines = [min(line, plane.out_size[0] - self.lines) for line in range(0, plane.out_size[0], self.lines)]
            steps = row_steps(
                plane.batches,
                plane.in_size[0],
                plane.out_size[0],
                (plane.in_size[1] * plane.in_channels, plane.out_size[1] * plane.out_channels),
                [(line + self.lines, line * plane.strides[0] - plane.pads[0] + self.rows) for line in lines],
            )
        return following(steps, output, self.size_bytes + column_bytes)

    def struct(self, stream: Stream) -> Struct:
        """The struct of window.h."""
        plane, pairs = self.plane, self.beside
        return Struct(
            "aidge_cortexm_window",
            {
                "batches": plane.batches,
                "in_height": plane.in_size[0],
                "in_width": plane.in_size[1],
                "channels": plane.in_channels + plane.in_gap,
                "out_height": plane.out_size[0],
                "out_width": plane.out_size[1],
                "out_channels": plane.out_channels + plane.out_gap,
                "stride_height": plane.strides[0],
                "stride_width": plane.strides[1],
                "pad_top": plane.pads[0],
                "pad_left": plane.pads[1],
                "rows": pairs.rows,
                "row_words": self.row_words,
                "span": self.span,
                "tile": self.tile,
                "lines": pairs.lines,
                "second_input": pairs.second_input,
                "input_step": pairs.input_step,
                "advanced": plane.out_channels * (stream.pools + (not stream.is_stated)),
                "stream_bytes": stream.group_bytes,
            },
        )


def plane_buffer(plane: Plane) -> Buffer:
    """Planes of int16 pairs of channels, pairs of pixels side by side; tiles keep it small."""
    rows = plane.extent(0, 1)

    def buffer(tile: int) -> Buffer:
        span = plane.extent(1, tile)
        return Buffer(plane, rows, span * plane.in_channels // 2, span, tile, 1, 4 * plane.strides[1], 8 * plane.strides[1])

    whole = buffer(plane.made_for[1])
    if whole.size_bytes <= SCRATCH_BYTES:
        return whole
    tiles = [buffer(tile) for tile in range(2, plane.made_for[1], 2)]
    return max(
        (tile for tile in tiles if tile.size_bytes <= SCRATCH_BYTES), key=lambda tile: tile.tile, default=(tiles or [whole])[0]
    )


def line_buffer(plane: Plane) -> Buffer:
    """Rows of int8 as they are; pairs of pixels one below the other where the width is odd."""
    channels, (height, width) = plane.in_channels, plane.made_for
    lines = 2 if width % 2 and height > 1 and (height % 2 == 0 or height > width) else 1
    span, rows = plane.extent(1, width), plane.extent(0, lines)
    row_words = -(-span * channels // 4)
    step = plane.strides[1] * channels
    if lines == 2:
        return Buffer(plane, rows, row_words, span, width, 2, plane.strides[0] * 4 * row_words, step)
    return Buffer(plane, rows, row_words, span, width, 1, step, 2 * step)


ROW = "{name}_row(rows.words, output + (y * shape->out_width + x) * shape->out_channels, stream, &run);"
POOLED_ROW = """\
{name}_row(rows.words, (y & 1) != 0 ? (int8_t *)scratch : POOLED, stream, &run);
                if ((y & 1) != 0) {{
                    aidge_cortexm_keep_larger(POOLED, (const int8_t *)scratch, run.pairs * shape->out_channels);
                }}""".replace("POOLED", "output + (y / 2 * shape->out_width + x) / 2 * shape->out_channels")
BESIDE_POOLED_ROW = "(int8_t *)scratch + shape->tile / 2 * shape->out_channels"
LAST_TWO = "            x -= x + 1 == shape->out_width ? 1 : 0; /* rows of pairs: the last two columns, one of them again */\n"


def whole_layer(name: str, load: str, fill: str, stream: Stream, buffer: Buffer, leaves_one: bool = False) -> str:
    """The C function around `<name>_row`: tiles, rows of the buffer, output rows. `load` is the statement that makes `top` the
    first row of the buffer; `leaves_one`: as of the Buffer, where a row function knows pairs of pixels only. A row of
    pooled pairs is half as long; the second one of two such rows is at the begin of the scratch until the larger values are kept.

    Without an FPU, where assembly keeps more on the stack, the buffer is loaded by a function of its own.
    """
    loading, load = ("", load.format(rows="&rows")) if stream.has_fpu else _apart(name, load.format(rows="rows"))
    row = (POOLED_ROW if stream.pools else ROW).format(name=name)
    words = BESIDE_POOLED_ROW if stream.pools else "scratch"
    return f"""{loading}/* Loads rows of the input and computes output rows from them. */
static void {name}(const int8_t *input, int8_t *output, const int32_t *stream, void *scratch, const aidge_cortexm_window *shape)
{{
    int32_t batch, x, y;
    for (batch = 0; batch < shape->batches; batch++) {{
        for (x = 0; x < shape->out_width; x += shape->tile) {{
{LAST_TWO * leaves_one}            const aidge_cortexm_run run = aidge_cortexm_run_of(shape, x);
            aidge_cortexm_rows rows = aidge_cortexm_rows_of(input, {words}, {fill}, shape, x);
            for (y = 0; y < shape->out_height; y += shape->lines) {{
                y = y + shape->lines > shape->out_height ? shape->out_height - shape->lines : y;
                {{
                    const int32_t top = y * shape->stride_height - shape->pad_top;
{load}
                }}
                {row}
            }}
        }}
        input += shape->in_height * shape->in_width * shape->channels;
        output += shape->out_height * shape->out_width * shape->out_channels{" / 4" * stream.pools};
    }}
}}"""


def _apart(name: str, load: str) -> tuple[str, str]:
    """A function that loads the buffer, and the call of it."""
    function = (
        f"AIDGE_CORTEXM_NOINLINE void {name}_load(aidge_cortexm_rows *rows, const aidge_cortexm_window *shape, int32_t top)\n"
        f"{{\n{textwrap.dedent(load)}\n}}\n\n"
    )
    return function, f"                    {name}_load(&rows, shape, top);"


def begin_row(code: Routine, stream: Stream, entry: str) -> None:
    """Arguments of a row function into their registers; label 1 begins a pair, whose input stands in the register `entry`."""
    code.begin()
    code.put("input", "r0")
    code("mov r12, r1")
    code("mov {stream}, r2")
    code(
        "ldm r3, {{r4-r11}}", "pairs, second_input, second_output, back_input, back_output, output_step, input_step, stream_bytes"
    )
    code("sub r4, r4, #1")
    code.put("pairs", "r4, r12", "those behind the next one; output")
    code.put("second_input", "r5")
    code.put("second_output", "r6")
    code.put("back_input", "r7, r8")
    code.put("output_step", "r9, r10")
    code("add r11, r11, {stream}")
    code.put("end", "r11")
    dense.load_head(code, stream)
    if entry != "column":
        code(f"mov {{{entry}}}, r0")


def end_row(code: Routine, entry: str) -> None:
    """To the next pair (label 1), or back to the caller; label 7. The pairs behind the one that is done are in r4, its output is
    in r5."""
    code.get(f"{{{entry}}}", "input")
    code.get("r4, r5", "pairs")
    code.get("r6, r7", "output_step")
    code(f"add {{{entry}}}, {{{entry}}}, r7")
    code.put("input", f"{{{entry}}}")
    code("add r5, r5, r6")
    code("subs r4, r4, #1")
    code.put("pairs", "r4, r5")
    code("bgt 1b")
    code("blt 7f")
    code.get("r6, r7", "back_input", "the last pair overlaps the one before if pixels are odd")
    code(f"sub {{{entry}}}, {{{entry}}}, r6")
    code("sub r5, r5, r7")
    code.put("output", "r5")
    code.put("input", f"{{{entry}}}")
    code("b 1b")
    code.label(7)
    code.end()
