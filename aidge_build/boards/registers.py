# SPDX-License-Identifier: MIT
"""Registers of a board as its file describes them: the clock of a memory, and the serial port (`[serial]`): a driver in C and the
steps before it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aidge_build.base.errors import AidgeError
from aidge_build.base.settings import CODE, check_keys

_KEYS = {
    "driver": str,
    "base": int,
    "clock_hz": int,
    "baud": int,
    "flash_wait_states": int,
    "port": str,
}
_REQUIRED = ("driver", "base", "clock_hz", "port")
_CLOCK_KEYS = {"register": int, "bits": int}
_STEP_KEYS = {"register": int, "write": int, "clear": int, "set": int, "wait": int}
_BAUD = 115200
_WORD = 1 << 32


@dataclass(frozen=True)
class RegisterStep:
    """One step before the driver starts: the bits `clear` of the register become 0 and the bits `set` become 1; then the program
    waits until all bits of `wait` are 1. A register that is written as a whole has all bits in `clear`."""

    register: int
    clear: int
    set: int
    wait: int


@dataclass(frozen=True)
class SerialPort:
    """`driver` is a file in C, `base` the address of the UART, `clock_hz` what core and UART run at after the steps of `setup`;
    `flash_wait_states` are the flash's wait states at this clock, None if unknown; `port` is the wire, for people."""

    driver: str
    base: int
    clock_hz: int
    baud: int
    flash_wait_states: int | None
    port: str
    setup: tuple[RegisterStep, ...]

    @property
    def kind(self) -> str:
        """The name of the driver: `usart_v1`."""
        return Path(self.driver).stem


def read_clock(table: object, where: str) -> tuple[int, int]:
    """Returns (register, bits) of the table `clock` of a memory; AidgeError (BOARD) where they are none."""
    check_keys(table, _CLOCK_KEYS, where)
    assert isinstance(table, dict)
    register, bits = table.get("register", -1), table.get("bits", 0)
    if not (_is_register(register) and 0 < bits < _WORD):
        raise AidgeError(
            "wants a register's address and the bits to set in it",
            where=where,
            code=CODE,
            hint="clock = { register = 0x580244DC, bits = 0x20000000 }",
        )
    return register, bits


def read_serial(table: Mapping[str, Any], where: str) -> SerialPort:
    """The port of the table `[serial]`; AidgeError (BOARD) for an unknown key or a wrong value."""
    steps = table.get("setup", [])
    check_keys({key: value for key, value in table.items() if key != "setup"}, _KEYS, where)
    for key in _REQUIRED:
        if key not in table:
            raise AidgeError(f"key '{key}' is missing", where=where, code=CODE)
    baud, clock, waits = table.get("baud", _BAUD), table["clock_hz"], table.get("flash_wait_states")
    if not 0 < 2 * baud <= clock:
        raise AidgeError(f"a clock of {clock} Hz makes no {baud} baud", where=where, code=CODE)
    if waits is not None and waits < 0:
        raise AidgeError(f"key 'flash_wait_states': {waits} is negative", where=where, code=CODE)
    if not _is_register(table["base"]):
        raise AidgeError("key 'base': the address of a register is expected", where=where, hint="base = 0x40004400", code=CODE)
    if not isinstance(steps, list):
        raise AidgeError("key 'setup': a list of tables is expected", where=where, code=CODE)
    return SerialPort(
        table["driver"],
        table["base"],
        clock,
        baud,
        waits,
        table["port"],
        tuple(_step(step, f"{where}: setup {number}") for number, step in enumerate(steps, 1)),
    )


def _step(table: object, where: str) -> RegisterStep:
    check_keys(table, _STEP_KEYS, where)
    assert isinstance(table, dict)
    register = table.get("register", -1)
    bits = {key: table[key] for key in ("write", "clear", "set", "wait") if key in table}
    is_whole = "write" in bits
    if not (_is_register(register) and bits and all(0 <= value < _WORD for value in bits.values())) or (
        is_whole and {"clear", "set"} & set(bits)
    ):
        raise AidgeError(
            "wants a register, and bits to clear, to set or to wait for, or a word to write",
            where=where,
            code=CODE,
            hint="{ register = 0x40023840, set = 0x00020000 }",
        )
    clear = _WORD - 1 if is_whole else bits.get("clear", 0)
    return RegisterStep(register, clear, bits.get("write", bits.get("set", 0)), bits.get("wait", 0))


def _is_register(address: int) -> bool:
    return 0 <= address < _WORD and address % 4 == 0
