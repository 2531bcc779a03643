# SPDX-License-Identifier: MIT
"""Finds out why a link failed for want of memory: links once more, asks for the program all the same, and looks into it."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from aidge_build.elf.claims import read_claims
from aidge_build.elf.image import read_image
from aidge_build.elf.overflow import read_memories, read_overflows
from aidge_build.errors import AidgeError
from aidge_build.report.overflow import TooSmall, explain_overflow, listed

_LINKER = re.compile(r"(.*-)?ld(\.\w+)?(\.exe)?")


@dataclass(frozen=True)
class FailedLink:
    """`memories` are those that are too small; without one, `messages` (the linker's own) say what is wrong, or are empty."""

    memories: tuple[TooSmall, ...]
    messages: str


def diagnose(command: Sequence[str]) -> FailedLink:
    """Runs the command of a link again, so that nothing of its output is touched.

    `--noinhibit-exec` makes the linker write the program although it does not fit: then every object in it is known, those of
    archives and of link-time optimisation, too, whoever's linker script it is.
    """
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        elf, link_map = Path(name) / "program", Path(name) / "map"
        options = ["--noinhibit-exec", f"-Map={link_map}"]
        if not _LINKER.fullmatch(Path(command[0]).name):
            options = [word for option in options for word in ("-Xlinker", option)]
        # Of several -o and -Map the last one counts.
        try:
            result = subprocess.run(
                [*command, *options, "-o", str(elf)],
                capture_output=True,
                text=True,
                errors="replace",
                env={**os.environ, "LC_ALL": "C"},
            )
        except OSError as error:
            raise AidgeError(f"cannot be run: {error.strerror}", where=command[0], code="LINK") from error
        overflows = read_overflows(result.stderr + result.stdout)
        try:
            image, memories = read_image(elf), read_memories(link_map.read_text(errors="replace"))
            claims = read_claims(image)
        except (AidgeError, OSError):
            return FailedLink(tuple(TooSmall(overflow.region, overflow.missing_bytes) for overflow in overflows), result.stderr)
        return FailedLink(
            tuple(explain_overflow(image, claims, memories, overflow, command) for overflow in overflows), result.stderr
        )


def as_error(failed: FailedLink, where: str) -> AidgeError:
    """One line: the memories, the largest objects in each, and what would help."""
    facts = [memory.fact for memory in failed.memories]
    largest = [f"Largest in {memory.memory}: {listed(memory.largest)}" for memory in failed.memories if memory.largest]
    hints = dict.fromkeys(hint for memory in failed.memories for hint in memory.hints)
    return AidgeError(
        ". ".join([f"the program does not fit: {', '.join(facts)}", *largest]),
        where=where,
        hint="; ".join(hints) or "a smaller model, a board with more memory, or less stack and buffers",
        code="LINK_OVERFLOW",
    )
