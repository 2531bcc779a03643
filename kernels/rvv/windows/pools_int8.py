# SPDX-License-Identifier: MIT
"""int8 maxima and means: pools over one or two axes, and over the whole map.

Means of the contract `double` are sums of stored values over their number, rounded half away from zero. The others are float32,
whose values are added up in onnxruntime's order.
"""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Call
from aidge_build.contract.kernel_kit.average import ONE_SCALE
from aidge_build.contract.kernel_kit.conditions import ALL_QUANTIZED, SAME_QUANTIZATION
from aidge_build.contract.kernel_kit.mean_pooling import IN_INTEGERS, MeanPool, partial_window
from aidge_build.contract.kernel_kit.pool_float32 import MAXIMA, MEANS
from aidge_build.contract.kernel_kit.pooling import PoolNode
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import CHANNELS_LAST, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.operators.arithmetic.means import Order

from ..core.assembly import FEATURES, WITH_FLOATS, Routine, emit_stored
from .pools import emit_taps, pool_call, pool_text

FEWEST_CHANNELS = 3  # of the whole map; means of fewer take fewer instructions in C, if integers decide them
BYTES = IOSpec(DType.int8, CHANNELS_LAST)
REGISTERS = 4  # of a sum
TOTAL, OTHERS = "v8", ("v12", "v16", "v20")
_NAMES = {"centre": "a2", "scale": "fa0", "count": "fa1", "step": "fa2"}
_MAXIMUM = ("lw {low}, 0({numbers})", "lw {high}, 4({numbers})", "li {zero}, -128")
_AVERAGE = ("lw {low}, 0({numbers})", "lw {high}, 4({numbers})", "lw {count}, 20({taps})", "srli {half}, {count}, 1")
_SIGNED = ("vxor.vv v8, v8, v12", "vsub.vv v8, v8, v12")  # with the sign in v12, a magnitude or a signed value
_QUOTIENT = ("vsra.vi v12, v8, 31", *_SIGNED, "vadd.vx v8, v8, {half}", "vdivu.vx v8, v8, {count}", *_SIGNED)


@kernel(MAXIMA, ImplSpec(BYTES, features=FEATURES, predicates=(ALL_QUANTIZED, SAME_QUANTIZATION)))
class MaxPool2dInt8(PoolNode):
    def call(self) -> Call:
        name = "aidge_rvv_maxpool2d_int8"
        text = pool_text(name, "The largest value of each channel.", "e8, m8", _MAXIMUM, _emit_maximum, {})
        return pool_call(self, name, text, self.levels())


def _emit_maximum(code: Routine) -> None:
    code("vmv.v.x v8, {zero}")
    emit_taps(code, "rows", ("vle8.v v0, ({place})", "vmax.vv v8, v8, v0"))
    code.lines("vmax.vx v8, v8, {low}", "vmin.vx v8, v8, {high}")


def _counts_pads(view: NodeView) -> str:
    return "pads count" if getattr(view.operator, "counts_pads", False) else ""


def _few_channels(view: NodeView) -> str:
    channels = view.inputs[0].dims[1]
    if channels >= FEWEST_CHANNELS or partial_window(view) or IN_INTEGERS.rejection(view):
        return ""
    return f"{channels} channels of the whole map, wants at least {FEWEST_CHANNELS}"


@kernel(
    MEANS,
    ImplSpec(
        BYTES,
        features=FEATURES,
        predicates=(ALL_QUANTIZED, ONE_SCALE, Predicate("pads do not count", _counts_pads)),
        rounding="double",
    ),
)
class AverageInt8(PoolNode):
    def call(self) -> Call:
        name, more = "aidge_rvv_average_int8", {"count": "a2", "half": "t6"}
        text = pool_text(name, "The mean of each channel.", f"e32, m{REGISTERS}", _AVERAGE, _emit_average, more)
        return pool_call(self, name, text, self.levels())


def _emit_average(code: Routine) -> None:
    code("vmv.v.i v8, 0")
    emit_taps(code, "rows", ("vle8.v v0, ({place})", "vsext.vf4 v4, v0", "vadd.vv v8, v8, v4"))
    code.lines(*_QUOTIENT)
    emit_stored(code, ["v8"], REGISTERS)


