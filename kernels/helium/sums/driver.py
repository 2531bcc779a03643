# SPDX-License-Identifier: MIT
"""The C function that drives an int8 convolution."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy

from aidge_build.contract.call import Argument, Call, Constant, Input, Literal, Output, Scratch, computed
from aidge_build.contract.kernel_kit.terms import plus, times

from ..core.assembly import c_function, loop
from ..core.geometry import Geometry
from ..core.rounding import way_of
from .plan import PIXELS, Plan, is_stationary, parts_of
from .plan_cost import instructions_of_call
from .product import LANES, Product
from .product_text import text_of
from .stationary import Stationary

PARAMETERS = "const int8_t *x, int8_t *y, const int8_t *stream"
RING = "int8_t *const *const pointers = aidge_helium_turn(x, rows, &state, {ring});"


class Driver:
    """The C function that runs a plan: rows, patches, blocks of four pixels, the pixels that are left. That of bands is given
    what belongs to one of them, the geometry `image`."""

    parameters, pad, further = PARAMETERS, "stream[16]", ""  # of it; what pads hold; arguments of what it calls
    begin: tuple[str, ...] = ()  # lines

    def __init__(self, plan: Plan, image: Geometry):
        self.plan, self.shape, self.image = plan, plan.geometry, image
        self.functions: dict[str, str] = {}

    @property
    def name(self) -> str:
        way = "_patches" if self.plan.patches else "_rows" if self.plan.staging else "_columns" if self.plan.columns else ""
        form = self.plan.product
        ways = f"{way}{'_clamped' if form.clamps else ''}{way_of(form)}"
        ways += (
            (f"_finer_{form.bits}" if form.bits else "")
            + "_offsets" * form.offsets
            + "_cut" * (form.last > 0)
            + "_counted" * form.counted
            + "_joined" * form.joined
            + f"_by_shift_{form.shift}" * (form.shift > 0)
            + "_beside" * form.beside
            + (form.packed.name if form.packed else "")
            + "_sparse" * (form.left > 0)
        )
        return f"aidge_helium_conv_{self.shape.name}_to_{self.shape.outputs}{ways}"

    @property
    def note(self) -> str:
        form = self.plan.product
        way = "rows copied with pads" if self.plan.staging else "windows in place"
        way = "windows copied side by side" if self.plan.patches else "rows copied by columns" if self.plan.columns else way
        weights = form.packed.note if form.packed else ""
        return (
            f"4 pixels x 2 channels, sums of {form.rows * form.taps * form.vectors} vectors, {way}, requantized in float{weights}"
        )

    @property
    def facts(self) -> dict[str, str]:
        return computed(f"{PIXELS} pixels x 2 channels", 0)

    def call(self, stream: numpy.ndarray) -> Call:
        arguments: list[Argument] = [Input(0), Output(0), Constant("stream", stream)]
        if self.plan.scratch_bytes:
            arguments.append(Scratch())
        arguments += [argument for _, argument in self._of_band()]
        work = {"planned": self.image.times * instructions_of_call(self.plan, self.image.out_height)}
        return Call(self.name, self.sources, tuple(arguments), self.note, tuple(self.texts()), facts=self.facts, work=work)

    @property
    def sources(self) -> tuple[str, ...]:
        """Headers."""
        plan = self.plan
        return (
            "core/helium.h",
            *(
                ("values/turned_rows.h" if plan.is_ring else f"{plan.staging.copies}.h",)
                if plan.staging
                else ("core/copies.h",)
                if plan.columns
                else ()
            ),
        )

    def texts(self) -> list[str]:
        """The functions that the driver calls, then the driver."""
        body = self._pointwise() if self.plan.is_pixel_by_pixel else self._rows()
        parameters = [self.parameters, *(["void *scratch"] if self.plan.scratch_bytes else [])]
        parameters += [parameter for parameter, _ in self._of_band()]
        return [*self.functions.values(), c_function(self.name, ", ".join(parameters), [*self.begin, *body])]

    def _of_band(self) -> list[tuple[str, Argument]]:
        """The parameters of the function for bands, with the arguments."""
        plan, image, found = self.plan, self.image, []
        if self.shape.bands is None:
            return []
        if plan.is_ring:
            found.append(("const aidge_helium_ring_shape *ring", plan.staging.ring_struct(image)))
        elif plan.staging:
            found.append(("const aidge_helium_rows_shape *staged", plan.staging.struct(image)))
        elif plan.columns:
            found.append(("int32_t in_height", Literal(image.in_height)))
        if (plan.staging or plan.columns) and not plan.is_ring:
            found.append(("int32_t top", Literal(image.top)))
        if self.shape.out_height > 1 and (not self.plan.is_pixel_by_pixel or self.shape.has_smaller_bands):
            found.append(("int32_t out_height", Literal(image.out_height)))
        return found

    @property
    def _out_height(self) -> int | str:
        """In C."""
        return "out_height" if self.shape.bands and self.shape.out_height > 1 else self.shape.out_height

    def _given(self, name: str) -> str:
        """A struct in C."""
        return name if self.shape.bands else f"&{name}"

    def _of_one_row(self) -> Driver:
        """The same for bands of one row, with functions of its own among those of this."""
        row = type(self)(replace(self.plan, geometry=self.shape.of_one_row), self.image)
        row.functions = self.functions
        return row

    def _pointwise(self) -> list[str]:
        """All pixels; of a band with fewer rows than others row after row."""
        if not self.shape.has_smaller_bands:
            return self._pixels_of_image()
        moves = [f"x += {self.shape.in_width * self.shape.channels};", f"y += {self.shape.out_width * self.shape.outputs};"]
        rows = ["int32_t row;", *loop("row", "out_height", [*self._of_one_row()._pixels_of_image(), *moves])]
        return [
            f"if (out_height == {self.shape.out_height}) {{",
            *(f"    {line}" for line in self._pixels_of_image()),
            "} else {",
            *(f"    {line}" for line in rows),
            "}",
        ]

    def _pixels_of_image(self) -> list[str]:
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
        parts, lines = parts_of(form, count), []
        is_whole = form.pixels == PIXELS and form.can_be_beside and not is_stationary(form, count)
        form = replace(form, beside=form.beside and (is_whole or self.plan.pays_beside(form, count)))
        if is_stationary(form, count):
            block = Stationary(form)
            name, text = block.name, block.text()
        else:
            name, text = form.name, text_of(form)
        self.functions[name] = text
        for start, size in parts:
            pixel = first + PIXELS * start
            source = x if form.ring else _at(x, pixel * form.pixel_step)
            target = _at(y, pixel * form.distance)
            lines.append(f"{name}({source}, {target}, stream, {size}{self.further});")
        return lines

    def _rows(self) -> list[str]:
        shape, plan = self.shape, self.plan
        in_row = shape.in_width * shape.channels
        lines = ["int32_t batch, row;"] if not plan.crosses_rows else ["int32_t batch, group, row;"]
        if plan.staging:
            lines += plan.staging.ring_lines(self.pad) if plan.is_ring else plan.staging.lines(self.pad)
        if plan.columns:
            lines += self._beside_columns()
        if plan.patches:
            lines.insert(-1, f"int8_t *const windows = rows + {plan.staging.bytes};")
        if plan.crosses_rows:
            inner = self._groups()
        else:
            step = shape.stride_height * in_row
            source = "pointers" if plan.is_ring else "rows" if plan.staging or plan.columns else f"(x + row * {step})"
            body = [*self._copies(), *self._row(source)]
            inner = loop("row", self._out_height, [*body, f"y += {shape.out_width * shape.outputs};"])
        if plan.is_ring:
            inner[:0] = ["state.first = 0;", "state.number = 0;"]
        return [*lines, *loop("batch", shape.batches, [*inner, f"x += {shape.in_height * in_row};"])]

    def _copies(self) -> list[str]:
        """Statements that copy what output row `row` sees."""
        if self.plan.is_ring:
            return [RING.format(ring=self._given("ring"))]
        return [self._copy("row")] if self.plan.staging else self._columns() if self.plan.columns else []

    def _row(self, source: str) -> list[str]:
        """One output row, whose windows begin at `source`."""
        if self.plan.patches:
            return self._patched(source)
        form = replace(self.plan.product, ring=self.plan.is_ring)
        return self._pixels(form, source, "y", 0, self.shape.out_width)

    def _copy(self, row: str) -> str:
        """The rows that output row `row` sees."""
        shape = self.shape
        place = times(row, shape.stride_height)
        place = f"{place} - top" if shape.bands else plus(place, -shape.top)
        return f"aidge_helium_{self.plan.staging.copies}(x, rows, {place}, {self.pad}, {self._given('staged')});"

    def _beside_columns(self) -> list[str]:
        """The lines before the loops; all of scratch is pads at first."""
        columns = self.plan.columns
        self.functions[columns.name] = columns.text()
        return [
            f"static const uint8_t places[] = {{{', '.join(map(str, columns.places))}}};",
            "int8_t *const rows = (int8_t *)scratch;",
            f"const int8_t *lines[{self.shape.kernel_height}];",
            "int32_t line;",
            f"aidge_helium_fill(rows, {self.pad}, {columns.bytes});",
        ]

    def _columns(self) -> list[str]:
        """The rows that output row `row` sees; those outside of the input are pads."""
        shape, columns = self.shape, self.plan.columns
        in_row, first = shape.in_width * shape.channels, columns.first * columns.column_bytes
        place = f"{times('row', shape.stride_height)} + {times('line', shape.dilation_height)}"
        place, height = (f"{place} - top", "in_height") if shape.bands else (plus(place, -shape.top), shape.in_height)
        body = [
            f"const int32_t place = {place};",
            f"const int is_inside = ((place >= 0) && (place < {height})) ? 1 : 0;",
            f"lines[line] = is_inside ? x + place * {in_row} : rows + {columns.row_bytes};",
        ]
        return [*loop("line", shape.kernel_height, body), f"{columns.name}(lines, rows + {first}, places);"]

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

        if shape.bands:
            return self._groups_of_band(count, group)
        whole, rest = divmod(shape.out_height, count)
        return [*loop("group", whole, group(count, f"group * {count}")), *(group(rest, str(whole * count)) if rest else [])]

    def _groups_of_band(self, count: int, group: Callable[[int, str], list[str]]) -> list[str]:
        """The same of a band: rows that are fewer than belong together one by one."""
        if count == 1:
            return loop("group", self._out_height, group(1, "group"))
        together = [f"for (group = 0; group + {count} <= {self._out_height}; group += {count}) {{"]
        together += [*(f"    {line}" for line in group(count, "group")), "}"]
        if not self.shape.has_smaller_bands and self.shape.out_height % count == 0:
            return together
        return [*together, f"for (; group < {self._out_height}; group++) {{", *(f"    {line}" for line in group(1, "group")), "}"]

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
