# SPDX-License-Identifier: MIT
"""Rows of convolutions in assembly: from planes of channel pairs, or from lines through a column."""

from __future__ import annotations

from ..core.assembly import Routine
from . import dense
from .packing import quads
from .plane_sums import sum_windows
from .sparse import group_of_pixels
from .stream import Stream
from .window import ROW_PARAMETERS, Buffer, Plane, begin_row, end_row, whole_layer

LARGEST_OFFSET = 4095  # of LDR
LARGEST_PAIR_OFFSET = 1020  # of LDRD, STRD


LOAD_PLANES = """\
                    int32_t row;
                    for (row = aidge_cortexm_move_rows({rows}, shape, top); row < shape->rows; row++) {{
                        const aidge_cortexm_piece piece = aidge_cortexm_piece_of({rows}, shape, row);
                        if (piece.pixels > 0) {{
                            UNPACK(piece.source, piece.target, piece.pixels);
                        }}
                    }}"""
LOAD_LINES = "                    aidge_cortexm_load_lines({rows}, shape, top);"
LOAD_GROUP = "                    aidge_cortexm_load_group({rows}, shape, top, CHANNELS);"
UNPACKED_TOGETHER = 4  # words of a pixel


def load_lines(plane: Plane) -> str:
    """The statement that loads rows as they are."""
    return LOAD_GROUP.replace("CHANNELS", str(plane.in_channels)) if plane.in_gap else LOAD_LINES


def tap_order(plane: Plane) -> list[int]:
    """The order of the taps of a row in which neighbouring pixels share the most loads."""
    step, second = plane.dilations[1], plane.strides[1]
    left, order, held = list(range(plane.kernel[1])), [], set()
    while left:
        tap = next((tap for tap in left if {step * tap, step * tap + second} & held), left[0])
        left.remove(tap)
        order.append(tap)
        held = {step * tap, step * tap + second}
    return order


def plane_taps(plane: Plane) -> list[int]:
    """The order of all taps as positions in rows [kernel height, kernel width, channels]."""
    width, channels = plane.kernel[1], plane.in_channels
    return [
        (row * width + tap) * channels + first + step
        for row in range(plane.kernel[0])
        for first in range(0, channels, 4)
        for pair in ((0, 2), (1, 3))
        for tap in tap_order(plane)
        for step in pair
    ]


def plane_blocks(buffer: Buffer) -> tuple[list[int], list[int]]:
    """The order of all taps in blocks of 4 channels, in the order of the model, and the byte of each block from the begin of its
    window; none where two pixels of a pair of channels are no neighbours, or the other pair is out of reach."""
    plane, channels = buffer.plane, buffer.plane.in_channels
    if plane.strides[1] != 1 or plane.made_for[1] == 1 or plane.in_gap or 4 * buffer.span > LARGEST_PAIR_OFFSET:
        return [], []
    places = [
        4 * buffer.span * (row * channels + first) // 2 + 4 * plane.dilations[1] * tap
        for row in range(plane.kernel[0])
        for tap in range(plane.kernel[1])
        for first in range(0, channels, 4)
    ]
    return quads(plane.kernel[0] * plane.kernel[1] * channels), places


def planes_texts(stream: Stream, buffer: Buffer, unroll: int, looped: int) -> tuple[str, tuple[str, ...]]:
    """Name and texts of a layer that reads planes; up to `unroll` planes are computed without a loop, of more
    planes at most `looped` stand in the text."""
    plane = buffer.plane
    planes, span = plane.kernel[0] * plane.in_channels // 2, 4 * buffer.span
    ahead, body = (planes, 0) if planes <= unroll else dense.split_steps(planes, looped)
    second = 4 * plane.strides[1] if plane.made_for[1] > 1 else 0
    taps = [plane.dilations[1] * tap for tap in tap_order(plane)]
    name = (
        f"aidge_cortexm_conv2d{stream.weights.family}_int8_{planes}x{plane.kernel[1]}_i{buffer.span}_s{plane.strides[1]}d{plane.dilations[1]}"
        f"{'' if second else '_alone'}{'_last2' * buffer.leaves_one}{f'_g{plane.in_gap}' * (plane.in_gap > 0)}"
        f"_{stream.variant}_u{ahead}_{body}{plane.suffix}"
    )
    code = dense.routine_of(stream)
    begin_row(code, stream, "column")
    if stream.sums:
        sum_windows(code, stream, planes, span, [4 * tap for tap in taps])
    code.label(1, "two pixels")
    if body:
        code.constant("r4", planes * span)
        code("add r4, r4, {column}")
        code.put("column_end", "r4")
    code.put("base", "{column}")
    places = [(4 * tap, 4 * tap + second) for tap in taps]
    sums = [(0, second)]
    dense.groups(code, stream, lambda: _sums(code, stream, planes, ahead, body, span, places, sums))
    end_row(code, "column")
    row = code.function(f"{name}_row", ROW_PARAMETERS, f"{planes} planes of pairs of channels, {plane.kernel[1]} taps in each.")
    fill = "aidge_cortexm_even_bytes((uint32_t)stream[2])"
    unpack, unpacking = unpack_text(plane.in_channels, buffer.span, plane.in_gap)
    load = LOAD_PLANES.replace("UNPACK", unpack)
    return name, (unpacking, row, whole_layer(name, load, fill, stream, buffer, buffer.leaves_one))


