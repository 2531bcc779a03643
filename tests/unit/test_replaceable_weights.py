# SPDX-License-Identifier: MIT
"""Weights that can be replaced: no code depends on their values, and a block of them is whole, or refused. No compiler."""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import zlib
from pathlib import Path

import numpy
import onnx
import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.base.source_files import Sources
from aidge_build.build.compile import compile, price_of_update
from aidge_build.build.emit import emit, template
from aidge_build.build.emit.blob import ALIGNMENT, CRC_BYTE, HEAD_BYTES, SIZE_BYTE, make_blob, read_blob
from aidge_build.build.inputs import add_model_arguments, load
from aidge_build.cli.firmware_code import requested_for
from aidge_build.measure.bench.other_weights import with_other_weights
from aidge_build.plan.constant_arrays import Array
from aidge_build.plan.options import Options
from aidge_build.plan.program import Program
from tests.command import aidge_build
from tests.emitted import chain, changed
from tests.programs import EXAMPLE_MODELS
from tests.quantized_graphs import QuantizedGraph
from tests.retrained import retrained

DIGITS = EXAMPLE_MODELS["digits.onnx"]
ARRAYS = (Array("a", numpy.arange(5, dtype=numpy.int8), ""), Array("b", numpy.arange(3, dtype=numpy.int64), ""))


def replaceable(path: Path, board: str, *words: str) -> Sources:
    parser = argparse.ArgumentParser()
    add_model_arguments(parser)
    return compile(load(parser.parse_args([str(path), "--board", board, "--update", "weights", *words]), "net"))