def _few_channels(view: NodeView) -> str:
    channels = view.inputs[0].dims[1]
    if channels >= FEWEST_CHANNELS or partial_window(view) or IN_INTEGERS.rejection(view):
        return ""
    return f"{channels} channels of the whole map, wants at least {FEWEST_CHANNELS}"


ENOUGH = Predicate("channels for a vector", _few_channels)


@kernel(MEANS, ImplSpec(BYTES, features=WITH_FLOATS, predicates=(ALL_QUANTIZED, ENOUGH)))
class MeanInt8(MeanPool):
    def call(self) -> Call:
        self.counts()  # a mean of pads alone is refused
        data, result = self.inputs[0].quantization, self.outputs[0].quantization
        scales = numpy.array([data.scale, result.scale], numpy.float32).view(numpy.int32)
        numbers = result.zero_point, *self.levels(), *scales, data.zero_point
        order = self.order()
        name = f"aidge_rvv_mean_int8_{order.name.lower()}"
        return pool_call(self, name, _text(name, order), numbers, "float32, in onnxruntime's order")


def _text(name: str, order: Order) -> str:
    """Returns the C function of a window."""
    begin = [f"lw {{{word}}}, {4 * place}({{numbers}})" for place, word in enumerate(("zero", "low", "high"))]
    begin += ["flw {scale}, 12({numbers})", "flw {step}, 16({numbers})", "lw {left}, 20({taps})", "fcvt.s.w {count}, {left}"]
    begin += ["lw {centre}, 20({numbers})"]  # in the register of {numbers}

    def channels(code: Routine) -> None:
        code(f"vmv.v.i {TOTAL}, 0")
        _ORDERS[order](code)
        for line in ("vfdiv.vf {0}, {0}, {{count}}", "vfdiv.vf {0}, {0}, {{step}}", "vfcvt.x.f.v {0}, {0}"):
            code.each([TOTAL], line)
        code(f"vsadd.vx {TOTAL}, {TOTAL}, {{zero}}")
        emit_stored(code, [TOTAL], REGISTERS)

    comment = f"The mean of each channel; its values are added up in the order {order.name}."
    return pool_text(name, comment, f"e32, m{REGISTERS}", begin, channels, _NAMES)


def _tap(total: str) -> tuple[str, ...]:
    """Returns the instructions that add the tap at {place} to a sum."""
    return (
        "vle8.v v0, ({place})",
        "vsext.vf4 v4, v0",
        "vsub.vx v4, v4, {centre}",
        "vfcvt.f.x.v v4, v4",
        "vfmul.vf v4, v4, {scale}",
        f"vfadd.vv {total}, {total}, v4",
    )


def _emit_turn(code: Routine) -> None:
    emit_taps(code, "rows", _tap(TOTAL))


def _emit_columns(code: Routine) -> None:
    column = OTHERS[0]
    code(f"vmv.v.i {column}, 0")
    after = f"vfadd.vv {TOTAL}, {TOTAL}, {column}", f"vmv.v.i {column}, 0"
    emit_taps(code, "columns", _tap(column), after)


def _emit_lanes(code: Routine) -> None:
    """One row of taps, four at a time."""
    first, second, third, fourth = TOTAL, *OTHERS
    code.each(OTHERS, "vmv.v.i {0}, 0")
    code.lines("mv {place}, {from}", "lw {columns}, 8({taps})", "addi {columns}, {columns}, -4", "bltz {columns}, 3f")
    code.label(2, "four taps")
    for total in (first, second, third, fourth):
        _emit_next(code, total)
    code.lines("addi {columns}, {columns}, -4", "bgez {columns}, 2b")
    code.label(3)
    for total, other in ((first, third), (second, fourth), (first, second)):
        code(f"vfadd.vv {total}, {total}, {other}")
    code.lines("addi {columns}, {columns}, 4", "beqz {columns}, 5f")
    code.label(4, "a tap that is left")
    _emit_next(code, first)
    code.again("columns", 4)
    code.label(5)


def _emit_next(code: Routine, total: str) -> None:
    for line in _tap(total):
        code(line)
    code("add {place}, {place}, {column_step}")


_ORDERS = {Order.TURN: _emit_turn, Order.COLUMNS: _emit_columns, Order.LANES: _emit_lanes}
