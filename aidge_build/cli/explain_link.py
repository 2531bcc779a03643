# SPDX-License-Identifier: MIT
"""`aidge-build explain --link`: why a program does not fit, has a wrong header or lacks a library, whoever links it."""

from __future__ import annotations

import argparse
import subprocess
from typing import TYPE_CHECKING

from aidge_build.cli.outcome import Outcome
from aidge_build.errors import EXIT_CHECK_FAILED, AidgeError

# Build systems start every link with this verb: what explains is imported where a link has failed.
if TYPE_CHECKING:
    from aidge_build.toolchain.failed_link import FailedLink

SUMMARY = "explain a failed link: memory too small, wrong header of a model, or missing library"
EXAMPLES = (("explain --link -- arm-none-eabi-gcc main.o kws.o -T my.ld -o app.elf", "after a link that failed"),)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    how = parser.add_mutually_exclusive_group()
    how.add_argument(
        "--hook",
        action="store_true",
        help="for build systems, after a failed link: print nothing where none of these is the reason, exit with 0",
    )
    how.add_argument(
        "--launch",
        action="store_true",
        help="run the link first, explain it only where it fails, and exit with its code (default: it has failed)",
    )
    parser.add_argument("command", nargs="+", metavar="-- COMMAND", help="command of the link; its output is not touched")


def run(arguments: argparse.Namespace) -> Outcome:
    status = _launched(arguments.command) if arguments.launch else 0 if arguments.hook else EXIT_CHECK_FAILED
    if arguments.launch and status == 0:
        return Outcome()
    from aidge_build.toolchain.failed_link import diagnose
    from aidge_build.toolchain.link_words import expanded

    failed = diagnose(arguments.command)
    data = {
        "memories": [memory.as_json() for memory in failed.memories],
        "headers": [header.as_json() for header in failed.headers],
        "libraries": [library.as_json() for library in failed.libraries],
    }
    if failed.is_explained:
        return Outcome([*_lines(_output(expanded(arguments.command)), failed)], data, status)
    if arguments.launch or arguments.hook:
        return Outcome((), data, status)
    reason = _reason(failed.messages)
    return Outcome(["the link does not fail for lack of memory" + (f", but: {reason}" if reason else "")], data, 0)


def _reason(messages: str) -> str:
    """The first complaint; that the linker failed, which gcc says at the end, is none."""
    words = ("error", "undefined", "cannot", "multiple")
    complaints = [line.strip() for line in messages.splitlines() if any(word in line for word in words)]
    return next((line for line in complaints if not line.startswith("collect2")), "")


def _launched(command: list[str]) -> int:
    try:
        return subprocess.call(command)
    except OSError as error:
        raise AidgeError(f"cannot be run: {error.strerror}", where=command[0], code="LINK") from error


def _output(command: list[str]) -> str:
    """What the command writes: the last of `-o app.elf` and `-oapp.elf`."""
    named = [after for word, after in zip(command, command[1:]) if word == "-o"]
    joined = [word[2:] for word in command if word.startswith("-o") and len(word) > 2]
    return next(iter((*named[-1:], *joined[-1:])), "a.out")


def _lines(output: str, failed: FailedLink):
    from aidge_build.report.overflow import listed

    for header in failed.headers:
        yield f"{output}: error LINK_HEADER: {header.fact}"
        yield f"       what helps:  {header.hint}"
    for library in failed.libraries:
        yield f"{output}: error LINK_LIBRARY: {library.fact}"
        yield f"       what helps:  {library.hint}"
    for memory in failed.memories:
        yield f"{output}: error LINK_OVERFLOW: {memory.fact}"
        if memory.largest:
            yield f"       largest:     {listed(memory.largest)}"
            yield f"       in all:      {listed(memory.purposes)}"
        for index, hint in enumerate(memory.hints):
            yield f"       {'' if index else 'what helps:':11}  {hint}"
