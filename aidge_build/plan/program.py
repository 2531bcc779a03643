# SPDX-License-Identifier: MIT
"""A model ready to be printed: layers with their calls, and the place of every tensor. Made by `compile`, read by `emit`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy

from aidge_build.boards import Region
from aidge_build.boards.unaligned import UnalignedAccess
from aidge_build.contract.call import Call
from aidge_build.contract.library import Kernel
from aidge_build.graph.tensor import Tensor
from aidge_build.graph.view import GraphView, Node
from aidge_build.plan.cascade.progress import Progress
from aidge_build.plan.cascade.waiting import Waiting
from aidge_build.plan.fast_memory import FastMemory
from aidge_build.plan.monitoring import Monitoring
from aidge_build.plan.options import Options
from aidge_build.plan.place import Placed
from aidge_build.plan.schedule.copies import ConstantCopy
from aidge_build.plan.schedule.recording import Recording
from aidge_build.plan.schedule.schedule import Schedule

_SIDES = ("input", "output")  # kinds of places that the caller has


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
    has a call for each kind of its bands (`bands`); `call` is then the call of the largest band."""

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
    copied: CopiedTo | None = None  # the copy of its constants
    reads_unaligned: bool = False  # whether the kernel reads or writes words at addresses that are no multiples of 4

    @property
    def calls(self) -> tuple[Call, ...]:
        """All calls, each once."""
        return (self.call,) if self.bands is None else self.bands.calls


@dataclass(frozen=True)
class Condition:
    """A preprocessor condition that the compiler of the code must meet, and the error text, or the remark, if it does not."""

    macro: str
    text: str
    is_remark: bool = False


@dataclass(frozen=True)
class CodeTarget:
    """The target of the generated code: a board, a core, or any core. Without a board no memory is known."""

    name: str  # "stm32f7" or "cortex-m7"
    cpu: str = ""  # the core's name, "" for any core
    features: tuple[str, ...] = ()  # of the core, which kernels were chosen for
    unaligned: UnalignedAccess | None = None  # how the compiler says that words may be at any address; None: never or unknown
    conditions: tuple[Condition, ...] = ()  # on the compiler
    pointer_bytes: int = 4
    is_riscv: bool = False
    regions: tuple[Region, ...] = ()  # all memories of the board
    memories: tuple[Region, ...] = ()  # memories that may hold an arena

    @property
    def flash(self) -> tuple[Region, ...]:
        """The memories that may hold constants and code."""
        return tuple(region for region in self.regions if region.kind == "flash" and not region.same_as)


@dataclass(frozen=True)
class PortName:
    """`parameter`: in the signature of N_run; `macro`: the first part of all macros of an input or output."""

    parameter: str
    macro: str


@dataclass(frozen=True)
class Names:
    """The C names that are not symbols of layers; `plan.names` decides them. `inputs` and `outputs` are in the order of the
    signature. `arrays` holds the array of a constant by (number of the layer, position of the argument); layers that read one
    constant tensor name one array. `initial_state` is the array with the bytes of the states before the first inference."""

    inputs: tuple[PortName, ...] = ()
    outputs: tuple[PortName, ...] = ()
    arrays: Mapping[tuple[int, int], str] = field(default_factory=dict)
    initial_state: str = ""


