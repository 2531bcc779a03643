# SPDX-License-Identifier: MIT
"""Conversations with a server as files: `> ` is what the client sent, `< ` what it got, one packet or mark a line.

`python -m tests.recorded_session FILE` records that of QEMU's Cortex-M4 board anew.
"""

from __future__ import annotations

import socket
import sys
from pathlib import Path

from aidge_build.run.probe.remote import Remote
from aidge_build.run.probe.target import Target

CODE = bytes.fromhex("421808600a31104670470000")  # adds r2,r0,r1; str r0,[r1]; adds r1,#10; mov r0,r2; bx lr
AT, DATA = 0x20000100, 0x20000200


def converse(stream) -> dict[str, object]:
    """A function of five instructions is stored, called and looked at; what was seen of it."""
    remote = Remote(stream, "recorded", 5)
    remote.greet()
    target = Target(remote)
    target.write(AT, CODE)
    target.reset(DATA + 0x100, AT, AT - 0x100)
    target.set_registers((DATA, DATA + 4))
    target.set_register(14, AT + 0x40 | 1)
    target.add_breakpoint(AT + 4)
    first = target.resume(5)
    target.remove_breakpoint(AT + 4)
    target.add_breakpoint(AT + 8)
    second = target.resume(5)
    seen = {
        "stops": (first, second),
        "registers": target.registers()[:3],
        "code": target.read(AT, len(CODE)),
        "word": target.word(DATA + 4),
        "emulated": target.is_emulated,
        "knows nonsense": target.command(b"nonsense"),
        "features": dict(remote.features),
    }
    target.leave(running=False)
    return seen


class Recording:
    """A stream that writes down what goes through it."""

    def __init__(self, stream: socket.socket):
        self._stream, self.lines = stream, []

    def settimeout(self, seconds: float) -> None:
        self._stream.settimeout(seconds)

    def sendall(self, data: bytes) -> None:
        self.lines.append(f"> {shown(data)}")
        self._stream.sendall(data)

    def recv(self, size: int) -> bytes:
        data = self._stream.recv(size)
        self.lines.append(f"< {shown(data)}")
        return data

    def close(self) -> None:
        self._stream.close()


class Replaying:
    """A server that says what it said once, to a client that asks what it asked then."""

    def __init__(self, lines: list[str]):
        self.left = [(line[:1], line[2:].encode("ascii").decode("unicode_escape").encode("latin-1")) for line in lines]

    def settimeout(self, seconds: float) -> None:
        assert seconds > 0

    def sendall(self, data: bytes) -> None:
        assert self.left and self.left[0] == (">", data), f"{data!r} instead of {self.left[:1]}"
        del self.left[0]

    def recv(self, size: int) -> bytes:
        assert self.left[0][0] == "<", f"nothing is said before {self.left[0]}"
        return self.left.pop(0)[1]

    def close(self) -> None:
        assert self.left == []


def shown(data: bytes) -> str:
    """Bytes on one line."""
    return data.decode("latin-1").encode("unicode_escape").decode("ascii")


if __name__ == "__main__":
    from tests.qemu_server import qemu_server

    with qemu_server("mps2-an386") as address:
        host, _, port = address.partition(":")
        recording = Recording(socket.create_connection((host, int(port))))
        converse(recording)
    Path(sys.argv[1]).write_text("\n".join(recording.lines) + "\n")
