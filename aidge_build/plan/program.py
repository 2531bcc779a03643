# SPDX-License-Identifier: MIT
"""A model ready to be printed: layers with their calls, and the place of every tensor. Made by `compile`, read by `emit`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy

from aidge_build.boards import Region
from aidge_build.boards.cores import UnalignedAccess
from aidge_build.contract.call import Call
from aidge_build.contract.library import Kernel
from aidge_build.contract.mem_info import MemInfo
from aidge_build.graph.tensor import Tensor
from aidge_build.graph.view import GraphView, Node
from aidge_build.plan.cascade.cascade import Cascade
from aidge_build.plan.cascade.progress import Progress
from aidge_build.plan.cascade.waiting import Waiting
from aidge_build.plan.fast_memory import FastMemory
from aidge_build.plan.memory.plan import MemoryPlan
from aidge_build.plan.schedule.copies import ConstantCopy
from aidge_build.plan.schedule.order import Order
from aidge_build.plan.schedule.recording import Recording
from aidge_build.plan.schedule.stores import NO_STATE, StateMemory

_SIDES = ("input", "output")  # kinds of places that the caller has


@dataclass(frozen=True)
class Options:
    """What the user decided about the generated code."""

    io: str = "caller"  # caller: pointers per tensor; arena: inputs and outputs lie in the arena
    input: str = "whole"  # rows: it comes row by row, and is never there as a whole
    output: str = "whole"  # rows: it leaves row by row, and is never there as a whole
    arena: str = "static"  # static: an array of our own; caller: the firmware hands the arena over
    weights: str = "c"  # c: arrays; incbin: N_weights.bin included by the assembler
    optimize: str = "balanced"
    rounding: str = "onnx"
    memory_model: str = "default"  # plain: no buffer takes over another one's bytes while it lives; cascade: layers by rows
    ram_budget: int = 0  # bytes that the arena, inputs and outputs may take; 0: as they come
    max_step: int = 0  # instructions that a step of an inference may take; 0: it runs in one piece
    update: str = "none"  # weights: they can be replaced in the field, and no code depends on their values
    weights_version: int = 0  # of the weights that the code is generated with
    constant_channels: str = "on"  # off: channels that always have the same value are kept
    assembly: str = "on"  # off: C and intrinsics stand in for the assembly of kernels
    unaligned: str = "on"  # off: no kernel reads or writes words at addresses that are no multiples of 4
    kernels: str = "own"  # shared: what is assembly may be another model's, whose text is the same
    select: str = "library"  # cost: by a cost table instead of the order of libraries
    cost_table: str = ""  # name, version and digest of the table
    dma: str = "off"  # hooks: the firmware is called before inputs are read and after outputs are written; on: with lines, too
    copy_constants: str = (
        "off"  # memcpy, hook: those of layers that pay are copied into the arena, by the core or by the firmware
    )
    constants_in: tuple[tuple[str, int], ...] = ()  # memories for the constants of some layers, and how many bytes of each
    dma_line: int = 0  # bytes of a line of the data cache, of which inputs and outputs have their own
    record: int = 0  # of so many inferences what they read and wrote is kept for dumps of RAM
    trace: bool = False  # verify only: report every layer's output through aidge_trace

    @property
    def by_rows(self) -> bool:
        """Whether they ask for layers that are computed row by row, or an inference in steps."""
        return bool(self.memory_model == "cascade" or self.ram_budget or "rows" in (self.input, self.output) or self.max_step)

    @property
    def replaces_weights(self) -> bool:
        """Whether the constants are one block that the firmware names."""
        return self.update == "weights"


@dataclass(frozen=True)
class Place:
    """Where a tensor lies: kind "input" or "output" (index: position in the signature), "arena" or "state" (offset_bytes), or
    "constant" (in flash). A member of a concatenation may lie there in `rows` that begin `stride_bytes` apart; `plane` is what a
    memory manager chose instead: with gaps between positions, or around an end. `line_bytes` (not 0) are those of the rows that
    a cascade keeps of the tensor: the others are never there."""

    kind: str
    index: int = 0
    offset_bytes: int = 0
    rows: int = 1
    stride_bytes: int = 0
    plane: MemInfo | None = None
    line_bytes: int = 0

    def extent_bytes(self, size_bytes: int) -> int:
        """From the first to the last byte of a tensor of this size, with what lies between its rows (up to where it wraps
        around)."""
        if self.line_bytes:
            return self.line_bytes
        if self.plane is not None:
            return self.plane.cont_size - self.plane.gap_bytes if self.plane.wrap_size else self.plane.extent_bytes
        return self.stride_bytes * (self.rows - 1) + size_bytes // self.rows


@dataclass(frozen=True)
class BandCalls:
    """The calls of a layer in a cascade: `number_of` says which of the `calls` computes the rows `[first, last)`; `rows_read` are
    the inputs that it reads by rows."""

    calls: tuple[Call, ...]
    number_of: Mapping[tuple[int, int], int]
    rows_read: frozenset[int]


@dataclass(frozen=True)
class CopiedTo:
    """A copy of the layer's constants, which begins at this byte of the arena."""

    copy: ConstantCopy
    offset_bytes: int


