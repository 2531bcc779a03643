# SPDX-License-Identifier: MIT
"""The serial port of a board: its description in the board's file, and its UART in the emulator."""

from __future__ import annotations

import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.boards import load_board
from aidge_build.run.emulate.channels import Channels
from aidge_build.run.emulate.serial_ports import EmulatedPort

# Writes that switch each port on at 115,200 baud, from the reference manuals: (offset, value).
SWITCHED_ON = {
    "stm32f401": [(0x08, 139), (0x0C, 1 << 13 | 1 << 3)],
    "stm32u575": [(0x0C, 35), (0x00, 1 | 1 << 3)],
    "stm32l4r5": [(0x0C, 8889), (0x00, 1 | 1 << 3)],
    "nrf52840": [(0x524, 0x01D7E000), (0x500, 4), (0x008, 1)],
    "rp2350": [(0x24, 6), (0x28, 33), (0x2C, 0x70), (0x30, 0x101)],
}
DATA = {"usart_v1": 0x04, "usart_v2": 0x28, "lpuart": 0x28, "nrf_uart": 0x51C, "pl011": 0x00}


@pytest.mark.parametrize("board", SWITCHED_ON)
def test_a_port_sends_when_it_is_on_at_its_speed_and_loses_bytes_that_nobody_waited_for(board):
    described = load_board(board).serial
    for writes, waits, said in (
        (SWITCHED_ON[board], True, "ab"),
        (SWITCHED_ON[board], False, "a"),
        (SWITCHED_ON[board][:-1], True, ""),
        ([(offset, value * 2) for offset, value in SWITCHED_ON[board]], True, ""),
    ):
        channels = Channels()
        port = EmulatedPort(described, channels)
        for offset, value in writes:
            port.write(port.base + offset, value)
        for byte in b"ab":
            port.write(port.base + DATA[described.kind], byte)
            for _ in range(8 if waits else 0):
                [port.read(port.base + status) for status in (0x00, 0x1C, 0x11C, 0x18)]
        assert "".join(text for _, text in channels.texts) == said


STEP = "{ register = 0x40023840, set = 1 }"
PORT = 'driver = "none.c"\nbase = 0x40004400\nclock_hz = 16000000\nport = "USB"\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (PORT.replace("base = 0x40004400\n", ""), "key 'base' is missing"),
        (PORT.replace("0x40004400", "0x40004401"), "the address of a register is expected"),
        (PORT + "baud = 9000000", "a clock of 16000000 Hz makes no 9000000 baud"),
        (PORT + "speed = 1", "unknown key 'speed'"),
        (PORT + "flash_wait_states = -1", "-1 is negative"),
        (PORT + "setup = 3", "a list of tables is expected"),
        (PORT + f"setup = [{STEP}, {{ register = 2, set = 1 }}]", "setup 2: wants a register"),
        (PORT + "setup = [{ register = 4 }]", "setup 1: wants a register"),
        (PORT + "setup = [{ register = 4, write = 1, set = 1 }]", "setup 1: wants a register"),
        (PORT + "setup = [{ register = 4, on = 1 }]", "unknown key 'on'"),
    ],
)
def test_a_wrong_serial_port_is_refused_with_its_place(text, said, tmp_path):
    (tmp_path / "none.c").write_text("")
    (tmp_path / "mine.toml").write_text(f'extends = "stm32f4"\n[serial]\n{text}\n')
    with pytest.raises(AidgeError, match=r"mine.toml: serial") as caught:
        load_board("mine", (tmp_path,))
    assert said in str(caught.value)


def test_a_step_writes_a_whole_register_or_changes_bits_or_waits(tmp_path):
    (tmp_path / "none.c").write_text("")
    steps = "{ register = 4, write = 7 }, { register = 8, clear = 3, set = 2 }, { register = 12, wait = 1 }"
    (tmp_path / "mine.toml").write_text(f'extends = "stm32f4"\n[serial]\n{PORT}setup = [{steps}]\n')
    port = load_board("mine", (tmp_path,)).serial
    assert [(step.register, step.clear, step.set, step.wait) for step in port.setup] == [
        (4, 0xFFFFFFFF, 7, 0),
        (8, 3, 2, 0),
        (12, 0, 0, 1),
    ]
    assert (
        port.baud == 115200
        and port.flash_wait_states is None
        and str(tmp_path / "none.c") in load_board("mine", (tmp_path,)).files
    )


def test_a_board_that_extends_one_with_a_port_can_have_none(tmp_path):
    (tmp_path / "same.toml").write_text('extends = "stm32f401"\n')
    (tmp_path / "none.toml").write_text('extends = "stm32f401"\nserial = {}\n')
    assert load_board("same", (tmp_path,)).serial == load_board("stm32f401").serial
    assert load_board("none", (tmp_path,)).serial is None


# Board -> (pin, alternate function, UART), from the board's user manual and the chip's datasheet; and where RCC enables both:
# (register and bit of the port's clock, of the UART's clock), from the reference manual.
NUCLEO = {
    "stm32f401": ("PA2", 7, 0x40004400, (0x40023830, 0), (0x40023840, 17)),
    "stm32f446": ("PA2", 7, 0x40004400, (0x40023830, 0), (0x40023840, 17)),
    "stm32f767": ("PD8", 7, 0x40004800, (0x40023830, 3), (0x40023840, 18)),
    "stm32g071": ("PA2", 1, 0x40004400, (0x40021034, 0), (0x4002103C, 17)),
    "stm32h743": ("PD8", 7, 0x40004800, (0x580244E0, 3), (0x580244E8, 18)),
    "stm32l4r5": ("PG7", 8, 0x40008000, (0x4002104C, 6), (0x4002105C, 0)),
    "stm32u575": ("PA9", 7, 0x40013800, (0x46020C8C, 0), (0x46020CA4, 14)),
}
GPIO = {"f4": 0x40020000, "f7": 0x40020000, "g0": 0x50000000, "h7": 0x58020000, "l4": 0x48000000, "u5": 0x42020000}


@pytest.mark.parametrize("board", NUCLEO)
def test_the_steps_of_a_nucleo_connect_one_pin_to_its_uart_and_enable_both(board):
    pin, function, base, port_clock, uart_clock = NUCLEO[board]
    port = load_board(board).serial
    gpio, letter, number = GPIO[board[5:7]], ord(pin[1]) - ord("A"), int(pin[2:])
    at = gpio + 0x400 * letter
    high, low = divmod(number, 8)
    selected = (at + 0x20 + 4 * high, 15 << 4 * low, function << 4 * low)  # AFRL, AFRH
    alternate = (at, 3 << 2 * number, 2 << 2 * number)  # MODER
    steps = [(step.register, step.clear, step.set) for step in port.setup]
    enabled = [(register, 0, 1 << bit) for register, bit in (port_clock, uart_clock)]
    assert port.base == base and steps[-2:] == [selected, alternate] and set(enabled) <= set(steps[:-2])
    assert not any(step.wait for step in port.setup)
