# SPDX-License-Identifier: MIT
"""`accuracy --field`: which dumps are read, which are refused, and how often which inputs are flagged."""

from __future__ import annotations

import struct
import zlib
from itertools import combinations
from math import comb
from pathlib import Path

import numpy
import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.graph.dtype import DType
from aidge_build.measure.field.counts import Counts, InputCounts, counts_of, read_counts, together
from aidge_build.measure.field.homogeneity import beyond_range, design_effect, same_source, thinned
from aidge_build.measure.field.verdict import verdict_on
from aidge_build.plan.monitoring import MonitoredInput, MonitoredOutput, Monitoring
from aidge_build.plan.seen_range import seen_range, sum_dtype
from tests.command import aidge_build
from tests.models import graph, model
from tests.monitored import Simulated

RANDOM = numpy.random.default_rng(2)
VIEW = graph("y = Softmax(x)", inputs="float[1,8] x", outputs="float[1,8] y")
USUAL = RANDOM.normal(size=(400, 1, 8)).astype(numpy.float32)
SEEN = seen_range(USUAL.reshape(400, 8), "x")
MONITORING = Monitoring((MonitoredInput("x", 0, DType.float32, 8, SEEN),), (MonitoredOutput("y", 0, DType.float32, 8, "scores"),))
DIGEST = "0123456789ab"


def softmax(values: numpy.ndarray) -> numpy.ndarray:
    powers = numpy.exp(values)
    return (powers / powers.sum(axis=-1, keepdims=True)).astype(numpy.float32)


def dump_of(values: numpy.ndarray) -> bytes:
    counters = Simulated(MONITORING, DIGEST)
    for one in values:
        counters.count([one.reshape(-1)], [softmax(one).reshape(-1)])
    return counters.dump()


def usual():
    return counts_of(MONITORING, VIEW, {"x": USUAL}, {"y": softmax(USUAL)})


DUMP = dump_of(USUAL[:50])


def resealed(data: bytes) -> bytes:
    return data[:-4] + struct.pack("<I", zlib.crc32(data[:-4]))


def test_a_dump_is_found_between_other_bytes_and_says_what_was_counted():
    found = read_counts(b"log: " + DUMP + b"AMO" + DUMP, MONITORING, DIGEST, "log")
    counted = counts_of(MONITORING, VIEW, {"x": USUAL[:50]}, {"y": softmax(USUAL[:50])}).counts
    assert found == (counted, counted)
    other = resealed(DUMP[:8] + b"ba9876543210" + DUMP[20:])
    assert read_counts(b"DIAMOND, AMON" + other + DUMP, MONITORING, DIGEST, "log") == (counted,)
    spelled = Simulated(MONITORING, DIGEST)
    spelled.inferences = spelled.counted = 300
    spelled.bins = [[60] * 5, [60] * 5, [60] * 5, [*b"AMON", 1, 0, 0, 0], [60] * 5]
    assert b"AMON" in spelled.dump()[8:] and read_counts(spelled.dump(), MONITORING, DIGEST, "log")[0].bins[3][0] == ord("A")
    with pytest.raises(AidgeError, match="the dump is cut off"):
        read_counts(DUMP + DUMP[:-1], MONITORING, DIGEST, "log")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "holds no dump: 0 B without AMON"),
        (DUMP[:10], "at byte 0: the dump is cut off in its head"),
        (DUMP[:-1], f"the dump is cut off: {len(DUMP) - 1} of {len(DUMP)} B"),
        (DUMP[:30] + bytes([DUMP[30] ^ 1]) + DUMP[31:], "its CRC is of other bytes"),
        (
            resealed(DUMP[:8] + b"ba9876543210" + DUMP[20:]),
            "is of other inputs, outputs or samples: 'ba9876543210', not 0123456789ab",
        ),
        (resealed(DUMP[:5] + b"\2" + DUMP[6:]), "is of other inputs, outputs or samples"),
        (resealed(DUMP[:4] + b"\2" + DUMP[5:]), "the dump has format 2, this version reads 1"),
        (resealed(DUMP[:-5] + b"\7" + DUMP[-4:]), "its numbers contradict each other"),
        (resealed(DUMP[:28] + b"\x33" + DUMP[29:36] + b"\x33" + DUMP[37:]), "its numbers contradict each other"),  # 51 of 50
        (dump_of(USUAL[:0]), "no inference has run since the last reset"),
        (struct.pack(">18I", *struct.unpack("<18I", (DUMP + bytes(3))[:72])), "the bytes of each word reversed"),
    ],
)
def test_a_damaged_dump_and_one_of_another_model_are_refused(data, reason):
    with pytest.raises(AidgeError) as refused:
        read_counts(data, MONITORING, DIGEST, "dump.bin")
    assert reason in str(refused.value) and refused.value.code == "DUMP" and "\n" not in str(refused.value)


