# SPDX-License-Identifier: MIT
"""The board file (TOML) of a device."""

from __future__ import annotations

import re
from collections.abc import Iterable

from aidge_build.base.errors import printable
from aidge_build.base.installed import kernel_folder
from aidge_build.boards.cores import FPU, RISCV, Core, load_core
from aidge_build.build.inputs import default_libraries, find_libraries
from aidge_build.measure.devices.device import Device, Memory, flash_of, rams_of

_SMALL_BYTES = 48 << 10  # of RAM: below, the shares that boards set aside for stack and firmware are too large
_UNIT = 1 << 10


def file_stem(device: Device) -> str:
    """The name of the board: the device's in lower case, of letters, digits, _ and -."""
    return re.sub(r"[^a-z0-9_]+", "-", device.name.lower()).strip("-") or "device"


def board_text(device: Device, where: str) -> str:
    """Returns the board file. Facts that the description does not give are left out, and a comment says so.

    Raises AidgeError (BOARD, USAGE): a core that no file describes, no flash, no RAM.
    """
    flash, rams = flash_of(device, where), rams_of(device, where)
    flash_name, *ram_names = _names((flash, *rams))
    lines = [
        "# SPDX-License-Identifier: MIT",
        f"# From {printable(device.described_by)}.",
        "# Not said there, and yours to add (README.md of the boards): wait states, what memories cost, what flashes the board.",
        f"extends = {_quoted(_base(device))}",
        f"title = {_quoted(device.name)}",
        *([f"clock_hz = {device.clock_hz}"] if device.clock_hz else []),
        *_core_lines(device),
        f"code = {_quoted(flash_name)}",
        f"data = {_quoted(ram_names[0])}",
        f"arena = {_list(ram_names)}",
        *(['stack_size = "1K"', 'reserved = "2K"'] if rams[0].length_bytes < _SMALL_BYTES else []),
        *_region_lines(flash_name, flash),
    ]
    for name, ram in zip(ram_names, rams):
        lines += _region_lines(name, ram)
    return "\n".join(lines) + "\n"


def _base(device: Device) -> str:
    """The base of the board file: it has what all boards with such cores share."""
    return "riscv32" if _core(device).stack == RISCV else "cortex-m"


def _core_lines(device: Device) -> list[str]:
    core = _core(device)
    single = "" if device.has_double else core.single_fpu
    fpu = single or "auto" if device.has_fpu else ""
    features = core.features_with(fpu)
    return [
        f"cpu = {_quoted(core.cpu)}",
        *([f"fpu = {_quoted(fpu)}", 'float_abi = "hard"'] if fpu else []),
        *(["# Whether it has double precision is not said."] if fpu and single and device.has_double is None else []),
        *(["# Whether it has an FPU is not said."] if device.has_fpu is None and FPU in core.may_have else []),
        f"features = {_list(sorted(features))}",
        f"libs = {_list(default_libraries(find_libraries([kernel_folder()]), features, core))}",
        *([f"dma_line = {core.cache_line}"] if core.cache_line else []),
        *([] if core.unicorn else ["# No emulator has this core with these memories.", 'emulator = ""']),
    ]


def _core(device: Device) -> Core:
    """Returns the core, named with the extensions that the chip leaves out, if the core has them by default."""
    whole = load_core(device.core)
    absent = [word for word, is_there in (("nodsp", device.has_dsp), ("nomve", device.has_mve)) if is_there is False]
    words = [word for word in absent if whole.features & whole.extensions.get(word, frozenset())][:1]
    return load_core("+".join((device.core, *words)))


def _names(memories: Iterable[Memory]) -> list[str]:
    """Names of regions: upper-case letters, digits and _, no two the same."""
    found: list[str] = []
    for memory in memories:
        plain = re.sub(r"[^A-Z0-9]+", "_", memory.name.upper()).strip("_") or "MEMORY"
        plain = plain if plain[0].isalpha() else f"M{plain}"
        number, name = 2, plain
        while name in found:
            name, number = f"{plain}_{number}", number + 1
        found.append(name)
    return found


def _region_lines(name: str, memory: Memory) -> list[str]:
    length = memory.length_bytes
    return [
        "",
        f"[regions.{name}]",
        f"origin = 0x{memory.origin:08X}",
        f"length = {_quoted(f'{length // _UNIT}K') if length % _UNIT == 0 else length}",
        f'kind = "{"flash" if memory.is_flash else "ram"}"',
        *([] if memory.is_default else ["# Linkers do not use it unasked; whether a DMA reaches it is not said.", "dma = false"]),
    ]


def _quoted(text: str) -> str:
    """Returns a string of TOML: unprintable characters and characters with a meaning in TOML are escaped."""
    return '"' + printable(text).replace("\\", "\\\\").replace('"', '\\"') + '"'


def _list(words: Iterable[str]) -> str:
    return f"[{', '.join(map(_quoted, words))}]"
