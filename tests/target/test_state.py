# SPDX-License-Identifier: MIT
"""What a model remembers from one inference to the next: the same values as in numpy, in every way to own memory."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy
import pytest

from aidge_build.graph.view import GraphView
from aidge_build.prepare.recipes.slide_states import slide_states
from tests.command import Result, aidge_build
from tests.programs import needs_cross_compiler, needs_qemu
from tests.sanitized import SANITIZED_FLAGS, code_of, sanitized
from tests.stateful import MODELS, Stateful, random_stateful

STRESS = "AIDGE_STRESS" in os.environ
SEEDS = range(200) if STRESS else range(2)
# Their layers are compared, too; a wrong state of the others is in the next outputs. All under AIDGE_STRESS=1.
BY_LAYER = ("bytes and words", "the next value is a joint tensor", "the next value is a constant")


def verified(stateful: Stateful, folder: Path, *words: str) -> Result:
    """`verify` on six vectors, one after the other."""
    first = stateful.inputs.split(",float")[0].split(", ")[0]
    dims = tuple(int(size) for size in first[first.index("[") + 1 : first.index("]")].split(","))
    values = numpy.random.Generator(numpy.random.PCG64(5)).normal(size=(6, *dims)).astype(numpy.float32)
    (folder / "net.onnx").write_bytes(stateful.file())
    numpy.savez(folder / "io.npz", x=values)
    return aidge_build("verify", folder / "net.onnx", "--io-data", folder / "io.npz", *stateful.words(), *words)


@pytest.mark.parametrize("name", MODELS)
def test_a_state_has_the_value_that_the_last_inference_gave_it(name, tmp_path):
    result = verified(MODELS[name], tmp_path, *(("--layers",) if STRESS or name in BY_LAYER else ()), *SANITIZED_FLAGS)
    assert result.exit_code == 0, result


@pytest.mark.parametrize("words", [("--io", "arena"), ("--arena", "caller"), ("--io", "arena", "--arena", "caller")])
@pytest.mark.parametrize("name", ["a delay line of three", "a window that slides"])
def test_whoever_owns_the_memory(name, words, tmp_path):
    result = verified(MODELS[name], tmp_path, *words, *SANITIZED_FLAGS)
    assert result.exit_code == 0, result


@pytest.mark.parametrize("seed", SEEDS)
def test_a_random_graph_with_states(seed, tmp_path):
    result = verified(random_stateful(seed), tmp_path, "--lib", "ref", *SANITIZED_FLAGS)
    assert result.exit_code == 0, result


def test_verify_compares_with_the_graph_before_a_window_became_its_state(tmp_path, monkeypatch):
    def wrongly_slid(view: GraphView) -> GraphView:
        slid = slide_states(view)
        first, *others = slid.states
        return replace(slid, states=(replace(first, initial=first.initial + 1), *others))

    stateful = MODELS["a window that slides"]
    assert verified(stateful, tmp_path).exit_code == 0
    monkeypatch.setattr("aidge_build.build.imported.slide_states", wrongly_slid)
    found = verified(stateful, tmp_path)
    assert found.exit_code == 1 and "values differ from the numpy backend" in found.stdout


@needs_cross_compiler
@needs_qemu
@pytest.mark.parametrize("board", ["mps2-an386", "mps3-an547"])
def test_on_a_board_the_check_proves_the_state_as_it_does_the_arena(board, tmp_path):
    result = verified(MODELS["a delay line of three"], tmp_path, "--board", board, "--keep", str(tmp_path / "kept"))
    assert result.exit_code == 0, result
    checked = aidge_build("check", tmp_path / "kept" / "model.elf", "--board", board)
    assert checked.exit_code == 0 and "state 52 B = plan" in checked.stdout, checked


MAIN = """
#include "net.h"
#include <string.h>
static const float ones[4] = {1, 1, 1, 1};
static int step(NET_ARGUMENT float wanted)
{
    float got[4];
    return net_run(NET_PASSED ones, got) != 0 || got[0] != wanted;
}
"""


def ran(stateful: Stateful, folder: Path, body: str, *words: str) -> int:
    """The exit code of a program with the model and this main."""
    (folder / "net.onnx").write_bytes(stateful.file())
    made = aidge_build("compile", folder / "net.onnx", "--out", folder, "--cpu", "host", *stateful.words(), *words)
    assert made.exit_code == 0, made
    (folder / "main.c").write_text(body)
    return code_of(sanitized(folder))


def test_reset_gives_the_initial_value_again(tmp_path):
    summing = Stateful(
        "n = Add(s, x) y = Identity(n)",
        "float[1,4] x, float[1,4] s",
        "float[1,4] y, float[1,4] n",
        {"n": "s"},
        {"s": numpy.full((1, 4), 10, numpy.float32)},
    )
    body = MAIN.replace("NET_ARGUMENT ", "").replace("NET_PASSED ", "") + (
        "int main(void) { if (step(11) || step(12)) return 1; net_reset(); if (step(11)) return 2; net_reset(); net_reset();"
        " return step(11) ? 3 : 0; }\n"
    )
    assert ran(summing, tmp_path, body) == 0


def test_two_instances_share_nothing_but_code_and_constants(tmp_path):
    body = MAIN.replace("NET_ARGUMENT", "net_instance *self,").replace("NET_PASSED", "self,") + (
        "static uint64_t arena[NET_ARENA_BYTES / 8 + 2], one[NET_STATE_BYTES / 8 + 1], two[NET_STATE_BYTES / 8 + 1];\n"
        "int main(void) { net_instance a, b; void *shared = (void *)(((uintptr_t)arena + 15u) & ~(uintptr_t)15);\n"
        "memset(one, 255, sizeof one); memset(&a, 0, sizeof a);\n"
        "if (net_run(&a, ones, (float *)arena) != 1) return 5;\n"
        "if (net_init(&a, shared, (char *)one + 1) != 1 || net_init(&a, shared, 0) != 1) return 4;\n"
        "if (net_init(0, shared, one) != 1) return 4;\n"
        "if (net_init(&a, shared, one) || net_init(&b, shared, two)) return 1;\n"
        "if (step(&a, -1) || step(&a, -2) || step(&b, -1) || step(&a, -3)) return 2;\n"
        "net_reset(&a); return step(&a, -1) || step(&b, -2) ? 3 : 0; }\n"
    )
    assert ran(MODELS["a running sum in place"], tmp_path, body, "--arena", "caller") == 0
