# SPDX-License-Identifier: MIT
"""The programs that read C: cppcheck with its addon for MISRA C:2012, gcc -fanalyzer, clang-tidy."""

from __future__ import annotations

import functools
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path

from tools.static_analysis.findings import Finding
from tools.static_analysis.rules import is_binding
from tools.static_analysis.texts import Core, Text

COMPILERS = {"arm-none-eabi-gcc": "gcc-arm-none-eabi", "riscv64-unknown-elf-gcc": "gcc-riscv64-unknown-elf"}
CHECKS = "-*,bugprone-*,cert-*"
# The C versions of what is assembly otherwise; none of these programs reads assembly. Generated code that refuses this has none.
_WITHOUT_ASSEMBLY = "-DAIDGE_WITHOUT_ASSEMBLY"
_NEEDS_ASSEMBLY = "#if !defined(__GNUC__) || defined(AIDGE_WITHOUT_ASSEMBLY)\n#error"
_FOUND = re.compile(r"^(?P<file>[^\s:]+):(?P<line>\d+):\d+: warning: .*\[(?P<rule>[^\]]+)\]$", re.MULTILINE)
_BROKEN = re.compile(r"^.*(?:fatal )?error: .*$", re.MULTILINE)
_NO_HEADER = re.compile(r"\.h: No such file|\.h' file not found")
_MISRA = re.compile(r"^(?P<file>[^\s:]+):(?P<line>\d+) misra-c2012-(?P<rule>[\d.]+)$", re.MULTILINE)
_CONDITION = re.compile(r"^\s*#\s*(?:if|elif|ifdef|ifndef)\b(.*)$", re.MULTILINE)


class UnreadableText(Exception):
    """It includes a header that is not there."""


def clang_tidy() -> str | None:
    """What it is called on this machine: distributions put its release behind the name."""
    names = ("clang-tidy", *(f"clang-tidy-{release}" for release in range(30, 13, -1)))
    return next((name for name in names if shutil.which(name)), None)


def missing() -> list[str]:
    """Those of the programs that this machine lacks, with the packages that bring them."""
    here = {"cppcheck": shutil.which("cppcheck"), "clang-tidy": clang_tidy()}
    here |= {package: shutil.which(program) for program, package in COMPILERS.items()}
    return [package for package, found in here.items() if found is None]


def misra(text: Text, folder: Path) -> list[Finding]:
    """Findings of mandatory and required rules, in what the text's core sees and in what another one would."""
    path = _written(text, folder)
    found = set()
    for macros in (_macros(text.core, text.text), *([["-DANOTHER_CORE=1"]] if text.of_any_core else [])):
        out = folder / "misra.txt"
        words = ["--addon=misra", "--std=c99", "-q", "--platform=arm32-wchar_t4", "--template={file}:{line} {id}"]
        subprocess.run(["cppcheck", *words, *macros, f"--output-file={out}", str(path)], check=True, stdout=subprocess.DEVNULL)
        found |= {_place(match) for match in _MISRA.finditer(out.read_text(errors="replace")) if is_binding(match["rule"])}
    return _findings("misra", text, found)


def analyzer(text: Text, folder: Path) -> list[Finding]:
    """Findings of gcc's own analyzer."""
    flags = [*text.core.flags, "-std=gnu99", "-O2", "-fanalyzer", "-fkeep-static-functions", *_for_analyzer(text)]
    path = _written(text, folder)
    said = _said(
        [*text.core.gcc, *flags, *_folders(folder), "-fdiagnostics-plain-output", "-S", str(path), "-o", str(folder / "a.s")]
    )
    return _findings("analyzer", text, {_place(match) for match in _FOUND.finditer(said) if "analyzer" in match["rule"]})


def tidy(text: Text, folder: Path) -> list[Finding]:
    """Findings of clang-tidy's bugprone-* and cert-*."""
    # clang takes -munaligned-access only where the core has it; what the code asks for is this macro of gcc's.
    unaligned = ["-D__ARM_FEATURE_UNALIGNED=1"] if "__ARM_FEATURE_UNALIGNED" in _core_macros(text.core) else []
    target = ["-std=gnu99", f"--target={text.core.target}", *text.core.flags, *unaligned]
    target += [*_system_headers(text.core), "-w", *_in_c(text)]
    path = _written(text, folder)
    said = _said([clang_tidy() or "", "--quiet", f"--checks={CHECKS}", str(path), "--", *target, *_folders(folder)])
    return _findings("tidy", text, {_place(match) for match in _FOUND.finditer(said)})


TOOLS: dict[str, Callable[[Text, Path], list[Finding]]] = {"misra": misra, "analyzer": analyzer, "tidy": tidy}
TITLES = {"misra": "cppcheck, MISRA C:2012", "analyzer": "gcc -fanalyzer", "tidy": "clang-tidy bugprone-*, cert-*"}


def _in_c(text: Text) -> list[str]:
    return [] if text.is_assembly or _NEEDS_ASSEMBLY in text.text else [_WITHOUT_ASSEMBLY]


def _for_analyzer(text: Text) -> list[str]:
    """The analyzer does not see what assembly writes."""
    return _in_c(text) or ["-Wno-analyzer-use-of-uninitialized-value"]


def _written(text: Text, folder: Path) -> Path:
    for name, header in text.beside:
        (folder / name).write_text(header)
    path = folder / "text.c"
    path.write_text(text.text)
    return path


def _folders(folder: Path) -> list[str]:
    return [f"-I{folder}", f"-I{Path(__file__).resolve().parents[2] / 'boards'}"]


def _said(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    broken = _BROKEN.search(done.stdout + done.stderr)
    if broken and _NO_HEADER.search(broken[0]):
        raise UnreadableText(broken[0])
    if broken:
        raise AssertionError(f"{command[0]} could not read the text: {broken[0]}")
    return done.stdout + done.stderr


def _place(match: re.Match) -> tuple[str, int]:
    return match["rule"], int(match["line"]) if match["file"].endswith("text.c") else 0


def _findings(tool: str, text: Text, found: Iterable[tuple[str, int]]) -> list[Finding]:
    lines = text.text.split("\n")
    return [
        Finding(tool, rule, text.place_of(line) if line else "a header", lines[line - 1].strip() if line else "")
        for rule, line in sorted(found)
    ]


@functools.cache
def _core_macros(core: Core) -> dict[str, str]:
    said = _said([*core.gcc, *core.flags, "-dM", "-E", "-x", "c", "/dev/null"])
    return dict(re.findall(r"^#define (\w+) (\S+)$", said, re.MULTILINE))


def _macros(core: Core, text: str) -> list[str]:
    """What the compiler predefines for the core, of that which the text asks for."""
    asked = set(re.findall(r"\b__\w+", "\n".join(_CONDITION.findall(text))))
    return [f"-D{name}={value}" for name, value in sorted(_core_macros(core).items()) if name in asked]


@functools.cache
def _system_headers(core: Core) -> list[str]:
    """The folders with the C library's headers, of all that gcc searches."""
    listed = re.findall(r"^ (/\S+)$", _said([*core.gcc, "-E", "-v", "-x", "c", "/dev/null"]), re.MULTILINE)
    return [f"-isystem{folder}" for folder in listed if (Path(folder) / "string.h").is_file()]