def test_a_block_holds_each_array_at_a_multiple_of_its_alignment():
    data = make_blob(ARRAYS, "0123456789ab", "ba9876543210", 7)
    words = numpy.frombuffer(data[: len(data) // 4 * 4], "<u4")
    first, second = words[HEAD_BYTES // 4 :][:2]
    assert second % 8 == 0 and data[first : first + 5] == ARRAYS[0].data and data[second : second + 24] == ARRAYS[1].data
    body = zlib.crc32(data[HEAD_BYTES:], zlib.crc32(data[:CRC_BYTE]))
    assert words[SIZE_BYTE // 4] == len(data) and words[CRC_BYTE // 4] == body and (SIZE_BYTE % 4, CRC_BYTE % 4) == (0, 0)
    assert data[:8] == b"AIDW" + (1).to_bytes(4, "little"), "blocks of this format are in the field"
    assert max(array.alignment for array in ARRAYS) == ALIGNMENT, "no element is wider than that of int64"
    head = read_blob(data + b"behind it", "F.bin")
    assert (head.size_bytes, head.version, head.interface, head.layout) == (len(data), 7, "0123456789ab", "ba9876543210")


@pytest.mark.parametrize("arrays, size", [((), 72), (ARRAYS, 112), (ARRAYS[::-1], 112), (ARRAYS[:1], 84)])
def test_a_block_of_any_number_of_arrays_ends_after_a_whole_word(arrays, size):
    data = make_blob(arrays, "0123456789ab", "ba9876543210", 7)
    assert read_blob(data, "F.bin").size_bytes == len(data) == size


@pytest.mark.requirement("WEIGHTS")
def test_a_block_with_any_other_byte_or_length_is_refused():
    data = make_blob(ARRAYS, "0123456789ab", "ba9876543210", 7)
    for place in range(len(data)):
        damaged = bytearray(data)
        damaged[place] ^= 1 << place % 8
        with pytest.raises(AidgeError) as caught:
            read_blob(bytes(damaged), "F.bin")
        assert caught.value.code == "WEIGHTS", place
    for length in range(len(data)):
        with pytest.raises(AidgeError):
            read_blob(data[:length], "F.bin")


def forged(data: bytes, word: int, value: int) -> bytes:
    """The block with another word, and with the check sums of its bytes."""
    changed = bytearray(data)
    changed[4 * word : 4 * word + 4] = value.to_bytes(4, "little")
    changed[32:64] = hashlib.sha256(changed[HEAD_BYTES:]).digest()
    changed[CRC_BYTE : CRC_BYTE + 4] = zlib.crc32(changed[HEAD_BYTES:], zlib.crc32(changed[:CRC_BYTE])).to_bytes(4, "little")
    return bytes(changed)


@pytest.mark.requirement("WEIGHTS")
def test_a_block_with_right_check_sums_and_a_wrong_head_is_refused():
    data = make_blob(ARRAYS, "0123456789ab", "ba9876543210", 7)
    size, first, second = len(data), HEAD_BYTES + 8, HEAD_BYTES + 16
    for word, value in ((2, size), (3, 8), (16, 2), (18, first), (18, second), (19, first), (19, size - 1)):
        assert read_blob(forged(data, word, value), "F.bin").size_bytes == size, (word, value)
    for word, value in (
        (0, 1),
        (1, 2),
        (2, size + 1),
        (16, 1000),
        (18, first - 1),
        (18, second + 1),
        (19, first - 1),
        (19, size),
    ):
        with pytest.raises(AidgeError) as caught:
            read_blob(forged(data, word, value), "F.bin")
        assert caught.value.code == "WEIGHTS", (word, value)
    with pytest.raises(AidgeError, match="of format 9, this version reads 1"):
        read_blob(forged(data, 1, 9), "F.bin")
    room = (size - HEAD_BYTES) // 4  # of their begins, before any of them is read
    for count, what in ((room, "an array begins outside of it"), (room + 1, f"has {size} of its {size} bytes")):
        with pytest.raises(AidgeError, match=what):
            read_blob(forged(data, 16, count), "F.bin")


@pytest.mark.parametrize("board", ["rp2040", "mps2-an385", "mps2-an386", "mps3-an547"])
def test_the_code_is_the_same_for_other_weights_and_other_scales(board, tmp_path):
    wanted, others = replaceable(DIGITS, board), tmp_path / "other.onnx"
    for seed, change in ((1, retrained), (2, retrained), (3, with_other_weights)):
        others.write_bytes(change(DIGITS.read_bytes(), seed))
        found = replaceable(others, board)
        assert found.files["net.c"] == wanted.files["net.c"] and found.files["net.h"] == wanted.files["net.h"]
        assert found.blob != wanted.blob
    stays = load_without(DIGITS, board)
    assert stays.files["net.c"] != wanted.files["net.c"] and not stays.blob


def load_without(path: Path, board: str) -> Sources:
    parser = argparse.ArgumentParser()
    add_model_arguments(parser)
    return compile(load(parser.parse_args([str(path), "--board", board]), "net"))


def test_names_of_nodes_and_tensors_are_no_part_of_what_weights_are_made_for(tmp_path):
    renamed = onnx.load(DIGITS)
    for node in renamed.graph.node:
        node.name = f"another {node.name}"
    onnx.save(renamed, tmp_path / "renamed.onnx")
    before, after = replaceable(DIGITS, "mps2-an386"), replaceable(tmp_path / "renamed.onnx", "mps2-an386")
    assert before.files["net.c"] != after.files["net.c"]
    assert before.blob == after.blob


def test_what_stands_around_layers_is_no_part_of_what_weights_are_made_for(monkeypatch):
    """Firmware of today gets weights from a later version, whose checks of pointers, hooks and comments may be others."""
    before, plain = replaceable(DIGITS, "rp2040").blob, template._text

    def text(name: str) -> str:
        changed = plain(name).replace("return 1;", "return 1 + 0;") if name.startswith("model/") else plain(name)
        return changed.replace("/* Layers stay", "/* Layers are")

    monkeypatch.setattr(template, "_text", text)
    assert replaceable(DIGITS, "rp2040").blob == before


def test_another_kernel_and_another_number_that_it_gets_are_another_layout():
    layouts = set()
    for old, new in (("y[i] =", "y[i] ="), ("y[i] =", "y[i] = 1 +"), ("/* y =", "/* z =")):
        program = chain(options=Options(update="weights"))
        files = {name: data.replace(old.encode(), new.encode()) for name, data in program.library_files["toy"].items()}
        layouts.add(layout_of(dataclasses.replace(program, library_files={"toy": files})))
    assert len(layouts) == 2
    assert layout_of(chain(count=7, options=Options(update="weights"))) not in layouts


def placed_at(program: Program, offset: int) -> Program:
    """The same calls, with all buffers of the arena so many bytes further on."""
    placements = tuple(
        dataclasses.replace(one, offset_bytes=one.offset_bytes + offset) for one in program.memory.arena.placements
    )
    arena = dataclasses.replace(program.memory.arena, placements=placements, peak_bytes=program.memory.arena.peak_bytes + offset)
    places = {
        name: dataclasses.replace(place, offset_bytes=place.offset_bytes + offset) if place.kind == "arena" else place
        for name, place in program.memory.places.items()
    }
    scratch = [None if one.scratch_offset_bytes is None else one.scratch_offset_bytes + offset for one in program.layers]
    layers = [dataclasses.replace(one, scratch_offset_bytes=at) for one, at in zip(program.layers, scratch)]
    return changed(program, arena=arena, places=places, layers=tuple(layers))


def test_another_plan_is_the_same_layout_and_another_way_of_the_data_is_not():
    program = chain(options=Options(update="weights"))
    later = placed_at(program, 64)
    one, other = emit(program), emit(later)
    assert one.files["toy.h"] != other.files["toy.h"] and one.files["toy.c"] != other.files["toy.c"]
    assert one.blob == other.blob
    x = program.view.tensor("x")
    rewired = dataclasses.replace(program.layers[1], inputs=(x,))
    assert layout_of(dataclasses.replace(program, layers=(program.layers[0], rewired))) != layout_of(program)


def layout_of(program: Program) -> str:
    return emit(program).manifest["claim"]["update"]["layout"]


def test_another_library_is_another_layout():
    fast, portable = replaceable(DIGITS, "mps2-an386"), replaceable(DIGITS, "mps2-an386", "--lib", "ref")
    assert fast.manifest["claim"]["update"]["layout"] != portable.manifest["claim"]["update"]["layout"]
    assert fast.manifest["claim"]["update"]["ports"] == portable.manifest["claim"]["update"]["ports"]


def test_a_version_belongs_to_weights_that_can_be_replaced_and_fits_a_word(tmp_path):
    for words, reason in (
        (("--weights-version", "3"), "--weights-version: works only with --update"),
        (("--update", "weights", "--weights-version", str(1 << 32)), "--weights-version: is a number from 0 to 4294967295"),
    ):
        refused = aidge_build("compile", DIGITS, "--out", tmp_path, "--board", "rp2040", *words)
        assert refused.exit_code == 2 and reason in refused.stderr
    assert read_blob(replaceable(DIGITS, "rp2040", "--weights-version", "3").blob, "").version == 3


def test_the_price_of_channels_that_are_constant_today_is_said():
    kinds = numpy.zeros(12, int)
    kinds[[1, 3, 6, 11]] = 1
    net = QuantizedGraph((1, 3, 5, 4))
    (notice,) = price_of_update(net.view(net.convolution(net.convolution("x", 12, 3, pad=1, dead=kinds), 5)))
    assert notice.startswith(
        "update='weights' computes channels that are constant with these weights: 7,680 multiply-accumulates"
    )
    assert not price_of_update(net.view(net.convolution("x", 5)))


def test_firmware_for_a_board_of_the_users_own_says_to_give_its_folder_again():
    parser = argparse.ArgumentParser()
    add_model_arguments(parser)
    with pytest.raises(AidgeError) as caught:
        requested_for(parser.parse_args([str(DIGITS), "--board", "node"]), "net")
    assert caught.value.what == "there is no board 'node'"
    assert caught.value.hint.startswith(
        "the firmware was generated for a board of your own: give its folder again, --board-path DIR"
    )
