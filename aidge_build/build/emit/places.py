# SPDX-License-Identifier: MIT
"""The places of a layer's tensors, as C expressions and as text for the reader."""

from __future__ import annotations

from dataclasses import dataclass

from aidge_build.base.errors import AidgeError
from aidge_build.build.emit.ports import Port
from aidge_build.contract.mem_info import MemInfo
from aidge_build.graph.tensor import Tensor
from aidge_build.plan.constant_arrays import Array, Arrays
from aidge_build.plan.place import Place
from aidge_build.plan.program import Layer, Program

# The arena's names in layers and in N_run. Layers get it as a parameter, never as a symbol: GCC 12 takes a
# function that writes through the address of a known array for one without effect, and drops the call, when its loops
# were rewritten into arithmetic on that address (-O2 on x86-64: loop vectorization and ivopts together).
LAYER_ARENA = "arena"
RUN_ARENA = "arena_bytes"
LAYER_STATE, RUN_STATE = "state", "state_bytes"  # the same of the state
LAYER_WEIGHTS, RUN_WEIGHTS = "weights", "weights_bytes"  # and of weights that can be replaced


@dataclass(frozen=True)
class Spot:
    """A tensor's place: `port` when the firmware owns the bytes, `array` symbol when they are in flash, else the arena or the
    state."""

    offset_bytes: int
    port: Port | None = None
    symbol: str = ""
    in_state: bool = False

    @property
    def in_arena(self) -> bool:
        """Whether the tensor is in the arena."""
        return self.port is None and not self.symbol and not self.in_state


