# SPDX-License-Identifier: MIT
"""Explains a memory that is too small: by how much, its largest contents, and the remedies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from aidge_build.base.errors import AidgeError
from aidge_build.boards import Region, load_board
from aidge_build.measure.report.attribution import Group, attribute
from aidge_build.prove.elf.claim import Claim, ClaimedArena
from aidge_build.prove.elf.contents import is_soft_double
from aidge_build.prove.elf.image import Image
from aidge_build.prove.elf.overflow import LARGEST_GAP, Overflow, overfull
from aidge_build.prove.elf.regions import region_use

_SHOWN = 5
# A C library of this size in a small firmware is printf with everything that it can do.
_LARGE_LIBRARY = 8192


@dataclass(frozen=True)
class TooSmall:
    """`largest` are (name, bytes), `purposes` the same by purpose; both are empty if the linker left no program."""

    memory: str
    missing_bytes: int
    length_bytes: int | None = None
    largest: tuple[tuple[str, int], ...] = ()
    purposes: tuple[tuple[str, int], ...] = ()
    hints: tuple[str, ...] = ()

    @property
    def fact(self) -> str:
        """The fault: `memory FLASH is too small by 1,234 B`, and the size of the memory."""
        of = f": {self.length_bytes + self.missing_bytes:,} B of {self.length_bytes:,} B" if self.length_bytes is not None else ""
        return f"memory {self.memory} is too small by {self.missing_bytes:,} B{of}"

    def as_json(self) -> dict:
        """The same for programs."""
        return {
            "memory": self.memory,
            "missing_bytes": self.missing_bytes,
            "length_bytes": self.length_bytes,
            "largest": [{"name": name, "size_bytes": size} for name, size in self.largest],
            "purposes": [{"name": name, "size_bytes": size} for name, size in self.purposes],
            "hints": list(self.hints),
        }


def listed(parts: Sequence[tuple[str, int]]) -> str:
    """Returns `kws_weights 52,000 B, main 120 B`."""
    return ", ".join(f"{name} {size:,} B" for name, size in parts)


def explain_overflow(
    image: Image, claims: Sequence[Claim], memories: Sequence[Region], overflow: Overflow, command: Sequence[str]
) -> TooSmall:
    """Explains one memory of `image`, which the linker wrote in spite of its complaints; `command` is how it was called."""
    region = next((memory for memory in memories if memory.name == overflow.region), None)
    if region is None:
        return TooSmall(overflow.region, overflow.missing_bytes)
    inside, wanted = overfull(image, region, overflow.missing_bytes)
    others = replace(image, sections=tuple(section for section in image.sections if section not in inside.sections))
    groups = [_without_alignment(group) for group in attribute(inside, claims, [wanted])[0].groups if group.name != "free"]
    named = [(_title(group, item.name, item.section), item.size_bytes) for group in groups for item in group.items]
    largest = tuple(sorted(named, key=lambda part: (-part[1], part[0]))[:_SHOWN])
    sizes = [("holes" if group.name == "padding" else group.name, group.size_bytes) for group in groups if group.items]
    purposes = tuple(sorted(sizes, key=lambda part: (-part[1], part[0])))
    arenas = [] if region.kind == "flash" else _arenas(inside, claims)
    smaller = _of_flash(dict(purposes), image, claims, command) if region.kind == "flash" else _of_ram(dict(purposes), arenas)
    hints = [*_elsewhere(others, memories, region, overflow, arenas), *smaller]
    return TooSmall(region.name, overflow.missing_bytes, region.length_bytes, largest, purposes, tuple(hints))


def _without_alignment(group: Group) -> Group:
    """Returns the group without padding that is due to alignment. Larger padding is memory that the linker script leaves out, for
    example for a boot loader."""
    items = tuple(item for item in group.items if group.name != "padding" or item.size_bytes > LARGEST_GAP)
    return Group(group.name, sum(item.size_bytes for item in items), items)


def _title(group: Group, name: str, section: str) -> str:
    if group.name == "padding":
        return f"the hole {name}"
    return "the stack" if group.name == "stack" and section.lstrip(".") == "stack" else name


class _Arena(NamedTuple):
    """An arena or a part of it; `section` is the script's own section for it, which holds nothing else, "" without one."""

    claim: Claim
    part: ClaimedArena
    section: str


def _arenas(image: Image, claims: Sequence[Claim]) -> list[_Arena]:
    """Returns the arenas in the sections of the image, the largest first."""
    sizes = {section.name: section.size_bytes for section in image.sections}
    found = []
    for owner, part in ((claim, part) for claim in claims for part in claim.arenas):
        symbol = image.symbol(part.symbol)
        if symbol and symbol.section in sizes:
            is_alone = symbol.section != ".bss" and sizes[symbol.section] - part.size_bytes <= LARGEST_GAP
            found.append(_Arena(owner, part, symbol.section if is_alone else ""))
    return sorted(found, key=lambda one: (-one.part.size_bytes, one.part.symbol))


