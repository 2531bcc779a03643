# SPDX-License-Identifier: MIT
"""The keys of a board file, and the board that their values describe."""

from __future__ import annotations

import re
from collections.abc import Sequence
from types import MappingProxyType

from aidge_build.base.errors import AidgeError
from aidge_build.boards.board import Board, Emulator, Region
from aidge_build.boards.cores import FLAG_WORDS, FPU_NAME, RV32E, Core
from aidge_build.boards.flash import flash_of
from aidge_build.boards.registers import read_clock, read_serial

LARGEST_LINE_BYTES = 256
_KINDS = ("flash", "ram")
_MEMORY_TYPES = ("default", "normal")
_RUNNERS = ("openocd", "pyocd", "probe-rs", "uf2")
_BOOT_BLOCKS = ("second-stage", "image-definition")
_EMULATORS = ("unicorn", "qemu", "native")
_SIZE = re.compile(r"(\d+)([KM]?)")
_UNIT = {"": 1, "K": 1024, "M": 1024 * 1024}
_FLAG_WORD = re.compile(r"\{(\w+)\}")
_REGION_NAME = re.compile(r"[A-Z][A-Z0-9_]*")

# Every key of a board file with the type that TOML gives it; boards/README.md explains each.
KEYS = {
    "extends": str,
    "title": str,
    "source": dict,
    "verified": bool,
    "clock_hz": int,
    "cpu": str,
    "fpu": str,
    "chip_fpu": str,
    "float_abi": str,
    "features": list,
    "libs": list,
    "flash_wait_states": int,
    "flash": dict,
    "nanojoules_per_cycle": (int, float),
    "multiplier_cycles": int,
    "compiler_flags": list,
    "link_flags": list,
    "sources": list,
    "link_script": str,
    "stack_size": (int, str),
    "reserved": (int, str),
    "dma_line": int,
    "caches": bool,
    "vectors": str,
    "code": str,
    "constants": str,
    "data": str,
    "stack": str,
    "arena": list,
    "regions": dict,
    "emulator": str,
    "qemu_machine": str,
    "runners": dict,
    "boot_block": str,
    "boot_source": str,
    "serial": dict,
}
REGION_KEYS = {
    "origin": int,
    "length": (int, str),
    "kind": str,
    "access_cost": int,
    "dma": bool,
    "cached": bool,
    "memory": str,
    "clock": dict,
    "runs_code": bool,
    "same_as": str,
    "boot_loads": bool,
}
_REQUIRED_REGION_KEYS = ("origin", "length", "kind")
FILE_KEYS = ("sources", "link_script", "boot_source")
_ROLES = ("vectors", "code", "constants", "data", "stack")


def size_of(text: str) -> int | None:
    """Returns the bytes of a size such as "4096", "64K" or "1M"; None for a text that is no size."""
    match = _SIZE.fullmatch(text)
    return int(match[1]) * _UNIT[match[2]] if match else None