def test_dumps_of_a_device_that_resets_its_counters_are_added_up():
    halves = [read_counts(dump_of(part), MONITORING, DIGEST, "d")[0] for part in (USUAL[:20], USUAL[20:50])]
    assert together(halves) == read_counts(DUMP, MONITORING, DIGEST, "d")[0]


def test_equal_sources_differ_by_chance_as_often_as_the_probability_says():
    random = numpy.random.default_rng(8)
    pairs = [random.multinomial((300, 100), (0.7, 0.2, 0.08, 0.02)) for _ in range(300)]
    chances = numpy.array([same_source(*pair, 2000) for pair in pairs])
    assert (chances <= 0.05).mean() < 0.09 and 0.25 < (chances <= 0.4).mean() < 0.55
    assert same_source((300, 0, 0), (0, 0, 100), 2000) == 1 / 2001
    assert same_source((5, 0), (7, 0), 2000) == 1.0 and same_source((5, 5), (0, 0), 2000) == 1.0


def test_the_probability_of_inferences_outside_the_range_is_the_one_of_all_orders():
    samples, inferences = 5, 3
    for outside in (1, 2, 3):
        orders = list(combinations(range(samples + inferences), inferences))  # the ranks of the inferences
        all_above = [ranks for ranks in orders if sum(rank >= samples + inferences - outside for rank in ranks) == outside]
        one_end = len(all_above) / comb(samples + inferences, inferences)
        assert beyond_range(samples, inferences, 2 * outside) == pytest.approx(min(1, 2 * one_end))
        assert beyond_range(samples, inferences, 2 * outside - 1) == beyond_range(samples, inferences, 2 * outside)


def test_neighbours_that_are_alike_count_as_one():
    independent = numpy.random.default_rng(3).integers(0, 5, 4000)
    assert design_effect(independent) == 1.0 and 5 < design_effect(numpy.repeat(independent[:400], 10)) < 15
    assert design_effect(numpy.zeros(100, int)) == 1.0 and design_effect(numpy.arange(9) % 3) == 1.0
    assert thinned((7, 2, 1), 2.5) == (3, 1, 0) and sum(thinned((33, 33, 34), 7.3)) == 13


@pytest.mark.parametrize(
    ("change", "what", "direction"),
    [
        (lambda x: x * 1.3, "spread", "higher"),
        (lambda x: x * 0.7, "step", "lower"),
        (lambda x: x + 0.4, "mean", "higher"),
        (lambda x: x * 4, "beyond the range", "higher"),
        (lambda x: numpy.sort(x), "step", "lower"),
        (lambda x: x + numpy.float32(9) * (numpy.arange(8) == 0), "class", "lower"),
    ],
)
def test_a_change_is_flagged_by_the_number_that_it_moves_and_unchanged_inputs_are_not(change, what, direction):
    fresh = numpy.random.default_rng(4).normal(size=(100, 1, 8)).astype(numpy.float32)
    reference = usual()

    def flagged(values: numpy.ndarray) -> dict[str, str]:
        counts = read_counts(dump_of(values.astype(numpy.float32)), MONITORING, DIGEST, "d")[0]
        return {one.what: one.direction for one in verdict_on(MONITORING, counts, reference.counts, reference, 0.01).flagged}

    assert flagged(fresh) == {}
    assert flagged(change(fresh)).get(what) == direction


