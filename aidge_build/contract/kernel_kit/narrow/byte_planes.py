# SPDX-License-Identifier: MIT
"""The assembly of a depthwise convolution from a plane of bytes: a tile of neighbouring outputs at a time."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from aidge_build.contract.kernel_kit.narrow.core import Core
from aidge_build.contract.kernel_kit.narrow.requantize import SHIFT, level, saturated
from aidge_build.contract.kernel_kit.routine import Routine
from aidge_build.operators.window import Window

PARAMETERS = (
    "const int8_t *plane, int8_t *output, const int32_t *channel, const aidge_rv32_sweep *sweep, int32_t rows, "
    "const int32_t *head"
)
MOST_TILE = 6
MOST_RESIDENT = 9  # weights that are in registers for all outputs
FARTHEST = 2047  # bytes from an address that an instruction reaches
_FREE_REGISTERS = 14  # for the sums of a tile, and its weights or inputs
_OUTPUT = 7  # instructions of an output after its taps
_TILE = 5  # instructions of a tile alone
_TURN = 4  # instructions of a turn alone
_NUMBERS_BYTES = 16  # of a channel, before its weights
_LAST_WEIGHT = 7  # the byte that holds the last of 4 n + 1 weights
_SWEEP = "row_step", "next_step", "out_step", "whole_bytes", "row_bytes", "back", "out_back", "end_step", "out_end", "turn_step"
_LOADS = "whole", "left", "step", "row_skip", "plane_skip"


@dataclass(frozen=True)
class Shape:
    """A tile of outputs: all that a text depends on. Kernel: taps down and across of each of the `turns` of a loop; stride and
    dilation are of the columns."""

    kernel: tuple[int, int]
    stride: int
    dilation: int
    tile: int
    turns: int = 1

    @property
    def is_resident(self) -> bool:
        """Whether all weights are in registers."""
        return self.turns == 1 and math.prod(self.kernel) <= MOST_RESIDENT

    @property
    def fits(self) -> bool:
        """Whether the registers suffice; a single output always fits."""
        stride = self.stride // math.gcd(self.stride, self.dilation)
        others = math.prod(self.kernel) if self.is_resident else 1 + self.tile * min(stride, self.kernel[1])
        return self.tile == 1 or self.tile + others <= _FREE_REGISTERS - 2 * (self.turns > 1)

    @property
    def places(self) -> list[int]:
        """The columns of a row that a tile reads, from its first one on."""
        return sorted(
            {output * self.stride + tap * self.dilation for output in range(self.tile) for tap in range(self.kernel[1])}
        )

    @property
    def cost(self) -> int:
        """Instructions of a tile, more or less."""
        down, across = self.kernel
        loads = down * (len(self.places) + 1 + across * (not self.is_resident))
        turn = loads + self.tile * 2 * down * across + _TURN * (self.turns > 1)
        return self.turns * turn + self.tile * _OUTPUT + _TILE

    @property
    def name(self) -> str:
        """For the name of a function."""
        down, across = self.kernel
        turns = f"_t{self.turns}" * (self.turns > 1)
        return f"{down}x{across}{turns}_s{self.stride}_d{self.dilation}_n{self.tile}"

    def products(self) -> Iterator[tuple[int, int, int]]:
        """Yields (place, tap, output) of a row: place by place if weights are in registers, else tap by tap."""
        outputs, taps = range(self.tile), range(self.kernel[1])
        found = [(output * self.stride + tap * self.dilation, tap, output) for tap in taps for output in outputs]
        yield from sorted(found) if self.is_resident else found


def reach_of(window: Window) -> int:
    """The bytes from the first to the last input of any tile, from a plane of one channel."""
    axes = zip(window.kernel, window.dilations, window.strides)
    return max((taps - 1) * dilation + (MOST_TILE - 1) * stride for taps, dilation, stride in axes)


def plane(core: Core) -> str:
    """The text of the function that loads rows of a channel."""
    code = core.emitter()
    code("%enter.low")
    for place, name in enumerate(_LOADS):
        code(f"ldr %{name}, [%loads, #{4 * place}]")
    code.label("row", "a row")
    for columns, span in ((4, "whole"), (1, "left")):
        code(f"adds %end, %plane, %{span}")
        code("cmp %plane, %end")
        code(f"beq %without_{span}")
        code.label(f"more_{span}", f"columns, {columns} in a turn")
        for place in range(columns):
            code("ldrsb %x, [%source]")
            code("adds %source, %source, %step")
            code(f"strb %x, [%plane, #{place}]")
        code(f"adds %plane, %plane, #{columns}")
        code("cmp %plane, %end")
        code(f"bne %more_{span}")
        code.label(f"without_{span}")
    code("adds %source, %source, %row_skip")
    code("adds %plane, %plane, %plane_skip")
    code("subs %rows, %rows, #1")
    code("bne %row")
    code("%leave")
    parameters = "int8_t *plane, const int8_t *source, const aidge_rv32_rows *loads, int32_t rows"
    return code.function(f"{core.prefix}_plane", parameters, "Rows of a channel to a plane, at least one.")


def sweep(core: Core, shape: Shape, is_wide: bool, is_sums: bool) -> tuple[str, str]:
    """Name and text of a function that computes `rows` rows of outputs of one channel, or their sums as 32-bit words; the
    weights are bytes, or halfwords if they are `is_wide`."""
    name = f"{core.prefix}_depthwise_int8_{'wide_' * is_wide}{shape.name}{'_sums' * is_sums}"
    code = core.emitter()
    code("%enter.low")
    _begin(code, shape, is_wide, is_sums)
    code.label("row", "a row")
    code("adds %row_end, %output, %row_bytes")
    code("adds %stop, %output, %whole_bytes")
    code.label("tile", f"{shape.tile} outputs")
    _taps(code, shape, is_wide)
    code("adds %plane, %plane, %next_step")
    for output in range(shape.tile):
        if not is_sums:
            level(code, f"sum{output}", output, shape.is_resident)
        code(f"{'str' if is_sums else 'strb'} %sum{output}, [%output]")
        code("adds %output, %output, %out_step")
    code("cmp %output, %stop")
    code("bne %tile")
    code("cmp %output, %row_end")
    code("beq %row_done")
    code("mov %stop, %row_end", "the last tile of a row overlaps the one before")
    code("adds %plane, %plane, %back")
    code("adds %output, %output, %out_back")
    code("b %tile")
    code.label("row_done")
    code("adds %plane, %plane, %end_step")
    code("adds %output, %output, %out_end")
    code("subs %rows, %rows, #1")
    code("beq %done")
    code("b %row")
    if not is_sums:
        for output in range(shape.tile):
            saturated(code, f"sum{output}", output)
    code.label("done")
    code("%leave")
    what = "The sums of outputs" if is_sums else "Outputs"
    return name, code.function(name, PARAMETERS, f"{what} of one channel, {shape.turns * math.prod(shape.kernel)} taps.")


def _begin(code: Routine, shape: Shape, is_wide: bool, is_sums: bool) -> None:
    """The numbers of the sweep, of the layer and of the channel."""
    for place, name in enumerate(_SWEEP if shape.turns > 1 else _SWEEP[:-1]):
        code(f"ldr %{name}, [%sweep, #{4 * place}]")
    code("ldr %rows, [%argument.4]")
    code("ldr %begin, [%channel]", "offset")
    if not is_sums:
        code("ldr %head, [%argument.5]")
        code("ldm %head!, {%lowest, %highest, %bits}", "lowest - highest level, highest level")
        code("adds %lowest, %lowest, %highest")
        code("lsrs %level_bits, %bits, #8")
        code("ldr %limit, [%channel, #4]", "width")
        code(f"lsls %limit, %limit, #{SHIFT}", "without the last weight")
        if not shape.is_resident:
            code(f"lsrs %limit, %limit, #{SHIFT}")
        code("ldr %constant, [%channel, #8]")
        code("ldr %high, [%channel, #12]", "multiplier")
    if shape.is_resident:
        names = [f"weight{tap}" for tap in range(math.prod(shape.kernel))]
        for tap, name in enumerate(names):
            _load_weight(code, shape, tap, name, is_wide)
        if not is_sums:
            for name in ("begin", *names):
                code(f"lsls %{name}, %{name}, #{SHIFT}")


def _taps(code: Routine, shape: Shape, is_wide: bool) -> None:
    """All taps of the outputs of a tile."""
    has_loop = shape.turns > 1
    if has_loop:
        code("mov %weights, %channel")
        code(f"movs %todo, #{shape.turns}")
        for output in range(shape.tile):
            code(f"mov %sum{output}, %begin")
        code.label("turn")
    for row in range(shape.kernel[0]):
        if row:
            code("adds %plane, %plane, %row_step")
        _row(code, shape, row, is_wide)
    if has_loop:
        code("adds %plane, %plane, %turn_step")
        code(f"adds %weights, #{math.prod(shape.kernel) * (1 + is_wide)}")
        code("subs %todo, %todo, #1")
        code("bne %turn")


def _load_weight(code: Routine, shape: Shape, tap: int, name: str, is_wide: bool) -> None:
    weights = "weights" if shape.turns > 1 else "channel"
    if is_wide:
        code(f"ldrsh %{name}, [%{weights}, #{_NUMBERS_BYTES + 2 * tap}]")
        return
    is_last = shape.turns == 1 and tap + 1 == math.prod(shape.kernel) and tap % 4 == 0
    code(f"ldrsb %{name}, [%{weights}, #{_LAST_WEIGHT if is_last else _NUMBERS_BYTES + tap}]")


def _row(code: Routine, shape: Shape, row: int, is_wide: bool) -> None:
    """A row of taps of all outputs of a tile."""
    loaded, weight, started = set[int](), "", set[int]()
    for place, tap, output in shape.products():
        number = row * shape.kernel[1] + tap
        wanted = f"weight{number}" if shape.is_resident else "weight"
        if not shape.is_resident and weight != f"{number}":
            weight = f"{number}"
            _load_weight(code, shape, number, wanted, is_wide)
        value = "x" if shape.is_resident else f"x{place}"
        if place not in loaded:
            loaded.add(place)
            code(f"ldrsb %{value}, [%plane, #{place}]")
        code(f"muls %product, %{value}, %{wanted}")
        before = f"sum{output}" if row or output in started or shape.turns > 1 else "begin"
        started.add(output)
        code(f"adds %sum{output}, %{before}, %product")
