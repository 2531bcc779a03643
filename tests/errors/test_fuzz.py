# SPDX-License-Identifier: MIT
"""The fuzzer's own judgement, and a short run of it over files that need no compiler."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from random import Random

import onnx

from tools.fuzz import model_mutations, mutations, trial
from tools.fuzz.seeds import models

ROOT = Path(__file__).resolve().parents[2]


def test_a_short_run_finds_nothing():
    words = [
        sys.executable,
        "-m",
        "tools.fuzz",
        "board",
        "core",
        "costs",
        "problems",
        "tflite",
        "vectors",
        "first=70000",
        "count=12",
    ]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("12 inputs, exit codes {") == 6


def test_what_nobody_foresaw_is_a_fault_with_its_place(monkeypatch):
    def fail(arguments):
        raise KeyError("x")

    monkeypatch.setattr("aidge_build.cli.options.run", fail)
    verdict = trial.run(["options"])
    assert verdict.kind == "our fault" and verdict.exit_code == 70 and "KeyError" in verdict.fault


def test_a_refusal_in_one_line_is_none():
    assert trial.run(["compile", "no.onnx", "--out", "no"]).kind == ""


def test_the_same_seed_gives_the_same_damage_and_another_one_another():
    def damaged(seed: int) -> bytes:
        model = onnx.ModelProto.FromString(models()[seed % 3])
        model_mutations.damaged_model(model, Random(seed))
        mutations.damaged_message(model, Random(seed))
        return mutations.damaged_bytes(model.SerializeToString(deterministic=True), Random(seed))

    assert [damaged(seed) for seed in range(9)] == [damaged(seed) for seed in range(9)]
    assert len({damaged(seed) for seed in range(9)}) == 9
