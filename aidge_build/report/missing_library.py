# SPDX-License-Identifier: MIT
"""A program that does not link because the model's own C asks for a function that nobody defines: where, which, what to do."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from aidge_build.c_library import MATHEMATICS
from aidge_build.elf.undefined import Undefined
from aidge_build.naming import split_second_name

# Functions that a compiler puts in for what a core cannot: AAPCS' and GNU's names.
_OF_THE_COMPILER = re.compile(r"__(aeabi_(?!mem)\w+|gnu_\w+|\w+[sdt][ifc][0-9]?)")
_OF_MEMORY = re.compile(r"(__aeabi_)?mem(cpy|set|move|clr)[48]?")
_SHOWN = 4


@dataclass(frozen=True)
class MissingLibrary:
    """`source` is a model's C file, `symbols` what it calls of one library; `library` is its name for the linker, or ""."""

    model: str
    source: str
    symbols: tuple[str, ...]
    library: str

    @property
    def fact(self) -> str:
        """One sentence."""
        shown = ", ".join(self.symbols[:_SHOWN])
        more = len(self.symbols) - _SHOWN
        return f"{self.source} calls {shown}{f' and {more} more' if more > 0 else ''}, and nothing that is linked defines " + (
            "it" if len(self.symbols) == 1 else "them"
        )

    @property
    def hint(self) -> str:
        """What to do."""
        if not self.library:
            return f"link the library of the kernels that {self.model} uses, after {self.source}"
        purpose = {"gcc": "the compiler's library", "m": "the C library's mathematics", "c": "the C library"}[self.library]
        own = ", or define them" if self.library == "c" else ""
        return f"link {purpose}{own}: LIBS=['{self.library}'] in SCons, -l{self.library} after {self.source} elsewhere"

    def as_json(self) -> dict:
        """The same for programs."""
        return {"model": self.model, "source": self.source, "symbols": list(self.symbols), "library": self.library or None}


def missing_libraries(undefined: Sequence[Undefined], models: Iterable[str]) -> tuple[MissingLibrary, ...]:
    """What the code of these models asks for, by model and library."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for model in sorted(set(models)):
        for one, source in _asked_by(model, undefined):
            found.setdefault((model, source, _library(one.symbol)), []).append(one.symbol)
    return tuple(MissingLibrary(model, source, tuple(names), library) for (model, source, library), names in found.items())


def _asked_by(model: str, undefined: Sequence[Undefined]) -> Iterator[tuple[Undefined, str]]:
    for one in undefined:
        names = [source.replace("\\", "/").rpartition("/")[2] for source in one.sources]
        source = next((name for name in names if name in (f"{model}.c", f"{model}.cpp")), "")
        if source and not split_second_name(one.symbol):
            yield one, source


def _library(symbol: str) -> str:
    if symbol in MATHEMATICS:
        return "m"
    return "c" if _OF_MEMORY.fullmatch(symbol) else "gcc" if _OF_THE_COMPILER.fullmatch(symbol) else ""
