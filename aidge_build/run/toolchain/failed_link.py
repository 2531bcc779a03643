# SPDX-License-Identifier: MIT
"""Finds out why a link failed: too little memory, a header that does not belong to the linked model, a missing library of a
model's code, or files compiled with other flags. Links once more, forces the linker to write the program, and reads that program.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from aidge_build.base.errors import AidgeError
from aidge_build.base.naming import model_of_code
from aidge_build.base.reading import LARGEST_TEXT_BYTES, read_regular
from aidge_build.measure.report.missing_library import MissingLibrary, missing_libraries
from aidge_build.measure.report.overflow import TooSmall, explain_overflow, listed
from aidge_build.measure.report.wrong_header import Evidence, WrongHeader, second_names, wrong_headers
from aidge_build.prove.elf.claim import Claim
from aidge_build.prove.elf.claims import read_claims
from aidge_build.prove.elf.copies import Copies, copies_in_map, copies_in_messages
from aidge_build.prove.elf.debug_info import compiled_files
from aidge_build.prove.elf.image import Image, read_image
from aidge_build.prove.elf.link_map import loaded_files, read_memories, undeclared_memories
from aidge_build.prove.elf.other_abi import OtherAbi, read_other_abis
from aidge_build.prove.elf.overflow import read_overflows
from aidge_build.prove.elf.undefined import Undefined, read_cross_references, read_undefined
from aidge_build.run.toolchain.environment import of_tools
from aidge_build.run.toolchain.link_words import expanded, moved_on

_MOST_ENTRIES = 20_000  # of folders that are searched for a header
_MOST_SCRIPTS = 8  # places of a linker script that keep the rest of a memory
_LINKER = re.compile(r"(.*-)?ld(\.\w+)?(\.exe)?")


class TooLarge(AidgeError):
    """A program that does not fit; `missing` are (memory, bytes) of the memories that are too small."""

    missing: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True)
class FailedLink:
    """The causes of a failed link: `memories` are too small, `headers` do not belong to the program, `libraries` are missing for
    a model's code, `undefined` are names that neither headers nor libraries explain, `abis` are the files with other flags,
    `copies` the models that the link has several times, `undeclared` the memories that the linker script uses and does not
    declare."""

    memories: tuple[TooSmall, ...]
    headers: tuple[WrongHeader, ...]
    libraries: tuple[MissingLibrary, ...] = ()
    undefined: tuple[Undefined, ...] = ()
    abis: tuple[OtherAbi, ...] = ()
    copies: tuple[Copies, ...] = ()
    undeclared: tuple[str, ...] = ()

    @property
    def is_explained(self) -> bool:
        """Whether there is more to say than the linker did about its failure."""
        return bool(self.memories or self.headers or self.libraries or self.abis or self.twice)

    @property
    def twice(self) -> tuple[Copies, ...]:
        """The models that the linker refused to link twice."""
        return tuple(one for one in self.copies if not one.is_linked)


@dataclass(frozen=True)
class _Attempt:
    """The results of another run of the link: messages, and a map and a program if the linker got that far."""

    messages: str
    link_map: str
    elf: Path
    image: Image | None


def diagnose(command: Sequence[str]) -> FailedLink:
    """Runs the command of a link again, so that nothing of its output is touched.

    `--noinhibit-exec` makes the linker write the program although it is wrong. The program then shows every object, also objects
    from archives and of link-time optimisation, with any linker script.
    """
    command = expanded(command)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        attempt = _attempt(command, Path(name), [])
        for _ in range(_MOST_SCRIPTS if attempt.image is None else 0):
            changed = moved_on(command, attempt.messages, Path(name))
            if changed is None:
                break
            command, attempt = changed, _attempt(changed, Path(name), [])
        undefined = read_undefined(attempt.messages)
        abis = read_other_abis(attempt.messages, str(attempt.elf), loaded_files(attempt.link_map))
        # An archive gives the model's code only to who asks for a name that it has.
        firsts = sorted({first for first, _ in second_names(undefined).values()})
        if firsts:
            attempt = _attempt(command, Path(name), [word for first in firsts for word in ("-u", first)])
        headers = _wrong_headers(attempt, undefined) if firsts else ()
        libraries = missing_libraries(undefined, _models(attempt))
        explained = {*(second_names(undefined) if headers else ()), *(name for one in libraries for name in one.symbols)}
        rest = tuple(one for one in undefined if one.symbol not in explained)
        undeclared = undeclared_memories(attempt.link_map)
        return FailedLink(_too_small(attempt, command), headers, libraries, rest, abis, _copies(attempt), undeclared)


def complaints(command: Sequence[str]) -> tuple[str, ...]:
    """Returns the linker's errors without its warnings, () if the link passes. Runs the command with another output."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        result = _run([*expanded(command), *_for_linker(command, [f"-Map={folder / 'map'}"]), "-o", str(folder / "program")])
    lines = [line.strip() for line in (result.stderr + result.stdout).splitlines()]
    # gcc says at the end that the linker failed.
    told = [line for line in lines if line and "warning:" not in line and not line.startswith("collect2")]
    return tuple(told or [f"{command[0]} ended with {result.returncode}"]) if result.returncode else ()


