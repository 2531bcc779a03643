# SPDX-License-Identifier: MIT
"""Lines of a linker script that name a model's arrays or functions, and get none of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from aidge_build.prove.elf.claim import Claim
from aidge_build.prove.elf.findings import WARNING, Finding
from aidge_build.prove.elf.image import Image
from aidge_build.prove.elf.link_map import places_of, script_lines


def check_script(link_map: str, image: Image, claims: Sequence[Claim]) -> Iterator[Finding]:
    """Yields MEM02 if a line of the linker script, such as `*(.bss.kws_arena)`, is in one section and the array is in another
    one."""
    names = {name for claim in claims for name in (*claim.buffers, *claim.weights, *claim.functions)}
    asked: dict[str, dict[str, str]] = {}
    for output, line in script_lines(link_map) if names else ():
        for word in (word.rstrip("*") for word in line.split()):
            name = word.rpartition(".")[2]
            if name in names:
                asked.setdefault(name, {})[output] = word
    inputs = places_of(link_map, asked) if asked else {}
    for name, sections in sorted(asked.items()):
        symbol = image.symbol(name)
        if symbol and symbol.section not in sections:
            section, pattern = next(iter(sections.items()))
            yield Finding(
                "MEM02",
                WARNING,
                f"the linker script names {pattern} in {section}, but {name} is in {symbol.section}",
                _hint(pattern, section, symbol.section, inputs.get(name, ("", ""))[0]),
            )


def _hint(pattern: str, section: str, linked: str, found: str) -> str:
    if found and found != pattern:
        return (
            f"the compiler put it into {found}: name this in the script; -fdata-sections or -ffunction-sections gives each array "
            "or function a section of its own, and a board names the memory of the arena instead"
        )
    return f"put the line with {section} before the line with {linked}: a linker gives a section to the first line that matches"
