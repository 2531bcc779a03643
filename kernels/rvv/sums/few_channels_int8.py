# SPDX-License-Identifier: MIT
"""int8 convolution with few output channels: vectors of neighbouring pixels, with a vector of sums for each channel.

Windows that see pads have fewer taps, and inputs count from their zero point: a pad adds nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

from aidge_build.contract.call import Call, Input, Output
from aidge_build.contract.kernel_kit.conditions import BYTES_OR_HALFWORDS, ONE_GROUP
from aidge_build.contract.kernel_kit.linear_int8 import FIXED_FORM, LinearNode, quantized_spec
from aidge_build.contract.kernel_kit.packing import taps_last_channels
from aidge_build.contract.kernel_kit.raster import raster_demands
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import CHANNELS_LAST, Demands, NodeView, Predicate

from ..core.assembly import LANES, REGISTERS, WITH_FLOATS, Routine
from ..core.block import Block
from ..core.conditions import weights_of
from ..core.levels import ONE_FACTOR, Levels, emit_head, emit_levels
from ..core.neighbours import FIELDS, SOURCES, neighbours_text
from ..core.windows import constants, facts
from .conv2d_int8 import image_of
from .dense import PIXEL_COST, TAP_COST, block_of

MOST_CHANNELS = REGISTERS // 4 - 1
MOST_TAPS = 4  # of a turn of the loop
CHANNEL_COST, TURN_COST = 2, 7  # instructions of a tap and a vector: for each channel, and alone
SCALAR_PIXELS, SCALAR_COST = 6, 48  # a block of rv32, which computes a single channel otherwise, and its instructions of a tap
_ARGUMENTS = {"taps": "const aidge_rvv_taps *", "output": "int8_t *", "numbers": "const int32_t *", "weights": "const void *"}
_ARGUMENTS |= {"left": "int32_t ", "shape": "const aidge_kit_window2d *"}
PARAMETERS = ", ".join(kind + name for name, kind in _ARGUMENTS.items())
_NAMES = {name: f"a{number}" for number, name in enumerate((*_ARGUMENTS, "length", "value"))}
_NAMES |= {name: f"t{number}" for number, name in enumerate(("place", "tap", "line", "turns", "spare", "rest", "skip"))}
_NAMES |= {name: f"s{number}" for number, name in enumerate(("from", "rows", "run", "step", "channels", "first"))}
_NAMES |= {name: f"s{number}" for number, name in enumerate(("zero", "low", "high", "centre", "factors"), 6)}
_SHAPE = {"value": 12, "channels": 24, "skip": 32, "step": 40}  # in aidge_kit_window2d
_LAYER = "const void *weights", "0, 0", "pixels", "weights, pixels, shape"


def _registers(view: NodeView) -> int:
    """Returns the registers of a channel's sums, the same for all bands of a layer."""
    view = view.layer.whole if view.layer else view
    shape = image_of(view).fields
    return 8 if shape["out_channels"] < REGISTERS // 8 and shape["out_width"] > LANES * 4 else 4


