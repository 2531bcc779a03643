# SPDX-License-Identifier: MIT
"""Bench images: programs that measure a model on a board and print the counts on its serial port. No probe is needed."""

from __future__ import annotations

import json
import tempfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.base.installed import board_folder
from aidge_build.base.output import write_sources
from aidge_build.base.render import render_parts
from aidge_build.base.version import VERSION
from aidge_build.boards import list_boards, load_board
from aidge_build.boards.board import Board, Region
from aidge_build.boards.cores import RISCV
from aidge_build.boards.registers import SerialPort
from aidge_build.build.compile import build_program
from aidge_build.build.emit import emit
from aidge_build.build.request import CompileRequest
from aidge_build.measure.packages.seeded import INCREMENT, MULTIPLIER, SEED, expression, seeded_vectors
from aidge_build.plan.program import Layer, Program
from aidge_build.prove.elf.boot_block import IMAGE_DEFINITION, SECOND_STAGE, image_definition, second_stage
from aidge_build.prove.elf.flash_files import binary_of, hex_of
from aidge_build.prove.elf.image import Image, read_image
from aidge_build.prove.elf.uf2 import uf2_of
from aidge_build.run.toolchain import build_program as build_elf
from aidge_build.run.toolchain.compiler import find_compiler
from aidge_build.run.toolchain.runners import UF2
from aidge_build.run.verify.calling import calling_of
from aidge_build.run.verify.firmware import execute
from aidge_build.run.verify.vectors import Vectors

SCHEMA = 1
RUNS = 2
REPORTED = "aidge_reported"  # the function that an image enters after each report
_BOOT_REGION, _BOOT_BYTES = "BOOT", 256


@dataclass(frozen=True)
class BenchImage:
    """`files` are the contents by ending (`.bin`, `.hex`, `.uf2`, `.elf`), `board` is the board of the linker script, `port` the
    wire on which it prints."""

    files: Mapping[str, bytes]
    board: Board
    port: str
    flash_bytes: int


def make_image(request: CompileRequest, compiler: str) -> BenchImage:
    """Returns the image of a model for the board of `request`; `compiler` is the name and version that it prints.

    AidgeError (BOARD) for a board without a serial port, and as `build_program` if it does not compile or link.
    """
    board = request.board
    if board is None or board.serial is None:
        raise _no_port(board)
    program = build_program(request)
    program = replace(program, options=replace(program.options, trace=True))
    if not program.layers:
        raise AidgeError("has no layers: there is nothing to count", where=request.file_name, code="USAGE")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        boot = _boot_block(board, folder)
        board = with_boot_block(board)
        elf = _linked(program, board, board.serial, boot, folder, compiler)
        image = read_image(elf)
        return BenchImage(_files(image, elf, board), board, board.serial.port, len(binary_of(image)))


def with_boot_block(board: Board) -> Board:
    """Returns the board with a memory BOOT for the block that its boot ROM reads: a second stage before the vectors, a definition
    after them."""
    code = board.region("code")
    if not board.boot_block:
        return board
    added = [Region(_BOOT_REGION, code.origin, _BOOT_BYTES, "flash", ())]
    roles = code.roles
    if board.boot_block == IMAGE_DEFINITION:
        added = [
            Region("VECTORS", code.origin, _BOOT_BYTES, "flash", ("vectors",)),
            replace(added[0], origin=code.origin + _BOOT_BYTES),
        ]
        roles = tuple(role for role in roles if role != "vectors")
    begin = added[-1].end
    rest = replace(code, origin=begin, length_bytes=code.end - begin, roles=roles)
    return replace(board, regions=(*added, *(rest if region is code else region for region in board.regions)))


def digest_in_emulator(request: CompileRequest, board: Board) -> str:
    """Returns the digest that an image of the model prints, computed in the board's emulator from the same inputs."""
    program = build_program(request)
    vectors = seeded_vectors([program.view.tensor(name) for name in program.view.given], 1)
    with tempfile.TemporaryDirectory() as temporary:
        return outputs_crc32(program, execute(program, board, vectors, Path(temporary)).outputs)


def outputs_crc32(program: Program, outputs: Vectors) -> str:
    """The digest that an image prints: CRC-32 (zlib) of the stored bytes of all outputs of the first inference."""
    crc = 0
    for name in program.view.handed_out:
        tensor = program.view.tensor(name)
        crc = zlib.crc32(tensor.to_stored(numpy.asarray(outputs[name][0], tensor.dtype.numpy)).tobytes(), crc)
    return f"{crc:08x}"


def _no_port(board: Board | None) -> AidgeError:
    known = ", ".join(name for name in list_boards() if load_board(name).serial)
    if board is None:
        return AidgeError("a bench image is for a board", where="--board", hint=f"name one: {known}", code="USAGE")
    return AidgeError(
        "has no serial port: a bench image prints on one",
        where=f"board {board.name}",
        hint=f"write [serial] in its file (boards/README.md), or name one of {known}",
        code="BOARD",
    )