def test_samples_give_the_edges_of_equal_parts_and_sums_get_a_type_that_holds_them():
    assert SEEN.low == USUAL.min() and SEEN.high == USUAL.max() and SEEN.samples == 400
    assert [numpy.bincount(bins).tolist() for bins in SEEN.bins(USUAL.reshape(400, 8))] == [[80] * 5] * 3
    assert sum_dtype(DType.int8, 1 << 23) == DType.int32 and sum_dtype(DType.int16, 1 << 15) == DType.int32
    assert sum_dtype(DType.int16, (1 << 15) + 2) == DType.int64 and sum_dtype(DType.float32, 9) == DType.float32


def test_each_dump_has_a_line_and_the_exit_code_says_the_worst(tmp_path: Path):
    file, samples = tmp_path / "net.onnx", tmp_path / "usual.npz"
    file.write_bytes(model("y = Softmax(x)", inputs="float[1,8] x", outputs="float[1,8] y"))
    numpy.savez(samples, x=USUAL)
    words = ("accuracy", file, "--monitor-samples", samples)
    refused = aidge_build(*words, "--field", samples)
    assert refused.exit_code == 2 and "holds no dump" in refused.stdout and refused.stdout.count("\n") == 1, refused
    made = aidge_build("compile", file, "--out", tmp_path, "--monitor", "on", *words[2:])
    head = (tmp_path / "net.c").read_text().partition("head[20] = {")[2].partition("}")[0]
    digest = bytes(int(byte.strip(" \nu"), 16) for byte in head.split(","))[8:].decode()
    assert made.exit_code == 0 and "monitor 48 B" in made.stdout
    fresh = numpy.random.default_rng(4).normal(size=(100, 1, 8)).astype(numpy.float32)
    for name, values in {"as.bin": fresh, "gain.bin": fresh * numpy.float32(1.4)}.items():
        (tmp_path / name).write_bytes(resealed(dump_of(values).replace(DIGEST.encode(), digest.encode())))
    clean = aidge_build(*words, "--field", tmp_path / "as.bin")
    assert clean.exit_code == 0 and "as.bin: as usual (100 inferences; false alarms at most 1 %)" in clean.stdout, clean
    both = aidge_build(*words, "--field", tmp_path / "as.bin", "--field", tmp_path / "gain.bin", "--json")
    assert both.exit_code == 1 and [one["changed"] for one in both.json["dumps"]] == [False, True]
    mixed = aidge_build(*words, "--field", tmp_path / "gain.bin", "--field", samples)
    assert mixed.exit_code == 2 and "gain.bin: CHANGED: " in mixed.stdout and "Next: look at the sensor" in mixed.stdout
    (tmp_path / "few.bin").write_bytes(resealed(dump_of(fresh[:9]).replace(DIGEST.encode(), digest.encode())))
    few = aidge_build(*words, "--field", tmp_path / "few.bin")
    assert few.exit_code == 0 and "few.bin: as usual, but fewer than 50 independent inferences show large" in few.stdout, few
    same = aidge_build(*words, "--field", tmp_path / "gain.bin", "--baseline", tmp_path / "gain.bin")
    assert same.exit_code == 0, same
    added = aidge_build(*words, "--field", tmp_path / "as.bin", "--field", tmp_path / "as.bin", "--together", "--samples", 300)
    assert added.exit_code == 0 and "2 dumps: as usual (200 inferences" in added.stdout, added


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--baseline", "d"), "--baseline: works only with --field"),
        (("--together",), "--together: works only with --field"),
        (("--field", "d", "--min-top1", "0.9"), "--min-top1: works only without --field"),
        (("--field", "d", "--false-alarms", "0.5"), "--false-alarms: is 0.5"),
        (("--field", "d"), "nothing says what is usual"),
    ],
)
def test_options_of_the_field_that_do_not_belong_together(words, reason):
    root = Path(__file__).resolve().parents[2]
    refused = aidge_build("accuracy", root / "examples" / "digits" / "digits.onnx", *words)
    assert refused.exit_code == 2 and reason in refused.stderr and refused.stderr.count("\n") == 1, refused


def test_a_reference_of_another_dump_needs_no_samples():
    counts = Counts(90, 90, (InputCounts(0, 4, 0, 3),), ((18,) * 5,) * 3 + ((90, 0, 0, 0, 0, 0, 0, 0), (90, 0, 0, 0, 0)))
    assert verdict_on(MONITORING, counts, counts, None, 0.01).flagged == ()
