# SPDX-License-Identifier: MIT
"""What is said of programs made of values: each limit from both sides, without a compiler."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

import pytest

from aidge_build.boards import Region
from aidge_build.prove.elf.call_walk import Code
from aidge_build.prove.elf.contents import SOFT_DOUBLE, check_contents
from aidge_build.prove.elf.deepest import StackBound
from aidge_build.prove.elf.findings import Finding
from aidge_build.prove.elf.image import Image, Section, Symbol
from aidge_build.prove.elf.overflow import overfull
from aidge_build.prove.elf.proof import check_image
from aidge_build.prove.elf.regions import region_use
from aidge_build.prove.elf.stack import StackUse
from aidge_build.prove.elf.stack_proof import check_stack, way
from aidge_build.prove.elf.uf2 import uf2_of
from aidge_build.prove.elf.vectors import find_tables, table_at

FLASH, RAM = Region("FLASH", 0x8000000, 0x1000, "flash", ()), Region("RAM", 0x20000000, 0x400, "ram", ())


def section(name: str, address: int, content: bytes | int, load_address: int | None = None, writable: bool = False) -> Section:
    """`content` as a number: so many bytes that are stored nowhere."""
    if isinstance(content, int):
        return Section(name, address, content, None, writable, False, b"")
    return Section(name, address, len(content), address if load_address is None else load_address, writable, False, content)


def image(sections: Sequence[Section], symbols: Sequence[Symbol] = (), entry: int = 0x8000101, **changes) -> Image:
    fields = {"path": "a.elf", "machine": "ARM", "architecture": "v7E-M", "notes": (), "headers_at": ()} | changes
    by_name: dict[str, tuple[Symbol, ...]] = {}
    for symbol in symbols:
        by_name[symbol.name] = (*by_name.get(symbol.name, ()), symbol)
    return Image(**fields, entry=entry, sections=tuple(sections), symbols=tuple(symbols), by_name=by_name)


def stacks() -> Iterator[str]:
    deep = StackBound(120, ("Reset", "start", "main", "run"), held_bytes=(0, 0, 20, 100))
    held = StackBound(120, ("Reset", "main"), held_bytes=(8, 112))
    for bound in (deep, held, StackBound(4, ("main",), held_bytes=(4,)), StackBound(4, ("a", "b"), held_bytes=(0, 4))):
        yield f"way {way(bound)}"
    quiet, isr = StackBound(36, ("handler",)), StackBound(None, (), "no vector table")
    for reserved in (None, 155, 156, 157):
        for budget in (None, 119, 120):
            for interrupt in (quiet, isr):
                use = StackUse(deep, {}, interrupt, reserved)
                yield f"reserved {reserved}, budget {budget}, interrupt {interrupt.bytes}:"
                yield from (f"  {finding}" for finding in check_stack(use, budget))
    reasons = ("recursion a > a", "the frame's size depends on data", "an indirect call at f", "MSP is set, at 0x8", "no idea")
    for reason in (*reasons, "f calls g, which is not in the program"):
        for path in ((), ("run", "libm", "0x8000"), ("run",)):
            lost = StackBound(None, path, reason)
            for budget in (None, 5):
                yield f"{reason} at {path}, budget {budget}:"
                yield from (f"  {finding}" for finding in check_stack(StackUse(lost, {"net_run": lost}, quiet, 64), budget))
    yield from map(str, check_stack(StackUse(deep, {"b": deep, "a": isr}, quiet, None, unseen=("one", "two")), None))


def said(finding: Finding) -> str:
    """Without the hint: its words follow the names of options."""
    return f"{finding.code} {finding.severity}: {finding.text}"


def memories() -> Iterator[str]:
    """Regions a byte below, at and above their size; what is stored elsewhere; sections that lie nowhere."""
    text = section(".text", 0x8000000, bytes(range(256)))
    for count in (0x3CC, 0x3CD, 0x400, 0x401):
        bss = section(".bss", 0x20000000, count, writable=True)
        lost = [section(".lost", 0x30000000, 5)] if count == 0x400 else []
        data = section(".data", 0x20000000, b"1234", 0x8000F00, writable=True)
        sizes = (
            ("a", 5, "object"),
            ("b", 9, "object"),
            ("c", 9, "function"),
            ("d", 0, "object"),
            ("e", 7, "other"),
            ("f", 3, "object"),
        )
        symbols = [Symbol(name, name, 0x20000000 + 8 * at, size, kind, ".bss") for at, (name, size, kind) in enumerate(sizes)]
        made = image([text, data, bss, *lost], symbols)
        uses, homeless = region_use(made, (FLASH, RAM))
        yield f"{count}: {[(use.region.name, use.used_bytes, use.largest) for use in uses]} {[part.name for part in homeless]}"
        yield from (
            f"  {said(finding)}" for finding in (*check_image(made, (), (), uses, homeless), *check_contents(made, uses, None))
        )
        for budget in (0xF03, 0xF04):
            yield from (f"  flash {budget}: {said(finding)}" for finding in check_contents(made, uses[:1], budget))
        yield from (f"  no flash: {said(finding)}" for finding in check_contents(made, uses[1:], 5))
        rest, wanted = overfull(made, RAM, 64)
        yield f"  overfull {[part.name for part in rest.sections]} {wanted.length_bytes}"
    ahead = [section(f".s{at}", 0x20000000 + at, 0x10, writable=True) for at in (0x3F0, 0x400, 0x44F, 0x460)]
    for missing in (0, 0x10, 0x11, 0x5F, 0x60, 0x80):
        rest, wanted = overfull(image(ahead), RAM, missing)
        yield f"{missing:x} missing: {[part.name for part in rest.sections]} {wanted.length_bytes:x}"


def contents() -> Iterator[str]:
    same = b"twice" * 52
    parts = [section(".rodata", 0x8000000, same[:255] + b"!" + same[:256] + same[:256] + bytes(512))]
    places = [("a", 0, 255), ("b", 256, 256), ("c", 512, 256), ("d", 512, 256), ("z", 768, 256), ("y", 1024, 256)]
    symbols = [Symbol(name, f"{name}.1", 0x8000000 + at, size, "object", ".rodata") for name, at, size in places]
    names = ("malloc", "_sbrk", "mallocs", "__aeabi_dadd", "__aeabi_dcmplt", "__aeabi_fadd", "__aeabi_ui2d", "__aeabi_d2iz")
    symbols += [Symbol(name, name, 0x8000400, 4, "function", ".text") for name in names]
    for headers in ((), (0x7FFFFF0,), (0x8000004, 0x9000000)):
        yield from map(said, check_contents(image(parts, symbols, headers_at=headers), (), None))
    yield from map(said, check_contents(image(parts, symbols, headers_at=(0x7FFFFF0,), machine="386"), (), None))
    found = image(parts, symbols)
    yield f"{[found.describe(at) for at in (0x8000000, 0x8000003, 0x80000FF, 0x8000400, 0x8000403, 0x8000404, 0x9000000)]}"
    yield f"{[len(found.content(symbol)) for symbol in symbols[:6]]} {found.symbol('a')} {found.symbol('a.1')}"
    doubles = ("__aeabi_dmul", "__aeabi_cdcmple", "__aeabi_l2d", "__aeabi_lmul")
    yield f"{[name for name in doubles if SOFT_DOUBLE.fullmatch(name)]}"


def images() -> Iterator[str]:
    """Blocks for a boot loader, and vector tables wherever they lie."""
    for address, size in ((0x10000000, 5), (0x100000FE, 4), (0x10000100, 256), (0x10000080, 400)):
        made = uf2_of(image([section(".text", address, bytes(at % 251 for at in range(size)))]), 0xE48BFF56)
        for at in range(0, len(made), 512):
            header, page, rest = made[at : at + 32], made[at + 32 : at + 288], made[at + 288 : at + 512]
            words = struct.unpack("<8I", header)
            yield f"{address:x} {size}: {words} {page.hex().rstrip('0')} {sum(rest[:-4])} {rest[-4:].hex()}"
    table = struct.pack("<6I", 0x20000400, 0x8000101, 0x8000111, 0x8000111, 0, 0x8000121)
    functions = [Symbol(f"f{at:x}", f"f{at:x}", at, 16, "function", ".text") for at in (0x8000100, 0x8000110, 0x8000120)]
    code = section(".text", 0x8000100, bytes(64))
    known = Code(image([code], functions), {})
    for at in (0x8000000, 0x8000100, 0x8000111, 0x8000120, 0xF0000000):
        yield f"{at:x} in {known.name(at)}: {' to '.join(f'{end:x}' for end in known.extent(at))}"
    for name in (".vectors", ".isr_vector", ".other"):
        for begin in (0x8000000, 0x8000080, 0x8000084):
            made = image([section(name, begin, table), code], functions)
            yield f"{name} at {begin:x}: {find_tables(made)}"
            yield f"  {[table_at(made, at) for at in (begin, begin + 16, begin + 20, 0x9000000)]}"
    inside = section(".text", 0x8000000, bytes(128) + table + bytes(40) + table[:8] + bytes(200))
    sized = [*functions, Symbol("vectors", "vectors", 0x8000080, 20, "object", ".text")]
    for symbols in (functions, sized):
        yield f"{find_tables(image([inside], symbols))}"
        yield f"  {find_tables(image([inside], symbols, entry=0x8000111))}"


@pytest.mark.parametrize("what", [stacks, memories, contents, images], ids=lambda what: what.__name__)
def test_what_is_said_of_a_program_is_as_it_was(golden, what):
    golden(f"elf_{what.__name__}", {f"{what.__name__}.txt": ("\n".join(what()) + "\n").encode()})
