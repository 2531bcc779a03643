# SPDX-License-Identifier: MIT
"""Several copies of a model's files in one link: the copy that is in the program, and the other files that define the model."""

from __future__ import annotations

import os
import posixpath
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from aidge_build.base.errors import AidgeError
from aidge_build.base.reading import open_regular
from aidge_build.prove.elf.claim import Claim
from aidge_build.prove.elf.link_map import loaded_files, places_of

_MEMBER = re.compile(r"(.+\.a)\((.+)\)")
_OPTIMIZED = ".ltrans"  # in the names of the files that link-time optimisation makes
# The first 68 bytes of an archive: its own 8, then the head of its index, with the size in decimal.
_INDEX = re.compile(rb"!<(?:arch|thin)>\n/ .{46}(\d+) *`\n", re.DOTALL)
# GNU ld: "ld: kws.o: in function `kws_run':" and "kws.c:(.text+0x0): multiple definition of `kws_run'; old.o:...: first defined
# here", or all of it in one line "ld: kws.o:(.rodata+0x0): multiple definition of ...".
_WITHIN = re.compile(r"^(?:\S*ld(?:\.\w+)?(?:\.exe)?: )?(?P<file>\S.*?\.o(?:bj)?\)?):")


@dataclass(frozen=True)
class Copies:
    """The copies of one model: `linked` are the files, archive members or sources that the program's code and constants of
    `model` come from; `others` are the other files that define the model. `is_linked`: the linker chose among them; otherwise it
    refused to link."""

    model: str
    linked: tuple[str, ...]
    others: tuple[str, ...]
    is_linked: bool = True

    @property
    def fact(self) -> str:
        """One sentence that says which copy is in the program."""
        linked, others = " and ".join(self.linked), " and ".join(self.others)
        if self.is_linked:
            return f"the {self.model} of this program comes from {linked}, not from {others}"
        if self.linked == self.others:
            why = "two sources of one name have one object file, or a list names it twice"
            return f"the model {self.model} is linked twice, from {linked} both times: {why}"
        return f"the model {self.model} is linked twice: from {linked}, and from {others}"

    @property
    def hint(self) -> str:
        """The remedy."""
        files = f"{self.model}.c and {self.model}_weights.c"
        return f"remove one: the build generates and links {files} itself, and your sources need no copy of them"

    def as_json(self) -> dict:
        """Returns the fields for JSON output."""
        return {"model": self.model, "linked": list(self.linked), "others": list(self.others)}


def copies_in_map(
    link_map: str, claims: Sequence[Claim], folder: Path, given: Sequence[Path] = (), sources: Mapping[str, str] | None = None
) -> tuple[Copies, ...]:
    """Returns the models with code or constants from an unexpected file, by the map of GNU ld: an archive in the link also
    defines them, or the file is none of the object files `given`.

    Paths in the map are relative to the folder of the link: the current folder, `folder` or a parent of it. `sources` are the
    source files of symbols, if debug information tells them.
    """
    models = {name: claim.model for claim in claims for name in _names(claim)}
    origins = _origins(link_map, models)
    bases = (Path.cwd(), folder.absolute(), *folder.absolute().parents)
    archives = _archives(link_map, bases) if origins else {}
    linked, unused = defaultdict[str, list[str]](list), defaultdict[str, list[str]](list)
    for name, file in origins.items():
        others = [archive for archive, index in archives.items() if name in index and not file.startswith(f"{archive}(")]
        if _is_foreign(file, given, bases, others):
            linked[models[name]].append((sources or {}).get(name, file))
            unused[models[name]] += others
    left = [str(path) for path in given if not any(_is_same(file, path, bases, False) for file in origins.values())]
    return tuple(
        Copies(model, tuple(dict.fromkeys(linked[model])), tuple(dict.fromkeys(unused[model] or left)))
        for model in sorted(linked)
    )


def _is_foreign(file: str, given: Sequence[Path], bases: Sequence[Path], others: Sequence[str]) -> bool:
    """Whether a file of the program is none of the `given` objects; without objects, whether `others` define the same symbol."""
    if not given:
        return bool(others)
    return not any(_is_same(file, path, bases, bool(others)) for path in given)


