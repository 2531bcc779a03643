# SPDX-License-Identifier: MIT
"""A firmware with a model, and the same with one mistake each: what a page about wrong results must lead to."""

from __future__ import annotations

import functools
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy
from aidge_build.quantization import quantize
from aidge_build.quantization.scheme import Scheme

from aidge_build import net
from aidge_build.boards import load_board
from aidge_build.contract.reference.sequence import run_in_order
from tests.command import aidge_build
from tests.compiled import program_of

SOURCES = Path(__file__).parent / "target" / "bench"
AXES, SAMPLES, CLASSES, WINDOWS = 3, 32, 4, 6
_FPU = {"cortex-m4": "fpv4-sp-d16", "cortex-m7": "fpv5-sp-d16"}


@dataclass(frozen=True)
class Chip:
    """A board, its core, and the begin of its flash and RAM."""

    board: str
    core: str
    flash: int
    ram: int


F4 = Chip("stm32f4", "cortex-m4", 0x08000000, 0x20000000)
MISTAKES = {  # of the firmware alone, and the macro that makes each
    "scale": "-DWRONG_SCALE",
    "order": "-DWRONG_ORDER",
    "fpu": "-DWITHOUT_FPU",
    "callers": "-DTWO_CALLERS",
    "clock": "-DWITHOUT_PLL",
    "answer": "-DUNSIGNED_SCORES",
}
MPS2 = Chip("mps2-an386", "cortex-m4", 0x00000000, 0x20000000)
M7 = Chip("mps2-an500", "cortex-m7", 0x00000000, 0x20000000)


