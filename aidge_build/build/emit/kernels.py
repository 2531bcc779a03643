# SPDX-License-Identifier: MIT
"""The C text of the kernels that a model calls: each library file once, local includes resolved, system includes on top."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from aidge_build.base.errors import AidgeError
from aidge_build.contract.file_named import file_named

_LOCAL = re.compile(r'\s*#\s*include\s*"([^"]+)"')
_SYSTEM = re.compile(r"\s*#\s*include\s*(<[^>]+>)")
_OPENS = re.compile(r"\s*#\s*if(def|ndef)?\b")
_CLOSES = re.compile(r"\s*#\s*endif\b")
_ONCE = re.compile(r"\s*#\s*pragma\s+once\b")
_GUARD = re.compile(r"\s*#\s*ifndef\s+(\w+)\b.*\n\s*#\s*define\s+\1\s*(/[/*].*)?")
_ALTERNATIVE = re.compile(r"\s*#\s*el(se|if)")
_CODE_TOKEN = re.compile(r"//.*|/\*|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'")


@dataclass(frozen=True)
class KernelFile:
    """One file as it is in the generated code; `title` names it."""

    title: str
    text: str


@dataclass(frozen=True)
class KernelText:
    """`system_includes` sorted, as "<math.h>"; `files` in an order with each file after its includes."""

    system_includes: tuple[str, ...]
    files: tuple[KernelFile, ...]


def kernel_text(libraries: Mapping[str, Mapping[str, bytes]], wanted: Iterable[tuple[str, str]]) -> KernelText:
    """The text of the wanted (library, path) and of everything that they include."""
    done: set[tuple[str, str]] = set()
    system: set[str] = set()
    files: list[KernelFile] = []
    for library, path in wanted:
        _add(*_resolve(path, library, "", libraries), "", libraries, done, system, files)
    return KernelText(tuple(sorted(system)), tuple(files))


def _add(
    library: str,
    path: str,
    included_by: str,
    libraries: Mapping[str, Mapping[str, bytes]],
    done: set,
    system: set,
    files: list[KernelFile],
) -> None:
    if (library, path) in done:
        return
    done.add((library, path))
    available = libraries.get(library, {})
    if path not in available:
        raise AidgeError(
            f"the library has no file '{path}'",
            where=f"library {library}{included_by and ': ' + included_by}",
            code="LIBRARY",
            hint="includes are relative to the including file, to the library's folder, or start with "
            "the name of another library of this build (--lib)",
        )
    kept = []
    for line, depth, is_code in _without_guard(_lines(_decoded(available[path], library, path))):
        local = _LOCAL.match(line) if is_code else None
        hoisted = _SYSTEM.match(line) if is_code and depth == 0 else None
        if local:
            if depth:
                raise AidgeError(
                    f'#include "{local[1]}" is inside #if',
                    where=f"library {library}: {path}",
                    code="LIBRARY",
                    hint="include it always, and put the #if into the included file",
                )
            _add(*_resolve(local[1], library, path, libraries), path, libraries, done, system, files)
        elif hoisted:
            system.add(hoisted[1])
        elif not (is_code and _ONCE.match(line)):
            kept.append(line)
    files.append(KernelFile(f"{library}/{path}", "\n".join(kept).strip("\n")))


def _decoded(data: bytes, library: str, path: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise AidgeError("the file is not UTF-8 text", where=f"library {library}: {path}", code="LIBRARY") from error


def _resolve(name: str, library: str, includer: str, libraries: Mapping[str, Mapping[str, bytes]]) -> tuple[str, str]:
    """Returns library and path of an include: in the file's folder, in its library's folder, or "library/file" of another
    library."""
    beside, plain = posixpath.normpath(posixpath.join(posixpath.dirname(includer), name)), posixpath.normpath(name)
    available = libraries.get(library, {})
    other, _, path = plain.partition("/")
    if beside not in available and plain not in available and path in libraries.get(other, {}):
        return other, path
    return library, beside if beside in available else file_named(available, plain) or plain


def _lines(text: str) -> list[tuple[str, int, bool]]:
    """Each line with the depth of #if around it, and whether it begins outside of a block comment."""
    found, depth, in_comment = [], 0, False
    for line in text.splitlines():
        is_code = not in_comment
        if is_code and _CLOSES.match(line):
            depth -= 1
        found.append((line.rstrip(), depth, is_code))
        if is_code and _OPENS.match(line):
            depth += 1
        in_comment = _ends_in_comment(line, in_comment)
    return found


def _ends_in_comment(line: str, in_comment: bool) -> bool:
    """Whether a block comment is open at the end of the line."""
    position = 0
    while True:
        if in_comment:
            end = line.find("*/", position)
            if end < 0:
                return True
            position = end + 2
        token = _CODE_TOKEN.search(line, position)
        if token is None:
            return False
        position, in_comment = token.end(), token[0] == "/*"


def _without_guard(lines: list[tuple[str, int, bool]]) -> list[tuple[str, int, bool]]:
    """The lines without an include guard: two libraries may use the same one, and each file is printed once anyway."""
    directives = [index for index, (line, _, is_code) in enumerate(lines) if is_code and line.lstrip().startswith("#")]
    if len(directives) < 3:
        return lines
    first, second, last = directives[0], directives[1], directives[-1]
    if not _GUARD.fullmatch(f"{lines[first][0]}\n{lines[second][0]}") or not _CLOSES.match(lines[last][0]) or lines[last][1]:
        return lines
    inside = lines[first + 1 : last]
    if any(depth < 1 or depth == 1 and is_code and _ALTERNATIVE.match(line) for line, depth, is_code in inside):
        return lines
    return [
        (line, depth - (first < index < last), is_code)
        for index, (line, depth, is_code) in enumerate(lines)
        if index not in (first, second, last)
    ]