def _sums(
    code: Routine,
    stream: Stream,
    planes: int,
    ahead: int,
    body: int,
    span: int,
    taps: list[tuple[int, int]],
    sums: list[tuple[int, int]],
) -> None:
    """All planes of one group: `ahead` of them, and the others `body` in each turn of a loop, then those of `sums`; label 4."""
    if stream.is_sparse:
        group_of_pixels(code, span)
        return
    _neighbours(code, stream, ahead, span, taps, True, body + stream.sums > 0)
    if body:
        if not ahead:
            dense.biases_to_pixel_0(code)
        code.label(4, f"{(planes - ahead) // body} times {body} planes")
        _neighbours(code, stream, body, span, taps, False, True)
        code.get("{x0}", "column_end")
        code("cmp {column}, {x0}")
        code("bne 4b")
    if stream.weights.minus:
        for register, place in zip(("{x0}", "{x1}"), sums[0]):
            code(f"ldr {register}, [{{column}}, #{place}]", "the sum of a window")
        dense.less_sums(code, stream)
    elif stream.sums:
        _neighbours(code, stream, stream.sums, span, sums, False, False)


def _neighbours(
    code: Routine, stream: Stream, count: int, span: int, taps: list[tuple[int, int]], is_first: bool, goes_on: bool
) -> None:
    """`count` planes one after another; `goes_on`: the column ends behind them."""
    furthest = max(max(tap) for tap in taps)
    loads_pairs = taps[0][1] == taps[0][0] + 4
    offset = 0
    for index in range(count):
        if offset + furthest > LARGEST_OFFSET or (offset > LARGEST_PAIR_OFFSET and loads_pairs):
            _advance(code, offset)
            offset = 0
        _plane(code, stream, offset, taps, is_first and index == 0)
        offset += span
    if goes_on:
        _advance(code, offset)


def _advance(code: Routine, offset: int) -> None:
    while offset:
        code(f"addw {{column}}, {{column}}, #{min(offset, LARGEST_OFFSET)}")
        offset -= min(offset, LARGEST_OFFSET)


def _plane(code: Routine, stream: Stream, offset: int, taps: list[tuple[int, int]], is_first: bool) -> None:
    held = {"{x0}": -1, "{x1}": -1}
    for index, (first, second) in enumerate(taps):
        registers = []
        wanted = {first, second}
        for place in (first, second):
            register = next((name for name, content in held.items() if content == place), None)
            if register is None:
                if (
                    not registers
                    and wanted.isdisjoint(held.values())
                    and second == first + 4
                    and offset + first <= LARGEST_PAIR_OFFSET
                    and (offset + first) % 4 == 0
                ):
                    code(f"ldrd {{x0}}, {{x1}}, [{{column}}, #{offset + first}]", "neighbouring pixels")
                    held = {"{x0}": first, "{x1}": second}
                    register = "{x0}"
                else:
                    register = next(name for name, content in held.items() if content not in wanted)
                    code(f"ldr {register}, [{{column}}, #{offset + place}]")
                    held[register] = place
            registers.append(register)
        dense.multiply(code, stream, is_first and index == 0, registers)


