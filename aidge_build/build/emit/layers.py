# SPDX-License-Identifier: MIT
"""Layers as the C functions that the template prints."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from aidge_build.base.errors import AidgeError
from aidge_build.base.naming import comment_text
from aidge_build.build.emit.copies import copied_constants, statements_of
from aidge_build.build.emit.places import LAYER_ARENA, LAYER_STATE, LAYER_WEIGHTS, RUN_ARENA, RUN_STATE, RUN_WEIGHTS, Places
from aidge_build.build.emit.ports import Port
from aidge_build.contract.call import Argument, Constant, Input, Literal, Output, Scratch, Struct
from aidge_build.graph.tensor import Tensor
from aidge_build.plan.constant_arrays import Arrays, integer
from aidge_build.plan.program import Layer, Program

_ORIGINS_SHOWN = 4
BAND, OUTPUT_ROWS = "band", "rows_out"  # parameters of layers in cascades


@dataclass(frozen=True)
class StructText:
    """`static const <type> <name> = { fields };` with (field name, initialiser) pairs; an array of them where `others` hold the
    fields of further kinds of bands."""

    type: str
    name: str
    fields: tuple[tuple[str, str], ...]
    others: tuple[tuple[tuple[str, str], ...], ...] = ()

    @property
    def elements(self) -> tuple[tuple[tuple[str, str], ...], ...]:
        """The fields of each element."""
        return (self.fields, *self.others)


@dataclass(frozen=True)
class Trace:
    """One report of a layer's output: (index over all outputs in order, pointer, bytes), or of each of its rows."""

    index: int
    pointer: str
    size_bytes: int
    rows: int = 1
    stride_bytes: int = 0


@dataclass(frozen=True)
class LayerText:
    """A layer function. `parameters` are declarations, `passed` the same names in the call from N_run."""

    symbol: str
    comment: tuple[str, ...]
    parameters: tuple[str, ...]
    passed: tuple[str, ...]
    structs: tuple[StructText, ...]
    function: str
    arguments: tuple[str, ...]
    traces: tuple[Trace, ...]
    texts: tuple[str, ...] = ()
    before: tuple[str, ...] = field(default=(), repr=False)  # statements

    @property
    def written(self) -> tuple[str, ...]:
        """The C texts of the layer that contain names from the kernels."""
        of_structs = (value for struct in self.structs for fields in struct.elements for _, value in fields)
        return (self.function, *self.arguments, *of_structs)

    def digest(self) -> str:
        """The digest of the layer's text."""
        return hashlib.sha256(repr(self).encode() + "".join(self.before).encode()).hexdigest()


def layers_of(program: Program, places: Places, arrays: Arrays) -> tuple[LayerText, ...]:
    """The layers in order."""
    found, outputs = [], 0
    for position, (layer, before) in enumerate(zip(program.layers, statements_of(program, places, arrays))):
        found.append(_LayerPrinter(program, places, arrays.of_layer[position], layer, position, outputs, before).text())
        outputs += len(layer.outputs)
    return tuple(found)


