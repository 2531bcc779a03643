# SPDX-License-Identifier: MIT
"""Memory managers of the export: what they may say, in which units and memories, and what the tool's own one plans."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy
import pytest

import aidge_build
from aidge_build import Demands
from aidge_build.base.errors import AidgeError, CheckFailed
from aidge_build.boards import load_board
from aidge_build.compat.hw_model import Memory
from aidge_build.compat.mem_info import generate_optimized_memory_info
from aidge_build.run.toolchain.build import build_program
from tests.command import aidge_build as command
from tests.models import graph, model
from tests.programs import needs_cross_compiler, needs_qemu
from tests.sanitized import sanitized
from tests.target.test_planes import Ring, library

RANDOM = numpy.random.default_rng(11)


def weights(*dims: int) -> numpy.ndarray:
    return RANDOM.normal(size=dims).astype(numpy.float32)


BRANCHES = model(
    "a = Conv<pads=[1,1,1,1]>(x, u) b = Relu(a) c = Conv<kernel_shape=[1,1]>(b, v) d = Conv<pads=[1,1,1,1]>(b, w) "
    "e = Concat<axis=1>(c, d) f = Conv<kernel_shape=[1,1]>(e, o) y = Tanh(f)",
    inputs="float[1,2,6,6] x",
    outputs="float[1,3,6,6] y",
    constants={"u": weights(4, 2, 3, 3), "v": weights(4, 4, 1, 1), "w": weights(4, 4, 3, 3), "o": weights(3, 8, 1, 1)},
)
X = {"x": weights(1, 2, 6, 6)}


def exported(folder: Path, manager, arguments: dict | None = None, **choices) -> aidge_build.SequentialScheduler:
    folder.mkdir(exist_ok=True)
    (folder / "net.onnx").write_bytes(BRANCHES)
    made = aidge_build.SequentialScheduler(aidge_build.load_onnx(folder / "net.onnx", libraries="ref"))
    aidge_build.scheduler_export(made, str(folder), "ref", manager, arguments, **choices)
    return made


def run(folder: Path) -> str:
    return subprocess.run([sanitized(folder)], capture_output=True, text=True, check=False).stdout


def test_an_export_needs_no_more_bytes_than_a_compilation(tmp_path):
    made = exported(tmp_path, generate_optimized_memory_info, test_mode=True)
    compiled = command("compile", tmp_path / "net.onnx", "--lib", "ref", "--out", tmp_path / "c", "--json")
    assert made.program.memory.arena.peak_bytes == compiled.json["arena_bytes"]
    assert made.schedule.joined and made.program.memory.peak.peak_bytes == compiled.json["peak_bytes"]
    aidge_build.generate_main_compare(str(tmp_path), made, X)
    assert run(tmp_path) == "0 values differ\n"


def in_elements(made):
    """As the inherited API's default manager counts: elements, `size` and `offset` alone."""
    offset, found = 0, {}
    for node in made.get_static_scheduling():
        found[node] = []
        for tensor in made.graph_view.output_tensors(node):
            found[node].append({"size": tensor.elements, "offset": offset})
            offset += tensor.elements
    return offset, found


def test_a_manager_may_count_elements_and_say_size_and_offset_alone(tmp_path):
    made = exported(tmp_path, in_elements)
    total = sum(tensor.size_bytes for node in made.schedule.steps for tensor in made.graph_view.output_tensors(node))
    assert made.program.memory.arena.peak_bytes == total - made.graph_view.tensor("y").size_bytes
    aidge_build.generate_main_compare(str(tmp_path), made, X)
    assert run(tmp_path) == "0 values differ\n"


def in_place(made):
    """Every output of a kernel that allows it where its input is, all others behind each other."""
    peak, found = aidge_build.compute_default_mem_info(made)
    (tanh,) = [node for node in made.get_static_scheduling() if node.type == "ReLU"]
    source = made.graph_view.producer(tanh.inputs[0])
    return peak, {**found, tanh: found[source]}


def test_a_manager_may_place_an_output_over_its_input_where_the_kernel_allows_it(tmp_path):
    model_text = "a = Neg(x) b = Relu(a) y = Neg(b)"
    view = graph(model_text, inputs="float[1,8] x", outputs="float[1,8] y")
    made = aidge_build.SequentialScheduler(view)
    aidge_build.scheduler_export(made, str(tmp_path), "ref", in_place)
    assert made.program.memory.places["a"].offset_bytes == made.program.memory.places["b"].offset_bytes
    aidge_build.generate_main_compare(str(tmp_path), made, {"x": weights(1, 8)})
    assert run(tmp_path) == "0 values differ\n"