def _attempt(command: Sequence[str], folder: Path, more: Sequence[str]) -> _Attempt:
    elf, link_map = folder / "program", folder / "map"
    options = _for_linker(command, ["--noinhibit-exec", f"-Map={link_map}", "--cref", *more])
    result = _run([*command, *options, "-o", str(elf)])
    messages = result.stderr + result.stdout
    try:
        return _Attempt(messages, link_map.read_text(errors="replace"), elf, read_image(elf))
    except (AidgeError, OSError):
        return _Attempt(messages, "", elf, None)


def _for_linker(command: Sequence[str], options: Sequence[str]) -> list[str]:
    """The options as the program of `command` passes them on; the last ones of several -o and -Map count."""
    if _LINKER.fullmatch(Path(command[0]).name):
        return list(options)
    return [word for option in options for word in ("-Xlinker", option)]


def _run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(command, capture_output=True, text=True, errors="replace", env=of_tools())
    except OSError as error:
        raise AidgeError(f"cannot be run: {error.strerror}", where=command[0], code="LINK") from error


def _models(attempt: _Attempt) -> set[str]:
    """The models with code in the program; the claim is in the file of the weights, which may not be linked."""
    of_code = {model_of_code(symbol.name) for symbol in attempt.image.symbols} if attempt.image else set()
    return (of_code - {""}) | {claim.model for claim in _claims(attempt)}


def _claims(attempt: _Attempt) -> Sequence[Claim]:
    try:
        return read_claims(attempt.image) if attempt.image else ()
    except AidgeError:
        return ()


def _copies(attempt: _Attempt) -> tuple[Copies, ...]:
    claims, link_map = _claims(attempt), attempt.link_map
    return copies_in_messages(attempt.messages, link_map, claims) or copies_in_map(link_map, claims, Path.cwd())


def _too_small(attempt: _Attempt, command: Sequence[str]) -> tuple[TooSmall, ...]:
    overflows = read_overflows(attempt.messages)
    claims = _claims(attempt)
    if attempt.image is None:
        return tuple(TooSmall(overflow.region, overflow.missing_bytes) for overflow in overflows)
    memories = read_memories(attempt.link_map)
    return tuple(explain_overflow(attempt.image, claims, memories, overflow, command) for overflow in overflows)


def _wrong_headers(attempt: _Attempt, undefined: Sequence[Undefined]) -> tuple[WrongHeader, ...]:
    defined = attempt.image.by_name if attempt.image else {}
    evidence = Evidence(defined, read_cross_references(attempt.link_map), compiled_files(attempt.elf))
    return tuple(_with_paths(wrong) for wrong in wrong_headers(undefined, evidence))


def _with_paths(wrong: WrongHeader) -> WrongHeader:
    """The same with the paths that no debug information told, of headers near the link that have these digests."""
    if not wrong.code_digest or wrong.header and wrong.code_header:
        return wrong
    found = _header_files(wrong.model, {wrong.digest, wrong.code_digest})
    code_header = wrong.code_header or found.get(wrong.code_digest, "")
    return replace(wrong, code_header=code_header, found="" if wrong.header else found.get(wrong.digest, ""))


def _header_files(model: str, digests: Collection[str]) -> dict[str, str]:
    """Returns digest -> path of a header of `model` below this folder, or below its parent, because a build may run in a
    subfolder."""
    found: dict[str, str] = {}
    entries = 0
    for root in (".", ".."):
        for folder, names, files in os.walk(root):
            names[:] = sorted(name for name in names if not name.startswith("."))
            entries += len(names) + len(files)
            if entries > _MOST_ENTRIES or len(found) == len(digests):
                return found
            if f"{model}.h" in files:
                path = os.path.normpath(os.path.join(folder, f"{model}.h"))
                text = read_regular(Path(path), LARGEST_TEXT_BYTES).decode("utf-8", "replace")
                for digest in digests:
                    if f"HEADER_{digest}" in text:
                        found.setdefault(digest, path)
    return found


def as_error(failed: FailedLink, where: str) -> AidgeError:
    """Returns an error of one line: the causes, for memories also the largest objects in each, and the remedies."""
    wrong: tuple[WrongHeader | MissingLibrary, ...] = (*failed.headers, *failed.libraries)
    facts = [one.fact for one in wrong]
    if failed.memories:
        facts.append(f"the program does not fit: {', '.join(memory.fact for memory in failed.memories)}")
    facts += [f"Largest in {memory.memory}: {listed(memory.largest)}" for memory in failed.memories if memory.largest]
    hints = dict.fromkeys([one.hint for one in wrong] + [hint for memory in failed.memories for hint in memory.hints])
    what, hint = ". ".join(facts), "; ".join(hints) or "a smaller model, a board with more memory, or less stack and buffers"
    if wrong:
        return AidgeError(what, where=where, hint=hint, code="LINK_HEADER" if failed.headers else "LINK_LIBRARY")
    error = TooLarge(what, where=where, hint=hint, code="LINK_OVERFLOW")
    error.missing = tuple((memory.memory, memory.missing_bytes) for memory in failed.memories)
    return error
