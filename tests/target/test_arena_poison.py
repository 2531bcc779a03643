# SPDX-License-Identifier: MIT
"""Planned networks under AddressSanitizer on this machine: while a layer runs, only the bytes of its own tensors can be
touched."""

from __future__ import annotations

import argparse
import dataclasses
import os
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

import numpy
import pytest

from aidge_build.base.output import write_sources
from aidge_build.build.compile import build_program
from aidge_build.build.emit import emit
from aidge_build.build.inputs import add_model_arguments, load
from aidge_build.contract.reference import cpu
from aidge_build.graph.tensor import Tensor
from aidge_build.plan.program import Program
from tests.emitted import changed
from tests.random_models import RandomNetwork
from tests.sanitized import ADDRESSES
from tests.shared import MODELS, int8_model

COMPILER = shutil.which("cc")
FLAGS = ("-std=c99", *ADDRESSES)

MAIN = """
#include <sanitizer/asan_interface.h>
#include <stdio.h>
#include <string.h>
#include "model.h"
void aidge_trace(int index, const void *data, uint32_t size_bytes);
extern uint8_t model_arena[MODEL_ARENA_BYTES];
static const uint32_t ranges[][3] = {{ {ranges} }};
static const int last_output[] = {{ {last_output} }};
static int layer;

/* Only the tensors of one layer can be touched; what nobody needs any more is overwritten. */
static void allow(int which)
{{
    unsigned i;
    __asan_poison_memory_region(model_arena, sizeof model_arena);
    for (i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if ((int)ranges[i][0] == which) __asan_unpoison_memory_region(model_arena + ranges[i][1], ranges[i][2]);
}}

void aidge_trace(int index, const void *data, uint32_t size_bytes)
{{
    (void)data; (void)size_bytes;
    if (index == last_output[layer]) allow(++layer);
}}

int main(void)
{{
    static uint8_t input[{input_bytes}] __attribute__((aligned(16))), output[{output_bytes}] __attribute__((aligned(16)));
    while (fread(input, sizeof input, 1, stdin) == 1) {{
        layer = 0;
        __asan_unpoison_memory_region(model_arena, sizeof model_arena);
        memset(model_arena, 0xA5, sizeof model_arena);
        allow(0);
        if (model_run((const void *)input, (void *)output) != 0) return 2;
        fwrite(output, sizeof output, 1, stdout);
    }}
    return 0;
}}
"""


def has_sanitizer() -> bool:
    if COMPILER is None:
        return False
    return (
        subprocess.run(
            [COMPILER, "-fsanitize=address", "-x", "c", "-", "-o", "/dev/null"],
            input=b"int main(void) { return 0; }",
            capture_output=True,
        ).returncode
        == 0
    )


pytestmark = pytest.mark.skipif(not has_sanitizer(), reason="needs a C compiler with AddressSanitizer")


def program_of(path, *options) -> Program:
    parser = argparse.ArgumentParser()
    add_model_arguments(parser)
    program = build_program(load(parser.parse_args([str(path), "--lib", "ref", *options]), "model"))
    return dataclasses.replace(program, options=dataclasses.replace(program.options, trace=True))


def spans(program: Program, names: Iterable[str]) -> list[tuple[int, int]]:
    """Offset and bytes of those tensors that lie in the arena."""
    found = []
    for name in names:
        place = program.memory.places[name]
        if place.kind == "arena":
            row_bytes = program.view.tensor(name).size_bytes // place.rows
            found += [(place.offset_bytes + row * place.stride_bytes, row_bytes) for row in range(place.rows)]
    return found


def names_of(tensors: Iterable[Tensor | None]) -> list[str]:
    return [tensor.name for tensor in tensors if tensor is not None]


def written_in(program: Program) -> dict[str, int]:
    """The layer after which a tensor is whole; what no layer writes is another name of what it was made of."""
    steps = {name: number for number, layer in enumerate(program.layers) for name in names_of(layer.outputs)}
    for node in program.view.nodes:
        for name in node.outputs:
            steps.setdefault(name, max(steps.get(source, -1) for source in node.inputs))
    return steps


def needed_later(program: Program, number: int) -> set[str]:
    """Tensors that a layer finds whole, does not touch, and must leave whole for others."""
    later = {name for layer in program.layers[number + 1 :] for name in names_of(layer.inputs)} | set(program.view.outputs)
    layer, steps = program.layers[number], written_in(program)
    return {name for name in later if steps.get(name, -1) < number} - set(names_of((*layer.inputs, *layer.outputs)))


def touched(program: Program, number: int) -> list[tuple[int, int]]:
    """Offset and bytes of what a layer may read or write in the arena: its own tensors, but for what others need later."""
    layer, allowed = program.layers[number], numpy.zeros(program.memory.arena.peak_bytes + 1, bool)
    reads = spans(program, names_of(layer.inputs))
    own = [*reads, *spans(program, names_of(layer.outputs))]
    if layer.scratch_offset_bytes is not None:
        (scratch,) = [p for p in program.memory.arena.placements if p.buffer.name == f"scratch of {layer.node.name}"]
        own.append((layer.scratch_offset_bytes, scratch.buffer.size_bytes))
    for entries, value in ((own, True), (spans(program, needed_later(program, number)), False), (reads, True)):
        for offset, size in entries:
            allowed[offset : offset + size] = value
    edges = numpy.flatnonzero(numpy.diff(allowed, prepend=False)).tolist()
    return [(first, last - first) for first, last in zip(edges[::2], edges[1::2], strict=True)]