@pytest.mark.parametrize("given, message", [({"size": 4}, "has no 'offset'"), (12, "is int, not a MemInfo or a dict")])
def test_memory_info_without_a_place_is_refused(tmp_path, given, message):
    def manager(made):
        return 64, {node: [given] for node in made.get_static_scheduling()}

    with pytest.raises(AidgeError, match=message):
        exported(tmp_path, manager)


class Sliding(Ring):
    """Keeps 16 bytes behind what it reads."""

    @classmethod
    def demands(cls, view):
        return Demands(overlap=((0, 16),), output_wrap=True, input_planes=(0,))


CHAIN = graph("a = Neg(x) b = Abs(a) c = Neg(b) d = Abs(c) y = Neg(d)", inputs="float[1,12] x", outputs="float[1,12] y")


@pytest.mark.parametrize("wrapping, arena", [(False, 96), (True, 64)])
def test_outputs_wrap_around_their_inputs_where_kernels_allow_it_and_bytes_are_saved(tmp_path, wrapping, arena):
    made = aidge_build.SequentialScheduler(CHAIN)
    used = library(Sliding, Sliding)
    aidge_build.scheduler_export(made, str(tmp_path), used, generate_optimized_memory_info, {"wrapping": wrapping})
    assert made.program.memory.arena.peak_bytes == arena
    assert any(place.plane is not None for place in made.program.memory.places.values()) == wrapping
    aidge_build.generate_main_compare(str(tmp_path), made, {"x": weights(1, 12)})
    assert run(tmp_path) == "0 values differ\n"


def too_close(made):
    """A ring that is one position smaller than the kernels ask."""
    peak, found = generate_optimized_memory_info(made, wrapping=True)
    moved = {"b": 4}
    view = made.graph_view

    def shifted(node, info):
        by = moved.get(view.output_tensors(node)[0].name, 0)
        return {**vars(info), "offset": info.offset + by, "cont_offset": info.offset + by, "cont_size": info.cont_size - by} | (
            {"wrap_size": info.wrap_size + by} if by else {}
        )

    return peak, {node: [shifted(node, info) for info in infos] for node, infos in found.items()}


def test_a_ring_in_which_a_kernel_would_overwrite_what_it_still_reads_is_refused(tmp_path):
    made = aidge_build.SequentialScheduler(CHAIN)
    with pytest.raises(CheckFailed, match="overwrites 'a' while it is read"):
        aidge_build.scheduler_export(made, str(tmp_path), library(Sliding, Sliding), too_close)


def test_tensors_lie_in_several_memories_in_the_order_of_their_priority(tmp_path):
    memories = {"slow": Memory(4096, priority=3), "fast": Memory(1216, priority=1, used=16)}
    made = exported(tmp_path, generate_optimized_memory_info, {"memory_components": memories})
    assert [part.component for part in made.program.memory.split] == [0, 1]
    assert made.program.memory.split[0].size_bytes <= 1200
    text = (tmp_path / "model.c").read_text()
    assert "model_arena_fast[" in text and 'section(".bss.aidge_slow.model")' in text
    aidge_build.generate_main_compare(str(tmp_path), made, X)
    assert run(tmp_path) == "0 values differ\n"


def test_a_kernel_sees_in_which_memory_its_output_lies(tmp_path):
    seen = {}

    class Seeing(Ring):
        @classmethod
        def demands(cls, view):
            return Demands()

        def call(self):
            if self.mem_info:
                seen[self.outputs[0].name] = (self.mem_info[0].mem_component_id, self.mem_info[0].offset)
            return super().call()

    def manager(made):
        places = {"a": (1, 0), "b": (0, 0), "c": (1, 48), "d": (0, 0), "y": (0, 0)}
        view = made.graph_view
        planes = {
            node: [{"size": 48, "offset": places[name][1], "mem_component_id": places[name][0]} for name in node.outputs]
            for node in made.get_static_scheduling()
        }
        return [48, 96], planes if view else {}

    made = aidge_build.SequentialScheduler(CHAIN)
    aidge_build.scheduler_export(made, str(tmp_path), library(Seeing, Seeing), manager)
    assert seen == {"a": (1, 0), "b": (0, 0), "c": (1, 48), "d": (0, 0)}
    aidge_build.generate_main_compare(str(tmp_path), made, {"x": weights(1, 12)})
    assert run(tmp_path) == "0 values differ\n"


def test_memories_that_do_not_hold_the_tensors_are_refused(tmp_path):
    memories = {"fast": Memory(64), "slow": Memory(128, priority=1)}
    with pytest.raises(AidgeError, match="the tensors need .* the memories have fast 64 B, slow 128 B"):
        exported(tmp_path / "out", generate_optimized_memory_info, {"memory_components": memories})