def _vectors(shape: Mapping[str, int], lanes: int) -> int:
    """Returns the vectors of pixels in a row."""
    found = column = 0
    while column < shape["out_width"]:
        left = column * shape["stride_width"] - shape["pad_left"]
        room = shape["in_width"] - shape["kernel_width"] - left
        alike = room // shape["stride_width"] + 1 if min(left, room) >= 0 else 1
        alike = min(alike, shape["out_width"] - column)
        found += -(-alike // lanes)
        column += alike
    return found


def _many_channels(view: NodeView) -> str:
    view = view.layer.whole if view.layer else view
    shape = image_of(view).fields
    channels, width = shape["out_channels"], shape["out_width"]
    if channels > MOST_CHANNELS or width == 1:
        return f"{channels} output channels in rows of {width}, wants at most {MOST_CHANNELS} in rows of 2 or more"
    if shape["dilation_width"] > 1 < shape["kernel_width"]:
        return "dilated columns"
    block = block_of(channels, width, 1, weights_of(view))
    others = -(-width // block.pixels) * (TAP_COST + PIXEL_COST * block.pixels)
    if channels == 1:
        others = -(-width // SCALAR_PIXELS) * SCALAR_COST
    own = _vectors(shape, LANES * _registers(view)) * (TURN_COST + CHANNEL_COST * channels)
    return "" if own < others else f"rows of {width} pixels with pads"


FEW = Predicate("few channels and long rows", _many_channels)


@kernel(
    ("Conv1D", "Conv2D"),
    quantized_spec(CHANNELS_LAST, BYTES_OR_HALFWORDS, ONE_GROUP, FEW, FIXED_FORM, features=WITH_FLOATS, rounding="any"),
)
class FewChannelsInt8(LinearNode):
    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        return raster_demands(image_of(view).fields, view.inputs[0], view.outputs[0])

    def call(self) -> Call:
        levels, image = Levels.of(self.view, self.linear(taps_last_channels(self.inputs[1].data))), image_of(self.view)
        linear = levels.linear
        levels = replace(levels, linear=replace(linear, bias=linear.bias + linear.input_zero_point * linear.rows.sum(axis=1)))
        weights, rounding, channels = weights_of(self.view), levels.rounding, image.fields["out_channels"]
        together = math.gcd(image.fields["in_channels"], MOST_TAPS)
        block = Block(_registers(self.view), channels, together, weights, rounding)  # a channel has a pixel's registers for sums
        name = f"aidge_rvv_few_channels_int8_{weights}_{rounding}_m{block.registers}_x{channels}_u{together}"
        return Call(
            f"{name}_layer",
            SOURCES,
            (Input(0), Output(0), *constants(levels, block), image),
            note=f"a vector of pixels x {channels} channels, rounding: {rounding}",
            texts=(_text(block, name), neighbours_text(name, *_LAYER)),
            facts=facts(block, f"a vector of pixels x {channels} channels"),
        )


@lru_cache(64)
def _text(block: Block, name: str) -> str:
    """Returns the C function of neighbours that see as much."""
    code, size = Routine(_NAMES), 2 if block.weights == "words" else 1
    load, bytes_ = ("lh", "lb")[size == 1], f"v{block.registers // 4}"
    code.enter()
    _emit_sizes(code, size)
    emit_head(code, ("zero", "low", "high", "centre"), block.rounding)
    code.label(1, "a vector of pixels")
    code(f"vsetvli {{length}}, {{left}}, e32, m{block.registers}, ta, ma")
    for channel, sums in enumerate(block.sums):
        code(f"lw {{value}}, {4 * channel}({{numbers}})")
        code(f"vmv.v.x {sums}, {{value}}")
    code.elements(16, block.registers)
    code("mv {place}, {from}")
    code("mv {tap}, {weights}")
    code("mv {line}, {rows}")
    code("blez {rows}, 4f")
    code("blez {run}, 4f")
    code.label(2, "a row of taps")
    code("mv {turns}, {run}")
    code.label(3)
    for tap in range(block.run):
        code(f"vlse8.v {bytes_}, ({{place}}), {{step}}")
        code("addi {place}, {place}, 1")
        code(f"vsext.vf2 v0, {bytes_}")
        code("vsub.vx v0, v0, {centre}")
        for channel, sums in enumerate(block.sums):
            code(f"{load} {{value}}, {size * (tap * block.pixels + channel)}({{tap}})")
            code(f"vwmacc.vx {sums}, {{value}}, v0")
    code(f"addi {{tap}}, {{tap}}, {size * block.pixels * block.run}")
    code(f"addi {{turns}}, {{turns}}, -{block.run}")
    code("bnez {turns}, 3b")
    code("add {place}, {place}, {rest}")
    code("add {tap}, {tap}, {skip}")
    code("addi {line}, {line}, -1")
    code("bnez {line}, 2b")
    code.label(4)
    results = [f"v{block.registers + channel * block.registers // 4}" for channel in range(block.pixels)]
    for channel, (sums, result) in enumerate(zip(block.sums, results)):
        code.elements(32, block.registers)
        code(f"addi {{place}}, {{factors}}, {4 * channel}")
        emit_levels(code, block.rounding, [sums], block.registers, "v0", "place", ONE_FACTOR)
        if result != sums:
            code(f"vmv.v.v {result}, {sums}")
    code(f"vsseg{block.pixels}e8.v {results[0]}, ({{output}})" if block.pixels > 1 else f"vse8.v {results[0]}, ({{output}})")
    for pointer, step in (("from", "step"), ("output", "channels")):
        code(f"mul {{spare}}, {{length}}, {{{step}}}")
        code(f"add {{{pointer}}}, {{{pointer}}}, {{spare}}")
    code("sub {left}, {left}, {length}")
    code("bnez {left}, 1b")
    code.leave()
    return code.function(name, PARAMETERS, f"{block.pixels} channels of neighbours that see as much.")


def _emit_sizes(code: Routine, weight_bytes: int) -> None:
    """Computes the address of the first weights, and numbers of bytes: of a row of taps, from its end to the next row of pixels
    and of weights, from a pixel to the next."""
    for name, field in (("from", "from"), ("rows", "rows"), ("run", "columns"), ("rest", "row_step"), ("first", "first")):
        code(f"lw {{{name}}}, {4 * FIELDS.index(field)}({{taps}})")
    for name, place in _SHAPE.items():
        code(f"lw {{{name}}}, {place}({{shape}})")
    code("sub {skip}, {skip}, {run}")
    code("mul {tap}, {value}, {channels}")
    code(f"slli {{tap}}, {{tap}}, {weight_bytes - 1}")
    for name, factor in (("run", "value"), ("step", "value"), ("skip", "tap"), ("first", "tap")):
        code(f"mul {{{name}}}, {{{name}}}, {{{factor}}}")
    code("sub {rest}, {rest}, {run}")
    code("add {weights}, {weights}, {first}")
