# SPDX-License-Identifier: MIT
"""The linker script of a board, rendered from its regions."""

from __future__ import annotations

from pathlib import Path

from aidge_build.base.errors import AidgeError
from aidge_build.base.output import write_sources
from aidge_build.base.render import render
from aidge_build.base.source_files import Sources
from aidge_build.boards import Board


def render_link_script(board: Board) -> str:
    """The text of the linker script; a board without memories (the host) is refused."""
    if board.is_host:
        raise AidgeError(
            "has no linker script: its programs are linked by the native compiler", where=f"board {board.name}", code="BOARD"
        )
    roles = {role: board.region(role).name for role in ("vectors", "code", "constants", "data", "stack")}
    template = board.files[board.link_script].decode()
    try:
        values = {"regions": board.regions, "stack_bytes": board.stack_bytes, "has_caches": board.has_caches}
        return render(template, name=board.name, **values, **roles)
    except AidgeError as error:
        raise error.within(board.link_script) from None


def write_link_script(board: Board, path: Path) -> None:
    """Writes the linker script of `board` if the file does not have this content already."""
    write_sources(Sources({path.name: render_link_script(board).encode()}, {}), path.parent)
