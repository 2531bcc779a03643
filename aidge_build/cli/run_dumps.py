# SPDX-License-Identifier: MIT
"""`run --dump`: the bytes that a program leaves in its variables."""

from __future__ import annotations

import argparse
import hashlib
from pathlib import Path

from aidge_build.base.errors import AidgeError
from aidge_build.base.output import write_files
from aidge_build.base.settings import guess
from aidge_build.boards import Board
from aidge_build.prove.elf import Image
from aidge_build.prove.elf.image import Symbol
from aidge_build.run.emulate import RunResult

_OTHER_FILES = ("elf", "input", "output", "out")


def _dump(word: str) -> tuple[str, Path]:
    symbol, _, file = word.partition("=")
    if not symbol or not file:
        raise argparse.ArgumentTypeError(f"'{word}' is not SYMBOL=FILE, e.g. kws_record=ram.bin")
    return symbol, Path(file)


def add_dump_argument(parser: argparse.ArgumentParser) -> None:
    """The variables, and the files for their bytes."""
    parser.add_argument(
        "--dump",
        type=_dump,
        action="append",
        default=[],
        metavar="SYMBOL=FILE",
        help="variable, and the file for its bytes after the run, e.g. kws_record=ram.bin (repeat; Unicorn; default: none)",
    )


def dumped_symbols(arguments: argparse.Namespace, image: Image, board: Board) -> tuple[Symbol, ...]:
    """The symbols of --dump, in the order of the words; AidgeError (USAGE) for what no memory of the board holds, and for files
    that would replace each other."""
    if not arguments.dump:
        return ()
    if arguments.probe is not None:
        raise _refusal("works only in the emulator", "leave out --probe; a debugger dumps the memory of a board")
    if (arguments.emulator or (board.emulator.kind if board.emulator else "")) != "unicorn":
        raise _refusal("works only in Unicorn", "add --emulator unicorn, if it has the board's core")
    taken = [getattr(arguments, name) for name in _OTHER_FILES] + [file for _, file in arguments.dump]
    taken = [file.resolve() for file in taken if file is not None]
    for _, file in arguments.dump:
        if taken.count(file.resolve()) > 1:
            raise _refusal(f"{file} is named twice", "give each output a file of its own")
    return tuple(_symbol(name, image, board) for name, _ in arguments.dump)


def written_dumps(arguments: argparse.Namespace, result: RunResult) -> tuple[dict[str, str], list[str]]:
    """Writes all files or none; the SHA-256 of each by its name, and a line for each."""
    pairs = [(file, symbol, content) for (_, file), (symbol, content) in zip(arguments.dump, result.dumps, strict=True)]
    write_files({file: content for file, _, content in pairs})
    lines = [
        f"{file}: {symbol.size_bytes:,} B of {symbol.name}, from address 0x{symbol.address:08x}" for file, symbol, _ in pairs
    ]
    return {file.name: hashlib.sha256(content).hexdigest() for file, _, content in pairs}, lines


def _symbol(name: str, image: Image, board: Board) -> Symbol:
    symbol = image.symbol(name)
    if symbol is None:
        known = sorted({other.name for other in image.symbols if other.kind == "object" and other.size_bytes})
        raise _refusal(f"the program has no symbol {name}", f"{guess(name, known)}nm {image.path} lists the names")
    namesakes = {other.address for other in image.by_name[name] if other.is_local} if symbol.is_local else {symbol.address}
    if len(namesakes) > 1:
        raise _refusal(f"the program has {len(namesakes)} static variables {name}", "rename one of them")
    if not symbol.size_bytes:
        raise _refusal(f"the program does not say the size of {name}", "name a variable of C; nm -S lists the sizes")
    end = symbol.end
    is_loaded = image.section_of(symbol) is not None
    if not is_loaded or not any(region.origin <= symbol.address and end <= region.end for region in board.regions):
        raise _refusal(
            f"{name} (0x{symbol.address:08x}, {symbol.size_bytes:,} B) is in no memory of {board.title}",
            "was the program linked for another board?",
        )
    return symbol


def _refusal(what: str, hint: str) -> AidgeError:
    return AidgeError(what, where="--dump", hint=hint, code="USAGE")
