# SPDX-License-Identifier: MIT
"""The host's end of `verify --serial`: damaged, cut, late and foreign answers end in one line with the reason, or do no harm."""

from __future__ import annotations

import os
import random
import socket
import struct
import zlib

import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.base.serial_line import Port, opened_port
from aidge_build.run.verify import serial_protocol
from aidge_build.run.verify.serial_protocol import GREETING, MAGIC, OUTPUTS, REFUSAL, Interface, Session, frame

WANTED = Interface("0123456789ab", 6, 4)
BAUD = 1 << 30  # no time for bytes
HEAD = 16


class Clock:
    """Time that passes only while bytes leave, and while a line is silent."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture(autouse=True)
def clock(monkeypatch) -> Clock:
    Firmware.clock = Clock()
    monkeypatch.setattr(serial_protocol, "time", Firmware.clock)
    return Firmware.clock


class Firmware:
    """A handler in Python: outputs are the first bytes of the inputs; `changed` is applied to each answer on its way."""

    where = "/dev/ttyACM0"
    clock: Clock

    def __init__(self, changed=lambda answer: answer, order=b"\x01\x02\x03\x04", interface=WANTED):
        self.changed, self.order, self.interface = changed, order, interface
        self.waiting = bytearray(b"boot message \xa1\xa1ID\r\n")

    def write(self, data: bytes, seconds: float) -> None:
        self.clock.now += 0.1
        start = data.index(MAGIC)  # zeros may be before it
        kind, number = struct.unpack_from("<xBxxI", data, start + len(MAGIC))
        payload = data[start + HEAD : -4]
        assert zlib.crc32(data[start + len(MAGIC) : -4]) == int.from_bytes(data[-4:], "little")
        self.waiting += self.changed(self.answer(kind, number, payload))

    def answer(self, kind: int, number: int, payload: bytes) -> bytes:
        if kind == 1:
            sizes = struct.pack("<II", self.interface.input_bytes, self.interface.output_bytes)
            return frame(GREETING, number, self.interface.digest.encode() + self.order + sizes)
        return frame(OUTPUTS, number, payload[: self.interface.output_bytes])

    def read(self, seconds: float) -> bytes:
        data = bytes(self.waiting[:5])  # in pieces, as a line gives them
        del self.waiting[:5]
        self.clock.now += 0 if data else seconds
        return data


def asked(firmware: Firmware, seconds: float = 10) -> bytes:
    session = Session(firmware, WANTED, seconds, BAUD)
    session.greet()
    return session.run(7, b"inputs")


def refusal(*arguments, **keywords) -> str:
    with pytest.raises(AidgeError) as caught:
        asked(Firmware(*arguments, **keywords))
    assert caught.value.code == "SERIAL" and "\n" not in str(caught.value) and str(caught.value).startswith("/dev/ttyACM0: ")
    return str(caught.value)


def only(kind: int, change):
    """A change of the answers of one kind."""
    return lambda answer: change(answer) if answer[5] == kind else answer


def test_outputs_come_behind_other_text_and_late_answers():
    late = frame(OUTPUTS, 6, b"late") + b"debug: 3\n" + frame(REFUSAL, 5, struct.pack("<II", 4, 0))
    assert asked(Firmware(only(OUTPUTS, lambda answer: late + answer))) == b"inpu"


@pytest.mark.parametrize(
    "change, reason",
    [
        (only(OUTPUTS, lambda answer: answer[:-5] + b"?" + answer[-4:]), "vector 7: the answer is damaged: its CRC is"),
        (only(OUTPUTS, lambda answer: answer[:-3]), "vector 7: the answer is damaged: 21 of its 24 B came"),
        (only(OUTPUTS, lambda answer: frame(OUTPUTS, 7, b"short")), "vector 7: the answer is damaged: its head is a1494447"),
        (only(OUTPUTS, lambda answer: frame(OUTPUTS, 7, b"inpu", 2)), "vector 7: the answer is damaged: its head is"),
        (only(OUTPUTS, lambda answer: b""), "vector 7: no answer within 10 s. Hint: the inference takes longer"),
        (lambda answer: b"", "no firmware has answered within 10 s. Hint: does it call N_serial in a loop"),
        (only(GREETING, lambda answer: answer[:-1] + bytes([answer[-1] ^ 1])), "the greeting: the answer is damaged: its CRC is"),
    ],
)
def test_a_line_that_is_cut_or_noisy_is_told(change, reason):
    assert reason in refusal(change)


@pytest.mark.parametrize(
    "words, reason",
    [
        ((1, 1), "the handler of the firmware knows no version 1 of the protocol"),
        ((2, 9), "vector 7: it arrived damaged in the firmware"),
        ((3, 6), "vector 7: the firmware expects inputs of another size than 6 B"),
        ((4, 0), "vector 7: it arrived damaged in the firmware"),
        ((5, 4), "vector 7: the model returned 4"),
        ((6, 0), "vector 7: not all of its bytes arrived in the firmware"),
        ((9, 1), "vector 7: the firmware refuses it for reason 9 (1)"),
    ],
)
def test_a_refusal_of_the_firmware_is_told(words, reason):
    assert reason in refusal(only(OUTPUTS, lambda answer: frame(REFUSAL, 7, struct.pack("<II", *words))))


@pytest.mark.requirement("SERIAL")
def test_a_firmware_with_another_model_or_order_of_bytes_is_refused():
    other = Interface("ba9876543210", 8, 4)
    assert "it was built with header ba9876543210 (8 B in, 4 B out), this model with these options makes" in refusal(
        interface=other
    )
    assert "the core stores values with the highest byte first" in refusal(order=b"\x04\x03\x02\x01")
    assert "its word 0x04030201 is 03040102 in memory" in refusal(order=b"\x03\x04\x01\x02")


def highest_first(answer: bytes) -> bytes:
    """The answer of a handler that writes all numbers of the frame in the other order of bytes."""
    number, length = struct.unpack_from("<II", answer, 8)
    body = answer[len(MAGIC) : 8] + struct.pack(">II", number, length) + answer[HEAD:-4]
    return MAGIC + body + struct.pack(">I", zlib.crc32(body))


def words_highest_first(answer: bytes) -> bytes:
    """The answer of a handler that writes version, kind and zeros as one such word, too."""
    data = highest_first(answer)
    return data[:4] + data[7:3:-1] + data[8:]


@pytest.mark.parametrize(
    "change",
    [
        highest_first,
        words_highest_first,
        only(OUTPUTS, words_highest_first),
        lambda answer: words_highest_first(frame(REFUSAL, 0xF0000000, struct.pack(">II", 1, 0))),
        only(OUTPUTS, highest_first),
        lambda answer: answer[:-4] + answer[:-5:-1],  # only the CRC
    ],
)
def test_numbers_with_the_highest_byte_first_are_told(change):
    assert "the firmware sends numbers with the highest byte first, the protocol has the lowest first" in refusal(change)


def test_no_damage_gives_wrong_outputs():
    """Bytes are changed, lost and added: the outputs are right or there are none."""
    chance, kinds = random.Random(1), set()
    for _ in range(400):

        def change(answer: bytes) -> bytes:
            data = bytearray(answer)
            for _ in range(chance.choice((0, 0, 1, 2))):
                at = chance.randrange(len(data))
                data[at : at + chance.randrange(2)] = chance.randbytes(chance.randrange(3))
            return bytes(data)

        try:
            assert asked(Firmware(change)) == b"inpu"
            kinds.add("right")
        except AidgeError as error:
            assert error.code == "SERIAL"
            kinds.add(error.what.split(":")[0])
    assert {"right", "vector 7"} <= kinds


@pytest.mark.parametrize(
    "name, baud, reason",
    [
        ("/dev/null", 115200, "is no serial device. Hint: /dev/ttyACM0, or socket://localhost:4000"),
        ("/dev/gone", 115200, "cannot be opened (No such file or directory). Hint: ls /dev/tty* lists the ports"),
        ("socket://127.0.0.1:1", 115200, "nothing answers there ("),
        ("pty", 115201, "no serial line has 115201 baud. Hint: 115200"),
    ],
)
def test_a_port_that_is_none_is_refused(name, baud, reason):
    terminal = os.openpty() if name == "pty" else ()
    try:
        with pytest.raises(AidgeError) as caught, opened_port(os.ttyname(terminal[1]) if terminal else name, baud):
            pass
    finally:
        for descriptor in terminal:
            os.close(descriptor)
    assert reason in str(caught.value)


def test_bytes_go_through_a_terminal_unchanged_in_both_directions():
    far, near = os.openpty()
    every = bytes(range(256))
    try:
        with opened_port(os.ttyname(near), 115200) as port:
            port.write(every, 1)
            assert os.read(far, 1024) == every
            os.write(far, every)
            assert port.read(1) == every and port.read(0.01) == b""
        os.close(near)
    finally:
        os.close(far)


@pytest.mark.requirement("SERIAL")
def test_a_line_that_ends_is_told():
    here, there = socket.socketpair()
    there.close()
    with here, pytest.raises(AidgeError, match="the other end has closed the line"):
        Port(here, "socket").read(1)
