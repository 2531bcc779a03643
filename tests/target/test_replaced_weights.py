# SPDX-License-Identifier: MIT
"""Firmware in the field gets new weights: N_bind takes what suits and refuses all else, and the verb `weights` makes it."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import os
import random
import struct
import subprocess
import tempfile
import zlib
from pathlib import Path

import numpy
import onnx
import pytest

from aidge_build.base.version import VERSION
from aidge_build.boards import load_board
from aidge_build.build.emit.blob import CRC_BYTE, HEAD_BYTES
from aidge_build.measure.bench.other_weights import with_other_weights
from aidge_build.run.emulate import run_program
from aidge_build.run.toolchain import build_program
from tests.command import Result, aidge_build
from tests.models import model
from tests.programs import EXAMPLE_MODELS, ROOT, needs_cross_compiler
from tests.retrained import retrained

DIGITS = EXAMPLE_MODELS["digits.onnx"]
SETS = 20 if "AIDGE_STRESS" in os.environ else 2
OK, POINTER, ORDER, WEIGHTS = 0, 1, 3, 4
SLOT = 64 << 10

MAIN = """#include "net.h"
#include "semihosting.h"

static union { uint64_t alignment; uint8_t bytes[SLOT]; } slot;
static int8_t input[NET_INPUT_SIZE], output[NET_OUTPUT_SIZE];

