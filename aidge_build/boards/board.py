# SPDX-License-Identifier: MIT
"""A board as a value: what the tool knows about a piece of hardware. `boards` reads it from files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from aidge_build.base.errors import AidgeError
from aidge_build.boards.cores import Core
from aidge_build.boards.flash import Flash
from aidge_build.boards.registers import SerialPort

_NO_LOOP, _ALL_LOOPS = 256, 8192  # bytes of a cache that holds no loop of a kernel, and of one that holds all


@dataclass(frozen=True)
class Region:
    """A memory of the board: `length_bytes` from `origin`; `roles` says what the linker script puts there.

    `access_cost` compares regions (cycles per word, say). `dma`: whether peripherals reach the region. `cached`: whether the
    core's data cache, if there is one, holds the region's content. `clock` is (register, bits) that the start-up code sets
    before it uses the region; None if the region is on after reset. `normal`: the firmware's MPU makes it Normal memory,
    whatever the architecture's map says of its addresses. `runs_code`: the core fetches code there without wait states. `same_as`
    is the region that has the same bytes at other addresses; "" for none. `boot_loads`: a boot loader fills it from the program.
    """

    name: str
    origin: int
    length_bytes: int
    kind: str
    roles: tuple[str, ...]
    access_cost: int = 1
    dma: bool = True
    clock: tuple[int, int] | None = None
    cached: bool = field(default=True, repr=False)
    normal: bool = field(default=False, repr=False)
    runs_code: bool = field(default=False, repr=False)
    same_as: str = field(default="", repr=False)
    boot_loads: bool = field(default=False, repr=False)
    script_name: str = field(default="", repr=False, compare=False)  # what the linker script of a program calls it; "" as `name`

    @property
    def end(self) -> int:
        """The first address after the region."""
        return self.origin + self.length_bytes


@dataclass(frozen=True)
class Emulator:
    """How a program runs without the board: `kind` is "unicorn", "qemu" or "native"; `machine` is QEMU's name or ""."""

    kind: str
    machine: str


@dataclass(frozen=True)
class Board:
    """A target: compiler flags, memories, start-up code and emulator. `boards/README.md` explains the fields.

    `arena_regions` are in order of preference; `reserved_bytes` is what a planner leaves free in the region that holds data
    and stack; `dma_line` are the bytes of a line of the data cache, 0 without one; `has_caches`: start-up code switches the
    caches of the core on; `flash_wait_states` and `flash` are None where nobody said; `nanojoules_per_cycle` is 0 where
    nobody measured it; `clock_hz` is what the core usually runs at, 0 where nobody said; `source` are (collection, device) of
    machine-readable data that the memories were compared with; `runners` are (program, target) to flash with; `boot_block` is
    the block that the boot ROM needs in addition to the program, `boot_source` the assembly of a second stage, "" without one;
    `chip_fpu` is the chip's own FPU where the flags use less of it; `serial` is the port that bench images print on; `files`
    holds everything that was read (path -> bytes): these are build dependencies.
    """

    name: str
    title: str
    cpu: str
    core: Core
    fpu: str
    float_abi: str
    features: frozenset[str]
    regions: tuple[Region, ...]
    arena_regions: tuple[Region, ...]
    libs: tuple[str, ...]
    flash_wait_states: int | None
    flash: Flash | None
    nanojoules_per_cycle: float
    multiplier_cycles: int
    stack_bytes: int
    reserved_bytes: int
    emulator: Emulator | None
    compiler_flags: tuple[str, ...]
    link_flags: tuple[str, ...]
    sources: tuple[str, ...]
    link_script: str
    runners: tuple[tuple[str, str], ...]
    boot_block: str
    dma_line: int
    clock_hz: int
    source: tuple[tuple[str, str], ...]
    files: Mapping[str, bytes] = field(repr=False)
    boot_source: str = ""
    chip_fpu: str = ""
    serial: SerialPort | None = None
    has_caches: bool = False

    @property
    def memories(self) -> tuple[Region, ...]:
        """The regions, without a second one for the same bytes."""
        return tuple(region for region in self.regions if not region.same_as)

    @property
    def stall_cycles(self) -> int | None:
        """The cycles that the core waits for a line of flash that no cache holds; None: not known."""
        if self.flash is None or self.flash.stall_cycles is None:
            return self.flash_wait_states
        return self.flash.stall_cycles

    @property
    def loop_bytes(self) -> int:
        """The most bytes of code that a loop should have: five eighths of the cache of code, which then holds the code around the
        loop, too. 0: any loop is as good, because the flash never waits, or its cache holds them all or none, or is not known."""
        cache = self.flash.code_cache if self.flash and self.stall_cycles else None
        return cache.size_bytes * 5 // 8 if cache and _NO_LOOP < cache.size_bytes < _ALL_LOOPS else 0

    @property
    def is_host(self) -> bool:
        """Whether programs for this board run on this machine, built by its native compiler."""
        return self.core.is_native

    @property
    def is_verified(self) -> bool:
        """Whether a machine has compared the memories with their source."""
        return bool(self.source)

    @property
    def include_folders(self) -> tuple[str, ...]:
        """The folders of the board's own headers (`semihosting.h`)."""
        return tuple(sorted({str(Path(source).parent) for source in self.sources}))

    def region(self, role: str) -> Region:
        """The region that has `role` ("vectors", "code", "constants", "data", "stack")."""
        for region in self.regions:
            if role in region.roles:
                return region
        raise AidgeError(f"no memory holds its {role}", where=f"board {self.name}", code="BOARD")
