# SPDX-License-Identifier: MIT
"""`aidge-build explain --link`: why a program does not fit, has a wrong header or flags, or lacks a library or file."""

from __future__ import annotations

import argparse
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from aidge_build.base.errors import EXIT_CHECK_FAILED, AidgeError
from aidge_build.base.naming import counted
from aidge_build.cli.outcome import Outcome

# Build systems start every link with this verb: what explains is imported where a link has failed.
if TYPE_CHECKING:
    from aidge_build.prove.elf.undefined import Undefined
    from aidge_build.run.toolchain.failed_link import FailedLink

_SHOWN = 8
_WITHOUT_LIBRARIES = ("-nostdlib", "-nodefaultlibs", "-nolibc")
_WITHOUT_START = "-nostartfiles"
_OF_START = {"_init", "_fini", "_start"}  # which the compiler's start-up files define
# The functions that a C library for bare metal leaves to the firmware (newlib's manual, "System Calls").
_SYSTEM_CALLS = {
    *("_exit", "_close", "_environ", "_execve", "_fork", "_fstat", "_getpid", "_gettimeofday", "_isatty", "_kill", "_link"),
    *("_lseek", "_open", "_read", "_sbrk", "_stat", "_times", "_unlink", "_wait", "_write"),
}
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
    from aidge_build.run.toolchain.failed_link import diagnose

    failed = diagnose(arguments.command)
    data = {
        **{
            kind: [one.as_json() for one in getattr(failed, kind)]
            for kind in ("memories", "headers", "libraries", "abis", "copies")
        },
        "undeclared": list(failed.undeclared),
        "undefined": [{"symbol": one.symbol, "sources": list(one.sources)} for one in failed.undefined],
    }
    is_asked = not arguments.launch and not arguments.hook  # by somebody who does not have the linker's messages before them
    if failed.is_explained or is_asked and failed.undefined:
        return Outcome([*_lines(arguments.command, failed, is_asked)], data, status)
    return _unexplained(arguments.command, failed, data, status) if is_asked else Outcome((), data, status)


def _unexplained(command: list[str], failed: FailedLink, data: dict, status: int) -> Outcome:
    """The first messages of the linker."""
    from aidge_build.run.toolchain.failed_link import complaints
    from aidge_build.run.toolchain.link_words import expanded

    told, output = complaints(command), _output(expanded(command))
    warnings = _warnings(output, failed)
    if not told:
        return Outcome(["the link does not fail", *warnings], data, 0)
    more = [f"       and {counted(len(told) - _SHOWN, 'more line')}"] if len(told) > _SHOWN else []
    return Outcome(
        [f"{output}: error LINK: {told[0]}", *(f"       {line}" for line in told[1:_SHOWN]), *more, *warnings], data, status
    )


def _launched(command: list[str]) -> int:
    try:
        return subprocess.call(command)
    except OSError as error:
        raise AidgeError(f"cannot be run: {error.strerror}", where=command[0], code="LINK") from error


def _output(command: list[str]) -> str:
    """Returns the file that the command writes: the last of `-o app.elf` and `-oapp.elf`."""
    named = [after for word, after in zip(command, command[1:]) if word == "-o"]
    joined = [word[2:] for word in command if word.startswith("-o") and len(word) > 2]
    return next(iter((*named[-1:], *joined[-1:])), "a.out")


def _lines(command: list[str], failed: FailedLink, with_undefined: bool) -> Iterator[str]:
    from aidge_build.measure.report.overflow import listed
    from aidge_build.run.toolchain.link_words import expanded

    command = expanded(command)
    output = _output(command)
    foreign, early = ([one for one in failed.headers if one.is_early == is_early] for is_early in (False, True))
    for code, reasons in (
        ("HEADER", foreign),
        ("LIBRARY", early),
        ("ABI", failed.abis),
        ("LIBRARY", failed.libraries),
        ("TWICE", failed.twice),
    ):
        for reason in reasons:
            yield f"{output}: error LINK_{code}: {reason.fact}"
            yield f"       what helps:  {reason.hint}"
    if with_undefined and failed.undefined:
        yield from _undefined(command, output, failed.undefined)
    for memory in failed.memories:
        yield f"{output}: error LINK_OVERFLOW: {memory.fact}"
        if memory.largest:
            yield f"       largest:     {listed(memory.largest)}"
            yield f"       in all:      {listed(memory.purposes)}"
        for index, hint in enumerate(memory.hints):
            yield f"       {'' if index else 'what helps:':11}  {hint}"
    yield from _warnings(output, failed)


def _warnings(output: str, failed: FailedLink) -> Iterator[str]:
    """Yields the faults of a program that is linked all the same."""
    from aidge_build.prove.elf.link_map import UNDECLARED_HINT, undeclared_fact

    warnings = [("TWICE", one.fact, one.hint) for one in failed.copies if one.is_linked]
    if failed.undeclared:
        warnings.append(("MEMORY", undeclared_fact(failed.undeclared), UNDECLARED_HINT))
    for code, fact, hint in warnings:
        yield f"{output}: warning LINK_{code}: {fact}"
        yield f"       what helps:  {hint}"


def _undefined(command: list[str], output: str, undefined: Sequence[Undefined]) -> Iterator[str]:
    from aidge_build.measure.report.missing_library import first_few

    calls = [one.symbol for one in undefined if one.symbol in _SYSTEM_CALLS]
    others = [one for one in undefined if one.symbol not in _SYSTEM_CALLS]
    if calls:
        yield f"{output}: error LINK_UNDEFINED: the C library calls {first_few(calls)}, and nothing that is linked defines them"
        yield (
            "       what helps:  link a file that defines them (STM32CubeMX: syscalls.c and sysmem.c), or add "
            "--specs=nosys.specs to the link: with it they do nothing"
        )
    if others:
        bare = [word for word in command if word in _WITHOUT_LIBRARIES]
        bare += [word for word in command if word == _WITHOUT_START and any(one.symbol in _OF_START for one in others)]
        without = f", or leave {bare[0]} out" if bare else ""
        yield f"{output}: error LINK_UNDEFINED: nothing that is linked defines {first_few(list(map(_named, others)))}"
        yield f"       what helps:  link the files or libraries that define these names{without}"


def _named(undefined: Undefined) -> str:
    """The symbol and the first file that asks for it, unless only the optimiser of whole programs does."""
    from aidge_build.prove.elf.undefined import OPTIMIZED

    file = "".join(_known_path(source) for source in undefined.sources[:1] if source != OPTIMIZED)
    return f"{undefined.symbol} ({file})" if file else undefined.symbol


def _known_path(source: str) -> str:
    """Returns the path, or only the name of a file of another machine, where a library was compiled."""
    path = Path(source)
    return path.name if path.is_absolute() and not path.exists() else source