int main(void)
{
    int file = semihosting_open("weights.bin", SEMIHOSTING_READ), to = semihosting_open("output.bin", SEMIHOSTING_WRITE);
    int32_t left = semihosting_length(file);
    (void)semihosting_read(file, slot.bytes, (uint32_t)left);
    if (net_run(input, output) != NET_WEIGHTS || net_bind(slot.bytes, sizeof slot.bytes) != NET_OK)
        return 10;
    file = semihosting_open("input.bin", SEMIHOSTING_READ);
    for (left = semihosting_length(file); left > 0; left -= (int32_t)sizeof input) {
        if (semihosting_read(file, input, sizeof input) != 0u || net_run(input, output) != NET_OK)
            return 11;
        (void)semihosting_write(to, output, sizeof output);
    }
    return 0;
}
"""


def compiled(folder: Path, *words, model: Path = DIGITS) -> None:
    made = aidge_build("compile", model, "--name", "net", "--out", folder, "--update", "weights", *words)
    assert made.exit_code == 0, made.stderr


@functools.cache
def shared_library(*words) -> bytes:
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        compiled(folder, "--cpu", "host", *words)
        files = [folder / "net.c", folder / "net_weights.c"]
        subprocess.run(["gcc", "-shared", "-fPIC", "-o", folder / "net.so", *files], check=True)
        return (folder / "net.so").read_bytes()


def on_this_machine(folder: Path, *words) -> ctypes.CDLL:
    """The generated code as a shared library, with memory of its own."""
    folder.mkdir(exist_ok=True)
    (folder / "net.so").write_bytes(shared_library(*words))
    library = ctypes.CDLL(str(folder / "net.so"))
    library.net_newer.restype = ctypes.c_void_p
    return library


class Slot:
    """Bytes at an address that is a multiple of 8."""

    def __init__(self, data: bytes, size: int = SLOT):
        self._memory = ctypes.create_string_buffer(size + 8)
        self.address = -(-ctypes.addressof(self._memory) // 8) * 8
        self.write(data)

    def write(self, data: bytes, start: int = 0) -> None:
        ctypes.memmove(self.address + start, data, len(data))

    @property
    def pointer(self) -> ctypes.c_void_p:
        return ctypes.c_void_p(self.address)


def own_weights(library: ctypes.CDLL) -> bytes:
    size = ctypes.c_uint32.in_dll(library, "net_weights_bytes").value
    return bytes((ctypes.c_uint8 * size).in_dll(library, "net_weights"))


def answer(library: ctypes.CDLL, code: int = OK) -> bytes:
    scores, image = ctypes.create_string_buffer(10), bytes(range(64))
    assert library.net_run(image, scores) == code
    return scores.raw


@pytest.mark.requirement("G13")
def test_damaged_truncated_and_foreign_weights_are_refused_and_nothing_is_computed(tmp_path):
    library, draw = on_this_machine(tmp_path), random.Random(1)
    good = own_weights(library)
    assert answer(library, WEIGHTS) == bytes(10)
    for number in range(1000):
        data = bytearray(good)
        match number % 4:
            case 0:
                data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
            case 1:
                place = draw.randrange(len(data) - 40)
                data[place : place + 32] = draw.randbytes(32)
            case 2:
                del data[draw.randrange(len(data)) :]
            case 3:
                data = bytearray(draw.randbytes(draw.randrange(1, len(good))))
        size = SLOT if number % 3 else len(data)
        assert library.net_bind(Slot(bytes(data)).pointer, size) == WEIGHTS, number
        assert answer(library, WEIGHTS) == bytes(10)
    slot = Slot(good)
    for pointer, code in ((None, POINTER), (ctypes.c_void_p(slot.address + 4), POINTER), (slot.pointer, OK)):
        assert library.net_bind(pointer, len(good)) == code
    assert library.net_bind(slot.pointer, len(good) - 1) == WEIGHTS  # those in use stay
    assert answer(library) != bytes(10)


@pytest.mark.requirement("G13")
def test_a_block_whose_check_sums_are_right_and_whose_arrays_lie_elsewhere_is_refused(tmp_path):
    library = on_this_machine(tmp_path)
    good = own_weights(library)
    count, size = struct.unpack_from("<I", good, 64)[0], struct.unpack_from("<I", good, 8)[0]
    first, second, last = HEAD_BYTES, HEAD_BYTES + 4, HEAD_BYTES + 4 * (count - 1)
    inside = struct.unpack_from("<I", good, second)[0]
    places = (
        (last, size),
        (last, size + 4),
        (last, 0xFFFFFFFC),
        (first, 0),
        (first, HEAD_BYTES),
        (second, inside + 1),
        (first, inside + 4),
    )
    for place, begin in places:
        data = bytearray(good)
        struct.pack_into("<I", data, place, begin)
        data[32:64] = hashlib.sha256(data[HEAD_BYTES:]).digest()
        struct.pack_into("<I", data, CRC_BYTE, zlib.crc32(data[HEAD_BYTES:], zlib.crc32(data[:CRC_BYTE])))
        assert library.net_bind(Slot(bytes(data)).pointer, SLOT) == WEIGHTS, (place, begin)
    assert library.net_bind(Slot(good).pointer, SLOT) == OK


@pytest.mark.requirement("G13")
def test_weights_of_other_code_or_of_an_older_version_are_refused(tmp_path):
    library, slots = on_this_machine(tmp_path / "new", "--weights-version", "5"), []
    for name, words, code in (
        ("other", ("--lib", "ref", "--io", "arena", "--weights-version", "6"), WEIGHTS),
        ("older", ("--weights-version", "4"), OK),
        ("newer", ("--weights-version", "6"), OK),
    ):
        slots.append(Slot(own_weights(on_this_machine(tmp_path / name, *words))))
        assert library.net_bind(slots[-1].pointer, SLOT) == code, name
    assert library.net_bind(ctypes.c_void_p(ctypes.addressof(ctypes.c_uint8.in_dll(library, "net_weights"))), SLOT) == WEIGHTS
    assert library.net_bind(slots[-1].pointer, SLOT) == OK


def test_a_power_cut_at_any_block_of_a_write_leaves_weights_that_are_bound(tmp_path):
    library = on_this_machine(tmp_path / "old", "--weights-version", "4")
    old = own_weights(library)
    new = own_weights(on_this_machine(tmp_path / "new", "--weights-version", "5"))
    slots = Slot(old), Slot(b"\xff" * SLOT)
    newer = lambda: library.net_newer(slots[0].pointer, slots[1].pointer, SLOT)  # noqa: E731
    for written in range(0, len(new) + 256, 256):
        assert newer() == (slots[1].address if written >= len(new) else slots[0].address), written
        slots[1].write(new[written : written + 256], written)
    assert newer() == slots[1].address
    slots[0].write(bytes(256))
    assert newer() == slots[1].address
    slots[1].write(b"\0", len(new) - 1 if new[-1] else len(new) - 5)
    assert newer() in (None, slots[1].address)
    slots[1].write(bytes(4))
    assert newer() is None


def test_an_inference_that_goes_on_keeps_its_weights(tmp_path):
    library = on_this_machine(tmp_path, "--max-step", "100000")
    slot = Slot(own_weights(library))
    image, scores = bytes(64), ctypes.create_string_buffer(10)
    assert library.net_begin(image, scores) == WEIGHTS
    assert library.net_bind(slot.pointer, SLOT) == OK and library.net_begin(image, scores) == OK
    assert library.net_bind(slot.pointer, SLOT) == ORDER
    library.net_cancel()
    assert library.net_bind(slot.pointer, SLOT) == OK


@needs_cross_compiler
@pytest.mark.parametrize("board_name", ["rp2040", "mps2-an386", "mps3-an547"])
def test_one_program_computes_what_each_set_of_weights_means(board_name, tmp_path):
    compiled(tmp_path, "--board", board_name)
    (tmp_path / "main.c").write_text(MAIN.replace("SLOT", str(SLOT)))
    board = load_board(board_name)
    sources = [tmp_path / name for name in ("net.c", "net_weights.c", "main.c")]
    elf = build_program(board, sources, tmp_path / "app.elf", work_folder=tmp_path / "objects", include_folders=[tmp_path])
    program = elf.read_bytes()
    assert aidge_build("check", elf, "--board", board_name).exit_code == 0
    images = numpy.random.default_rng(4).integers(-128, 128, (4, 1, 1, 8, 8)).astype(numpy.int8)
    (tmp_path / "input.bin").write_bytes(images.tobytes())
    for seed in range(SETS):
        model = tmp_path / f"set{seed}.onnx"
        model.write_bytes((retrained if seed % 2 == 0 else with_other_weights)(DIGITS.read_bytes(), seed))
        made = aidge_build("weights", model, "--against", elf, "--out", tmp_path / "weights.bin")
        assert made.exit_code == 0 and "version 1, " in made.stdout, made
        assert run_program(elf, board, work_folder=tmp_path, count=False).exit_code == 0
        got = numpy.frombuffer((tmp_path / "output.bin").read_bytes(), numpy.int8).reshape(4, 10)
        assert numpy.array_equal(got, numpy_scores(model, images))
    assert elf.read_bytes() == program


def numpy_scores(model: Path, images: numpy.ndarray) -> numpy.ndarray:
    """What the numpy backend computes of a network that has never seen `--update`."""
    from aidge_build.prepare.onnx_backend import prepare

    prepared = prepare(onnx.load(model))
    return numpy.stack([numpy.asarray(prepared.run([image])[0]).reshape(10) for image in images])


@needs_cross_compiler
def test_weights_that_need_other_code_are_refused_with_the_layer(tmp_path):
    compiled(tmp_path, "--board", "mps2-an386")
    main = tmp_path / "main.c"
    main.write_text('#include "net.h"\nint main(void) { return net_bind(net_weights, net_weights_bytes); }\n')
    board = load_board("mps2-an386")
    sources = [tmp_path / name for name in ("net.c", "net_weights.c", "main.c")]
    elf = build_program(board, sources, tmp_path / "app.elf", work_folder=tmp_path / "objects", include_folders=[tmp_path])
    wide = onnx.load(DIGITS)
    for tensor in wide.graph.initializer:
        if tensor.name == "conv2_weights":  # two of them no longer share a halfword
            values = onnx.numpy_helper.to_array(tensor).copy()
            values[:4] = -128
            tensor.CopyFrom(onnx.numpy_helper.from_array(values, tensor.name))
    onnx.save(wide, tmp_path / "wide.onnx")
    out = tmp_path / "new.bin"
    refused = aidge_build("weights", tmp_path / "wide.onnx", "--against", elf, "--out", out)
    assert refused.exit_code == 1 and not out.exists()
    assert "layer pool1" in refused.stderr and "need other code of cortexm" in refused.stderr, refused.stderr
    earlier = tmp_path / "earlier.elf"
    earlier.write_bytes(elf.read_bytes().replace(f'"tool":"{VERSION}"'.encode(), b'"tool":"0.0.9"'))
    refused = aidge_build("weights", tmp_path / "wide.onnx", "--against", earlier, "--out", out)
    assert refused.exit_code == 1 and "version 0.0.9 made it" in refused.stderr and "aidge-build==0.0.9" in refused.stderr
    other = onnx.load(DIGITS)
    for tensor in other.graph.initializer:
        if tensor.name == "image_scale":
            tensor.CopyFrom(onnx.numpy_helper.from_array(numpy.float32(0.3), tensor.name))
    onnx.save(other, tmp_path / "other.onnx")
    refused = aidge_build("weights", tmp_path / "other.onnx", "--against", elf, "--out", out)
    assert refused.exit_code == 1 and "scale 0.300000012" in refused.stderr and "has input 'input' int8" in refused.stderr, (
        refused
    )
    assert "give the float model and --quantize SAMPLES.npz: the command keeps the firmware's scales" in refused.stderr
    refused = aidge_build("weights", DIGITS, "--against", elf, "--optimize", "size", "--out", out)
    assert (
        refused.exit_code == 1
        and "--optimize size makes other code than the firmware has, which was generated with --optimize balanced"
        in refused.stderr
    )
    assert "leave out --optimize size" in refused.stderr
    forged = tmp_path / "forged.elf"
    for word in ("--kernel-path=aa", "--updata=weights", "--update=nowhere", "-h".ljust(16)):
        forged.write_bytes(elf.read_bytes().replace(b"--update=weights", word.encode()))
        refused = aidge_build("weights", DIGITS, "--against", forged, "--out", out)
        assert refused.exit_code == 2 and not out.exists() and not refused.stdout, refused
        assert refused.stderr.count("\n") == 1 and "was generated with options that this version does not know" in refused.stderr
        assert f"the version that made the firmware: pip install aidge-build=={VERSION}" in refused.stderr


DEVICE = """#include "kws.h"
#include "semihosting.h"