class BoardReader:
    """Turns the merged settings of one board into a `Board`, checking every value."""

    def __init__(self, name: str, where: str, settings: dict, core: Core):
        self.name = name
        self.core = core
        self.where = where
        self.settings = settings

    def board(self, files: dict[str, bytes]) -> Board:
        """The board, which also keeps the bytes of the files that were read for it."""
        regions = self._regions()
        by_name = {region.name: region for region in regions}
        machine_flags = self._machine_flags()
        return Board(
            name=self.name,
            title=self._get("title", self.name),
            cpu=self._get("cpu"),
            core=self.core,
            fpu=self._get("fpu", ""),
            float_abi=self._get("float_abi", ""),
            features=self._features(),
            regions=regions,
            arena_regions=tuple(by_name[self._region_name("arena", item)] for item in self._get("arena", [])),
            libs=self._libs(),
            flash_wait_states=self.settings.get("flash_wait_states"),
            flash=flash_of(self.settings.get("flash"), self.where),
            nanojoules_per_cycle=self._not_negative("nanojoules_per_cycle", "an energy"),
            multiplier_cycles=self._multiplier_cycles(),
            stack_bytes=self._size("stack_size", self._get("stack_size", 0)),
            reserved_bytes=self._size("reserved", self._get("reserved", 0)),
            emulator=self._emulator(),
            compiler_flags=(*machine_flags, *self._get("compiler_flags", [])),
            link_flags=tuple(self._get("link_flags", [])),
            sources=tuple(self._get("sources", [])),
            link_script=self._get("link_script", ""),
            runners=self._runners(),
            boot_block=self._choice("boot_block", self._get("boot_block", ""), _BOOT_BLOCKS)
            if self._get("boot_block", "")
            else "",
            dma_line=self._dma_line(),
            has_caches=self._get("caches", self._dma_line() > 0),
            clock_hz=int(self._not_negative("clock_hz", "a clock")),
            source=self._source(),
            files=MappingProxyType(dict(sorted({**files, **self.core.files}.items()))),
            boot_source=self._get("boot_source", ""),
            chip_fpu=self._chip_fpu(),
            serial=read_serial(table, f"{self.where}: serial") if (table := self.settings.get("serial")) else None,
        )

    def _features(self) -> frozenset[str]:
        known = tuple(self.core.known_features)
        chosen = frozenset(self._choice("features", item, known) for item in self._get("features", []))
        return chosen | self.core.features & {RV32E}

    def _chip_fpu(self) -> str:
        name = self._get("chip_fpu", "")
        if name and not FPU_NAME.fullmatch(name):
            raise self._error(f"key 'chip_fpu': '{name}' is no FPU", 'write "fpv5-d16" (double precision) or "fpv5-sp-d16"')
        return name

    def _multiplier_cycles(self) -> int:
        cycles = self._get("multiplier_cycles", 1)
        if cycles < 1:
            raise self._error(f"key 'multiplier_cycles': a product takes at least one cycle, got {cycles}")
        return cycles

    def _dma_line(self) -> int:
        line = self._get("dma_line", 0)
        if line and not (4 <= line <= LARGEST_LINE_BYTES and line & (line - 1) == 0):
            raise self._error(
                f"key 'dma_line': a line of a cache has 4, 8, ... {LARGEST_LINE_BYTES} bytes, got {line}",
                "leave it out without a cache",
            )
        return line

    def _not_negative(self, key: str, what: str) -> int | float:
        value = self._get(key, 0)
        if not 0 <= value < float("inf"):
            raise self._error(f"key '{key}': {what} is not negative, got {value}", "leave it out where it is not known")
        return value

    def _source(self) -> tuple[tuple[str, str], ...]:
        """Returns (collection, device), sorted; none if the file says that nothing was compared."""
        source = self._get("source", {})
        if not all(isinstance(device, str) and device for device in source.values()):
            raise self._error("key 'source': names of devices are expected", 'source = { modm-devices = "stm32f103c8t6" }')
        if bool(source) != self._get("verified", bool(source)):
            raise self._error(
                "keys 'source' and 'verified' contradict each other",
                "a board with a source is verified, and no other",
            )
        return tuple(sorted(source.items()))

    def _error(self, what: str, hint: str = "") -> AidgeError:
        return AidgeError(what, where=self.where, hint=hint, code="BOARD")

    def _get(self, key: str, default=None):
        value = self.settings.get(key, default)
        if value is None:
            raise self._error(f"key '{key}' is missing")
        return value

    def _choice(self, key: str, value: str, valid: Sequence[str]) -> str:
        if value not in valid:
            raise self._error(f"key '{key}': '{value}' is not valid", hint=f"valid: {', '.join(valid)}")
        return value

    def _size(self, key: str, value: int | str) -> int:
        if isinstance(value, int):
            return value
        size = size_of(value)
        if size is None:
            raise self._error(f"key '{key}': '{value}' is not a size in bytes", hint='write 4096, "64K" or "1M"')
        return size

    def _libs(self) -> tuple[str, ...]:
        libs = tuple(self._get("libs"))
        if not libs:
            raise self._error("key 'libs' is empty", hint="name export libraries in order of preference")
        return libs

    def _emulator(self) -> Emulator | None:
        kind = self._get("emulator", "")
        return Emulator(self._choice("emulator", kind, _EMULATORS), self._get("qemu_machine", "")) if kind else None

    def _runners(self) -> tuple[tuple[str, str], ...]:
        """Returns (runner, target) in the order of the file."""
        runners = self._get("runners", {})
        for name, target in runners.items():
            self._choice("runners", name, _RUNNERS)
            if not isinstance(target, str) or (name == "uf2" and not re.fullmatch(r"0x[0-9a-fA-F]{1,8}", target)):
                raise self._error(
                    f"key 'runners.{name}': {target!r} is not valid", hint="a configuration file, a chip's name, or 0x... for uf2"
                )
        return tuple(runners.items())

    def _machine_flags(self) -> tuple[str, ...]:
        """The core's flags; one that names the FPU is for boards that have one."""
        values = {key: self._get(key, None if key == "float_abi" else "") for key in FLAG_WORDS if self._is_asked_for(key)}
        wanted = [flag for flag in self.core.flags if "{fpu}" not in flag or values["fpu"]]
        return tuple(_FLAG_WORD.sub(lambda word: values[word[1]], flag) for flag in wanted)

    def _is_asked_for(self, key: str) -> bool:
        return any("{%s}" % key in flag for flag in self.core.flags)

    def _region_name(self, key: str, name: str) -> str:
        return self._choice(key, name, tuple(self.settings.get("regions", {})))

    def _regions(self) -> tuple[Region, ...]:
        tables = self.settings.get("regions", {})
        if not tables and self.core.is_native:
            return ()
        roles: dict[str, list[str]] = {name: [] for name in tables}
        fallback = {"vectors": "code", "constants": "code", "stack": "data"}
        for role in _ROLES:
            name = self.settings.get(role) or self._get(fallback.get(role, role))
            roles[self._region_name(role, name)].append(role)
        for name in self._get("arena"):
            roles[self._region_name("arena", name)].append("arena")
        regions = tuple(self._region(name, table, tuple(roles[name])) for name, table in tables.items())
        ordered = sorted(regions, key=lambda region: region.origin)
        for lower, upper in zip(ordered, ordered[1:]):
            if lower.end > upper.origin:
                raise self._error(f"regions {lower.name} and {upper.name} overlap")
        for region in regions:
            self._require_same(region, regions)
        return regions

    def _require_same(self, region: Region, regions: Sequence[Region]) -> None:
        """The other region has the same length and kind, and is no second one itself."""
        others = [one.name for one in regions if one != region and not one.same_as]
        if region.same_as:
            other = regions[[one.name for one in regions].index(self._choice("same_as", region.same_as, others))]
            if (region.length_bytes, region.kind) != (other.length_bytes, other.kind):
                raise self._error(f"regions.{region.name}: another length or kind than {other.name}, which same_as names")

    def _region(self, name: str, table: dict, roles: tuple[str, ...]) -> Region:
        if not _REGION_NAME.fullmatch(name):
            raise self._error(f"region name '{name}' must be upper-case letters, digits and '_'")
        for key in _REQUIRED_REGION_KEYS:
            if key not in table:
                raise self._error(f"regions.{name}: key '{key}' is missing")
        length = self._size(f"regions.{name}.length", table["length"])
        if length <= 0 or table["origin"] < 0 or table["origin"] + length > 1 << 32:
            raise self._error(f"regions.{name} is not inside the 32-bit address space")
        kind = self._choice(f"regions.{name}.kind", table["kind"], _KINDS)
        if kind == "flash" and {"data", "stack", "arena"} & set(roles):
            raise self._error(f"regions.{name} is flash and cannot hold {', '.join(roles)}")
        cost = table.get("access_cost", 1)
        if cost < 1:
            raise self._error(f"regions.{name}.access_cost is {cost}, wants at least 1")
        clock = read_clock(table["clock"], f"{self.where}: regions.{name}.clock") if "clock" in table else None
        is_normal = self._choice(f"regions.{name}.memory", table.get("memory", "default"), _MEMORY_TYPES) == "normal"
        dma, cached, runs_code = table.get("dma", True), table.get("cached", True), table.get("runs_code", False)
        same_as, boot_loads = table.get("same_as", ""), table.get("boot_loads", False)
        if same_as and {"data", "stack", "arena"} & set(roles):
            raise self._error(f"regions.{name} cannot hold {', '.join(roles)}", f"name {same_as}, which has the same bytes")
        return Region(
            name, table["origin"], length, kind, roles, cost, dma, clock, cached, is_normal, runs_code, same_as, boot_loads
        )