def copies_of_sources(claims: Sequence[Claim], sources: Mapping[str, str], generated: Mapping[str, Path]) -> tuple[Copies, ...]:
    """Returns the models with code or constants that were not compiled from the `generated` files. `sources` are the source files
    of symbols by debug information. It serves programs without a map, and objects of the same name."""
    found = []
    for claim in claims:
        paths = [Path(sources[name]) for name in _names(claim) if name in sources]
        pairs = [(path, generated[claim.model] / path.name) for path in paths if claim.model in generated]
        foreign = dict.fromkeys(
            (str(path), str(own)) for path, own in pairs if path.is_file() and own.is_file() and not path.samefile(own)
        )
        if foreign:
            linked, others = zip(*foreign, strict=True)
            found.append(Copies(claim.model, linked, others))
    return tuple(found)


def copies_in_messages(messages: str, link_map: str, claims: Iterable[Claim]) -> tuple[Copies, ...]:
    """Returns the models that a linker refused to link twice, by its messages; the map names the files that it met first."""
    twice = [*_twice(messages)]
    found = []
    for claim in claims:
        own, start = _names(claim), f"aidge_{claim.model}__"
        of_model = {symbol: file for symbol, file in twice if symbol in own or symbol.startswith(start)}
        again = dict.fromkeys(of_model.values())
        first = dict.fromkeys(_origins(link_map, of_model).values())
        # If two copies of a model define no common symbol, only their claims collide; files of one name are then the first copy.
        first = first or dict.fromkeys(file for file in loaded_files(link_map) if _name_of(file) in map(_name_of, again))
        if again:
            found.append(Copies(claim.model, tuple(first), tuple(again), is_linked=False))
    return tuple(found)


def _name_of(file: str) -> str:
    return posixpath.basename(file.rpartition("(")[2].rstrip(")"))


def _twice(messages: str) -> Iterator[tuple[str, str]]:
    """Yields each symbol that a file defines again, with the file."""
    file = ""
    for line in messages.splitlines():
        place, _, name = line.partition("multiple definition of `")
        within = _WITHIN.match(place)
        file = within["file"] if within else file
        if name and file:
            yield name.partition("'")[0], file


def _names(claim: Claim) -> tuple[str, ...]:
    return (*claim.functions, *claim.weights)


def _origins(link_map: str, names: Collection[str]) -> dict[str, str]:
    """Returns the file that each symbol of `names` was linked from; symbols that the map does not list are absent."""
    return {name: file for name, (_, file) in places_of(link_map, names).items() if _OPTIMIZED not in file}


def _found(file: str, bases: Sequence[Path]) -> Path | None:
    return next((base / file for base in bases if (base / file).is_file()), None)


def _is_same(file: str, given: Path, bases: Sequence[Path], is_exact: bool) -> bool:
    """Whether a file of a map is this object. An archive member with its name counts; with `is_exact` only if the archive holds
    the object's bytes."""
    member = _MEMBER.fullmatch(file)
    if member:
        archive = _found(member[1], bases) if is_exact else None
        return member[2] == given.name and (archive is None or given.read_bytes() in archive.read_bytes())
    parts, whole = Path(os.path.normpath(file)).parts, given.resolve()
    return whole.parts[-len(parts) :] == parts or any((base / file).resolve() == whole for base in bases)


def _archives(link_map: str, bases: Sequence[Path]) -> dict[str, frozenset[str]]:
    """Returns the archives of a link with the symbols that they define."""
    return {name: _index_of(_found(name, bases)) for name in loaded_files(link_map) if name.endswith(".a")}


def _index_of(archive: Path | None) -> frozenset[str]:
    """Returns the symbols that an archive defines, by the index in its first member (System V and GNU `ar`)."""
    if archive is None:
        return frozenset()
    try:
        with open_regular(archive) as stream:
            head = _INDEX.fullmatch(stream.read(68))
            if head is None:
                return frozenset()
            index = stream.read(int(head[1]))
    except (AidgeError, OSError):
        return frozenset()
    names = index[4 + 4 * int.from_bytes(index[:4], "big") :]  # after the places of their members
    return frozenset(names.decode(errors="replace").split("\0"))
