# SPDX-License-Identifier: MIT
"""The linker script of a board, rendered from its regions."""

from __future__ import annotations

import os
from pathlib import Path

from aidge_build.boards import Board
from aidge_build.errors import AidgeError
from aidge_build.render import render


def render_link_script(board: Board) -> str:
    """The text of the linker script; a board without memories (the host) is refused."""
    if board.is_host:
        raise AidgeError("has no linker script: its programs are linked by the native compiler", where=f"board {board.name}", code="BOARD")
    roles = {role: board.region(role).name for role in ("vectors", "code", "constants", "data", "stack")}
    template = board.files[board.link_script].decode()
    try:
        return render(template, name=board.name, regions=board.regions, stack_bytes=board.stack_bytes, **roles)
    except AidgeError as error:
        raise error.within(board.link_script) from None


def write_if_different(path: Path, text: str) -> None:
    """Writes `text` at once (temporary name, then rename), and only where the content differs."""
    content = text.encode()
    try:
        if path.is_file() and path.read_bytes() == content:
            return
        temporary = path.with_name(f".{path.name}.{os.getpid()}")
        temporary.write_bytes(content)
        os.replace(temporary, path)
    except OSError as error:
        raise AidgeError(f"cannot write: {error.strerror}", where=str(path), code="WRITE") from error
