# SPDX-License-Identifier: MIT
"""Checks Device memory, in which an unaligned access of a word is a fault: no model may make unaligned accesses to it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path

from aidge_build.boards import Region
from aidge_build.boards.cores import all_cores, find_core
from aidge_build.boards.unaligned import UnalignedAccess
from aidge_build.prove.elf.claim import Claim
from aidge_build.prove.elf.findings import ERROR, WARNING, Finding, some_of
from aidge_build.prove.elf.image import Image, Symbol
from aidge_build.prove.elf.occupants import Span
from aidge_build.prove.elf.regions import region_at


def check_device(
    image: Image,
    claims: Sequence[Claim],
    named: Sequence[str],
    regions: Sequence[Region],
    passed: Callable[[], Collection[int]],
    folders: Sequence[Path] = (),
) -> Iterator[Finding]:
    """Yields MEM15 if an array of a model is in a Device range of the architecture, the model's code may access words at any
    address, and no region declares that the MPU makes the memory Normal. Other arrays, which may be inputs or outputs, get a
    warning.

    `named` are arrays of the firmware that DMA reads or writes; `passed()` gives addresses that the firmware passes to models;
    `folders` are folders of boards, which may define cores.
    """
    for claim in claims:
        unaligned = _access_of(image, claim, folders) if claim.unaligned else None
        if unaligned is None:
            continue
        own = list(filter(None, map(image.symbol, dict.fromkeys((*claim.buffers, *claim.weights, *named)))))
        for memory, symbols in _in_device(own, unaligned, regions).items():
            what = f"model {claim.model} may read and write words at any address, and"
            yield Finding("MEM15", ERROR, f"{what} {_listed(symbols, memory)}", _remedy(memory, unaligned))
        models = {name for other in claims for name in (*other.buffers, *other.weights)} | set(named)
        others = [symbol for symbol in image.symbols if symbol.kind == "object" and symbol.linked_name not in models]
        for memory, symbols in _in_device(others, unaligned, regions).items():
            addresses = passed()
            given = [one for one in symbols if _holds_any(one, addresses)]
            severity = ERROR if given else WARNING
            what = f"model {claim.model} may read its inputs and write its outputs in words at any address, and"
            yield Finding("MEM15", severity, f"{what} {_listed(given or symbols, memory)}", _remedy(memory, unaligned))


def _holds_any(symbol: Symbol, addresses: Collection[int]) -> bool:
    return any(symbol.holds(each) for each in addresses)


def _access_of(image: Image, claim: Claim, folders: Sequence[Path]) -> UnalignedAccess | None:
    """Returns how the core reads words at any address: the core of the claim, or a core of the program's architecture."""
    core = find_core(claim.cpu.partition("+")[0], folders)
    if core is None or core.is_portable:
        core = next((one for one in all_cores(folders) if one.architecture and one.architecture == image.architecture), None)
    return core.unaligned if core else None


def _in_device(symbols: Sequence[Symbol], unaligned: UnalignedAccess, regions: Sequence[Region]) -> dict[str, list[Symbol]]:
    """Returns the symbols in a Device range, by the name of the memory ("" for an unnamed one); memories that are declared Normal
    are skipped."""
    found: dict[str, list[Symbol]] = {}
    for symbol in symbols:
        span = Span(symbol.address, symbol.end)
        memory = region_at(symbol.address, regions)
        if symbol.size_bytes and not (memory and memory.normal):
            if any(span.meets(first, last + 1) for first, last in unaligned.device):
                found.setdefault(memory.name if memory else "", []).append(symbol)
    return found


def _listed(symbols: Sequence[Symbol], memory: str) -> str:
    names = some_of([f"{symbol.name} (0x{symbol.address:08x})" for symbol in symbols])
    where = f" ({memory})" if memory else ""
    verb = "is" if len(symbols) == 1 else "are"
    return f"{names} {verb} in a Device range{where}, where such an access is a fault"


def _remedy(memory: str, unaligned: UnalignedAccess) -> str:
    """Returns the two remedies."""
    name = memory or "NAME"
    return (
        f'if the MPU makes {name} Normal: memory = "normal" in regions.{name} of the board file, or --region {name}=...,normal; '
        f"if not: generate with --unaligned off, compile with {unaligned.off}"
    )