def run(program: Program, folder, vectors: numpy.ndarray, allowed: Program | None = None) -> subprocess.CompletedProcess:
    write_sources(emit(program), folder)
    ranges = [(number, *span) for number in range(len(program.layers)) for span in touched(allowed or program, number)]
    counts = numpy.cumsum([len(layer.outputs) for layer in program.layers]) - 1
    (source,), (result,) = ([program.view.tensor(name) for name in side] for side in (program.view.inputs, program.view.outputs))
    (folder / "main.c").write_text(
        MAIN.format(
            ranges=", ".join("{%d, %d, %d}" % entry for entry in ranges) or "{9999, 0, 0}",
            last_output=", ".join(map(str, counts)),
            input_bytes=source.size_bytes,
            output_bytes=result.size_bytes,
        )
    )
    subprocess.run([COMPILER, *FLAGS, "-I", folder, "-o", folder / "run", *sorted(folder.glob("*.c")), "-lm"], check=True)
    data = b"".join(source.to_stored(vector).tobytes() for vector in vectors)
    return subprocess.run([folder / "run"], input=data, capture_output=True)


def require_right(program: Program, folder, vectors: numpy.ndarray) -> None:
    finished = run(program, folder, vectors)
    assert finished.returncode == 0, finished.stderr.decode()[:2_000]
    (source,), (name,) = program.view.inputs, program.view.outputs
    result = program.view.tensor(name)
    got = numpy.frombuffer(finished.stdout, result.dtype.numpy).reshape(len(vectors), -1)
    for values, vector in zip(got, vectors, strict=True):
        wanted = cpu.run(program.view, {source: vector})[name]
        if result.dtype.is_float:
            assert numpy.allclose(
                result.from_stored(values), wanted, rtol=1e-4, atol=1e-5 * max(1.0, float(numpy.abs(wanted).max()))
            )
        else:
            assert numpy.array_equal(result.from_stored(values), wanted)


OWN = os.environ.get("AIDGE_MODEL", "").split()  # files of int8 models with one input


@pytest.mark.requirement("G7")
@pytest.mark.parametrize("name", [*OWN, *(MODELS if "AIDGE_STRESS" in os.environ else ("ic_resnet8", "sww_dscnn1d"))])
def test_a_benchmark_model_touches_no_byte_that_is_not_its_own(name, tmp_path):
    program = program_of(Path(name) if name in OWN else int8_model(name))
    tensor = program.view.tensor(program.view.inputs[0])
    require_right(program, tmp_path, numpy.random.default_rng(1).integers(-128, 128, (2, *tensor.dims)).astype(numpy.int8))


SEEDS = range(8) if "AIDGE_STRESS" in os.environ else (2, 4, 7)


@pytest.mark.requirement("G7")
@pytest.mark.parametrize("seed, options", [(seed, ("--memory-model", "plain") if seed % 2 else ()) for seed in SEEDS])
def test_a_random_network_touches_no_byte_that_is_not_its_own(seed, options, tmp_path):
    import onnx

    made = RandomNetwork(seed, nodes=8 + seed)
    onnx.save(made.model(), tmp_path / "random.onnx")
    require_right(program_of(tmp_path / "random.onnx", *options), tmp_path, made.inputs(2))


@pytest.mark.requirement("G7")
def test_a_byte_that_belongs_to_nobody_in_a_layer_is_seen(tmp_path):
    """The code as planned, but the bytes of one output allowed 16 too far on: as if the plan had given them to somebody else."""
    program = program_of(int8_model("sww_dscnn1d"))
    name = program.layers[2].outputs[0].name
    places = dict(program.memory.places)
    places[name] = dataclasses.replace(places[name], offset_bytes=places[name].offset_bytes + 16)
    tensor = program.view.tensor(program.view.inputs[0])
    finished = run(program, tmp_path, numpy.zeros((1, *tensor.dims), numpy.int8), allowed=changed(program, places=places))
    assert finished.returncode != 0 and b"use-after-poison" in finished.stderr


def with_early_reuse(program: Program) -> Program:
    """The plan with an output moved onto a tensor that a later layer still reads."""
    places = program.memory.places
    for number, layer in enumerate(program.layers):
        needed = [name for name in sorted(needed_later(program, number)) if places[name].kind == "arena"]
        name, size_bytes = layer.outputs[0].name, layer.outputs[0].size_bytes
        if needed and places[name].kind == "arena" and places[name].rows == 1:
            offset = min(places[needed[0]].offset_bytes, program.memory.arena.peak_bytes - size_bytes)
            moved = dataclasses.replace(places[name], offset_bytes=offset)
            return changed(program, places={**places, name: moved})
    raise AssertionError("no tensor of this network lives while others are written")


@pytest.mark.parametrize("options", [(), ("--memory-model", "plain")], ids=["default", "plain"])
def test_bytes_that_are_reused_while_somebody_needs_them_are_seen(options, tmp_path):
    program = with_early_reuse(program_of(int8_model("ic_resnet8"), *options))
    tensor = program.view.tensor(program.view.inputs[0])
    finished = run(program, tmp_path, numpy.zeros((1, *tensor.dims), numpy.int8))
    assert finished.returncode != 0 and b"use-after-poison" in finished.stderr
