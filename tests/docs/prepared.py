# SPDX-License-Identifier: MIT
"""What the reader of a page has already: names of Python, and files that are not those of the project (`project.py`)."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable

import numpy

from aidge_build import net
from tests.bench_firmware import link_all
from tests.build.checkout import run_in
from tests.command import aidge_build
from tests.docs.blocks import EVERYTHING, ROOT
from tests.docs.project import PIPELINES, image_network, parameter, quantized
from tests.docs.runners import Session
from tests.models import graph as parsed
from tests.models import model


def reader_of_kit(session: Session) -> None:
    random = numpy.random.default_rng(0)
    session.names |= {
        "weights": random.normal(size=(4, 1, 3, 3)).astype(numpy.float32),
        "more": (random.normal(size=(256, 10)) / 16).astype(numpy.float32),
        "images": random.random((32, 1, 8, 8)).astype(numpy.float32),
        "labels": numpy.arange(32) % 10,
        "view": parsed("a = Relu(x) b = Relu(a) y = Neg(b)", inputs="float[2,3] x", outputs="float[2,3] y"),
    }


def reader_of_frontend(session: Session) -> None:
    """Sounds, and a network that is trained on their features: [1, frames, bands]."""
    from aidge_build.quantization import Scheme, quantize

    random = numpy.random.default_rng(0)
    graph = net.Graph("words")
    flat = net.Flatten(graph.input("features", (1, 49, 40)))
    graph.output(net.Gemm(flat, parameter(random, graph, "w", 3, 1960), transB=1), "scores")
    trained, samples = graph.onnx(), {"features": random.normal(size=(8, 1, 49, 40)).astype(numpy.float32)}
    session.names |= {
        "pcm": random.integers(-9000, 9000, (1, 15840)).astype(numpy.int16),
        "trained": trained,
        "samples": samples,
        "quantize": lambda file, seen: quantize(file, seen, Scheme()),
        "images": random.integers(0, 256, (2, 240, 320, 3)).astype(numpy.uint8),
    }
    (session.folder / "kws_int8.onnx").write_bytes(quantize(trained, samples, Scheme()))
    session.before["camera"] = lambda: session.names.update(
        quantized=quantized(image_network(96, 1, 2), random.normal(size=(2, 1, 1, 96, 96)).astype(numpy.float32))
    )


def reader_of_export(session: Session) -> None:
    (session.folder / "kws.onnx").write_bytes(model("y = Relu(x)", inputs="float[N,4] x", outputs="float[N,4] y"))
    session.names["x"] = numpy.float32([[-1, 0, 1, 2]])


def reader_of_accuracy(session: Session) -> None:
    """The example's model, the float network that it comes from, and images of its training."""
    if not EVERYTHING:
        return
    shutil.copytree(ROOT / "examples" / "digits", session.folder, dirs_exist_ok=True)
    run_in(session.folder, sys.executable, "train.py", "--float-out", "digits_float.onnx")
    images = numpy.load(ROOT / "examples" / "training" / "digits.npz")["training_images"]
    numpy.savez(session.folder / "calibration.npz", x=images[:200, None, None] / numpy.float32(16))


def reader_of_bench(session: Session) -> None:
    """Firmware with one mistake each, and a dump of a record."""
    if not EVERYTHING:
        return
    link_all(session.folder)
    words = ("--board", "stm32f4", "--inferences", 4, "--dump", f"gesture_record={session.folder / 'ram.bin'}")
    assert aidge_build("run", session.folder / "record.elf", *words).exit_code == 0


def reader_of_questions(session: Session) -> None:
    (session.folder / "boosting.onnx").write_bytes(numpy.load(PIPELINES)["gradient boosting/model"].tobytes())


PREPARED: dict[str, Callable[[Session], None]] = {
    "docs/accuracy.md": reader_of_accuracy,
    "docs/kit.md": reader_of_kit,
    "docs/frontend.md": reader_of_frontend,
    "docs/export-api.md": reader_of_export,
    "docs/howto-wrong-result.md": reader_of_bench,
    "docs/questions.md": reader_of_questions,
}