class Places:
    """The spots of a program's tensors."""

    def __init__(self, program: Program, ports: tuple[Port, ...], arrays: Arrays):
        self.program = program
        self._inputs = [port for port in ports if port.is_input]
        self._outputs = [port for port in ports if not port.is_input]
        self._arrays = arrays
        self._numbers = {array.symbol: number for number, array in enumerate(arrays.replaceable)}
        self._spots: dict[Tensor, Spot] = {}
        self._described: dict[Tensor, str] = {}

    def spot(self, tensor: Tensor, layer: Layer) -> Spot:
        """Returns the tensor's place. A place outside of the arena is a fault that is never printed."""
        if tensor not in self._spots:
            self._spots[tensor] = self._spot(tensor, layer)
        return self._spots[tensor]

    def _spot(self, tensor: Tensor, layer: Layer) -> Spot:
        place = self.program.memory.places.get(tensor.name)
        if place is None:
            raise self._fault(f"tensor '{tensor.name}' has no place", layer)
        if place.kind == "constant":
            if tensor.name not in self._arrays.of_tensor:
                raise self._fault(f"the constant tensor '{tensor.name}' is written", layer)
            return Spot(0, symbol=self._arrays.of_tensor[tensor.name].symbol)
        if place.kind == "state":
            self._require(place.offset_bytes, tensor, self.program.memory.states.size_bytes, "the state", layer)
            return Spot(place.offset_bytes, in_state=True)
        if place.kind in ("input", "output") and self.program.options.io == "caller":
            port = self._port(place, tensor, layer)
            self._require(place.offset_bytes, tensor, port.tensor.size_bytes, port.parameter, layer)
            return Spot(place.offset_bytes, port)
        part = self.program.memory.part_at(place.offset_bytes)
        gaps = place.extent_bytes(tensor.size_bytes) - tensor.size_bytes
        self._require(place.offset_bytes, tensor, part.start_bytes + part.size_bytes - gaps, "the arena", layer)
        return Spot(place.offset_bytes)

    def _port(self, place: Place, tensor: Tensor, layer: Layer) -> Port:
        side = self._inputs if place.kind == "input" else self._outputs
        if not 0 <= place.index < len(side):
            raise self._fault(f"tensor '{tensor.name}' is {place.kind} {place.index} of {len(side)}", layer)
        return side[place.index]

    def _require(self, offset: int, tensor: Tensor, available: int, owner: str, layer: Layer) -> None:
        if offset < 0 or offset % tensor.dtype.size_bytes or offset + tensor.size_bytes > available:
            raise self._fault(
                f"tensor '{tensor.name}' has {tensor.size_bytes} B at offset {offset}, {owner} {available} B", layer
            )

    @staticmethod
    def _fault(what: str, layer: Layer) -> AidgeError:
        return AidgeError(what, where=layer.node.where(), code="EMIT", hint="this is a fault of the compiler")

    def arena_pointer(self, offset_bytes: int, arena: str = LAYER_ARENA) -> str:
        """Returns the address of a byte of the arena; the name of a part in the function is `arena` with the part's ending."""
        part = self.program.memory.part_at(offset_bytes)
        return f"&{arena}{part.ending}[{offset_bytes - part.start_bytes}]"

    def pointer(self, tensor: Tensor, layer: Layer, *, written: bool, arena: str = LAYER_ARENA) -> str:
        """The C expression of a pointer to the tensor's elements, of the tensor's type."""
        spot = self.spot(tensor, layer)
        if spot.symbol:
            return self.constant(self._arrays.of_tensor[tensor.name])
        if spot.port is not None and spot.port.is_input and written:
            raise self._fault(f"tensor '{tensor.name}' is written into the firmware's input", layer)
        target = f"{'' if written else 'const '}{tensor.dtype.c_type} *"
        if spot.in_state:
            state = LAYER_STATE if arena == LAYER_ARENA else RUN_STATE
            return _cast(target, f"&{state}[{spot.offset_bytes}]", tensor)
        if spot.port is None:
            return _cast(target, self.arena_pointer(spot.offset_bytes, arena), tensor)
        if spot.port.tensor.dtype.c_type == tensor.dtype.c_type:
            elements = spot.offset_bytes // tensor.dtype.size_bytes
            return f"&{spot.port.parameter}[{elements}]" if elements else spot.port.parameter
        const = "const " if spot.port.is_input else ""
        start = f"(({const}uint8_t *)({const}void *){spot.port.parameter})"
        return _cast(target, f"&{start}[{spot.offset_bytes}]", tensor)

    def constant(self, array: Array) -> str:
        """The C expression of a pointer to the first element of a constant array."""
        if not self.program.options.replaces_weights or array.symbol not in self._numbers:
            return array.symbol
        number = self._numbers[array.symbol]
        return f"(const {array.dtype.c_type} *){self.program.name}_constant({LAYER_WEIGHTS}, {number}u)"

    def described(self, tensor: Tensor, layer: Layer) -> str:
        """The place in words, for comments and the manifest."""
        if tensor not in self._described:
            self._described[tensor] = self._words(tensor, self.spot(tensor, layer))
        return self._described[tensor]

    def _words(self, tensor: Tensor, spot: Spot) -> str:
        if spot.symbol:
            return "the weights" if self.program.options.replaces_weights else spot.symbol
        if spot.in_state:
            return f"state bytes {spot.offset_bytes}..{spot.offset_bytes + max(1, tensor.size_bytes) - 1}"
        if spot.in_arena:
            part = self.program.memory.part_at(spot.offset_bytes)
            first = spot.offset_bytes - part.start_bytes
            place = self.program.memory.places[tensor.name]
            if place.plane is not None and place.plane.wrap_size:
                return f"arena{part.ending} {_wrapped(place.plane, part.start_bytes)}"
            if place.plane is not None:
                return f"arena{part.ending} from byte {first}, positions {place.plane.stride} bytes apart"
            rows = f", {place.rows} rows of {tensor.size_bytes // place.rows}" if place.rows > 1 else ""
            if place.line_bytes:
                rows = f", {place.line_bytes * place.line_height // tensor.size_bytes} of {place.line_height} rows"
            return f"arena{part.ending} bytes {first}..{first + place.extent_bytes(tensor.size_bytes) - 1}{rows}"
        return f"argument {spot.port.parameter}" + (f" from byte {spot.offset_bytes}" if spot.offset_bytes else "")


def port_pointer(program: Program, port: Port) -> str:
    """The address of an input or output as N_run has it."""
    if program.options.io == "caller":
        return port.parameter
    offset = program.memory.places[port.tensor.name].offset_bytes
    part = program.memory.part_at(offset)
    return f"&{RUN_ARENA}{part.ending}[{offset - part.start_bytes}]"


def _wrapped(plane: MemInfo, start: int) -> str:
    first, second = plane.offset - start, plane.wrap_offset - start
    return f"bytes {first}..{first + plane.cont_size - 1}, then {second}..{second + plane.wrap_size - 1}"


def _cast(target: str, address: str, tensor: Tensor) -> str:
    """Returns the address, cast through void for wider elements: the compiler cannot see that the planner aligned them."""
    through = f"({'const ' if target.startswith('const') else ''}void *)" if tensor.dtype.size_bytes > 1 else ""
    return f"({target}){through}{address}"