def test_a_plane_in_a_memory_without_a_peak_is_refused(tmp_path):
    def manager(made):
        peak, found = aidge_build.compute_default_mem_info(made)
        return [peak], {node: [{**vars(info), "mem_component_id": 1} for info in infos] for node, infos in found.items()}

    with pytest.raises(AidgeError, match="into memory 1, and gives 1 peaks"):
        exported(tmp_path / "out", manager)


@pytest.mark.parametrize("test_mode", [False, True])
def test_every_layer_is_compared_over_a_serial_line(tmp_path, test_mode):
    made = exported(tmp_path, generate_optimized_memory_info, test_mode=test_mode)
    aidge_build.generate_main_compare(str(tmp_path), made, X, serial=True)
    (tmp_path / "received").write_text(report := run(tmp_path))
    found = aidge_build.compare_serial(aidge_build.serial_lines(tmp_path / "received"), made, X)
    assert len(found) == (len(made.schedule.steps) if test_mode else 1) and not any(each.differing for each in found)
    other = {"x": X["x"] * numpy.float32(1.01)}
    assert aidge_build.compare_serial(["boot ok", *report.splitlines()], made, other)[-1].differing > 5
    lines = report.splitlines()
    for broken, message in (
        ([lines[0][:-1] + "0", *lines[1:]], "is damaged" if lines[0][-1] != "0" else ""),
        (lines[1:], "a line is missing before"),
        (lines[:-1], "has no end"),
        ([*lines[:-2], "E"], "ends before"),
    ):
        with pytest.raises(AidgeError, match=message):
            aidge_build.compare_serial(broken, made, X)


MANY = "AIDGE_SERIAL_PUT=board_put"


def test_the_bytes_of_a_report_go_where_the_board_sends_them(tmp_path):
    made = exported(tmp_path, generate_optimized_memory_info)
    aidge_build.generate_main_compare(str(tmp_path), made, X, serial=True)
    (tmp_path / "board.c").write_text(
        "#include <stdio.h>\nvoid board_put(char byte);\nvoid board_put(char byte) { fputc(byte, stderr); }\n"
    )
    sources = sorted(path.name for path in tmp_path.glob("*.c"))
    subprocess.run(["cc", "-O1", "-Wall", "-Werror", f"-D{MANY}", *sources, "-lm", "-o", "net"], cwd=tmp_path, check=True)
    done = subprocess.run([tmp_path / "net"], capture_output=True, text=True, check=True)
    assert not done.stdout and not aidge_build.compare_serial(done.stderr.splitlines(), made, X)[0].differing


def test_the_verb_compares_what_the_target_sent(tmp_path):
    (tmp_path / "net.onnx").write_bytes(BRANCHES)
    numpy.savez(tmp_path / "io.npz", x=X["x"][None])
    words = ["--lib", "ref", "--out", tmp_path / "out", "--io-data", tmp_path / "io.npz", "--test-mode", "--wrapping"]
    assert command("export", tmp_path / "net.onnx", *words, "--serial").exit_code == 0
    (tmp_path / "sent").write_text(run(tmp_path / "out"))
    done = command("export", tmp_path / "net.onnx", *words, "--serial", "--received", tmp_path / "sent")
    assert done.exit_code == 0 and "y: 0 of 108 values differ" in done.stdout
    numpy.savez(tmp_path / "io.npz", x=X["x"][None] * 2)
    done = command("export", tmp_path / "net.onnx", *words, "--serial", "--received", tmp_path / "sent")
    assert done.exit_code == 1 and "instead of" in done.stdout
    assert "need inputs" in command("export", tmp_path / "net.onnx", "--lib", "ref", "--out", tmp_path / "o", "--serial").stderr


UART = """#include <stdint.h>
#define UART(offset) (*(volatile uint32_t *)(0x40004000u + (offset)))
void uart_put(char byte);
void uart_put(char byte)
{
    UART(16) = 16;
    UART(8) = 1;
    while (UART(4) & 1u) {
    }
    UART(0) = (uint8_t)byte;
}
"""


@needs_qemu
@needs_cross_compiler
def test_every_layer_on_a_board_is_compared_over_its_uart(tmp_path):
    made, board = exported(tmp_path, generate_optimized_memory_info, test_mode=True), load_board("mps2-an386")
    aidge_build.generate_main_compare(str(tmp_path), made, X, serial=True)
    (tmp_path / "uart.c").write_text(UART)
    sources, defines = sorted(tmp_path.glob("*.c")), ["AIDGE_SERIAL_PUT=uart_put"]
    elf = build_program(board, sources, tmp_path / "app.elf", work_folder=tmp_path / "work", defines=defines)
    said = command("run", elf, "--board", board.name, "--emulator", "qemu", "--json").json["channels"]["uart"]
    found = aidge_build.compare_serial(said.splitlines(), made, X)
    assert len(found) == len(made.schedule.steps) > 5 and not any(each.differing for each in found)
