# SPDX-License-Identifier: MIT
"""What goes wrong between this machine and a board: one line each, and the board is left as it was found."""

from __future__ import annotations

import socket
import sys
import threading
from types import SimpleNamespace

import pytest

from aidge_build.base.errors import AidgeError, CheckFailed, MissingTool
from aidge_build.boards import load_board
from aidge_build.prove.elf import read_image
from aidge_build.run.emulate.program import Program
from aidge_build.run.probe import loading, server
from aidge_build.run.probe.measure import observe
from aidge_build.run.probe.server import probe_of
from aidge_build.run.probe.session import on_board
from tests.probe_board import ERASED, Behaviour, ProbedBoard, probed
from tests.programs import build, model, needs_cross_compiler
from tests.qemu_server import free_port

pytestmark = needs_cross_compiler
BOARD = "mps2-an386"


@pytest.fixture(scope="module")
def elf(tmp_path_factory):
    return build(BOARD, model(), tmp_path_factory.mktemp("probed"))


@pytest.fixture(scope="module")
def waiting(tmp_path_factory):
    """A program that waits for something before it calls the model."""
    text = model().replace("int sum = kws_run();", "volatile int wait = 1; while (wait) { } int sum = kws_run();")
    return build(BOARD, text, tmp_path_factory.mktemp("waiting"))


def program_of(elf, run: str = "kws_run") -> Program:
    return Program(read_image(elf), load_board(BOARD), elf.parent, ("app",), True, run, (), 1 << 40)


def refusal(elf, behaviour: Behaviour, seconds: float = 5, loaded: bool = False) -> tuple[AidgeError, ProbedBoard]:
    with probed(elf, BOARD, behaviour, loaded=loaded) as (where, board):
        with pytest.raises(AidgeError) as raised:
            with on_board(program_of(elf), probe_of(where, seconds), ()) as session:
                observe(session, 1)
    assert "\n" not in str(raised.value) and raised.value.hint
    return raised.value, board


def test_a_program_that_took_a_fault_is_named_with_its_cause(tmp_path):
    register = "*(volatile unsigned *)0xE000ED28 = 0x00080000;"  # as the core writes it
    text = model().replace("int sum = kws_run();", f"{register} volatile int hang = 1; while (hang) {{ }} int sum = kws_run();")
    error, _ = refusal(build(BOARD, text, tmp_path), Behaviour(most_instructions=20_000), seconds=1)
    assert "it is at main" in str(
        error
    ) and "after a fault (CFSR 0x00080000): NOCP, an instruction of the FPU, which is off" in str(error)


def test_a_server_that_is_not_there():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(MissingTool, match="no server of a debug probe answers") as raised:
        with server.opened(probe_of(f"localhost:{port}", 1), load_board(BOARD), lambda text: None):
            pass
    assert (raised.value.code, raised.value.where) == ("PROBE", f"localhost:{port}")


@pytest.mark.parametrize("after", [0, 1, 4, 12, 40])
def test_a_server_that_falls_silent(elf, after):
    error, _ = refusal(elf, Behaviour(silent_after=after), seconds=0.2)
    assert "no answer within 0.2 s" in str(error)


@pytest.mark.requirement("PROBE")
@pytest.mark.parametrize("after", [0, 1, 4, 12, 40])
def test_a_server_that_drops_the_connection(elf, after):
    error, _ = refusal(elf, Behaviour(hangs_up_after=after))
    assert "the server ended the connection" in str(error)


def test_flash_that_cannot_be_written(elf):
    error, board = refusal(elf, Behaviour(is_flash_protected=True))
    assert "flash at 0x00000000 is not erased (the server says E01)" in str(error)
    assert board.was_left == "running"


def test_a_server_without_a_map_of_memories_whose_flash_is_none_of_its_memories(elf):
    error, _ = refusal(elf, Behaviour(has_flash_packets=False))
    assert "cannot be written (the server says E0e)" in str(error)


def test_flash_that_does_not_hold_what_was_written(elf, monkeypatch):
    monkeypatch.setattr(ProbedBoard, "_write_flash", lambda self, rest: b"OK")
    error, _ = refusal(elf, Behaviour())
    assert "do not hold the program after they were written" in str(error)


@pytest.mark.parametrize("count, says", [(0, "the server sets no breakpoints"), (1, "no hardware breakpoint is left")])
def test_a_board_without_enough_breakpoints(elf, count, says):
    error, board = refusal(elf, Behaviour(breakpoints=count))
    assert says in str(error)
    assert (board.breakpoints, board.was_left) == (set(), "running")


def test_answers_that_arrive_damaged_are_asked_for_again(elf):
    with probed(elf, BOARD, Behaviour(damaged_answers=2)) as (where, _):
        with on_board(program_of(elf), probe_of(where, 5), ()) as session:
            assert observe(session, 1).runs == 1


@pytest.mark.requirement("PROBE")
def test_a_line_that_damages_every_answer(elf):
    error, _ = refusal(elf, Behaviour(damaged_answers=1000))
    assert "an answer arrived damaged" in str(error)