@dataclass(frozen=True)
class Layer:
    """One step: the node, the kernel that it got, and the call. `symbol` is its C function, e.g. kws_conv_3. A layer in a cascade
    has a call for each kind of its bands (`bands`); `call` is then that of the largest."""

    symbol: str
    node: Node
    kernel: Kernel
    call: Call
    inputs: tuple[Tensor | None, ...]
    outputs: tuple[Tensor, ...]
    macs: int
    scratch_offset_bytes: int | None = None
    rejected: tuple[tuple[str, str], ...] = ()  # (kernel, reason)
    rule: str = ""
    bands: BandCalls | None = None
    copied: CopiedTo | None = None  # where its constants are copied to
    reads_unaligned: bool = False  # whether the kernel reads or writes words at addresses that are no multiples of 4

    @property
    def calls(self) -> tuple[Call, ...]:
        """All calls, each once."""
        return (self.call,) if self.bands is None else self.bands.calls


@dataclass(frozen=True)
class ArenaPart:
    """The bytes of the arena from `start_bytes` on that lie in `region` ("": not known); offsets in `plan` count from there.
    Several parts are arrays of their own, named after their regions; an arena in one piece is one part without a name."""

    region: str
    start_bytes: int
    plan: MemoryPlan
    name: str = ""  # "" or "dtcm"
    component: int = 0  # the number that memory info gives it

    @property
    def size_bytes(self) -> int:
        """The bytes of the array."""
        return self.plan.peak_bytes

    @property
    def ending(self) -> str:
        """What the part's C names end in."""
        return f"_{self.name}" if self.name else ""


@dataclass(frozen=True)
class Condition:
    """What must hold in the preprocessor of whoever compiles the code, and what is said where it does not."""

    macro: str
    text: str


