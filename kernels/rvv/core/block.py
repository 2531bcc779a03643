# SPDX-License-Identifier: MIT
"""The text that computes all channels of some neighbouring pixels: vector after vector of channels, with the sums of all these
pixels in registers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from aidge_build.contract.call import Struct

from .assembly import FRAME_BYTES, LANES, REGISTERS, Routine
from .floats import BYTES, emit_float_head, emit_float_length, emit_limits
from .levels import emit_head, emit_levels, emit_next_channels, emit_next_numbers, emit_stores

MOST_PIXELS = 7  # pointers in t0 to t6
MOST_REGISTERS = 8  # of the sums of a pixel
LONGEST_TURN = 8  # taps
SPARE = "v30"  # if sums take two registers each
SIZES = "aidge_rvv_sizes"
_ARGUMENTS = {
    "strip": "const void *",
    "output": "void *",
    "numbers": "const int32_t *",
    "weights": "const void *",
    "row_step": "int32_t ",
    "count": "int32_t ",
    "sizes": f"const {SIZES} *",
}
PARAMETERS = ", ".join(kind + name for name, kind in _ARGUMENTS.items())
_NAMES = {
    **{name: f"a{number}" for number, name in enumerate((*_ARGUMENTS, "length"))},
    **{f"pixel{number}": f"t{number}" for number in range(MOST_PIXELS)},
    **{name: f"s{number}" for number, name in enumerate(("channels", "left", "rows", "turns", "tap"))},
    **{"even": "s5", "odd": "s6", "spare": "s5", "place": "s6", "tap_bytes": "s11", "centre": "s11", "other": "t6"},
    **{"zero": "s7", "low": "s8", "high": "s9", "factors": "s10"},
    **{"even_float": "fa0", "odd_float": "fa1", "lowest": "fa2", "highest": "fa3"},
}
EmitTap = Callable[[Routine, int], None]


@dataclass(frozen=True)
class Block:
    """`pixels` with sums in `registers` vector registers each, rows of windows of `run` taps, and weights of this kind: "bytes",
    "words" of 16 bits, "computed" bytes, which have a zero point as the pixels then have, and pixels fewer than the most, or
    "floats". `rounding` as in levels.py and floats.py. The sums come after `first` groups of as many registers."""

    registers: int
    pixels: int
    run: int
    weights: str
    rounding: str = "float"
    first: int = 1

    @property
    def is_float(self) -> bool:
        """Whether data and weights are float32."""
        return self.weights == "floats"

    @property
    def element(self) -> int:
        """Bytes of a value."""
        return BYTES if self.is_float else 1

    @property
    def turn(self) -> int:
        """Taps in the text of a loop."""
        fitting = [taps for taps in range(LONGEST_TURN, LONGEST_TURN // 2 - 1, -1) if self.run % taps == 0]
        return min(self.run, fitting[0] if fitting else LONGEST_TURN)

    @property
    def name(self) -> str:
        """All that the text depends on."""
        rest = f"_{self.run % self.turn}" if self.run % self.turn else ""
        taps = f"row{self.run}" if self.is_one_turn else f"u{self.turn}{rest}"
        return f"{self.weights}_{self.rounding}_m{self.registers}_x{self.pixels}_{taps}"

    @property
    def sums(self) -> list[str]:
        """The first register of each pixel."""
        return [f"v{self.registers * (self.first + pixel)}" for pixel in range(self.pixels)]

    @property
    def is_one_turn(self) -> bool:
        """Whether a row of a window needs no loop."""
        return self.run == self.turn

    def sizes(self, outputs: int, rows: int, step: int, **more: int) -> Struct:
        """Returns the struct of strip.h: channels of the output, rows of a window, values from a pixel to the next; `more` fields
        that have other values than a pointwise layer has, in values as well."""
        run = 0 if self.is_one_turn else self.run
        distances = {"tap_bytes": 0, "block_bytes": self.pixels * step, "run_bytes": run, "row_bytes": 0}
        fields = {"channels": outputs, "rows": rows, "turns": self.run // self.turn, "step": step, **distances}
        fields |= {"columns": 1, "may_stay": 0, **more}
        return Struct(SIZES, {**fields, **{name: self.element * fields[name] for name in ("channels", "step", *distances)}})

    def text(self, name: str, comment: str, emit_tap: EmitTap, emit_moved: EmitTap | None = None) -> str:
        """Returns the C function. `emit_tap` adds the products of a tap, whose number in the loop it is given; `emit_moved` moves
        the pixels' pointers over so many taps. None: taps are vectors of channels, and move the pointers."""
        code = Routine(_NAMES)
        code.enter()
        code.lines("lw {channels}, 0({sizes})", "lw {tap_bytes}, 16({sizes})")
        if self.is_float:
            emit_float_head(code)
        else:
            emit_head(code, ("zero", "low", "high", *(("centre", "other") if self.weights == "computed" else ())), self.rounding)
        kept = [f"{{{name}}}, {FRAME_BYTES - 4 * place}(sp)" for place, name in enumerate(("numbers", "factors", "weights"), 1)]
        code.lines(*(f"sw {each}" for each in kept))
        code.label(1, "a block of pixels")
        code("mv {left}, {channels}")
        code.label(2, "a vector of channels")
        self._emit_begin(code)
        code("lw {rows}, 4({sizes})")
        code.label(3, "a row of the windows")
        if not self.is_one_turn:
            code("lw {turns}, 8({sizes})")
            code.label(4)
        for tap in range(self.turn):
            emit_tap(code, tap)
        if not self.is_one_turn:
            self._emit_turns(code, emit_tap, emit_moved)
        code.lines(*(f"add {{pixel{pixel}}}, {{pixel{pixel}}}, {{row_step}}" for pixel in range(self.pixels)))
        code.again("rows", 3)
        self._emit_results(code)
        emit_next_channels(code, 2 if self.weights == "words" else 1)
        if not emit_moved:
            code("add {strip}, {strip}, {length}")
        code("bnez {left}, 2b")
        code.lines(f"addi {{count}}, {{count}}, -{self.pixels}", "blez {count}, 5f")
        code.lines("lw {spare}, 20({sizes})", "add {strip}, {strip}, {spare}")
        code("add {output}, {place}, {length}", "after the last channels of the last pixel")
        code.lines(*(f"lw {each}" for each in kept))
        code("j 1b")
        code.label(5)
        code.leave()
        return code.function(name, PARAMETERS, comment)

    def _emit_turns(self, code: Routine, emit_tap: EmitTap, emit_moved: EmitTap | None) -> None:
        """The end of the loop over the taps of a row, and the taps that are left."""
        if emit_moved:
            emit_moved(code, self.turn)
        code.again("turns", 4)
        for tap in range(self.run % self.turn):
            emit_tap(code, tap)
        if emit_moved and self.run % self.turn:
            emit_moved(code, self.run % self.turn)

    def _emit_results(self, code: Routine) -> None:
        """Stores the outputs of these channels."""
        if self.is_float:
            if self.rounding == "limited":
                emit_limits(code, self.sums)
            emit_stores(code, self.sums, 32)
            code("add {numbers}, {numbers}, {length}")
        else:
            code.elements(32, self.registers)
            emit_levels(code, self.rounding, self.sums, self.registers, "v0", "factors")
            emit_stores(code, self.sums, 8)
            emit_next_numbers(code)

    def _emit_begin(self, code: Routine) -> None:
        """Begins the sums of the next channels, with the pointers at the first tap."""
        first, *others = self.sums
        if self.is_float:
            emit_float_length(code, self.registers)
        else:
            code(f"vsetvli {{length}}, {{left}}, e32, m{self.registers}, ta, ma")
        code.lines(f"vle32.v {first}, ({{numbers}})", "lw {spare}, 12({sizes})", "mv {pixel0}, {strip}")
        for pixel, name in enumerate(others):
            code.lines(f"add {{pixel{pixel + 1}}}, {{pixel{pixel}}}, {{spare}}", f"vmv.v.v {name}, {first}")
        code("mv {tap}, {weights}")
        if not self.is_float:
            code.elements(16, self.registers)

    def emit_weights(self, code: Routine) -> None:
        """Loads the weights of the next tap into v0."""
        if self.is_float:
            code("vle32.v v0, ({tap})")
        elif self.weights == "words":
            code.lines("vle16.v v0, ({tap})", "add {tap}, {tap}, {channels}")
        else:
            self.emit_bytes(code, 0, "tap")
        if self.weights == "computed":
            code("vsub.vx v0, v0, {other}")
        code("add {tap}, {tap}, {channels}")

    def emit_bytes(self, code: Routine, register: int, address: str) -> None:
        """Loads bytes as values of 16 bits. They come in the upper half of their registers, if the half is one."""
        source = f"v{register + self.registers // 4}" if self.registers >= 4 else SPARE
        code.lines(f"vle8.v {source}, ({{{address}}})", f"vsext.vf2 v{register}, {source}")


def best_block(channels: int, width: int, costs: tuple[int, int], run: int, weights: str, first: int = 1) -> Block:
    """Returns the block with the fewest instructions for rows of `width` pixels, 0 if that is unknown, if vectors have 128 bits.
    `costs` are the instructions of a tap, for its weights and for each pixel."""

    def cost(block: Block) -> tuple[float, int]:
        across = width or block.pixels
        turns = -(-channels // (LANES * block.registers)) * -(-across // block.pixels)
        return turns * (costs[0] + costs[1] * block.pixels) / across, block.pixels

    registers = [each for each in (2, 4, 8) if each == 2 or LANES * each // 2 < channels]
    most = MOST_PIXELS - (weights == "computed")
    most = min(most, width or most)
    sizes = [(each, pixels) for each in registers for pixels in range(1, min(most, REGISTERS // each - first) + 1)]
    return min((Block(each, pixels, run, weights, first=first) for each, pixels in sizes), key=cost)