def test_a_program_that_does_not_come_to_the_model(waiting):
    error, board = refusal(waiting, Behaviour(most_instructions=20_000), seconds=0.5)
    assert isinstance(error, CheckFailed)
    assert "has not come to kws_run within 0.5 s: it is at main" in str(error)
    assert (board.breakpoints, board.was_left) == (set(), "running")


def test_a_program_that_prints_for_ever_is_told_apart_from_one_that_comes_to_the_model(tmp_path):
    text = model().replace(
        "int sum = kws_run();", 'volatile int on = 1; while (on) semihosting_write0("x"); int sum = kws_run();'
    )
    error, board = refusal(build(BOARD, text, tmp_path), Behaviour(), seconds=0.3)
    assert "has not come to kws_run within 0.3 s: it is at" in str(error)
    assert (board.breakpoints, board.was_left) == (set(), "running")


def test_a_program_that_ends_too_early_is_measured_as_far_as_it_goes(elf):
    with probed(elf, BOARD) as (where, _):
        with on_board(program_of(elf), probe_of(where, 5), ()) as session:
            result = observe(session, 9)
    assert (result.runs, result.exit_code) == (2, 0)


def test_a_program_without_the_function(elf):
    with pytest.raises(AidgeError, match="has no function vww_run"):
        with on_board(program_of(elf, "vww_run"), probe_of("localhost:1", 1), ()):
            pass


def test_a_core_that_was_halted_at_its_reset_is_left_halted(elf):
    with probed(elf, BOARD, loaded=True) as (where, board):
        board.answer(b"qRcmd," + b"reset halt".hex().encode())
        with on_board(program_of(elf), probe_of(where, 5), ()) as session:
            observe(session, 1)
    assert (board.breakpoints, board.was_left) == (set(), "halted")


def test_a_board_that_is_empty_at_first_holds_the_program_afterwards(elf):
    with probed(elf, BOARD) as (where, board):
        assert set(board.machine.read(0, 64)) == {ERASED}
        with on_board(program_of(elf), probe_of(where, 5), ()):
            pass
        assert board.machine.read(0, 64) == read_image(elf).section(".vectors").content[:64]


def test_a_port_that_serves_something_else():
    def serve(listening: socket.socket) -> None:
        connection, _ = listening.accept()
        with connection:
            connection.recv(100)
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serve, args=(listening,), daemon=True)
        thread.start()
        with pytest.raises(AidgeError) as raised:
            with server.opened(probe_of(f"localhost:{listening.getsockname()[1]}", 0.3), load_board(BOARD), print):
                pass
        thread.join(5)
    assert raised.value.code == "PROBE"


@pytest.mark.parametrize("text", ["", "a b", "localhost:0", "localhost:70000", "localhost:x", "PYOCD", "a:1:2"])
def test_a_probe_that_is_neither_address_nor_runner(text):
    with pytest.raises(AidgeError) as raised:
        probe_of(text, 1)
    assert raised.value.code == "USAGE"


def test_addresses_of_servers():
    assert (probe_of("localhost:3333", 1).host, probe_of("localhost:3333", 1).port) == ("localhost", 3333)
    assert (probe_of(":2331", 1).host, probe_of("[::1]:4242", 1).host) == ("localhost", "::1")
    assert probe_of("probe-rs", 1).runner == "probe-rs"


def test_a_server_that_is_started_and_ends_at_once_says_its_last_words(monkeypatch):
    monkeypatch.setattr(server, "choose_runner", lambda board, wanted: wanted)
    command = [sys.executable, "-c", "print('probe found'); print('Error: no device found')"]
    monkeypatch.setattr(server, "serve_command", lambda runner: command)
    monkeypatch.setattr(server, "GDB_PORT", free_port())
    with pytest.raises(MissingTool, match="the server ended: Error: no device found"):
        with server.opened(probe_of("pyocd", 1), load_board(BOARD), print):
            pass


def test_a_port_that_another_server_has_is_not_shared(monkeypatch):
    monkeypatch.setattr(server, "choose_runner", lambda board, wanted: wanted)
    monkeypatch.setattr(server, "serve_command", lambda runner: [])
    with socket.create_server(("127.0.0.1", 0)) as listening:
        monkeypatch.setattr(server, "GDB_PORT", listening.getsockname()[1])
        with pytest.raises(AidgeError, match="is taken: is a server running already"):
            with server.opened(probe_of("pyocd", 1), load_board(BOARD), print):
                pass


def test_what_cannot_be_read_is_written_and_asked_once_more_unless_the_board_is_lost():
    """Erased flash of some chips is no memory to read until it is written."""

    class Board:
        is_lost, content, remote = False, b"", SimpleNamespace(features={})

        def read(self, address: int, size: int) -> bytes:
            if not self.content:
                raise AidgeError("8 B at 0x20000000 cannot be read", where="board", code="PROBE")
            return self.content

        def write(self, address: int, content: bytes) -> None:
            self.content = content

    image = SimpleNamespace(sections=[SimpleNamespace(load_address=0x20000000, content=b"program")])
    board = Board()
    assert loading.load(board, image) == 7 and board.content == b"program" and loading.load(board, image) == 0
    board.content, board.is_lost = b"", True
    with pytest.raises(AidgeError, match="cannot be read"):
        loading.load(board, image)
