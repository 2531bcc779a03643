# SPDX-License-Identifier: MIT
"""Programs as texts of instructions, each of four bytes, and what the longest way through them is."""

from __future__ import annotations

import re
from unittest.mock import patch

from aidge_build.contract.thumb.instruction import read_disassembly
from aidge_build.prove.elf.image import Image, Section, Symbol
from aidge_build.prove.longest.calls import Calls
from aidge_build.prove.longest.ends import State

TEXT, DATA, DATA_BYTES = 0x8000, 0x20000000, 256
LIMIT = 3_000
# Functions of the library are followed as briefly: a loop without a bound is refused soon.
followed_briefly = patch("aidge_build.prove.longest.library._LIMIT", 500)


def listed(text: str, data: dict[str, bytes] | None = None) -> tuple[Image, dict]:
    """The image and the instructions of `name:` lines (functions; `.name:` are labels) and instructions. `data` are constants by
    name, of which `=name` is the address. Behind `|` stands the encoding of an instruction, the second halfword first."""
    places, lines = {}, []
    for line in filter(None, map(str.strip, text.splitlines())):
        if line.endswith(":"):
            places[line[:-1]] = TEXT + 4 * len(lines)
        else:
            lines.append(line)
    at, stored = TEXT + 4 * len(lines), b""
    for name, content in (data or {}).items():
        places[name] = at + len(stored)
        stored += content + bytes(-len(content) % 4)
    shown, encoded = [], bytearray(4 * len(lines))
    for number, line in enumerate(lines):
        line, _, raw = line.partition(" | ")
        encoded[4 * number : 4 * number + 4] = int(raw or "0", 16).to_bytes(4, "little")
        mnemonic, _, rest = line.partition(" ")
        rest = re.sub(r"=(\w+)", lambda match: f"#{places[match[1]]}", rest)
        rest = re.sub(r"(?<![\w#])(\.?[a-z_]\w*)$", lambda match: _target(match[1], places), rest)
        shown.append(f"    {TEXT + 4 * number:x}:\tf000 0000 \t{mnemonic}\t{rest}")
    code = Section(".text", TEXT, at - TEXT + len(stored), TEXT, False, True, bytes(encoded) + stored)
    ram = Section(".bss", DATA, DATA_BYTES, None, True, False, b"")
    symbols = [
        Symbol(name, name, place, 4, "function", ".text") for name, place in places.items() if place < at and name[0] != "."
    ]
    symbols.append(Symbol("array", "array", DATA, DATA_BYTES, "object", ".bss"))
    names = {symbol.name: (symbol,) for symbol in symbols}
    image = Image("listed", "ARM", "v7E-M", TEXT, (code, ram), tuple(symbols), (), (), names)
    return image, read_disassembly("\n".join(shown))


def _target(name: str, places: dict[str, int]) -> str:
    return f"{places[name]:x} <{name}>" if name in places else name


def followed(text: str, *arguments: int | None, data: dict[str, bytes] | None = None, limit: int = LIMIT) -> State:
    """The state behind a call of the function `f`."""
    image, instructions = listed(text, data)
    calls = Calls(image, instructions)
    symbol = image.symbol("f")
    assert symbol is not None
    return calls.call(symbol.address, arguments, calls.memory(), limit)


def longest(text: str, *arguments: int | None, data: dict[str, bytes] | None = None) -> int:
    """The instructions of the longest way through `f`."""
    return followed(text, *arguments, data=data).instructions
