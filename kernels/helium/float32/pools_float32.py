# SPDX-License-Identifier: MIT
"""float32 means and maxima over windows, and over the whole map: the channels in the lanes.

16 channels at a time go through all taps of a window, counted; where many windows see few taps, the text has all taps, for four
channels at a time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aidge_build.contract.kernel_kit.conditions import REAL
from aidge_build.contract.kernel_kit.pool_float32 import MAXIMA, MEANS, PARAMETERS, PoolFloat32
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import CHANNELS_LAST, ImplSpec, IOSpec
from aidge_build.graph.dtype import DType

from ..core.assembly import WORD_REACH, Assembler, function, pays_for_text
from ..core.conditions import MVE
from .real import clamp_lines, clamp_of

LANES = 4
GROUP = 16  # channels
MOST_ROWS, MOST_TAPS = 4, 16  # that stand in a text
FLOAT = IOSpec(DType.float32, CHANNELS_LAST)
SPEC = ImplSpec(FLOAT, features=MVE, predicates=(REAL,))


@kernel((*MAXIMA, *MEANS), SPEC)
class PoolsFloat32(PoolFloat32):
    source, together = "float32/pool.h", GROUP

    def functions(self, fields: Mapping[str, int]) -> list[tuple[str, str]]:
        kind = Kind(self.is_mean, clamp_of(self.operator))
        others = counted_text(kind, fields["in_channels"])
        if self.view.objective == "size" or self.is_row() or not pays(fields):
            return [others]
        step = 4 * fields["in_channels"] * fields["dilation_width"]
        return [straight_text(kind, fields["kernel_height"], fields["kernel_width"], step, fields["in_channels"] % LANES), others]


def pays(fields: Mapping[str, int]) -> bool:
    """Whether a text with all taps is short enough for as many pixels."""
    rows, columns, channels = (fields[name] for name in ("kernel_height", "kernel_width", "in_channels"))
    reach = (columns - 1) * 4 * channels * fields["dilation_width"] - 4 * LANES
    if rows > MOST_ROWS or rows * columns > MOST_TAPS or reach > WORD_REACH:
        return False
    pixels = fields["batches"] * fields["out_height"] * fields["out_width"]
    return pays_for_text(pixels * (30 + -(-channels // LANES) * (rows * columns + 8)), 2 * rows * columns + 30)


@dataclass(frozen=True)
class Kind:
    """A mean or a maximum, and its clamp as `clamp_of` says."""

    is_mean: bool
    clamp: str

    @property
    def operation(self) -> str:
        """The instruction that takes in a tap."""
        return "vadd.f32" if self.is_mean else "vmaxnm.f32"

    @property
    def suffix(self) -> str:
        """For the names of functions."""
        return f"_{self.clamp}" * (self.clamp != "")

    def begin(self, emit: Assembler) -> None:
        """Loads the numbers that all windows have in common."""
        emit("%enter", "ldrd %advance, %channels, [%seen, #8]", "ldrd %step, %row_step, [%seen, #16]")
        emit(*["ldr %factor, [%seen, #24]"] * self.is_mean)
        if self.clamp == "limits":
            emit("ldr %limits, [%seen, #28]", "ldrd %low, %high, [%limits]")
        elif self.clamp:
            emit("vmov.i32 %q.zero, #0")

    def finish(self, emit: Assembler, results: Sequence[str]) -> None:
        """The mean of the sums; the clamp."""
        emit(*(f"vmul.f32 {result}, {result}, %factor" for result in results if self.is_mean))
        for result in results:
            emit(*clamp_lines(self.clamp, result, "%q.zero" if self.clamp == "relu" else "%low", "%high"))


def counted_text(kind: Kind, channels: int) -> tuple[str, str]:
    """Name and text for windows of as many rows and columns as `seen` says; of so many channels."""
    groups, rest = divmod(channels, GROUP)
    name = f"aidge_helium_{'avgpool' if kind.is_mean else 'maxpool'}_float32{'_groups' * (groups > 0)}"
    name += f"{f'_{rest}' * (rest > 0)}{kind.suffix}"
    emit = Assembler()
    kind.begin(emit)
    emit("ldrd %rows, %columns, [%seen]")
    emit.label("window")
    if groups:
        emit("lsrs %groups, %channels, #4")
        emit.label("group")
        _counted(emit, kind, GROUP, "")
        emit("subs %groups, %groups, #1", "bne %group")
    if rest:
        _counted(emit, kind, rest, "_of_rest")
    emit("add %source, %advance", "subs %pixels, %pixels, #1", "bne %window", "%leave")
    return name, function(name, "Neighbouring windows of a float32 pool.", PARAMETERS, emit.lines)


def _counted(emit: Assembler, kind: Kind, channels: int, which: str) -> None:
    """The next channels of a window; `which` ends the names of the labels."""
    vectors, lanes = -(-channels // LANES), channels % LANES
    results = [f"%q.result{vector}" for vector in range(vectors)]

    def access(operation: str, size: str, register: str, vector: int, pointer: str) -> list[str]:
        is_masked = lanes > 0 and vector == vectors - 1
        line = f"{operation}{'t' * is_masked}.{size} {register}, [{pointer}, #{4 * LANES * vector}]"
        return ["vpst", line] if is_masked else [line]

    mask = [f"movs %lanes, #{lanes}", "vctp.32 %lanes"] if lanes else []
    emit(*mask, *(["vmov.i32 %q.masked, #0"] if lanes else []))
    for vector, result in enumerate(results):
        first = [] if kind.is_mean else access("vldrw", "u32", result, vector, "%source")
        emit(*([] if len(first) == 1 else [f"vmov.i32 {result}, #0"]), *first)
    emit("mov %tap, %source", "mov %row, %rows")
    emit.label(f"each_row{which}")
    emit("dls lr, %columns")
    emit.label(f"each_tap{which}")
    for vector, result in enumerate(results):
        value = "%q.masked" if lanes and vector == vectors - 1 else f"%q.value{vector % 2}"
        emit(*access("vldrw", "u32", value, vector, "%tap"), f"{kind.operation} {result}, {result}, {value}")
    emit("add %tap, %step", f"le lr, %each_tap{which}", "add %tap, %row_step", "subs %row, %row, #1", f"bne %each_row{which}")
    kind.finish(emit, results)
    emit(*(mask if kind.clamp == "limits" else []))
    for vector, result in enumerate(results):
        emit(*access("vstrw", "32", result, vector, "%output"))
    emit(f"adds %output, %output, #{4 * channels}", f"adds %source, %source, #{4 * channels}")


def straight_text(kind: Kind, rows: int, columns: int, step: int, left: int) -> tuple[str, str]:
    """Name and text for windows of so many rows and columns, `step` bytes from column to column; `left` channels are behind
    whole vectors."""
    apart = f"_{step}_apart" * (columns > 1)
    name = f"aidge_helium_pool_{'means' if kind.is_mean else 'maxima'}_of_{rows}x{columns}{apart}_float32"
    name += f"{f'_and_{left}' * (left > 0)}{kind.suffix}"
    pointers = [f"%row{row}" for row in range(rows)]
    emit = Assembler()
    kind.begin(emit)
    emit("add %advance, %advance, %channels, lsl #2", why="from window to window")
    if rows > 1:
        emit("ldr %columns, [%seen, #4]", "mla %row_step, %step, %columns, %row_step", why="from row to row")
    emit.label("window")
    emit("mov %row0, %source", *(f"add {row}, {before}, %row_step" for before, row in zip(pointers, pointers[1:])))
    emit("wlstp.32 lr, %channels, %done")
    emit.label("vector")
    for pointer in pointers:
        for column in range(columns):
            is_first = (pointer, column) == ("%row0", 0)
            register = "%q.result" if is_first else "%q.value"
            emit(f"vldrw.u32 {register}, [{pointer}{f', #{column * step - 4 * LANES}]' if column else '], #16'}")
            emit(*([] if is_first else [f"{kind.operation} %q.result, %q.result, %q.value"]))
    kind.finish(emit, ["%q.result"])
    emit("vstrw.32 %q.result, [%output], #16", "letp lr, %vector")
    emit.label("done")
    emit(*[f"subs %output, %output, #{4 * (LANES - left)}"] * (left > 0))
    emit("add %source, %advance", "subs %pixels, %pixels, #1", "bne %window", "%leave")
    return name, function(name, "Windows that see all their taps.", PARAMETERS, emit.lines)
