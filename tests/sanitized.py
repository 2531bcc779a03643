# SPDX-License-Identifier: MIT
"""Programs for this machine that end where they touch a wrong byte or do what C does not define."""

from __future__ import annotations

import subprocess
from pathlib import Path

# Checks are calls or traps, which takes half the compiler's time; a program without the last two flags says where it ends.
ADDRESSES = ("-fsanitize=address", "--param=asan-instrumentation-with-call-threshold=0")
SANITIZED = (*ADDRESSES, "-fsanitize=undefined", "-fsanitize-undefined-trap-on-error")
SANITIZED_FLAGS = tuple(f"--flag={flag}" for flag in SANITIZED)  # of `verify`
WARNINGS = ("-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-pedantic")


def sanitized(folder: Path, *flags: str) -> Path:
    """The program of all C files of a folder, which compile without a warning."""
    main, generated = folder / "main.c", sorted(folder.glob("*.c"))
    generated.remove(main)
    unit = folder / "unit.h"  # one start of the compiler for all
    unit.write_text("".join(f'#include "{path.name}"\n' for path in reversed(generated)))
    sources = [str(main), "-x", "c", str(unit), "-x", "none"]
    subprocess.run(["cc", *WARNINGS, *SANITIZED, *flags, *sources, "-lm", "-o", str(folder / "app")], check=True)
    return folder / "app"


def code_of(program: Path) -> int:
    """The exit code of a program, below 0 where it ended early."""
    return subprocess.run([str(program)], check=False).returncode
