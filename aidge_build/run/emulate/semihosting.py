# SPDX-License-Identifier: MIT
"""Arm semihosting for an emulated program: console, command line, exit code, and files below one folder."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import IO

from aidge_build.base.errors import AidgeError

_MODES = ("rb", "rb", "r+b", "r+b", "wb", "wb", "w+b", "w+b", "ab", "ab", "a+b", "a+b")
_APPLICATION_EXIT = 0x20026
_FAILED = -1
_CONSOLE = b":tt"


class Semihosting:
    """Serves the calls of one program; `read(address, size)` and `write(address, bytes)` reach its memory."""

    def __init__(self, folder: Path, command_line: str, read: Callable[[int, int], bytes], write: Callable[[int, bytes], None]):
        self._folder = folder.resolve()
        self._command_line = command_line.encode() + b"\0"
        self._read, self._write = read, write
        self._files: dict[int, IO[bytes] | None] = {}
        self._console = bytearray()
        self.exit_code: int | None = None
        self._operations = {
            0x01: self._open,
            0x02: self._close,
            0x03: self._write_character,
            0x04: self._write_text,
            0x05: self._write_file,
            0x06: self._read_file,
            0x09: self._is_console,
            0x0A: self._seek,
            0x0C: self._length,
            0x13: self._error_number,
            0x15: self._get_command_line,
            0x18: self._exit,
            0x20: self._exit_extended,
        }

    @property
    def stdout(self) -> str:
        """Returns the text that the program has printed."""
        return self._console.decode(errors="replace")

    def call(self, operation: int, argument: int) -> int:
        """Serves one call and returns the value for r0. An unknown operation is an AidgeError (SEMIHOSTING)."""
        if operation not in self._operations:
            raise AidgeError(
                f"the program asks for semihosting operation 0x{operation:02x}, which is not served", code="SEMIHOSTING"
            )
        return self._operations[operation](argument) & 0xFFFFFFFF

    def close(self) -> None:
        """Closes the files that the program left open."""
        for stream in self._files.values():
            if stream is not None:
                stream.close()
        self._files.clear()

    def _words(self, address: int, count: int) -> list[int]:
        content = self._read(address, 4 * count)
        return [int.from_bytes(content[at : at + 4], "little") for at in range(0, 4 * count, 4)]

    def _open(self, block: int) -> int:
        address, mode, size = self._words(block, 3)
        name = self._read(address, size)
        if mode >= len(_MODES):
            return _FAILED
        handle = next(number for number in range(1, len(self._files) + 2) if number not in self._files)
        try:
            self._files[handle] = None if name == _CONSOLE else open(self._inside(name.decode()), _MODES[mode])
        except (OSError, UnicodeDecodeError):
            return _FAILED
        return handle

    def _inside(self, name: str) -> Path:
        path = (self._folder / name).resolve()
        if not path.is_relative_to(self._folder):
            raise AidgeError(f"the program opens '{name}', which is outside of its folder {self._folder}", code="SEMIHOSTING")
        return path

    def _close(self, block: int) -> int:
        handle = self._words(block, 1)[0]
        if handle not in self._files:
            return _FAILED
        stream = self._files.pop(handle)
        if stream is not None:
            stream.close()
        return 0

    def _write_character(self, address: int) -> int:
        self._console += self._read(address, 1)
        return 0

    def _write_text(self, address: int) -> int:
        while (character := self._read(address, 1)) != b"\0":
            self._console += character
            address += 1
        return 0

    def _write_file(self, block: int) -> int:
        handle, address, size = self._words(block, 3)
        if handle not in self._files:
            return size
        stream, content = self._files[handle], self._read(address, size)
        if stream is None:
            self._console += content
            return 0
        try:
            return size - stream.write(content)
        except OSError:
            return size

    def _read_file(self, block: int) -> int:
        handle, address, size = self._words(block, 3)
        stream = self._files.get(handle)
        try:
            content = stream.read(size) if stream is not None else b""
        except OSError:
            return size
        self._write(address, content)
        return size - len(content)

    def _is_console(self, block: int) -> int:
        handle = self._words(block, 1)[0]
        return int(handle in self._files and self._files[handle] is None)

    def _seek(self, block: int) -> int:
        handle, position = self._words(block, 2)
        stream = self._files.get(handle)
        if stream is None:
            return _FAILED
        stream.seek(position)
        return 0

    def _length(self, block: int) -> int:
        stream = self._files.get(self._words(block, 1)[0])
        if stream is None:
            return _FAILED
        stream.flush()
        return os.fstat(stream.fileno()).st_size

    def _error_number(self, _: int) -> int:
        return 0

    def _get_command_line(self, block: int) -> int:
        address, size = self._words(block, 2)
        if len(self._command_line) > size:
            return _FAILED
        self._write(address, self._command_line)
        self._write(block + 4, (len(self._command_line) - 1).to_bytes(4, "little"))
        return 0

    def _exit(self, reason: int) -> int:
        self.exit_code = 0 if reason == _APPLICATION_EXIT else 1
        return 0

    def _exit_extended(self, block: int) -> int:
        reason, code = self._words(block, 2)
        self.exit_code = code & 0xFF if reason == _APPLICATION_EXIT else 1
        return 0
