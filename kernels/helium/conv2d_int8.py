# SPDX-License-Identifier: MIT
"""int8 convolution over one or two axes: how windows become products, and the function that drives them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy

from aidge_build.arithmetic.requantize import clamp_levels
from aidge_build.contract.call import Call, Constant, Input, Output, Scratch, computed
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import Demands, NodeView, Predicate
from aidge_build.kernel_kit.following import Steps, following

from .assembly import c_function, loop
from .columns import Columns
from .conditions import NARROW, linear_spec
from .finer import coarse, numbers_of
from .geometry import Geometry, geometry_of
from .patches import Patches
from .product import LANES, Product
from .rounding import rounds_by_addition
from .staging import Staging
from .stationary import Stationary
from .stream import product_stream

SCRATCH_BYTES = 4096  # what patches may take if they have the choice
PIXELS = 4
MOST_TAPS = 3  # whose weights stay in registers together
FEWEST_STATIONARY = 3  # blocks of pixels that pay for loading a pair's weights beforehand
RING = "int8_t *const *const pointers = aidge_helium_turn(x, rows, &state, &ring);"
MOST_TOGETHER = 8  # rows of the output: while they are written, the input that they see is still needed
CALL_OF_A_PAIR = 20  # instructions, of a row, where weights stay in registers
FEWEST_OF_A_PART = 128  # blocks of pixels beside which loading them once more is nothing


def _grouped(view: NodeView) -> str:
    return f"{view.operator.groups} groups" if view.operator.groups != 1 else ""


def _wide_and_dilated(view: NodeView) -> str:
    shape = geometry_of(view.inputs[0], view.outputs[0], view.operator.window)
    if shape.dilation_width > 1 and shape.kernel_width * shape.kernel_height > 64:
        return f"a dilated kernel of {shape.kernel_height} x {shape.kernel_width} taps"
    return ""


ONE_GROUP = Predicate("one group", _grouped)
FEW_DILATED_TAPS = Predicate("a dilated kernel has at most 64 taps", _wide_and_dilated)


@dataclass(frozen=True)
class Plan:
    """How a convolution is computed. Windows are read from the input or, with `staging`, from copies of its rows; with
    `patches` they are laid out for `batch` pixels first. With `columns` the rows are copied column by column instead."""

    geometry: Geometry
    product: Product
    staging: Staging | None = None
    patches: Patches | None = None
    batch: int = 0
    columns: Columns | None = None
    together: int = 1  # rows of the output that pass while weights stay in registers

    @property
    def scratch_bytes(self) -> int:
        if self.columns:
            return self.columns.bytes
        staged = self.staging.bytes if self.staging else 0
        return staged + (self.batch * self.patches.vectors * LANES + LANES if self.patches else 0)

    @property
    def pixels(self) -> int:
        """Of a pointwise layer."""
        return self.geometry.batches * self.geometry.in_height * self.geometry.in_width

    @property
    def whole_blocks(self) -> int:
        """Of a pointwise layer: blocks of pixels before those behind which the input ends."""
        masked = min(self.pixels, -(-(-self.geometry.channels % LANES) // self.geometry.channels))
        return (self.pixels - masked) // PIXELS

    @property
    def crosses_rows(self) -> bool:
        """Whether windows of whole output rows are laid out side by side."""
        return self.patches is not None and self.batch >= self.geometry.out_width

    @property
    def rows_together(self) -> int:
        """Output rows whose windows are laid out before the first of them is written."""
        return max(self.together, self.batch // self.geometry.out_width)

    @property
    def steps(self) -> Steps:
        """What is written, and what of the input is not needed any more."""
        shape = self.geometry
        if shape.is_pointwise:
            parts = [(first, first + count) for first, count in parts_of(self.product, self.whole_blocks)]
            alone = self.whole_blocks if is_stationary(self.product, self.whole_blocks) else 0
            parts = (parts if alone else []) + [(block, block + 1) for block in range(alone, -(-self.pixels // PIXELS))]
            return [(min(end * PIXELS, self.pixels) * shape.outputs, first * PIXELS * shape.channels) for first, end in parts]
        ends = [min(first + self.rows_together, shape.out_height) for first in range(0, shape.out_height, self.rows_together)]
        return shape.row_steps([(end, self._needed(end)) for end in ends])

    @property
    def is_ring(self) -> bool:
        """Whether rows that the next row of the output sees, too, are copied once."""
        shape = self.geometry
        overlap = shape.dilation_height == 1 and shape.stride_height < shape.kernel_height
        return self.staging is not None and self.patches is None and overlap and self.product.can_ring

    def _needed(self, end: int) -> int:
        """The first input row that is needed while, or after, the output rows before `end` are written."""
        if self.staging is None and self.columns is None:
            return (end - self.together) * self.geometry.stride_height
        if end == self.geometry.out_height:
            return self.geometry.in_height
        if self.is_ring:
            return min(
                self.geometry.in_height, (end - 1) * self.geometry.stride_height - self.geometry.top + self.geometry.kernel_height
            )
        return end * self.geometry.stride_height - self.geometry.top


def plan_of(shape: Geometry, clamps: bool) -> Plan:
    """The plan with the fewest instructions, by estimate."""
    row, tap_step = shape.kernel_width * shape.channels, shape.dilation_width * shape.channels
    row_step = shape.dilation_height * shape.in_width * shape.channels
    usual = Product(
        PIXELS,
        shape.stride_width * shape.channels,
        shape.kernel_height,
        row_step,
        1,
        row,
        -(-row // LANES),
        shape.outputs,
        clamps=clamps,
    )
    taps = replace(usual, taps=shape.kernel_width, tap_step=tap_step, vectors=-(-shape.channels // LANES))
    if shape.is_pointwise:
        return Plan(shape, usual)
    whole = shape.channels % LANES == 0
    runs_are_whole = shape.dilation_width == 1 or shape.kernel_width == 1
    candidates = [*([usual] if runs_are_whole else []), *([taps] if whole and shape.kernel_width <= MOST_TAPS else [])]
    if shape.stays_inside and (whole or row % LANES == 0 and runs_are_whole) and candidates:
        best = min(candidates, key=instructions_of)
        return Plan(shape, best, together=_together(shape, best, MOST_TOGETHER))
    staging = Staging.of(shape)
    aligned = shape.channels % 4 == 0
    plans = [Plan(shape, replace(form, row_step=staging.row_bytes, aligned=aligned), staging) for form in candidates]
    runs = (1, row, row) if shape.dilation_width == 1 else (shape.kernel_width, tap_step, shape.channels)
    patches = Patches(shape.stride_width * shape.channels, shape.kernel_height, staging.row_bytes, *runs)
    if not plans or patches.bytes <= SCRATCH_BYTES // PIXELS:
        patch = patches.vectors * LANES
        form = Product(PIXELS, patch, 1, patch, 1, patch, patches.vectors, shape.outputs, aligned=True, clamps=clamps)
        plan = Plan(shape, form, staging, patches)
        room = (SCRATCH_BYTES - staging.bytes - LANES) // patch // PIXELS * PIXELS
        plans.append(replace(plan, batch=_batch(shape, max(PIXELS, room))))
    best = min(
        plans,
        key=lambda plan: (
            instructions_of(plan.product) + (PIXELS * plan.patches.instructions / plan.product.pairs if plan.patches else 0)
        ),
    )
    columns = Columns(shape)
    return _by_columns(columns, clamps, best) if columns.fits else best


def _by_columns(columns: Columns, clamps: bool, other: Plan) -> Plan:
    """The plan with columns where its rows take fewer instructions, and no more scratch, than windows laid out one by one."""
    shape, step = columns.geometry, columns.pixel_step
    form = Product(PIXELS, step, 1, step, 1, step, columns.vectors, shape.outputs, clamps=clamps)
    plan = Plan(shape, form, columns=columns)
    if other.patches is None or plan.scratch_bytes > other.scratch_bytes:
        return other
    blocks = -(-shape.out_width // PIXELS)
    row = columns.instructions + (blocks * instructions_of(form) + CALL_OF_A_PAIR) * form.pairs
    staged = shape.kernel_height * (18 + 2 * other.staging.row_bytes // LANES)
    windows = shape.out_width * (other.patches.instructions + instructions_of(other.product) * form.pairs / PIXELS)
    return plan if row < staged + windows else other


def _together(shape: Geometry, form: Product, most: int) -> int:
    """How many rows of the output pass at once."""
    blocks = shape.out_width // PIXELS
    counts = [count for count in range(1, most + 1) if shape.out_height % count == 0 and count * blocks >= FEWEST_STATIONARY]
    return max(counts, default=1) if Stationary.fits(form) and blocks else 1


def is_stationary(form: Product, blocks: int) -> bool:
    """Whether the weights of a pair of channels stay in registers while so many blocks of pixels pass."""
    return Stationary.fits(form) and blocks >= FEWEST_STATIONARY


def parts_of(form: Product, blocks: int) -> list[tuple[int, int]]:
    """(First, how many) of the blocks of pixels that pass together: all, unless weights stay in registers while very many pass.
    The output can then follow the input part by part."""
    count = max(1, blocks // FEWEST_OF_A_PART) if is_stationary(form, blocks) else 1
    ends = [blocks * part // count for part in range(count + 1)]
    return [(first, end - first) for first, end in zip(ends, ends[1:])]


def _batch(shape: Geometry, room: int) -> int:
    """How many pixels' windows are laid out at once: whole rows where they fit, and so that blocks come out even."""
    rows = min(shape.out_height, room // shape.out_width)
    if rows == 0:
        return room
    even = [count for count in range(rows, max(0, rows - PIXELS), -1) if count * shape.out_width % PIXELS == 0]
    return (even or [rows])[0] * shape.out_width


def instructions_of(form: Product) -> int:
    """Of a block of pixels and a pair of channels, nearly."""
    if Stationary.fits(form):
        return 19 + 12 * form.vectors
    return 21 + form.rows * form.vectors * (form.columns + 2 * form.taps + 2 * PIXELS * form.taps)


class PlannedConvolution(KernelNode):
    """Base: an output that follows the input as the plan says."""

    @staticmethod
    def plan_of(shape: Geometry, groups: int, clamps: bool) -> Plan:
        raise NotImplementedError

    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        plan = cls.plan(view)
        return following(plan.steps, view.outputs[0], plan.scratch_bytes)

    @classmethod
    def plan(cls, view: NodeView) -> Plan:
        (output,) = view.outputs
        levels = clamp_levels(view.operator.minimum, view.operator.maximum, output.quantization, output.dtype)
        shape = geometry_of(view.inputs[0], output, view.operator.window)
        return cls.plan_of(shape, view.operator.groups, levels != output.dtype.range)


@kernel(("Conv1D", "Conv2D"), linear_spec("channels_last", NARROW, ONE_GROUP, FEW_DILATED_TAPS))
class Conv2dInt8(PlannedConvolution):
    @staticmethod
    def plan_of(shape: Geometry, groups: int, clamps: bool) -> Plan:
        return plan_of(shape, clamps)

    def call(self) -> Call:
        plan = self.plan(self.view)
        shape, form = plan.geometry, plan.product
        weights = self.inputs[1].data
        taps = numpy.moveaxis(weights, 1, -1).reshape(shape.outputs, shape.kernel_height, shape.kernel_width, shape.channels)
        numbers, bits = numbers_of(self, taps.reshape(shape.outputs, -1))
        form = replace(form, adds=form.channels % 2 == 0 and rounds_by_addition(numbers, bits), bits=bits)
        windows = coarse(taps.transpose(0, 2, 1, 3) if plan.columns else taps).reshape(shape.outputs, form.rows, form.taps, -1)
        return Driver(replace(plan, product=form)).call(product_stream(form, windows, numbers))


class Driver:
    """The C function that runs a plan: rows, patches, blocks of four pixels, the pixels that are left."""

    def __init__(self, plan: Plan):
        self.plan, self.shape = plan, plan.geometry
        self.functions: dict[str, str] = {}

    @property
    def name(self) -> str:
        way = "_patches" if self.plan.patches else "_rows" if self.plan.staging else "_columns" if self.plan.columns else ""
        form = self.plan.product
        ways = f"{way}{'_clamped' if form.clamps else ''}{'_adding' if form.adds else ''}"
        ways += f"_finer_{form.bits}" if form.bits else ""
        return f"aidge_helium_conv_{self.shape.name}_to_{self.shape.outputs}{ways}"

    @property
    def note(self) -> str:
        form = self.plan.product
        way = "rows copied with pads" if self.plan.staging else "windows in place"
        way = "windows copied side by side" if self.plan.patches else "rows copied by columns" if self.plan.columns else way
        return f"4 pixels x 2 channels, sums of {form.rows * form.taps * form.vectors} vectors, {way}, requantized in float"

    @property
    def facts(self) -> dict[str, str]:
        return computed(f"{PIXELS} pixels x 2 channels", 0)

    def call(self, stream: numpy.ndarray) -> Call:
        plan, arguments = self.plan, [Input(0), Output(0), Constant("stream", stream)]
        if plan.scratch_bytes:
            arguments.append(Scratch())
        sources = (
            "product.h",
            *(
                ("turned_rows.h" if plan.is_ring else f"{plan.staging.copies}.h",)
                if plan.staging
                else ("copies.h",)
                if plan.columns
                else ()
            ),
            *(("patches.h",) if plan.patches else ()),
        )
        return Call(self.name, sources, tuple(arguments), self.note, tuple(self.texts()), facts=self.facts)

    def texts(self) -> list[str]:
        """The functions that the driver calls, then the driver."""
        body = self._pointwise() if self.shape.is_pointwise else self._rows()
        parameters = "const int8_t *x, int8_t *y, const int8_t *stream" + (", void *scratch" if self.plan.scratch_bytes else "")
        return [*self.functions.values(), c_function(self.name, parameters, body)]

    def _pointwise(self) -> list[str]:
        form, whole = self.plan.product, self.plan.whole_blocks
        masked = replace(form, tail=self.shape.channels % LANES)
        return [*self._blocks(form, "x", "y", 0, whole), *self._pixels(masked, "x", "y", whole * PIXELS, self.plan.pixels)]

    def _pixels(self, form: Product, x: str, y: str, first: int, end: int) -> list[str]:
        """Pixels first..end - 1 in blocks of four, and the rest."""
        whole = (end - first) // PIXELS
        lines = self._blocks(form, x, y, first, whole)
        rest = (end - first) % PIXELS
        last = replace(form, pixels=rest, begin=(first + whole * PIXELS) * form.pixel_step if form.ring else 0)
        return lines + (self._blocks(last, x, y, first + whole * PIXELS, 1) if rest else [])

    def _blocks(self, form: Product, x: str, y: str, first: int, count: int) -> list[str]:
        if count == 0:
            return []
        paired = self.shape.is_pointwise and 2 * form.pixel_step <= LANES
        block = Stationary(form, paired) if is_stationary(form, count) else form
        self.functions[block.name] = block.text()
        lines = []
        for start, size in parts_of(form, count):
            pixel = first + PIXELS * start
            source = x if form.ring else _at(x, pixel * form.pixel_step)
            target = _at(y, pixel * form.distance)
            lines.append(f"{block.name}({source}, {target}, stream, {size});")
        return lines

    def _rows(self) -> list[str]:
        shape, plan = self.shape, self.plan
        in_row = shape.in_width * shape.channels
        lines = ["int32_t batch, row;"] if not plan.crosses_rows else ["int32_t batch, group, row;"]
        if plan.staging:
            lines += plan.staging.ring_lines("stream[16]") if plan.is_ring else plan.staging.lines("stream[16]")
        if plan.columns:
            lines += self._beside_columns()
        if plan.patches:
            lines.insert(-1, f"int8_t *const windows = rows + {plan.staging.bytes};")
        if plan.crosses_rows:
            inner = self._groups()
        else:
            count, step = plan.together, plan.together * shape.stride_height * in_row
            source = "pointers" if plan.is_ring else "rows" if plan.staging or plan.columns else f"(x + row * {step})"
            body = [RING] if plan.is_ring else [self._copy("row")] if plan.staging else self._columns() if plan.columns else []
            body += self._row(source)
            inner = loop("row", shape.out_height // count, [*body, f"y += {count * shape.out_width * shape.outputs};"])
        if plan.is_ring:
            inner[:0] = ["state.first = 0;", "state.number = 0;"]
        return [*lines, *loop("batch", shape.batches, [*inner, f"x += {shape.in_height * in_row};"])]

    def _row(self, source: str) -> list[str]:
        """One output row, or those that pass together, whose windows begin at `source`."""
        if self.plan.patches:
            return self._patched(source)
        if self.plan.together > 1:
            return self._rows_together(source)
        form = replace(self.plan.product, ring=self.plan.is_ring)
        return self._pixels(form, source, "y", 0, self.shape.out_width)

    def _rows_together(self, source: str) -> list[str]:
        """Whole blocks of several rows by one call, then the pixels that are left of each."""
        shape, plan = self.shape, self.plan
        form, blocks = plan.product, shape.out_width // PIXELS
        jumps = shape.stride_height * shape.in_width * shape.channels, shape.out_width * form.distance
        block = Stationary(form, rows=plan.together, jumps=jumps, blocks=blocks)
        self.functions[block.name] = block.text()
        lines = [f"{block.name}({source}, y, stream, {blocks});"]
        if shape.out_width % PIXELS:
            for row in range(plan.together):
                place, target = (_at(pointer, row * jump) for pointer, jump in zip((source, "y"), jumps))
                lines += self._pixels(form, place, target, blocks * PIXELS, shape.out_width)
        return lines

    def _copy(self, row: str) -> str:
        """The rows that output row `row` sees."""
        shape = self.shape
        return (
            f"aidge_helium_{self.plan.staging.copies}(x, rows, {row} * {shape.stride_height} - {shape.top}, stream[16], &staged);"
        )

    def _beside_columns(self) -> list[str]:
        """What stands before the loops; all of scratch is pads at first."""
        columns = self.plan.columns
        self.functions[columns.name] = columns.text()
        return [
            f"static const uint8_t places[] = {{{', '.join(map(str, columns.places))}}};",
            "int8_t *const rows = (int8_t *)scratch;",
            "int32_t line;",
            f"aidge_helium_fill(rows, stream[16], {columns.bytes});",
        ]

    def _columns(self) -> list[str]:
        """The rows that output row `row` sees; those outside of the input are pads."""
        shape, columns = self.shape, self.plan.columns
        in_row, first = shape.in_width * shape.channels, columns.first * columns.column_bytes
        body = [
            f"const int32_t place = row * {shape.stride_height} + line * {shape.dilation_height} - {shape.top};",
            f"const int is_inside = (place >= 0) && (place < {shape.in_height});",
            f"const int8_t *const from = is_inside ? x + place * {in_row} : rows + {columns.row_bytes};",
            f"{columns.name}(from, rows + {first} + line * {shape.channels}, places);",
        ]
        return loop("line", shape.kernel_height, body)

    def _groups(self) -> list[str]:
        """Windows of several output rows side by side: blocks of pixels go across the ends of rows."""
        shape, plan = self.shape, self.plan
        patches = plan.patches
        self.functions[patches.name] = patches.text()
        count = plan.rows_together

        def group(rows: int, first: str) -> list[str]:
            row_bytes = shape.out_width * patches.vectors * LANES
            copies = [self._copy(f"({first} + row)"), f"{patches.name}(rows, windows + row * {row_bytes}, {shape.out_width});"]
            return [
                *loop("row", rows, copies),
                *self._pixels(plan.product, "windows", "y", 0, rows * shape.out_width),
                f"y += {rows * shape.out_width * shape.outputs};",
            ]

        whole, rest = divmod(shape.out_height, count)
        return [*loop("group", whole, group(count, f"group * {count}")), *(group(rest, str(whole * count)) if rest else [])]

    def _patched(self, source: str) -> list[str]:
        shape, plan, lines = self.shape, self.plan, []
        self.functions[plan.patches.name] = plan.patches.text()
        for first in range(0, shape.out_width, plan.batch):
            count = min(plan.batch, shape.out_width - first)
            lines.append(f"{plan.patches.name}({_at(source, first * plan.patches.pixel_step)}, windows, {count});")
            lines += self._pixels(plan.product, "windows", _at("y", first * shape.outputs), 0, count)
        return lines


def _at(pointer: str, offset: int) -> str:
    return f"{pointer} + {offset}" if offset else pointer