@dataclass(frozen=True)
class Program:
    """Everything that `emit` prints: the layers that run (`layers`, in the order of `schedule`), their memory (`memory`), the
    board or core (`target`), and the notices of the build (`notices`)."""

    name: str
    model_sha256: str
    view: GraphView
    layers: tuple[Layer, ...]
    schedule: Schedule
    memory: Placed
    target: CodeTarget
    options: Options
    names: Names = Names()
    library_files: Mapping[str, Mapping[str, bytes]] = field(default_factory=dict)  # library name -> path -> bytes
    language: str = "c"  # "c++" when a library that was named needs it
    notices: tuple[str, ...] = ()
    model_macs: int = 0  # multiply-accumulates of the model as its file states it; layers may compute fewer
    made_with: tuple[str, ...] = ()  # the options of the command that are no paths
    format_copies_bytes: int = 0  # of the copies between storage orders
    formats_proved: bool = True  # whether no choice of storage orders copies fewer
    fast: FastMemory | None = None  # what leaves flash with --place
    monitoring: Monitoring | None = None  # the counters of inputs and answers

    @property
    def is_aligned_only(self) -> bool:
        """Whether every word is read and written at a multiple of 4 bytes, on a core that could do otherwise."""
        return self.target.unaligned is not None and self.options.unaligned == "off"

    @property
    def compiler_flags(self) -> tuple[str, ...]:
        """The compiler flags that the code needs in addition to the flags of its board."""
        return (self.target.unaligned.off,) if self.target.unaligned and self.is_aligned_only else ()

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the classes: of the elements or columns of all outputs that have any; () if outputs differ in them."""
        tables = {self.view.tensor(name).names for name in self.view.handed_out} - {()}
        return tables.pop() if len(tables) == 1 else ()

    @cached_property
    def unaligned_layers(self) -> tuple[str, ...]:
        """The symbols of the layers with kernels that read or write words at any address."""
        return tuple(layer.symbol for layer in self.layers if layer.reads_unaligned)

    def initial_state_bytes(self) -> numpy.ndarray:
        """Returns the bytes of all states before the first inference, as the target stores them: uint8 [bytes], little-endian."""
        found = bytearray(self.memory.states.size_bytes)
        for state in self.view.states:
            start = self.memory.states.offsets[state.read]
            stored = self.view.tensor(state.read).to_stored(state.initial)
            data = stored.astype(stored.dtype.newbyteorder("<")).tobytes()
            found[start : start + len(data)] = data
        return numpy.frombuffer(bytes(found), numpy.uint8)

    @cached_property
    def progress(self) -> Progress | None:
        """The struct that an inference keeps while it waits for the firmware; None if input and output are whole."""
        ports = len(self.view.given) + len(self.view.handed_out)
        return Progress.of(self.schedule.cascades, ports if self.options.io == "caller" else 0)

    @cached_property
    def waiting(self) -> Waiting | None:
        """The struct that an inference keeps between two steps; None if it runs in one piece."""
        if not self.options.max_step:
            return None
        named = len(self.view.given) + len(self.view.handed_out) if self.options.io == "caller" else 0
        return Waiting.of(self.schedule.cascades, named)

    @property
    def takes_several_calls(self) -> bool:
        """Whether the firmware may make several calls for one inference: row by row, or in steps."""
        return self.progress is not None or self.waiting is not None

    @cached_property
    def stores(self) -> tuple[Layer, ...]:
        """The last layers, which copy the next values of states to their places."""
        written = {state.written for state in self.view.states}
        return tuple(layer for layer in self.layers if layer.node.outputs[0] in written)

    @cached_property
    def step_count(self) -> int:
        """The number of steps of an inference: the steps of the monitor that count inputs, one for each layer outside cascades,
        the steps of each cascade, one for all stores and for the monitor's end."""
        inside = {name for cascade in self.schedule.cascades for name in cascade.nodes}
        alone = sum(layer.node.name not in inside for layer in self.layers) - len(self.stores)
        counting = sum(one.steps for one in self.monitoring.inputs) if self.monitoring else 0
        of_cascades = sum(len(cascade.steps) for cascade in self.schedule.cascades)
        return counting + alone + of_cascades + bool(self.stores or self.monitoring)

    @cached_property
    def moments(self) -> tuple[dict[int, int], dict[int, int]]:
        """The number of the layer that reads each input last, and of the layer that writes each output first. The layers of a
        cascade take turns: each of its inputs is read until its last layer, each output is written from its first layer on."""
        numbers = {layer.node.name: number for number, layer in enumerate(self.layers)}
        together: dict[str, tuple[int, int]] = {}
        for cascade in self.schedule.cascades:
            inside = [numbers[name] for name in cascade.nodes if name in numbers]
            together |= dict.fromkeys(cascade.nodes, (min(inside), max(inside)) if inside else (0, 0))
        given, handed = (
            {name: place.index for name, place in self.memory.places.items() if place.kind == kind} for kind in _SIDES
        )
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
        """The record of the last inferences; None if nothing is recorded."""
        return Recording.of(self.view, self.memory.states, self.options.record)

    @property
    def constants_bytes(self) -> int:
        """The bytes of the constants that layers read, as the graph holds them, before kernels pack them."""
        read = {tensor.name: tensor for layer in self.layers for tensor in layer.inputs if tensor is not None}
        return sum(tensor.data.nbytes for tensor in read.values() if tensor.data is not None)

    @property
    def code_file(self) -> str:
        """The name of the code file."""
        return f"{self.name}.cpp" if self.language == "c++" else f"{self.name}.c"
