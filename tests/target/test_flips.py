# SPDX-License-Identifier: MIT
"""`accuracy --flips`: the same flips on this machine and in the emulated program of a board."""

from __future__ import annotations

import json

import numpy

from tests.command import aidge_build
from tests.programs import ROOT, needs_cross_compiler

HELLO = ROOT / "examples" / "hello" / "hello.onnx"


@needs_cross_compiler
def test_all_bits_of_a_small_model_are_flipped_found_and_counted_alike_on_this_machine_and_on_a_board(tmp_path):
    switches = numpy.array([[[0, 0]], [[0, 1]], [[1, 0]], [[1, 1]]], numpy.float32)
    numpy.savez(tmp_path / "all.npz", switches=switches, labels=[0, 1, 1, 0])
    words = ("--labels", tmp_path / "all.npz", "--board", "stm32f4", "--integrity", "constants", "--flips", "100000", "--json")
    done = aidge_build("accuracy", HELLO, *words)
    assert done.exit_code == 0, done.stderr
    data = json.loads(done.stdout)
    host, board = data["host"], data["board"]
    assert host["found"] == host["flips"] == sum(row["flips"] for row in host["layers"]) == 8 * 52
    assert board["found"] == board["flips"] == 200
    assert data["differing_flips"] <= 5  # bits of NaN
    assert 0 < host["answers"] < host["values"] < host["flips"] and host["worst"] < host["mean"] < host["without_flips"] == 1
    low, high = ({row["bit"]: row["answers"] for row in host["bits"]}[bit] for bit in (0, 28))
    assert low == 0 < high  # the mantissa's end, and the exponent


def test_samples_without_a_label_are_left_out_as_long_as_others_have_one(tmp_path):
    switches = numpy.array([[[0, 0]], [[0, 1]]] * 20, numpy.float32)
    numpy.savez(tmp_path / "odd.npz", switches=switches, labels=[-100, 1] * 20)
    words = ("--labels", tmp_path / "odd.npz", "--flips", "4", "--json")
    assert aidge_build("accuracy", HELLO, *words).json["host"]["without_flips"] == 1


def test_flips_of_a_program_that_is_linked_already_are_refused(tmp_path):
    numpy.savez(tmp_path / "one.npz", switches=numpy.zeros((1, 1, 2), numpy.float32))
    for words, message in (
        (("--flips", "0"), "--flips: wants a positive number, got 0"),
        (("--flips", "9", "--min-top1", "1"), "leave out --min-top1"),
    ):
        done = aidge_build("accuracy", HELLO, "--labels", tmp_path / "one.npz", *words)
        assert done.exit_code == 2 and message in done.stderr
