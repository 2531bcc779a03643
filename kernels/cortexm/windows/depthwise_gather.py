# SPDX-License-Identifier: MIT
"""The gathering of a depthwise layer in assembly: rows of 4 channels become planes of pixel pairs."""

from __future__ import annotations

from ..core.assembly import Routine, Waiting
from ..core.offsets import plus
from ..sums.dense import split_steps
from .depthwise_layout import LARGEST_OFFSET, Depthwise

GATHER_PARAMETERS = "const int8_t *source, uint32_t *target, int32_t rows, uint32_t fill"
LARGEST_STEP = 255  # by which a load or store moves its pointer, or reaches below it


def gather_text(layer: Depthwise, name: str, has_fpu: bool, together: int, signed: bool = True) -> str:
    """A function that unpacks rows of 4 channels into planes of pixel pairs; at most `together` times 4 pixels of the middle of a
    row stand in the text, or 3. `signed`: of int8, else of uint8."""
    plane = layer.plane
    width, pad, (row_step, step) = plane.in_size[1], plane.pads[1], layer.in_steps
    columns = min(width, 2 * layer.pairs - pad)  # of a row that anything reads
    positions = [None] * pad + list(range(columns)) + [None] * (2 * layer.pairs - pad - columns)
    quads = [positions[first : first + 4] for first in range(0, len(positions), 4)]
    registers = {"source": "r0", "target": "r1", "rows": "r2", "pads": "r3", "t0": "r12", "t1": "lr"}  # pads: the fill
    unpack = {"unpack": "sxtb16" if signed else "uxtb16"}  # the instruction, in all lines that unpack
    code = Routine(registers | unpack, Waiting({"quads_end": 1}, has_fpu=has_fpu))
    code.begin()
    code.align()
    code.label(1, "a row")
    row_bytes, most = 4 * layer.row_words, max(together, 3)
    has_loop = sum(len(quad) == 4 and None not in quad for quad in quads) > most
    first_moves = len(quads[0]) == 4 and row_bytes <= LARGEST_STEP and not has_loop  # the first store of a row to the next one
    if first_moves:
        _gather_quad(code, quads[0], 0, layer.pairs, step, row_bytes)
    index, advanced = (1, row_bytes) if first_moves else (0, 0)
    while index < len(quads):
        alike = index
        while alike < len(quads) and len(quads[alike]) == 4 and None not in quads[alike]:
            alike += 1
        ahead, body = split_steps(alike - index, most, start=0)
        if body:
            for quad in range(index, index + ahead):
                _gather_quad(code, quads[quad], 8 * quad - advanced, layer.pairs, step)
            index += ahead
            code.constant(registers["t0"], 8 * (alike - index))
            code("add {t0}, {t0}, {target}")
            code.put("quads_end", "{t0}")
            code.align()
            code.label(2, f"{(alike - index) // body} times {4 * body} pixels")
            for quad in range(index, index + body):
                _gather_quad(code, quads[quad], 8 * quad - advanced, layer.pairs, step)
            code.get("{t0}", "quads_end")
            plus(code, "{target}", 8 * body)
            code("cmp {target}, {t0}")
            code("bne 2b")
            advanced += 8 * (alike - index)
            index = alike
        else:
            _gather_quad(code, quads[index], 8 * index - advanced, layer.pairs, step)
            index += 1
    plus(code, "{source}", row_step - columns * step)
    plus(code, "{target}", 4 * layer.row_words - advanced)
    code("subs {rows}, {rows}, #1")
    code("bne 1b")
    code.end()
    return code.function(name, GATHER_PARAMETERS, f"Rows of 4 of {plane.in_channels} channels as pairs of pixels.")


def _gather_quad(code: Routine, quad: list[int | None], offset: int, pairs: int, step: int, advance: int = 0) -> None:
    """4 (or 2) pixels of 4 channels to `offset` in the planes of the channels; the first store moves the target by `advance`."""
    loads = [index for index, position in enumerate(quad) if position is not None]
    if loads:
        _load_pixels(code, [f"r{4 + index}" for index in loads], step)
    pixel = [f"r{4 + index}" if position is not None else "{pads}" for index, position in enumerate(quad)]
    words = [("{t0}", 8), ("{t1}", 9)][: len(quad) // 2]  # of a pair of pixels; from this register channels 0 and 1, + 2: 2 and 3
    for number, (_, even) in enumerate(words):
        first, second = 2 * number, 2 * number + 1
        if quad[first] is None and quad[second] is None:  # the same in all channels
            words[number] = (f"r{4 + first}", 0)
            code(f"{{unpack}} r{4 + first}, {{pads}}")
        else:
            code(f"pkhbt r{even}, {pixel[first]}, {pixel[second]}, lsl #16")
            code(f"pkhtb r{even + 2}, {pixel[second]}, {pixel[first]}, asr #16")
    for channel in range(4):
        place = offset + 4 * pairs * channel - (advance if channel else 0)
        for target, even in words:
            if even:
                code(f"{{unpack}} {target}, r{even + channel // 2 * 2}{', ror #8' * (channel % 2)}")
        moves = advance > 0 and channel == 0
        for number, (target, _) in reversed([*enumerate(words)]):
            code(f"str.w {target}, [{{target}}" + (f"], #{advance}" if moves and number == 0 else f", #{place + 4 * number}]"))


def _load_pixels(code: Routine, registers: list[str], step: int) -> None:
    """Words of neighbouring pixels; the source moves behind them. An address that was just computed takes a cycle more."""
    size = len(registers) * step
    if size - step > LARGEST_OFFSET:
        for register in registers:
            code(f"ldr {register}, [{{source}}]")
            plus(code, "{source}", step)
        return
    for number in reversed(range(1, len(registers))):
        code(f"ldr.w {registers[number]}, [{{source}}, #{number * step}]")
    code(f"ldr.w {registers[0]}, [{{source}}]" + f", #{size}" * (size <= LARGEST_STEP))
    plus(code, "{source}", size if size > LARGEST_STEP else 0)