def _boot_block(board: Board, folder: Path) -> bytes:
    if board.boot_block == IMAGE_DEFINITION:
        return image_definition(is_riscv=board.core.stack == RISCV)
    if board.boot_block != SECOND_STAGE:
        return b""
    if not board.boot_source:
        raise AidgeError(
            "has no second stage for its boot ROM",
            where=f"board {board.name}",
            hint='boot_source = "second_stage_03h.S" in its file',
            code="BOARD",
        )
    elf, compiler = folder / "second_stage.elf", find_compiler(board)
    flags = [*board.compiler_flags, "-nostdlib", "-nostartfiles", "-Wl,-Ttext=0"]
    compiler.run([compiler.c, *flags, "-o", str(elf), board.boot_source], where=board.boot_source)
    text = read_image(elf).section(".text")
    return second_stage(text.content if text else b"")


def _linked(program: Program, board: Board, port: SerialPort, boot: bytes, folder: Path, compiler: str) -> Path:
    write_sources(emit(program), folder)
    main = folder / "main.c"
    main.write_text(render_parts(_template, "image.c", _values(program, board, port, boot, compiler)))
    return build_elf(
        board,
        [folder / program.code_file, folder / f"{program.name}_weights.c", main, Path(port.driver)],
        folder / f"{program.name}.elf",
        work_folder=folder / "objects",
        include_folders=[folder, Path(port.driver).parent, board_folder() / "serial"],
        extra_flags=program.compiler_flags,
        defines=(f"SERIAL_BASE=0x{port.base:08X}u", f"SERIAL_CLOCK_HZ={port.clock_hz}u", f"SERIAL_BAUD={port.baud}u"),
    )


def _template(name: str) -> str | None:
    place = {
        "image.c": ("aidge_build.measure.bench", "image.c.j2"),
        "owned.c": ("aidge_build.measure.packages", "common", "owned.c.j2"),
    }.get(name)
    return files(place[0]).joinpath(*place[1:]).read_text(encoding="utf-8") if place else None


def _values(program: Program, board: Board, port: SerialPort, boot: bytes, compiler: str) -> dict:
    """The values of the template."""
    call, view = calling_of(program), program.view
    return {
        "name": program.name,
        "tool": VERSION,
        "board": board,
        "serial": port,
        "runs": RUNS,
        "call": call,
        "has_state": program.memory.states.size_bytes > 0,
        "boot": list(boot),
        "boot_region": _BOOT_REGION,
        "layer_of": [number for number, layer in enumerate(program.layers) for _ in layer.outputs],
        "layers": [_c_text(_layer_line(number, layer)) for number, layer in enumerate(program.layers)],
        "image_line": _c_text(_image_line(program, board, port, compiler)),
        "inputs": [
            {"variable": buffer.variable, "elements": buffer.elements, "expression": expression(view.tensor(name))}
            for buffer, name in zip(call.inputs, view.given, strict=True)
        ],
        "outputs": [
            {"variable": buffer.variable, "bytes": view.tensor(name).size_bytes}
            for buffer, name in zip(call.outputs, view.handed_out, strict=True)
        ],
        "multiplier": MULTIPLIER,
        "increment": INCREMENT,
        "seed": SEED,
    }


def _image_line(program: Program, board: Board, port: SerialPort, compiler: str) -> str:
    """The first line of a report, up to the name of the counter."""
    known = {
        "aidge": "image",
        "schema": SCHEMA,
        "tool": VERSION,
        "compiler": compiler,
        "board": board.name,
        "cpu": board.cpu,
        "clock_hz": port.clock_hz,
        "flash_wait_states": port.flash_wait_states,
        "model_sha256": program.model_sha256,
        "layers": len(program.layers),
        "counter": "",
    }
    return _json(known).removesuffix('"}')


def _layer_line(number: int, layer: Layer) -> str:
    """The line of a layer, up to its cycles."""
    known = {
        "aidge": "layer",
        "index": number,
        "operator": layer.node.type,
        "kernel": f"{layer.kernel.library} {layer.kernel.name}",
        "macs": layer.macs,
    }
    return _json(known).removesuffix("}") + ',"cycles":'


def _json(known: dict) -> str:
    return json.dumps(known, separators=(",", ":"))


def _c_text(text: str) -> str:
    """A string of C: ASCII that JSON has escaped needs the same escapes there."""
    return json.dumps(text)


def _files(image: Image, elf: Path, board: Board) -> dict[str, bytes]:
    found = {".elf": elf.read_bytes(), ".bin": binary_of(image), ".hex": hex_of(image)}
    family = dict(board.runners).get(UF2)
    return {**found, ".uf2": uf2_of(image, int(family, 0))} if family else found
