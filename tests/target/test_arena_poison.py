# SPDX-License-Identifier: MIT
"""Planned networks under AddressSanitizer on this machine: while a layer runs, only the bytes of its own tensors can be touched."""

from __future__ import annotations

import argparse
import dataclasses
import shutil
import subprocess

import numpy
import pytest

from aidge_build.backend import cpu
from aidge_build.compile import build_program
from aidge_build.emit import emit
from aidge_build.inputs import add_model_arguments, load
from aidge_build.output import write_sources
from aidge_build.program import Layer, Program
from tests.random_models import RandomNetwork
from tests.shared import MODELS, int8_model

COMPILER = shutil.which("cc")
FLAGS = ("-std=c99", "-O1", "-g", "-fsanitize=address", "-fno-omit-frame-pointer")

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
    return subprocess.run([COMPILER, "-fsanitize=address", "-x", "c", "-", "-o", "/dev/null"], input=b"int main(void) { return 0; }",
                          capture_output=True).returncode == 0


pytestmark = pytest.mark.skipif(not has_sanitizer(), reason="needs a C compiler with AddressSanitizer")


def program_of(path, *options) -> Program:
    parser = argparse.ArgumentParser()
    add_model_arguments(parser)
    program = build_program(load(parser.parse_args([str(path), "--lib", "ref", *options]), "model"))
    return dataclasses.replace(program, options=dataclasses.replace(program.options, trace=True))


def touched(program: Program, layer: Layer) -> list[tuple[int, int]]:
    """Offset and bytes of what the layer may read or write in the arena."""
    tensors = [tensor for tensor in (*layer.inputs, *layer.outputs) if tensor is not None and tensor.name in program.places]
    places = [(program.places[tensor.name], tensor.size_bytes) for tensor in tensors if program.places[tensor.name].kind == "arena"]
    found = [(place.offset_bytes + row * place.stride_bytes, size // place.rows) for place, size in places for row in range(place.rows)]
    if layer.scratch_offset_bytes is not None:
        (scratch,) = [p for p in program.arena.placements if p.buffer.name == f"scratch of {layer.node.name}"]
        found.append((layer.scratch_offset_bytes, scratch.buffer.size_bytes))
    return found


def run(program: Program, folder, vectors: numpy.ndarray, allowed: Program | None = None) -> subprocess.CompletedProcess:
    write_sources(emit(program), folder)
    ranges = [(number, *span) for number, layer in enumerate(program.layers) for span in touched(allowed or program, layer)]
    counts = numpy.cumsum([len(layer.outputs) for layer in program.layers]) - 1
    (source,), (result,) = ([program.view.tensor(name) for name in side] for side in (program.view.inputs, program.view.outputs))
    (folder / "main.c").write_text(MAIN.format(
        ranges=", ".join("{%d, %d, %d}" % entry for entry in ranges) or "{9999, 0, 0}", last_output=", ".join(map(str, counts)),
        input_bytes=source.size_bytes, output_bytes=result.size_bytes))
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
            assert numpy.allclose(result.from_stored(values), wanted, rtol=1e-4, atol=1e-5 * max(1.0, float(numpy.abs(wanted).max())))
        else:
            assert numpy.array_equal(result.from_stored(values), wanted)


@pytest.mark.parametrize("name", MODELS)
def test_a_benchmark_model_touches_no_byte_that_is_not_its_own(name, tmp_path):
    program = program_of(int8_model(name))
    tensor = program.view.tensor(program.view.inputs[0])
    require_right(program, tmp_path, numpy.random.default_rng(1).integers(-128, 128, (2, *tensor.dims)).astype(numpy.int8))


@pytest.mark.parametrize("options", [(), ("--memory-model", "plain")])
@pytest.mark.parametrize("seed", range(6))
def test_a_random_network_touches_no_byte_that_is_not_its_own(seed, options, tmp_path):
    import onnx

    made = RandomNetwork(seed, nodes=8 + seed)
    onnx.save(made.model(), tmp_path / "random.onnx")
    require_right(program_of(tmp_path / "random.onnx", *options), tmp_path, made.inputs(2))


def test_a_byte_that_belongs_to_nobody_in_a_layer_is_seen(tmp_path):
    """The code as planned, but the bytes of one output allowed 16 too far on: as if the plan had given them to somebody else."""
    program = program_of(int8_model("kws_dscnn"))
    name = program.layers[2].outputs[0].name
    places = dict(program.places)
    places[name] = dataclasses.replace(places[name], offset_bytes=places[name].offset_bytes + 16)
    tensor = program.view.tensor(program.view.inputs[0])
    finished = run(program, tmp_path, numpy.zeros((1, *tensor.dims), numpy.int8), allowed=dataclasses.replace(program, places=places))
    assert finished.returncode != 0 and b"use-after-poison" in finished.stderr