class _LayerPrinter:
    """Collects the pieces of one layer."""

    def __init__(
        self,
        program: Program,
        places: Places,
        arrays: Mapping,
        layer: Layer,
        position: int,
        first_output: int,
        before: tuple[str, ...],
    ):
        self.program, self.places, self.arrays, self.layer = program, places, arrays, layer
        self.position, self.first_output = position, first_output
        self.structs: list[StructText] = []
        self.before, self.copies = before, copied_constants(layer, arrays, places)
        self.rows_of = rows_read(layer)

    def text(self) -> LayerText:
        """The whole layer."""
        layer = self.layer
        arguments = tuple([self._argument(position, argument) for position, argument in enumerate(layer.call.arguments)])
        used_ports = self._used_ports()
        by_rows = self._by_rows()
        written = "\n".join((*arguments, *self.before))
        endings = [part.ending for part in self.program.memory.parts if f"&{LAYER_ARENA}{part.ending}[" in written]
        own = [(f"{LAYER_ARENA}{ending}", f"{RUN_ARENA}{ending}") for ending in endings]
        own += [(LAYER_STATE, RUN_STATE)] if f"&{LAYER_STATE}[" in written else []
        own += [(LAYER_WEIGHTS, RUN_WEIGHTS)] if f"_constant({LAYER_WEIGHTS}, " in written else []
        parameters = (*(bytes_parameter(name) for name, _ in own), *(port.declaration for port in used_ports), *by_rows)
        passed = (*(name for _, name in own), *(port.parameter for port in used_ports))
        return LayerText(
            layer.symbol,
            tuple(self._comment()),
            parameters,
            passed,
            tuple(self.structs),
            layer.call.function,
            arguments,
            self._traces() if self.program.options.trace else (),
            tuple(dict.fromkeys(text for call in layer.calls for text in call.texts)),
            self.before,
        )

    def _argument(self, position: int, argument: Argument) -> str:
        match argument:
            case Input(index=index) if index in self.rows_of:
                return rows_name(index)
            case Output() if self.layer.bands is not None:
                return OUTPUT_ROWS
            case Input(index=index):
                return self._input(position, index)
            case Output(index=index):
                return self.places.pointer(self._side(self.layer.outputs, index, "output"), self.layer, written=True)
            case Scratch():
                return self._scratch()
            case Constant():
                array = self.arrays[position]
                return self.copies.get(array.symbol) or self.places.constant(array)
            case Literal():
                return _chosen([integer(int(band.value)) for band in self._bands(position) if isinstance(band, Literal)])
            case Struct():
                return self._struct([band for band in self._bands(position) if isinstance(band, Struct)])
        raise AidgeError(
            f"the kernel passes a {type(argument).__name__}",
            where=self.layer.node.where(),
            code="EMIT",
            hint="arguments are Input, Output, Scratch, Constant, Literal and Struct",
        )

    def _input(self, position: int, index: int) -> str:
        tensor = self._side(self.layer.inputs, index, "input")
        if position in self.arrays and self.arrays[position].symbol in self.copies:
            return self.copies[self.arrays[position].symbol]
        return "0" if tensor is None else self.places.pointer(tensor, self.layer, written=False)

    def _bands(self, position: int) -> list[Argument]:
        """The argument at this position of the call of each kind of band."""
        return [call.arguments[position] for call in self.layer.calls]

    def _struct(self, bands: Sequence[Struct]) -> str:
        """One struct where all bands have the same fields, else an array of them."""
        whole = f"{self.layer.symbol}_parameters" if self.program.options.verifies_constants else "parameters"
        texts = [_struct(band, whole, len(self.structs)) for band in bands]
        if len(set(texts)) > 1:
            self.structs.append(replace(texts[0], others=tuple(text.fields for text in texts[1:])))
            return f"&{texts[0].name}[{BAND}]"
        self.structs.append(texts[0])
        return f"&{texts[0].name}"

    def _by_rows(self) -> list[str]:
        """Returns the parameters of a layer in a cascade: the addresses of its rows, and the kind of band."""
        layer = self.layer
        if layer.bands is None:
            return []
        given = [f"const {tensor.dtype.c_type} *{rows_name(index)}" for index, tensor in self.rows_of.items()]
        written = [f"{tensor.dtype.c_type} *{OUTPUT_ROWS}" for tensor in layer.outputs]
        kind = [f"int32_t {BAND}"] if len(layer.calls) > 1 else []
        return [*given, *written, *kind]

    def _side(self, tensors: tuple[Tensor | None, ...], index: int, side: str) -> Tensor | None:
        if not 0 <= index < len(tensors):
            raise AidgeError(
                f"kernel {self.layer.kernel.name} asks for {side} {index} of {len(tensors)}",
                where=self.layer.node.where(),
                code="EMIT",
                hint="this is a fault of the kernel's Python class",
            )
        return tensors[index]

    def _scratch(self) -> str:
        if self.layer.scratch_offset_bytes is None:
            raise AidgeError(
                f"kernel {self.layer.kernel.name} uses scratch that it did not demand",
                where=self.layer.node.where(),
                code="EMIT",
                hint="return Demands(scratch_bytes=...) from the kernel's demands()",
            )
        return self.places.arena_pointer(self.layer.scratch_offset_bytes)

    def _used_ports(self) -> tuple[Port, ...]:
        """Returns the ports of the arguments that are tensors, each once, in the order of the arguments."""
        found: dict[str, Port] = {}
        for argument in self.layer.call.arguments:
            tensor = None
            if isinstance(argument, Output) and not self.layer.bands:
                tensor = self.layer.outputs[argument.index]
            elif isinstance(argument, Input) and argument.index not in self.rows_of:
                tensor = self.layer.inputs[argument.index]
            port = None if tensor is None else self.places.spot(tensor, self.layer).port
            if port is not None:
                found[port.parameter] = port
        return tuple(found.values())

    def _comment(self):
        layer = self.layer
        origins = [f"'{comment_text(name)}'" for name in layer.node.origin[:_ORIGINS_SHOWN]]
        if len(layer.node.origin) > _ORIGINS_SHOWN:
            origins.append(f"{len(layer.node.origin) - _ORIGINS_SHOWN} more")
        yield (
            f"Layer {self.position + 1} of {len(self.program.layers)}: {comment_text(layer.node.type)} "
            f"'{comment_text(layer.node.name)}'"
        )
        if origins:
            yield f"  ONNX    {', '.join(origins)}"
        note = layer.call.note if not self.program.options.replaces_weights else ""  # it may tell of the weights
        note = f": {comment_text(note, 400)}" if note else ""
        yield f"  kernel  {comment_text(layer.kernel.library)} {comment_text(layer.kernel.name)}{note}"
        for tensor in layer.inputs:
            if tensor is not None and tensor.name in self.program.memory.places:
                yield f"  input   {self._tensor(tensor)}"
        for tensor in layer.outputs:
            yield f"  output  {self._tensor(tensor)}"
        if layer.copied is not None:
            part = self.program.memory.part_at(layer.copied.offset_bytes)
            first = layer.copied.offset_bytes - part.start_bytes
            verb = "expands" if layer.copied.copy.is_packed else "copies "
            yield f"  {verb} constants in arena{part.ending} bytes {first}..{first + layer.copied.copy.size_bytes - 1}"
        if layer.scratch_offset_bytes is not None:
            part = self.program.memory.part_at(layer.scratch_offset_bytes)
            yield f"  scratch arena{part.ending} from byte {layer.scratch_offset_bytes - part.start_bytes}"

    def _tensor(self, tensor: Tensor) -> str:
        """Returns type, shape and place, but no scale: new weights must leave the code as it is."""
        place = self.program.memory.places[tensor.name] if tensor.name in self.program.memory.places else None
        where = "in flash" if place is not None and place.kind == "constant" else self.places.described(tensor, self.layer)
        return (
            f"'{comment_text(tensor.name)}' {tensor.dtype.name} {list(tensor.dims)} {tensor.storage}: {where}{_removed(tensor)}"
        )

    def _traces(self) -> tuple[Trace, ...]:
        outputs = enumerate(self.layer.outputs, self.first_output)
        return tuple(trace for index, tensor in outputs for trace in self._traces_of(index, tensor))

    def _traces_of(self, index: int, tensor: Tensor) -> tuple[Trace, ...]:
        """The report of an output; in two parts where its plane wraps around."""
        place = self.program.memory.places[tensor.name]
        pointer = self.places.pointer(tensor, self.layer, written=True, arena=RUN_ARENA)
        plane = place.plane
        if plane is None:
            return (Trace(index, pointer, tensor.size_bytes // place.rows, place.rows, place.stride_bytes),)
        rows = plane.length * plane.count
        first = plane.cont_size // plane.stride if plane.wrap_size else rows
        parts = [(pointer, first), (self.places.arena_pointer(plane.wrap_offset, RUN_ARENA), rows - first)]
        if not plane.gap_bytes:
            return tuple(Trace(index, start, plane.size * count) for start, count in parts if count)
        return tuple(Trace(index, start, plane.size, count, plane.stride) for start, count in parts if count)


def bytes_parameter(name: str) -> str:
    """The declaration of a parameter that is a memory of the model."""
    return f"{'const ' if name == LAYER_WEIGHTS else ''}uint8_t *{name}"


def rows_read(layer: Layer) -> dict[int, Tensor]:
    """Returns, by position, the inputs from which a band of the layer reads some rows."""
    if layer.bands is None:
        return {}
    return {index: layer.inputs[index] for index in sorted(layer.bands.rows_read)}


def rows_name(index: int) -> str:
    """Returns the C name of the rows of an input at this position, for a layer in a cascade."""
    return f"rows_{index}"


def _chosen(texts: Sequence[str]) -> str:
    """The text of the band, as an expression."""
    if len(set(texts)) == 1:
        return texts[0]
    *others, last = texts
    choices = "".join(f"{BAND} == {number} ? {text} : " for number, text in enumerate(others))
    return f"({choices}{last})"


def _removed(tensor: Tensor) -> str:
    if not tensor.removed_channels:
        return ""
    return f"; {tensor.removed_channels} of {tensor.kept.count} channels are constant or unread, and left out"


def _struct(struct: Struct, name: str, position: int) -> StructText:
    fields = tuple(
        (
            comment_text(field),
            "{" + ", ".join(integer(int(item)) for item in value) + "}"
            if isinstance(value, tuple | list)
            else integer(int(value)),
        )
        for field, value in struct.fields.items()
    )
    return StructText(struct.type, name if position == 0 else f"{name}_{position + 1}", fields)