@dataclass(frozen=True)
class Program:
    """Everything that `emit` prints. `arena` is the plan of the arena as linked; `peak` counts inputs and outputs inside."""

    name: str
    model_sha256: str
    view: GraphView
    layers: tuple[Layer, ...]
    places: Mapping[str, Place]
    arena: MemoryPlan
    peak: MemoryPlan
    io_bytes: int
    arena_alignment: int
    options: Options
    target: str  # "stm32f7" or "cortex-m7"
    library_files: Mapping[str, Mapping[str, bytes]] = field(default_factory=dict)  # library name -> path -> bytes
    notices: tuple[str, ...] = ()
    model_macs: int = 0  # multiply-accumulates of the model as its file states it; layers may compute fewer
    region: str = ""  # of the arena; "" when no board is known
    memories: tuple[Region, ...] = ()  # in which arenas may lie
    flash: tuple[Region, ...] = ()  # in which constants and code may lie
    made_with: tuple[str, ...] = ()  # the options of the command that are no paths
    regions: tuple[Region, ...] = ()  # all memories of the board
    cpu: str = ""  # the core's name, "" for any core
    unaligned: UnalignedAccess | None = (
        None  # how the compiler says whether words may lie anywhere; None: they never do, or unknown
    )
    features: tuple[str, ...] = ()  # of the core, which kernels were chosen for
    conditions: tuple[Condition, ...] = ()  # on the compiler
    pointer_bytes: int = 4
    language: str = "c"  # "c++" when a library that was named needs it
    order: Order | None = None  # how good the order of the layers is
    buffer_of: Mapping[str, str] = field(default_factory=dict)  # tensor -> the buffer that holds its bytes
    split: tuple[ArenaPart, ...] = ()  # the parts of an arena that lies in several regions
    format_copies_bytes: int = 0  # of the copies between storage orders
    formats_proved: bool = True  # whether no choice of storage orders copies fewer
    states: StateMemory = NO_STATE  # what is remembered from one inference to the next
    cascades: tuple[Cascade, ...] = ()
    whole_peak_bytes: int = 0  # the peak of tensors as a whole, where there are cascades
    split_proved: bool = False  # whether no arrangement over the regions has a lower access cost
    fast: FastMemory | None = None  # what leaves flash with --place

    @property
    def is_aligned_only(self) -> bool:
        """Whether every word is read and written at a multiple of 4 bytes, on a core that could do otherwise."""
        return self.unaligned is not None and self.options.unaligned == "off"

    @property
    def compiler_flags(self) -> tuple[str, ...]:
        """What the code must be compiled with beside the flags of its board."""
        return (self.unaligned.off,) if self.unaligned and self.is_aligned_only else ()

    @cached_property
    def unaligned_layers(self) -> tuple[str, ...]:
        """The symbols of the layers whose kernels read or write words at any address."""
        return tuple(layer.symbol for layer in self.layers if layer.reads_unaligned)

    @cached_property
    def parts(self) -> tuple[ArenaPart, ...]:
        """The parts of the arena, from the lowest byte up."""
        return self.split or (ArenaPart(self.region, 0, self.arena),)

    def part_at(self, offset_bytes: int) -> ArenaPart:
        """The part that holds a byte of the arena."""
        if not self.split:
            return self.parts[0]
        return next(part for part in reversed(self.parts) if part.start_bytes <= max(0, offset_bytes))

    def initial_state_bytes(self) -> numpy.ndarray:
        """The bytes of all states before the first inference as the target has them: uint8 [bytes], little-endian."""
        found = bytearray(self.states.size_bytes)
        for state in self.view.states:
            start = self.states.offsets[state.read]
            stored = self.view.tensor(state.read).to_stored(state.initial)
            data = stored.astype(stored.dtype.newbyteorder("<")).tobytes()
            found[start : start + len(data)] = data
        return numpy.frombuffer(bytes(found), numpy.uint8)

    @cached_property
    def progress(self) -> Progress | None:
        """What is remembered while an inference waits for the firmware; None where input and output are whole."""
        ports = len(self.view.given) + len(self.view.handed_out)
        return Progress.of(self.cascades, ports if self.options.io == "caller" else 0)

    @cached_property
    def waiting(self) -> Waiting | None:
        """What is remembered between two steps of an inference; None where it runs in one piece."""
        if not self.options.max_step:
            return None
        named = len(self.view.given) + len(self.view.handed_out) if self.options.io == "caller" else 0
        return Waiting.of(self.cascades, named)

    @cached_property
    def stores(self) -> tuple[Layer, ...]:
        """The last layers: those that copy the next values of states to their places."""
        written = {state.written for state in self.view.states}
        return tuple(layer for layer in self.layers if layer.node.outputs[0] in written)

    @cached_property
    def step_count(self) -> int:
        """How many steps an inference has: one for each layer, those of each cascade, one for all stores."""
        inside = {name for cascade in self.cascades for name in cascade.nodes}
        alone = sum(layer.node.name not in inside for layer in self.layers) - len(self.stores)
        return alone + sum(len(cascade.steps) for cascade in self.cascades) + bool(self.stores)

    @cached_property
    def moments(self) -> tuple[dict[int, int], dict[int, int]]:
        """In which layer each input is read last, and each output is written first. The layers of a cascade take turns: each of
        its inputs is read until its last one, each output is written from its first one on."""
        numbers = {layer.node.name: number for number, layer in enumerate(self.layers)}
        together: dict[str, tuple[int, int]] = {}
        for cascade in self.cascades:
            inside = [numbers[name] for name in cascade.nodes if name in numbers]
            together |= dict.fromkeys(cascade.nodes, (min(inside), max(inside)) if inside else (0, 0))
        given, handed = ({name: place.index for name, place in self.places.items() if place.kind == kind} for kind in _SIDES)
        read: dict[int, int] = {}
        written: dict[int, int] = {}
        for number, layer in enumerate(self.layers):
            first, last = together.get(layer.node.name, (number, number))
            for tensor in layer.inputs:
                if tensor is not None and tensor.name in given:
                    read[given[tensor.name]] = max(read.get(given[tensor.name], last), last)
            for tensor in layer.outputs:
                if tensor.name in handed:
                    written[handed[tensor.name]] = min(written.get(handed[tensor.name], first), first)
        return read, written

    @cached_property
    def recording(self) -> Recording | None:
        """What is kept of the last inferences; None where nothing is."""
        return Recording.of(self.view, self.states, self.options.record)

    @property
    def constants_bytes(self) -> int:
        """Of the constants that layers read, as the graph holds them: before kernels put them in their order."""
        read = {tensor.name: tensor for layer in self.layers for tensor in layer.inputs if tensor is not None}
        return sum(tensor.data.nbytes for tensor in read.values() if tensor.data is not None)

    @property
    def code_file(self) -> str:
        """The name of the code file."""
        return f"{self.name}.cpp" if self.language == "c++" else f"{self.name}.c"
