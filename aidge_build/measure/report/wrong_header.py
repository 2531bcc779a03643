# SPDX-License-Identifier: MIT
"""Explains why a program does not link: a header does not belong to the linked code of its model. Header, code, remedy."""

from __future__ import annotations

import posixpath
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from aidge_build.base.naming import counted, model_of_symbol, second_name, split_second_name
from aidge_build.prove.elf.debug_info import CompiledFile
from aidge_build.prove.elf.undefined import Undefined


@dataclass(frozen=True)
class WrongHeader:
    """`users` are source files that were compiled with a header of `model`, which has this `digest` and path ("": not known).

    `code` are the files or members of archives that were linked instead, () without any code of that model; `code_digest` ("":
    compiled without a header) and the path `code_header` describe the header that the linked code belongs to. With equal digests
    the code is right, but is in an archive that the link names before the users (`is_early`). `found` is a file with the first
    digest near the link, if no debug information says which header was included.
    """

    model: str
    users: tuple[str, ...]
    digest: str
    header: str = ""
    code: tuple[str, ...] = ()
    code_digest: str = ""
    code_header: str = ""
    found: str = ""

    @property
    def is_early(self) -> bool:
        """Whether a linker had passed the code before anything asked for it."""
        return self.code_digest == self.digest

    @property
    def fact(self) -> str:
        """The fault in one sentence: which header is stale or foreign, and which code is linked."""
        name = self.model
        if self.is_early:
            return f"{_listed(self.users)} uses the model {name}, and its code ({_listed(self.code)}) comes earlier in the link"
        included = f"{_listed(self.users)} includes {self.header or f'a {name}.h'} (digest {self.digest})"
        if not self.code:
            return f"{included}, but no code of the model {name} is linked"
        if not self.code_digest:
            return f"{included}, but what is linked as {name} ({_listed(self.code)}) was compiled without any {name}.h"
        return (
            f"{included}, but the {name}.c that is linked ({_listed(self.code)}) belongs to "
            f"{self.code_header or f'a {name}.h'} (digest {self.code_digest}): "
            f"the first header is out of date, or of another model called {name}{f' ({self.found})' if self.found else ''}"
        )

    @property
    def hint(self) -> str:
        """The remedy."""
        name = self.model
        if self.is_early:
            return "put the archive after the objects that use it: a linker takes of it only what was asked for before"
        if not self.code:
            return f"link the {name}.c and {name}_weights.c in the folder of that header"
        if not self.code_digest:
            return f"include {name}.h there, too, or link the generated {name}.c"
        right = self.code_header or f"the {name}.h in the folder of the linked {name}.c"
        return f"let {right} be the only {name}.h in the include folders (-I) of {_listed(self.users)}, and compile it again"

    def as_json(self) -> dict:
        """The same for programs."""
        return {
            "model": self.model,
            "users": list(self.users),
            "digest": self.digest,
            "header": self.header or self.found or None,
            "code": list(self.code),
            "code_digest": self.code_digest or None,
            "code_header": self.code_header or None,
        }


def second_names(undefined: Iterable[Undefined]) -> dict[str, tuple[str, str]]:
    """Returns the undefined symbols that a model's header asks for -> (first name, digest)."""
    splits = {one.symbol: split_second_name(one.symbol) for one in undefined}
    return {symbol: split for symbol, split in splits.items() if split and model_of_symbol(split[0])}


@dataclass(frozen=True)
class Evidence:
    """The facts from a program that was linked in spite of its undefined symbols, with the linker also asked for their first
    names: its symbols, the linker's cross references, and the sources that its debug information names."""

    defined: Container[str]
    references: Mapping[str, Sequence[str]]
    compiled: Sequence[CompiledFile]

    def code_of(self, model: str) -> list[CompiledFile]:
        """The generated file of a model, as far as debug information names it."""
        return [one for one in self.compiled if one.name in (f"{model}.c", f"{model}.cpp")]


def wrong_headers(undefined: Sequence[Undefined], evidence: Evidence) -> tuple[WrongHeader, ...]:
    """Returns each header that does not belong to the program, once."""
    groups: dict[tuple[str, str], list[str]] = {}
    for first, digest in second_names(undefined).values():
        groups.setdefault((model_of_symbol(first), digest), []).append(first)
    return tuple(_wrong_header(model, digest, firsts, undefined, evidence) for (model, digest), firsts in sorted(groups.items()))


def _wrong_header(
    model: str, digest: str, firsts: Sequence[str], undefined: Sequence[Undefined], evidence: Evidence
) -> WrongHeader:
    asked = {second_name(first, digest) for first in firsts}
    sources = _source_names(source for one in undefined if one.symbol in asked for source in one.sources)
    wrong = _with_users(model, digest, sources, evidence)
    linked = [first for first in firsts if first in evidence.defined]
    if not linked:
        return wrong
    # The last file that the table names: of link-time optimisation the first one is the optimiser's own.
    code = dict.fromkeys(evidence.references[first][-1] for first in linked if evidence.references.get(first))
    wrong = replace(wrong, code=tuple(code) or ("the program",))
    if any(code.keys() & set(evidence.references.get(name, ())) for name in asked):
        return replace(wrong, code_digest=digest)
    return _with_other_digest(wrong, linked, evidence)


def _with_other_digest(wrong: WrongHeader, linked: Sequence[str], evidence: Evidence) -> WrongHeader:
    """The header that the linked code belongs to, if the program names its digest."""
    splits = filter(None, map(split_second_name, sorted(evidence.references)))
    others = [split[1] for split in splits if split[0] in linked and split[1] != wrong.digest]
    if not others:
        return wrong
    folders = [posixpath.dirname(one.path) or "." for one in evidence.code_of(wrong.model)]
    headers = [posixpath.join(folder, f"{wrong.model}.h") for folder in folders]  # generated code includes the one in its folder
    return replace(wrong, code_digest=others[0], code_header=headers[0] if headers else "")


def _with_users(model: str, digest: str, sources: set[str], evidence: Evidence) -> WrongHeader:
    """The sources that ask for the model's second names and the header that they include."""
    code = evidence.code_of(model)
    including = [one for one in evidence.compiled if one not in code and one.included_as(f"{model}.h")]
    # The optimiser of whole programs calls its one source file so.
    users = sorted(sources - {"<artificial>"}) or sorted({one.name for one in including})
    headers = [one.included_as(f"{model}.h") for one in including if one.name in users]
    return WrongHeader(model, tuple(users), digest, headers[0] if headers else "")


def _source_names(paths: Iterable[str]) -> set[str]:
    """Returns file names; an object only if its source is not among them (a linker knows no source of a reference from data)."""
    names = {path.replace("\\", "/").rpartition("/")[2] for path in paths}
    objects = {name for name in names if name.endswith((".o", ".obj"))}
    known = {name.rpartition(".")[0] for name in names - objects} | (names - objects)  # main.o, or main.c.o as CMake has it
    return {name for name in names if name not in objects or name.rpartition(".")[0] not in known}


def _listed(names: Sequence[str]) -> str:
    """Returns `main.c`, or `main.c and 2 others`."""
    others = len(names) - 1
    return (names[0] if names else "the program") + (f" and {counted(others, 'other')}" if others > 0 else "")