def unpack_text(channels: int, span: int, gap: int) -> tuple[str, str]:
    """Name and text of a function that unpacks pixels of a multiple of 4 channels, `gap` bytes apart, into planes of `span`
    words."""
    name = f"aidge_cortexm_unpack_pixels_{channels}{f'_g{gap}' * (gap > 0)}_i{span}"
    code, words, step = Routine(), channels // 4, 8 * span
    sizes = range(UNPACKED_TOGETHER, 0, -1)
    together = next(size for size in sizes if words % size == 0 and (size == 1 or size * step <= LARGEST_OFFSET))
    place = "%place" if together < words else "%target"
    code("%enter")
    code.constant("%step", together * step)
    code.constant("%half", 4 * span)
    code.label("pixel")
    if together < words:
        code("mov %place, %target")
        code.constant("%words", words // together)
        code.label("turn", f"{4 * together} channels")
    for index in range(together):
        code("ldr %odd, [%source], #4")
        code("sxtb16 %even, %odd")
        code("sxtb16 %odd, %odd, ror #8")
        if index * step + 4 * span <= LARGEST_OFFSET:
            code(f"str %even, [{place}, #{index * step}]")
            code(f"str %odd, [{place}, #{index * step + 4 * span}]")
        else:
            code(f"str %even, [{place}]")
            code(f"str %odd, [{place}, %half]")
    if together < words:
        code("add %place, %place, %step")
        code("subs %words, %words, #1")
        code("bne %turn")
    if gap:
        code(f"addw %source, %source, #{gap}")
    code("adds %target, %target, #4")
    code("subs %pixels, %pixels, #1")
    code("bne %pixel")
    code("%leave")
    return name, code.function(
        name,
        "const int8_t *source, uint32_t *target, int32_t pixels",
        f"{channels} int8 channels of each pixel to planes of pairs.",
    )


def line_taps(plane: Plane, buffer: Buffer) -> tuple[list[int], list[int]]:
    """The order of all taps as positions in rows [kernel height, kernel width, channels], and each one's byte in the buffer.

    Words of 4 neighbouring bytes come first within each run; the bytes that are left over are paired at the end, -1 fills: or the
    byte behind 3 of a run does, with weight 0, which make a word with it.
    """
    channels, (height, width) = plane.in_channels, plane.kernel
    together = width if plane.dilations[1] == 1 else 1
    words, rest = [], []
    for row in range(height):
        for first in range(0, width, together):
            position, length = (row * width + first) * channels, together * channels
            start = 4 * buffer.row_words * row * plane.dilations[0] + first * plane.dilations[1] * channels
            whole = length - length % 4
            words += [(position + word + step, start + word + step) for word in range(0, whole, 4) for step in (0, 2, 1, 3)]
            rest += [(position + byte, start + byte) for byte in range(whole, length)]
    if len(rest) % 2 and length - whole == 3:
        first, second, third = rest[-3:]
        words += [first, third, second, (-1, third[1] + 1)]
        rest = rest[:-3]
    rest += [(-1, -1)] * (len(rest) % 2)
    order, places = zip(*words, *rest)
    return list(order), list(places)


def lines_texts(stream: Stream, buffer: Buffer, order: list[int], places: list[int], unroll: int) -> tuple[str, tuple[str, str]]:
    """Name and texts of a layer that gathers the taps of two pixels into a column."""
    plane = buffer.plane
    shape = f"{plane.kernel[0]}x{plane.kernel[1]}x{plane.in_channels}{'of_more' * (plane.in_gap > 0)}_r{buffer.row_words}"
    is_either = plane.largest is not None and buffer.lines == 2  # bands of one row have their pairs side by side
    second = buffer.second_input if buffer.lines == 2 or plane.made_for[1] > 1 else 0
    dilations = f"d{plane.dilations[0]}x{plane.dilations[1]}"
    distance = f"either_of_{buffer.rows}" if is_either else second
    kind, variant = f"conv2d{stream.weights.family}_int8", f"{stream.variant}_u{unroll}{plane.suffix}"
    name = f"aidge_cortexm_{kind}_{shape}{dilations}_n{distance}_{variant}"
    code = dense.routine_of(stream)
    begin_row(code, stream, "x0")
    code.constant("r4", buffer.size_bytes)
    code("add r4, r4, r0")
    code.put("base", "r4", "the column, behind the rows")
    code.constant("r5", 4 * len(order))
    code("add r4, r4, r5")
    code.put("column_end", "r4")
    code.label(1, "two pixels")
    if second <= LARGEST_OFFSET and not is_either:
        code(f"addw {{x1}}, {{x0}}, #{second}")
    else:
        code.get("{x1}", "second_input")
        code("add {x1}, {x1}, {x0}")
    code.get("{column}", "base")
    dense.begin_sums(code, stream)
    _gather(code, places, stream.sums > 0)
    dense.store_sums(code, stream, [dense.STORE_SUMS] * stream.sums)
    steps = dense.split_steps(len(order) // 2, unroll)
    dense.groups(code, stream, lambda: dense.column_steps(code, stream, *steps), at_base=True)
    end_row(code, "x0")
    row = code.function(f"{name}_row", ROW_PARAMETERS, f"{len(order)} taps of two pixels.")
    return name, (row, whole_layer(name, load_lines(plane), "(uint32_t)stream[2]", stream, buffer))


def _gather(code: Routine, places: list[int], has_sums: bool) -> None:
    """The taps of the pixels at x0 and x1 as int16 pairs, pixel by pixel; `has_sums` as of `dense.unpack`."""
    words = places[: next((index for index in range(0, len(places), 4) if not _is_word(places[index : index + 4])), len(places))]
    dense.unpack(code, [(f"{{x0}}, #{first}]", f"{{x1}}, #{first}]") for first in words[::4]], has_sums)
    even0, even1, odd0, odd1 = (f"{{{'a' if has_sums else 'b'}{index}}}" for index in range(4))
    for index in range(len(words), len(places), 2):
        first, second = places[index : index + 2]
        code(f"ldrsb {even0}, [{{x0}}, #{first}]")
        code(f"ldrsb {even1}, [{{x1}}, #{first}]")
        if second >= 0:
            code(f"ldrsb {odd0}, [{{x0}}, #{second}]")
            code(f"ldrsb {odd1}, [{{x1}}, #{second}]")
            code(f"pkhbt {even0}, {even0}, {odd0}, lsl #16")
            code(f"pkhbt {even1}, {even1}, {odd1}, lsl #16")
        code(f"strd {even0}, {even1}, [{{column}}], #8")
        if has_sums:
            dense.add_up(code, ("a0", "a1"))


def _is_word(places: list[int]) -> bool:
    """Whether these taps are the bytes of a word in the order in which it is unpacked."""
    return places == [places[0] + step for step in (0, 2, 1, 3)]
