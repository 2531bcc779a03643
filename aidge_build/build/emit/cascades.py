# SPDX-License-Identifier: MIT
"""Cascades as C: a table with the order of the layers' bands, and a loop that follows it.

Bands that get the same pointers and the same struct are one entry of the `switch`. Rows of tensors that are in memory as a whole
follow each other, so cursors walk over them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aidge_build.base.errors import AidgeError
from aidge_build.base.naming import comment_text
from aidge_build.build.emit.layers import LayerText, Trace, bytes_parameter
from aidge_build.build.emit.places import LAYER_ARENA, LAYER_WEIGHTS, RUN_ARENA, RUN_WEIGHTS
from aidge_build.build.emit.ports import Port
from aidge_build.build.emit.rows import first_steps, pointer_to, progress_type
from aidge_build.plan.cascade.cascade import BandStep, Cascade, Rows, Shift
from aidge_build.plan.cascade.row_layer import row_bytes
from aidge_build.plan.program import Layer, Program

_COLUMNS = 24  # of the table


@dataclass(frozen=True)
class CascadeText:
    """A function of N.c; `passed` are the arguments of its call, `table` the lines of its steps, `cases` what each entry does."""

    symbol: str
    comment: tuple[str, ...]
    parameters: tuple[str, ...]
    passed: tuple[str, ...]
    table_type: str
    count: int
    table: tuple[str, ...]
    cursors: tuple[str, ...]
    cases: tuple[tuple[str, ...], ...]
    traces: tuple[Trace, ...] = ()
    told: tuple[tuple[str, str], ...] = ()  # where steps wait for the firmware: what N_begin was told, as declarations and names
    endings: tuple[str, ...] = ()  # of the names of the arena's parts that it gets
    first: int = 0  # the number of its first step; 0: it runs through


def cascades_of(program: Program, ports: tuple[Port, ...], layers: tuple[LayerText, ...]) -> tuple[CascadeText, ...]:
    """The functions of all cascades, in the order in which they run."""
    texts = {layer.node.name: text for layer, text in zip(program.layers, layers, strict=True)}
    return tuple(
        _Printer(program, ports, texts, cascade, number).text() for number, cascade in enumerate(program.schedule.cascades, 1)
    )


Called = tuple[LayerText | CascadeText, ...]


def run_steps(program: Program, layers: tuple[LayerText, ...], cascades: tuple[CascadeText, ...]) -> tuple[Called, Called]:
    """Returns, in order, the calls before rows of an output leave, and the calls of N_run, or by rows of N_end, after that."""
    first = {_head(cascade): text for cascade, text in zip(program.schedule.cascades, cascades, strict=True)}
    inside = {name for cascade in program.schedule.cascades for name in cascade.nodes}
    leaving = {_head(cascade) for cascade in program.schedule.cascades if cascade.departing}
    before, found = list[LayerText | CascadeText](), list[LayerText | CascadeText]()
    for layer, text in zip(program.layers, layers, strict=True):
        if layer.node.name in leaving:
            before, found = found, []
        if layer.node.name not in inside:
            found.append(text)
        elif layer.node.name in first and not first[layer.node.name].first:  # N_push and N_pull call the others
            found.append(first[layer.node.name])
    return tuple(before), tuple(found)


class _Printer:
    """Collects the entries of one cascade."""

    def __init__(self, program: Program, ports: tuple[Port, ...], texts: dict[str, LayerText], cascade: Cascade, number: int):
        self.program, self.texts, self.cascade = program, texts, cascade
        self.symbol = f"{program.name}_cascade_{number}"
        self.layers = {layer.node.name: layer for layer in program.layers}
        self.ports = {(port.is_input, index): port for side in (True, False) for index, port in _numbered(ports, side)}
        self.outputs = _first_outputs(program)
        self.used: dict[str, Port] = {}
        self.endings: set[str] = set()  # of the arena's parts that it touches
        self.weights: tuple[str, ...] = ()  # what N_run calls them, where layers read weights that can be replaced
        self.cursors: dict[tuple[str, int], str] = {}  # (node, position of the input, or -1)
        waiting = program.progress.waiting if program.progress else ()
        self.first = first_steps(program).get(_head(cascade), 0)
        self.cursors_before = sum(len(each.walked) for each in waiting[: waiting.index(cascade)]) if self.first else 0

    def text(self) -> CascadeText:
        """The whole function."""
        for name in self.cascade.nodes:
            for port in self.ports.values():
                if port.parameter in self.texts[name].passed:
                    self.used[port.parameter] = port
        cases: dict[tuple[str, ...], int] = {}
        table = []
        for step, walk in zip(self.cascade.steps, self._walks()):
            table.append(cases.setdefault(self._case(step, walk), len(cases)))
        endings = [part.ending for part in self.program.memory.parts if part.ending in self.endings]
        return CascadeText(
            self.symbol,
            tuple(self._comment()),
            self._parameters(endings),
            (*(f"{RUN_ARENA}{ending}" for ending in endings), *self.weights, *self.used),
            "uint8_t" if len(cases) <= 256 else "uint16_t",
            len(table),
            tuple(", ".join(map(str, table[at : at + _COLUMNS])) + "," for at in range(0, len(table), _COLUMNS)),
            tuple(self.cursors.values()),
            tuple(cases),
            told=tuple((pointer_to(port), port.parameter) for port in self.used.values()) if self.first else (),
            endings=tuple(endings),
            first=self.first,
        )

    def _parameters(self, endings: Sequence[str]) -> tuple[str, ...]:
        """The declarations: where the inference waits, and the memories; inputs and outputs where it does not begin here."""
        names = (*(f"{LAYER_ARENA}{ending}" for ending in endings), *((LAYER_WEIGHTS,) if self.weights else ()))
        memories = map(bytes_parameter, names)
        waits = [f"{progress_type(self.program)} *at"] if self.first or self.program.waiting else []
        waits += ["const uint8_t *rows", "uint32_t count"] if self.cascade.arriving else []
        waits += ["uint8_t *to", "uint32_t wanted"] if self.cascade.departing else []
        return (*memories, *waits) if self.first else (*waits, *memories, *(port.declaration for port in self.used.values()))

    def _walks(self) -> list[dict[int, int]]:
        """Returns, per step and position of the input (-1: output), the bytes that the cursor of a whole tensor goes on."""
        found: list[dict[int, int]] = [{} for _ in self.cascade.steps]
        last: dict[tuple[str, int], tuple[int, int]] = {}
        for place, step in enumerate(self.cascade.steps):
            for position, rows in self.cascade.touched(step):
                if rows.tensor in self.cascade.lines:
                    continue
                start, key = rows.slot * row_bytes(self.program.view.tensor(rows.tensor)), (step.node, position)
                if key in last:
                    before, at = last[key]
                    found[before][position] = start - at
                elif start:
                    raise AidgeError(
                        "a cascade begins inside a tensor", where=step.node, code="EMIT", hint="this is a fault of the compiler"
                    )
                last[key] = place, start
        for (_, position), (place, _) in last.items():
            alike = [
                walk[position]
                for walk, step in zip(found, self.cascade.steps)
                if step.node == self.cascade.steps[place].node and position in walk
            ]
            found[place][position] = alike[-1] if alike else 0
        return found

    def _case(self, step: BandStep, walk: dict[int, int]) -> tuple[str, ...]:
        if step.arrives:
            return self._waiting(step, step.writes, "take", "rows, &count")
        if step.departs:
            (rows,) = step.reads
            assert rows is not None
            return self._waiting(step, rows, "give", "to, &wanted")
        layer, text = self.layers[step.node], self.texts[step.node]
        bands = layer.bands
        assert bands is not None
        arguments = [self._handed_on(name) for name in text.passed]
        advances: list[str] = []
        for position in sorted(bands.rows_read):
            arguments.append(self._pointer(step, position, step.reads[position], walk, advances))
        output = self._pointer(step, -1, step.writes, walk, advances)
        arguments.append(output)
        number = bands.number_of[step.first, step.last]
        if len(bands.calls) > 1:
            arguments.append(str(number))
        lines = [f"{text.symbol}({', '.join(arguments)});"]
        lines += self._trace(step, layer, output)
        lines += advances
        lines += [self._shift(shift) for shift in step.shifts]
        return tuple(lines)

    def _waiting(self, step: BandStep, rows: Rows, function: str, firmware: str) -> tuple[str, ...]:
        """Takes the rows of this band, or gives them; the function ends where the firmware has to do more for that."""
        line = self.cascade.lines[rows.tensor]
        start = self.program.memory.places[line.tensor].offset_bytes + rows.slot * line.row_bytes
        done = f"{self.program.name}_{function}(at, {self._address(start)}, {step.last - step.first}u, &{firmware})"
        return (f"if (!{done}) {{", "    return;", "}", *map(self._shift, step.shifts))

    def _pointer(self, step: BandStep, position: int, rows: Rows | None, walk: dict[int, int], advances: list[str]) -> str:
        assert rows is not None
        tensor = self.program.view.tensor(rows.tensor)
        place, const = self.program.memory.places[rows.tensor], "const " if position >= 0 else ""
        target = f"{const}{tensor.dtype.c_type} *"
        through = f"({const}void *)" if tensor.dtype.size_bytes > 1 else ""  # as layers do
        if rows.tensor in self.cascade.lines:
            return f"({target}){through}{self._address(place.offset_bytes + rows.slot * row_bytes(tensor))}"
        cursor = self._cursor(step.node, position) if position in walk else ""
        if walk.get(position):
            advances.append(f"{cursor} += {walk[position]}u;")
        if place.kind == "arena" or self.program.options.io == "arena":
            return f"({target}){through}{self._address(place.offset_bytes, cursor)}"
        port = self.ports[place.kind == "input", place.index]
        self.used[port.parameter] = port
        if port.tensor.dtype.c_type == tensor.dtype.c_type and (not cursor or tensor.dtype.size_bytes == 1):
            return f"&{port.parameter}[{cursor}]" if cursor else port.parameter
        if not cursor:
            return f"({target}){through}{port.parameter}"
        return f"({target}){through}&(({const}uint8_t *){through}{port.parameter})[{cursor}]"

    def _cursor(self, node: str, position: int) -> str:
        """The variable that counts the bytes of a whole tensor up to the band."""
        kept = "at->" if self.first or self.program.waiting else ""
        return self.cursors.setdefault((node, position), f"{kept}at_{self.cursors_before + len(self.cursors)}")

    def _trace(self, step: BandStep, layer: Layer, pointer: str) -> list[str]:
        """Reports the rows that were written."""
        if not self.program.options.trace:
            return []
        tensor = layer.outputs[0]
        if step.node in self.cascade.carrying:
            last = max(each.last for each in self.cascade.steps if each.node == step.node)
            size = tensor.size_bytes if step.last == last else 0
        else:
            size = (step.last - step.first) * row_bytes(tensor)
        return [f"aidge_trace({self.outputs[step.node]}, {pointer}, {size}u);"] if size else []

    def _shift(self, shift: Shift) -> str:
        rows = shift.rows
        width = self.cascade.lines[rows.tensor].row_bytes
        start = self.program.memory.places[rows.tensor].offset_bytes
        to, source = start + shift.target * width, start + rows.slot * width
        size = (rows.last - rows.first) * width
        return f"{self.program.name}_shift({self._address(to)}, {self._address(source)}, {size}u);"

    def _address(self, offset_bytes: int, cursor: str = "") -> str:
        """Returns the address of a byte of the arena, plus the bytes that the cursor counts."""
        part = self.program.memory.part_at(offset_bytes)
        self.endings.add(part.ending)
        inside = offset_bytes - part.start_bytes
        index = " + ".join(filter(None, [str(inside) if inside or not cursor else "", cursor]))
        return f"&{LAYER_ARENA}{part.ending}[{index}]"

    def _handed_on(self, name: str) -> str:
        """Returns the cascade's name of an argument that N_run passes to a layer."""
        if name == RUN_WEIGHTS:
            self.weights = (name,)
            return LAYER_WEIGHTS
        if not name.startswith(RUN_ARENA):
            return name
        ending = name.removeprefix(RUN_ARENA)
        self.endings.add(ending)
        return f"{LAYER_ARENA}{ending}"

    def _comment(self):
        names = self.cascade.nodes
        positions = [place for place, layer in enumerate(self.program.layers, 1) if layer.node.name in names]
        if self.cascade.is_cut:
            yield f"Layer {positions[0]}, some rows at a time."
            return
        yield f"Layers {positions[0]} to {positions[-1]}, some rows of each at a time: steps[] says which layer comes when."
        for line in self.cascade.lines.values():
            yield f"  keeps {line.rows} of {line.height} rows of '{comment_text(line.tensor)}'"


def _head(cascade: Cascade) -> str:
    """Returns the first layer of a cascade."""
    head, *_ = cascade.nodes
    return head


def _numbered(ports: Sequence[Port], is_input: bool) -> list[tuple[int, Port]]:
    return list(enumerate(port for port in ports if port.is_input == is_input))


def _first_outputs(program: Program) -> dict[str, int]:
    """Returns the number of each layer's first output, counted over the outputs of all layers."""
    found, count = {}, 0
    for layer in program.layers:
        found[layer.node.name] = count
        count += len(layer.outputs)
    return found
