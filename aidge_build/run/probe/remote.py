# SPDX-License-Identifier: MIT
"""A connection to a server of GDB's remote protocol: requests, and the answers that come in time.

OpenOCD, pyOCD, J-Link, probe-rs, ST-LINK, Black Magic Probe and QEMU have such servers. Python packages that speak the protocol
steer a gdb, which this then needs, or know the probes themselves, and not their servers.
"""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Callable

from aidge_build.base.errors import AidgeError, MissingTool
from aidge_build.run.probe.packets import ACKNOWLEDGED, INTERRUPT, WANTED_AGAIN, Arrived, Garbled, Reader, framed

_TURNS = 3  # how often a packet is sent that arrived damaged
_CHUNK_BYTES = 1 << 16
_FEATURES = b"qSupported:swbreak+;hwbreak+;vContSupported+"
_SMALLEST_PACKET_BYTES = 256
_MOST_PACKET_BYTES = 1 << 14


class Remote:
    """The client's end. `seconds` is how long any one answer may take; `where` names the server in errors.

    `printed` gets the server's output for the user (packets that begin with O).
    """

    def __init__(self, stream: socket.socket, where: str, seconds: float, printed: Callable[[bytes], None] | None = None):
        self.where, self.seconds = where, seconds
        self._stream, self._reader = stream, Reader()
        self._acknowledges, self.printed = True, printed or (lambda text: None)
        self.features: dict[str, str] = {}

    def greet(self) -> None:
        """Asks for the features of the server."""
        answer = self.ask(_FEATURES).decode("ascii", "replace")
        for word in filter(None, answer.split(";")):
            name, equals, value = word.partition("=")
            self.features[name if equals else name.rstrip("+-?")] = value if equals else word[-1:]
        if self.features.get("QStartNoAckMode") == "+" and self.ask(b"QStartNoAckMode") == b"OK":
            self._acknowledges = False

    @property
    def packet_bytes(self) -> int:
        """The most bytes of a packet that the server takes."""
        try:
            size = int(self.features.get("PacketSize", ""), 16)
        except ValueError:
            size = 0
        return min(max(size, _SMALLEST_PACKET_BYTES), _MOST_PACKET_BYTES)

    def ask(self, data: bytes, seconds: float | None = None) -> bytes:
        """Returns the answer to a packet; AidgeError if none comes in time."""
        self.send(data)
        return self.answer(self.seconds if seconds is None else seconds)

    def send(self, data: bytes) -> None:
        """Sends a packet, and repeats it if it arrived damaged."""
        packet = framed(data)
        for _ in range(_TURNS):
            self._write(packet)
            if not self._acknowledges:
                return
            mark = self._next(self.seconds, time.monotonic() + self.seconds, lambda found: found.data is None)
            if mark.mark == ACKNOWLEDGED:
                return
        raise self.failure(f"the server could not read a packet, sent {_TURNS} times", hint="is the cable or the network sound?")

    def answer(self, seconds: float) -> bytes:
        """Returns the next packet that is no console output; console output goes to `printed`."""
        end = time.monotonic() + seconds
        while True:
            data = self._sound_packet(seconds, end)
            if not (data[:1] == b"O" and data != b"OK"):
                return data
            with contextlib.suppress(ValueError):
                self.printed(bytes.fromhex(data[1:].decode("ascii", "replace")))

    def interrupt(self) -> None:
        """Asks the server to stop the core. The server then answers the packet that made the core run."""
        self._write(INTERRUPT)

    def close(self) -> None:
        """Ends the connection, without a word."""
        with contextlib.suppress(OSError):
            self._stream.close()

    def failure(self, what: str, hint: str = "") -> AidgeError:
        """Returns the error of a server that does not work as it should."""
        return AidgeError(what, where=self.where, hint=hint, code="PROBE")

    def _sound_packet(self, seconds: float, end: float) -> bytes:
        for _ in range(_TURNS):
            found = self._next(seconds, end, lambda found: found.data is not None)
            if found.is_sound:
                if self._acknowledges:
                    self._write(ACKNOWLEDGED)
                return found.data or b""
            if not self._acknowledges:
                break
            self._write(WANTED_AGAIN)
        raise self.failure("an answer arrived damaged", hint="is the cable or the network sound?")

    def _next(self, seconds: float, end: float, wanted: Callable[[Arrived], bool]) -> Arrived:
        """Returns the next arrival that is `wanted`, and drops all arrivals before it."""
        while True:
            try:
                found = self._reader.take()
            except Garbled as reason:
                raise self.failure(f"the server sends what is no packet: {reason}", hint=_NO_SERVER) from None
            if found is None:
                self._read(end, seconds)
            elif wanted(found):
                return found

    def _read(self, end: float, seconds: float) -> None:
        left = end - time.monotonic()
        if left <= 0:
            raise NoAnswer(self.where, seconds)
        try:
            self._stream.settimeout(left)
            data = self._stream.recv(_CHUNK_BYTES)
        except TimeoutError:
            raise NoAnswer(self.where, seconds) from None
        except OSError as error:
            raise self._dropped(error) from None
        if not data:
            raise self._dropped(None)
        self._reader.add(data)

    def _write(self, data: bytes) -> None:
        try:
            self._stream.settimeout(self.seconds)
            self._stream.sendall(data)
        except OSError as error:
            raise self._dropped(error) from None

    def _dropped(self, error: OSError | None) -> AidgeError:
        reason = f": {error.strerror}" if error is not None and error.strerror else ""
        return Dropped(self.where, reason)


_NO_SERVER = "name the port where the probe's program serves gdb (OpenOCD and pyOCD 3333, J-Link 2331, ST-LINK 61234)"


class Dropped(AidgeError):
    """The server ended the connection."""

    def __init__(self, where: str, reason: str):
        super().__init__(
            f"the server ended the connection{reason}",
            where=where,
            hint="look at what it printed; does another gdb use it, or has the probe lost its board?",
            code="PROBE",
        )


class NoAnswer(AidgeError):
    """No answer came in time."""

    def __init__(self, where: str, seconds: float):
        super().__init__(
            f"no answer within {seconds:g} s",
            where=where,
            hint="--probe-seconds waits longer; or does this port serve something else than gdb?",
            code="PROBE",
        )


def connect(host: str, port: int, seconds: float, printed: Callable[[bytes], None] | None = None) -> Remote:
    """Returns a connection to the server at this address, with its features known; MissingTool if no server listens."""
    where = f"{host}:{port}"
    try:
        stream = socket.create_connection((host, port), timeout=seconds)
    except OSError as error:
        raise MissingTool(
            f"no server of a debug probe answers ({error.strerror or error})",
            where=where,
            hint=f"start it first, or name a runner of the board to start it: --probe pyocd; {_NO_SERVER}",
            code="PROBE",
        ) from None
    stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    remote = Remote(stream, where, seconds, printed)
    try:
        remote.greet()
    except BaseException:
        remote.close()
        raise
    return remote