def _elsewhere(
    image: Image,
    memories: Sequence[Region],
    region: Region,
    overflow: Overflow,
    arenas: Sequence[_Arena],
) -> Iterator[str]:
    """Yields memories of the same kind with room for the overflow, or for an arena.

    A read-only memory that holds nothing of this program may be a ROM that its maker filled: nobody can put anything there.
    """
    uses, _ = region_use(image, [memory for memory in memories if memory.kind == region.kind and memory.name != region.name])
    for use in uses:
        free = use.region.length_bytes - use.used_bytes
        moved = next((one for one in arenas if one.part.size_bytes <= free), None)
        if moved:
            yield (
                f"{use.region.name} has {free:,} B free: the arena of {moved.claim.model} there saves "
                f"{moved.part.size_bytes:,} B of {region.name}: {_moving(moved, use.region)}"
            )
        elif free >= overflow.missing_bytes and (use.region.kind == "ram" or use.used_bytes):
            yield f"{use.region.name} has {free:,} B free"


def _moving(arena: _Arena, region: Region) -> str:
    """Returns the change that moves an arena into another memory of the linker script."""
    board = _named("board", arena.claim)
    if not arena.part.region or not board:
        if arena.section:
            return f"`> {region.name}` at the end of the linker script's section {arena.section}"
        line = f"`.aidge_arena (NOLOAD) : {{ *(.bss.{arena.part.symbol}) }} > {region.name}`"
        return f"-fdata-sections for the compiler, and {line} before .bss in the linker script"
    known = _regions_of(board)
    name = next((one.name for one in known if one.origin == region.origin), region.name)
    return f'a board file with `extends = "{board}"` and `arena = ["{name}"]`, as docs/howto-fast-memory.md shows'


def _regions_of(name: str) -> Sequence[Region]:
    """Returns the memories of a built-in board; () for a board of the user's own, because no program remembers its folder."""
    try:
        return load_board(name).regions
    except AidgeError:
        return ()


def _named(option: str, claim: Claim) -> str:
    """The value of an option that the model was generated with, or ""."""
    start = f"--{option}="
    return next((word.removeprefix(start) for word in claim.made_with or () if word.startswith(start)), "")


def _of_weights(purposes: dict[str, int], image: Image, claims: Sequence[Claim]) -> Iterator[str]:
    weights = purposes.get("weights", 0)
    code = sum(size for name, size in purposes.items() if name not in ("weights", "arena", "stack"))
    if weights > code:
        fewer_bits = "" if _is_int8(image) else "weights of fewer bits (int8 instead of float32) or "
        yield f"{fewer_bits}a smaller model: its weights are {weights:,} B"
    if weights and not all("--optimize=size" in (claim.made_with or ()) for claim in claims):
        yield "--optimize size (CMake OPTIMIZE size, SCons optimize='size') when the model is generated"


def _of_flash(purposes: dict[str, int], image: Image, claims: Sequence[Claim], command: Sequence[str]) -> Iterator[str]:
    yield from _of_weights(purposes, image, claims)
    if not {"-Os", "-Oz"} & set(command):
        yield "-Os"
    if not any("--gc-sections" in word for word in command):
        yield "-ffunction-sections -fdata-sections for the compiler and -Wl,--gc-sections for the linker"
    library = purposes.get("libc/libgcc", 0)
    if library >= _LARGE_LIBRARY and not any(word.startswith(("--specs=nano", "-specs=nano")) for word in command):
        yield f"--specs=nano.specs: the C library is {library:,} B"
    if any(symbol.kind == "function" and is_soft_double(image, symbol.linked_name) for symbol in image.symbols):
        yield "float instead of double: its arithmetic in software is linked"
    yield "a board with more flash"


def _is_int8(image: Image) -> bool:
    """Whether kernels of int8 are linked and none of float32. Helpers of int8 kernels may compute in float."""
    kernels = [symbol.linked_name for symbol in image.symbols if symbol.kind == "function" and symbol.name.startswith("aidge_")]
    return any("int8" in name for name in kernels) and not any("float32" in name for name in kernels)


def _of_ram(purposes: dict[str, int], arenas: Sequence[_Arena]) -> Iterator[str]:
    if purposes.get("arena", 0) > max((size for name, size in purposes.items() if name != "arena"), default=0):
        options = "".join(f" {word}" for one in arenas[:1] for word in one.claim.made_with or ())
        of = f", with the file of {arenas[0].claim.model} as MODEL," if arenas else ""
        yield (
            f"a smaller model: its arena is {purposes['arena']:,} B (`aidge-build explain --plan MODEL{options} --why`{of} lists "
            "what is live at the peak)"
        )
    if purposes.get("arena", 0):
        yield (
            "--ram-budget BYTES (CMake RAM_BUDGET, SCons ram_budget=): layers computed row by row; "
            "--io arena (IO arena, io='arena'): inputs and outputs within the arena; docs/howto-shrink.md has the price of each"
        )
    yield "smaller buffers, stack or heap"
    yield "a board with more RAM"
