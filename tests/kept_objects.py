# SPDX-License-Identifier: MIT
"""Objects that runs of the tests have compiled: none compiles the same text under the same flags again.

Start-up code, semihosting and the weights of a model are in hundreds of programs of the tests, and the next run has them all. An
object is kept under the digest of the compiler, the command without its folders, the source, and all files that the source may
include, for two weeks after its last use. A source whose object could depend on more, such as its path, is always compiled. The
headers of the compiler count as parts of the compiler: remove the folder after an update of the C library alone.

Programs for this machine are compiled with -O0 in place of the board's -O2, which takes twice as long: their values count, not
their instructions. Start-up code and semihosting have the optimization of their board even if a test asks for another one of its
program. AIDGE_STRESS=1 leaves all flags as they are, and the flags of a test hold for everything else.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import re
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from aidge_build.run.toolchain import build, find_host_compiler
from aidge_build.run.toolchain.compiler import Compiler

BOARDS = Path(__file__).resolve().parents[1] / "boards"
_UNUSED_SECONDS = 14 * 24 * 3600
_INCLUDE = re.compile(r"[ \t]*#[ \t]*include[ \t]*(.*)$")
_NAMED = re.compile(r'(?:"([^"]+)"|<([^>]+)>)')
_OF_THE_PLACE = re.compile(rb"__FILE__|__DATE__|__TIME|__has_include|\bassert\b|incbin|#[ \t]*embed")
# One of them is in each match, and found ten times as fast: sources hold megabytes of numbers.
_PARTS = (b"__FILE__", b"__DATE__", b"__TIME", b"__has_include", b"assert", b"incbin", b"embed")
# With these, gcc writes more than the object, reads more than the includes, or the object names folders.
_OTHER_FLAGS = ("-g", "-M", "-save-temps", "-fdump", "-fstack-usage", "-fcallgraph", "-fprofile", "-ftest", "--coverage", "@")
_OTHER_FLAGS += ("-i", "-B", "-fplugin", "-ffile-prefix", "-fmacro-prefix", "-fdebug", "-v", "-x", "-fsyntax-only")


def keep_objects_in(folder: Path, monkeypatch) -> None:
    """From now on `toolchain.build_program` looks in this folder before it compiles; other processes may use it, too."""
    folder.mkdir(parents=True, exist_ok=True)
    for file in folder.iterdir():
        with contextlib.suppress(FileNotFoundError):  # another process removes it, too
            if time.time() - file.stat().st_mtime > _UNUSED_SECONDS:
                file.unlink()
    compile_source, host = build._compile, find_host_compiler()

    @functools.wraps(compile_source)
    def compile_once(compiler: Compiler, source: Path, output: Path, flags: Sequence[str]) -> None:
        if compiler == host and "-O2" in flags and "AIDGE_STRESS" not in os.environ:
            place = flags.index("-O2")
            flags = [*flags[:place], "-O0", *flags[place + 1 :]]
        if source.parent == BOARDS and "AIDGE_STRESS" not in os.environ:
            flags = _of_the_board(flags)
        flags = [flag for flag in flags if not flag.startswith("-Wl,")]  # no part of an object
        key = _key(compiler.compiling(source, flags), source)
        kept = folder / f"{key}.o"
        if key and kept.exists():
            shutil.copyfile(kept, output)
            os.utime(kept)
            return
        compile_source(compiler, source, output, flags)
        if key:
            unfinished = folder / f"{key}.{os.getpid()}.{threading.get_ident()}"
            shutil.copyfile(output, unfinished)
            os.replace(unfinished, kept)

    monkeypatch.setattr(build, "_compile", compile_once)


def _of_the_board(flags: Sequence[str]) -> list[str]:
    """The flags with the first optimization alone, which is that of the board, and without link-time optimization."""
    levels = [index for index, flag in enumerate(flags) if flag.startswith("-O")]
    return [flag for index, flag in enumerate(flags) if index not in levels[1:] and "-flto" not in flag]


def _key(command: Sequence[str], source: Path) -> str:
    """The digest; "" where the object may depend on more than it says."""
    words = [word for word in command if not word.startswith("-I")]
    folders = [Path(word.removeprefix("-I")) for word in command if word.startswith("-I") and word != "-I"]
    if len(words) + len(folders) != len(command) or command[0].startswith(tempfile.gettempdir()):
        return ""
    if any(word.startswith(_OTHER_FLAGS) for word in words[1:]):
        return ""
    digest = hashlib.sha256(repr((words, source.name, _compiler(command[0]))).encode())
    try:
        for text in _texts(source, folders, set()):
            digest.update(hashlib.sha256(text).digest())
    except (_Unknown, OSError):
        return ""
    return digest.hexdigest()


@functools.cache
def _compiler(program: str) -> tuple:
    """What changes when another version of the compiler is installed."""
    path = Path(shutil.which(program) or program).resolve()
    state = path.stat()
    return str(path), state.st_size, state.st_mtime_ns


class _Unknown(Exception):
    """What a source includes, or what its object depends on, is not known from its text."""


def _texts(path: Path, folders: Sequence[Path], seen: set[Path]) -> Iterator[bytes]:
    """The file and, in order, what it includes from the folders of the command; the compiler's own headers stay as they are."""
    data = path.read_bytes()
    if any(part in data for part in _PARTS) and _OF_THE_PLACE.search(data):
        raise _Unknown
    seen.add(path)
    yield data
    directives = (line.decode("latin-1") for line in data.splitlines() if b"#" in line)
    for written in (found[1] for found in map(_INCLUDE.match, directives) if found):
        named = _NAMED.match(written)
        if named is None:
            raise _Unknown
        places = [path.parent, *folders] if named[1] else folders
        found = next((place / (named[1] or named[2]) for place in places if (place / (named[1] or named[2])).is_file()), None)
        yield f"{written} {found is not None}".encode()
        if found is not None:
            yield from _texts(found, folders, seen) if found not in seen else [found.read_bytes()]