static union { uint64_t alignment; uint8_t bytes[SLOT]; } slot;
static int8_t input[KWS_INPUT_SIZE], output[KWS_OUTPUT_SIZE];

int main(void)
{
    int file = semihosting_open("new.bin", SEMIHOSTING_READ), index;
    (void)semihosting_read(file, slot.bytes, (uint32_t)semihosting_length(file));
    if (kws_bind(kws_weights, kws_weights_bytes) != KWS_OK || kws_bind(slot.bytes, sizeof slot.bytes) != KWS_OK)
        return 10;
    for (index = 0; index < (int)sizeof input; index++)
        input[index] = (int8_t)(17 * index - 60);
    (void)kws_run(input, output);
    file = semihosting_open("ram.bin", SEMIHOSTING_WRITE);
    (void)semihosting_write(file, kws_record, KWS_RECORD_BYTES);
    return 0;
}
"""


NETWORKS = {"kws": (1, 1), "retrained": (-0.9, 0.8), "near": (1, 1.2), "far": (1, 3)}  # factors of weights and samples


@pytest.fixture(scope="module")
def page() -> dict[str, list[str]]:
    """The lines of docs/c-api.md, by the last file that each names."""
    text = (ROOT / "docs" / "c-api.md").read_text(encoding="utf-8").partition("## Weights that are replaced in the field")[2]
    lines = [line.split() for line in text.partition("The header of the block")[0].splitlines()]
    return {words[-1]: words[1:] for words in lines if words[:1] == ["aidge-build"]}


@pytest.fixture(scope="module")
def device(tmp_path_factory, page) -> Path:
    """A folder with networks and samples of each, and the firmware of the first one."""
    folder, random = tmp_path_factory.mktemp("device"), numpy.random.default_rng(3)
    weights = random.normal(size=(3, 8)).astype(numpy.float32)
    samples = random.normal(size=(40, 1, 8)).astype(numpy.float32)
    for name, (of_weights, of_samples) in NETWORKS.items():
        text, constants = "y = Gemm <transB = 1> (x, w)", {"w": weights * numpy.float32(of_weights)}
        file = model(text, inputs="float[1,8] x", outputs="float[1,3] y", constants=constants)
        (folder / f"{name}.onnx").write_bytes(file)
        numpy.savez(folder / f"{name}.npz", x=samples * of_samples)
    numpy.savez(folder / "vectors.npz", x=samples[:4])
    with contextlib.chdir(folder):
        assert typed(page["4"]).exit_code == 0
    (folder / "main.c").write_text(DEVICE.replace("SLOT", str(SLOT)))
    sources, objects = [folder / name for name in ("gen/kws.c", "gen/kws_weights.c", "main.c")], folder / "objects"
    build_program(load_board("stm32f4"), sources, folder / "app.elf", work_folder=objects, include_folders=[folder / "gen"])
    return folder


def typed(words: list[str], network: str = "", *more: str) -> Result:
    """A line of the page, with another network where one is named, and its samples."""
    network = network or Path(words[1]).stem
    return aidge_build(words[0], f"{network}.onnx", "--quantize", f"{network}.npz", *words[4:], *more)


@needs_cross_compiler
def test_new_samples_keep_the_scales_that_the_firmware_feeds_and_reads(device, page, monkeypatch):
    monkeypatch.chdir(device)
    for name, exit_code, exceeds in (("retrained", 0, False), ("near", 0, True), ("far", 1, True)):
        done = typed(page["new.bin"], name)
        assert done.exit_code == exit_code and Path("new.bin").exists() == (exit_code == 0), done.stderr
        assert ("values outside are clamped" in done.stdout + done.stderr) == exceeds, done
        Path("new.bin").unlink(missing_ok=True)
    forgotten = aidge_build("weights", "retrained.onnx", "--against", "app.elf", "--out", "new.bin")
    assert forgotten.exit_code == 1 and not Path("new.bin").exists()
    assert "the firmware is quantized, and this model is float: add --quantize SAMPLES.npz" in forgotten.stderr, forgotten
    beside = ("--board", "stm32f4", "--against", "app.elf", "--io-data", "vectors.npz")
    forgotten = aidge_build("verify", "retrained.onnx", *beside)
    assert forgotten.exit_code == 2 and "this model is float: add --quantize SAMPLES.npz" in forgotten.stderr, forgotten


@needs_cross_compiler
def test_a_block_is_verified_in_the_firmware_with_the_scales_that_it_keeps(device, page, monkeypatch):
    monkeypatch.chdir(device)
    assert typed(page["new.bin"]).exit_code == 0
    done = typed(page["vectors.npz"])
    assert done.exit_code == 0 and "retrained.onnx as new.bin in app.elf on stm32f4: 0 of 12 values differ" in done.stdout, done
    assert ", each byte is what this model makes for app.elf" in done.stdout
    other = typed(page["vectors.npz"], "kws", "--json")
    assert other.exit_code == 1 and other.json["differing_values"] and not other.json["block"]["is_of_model"]
    foreign = bytearray(Path("new.bin").read_bytes())
    foreign[24] ^= 1  # of the digest of the code
    struct.pack_into("<I", foreign, CRC_BYTE, zlib.crc32(foreign[HEAD_BYTES:], zlib.crc32(foreign[:CRC_BYTE])))
    Path("foreign.bin").write_bytes(foreign)
    refused = typed(page["vectors.npz"], "", "--block", "foreign.bin")
    assert refused.exit_code == 2 and "foreign.bin: is no set of weights for kws in app.elf. Hint: " in refused.stderr, refused
    constants = {"w": numpy.ones((2, 5), numpy.float32)}
    Path("wide.onnx").write_bytes(
        model("y = Gemm <transB = 1> (x, w)", inputs="float[1,5] x", outputs="float[1,2] y", constants=constants)
    )
    numpy.savez("wide.npz", x=numpy.ones((4, 1, 5), numpy.float32))
    square = {"v": numpy.eye(8, dtype=numpy.float32), "w": numpy.ones((3, 8), numpy.float32)}
    text = "h = Gemm <transB = 1> (x, v) y = Gemm <transB = 1> (h, w)"
    Path("deep.onnx").write_bytes(model(text, inputs="float[1,8] x", outputs="float[1,3] y", constants=square))
    numpy.savez("deep.npz", x=numpy.ones((4, 1, 8), numpy.float32))
    verify = page["vectors.npz"]
    forgotten = aidge_build(verify[0], verify[1], *verify[4:])
    for done, reason in (
        (typed(page["vectors.npz"], "wide", "--io-data", "wide.npz"), "another network than the firmware's: name the model"),
        (typed(page["vectors.npz"], "deep"), "the firmware computes 1 layer, the new model needs 2"),
        (typed(page["vectors.npz"], "retrained", "--optimize", "size"), "--optimize size makes other code than the firmware"),
        (typed(page["test.npz"], "deep"), "another network than the firmware's: name the model that new.bin was made of"),
        (forgotten, "this model is float: add --quantize SAMPLES.npz"),
    ):
        assert done.exit_code == 1 and reason in done.stderr and not done.stdout, done
    Path("slot.bin").write_bytes(Path("new.bin").read_bytes() + b"\xff" * 24)
    done = typed(page["vectors.npz"], "", "--block", "slot.bin")
    assert done.exit_code == 0 and "slot.bin: 24 B after the block, which nothing compares" in done.stdout, done
    older = typed(page["new.bin"], "retrained", "--weights-version", "0")
    assert older.exit_code == 0 and "a device that takes the newer ones ignores this block" in older.stdout, older
    done = typed(page["vectors.npz"])
    assert "has weights of version 0: a device that takes the newer ones ignores this block" in done.stdout, done
    words = (*page["vectors.npz"][:2], "--board", "stm32f4", "--io-data", "vectors.npz", "--quantize", "near.npz")
    for more in (("--update", "weights"), ("--against", "app.elf")):
        alone = aidge_build(*words, *more)
        assert alone.exit_code == 0 and "scales of inputs and outputs: from near.npz, as in new firmware" in alone.stdout, alone


@needs_cross_compiler
def test_a_record_of_a_device_with_new_weights_is_replayed_with_the_options_and_scales_of_its_firmware(device, page, monkeypatch):
    monkeypatch.chdir(device)
    assert typed(page["new.bin"]).exit_code == 0
    assert run_program(device / "app.elf", load_board("stm32f4"), work_folder=device, count=False).exit_code == 0
    done = typed(page["ram.bin"])
    assert done.exit_code == 0 and "replayed: inferences 1 to 1, as recorded" in done.stdout, done
    wrong = typed(page["ram.bin"], "kws")
    assert wrong.exit_code == 1 and "gave other values in the firmware" in wrong.stdout, wrong
    assert wrong.stdout.startswith("FAILED, for a reason below; kws.onnx on stm32f4: 0 of 3 values"), wrong
    refused = typed(page["ram.bin"], "far", "--quantize", "near.npz", "--record", "2")
    assert "the model that app.elf was linked with" in refused.stderr and "--elf" not in refused.stderr, refused


@needs_cross_compiler
def test_the_accuracy_of_new_weights_is_measured_in_the_firmware_that_binds_them(device, page, monkeypatch):
    monkeypatch.chdir(device)
    with numpy.load("near.npz") as file:
        samples = file["x"][:8]
    weights = onnx.numpy_helper.to_array(onnx.load("near.onnx").graph.initializer[0])
    numpy.savez("test.npz", x=samples, labels=(samples @ weights.T).reshape(8, 3).argmax(1))
    assert typed(page["new.bin"], "near").exit_code == 0
    done = typed(page["test.npz"], "near", "--json")
    assert done.exit_code == 0 and done.json["differing_values"] == 0, done
    assert [stage["where"] for stage in done.json["stages"]][2] == "new.bin in app.elf on stm32f4"
    assert done.json["stages"][0]["top1"]["correct"] == 8 and done.json["stages"][2]["top1"]["correct"] >= 7
    people = typed(page["test.npz"], "near")
    assert people.exit_code == 0 and "values outside are clamped" in people.stdout, people
    for network, more, exit_code, reason in (
        ("retrained", (), 1, "retrained.onnx: new.bin is of another model or of other samples"),
        ("retrained", ("--block", "vectors.npz"), 2, "vectors.npz: is no set of weights"),
    ):
        refused = typed(page["test.npz"], network, *more)
        assert refused.exit_code == exit_code and reason in refused.stderr, refused
    alone = aidge_build("accuracy", "retrained.onnx", "--board", "stm32f4", "--elf", "app.elf", "--labels", "test.npz")
    assert alone.exit_code == 2 and "for a model with new weights, add their block: --block FILE" in alone.stderr, alone
