# SPDX-License-Identifier: MIT
"""The UART of a board's serial port (`[serial]`), for sending only: the bytes become text of a channel.

A byte arrives only if the port is switched on and its divider makes the baud rate of the board's file within 2 %. A byte that is
written while the previous byte is on its way is lost, as on a board.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from aidge_build.boards.registers import SerialPort
from aidge_build.run.emulate.channels import Channels

CHANNEL = "serial"
BYTES = 0x1000
_TOLERANCE = 0.02  # receivers take a few per cent for all bits of a byte
_BUSY_READS = 3  # of the status register, before there is room for another byte
_Words = Mapping[int, int]


@dataclass(frozen=True)
class Uart:
    """A kind of UART by the offsets of its registers: `data` takes a byte; `status` has the bits `ready` while there is room, or
    lacks them, where `inverted`. The bits of `enabled` switch it on; `baud` computes the rate from registers and clock. `clears`:
    the program clears the status by writing it, and the status is set when a byte was sent."""

    data: int
    status: int
    ready: int
    enabled: Mapping[int, int]
    baud: Callable[[_Words, int], float]
    inverted: bool = False
    clears: bool = False


def _by_divider(register: int, times: int = 1) -> Callable[[_Words, int], float]:
    return lambda words, clock: times * clock / max(1, words.get(register, 0))


def _pl011_baud(words: _Words, clock: int) -> float:
    return 4 * clock / max(1, (words.get(0x24, 0) << 6) + words.get(0x28, 0))


# The register offsets and bits are the same as in the drivers, boards/serial/*.c.
UARTS = {
    "usart_v1": Uart(0x04, 0x00, 1 << 7, {0x0C: 1 << 13 | 1 << 3}, _by_divider(0x08)),
    "usart_v2": Uart(0x28, 0x1C, 1 << 7, {0x00: 1 << 0 | 1 << 3}, _by_divider(0x0C)),
    "lpuart": Uart(0x28, 0x1C, 1 << 7, {0x00: 1 << 0 | 1 << 3}, _by_divider(0x0C, 256)),
    "nrf_uart": Uart(
        0x51C, 0x11C, 1, {0x500: 4, 0x008: 1}, lambda words, _: words.get(0x524, 0) * 16_000_000 / (1 << 32), clears=True
    ),
    "pl011": Uart(0x00, 0x18, 1 << 5, {0x30: 1 << 0 | 1 << 8, 0x2C: 3 << 5}, _pl011_baud, inverted=True),
}


class EmulatedPort:
    """The registers of one UART at `base`."""

    def __init__(self, port: SerialPort, channels: Channels):
        self.base = port.base
        self._port, self._uart, self._channels = port, UARTS[port.kind], channels
        self._words: dict[int, int] = {}
        self._busy = 0
        self._has_sent = False

    def holds(self, address: int) -> bool:
        """Whether the register belongs to this UART."""
        return self.base <= address < self.base + BYTES

    def read(self, address: int) -> int:
        """The word of a register; each read of the status brings the byte on its way nearer to its end."""
        offset, uart = address - self.base, self._uart
        if offset != uart.status:
            return self._words.get(offset, 0)
        self._busy = max(0, self._busy - 1)
        is_ready = not self._busy and (self._has_sent or not uart.clears)
        return uart.ready if is_ready != uart.inverted else 0

    def write(self, address: int, value: int) -> None:
        """Writes a register; the data register sends."""
        offset, uart = address - self.base, self._uart
        if offset == uart.data:
            self._send(value & 0xFF)
        elif offset == uart.status and uart.clears:
            self._has_sent = False
        else:
            self._words[offset] = value

    def _send(self, byte: int) -> None:
        uart = self._uart
        if self._busy or not self._is_on():
            return
        self._busy, self._has_sent = _BUSY_READS, True
        if abs(uart.baud(self._words, self._port.clock_hz) / self._port.baud - 1) <= _TOLERANCE:
            self._channels.say(CHANNEL, bytes([byte]))

    def _is_on(self) -> bool:
        return all(self._words.get(offset, 0) & bits == bits for offset, bits in self._uart.enabled.items())


def emulated_port(port: SerialPort | None, channels: Channels) -> EmulatedPort | None:
    """Returns the UART of a board; None without a port, or for a driver without an emulation."""
    return EmulatedPort(port, channels) if port is not None and port.kind in UARTS else None
