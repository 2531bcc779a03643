# SPDX-License-Identifier: MIT
"""Cores: what a processor can do, and the tools that know it, read from one TOML file and the files that it extends."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from aidge_build.base.errors import AidgeError
from aidge_build.base.settings import BASES, CODE, check_keys, find, guess, names_in, read_chain, read_settings, searched
from aidge_build.boards.instruction_sets import InstructionSet, instruction_set
from aidge_build.boards.unaligned import UnalignedAccess, unaligned_access

# Added to the features of a core: the build takes no inline assembly, so kernels use C and intrinsics.
NO_ASSEMBLY = "no assembly"
ASSEMBLY = "assembly"  # what is left out then
WIDE_POINTERS = "64-bit pointers"  # added to the features, too: kernels that keep pointers in scratch ask for more
# Added to the features of a core: SMLAL takes at least twice the cycles of MLA, so that kernels do without it.
SLOW_LONG_PRODUCTS = "slow long products"
# Added to the features of a core with vectors: instructions overlap in time, so that others between them pay.
OVERLAPPING = "overlapping instructions"
# Added to the features of a core: a word at an address that is no multiple of 4 is a fault of the core or of its memory.
ALIGNED_ONLY = "aligned access only"
UNALIGNED = "unaligned access"  # what is left out then
FPU, MVE = "fpu", "mve"
RV32M = "rv32m"  # products of RISC-V
RV32E = "rv32e"  # a core with 16 registers: a board does not choose it
_ABI_OF_16_REGISTERS = "ilp32e"  # code for 16 registers keeps it on every core
FPU_NAME = re.compile(r"fpv(\d)(-sp)?-d16")  # gcc's: the version of the instructions, and whether in single precision alone
NO_FPU = "none"  # instead of the name of an FPU: the flags use none, whatever the board has
PREFIX_VARIABLE = "AIDGE_TOOLCHAIN_PREFIX"
FOLDER = "cores"  # in a folder of boards
_MARCH = "-march="
FLAG_WORDS = ("cpu", "fpu", "float_abi")  # what `flags` may name: keys of the board
THUMB, RISCV, NO_STACK = "thumb", "riscv", "none"  # how the bound of the stack is found in the code of a program

# Every key of a core's file with the type that TOML gives it; boards/README.md explains each.
_KEYS = {
    "extends": str,
    "features": list,
    "may_have": list,
    "known_features": dict,
    "extensions": dict,
    "cache_line": int,
    "pointer_bytes": int,
    "architecture": str,
    "runs": list,
    "later_than": list,
    "machines": list,
    "native": bool,
    "portable": bool,
    "stack": str,
    "calls": str,
    "toolchain": str,
    "packages": list,
    "objdump_packages": list,
    "flags": list,
    "defines": str,
    "clang_target": str,
    "like_library": list,
    "qemu": str,
    "qemu_packages": list,
    "qemu_flags": list,
    "unicorn": str,
    "timing": str,
    "single_fpu": str,
    "slow_long_products": bool,
    "unaligned": dict,
    "compiler_faults": dict,
}
_FEATURE_KEYS = {"title": str, "implies": list, "off": str, "on": str, "macro": str}
_TABLES = ("known_features", "extensions", "compiler_faults")
_TEXTS = ("architecture", "calls", "toolchain", "defines", "clang_target", "qemu", "unicorn", "timing", "single_fpu")
_LISTS = ("machines", "packages", "objdump_packages", "flags", "like_library", "qemu_packages", "qemu_flags")
_SETS_OF_FEATURES = ("features", "may_have")
_SETS = (*_SETS_OF_FEATURES, "runs", "later_than")
_CHOICES = {"stack": (THUMB, RISCV, NO_STACK), "calls": (THUMB, RISCV)}
_REQUIRED = {"machines": '["RISCV"], as readelf -h calls the machine', "toolchain": '"riscv64-unknown-elf-"'}


@dataclass(frozen=True)
class Feature:
    """A feature of a core that kernels may use: its name for people, the features that it implies, the compiler's flags without
    and with it ("" if the core's name alone says it), and the preprocessor condition that tells C of it."""

    title: str
    implies: frozenset[str] = frozenset()
    off: str = ""
    on: str = ""
    macro: str = ""


@dataclass(frozen=True)
class LeftOut:
    """A feature of the core that a build does not use: the flag that says so, and the hint for chips that have the feature."""

    flag: str
    help: str


@dataclass(frozen=True)
class Core:
    """A core, or an instruction set where that is all that one needs to know. `boards/README.md` explains the fields.

    `cpu` is its name, with a + before each word that leaves features out (`cortex-m33+nodsp`; `said` are the words);
    `extensions` maps each word to these features. An FPU is in `may_have`, as most cores are built with and without.
    `machines` are ELF's names, `architecture` is the architecture's name in ELF's build attributes, `runs` are the
    architectures that it executes, `later_than` are the cores of this architecture that do not execute all programs for it.
    `single_fpu` is the FPU of chips without double precision, if the core's name alone means double precision, "" otherwise.
    `is_portable`: any core, with any tools. `compiler_faults`: a preprocessor condition -> the remark on compilers that fail it.
    `files` holds everything that was read (path -> bytes).
    """

    name: str
    cpu: str
    features: frozenset[str]
    may_have: frozenset[str]
    known_features: Mapping[str, Feature]
    extensions: Mapping[str, frozenset[str]]
    said: tuple[str, ...]
    cache_line: int
    pointer_bytes: int
    has_slow_long_products: bool
    architecture: str
    runs: frozenset[str]
    later_than: frozenset[str]
    machines: tuple[str, ...]
    is_native: bool
    is_portable: bool
    stack: str
    calls: str
    toolchain: str
    packages: tuple[str, ...]
    objdump_packages: tuple[str, ...]
    flags: tuple[str, ...]
    defines: str
    clang_target: str
    like_library: tuple[str, ...]
    qemu: str
    qemu_packages: tuple[str, ...]
    qemu_flags: tuple[str, ...]
    unicorn: str
    timing: str
    single_fpu: str
    unaligned: UnalignedAccess | None
    compiler_faults: Mapping[str, str]
    files: Mapping[str, bytes] = field(repr=False, compare=False)

    @property
    def prefix(self) -> str:
        """The prefix of its tools' names: AIDGE_TOOLCHAIN_PREFIX, or the prefix in its file."""
        return os.environ.get(PREFIX_VARIABLE) or self.toolchain

    @property
    def instruction_set(self) -> InstructionSet | None:
        """The instruction set that its flags name by -march, if it is one of RISC-V."""
        named = [flag.removeprefix(_MARCH) for flag in self.flags if flag.startswith(_MARCH)]
        return instruction_set(named[-1]) if named else None

    def features_with(self, fpu: str = "") -> frozenset[str]:
        """Returns the features that kernels may use; with an FPU if `fpu` names one and the core has not left it out."""
        features = self.features | ({FPU} if fpu not in ("", NO_FPU) else set())
        return features.difference(*(self.extensions[word] for word in self.said))

    @property
    def is_named_to_gcc(self) -> bool:
        """Whether the flags hold the core's name, with the words after it."""
        return any("{cpu}" in flag for flag in self.flags)

    @property
    def possible_features(self) -> frozenset[str]:
        """All that a chip with this core may have, whatever the flags leave out."""
        return self.features | self.may_have

    def with_implied(self, features: frozenset[str]) -> frozenset[str]:
        """Returns the features and all features that they imply."""
        known = self.known_features
        return features.union(*(known[feature].implies for feature in features if feature in known))

    @property
    def lacks_products(self) -> bool:
        """Whether it has no instruction for them, as some RISC-V cores."""
        return RV32M in self.known_features and RV32M not in self.features

    def left_out(self, features: frozenset[str]) -> dict[str, LeftOut]:
        """Returns, by name, the features that a core of this name may have and that `features` lacks."""
        found = {feature: self._left_out(feature) for feature in sorted(self.possible_features - features)}
        if NO_ASSEMBLY in features:
            found[ASSEMBLY] = LeftOut("--assembly off", "with --assembly on they take the faster kernels")
        if self.unaligned and ALIGNED_ONLY in features:
            found[UNALIGNED] = LeftOut(
                f"--unaligned off ({self.unaligned.off})",
                f"with {self.unaligned.on} they take the faster kernels, "
                "if the memory is Normal and unaligned access does not trap",
            )
        return found

    def _left_out(self, feature: str) -> LeftOut:
        known = self.known_features[feature]
        where_there = f"they take the faster kernels, if the chip has {known.title}"
        said = next((word for word in self.said if feature in self.extensions[word]), "")
        if said:
            option = "-mcpu=" if self.is_named_to_gcc else "--cpu "
            return LeftOut(f"{option}{self.name}+{said}", f"without +{said} {where_there}")
        if known.off:
            return LeftOut(known.off, f"with {known.on} {where_there}")
        return LeftOut(f"features without {feature}", f'with features = ["{feature}"] {where_there}')


def list_cores(folders: Sequence[Path] = ()) -> tuple[str, ...]:
    """The names of all cores in the folders `cores` of `folders`, and of the built-in ones, sorted."""
    return names_in(searched(folders, FOLDER))


def find_core(cpu: str, folders: Sequence[Path] = ()) -> Core | None:
    """Returns the core of a name such as `cortex-m33+nodsp`, or of an -march of RISC-V such as `rv32imac_zba+ilp32`; None if
    there is none. `folders` are folders of boards.

    Raises AidgeError (BOARD) if its file is wrong, and (USAGE) for a word after a + that the core does not know.
    """
    name, *said = cpu.split("+")
    march = instruction_set(name)
    core = (_read(name, folders) if folders else _built_in(name)) or (_of_instruction_set(march, folders) if march else None)
    if core and _ABI_OF_16_REGISTERS in said:
        core = _with_16_registers(core, march or core.instruction_set, folders)
    if core is None or core.is_portable or not said:
        return core
    for word in said:
        if word not in core.extensions:
            raise AidgeError(
                f"unknown extension {word!r} of the core", where=f"--cpu {cpu}", tried=sorted(core.extensions), code="USAGE"
            )
    if not core.is_named_to_gcc:
        said = [word for word in said if core.extensions[word]]
    return replace(core, cpu="+".join([core.name, *said]), said=tuple(said))


def _of_instruction_set(wanted: InstructionSet, folders: Sequence[Path]) -> Core | None:
    """Returns the core with the most features, and then extensions, among the cores with no other instructions, and of several
    one without times of its own; the portable core if there is none. Its `files` are the files of all cores: a change of any of
    them may change the choice."""
    cores = all_cores(folders)
    found = [(core, own) for core in cores for own in [core.instruction_set] if own and wanted.contains(own)]
    best = max(found, key=lambda one: (len(one[0].features), len(one[1].extensions), not one[0].timing), default=(None, None))
    chosen = best[0] or next((core for core in cores if core.is_portable), None)
    files = {path: data for core in (chosen, *cores) if core for path, data in core.files.items()}
    return chosen and replace(chosen, files=files)


def _with_16_registers(core: Core, own: InstructionSet | None, folders: Sequence[Path]) -> Core:
    """Returns the core with 16 registers that has the most of these instructions; `core` if that one has no kernels."""
    few = _of_instruction_set(own.with_16_registers, folders) if own else None
    return few if few and few.features > {RV32E} else core


def load_core(cpu: str, folders: Sequence[Path] = ()) -> Core:
    """Returns the core that a user names; AidgeError (USAGE) for an unknown core lists the known cores."""
    core = find_core(cpu, folders)
    if core is None:
        raise AidgeError(f"unknown core {cpu.split('+')[0]!r}", where="--cpu", tried=list_cores(folders), code="USAGE")
    return core


def all_cores(folders: Sequence[Path] = ()) -> tuple[Core, ...]:
    """Every core, by name."""
    return tuple(core for core in (find_core(name, folders) for name in list_cores(folders)) if core)


def core_of_machine(machine: str, folders: Sequence[Path] = ()) -> Core | None:
    """Returns a core with this ELF machine name ("ARM"): such cores share toolchain and disassembler; None if no file has it."""
    return next((core for core in all_cores(folders) if machine in core.machines), None)


def runs_code_of(architecture: str, of: str, folders: Sequence[Path] = ()) -> bool:
    """Whether a core of `architecture` has all instructions of another one's code."""
    return any(core.architecture == architecture and of in core.runs for core in all_cores(folders))


def with_overlaps(features: frozenset[str], overlaps: bool) -> frozenset[str]:
    """Returns the features with OVERLAPPING if instructions of the core overlap: only kernels of vectors ask for it."""
    return features | {OVERLAPPING} if overlaps and "mve" in features else features


def of_instructions(features: Collection[str]) -> frozenset[str]:
    """Returns the features that say which instructions there are. Tables of instruction counts depend on these alone: the time
    of a product changes which kernels are chosen, but none of their counts."""
    return frozenset(features) - {SLOW_LONG_PRODUCTS, OVERLAPPING, ALIGNED_ONLY}


@cache
def known_features() -> tuple[str, ...]:
    """The features that the built-in cores may have."""
    return tuple(sorted({feature for core in all_cores() for feature in core.known_features}))


@cache
def _built_in(name: str) -> Core | None:
    return _read(name, ())


def _read(name: str, folders: Sequence[Path]) -> Core | None:
    places = searched(folders, FOLDER)
    path = find(name, places, bases=False)
    if path is None:
        return None
    files: dict[str, bytes] = {}

    def base(wanted: str, where: str) -> Path:
        found = find(wanted, places, bases=True)
        if found is None:
            names = (*names_in(places), *names_in([place / BASES for place in places]))
            raise AidgeError(
                f"there is no core '{wanted}'", where=where, hint=f"{guess(wanted, names)}Cores: {', '.join(names)}", code=CODE
            )
        return found

    settings = read_chain(path, "cores", _TABLES, lambda one: read_settings(one, _KEYS, files), base)
    return _core(name, str(path), settings, files)


def _core(name: str, where: str, settings: dict, files: dict[str, bytes]) -> Core:
    tables, extensions, faults = (settings.get(key, {}) for key in _TABLES)
    known = {word: _feature(table, f"{where}: known_features.{word}") for word, table in tables.items()}
    check_keys(extensions, dict.fromkeys(extensions, list), f"{where}: extensions")
    check_keys(faults, dict.fromkeys(faults, str), f"{where}: compiler_faults")
    _check_words(where, settings, known, extensions)
    if "timing" in settings and settings.get("stack") not in (THUMB, RISCV):
        raise AidgeError(
            "key 'timing': only code of Thumb and RISC-V is read",
            where=where,
            code=CODE,
            hint='leave it out, or say how the code is read: stack = "riscv"',
        )
    plain: dict[str, Any] = {key: settings.get(key, "") for key in _TEXTS}
    plain |= {key: tuple(settings.get(key, [])) for key in _LISTS}
    plain |= {key: frozenset(settings.get(key, [])) for key in _SETS}
    return Core(
        name=name,
        cpu=name,
        known_features=MappingProxyType(known),
        extensions=MappingProxyType({word: frozenset(removed) for word, removed in extensions.items()}),
        said=(),
        cache_line=settings.get("cache_line", 0),
        pointer_bytes=settings.get("pointer_bytes", 4),
        has_slow_long_products=settings.get("slow_long_products", False),
        is_native=settings.get("native", False),
        is_portable=settings.get("portable", False),
        stack=settings.get("stack", NO_STACK),
        unaligned=unaligned_access(settings["unaligned"], f"{where}: unaligned") if "unaligned" in settings else None,
        compiler_faults=MappingProxyType(faults),
        files=MappingProxyType(dict(sorted(files.items()))),
        **plain,
    )


def _feature(table: object, where: str) -> Feature:
    check_keys(table, _FEATURE_KEYS, where)
    assert isinstance(table, dict)
    if not table.get("title"):
        raise AidgeError("key 'title' is missing", where=where, hint='title = "DSP instructions"', code=CODE)
    texts = (table.get(key, "") for key in ("off", "on", "macro"))
    return Feature(table["title"], frozenset(table.get("implies", [])), *texts)


def _check_words(where: str, settings: dict, known: Mapping[str, Feature], extensions: Mapping[str, Sequence[str]]) -> None:
    """Raises AidgeError for a word that its key does not allow, and for a missing key."""
    asked: list[tuple[str, Sequence[str], Collection[str]]]
    asked = [(key, settings.get(key, []), known) for key in _SETS_OF_FEATURES]
    asked += [(f"extensions.{word}", removed, known) for word, removed in extensions.items()]
    asked += [(f"known_features.{word}.implies", sorted(feature.implies), known) for word, feature in known.items()]
    asked += [(key, [settings[key]], valid) for key, valid in _CHOICES.items() if key in settings]
    asked += [("flags", re.findall(r"\{(.*?)\}", flag), FLAG_WORDS) for flag in settings.get("flags", [])]
    for key, words, valid in asked:
        for word in words:
            if word not in valid:
                raise AidgeError(
                    f"key '{key}': '{word}' is not valid", where=where, hint=f"valid: {', '.join(valid) or 'none'}", code=CODE
                )
    if not settings.get("native") and not settings.get("portable"):
        for key, example in _REQUIRED.items():
            if not settings.get(key):
                raise AidgeError(f"key '{key}' is missing", where=where, hint=f"{key} = {example}", code=CODE)
