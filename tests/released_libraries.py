# SPDX-License-Identifier: MIT
"""A release of an export library of the inherited system, exported with a network: python -m tests.released_libraries ...

Releases of one package cannot be imported into one process, so each test runs this in a process of its own. It prints JSON.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy

import aidge_build
from aidge_build import compat, net
from aidge_build.boards import load_board
from aidge_build.contract.reference import cpu
from aidge_build.run.verify.compare import compare
from aidge_build.run.verify.firmware import execute
from tests.sanitized import SANITIZED

CHECKS = ("-O1", "-fexceptions", *SANITIZED)


class Network:
    """A float network under construction, with seeded weights."""

    def __init__(self, name: str, *dims: int):
        self.graph, self.numbers, self.count = net.Graph(name), numpy.random.default_rng(7), 0
        self.value = self.graph.input("x", dims)

    def weights(self, *dims: int):
        values = self.numbers.normal(size=dims) * numpy.sqrt(2 / max(1, numpy.prod(dims[1:])))
        self.count += 1
        return self.graph.parameter(f"p{self.count}", values.astype(numpy.float32))

    def conv(self, outputs: int, inputs: int, size: int, stride: int = 1, pad: int = 0, group: int = 1) -> None:
        weights, bias = self.weights(outputs, inputs // group, size, size), self.weights(outputs)
        self.value = net.Conv(self.value, weights, bias, pads=[pad] * 4, strides=[stride] * 2, group=group)

    def dense(self, outputs: int, inputs: int) -> None:
        self.value = net.Gemm(self.value, self.weights(outputs, inputs), self.weights(outputs), transB=1)

    def relu(self) -> None:
        self.value = net.Relu(self.value)

    def onnx(self) -> bytes:
        self.graph.output(self.value, "y")
        return self.graph.onnx()


def lenet() -> bytes:
    made = Network("lenet", 1, 1, 20, 20)
    for outputs, inputs in ((6, 1), (16, 6)):
        made.conv(outputs, inputs, 5)
        made.relu()
        made.value = net.MaxPool(made.value, kernel_shape=[2, 2], strides=[2, 2])
    made.value = net.Flatten(made.value)
    made.dense(40, 64)
    made.relu()
    made.dense(10, 40)
    return made.onnx()


def resnet() -> bytes:
    made = Network("resnet", 1, 3, 12, 12)
    made.conv(8, 3, 3, pad=1)
    made.relu()
    for outputs, inputs, stride in ((8, 8, 1), (16, 8, 2)):
        beside = made.value
        made.conv(outputs, inputs, 3, stride, 1)
        made.relu()
        made.conv(outputs, outputs, 3, 1, 1)
        ahead = made.value
        if stride > 1:
            made.value = beside
            made.conv(outputs, inputs, 1, stride)
            beside = made.value
        made.value = net.Relu(net.Add(ahead, beside))
    made.value = net.Flatten(net.GlobalAveragePool(made.value))
    made.dense(10, 16)
    return made.onnx()


def mobilenet() -> bytes:
    made = Network("mobilenet", 1, 3, 12, 12)
    made.conv(8, 3, 3, 2, 1)
    made.relu()
    for outputs, inputs, stride in ((16, 8, 1), (32, 16, 2)):
        made.conv(inputs, inputs, 3, stride, 1, group=inputs)
        made.relu()
        made.conv(outputs, inputs, 1)
        made.relu()
    made.value = net.Flatten(net.GlobalAveragePool(made.value))
    made.dense(10, 32)
    return made.onnx()


NETWORKS = {made.__name__: made for made in (lenet, resnet, mobilenet)}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("package")
    parser.add_argument("library", nargs="?", default="")
    parser.add_argument("network", nargs="?", default="")
    parser.add_argument("board", nargs="?", default="host")
    parser.add_argument("--path", action="append", default=[])
    parser.add_argument("--include", action="append", default=[])
    arguments = parser.parse_args()
    sys.path[:0] = arguments.path
    compat.install_as("aidge_core")
    package = importlib.import_module(arguments.package)
    if not arguments.library:
        libraries = (value for value in vars(package).values() if isinstance(value, type) and issubclass(value, compat.ExportLib))
        print(json.dumps({made.__name__: len(made.registered_kernels()) for made in libraries}))
        return
    print(json.dumps(exported(getattr(package, arguments.library), arguments)))


def exported(library: type[compat.ExportLib], arguments: argparse.Namespace) -> dict:
    """The export as a program on the board: how many values differ from numpy's, and which library computes how many layers."""
    found = [compat.adopted(library), "ref"]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "net.onnx").write_bytes(NETWORKS[arguments.network]())
        scheduler = compat.SequentialScheduler(aidge_build.load_onnx(folder / "net.onnx", libraries=found))
        compat.scheduler_export(scheduler, str(folder / "out"), found, compat.generate_optimized_memory_info)
        program = scheduler.program
        values = numpy.random.default_rng(1).normal(size=program.view.tensor("x").dims).astype(numpy.float32)
        flags = (*(CHECKS if arguments.board == "host" else ()), *(f"-I{path}" for path in arguments.include))
        run = execute(program, load_board(arguments.board), {"x": values[None]}, folder, flags=flags)
        wanted = cpu.run(program.view, {"x": values})["y"][None]
        return {
            "differing": compare("y", run.outputs["y"], wanted).differing_values,
            "arena_bytes": program.memory.arena.peak_bytes,
            "instructions": run.result.run_instructions,
            "layers": dict(Counter(layer.kernel.library for layer in program.layers)),
        }


if __name__ == "__main__":
    main()
