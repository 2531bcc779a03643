# SPDX-License-Identifier: MIT
"""Objects that a linker cannot join, since they were compiled for another core or pass floats in another way."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

# GNU ld: "error: a.elf uses VFP register arguments, kws.o does not"; LLVM's: "error: kws.o: incompatible Tag_ABI_VFP_args".
_GNU_FLOATS = re.compile(r"error: (.+) uses VFP register arguments, (.+) does not$", re.MULTILINE)
_LLVM_FLOATS = re.compile(r"error: (.+): incompatible Tag_ABI_VFP_args$", re.MULTILINE)
# "error: kws.o: conflicting CPU architectures 13/1", "... conflicting architecture profiles A/M".
_CORES = re.compile(r"error: (.+): conflicting (?:CPU architectures|architecture profiles) \S+$", re.MULTILINE)
_BY_FPU, _BY_CORE = "passes floats in registers of the FPU", "passes floats in registers of the core"
_SHOWN = 4


@dataclass(frozen=True)
class OtherAbi:
    """Files that were compiled otherwise than the files before them in the link; `how` says in which way."""

    files: tuple[str, ...]
    how: str

    @property
    def fact(self) -> str:
        """One sentence."""
        more = f" and {len(self.files) - _SHOWN} more" if len(self.files) > _SHOWN else ""
        return f"{', '.join(self.files[:_SHOWN])}{more}: {self.how}"

    @property
    def hint(self) -> str:
        """What to do."""
        return (
            "compile and link everything with the same -mcpu, -mfpu and -mfloat-abi: in CMake in the toolchain file or before "
            "aidge_add_model, not for one target; in SCons in CCFLAGS and LINKFLAGS of one environment"
        )

    def as_json(self) -> dict:
        """The same for programs."""
        return {"files": list(self.files), "how": self.how}


def read_other_abis(messages: str, output: str) -> tuple[OtherAbi, ...]:
    """What a linker's messages say, by the way in which files differ; `output` is the program, which they compare with."""
    found: dict[str, dict[str, None]] = {}
    for file, how in _differing(messages, output):
        found.setdefault(how, {})[file] = None
    return tuple(OtherAbi(tuple(files), how) for how, files in sorted(found.items()))


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
