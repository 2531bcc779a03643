# SPDX-License-Identifier: MIT
"""CMake files of firmware that is there already: which program they make, and how that program is linked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from aidge_build.base.reading import LARGEST_TEXT_BYTES, read_regular

_MOST_FILES = 500
_KEYWORDS = ("PRIVATE", "PUBLIC", "INTERFACE", "LINK_PRIVATE", "LINK_PUBLIC", "LINK_INTERFACE_LIBRARIES")


def cmake_files_below(folder: Path) -> dict[str, str]:
    """The texts of CMakeLists.txt and *.cmake in the folders below, the nearest first; build folders are left out."""
    found: dict[str, str] = {}
    waiting = [folder]
    while waiting and len(found) < _MOST_FILES:
        place = waiting.pop(0)
        for path in sorted(place.iterdir()):
            if path.is_dir() and not path.is_symlink():
                if not path.name.startswith(".") and not (path / "CMakeCache.txt").exists():
                    waiting.append(path)
            elif path.is_file() and (path.suffix == ".cmake" or (path.name == "CMakeLists.txt" and place != folder)):
                text = read_regular(path, LARGEST_TEXT_BYTES).decode("utf-8", "replace")
                found[path.relative_to(folder).as_posix()] = text
    return found


def without_comments(text: str) -> str:
    """The same text with blanks in place of comments."""
    return re.sub(r"#[^\n]*", lambda comment: " " * len(comment[0]), text)


def call(text: str, pattern: str) -> tuple[str, int] | None:
    """(the pattern's group, the last line) of the first call of CMake that begins like `pattern`; comments are passed over."""
    plain = without_comments(text)
    found = re.search(r"^[ \t]*" + pattern, plain, re.MULTILINE | re.IGNORECASE)
    if found is None:
        return None
    depth = 0
    for place in range(found.start(), len(plain)):
        depth += {"(": 1, ")": -1}.get(plain[place], 0)
        if depth == 0 and plain[place] == ")":
            return found[1] if found.re.groups else "", plain.count("\n", 0, place) + 1
    return None


def program_of(text: str) -> tuple[str, int] | None:
    """(name, last line) of the first program that a CMake file makes; None where a function's parameter names it."""
    found = call(text, r"add_executable\s*\(\s*([^\s)]+)")
    return found if found and not re.search(r"\$\{(?!(CMAKE_)?PROJECT_NAME\})", found[0]) else None


def folders_with_programs(files: Mapping[str, str]) -> list[str]:
    """Returns the folders below with a CMakeLists.txt that makes a program, in the order of the files."""
    return [
        PurePosixPath(path).parent.as_posix()
        for path, text in files.items()
        if path.endswith("/CMakeLists.txt") and call(text, r"add_executable\s*\(")
    ]


def links_without_keyword(target: str, files: Mapping[str, str]) -> bool:
    """Whether some file links `target` by the plain signature of target_link_libraries, as STM32CubeMX writes it.

    CMake refuses a target that is linked by both signatures.
    """
    texts = [without_comments(text) for text in files.values()]
    variables = {
        name: value for text in texts for name, value in re.findall(r"\bset\s*\(\s*(\w+)\s+([^\s()\"]+)\s*\)", text, re.I)
    }
    project = call(files.get("CMakeLists.txt", ""), r"project\s*\(\s*\"?([^\s)\"]+)")
    if project:
        named = _expanded(project[0], variables)
        variables |= {"PROJECT_NAME": named, "CMAKE_PROJECT_NAME": named}
    wanted = _expanded(target, variables)
    links = [found for text in texts for found in re.findall(r"target_link_libraries\s*\(\s*([^\s()]+)\s+([^\s()]+)", text, re.I)]
    return any(word not in _KEYWORDS and _expanded(name, variables) == wanted for name, word in links)


def _expanded(text: str, variables: Mapping[str, str]) -> str:
    for _ in range(5):
        text = re.sub(r"\$\{(\w+)\}", lambda found: variables.get(found[1], found[0]), text)
    return text.strip('"')
