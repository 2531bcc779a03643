# SPDX-License-Identifier: MIT
"""The user's decisions about the generated code, in three parts: the interface, the kernels, the memory."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class InterfaceOptions:
    """How the firmware and the model meet."""

    io: str = "caller"  # caller: pointers per tensor; arena: inputs and outputs are in the arena
    input: str = "whole"  # rows: it comes row by row, and is never there as a whole
    output: str = "whole"  # rows: it leaves row by row, and is never there as a whole
    arena: str = "static"  # static: an array of our own; caller: the firmware hands the arena over
    weights: str = "c"  # c: arrays; incbin: N_weights.bin included by the assembler
    update: str = "none"  # weights: they can be replaced in the field, and no code depends on their values
    weights_version: int = 0  # of the weights that the code is generated with
    dma: str = "off"  # hooks: the firmware is called before inputs are read and after outputs are written; on: with lines, too
    dma_line: int = 0  # bytes of a line of the data cache; inputs and outputs get lines of their own
    record: int = 0  # inferences: what they read and wrote is kept for dumps of RAM
    integrity: str = "off"  # constants: N_verify_constants; canary: words next to the arena; on: both
    monitor: str = "off"  # on: inputs and answers are counted, for N_monitor
    monitor_ranges: bool = False  # samples say what is usual for the inputs
    trace: bool = False  # verify only: report every layer's output through aidge_trace

    @property
    def replaces_weights(self) -> bool:
        """Whether the constants are one block that the firmware names."""
        return self.update == "weights"

    @property
    def verifies_constants(self) -> bool:
        """Whether the firmware can check the constants while it runs."""
        return self.integrity in ("constants", "on")

    @property
    def has_canary(self) -> bool:
        """Whether calls check a word at each end of the arena."""
        return self.integrity in ("canary", "on")


@dataclass(frozen=True)
class KernelOptions:
    """Which kernels compute the layers, and how they round."""

    optimize: str = "balanced"
    rounding: str = "onnx"
    state_type: str = "model"  # int8: caches of keys and values hold bytes and a scale for each row
    constant_channels: str = "on"  # off: channels that always have the same value are kept
    block_data: str = "file"  # int8: products with weights in blocks multiply int8 levels
    assembly: str = "on"  # off: C and intrinsics replace the assembly of kernels
    unaligned: str = "on"  # off: no kernel reads or writes words at addresses that are no multiples of 4
    pack_weights: str = "on"  # tables: also weights with few values; off: weights of a few bits take a byte each
    kernels: str = "own"  # shared: an assembly function may be another model's with the same text
    select: str = "library"  # cost: by a cost table instead of the order of libraries
    cost_table: str = ""  # name, version and digest of the table


@dataclass(frozen=True)
class MemoryOptions:
    """How many bytes and instructions an inference may take at a time, and the memories of its constants."""

    memory_model: str = "default"  # plain: live buffers share no bytes; cascade: layers by rows
    ram_budget: int = 0  # bytes that the arena, inputs and outputs may take; 0: as they come
    max_step: int = 0  # instructions that a step of an inference may take; 0: it runs in one piece
    # memcpy, hook: the constants of layers that pay are copied into the arena, by the core or by the firmware
    copy_constants: str = "off"
    constants_in: tuple[tuple[str, int], ...] = ()  # memories for the constants of some layers, and how many bytes of each


@dataclass(frozen=True)
class Options(MemoryOptions, KernelOptions, InterfaceOptions):
    """All options."""

    @property
    def by_rows(self) -> bool:
        """Whether the options ask for layers that are computed row by row, or for an inference in steps."""
        return bool(self.memory_model == "cascade" or self.ram_budget or "rows" in (self.input, self.output) or self.max_step)

    @property
    def changes_states_at_once(self) -> bool:
        """Whether the next value of a state may be computed in the state's bytes: no firmware leaves an inference half-way."""
        return not self.max_step and self.output != "rows"
