# SPDX-License-Identifier: MIT
"""Objects that a linker cannot link together because they were compiled for another core or pass floats in another way."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

from aidge_build.prove.elf.findings import some_of

# GNU ld: "error: a.elf uses VFP register arguments, kws.o does not"; LLVM's: "error: kws.o: incompatible Tag_ABI_VFP_args".
_GNU_FLOATS = re.compile(r"error: (.+) uses VFP register arguments, (.+) does not$", re.MULTILINE)
_LLVM_FLOATS = re.compile(r"error: (.+): incompatible Tag_ABI_VFP_args$", re.MULTILINE)
# "error: kws.o: conflicting CPU architectures 13/1", "... conflicting architecture profiles A/M".
_CORES = re.compile(r"error: (.+): conflicting (?:CPU architectures|architecture profiles) \S+$", re.MULTILINE)
_BY_FPU, _BY_CORE = "passes floats in registers of the FPU", "passes floats in registers of the core"
_SHOWN = 4


@dataclass(frozen=True)
class OtherAbi:
    """Files that were compiled for another ABI than the files `before` them in the link; `how` says the difference."""

    files: tuple[str, ...]
    how: str
    before: tuple[str, ...] = ()

    @property
    def fact(self) -> str:
        """One sentence about the files."""
        return f"{some_of(self.files, _SHOWN)}: {self.how}{f' ({some_of(self.before, _SHOWN)})' if self.before else ''}"

    @property
    def hint(self) -> str:
        """The remedy."""
        return (
            "compile and link everything with the same -mcpu, -mfpu and -mfloat-abi: in CMake in the toolchain file or before "
            "aidge_add_model, not for one target; in SCons in CCFLAGS and LINKFLAGS of one environment"
        )

    def as_json(self) -> dict:
        """Returns the fields for JSON output."""
        return {"files": list(self.files), "how": self.how, "before": list(self.before)}


def read_other_abis(messages: str, output: str, linked: Sequence[str] = ()) -> tuple[OtherAbi, ...]:
    """Returns the files with another ABI in a linker's messages, by the difference; `output` is the program that the messages
    compare with, `linked` the objects and archives in the order of the link, if it is known."""
    found: dict[str, dict[str, None]] = {}
    for file, how in _differing(messages, output):
        found.setdefault(how, {})[file] = None
    return tuple(OtherAbi(tuple(files), how, _before(files, linked)) for how, files in sorted(found.items()))


def _before(files: Iterable[str], linked: Sequence[str]) -> tuple[str, ...]:
    """Returns the files of the link before the first one of `files`, without the start-up files that the compiler chose by its
    flags."""
    named = {file.partition("(")[0] for file in files}
    before = takewhile(lambda file: file not in named, linked)
    return tuple(file for file in before if not posixpath.basename(file).startswith("crt"))


def _differing(messages: str, output: str) -> Iterator[tuple[str, str]]:
    for with_fpu, without in _GNU_FLOATS.findall(messages):
        if with_fpu == output:
            yield without, f"{_BY_CORE}, the files before it in the link in those of the FPU"
        else:
            yield with_fpu, f"{_BY_FPU}, the files before it in the link in those of the core"
    for file in _LLVM_FLOATS.findall(messages):
        yield file, "passes floats otherwise than the files before it in the link"
    for file in _CORES.findall(messages):
        yield file, "is for another core than the files before it in the link"