def gestures(count: int, seed: int) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Simulated accelerations in g [count, axis, 1, sample], and classes: rest, shaken on x, on y, a circle."""
    random = numpy.random.default_rng(seed)
    time = numpy.arange(SAMPLES) / SAMPLES
    windows, classes = random.normal(0, 0.08, (count, AXES, 1, SAMPLES)), random.integers(0, CLASSES, count)
    windows[:, 2] += 1.0
    for window, kind in zip(windows, classes, strict=True):
        turns, phase, strength = random.uniform(2, 5), random.uniform(0, 6.28), random.uniform(0.6, 1.2)
        wave = strength * numpy.sin(6.28 * turns * time + phase)
        if kind:
            window[(0, 0, 1, 0)[kind], 0] += wave
        if kind == 3:
            window[2, 0] += strength * numpy.cos(6.28 * turns * time + phase)
    return windows.astype(numpy.float32), classes


@functools.cache
def trained(seed: int, *, by_rows: bool = False) -> bytes:
    """A float network: random filters, their largest value over time, and a layer that least squares fit. `by_rows`: its input
    has a row for each sample, in place of one for each axis."""
    random = numpy.random.default_rng(seed)
    filters = random.normal(0, 0.5, (12, AXES, 1, 5)).astype(numpy.float32)
    bias = random.normal(0, 0.5, 12).astype(numpy.float32)
    windows, classes = gestures(600, seed + 1)
    parts = numpy.lib.stride_tricks.sliding_window_view(windows[:, :, 0], 5, 2)
    found = numpy.maximum(numpy.einsum("bctk,fck->bft", parts, filters[:, :, 0]) + bias[:, None], 0).max(2)
    fitted = numpy.linalg.lstsq(numpy.hstack([found, numpy.ones((len(found), 1))]), numpy.eye(CLASSES)[classes], rcond=None)[0]
    graph = net.Graph("gesture")
    shaped = filters.transpose(0, 1, 3, 2) if by_rows else filters
    kept = [graph.parameter(name, value.astype(numpy.float32)) for name, value in (("w", shaped), ("b", bias))]
    if by_rows:
        windows = net.Transpose(graph.input("x", (1, SAMPLES, 1, AXES)), perm=[0, 3, 1, 2])
    else:
        windows = graph.input("x", (1, AXES, 1, SAMPLES))
    hidden = net.MaxPool(net.Relu(net.Conv(windows, *kept)), kernel_shape=[28, 1] if by_rows else [1, 28])
    last = [graph.parameter(name, value.astype(numpy.float32)) for name, value in (("v", fitted[:12]), ("o", fitted[12]))]
    graph.output(net.Gemm(net.Flatten(hidden), *last), "scores")
    return graph.onnx()


def write_project(folder: Path) -> None:
    """Writes gesture.onnx, other.onnx (another training of the network), test.npz, and the windows that the firmware senses."""
    folder.mkdir(parents=True, exist_ok=True)
    samples, _ = gestures(100, 8)
    for name, seed in (("gesture", 1), ("other", 50)):
        (folder / f"{name}.onnx").write_bytes(quantize(trained(seed), {"x": samples}, Scheme()))
    windows, classes = gestures(200, 7)
    numpy.savez(folder / "test.npz", x=windows, labels=classes)
    numpy.savez(folder / "vectors.npz", **notebook(folder / "gesture.onnx", windows[:40]))
    write_windows(folder, windows)


def write_project_by_rows(folder: Path) -> None:
    """Writes gesture.onnx, with an input that has a row for each sample, test.npz, and the windows that the firmware senses."""
    folder.mkdir(parents=True, exist_ok=True)
    (samples, _), (windows, _) = gestures(100, 8), gestures(200, 7)
    order = (0, 3, 2, 1)
    model = quantize(trained(1, by_rows=True), {"x": samples.transpose(order)}, Scheme())
    (folder / "gesture.onnx").write_bytes(model)
    numpy.savez(folder / "test.npz", x=windows.transpose(order))
    write_windows(folder, windows)


def write_windows(folder: Path, windows: numpy.ndarray) -> None:
    """Writes the windows that the firmware senses, as C."""
    sensed = numpy.rint(2048 * windows[:WINDOWS, :, 0].transpose(0, 2, 1)).astype(numpy.int16)
    rows = ", ".join(str(window.tolist()) for window in sensed).replace("[", "{").replace("]", "}")
    text = f"#define WINDOWS {WINDOWS}\nstatic const int16_t windows[WINDOWS][32][3] = {{{rows}}};\n"
    (folder / "windows.h").write_text(text)


def notebook(model: Path, windows: numpy.ndarray) -> dict[str, numpy.ndarray]:
    """The stored inputs and the outputs that a notebook computes under the contract onnx."""
    view = program_of(model.read_bytes(), model.name, load_board("host")).view
    known = view.tensor("x").quantization
    stored = numpy.clip(numpy.rint(windows / numpy.float32(known.scale)) + known.zero_point, -128, 127).astype(numpy.int8)
    stored = stored.reshape(len(windows), 1, AXES, 1, SAMPLES)
    return {"x": stored, "y": run_in_order(view, {"x": stored})["scores"]}


def generate(folder: Path, chip: Chip, *options: str, model: str = "gesture", into: str = "gen") -> Path:
    """Generates the C of a model as `gesture`, in a folder beside it."""
    words = ("--out", folder / into, "--name", "gesture", "--board", chip.board, *options)
    made = aidge_build("compile", folder / f"{model}.onnx", *words)
    assert made.exit_code == 0, made
    return folder / into


def compiler(chip: Chip, *flags: str) -> list[str]:
    """The compiler with the options of the core."""
    return [
        "arm-none-eabi-gcc",
        f"-mcpu={chip.core}",
        "-mthumb",
        f"-mfpu={_FPU[chip.core]}",
        "-mfloat-abi=hard",
        "-O2",
        "-g",
        *flags,
    ]


@functools.cache
def objects(chip: Chip, generated: Path) -> tuple[Path, ...]:
    """Compiles the generated files, once for all programs."""
    made = []
    for name in ("gesture", "gesture_weights"):
        made.append(generated / f"{name}.o")
        subprocess.run([*compiler(chip), "-c", generated / f"{name}.c", "-o", made[-1]], check=True)
    return tuple(made)


def link_command(
    chip: Chip, generated: Path, elf: Path, *flags: str, stack_bytes: int = 1024, include: Path | None = None
) -> list[str]:
    """The command that links the firmware with the generated model; `flags` make its mistake, `include` is the folder of another
    header."""
    places = {"FLASH_BEGIN": chip.flash, "RAM_BEGIN": chip.ram, "STACK_BYTES": stack_bytes}
    words = [
        *compiler(chip, *flags),
        f"-I{include or generated}",
        f"-I{generated.parent}",
        *(SOURCES / name for name in ("startup.c", "main.c")),
        *objects(chip, generated),
        "-nostartfiles",
        *(f"-Wl,--defsym={name}={value}" for name, value in places.items()),
        f"-T{SOURCES / 'link.ld'}",
        "-lm",
        "-o",
        elf,
    ]
    return [str(word) for word in words]


def link(chip: Chip, generated: Path, name: str, *flags: str, stack_bytes: int = 1024) -> Path:
    """Links the firmware NAME.elf beside the folder of the generated model."""
    elf = generated.parent / f"{name}.elf"
    done = subprocess.run(link_command(chip, generated, elf, *flags, stack_bytes=stack_bytes), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return elf


def link_all(folder: Path) -> None:
    """Writes the project, and a program for each mistake, as the page names them."""
    write_project(folder)
    generated = generate(folder, F4)
    for name, flag in MISTAKES.items():
        link(F4, generated, name, flag)
    link(F4, generated, "stack", stack_bytes=96)
    others = {
        "contract": ((), ("--rounding", "tflite")),
        "arena": (("-DOWN_ARENA=2",), ("--arena", "caller")),
        "record": (("-DWRONG_SCALE",), ("--record", "3")),
    }
    for name, (flags, options) in others.items():
        link(F4, generate(folder, F4, *options, into=f"gen_{name}"), name, *flags)
    link(F4, generate(folder, F4, model="other", into="gen_other"), "weights")
    link(M7, generate(folder, M7, into="gen7"), "cache", "-DDATA_CACHE")
