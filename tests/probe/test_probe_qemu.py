# SPDX-License-Identifier: MIT
"""Programs on QEMU's boards, through its own gdb server: outputs, layers and stack are those of numpy and of the emulator.

One board; AIDGE_STRESS=1 takes all.
"""

from __future__ import annotations

import os
import socket

import numpy
import pytest

from aidge_build.boards import load_board
from aidge_build.build.compile import build_program
from aidge_build.build.inputs import add_model_arguments, load
from aidge_build.contract.reference.sequence import run_in_order
from aidge_build.prove.elf import read_image
from aidge_build.run.emulate import run_program
from aidge_build.run.emulate.program import Program
from aidge_build.run.probe import server
from aidge_build.run.probe.measure import observe
from aidge_build.run.probe.server import probe_of
from aidge_build.run.probe.session import on_board
from aidge_build.run.verify.firmware import Run, execute_as
from aidge_build.run.verify.layers import meanings
from aidge_build.run.verify.vectors import random_vectors
from tests.programs import build, model, needs_cross_compiler, needs_qemu
from tests.qemu_server import free_port, qemu_command, qemu_server
from tests.small_model import small_model

pytestmark = [needs_cross_compiler, needs_qemu]
ALL = ("mps2-an385", "mps2-an386", "mps2-an500", "mps2-an505", "mps3-an547")
BOARDS = ALL if os.environ.get("AIDGE_STRESS") else ("mps3-an547",)


def compiled(path, *words):
    import argparse

    parser = argparse.ArgumentParser()
    add_model_arguments(parser)
    return build_program(load(parser.parse_args([str(path), *words]), "small"))


@pytest.mark.parametrize("board_name", BOARDS)
def test_outputs_and_layers_are_those_of_numpy(board_name, tmp_path):
    (tmp_path / "small.onnx").write_bytes(small_model())
    program = compiled(tmp_path / "small.onnx", "--board", board_name)
    vectors = random_vectors(program.view, 3, seed=5)
    with qemu_server(board_name) as where:
        executed = execute_as(program, load_board(board_name), vectors, tmp_path, Run(trace=True, probe=probe_of(where, 10)))
    wanted = run_in_order(program.view, vectors)
    assert all(numpy.array_equal(executed.outputs[name], wanted[name]) for name in program.view.handed_out)
    meant = meanings(program.view, vectors, executed.trace)
    layers = [tensor.name for layer in program.layers for tensor in layer.outputs]
    assert len(layers) == 2 and all(numpy.array_equal(executed.trace[name], meant[name]) for name in layers)


@pytest.mark.parametrize("board_name", BOARDS)
def test_the_stack_mark_is_that_of_the_emulator(board_name, tmp_path):
    board = load_board(board_name)
    text = model().replace("int sum = kws_run();", 'semihosting_write0("hello\\n"); int sum = kws_run();')
    elf = build(board_name, text, tmp_path)
    program = Program(read_image(elf), board, tmp_path, ("app",), True, "kws_run", ("kws_conv", "kws_fc"), 1 << 40)
    with qemu_server(board_name) as where:
        with on_board(program, probe_of(where, 10), ("kws_arena",)) as session:
            result = observe(session, 2)
    emulated = run_program(elf, board, work_folder=tmp_path)
    assert result.stack_high_water_bytes == emulated.stack_high_water_bytes > 0
    assert (result.stdout, emulated.stdout) == ("hello\n", "hello\n384\n")
    assert (result.runs, result.measured.why_not) == (2, "not measured: QEMU has no cycles")


def test_the_server_of_a_runner_is_started_and_ended(monkeypatch):
    port = free_port()
    monkeypatch.setattr(server, "GDB_PORT", port)
    monkeypatch.setattr(server, "choose_runner", lambda board, wanted: wanted)
    monkeypatch.setattr(server, "serve_command", lambda runner: qemu_command("mps2-an386", port))
    with server.opened(probe_of("pyocd", 10), load_board("mps2-an386"), print) as remote:
        assert remote.ask(b"?").startswith(b"T")
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", port))
