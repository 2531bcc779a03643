# SPDX-License-Identifier: MIT
"""The call of the dense core over the pixels of an image, and the memory that its columns take."""

from __future__ import annotations

from collections.abc import Mapping

import numpy

from aidge_build.contract.call import Call, Constant, Input, Output, Scratch, Struct
from aidge_build.contract.kernel_kit.byte_weights import has_offsets
from aidge_build.contract.kernel_kit.linear_int8 import LinearNode
from aidge_build.contract.kernel_kit.narrow.core import Core
from aidge_build.contract.kernel_kit.narrow.dense import PIXELS, SHIFT_BYTES, texts
from aidge_build.contract.kernel_kit.narrow.packing import TAP_BYTES, Form, Stream, pack, words_in_turn
from aidge_build.contract.spec import NodeView


def column_bytes(view: NodeView) -> int:
    """Returns the room for the column, for any chunks of the layer's taps, and for the sums before it."""
    taps = view.inputs[1].elements // view.inputs[1].dims[0]
    step = 4 * words_in_turn(-(-taps // 4))
    return TAP_BYTES * (-(-taps // step) * step) + SHIFT_BYTES * has_offsets(view)


def runs(shape: Mapping[str, int]) -> tuple[int, int]:
    """Returns the taps that are neighbours in the input, and the number of such runs in a row of the window."""
    channels, width = shape["in_channels"] // shape["groups"], shape["kernel_width"]
    return (width * channels, 1) if shape["dilation_width"] == shape["groups"] == 1 else (channels, width)


def dense_call(core: Core, node: LinearNode, rows: numpy.ndarray, image: Struct, has_pads: bool) -> Call:
    """The call for weights [outputs, taps] over an image, the struct of kit/window2d.h."""
    groups = image.fields["groups"]
    stream = pack(core, node.linear(rows), words_in_turn(-(-rows.shape[1] // 4)), groups, core.together)
    function, functions = texts(core, stream, groups > 1)
    starts = (Constant("starts", numpy.array(stream.starts, numpy.int32)),) if groups > 1 else ()
    dense = dense_struct(image.fields, stream, has_pads)
    return Call(
        function,
        ("core/target.h", "kit/narrow/dense.h"),
        (Input(0), Output(0), Constant("stream", stream.words), *starts, Scratch(), dense, image),
        note=stream.note,
        texts=functions,
        facts=stream.facts(),
        work=_turns(image.fields, stream),
    )


def _turns(shape: Mapping[str, int], stream: Stream) -> dict[str, int]:
    """Returns how often the loops turn: of blocks of 6 pixels, of runs and taps of the columns of three, of these across an
    edge; of channels, their turns, words of taps, chunks, corrections; of outputs in float."""
    across = _across_an_edge(shape)
    blocks, (_, count) = len(across) // 2, runs(shape)
    of_window = shape["kernel_height"] * count
    channels = blocks * stream.channels
    return {
        "blocks": blocks * shape["groups"],
        "runs": len(across) * of_window * shape["groups"],
        "packed_taps": len(across) * shape["groups"] * stream.taps,
        "across": int(across.sum()) * shape["groups"],
        "across_runs": int(across.sum()) * of_window * shape["groups"],
        "channels": channels,
        "turns": blocks * stream.blocks // stream.turn_words,
        "words": blocks * stream.blocks,
        "chunks": channels * -(-stream.taps // stream.chunk_taps) if stream.form is not Form.single else 0,
        "chunked": channels if stream.form is Form.chunked else 0,
        "in_float": channels if stream.form is Form.sums else 0,
        "offsets": channels if stream.has_offsets else 0,
        "corrected": channels if stream.has_corrections else 0,
        "corrections": blocks * stream.corrections,
    }


def _across_an_edge(shape: Mapping[str, int]) -> numpy.ndarray:
    """Returns for three pixels each whether a window reaches across an edge; the last pixel fills up the last block."""
    inside = []
    for axis, pad in (("height", "pad_top"), ("width", "pad_left")):
        first = numpy.arange(shape[f"out_{axis}"]) * shape[f"stride_{axis}"] - shape[pad]
        extent = (shape[f"kernel_{axis}"] - 1) * shape[f"dilation_{axis}"] + 1
        inside.append((first >= 0) & (first + extent <= shape[f"in_{axis}"]))
    across = numpy.tile(~(inside[0][:, None] & inside[1]).ravel(), shape["batches"])
    in_threes = numpy.pad(across, (0, -len(across) % PIXELS), "edge").reshape(-1, PIXELS // 2)
    return numpy.asarray(in_threes.any(axis=1))


def dense_struct(shape: Mapping[str, int], stream: Stream, has_pads: bool) -> Struct:
    """Returns the struct of dense.h for an image, which has the fields of kit/window2d.h."""
    run, count = runs(shape)
    last_top, last_left = (
        shape[f"in_{axis}"] - (shape[f"kernel_{axis}"] - 1) * shape[f"dilation_{axis}"] - 1 for axis in ("height", "width")
    )
    return Struct(
        "aidge_kit_narrow_dense",
        {
            "channels": shape["out_channels"] // shape["groups"],
            "chunk_bytes": TAP_BYTES * stream.chunk_taps,
            "column_bytes": TAP_BYTES * stream.taps,
            "run": run,
            "runs": count,
            "has_pads": int(has_pads),
            "last_top": last_top,
            "last_left": last_left,
        },
    )
