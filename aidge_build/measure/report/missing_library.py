# SPDX-License-Identifier: MIT
"""A program that does not link because nothing defines a name that the model's own C uses: place, name, remedy."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from aidge_build.base.c_library import MATHEMATICS
from aidge_build.base.naming import split_second_name
from aidge_build.prove.elf.undefined import OPTIMIZED, Undefined

# Functions that a compiler calls for operations that the core lacks: AAPCS' and GNU's names.
_OF_THE_COMPILER = re.compile(r"__(aeabi_(?!mem)\w+|gnu_\w+|\w+[sdt][ifc][0-9]?)")
_OF_MEMORY = re.compile(r"(__aeabi_)?mem(cpy|set|move|clr)[48]?")
_SHOWN = 4
# The `library` of names that a model's other C file defines.
_WEIGHTS = "weights"


@dataclass(frozen=True)
class MissingLibrary:
    """`source` is a model's C file, `symbols` the names that it uses of one library; `library` is its name for the linker,
    "weights" for the model's own file of weights, or "" for another one."""

    model: str
    source: str
    symbols: tuple[str, ...]
    library: str

    @property
    def fact(self) -> str:
        """The fault in one sentence."""
        verb = "uses" if self.library == _WEIGHTS else "calls"
        pronoun = "it" if len(self.symbols) == 1 else "them"
        return f"{self.source} {verb} {first_few(self.symbols)}, and nothing that is linked defines {pronoun}"

    @property
    def hint(self) -> str:
        """The remedy."""
        if not self.library:
            return f"link the library of the kernels that {self.model} uses, after {self.source}"
        if self.library == _WEIGHTS:
            weights = self.source.replace(self.model, f"{self.model}_weights")
            return f"link the {weights} that was generated together with {self.source}"
        purpose = {"gcc": "the compiler's library", "m": "the C library's mathematics", "c": "the C library"}[self.library]
        own = ", or define them" if self.library == "c" else ""
        return f"link {purpose}{own}: LIBS=['{self.library}'] in SCons, -l{self.library} after {self.source} elsewhere"

    def as_json(self) -> dict:
        """The same for programs."""
        return {"model": self.model, "source": self.source, "symbols": list(self.symbols), "library": self.library or None}


def first_few(names: Sequence[str]) -> str:
    """Returns the first names, and the number of the others."""
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


def missing_libraries(undefined: Sequence[Undefined], models: Iterable[str]) -> tuple[MissingLibrary, ...]:
    """Returns the libraries that the code of these models needs, by model and library."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for model in sorted(set(models)):
        for one, source in _asked_by(model, undefined):
            library = _WEIGHTS if one.symbol.startswith(f"{model}_") else _library(one.symbol)
            found.setdefault((model, source, library), []).append(one.symbol)
    return tuple(MissingLibrary(model, source, tuple(names), library) for (model, source, library), names in found.items())


def _asked_by(model: str, undefined: Sequence[Undefined]) -> Iterator[tuple[Undefined, str]]:
    """The names that the model's code asks for, each with its file; with link-time optimisation nothing tells the file."""
    for one in undefined:
        names = [source.replace("\\", "/").rpartition("/")[2] for source in one.sources]
        source = next((name for name in names if name in (f"{model}.c", f"{model}.cpp")), "")
        if not source and names == [OPTIMIZED] and one.symbol.startswith(f"{model}_"):
            source = f"{model}.c"
        if source and not split_second_name(one.symbol):
            yield one, source


def _library(symbol: str) -> str:
    if symbol in MATHEMATICS:
        return "m"
    return "c" if _OF_MEMORY.fullmatch(symbol) else "gcc" if _OF_THE_COMPILER.fullmatch(symbol) else ""
