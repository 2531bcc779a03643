# SPDX-License-Identifier: MIT
"""Which layer costs accuracy, and the cheapest types that keep it: the search against all choices, and its verb."""

from __future__ import annotations

import itertools
import xml.etree.ElementTree
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import numpy
import onnx
import pytest

from aidge_build.contract.reference import cpu
from aidge_build.contract.spec import NodeView
from aidge_build.measure.accuracy.costs import estimate
from aidge_build.measure.accuracy.search import front, hull
from aidge_build.prepare.adaptation.cost import read_cost_table
from aidge_build.prepare.recipes import simplify
from tests.command import aidge_build
from tests.models import graph, model

KINDS = ("int8", "int16", "float32")


def drawn(random: numpy.random.Generator, layers: int) -> tuple[list[dict], list[dict]]:
    noises = [{"int8": random.integers(1, 20), "int16": random.integers(0, 3), "float32": 0} for _ in range(layers)]
    costs = [{kind: int(random.integers(1, 50)) for kind in KINDS} for _ in range(layers)]
    return noises, costs


def total(types: tuple[str, ...], numbers: list[dict]) -> float:
    return sum(layer[kind] for kind, layer in zip(types, numbers))


@pytest.mark.parametrize("seed", range(12))
def test_each_choice_of_the_hull_is_best_at_some_price_and_none_is_missing(seed):
    noises, costs = drawn(numpy.random.default_rng(seed), 3)
    every = [(total(types, noises), total(types, costs)) for types in itertools.product(KINDS, repeat=3)]
    found = [(total(types, noises), total(types, costs)) for types in hull(noises, costs, KINDS)]
    for price in numpy.geomspace(1e-3, 1e3, 400):
        best = min(cost + price * noise for noise, cost in every)
        assert min(cost + price * noise for noise, cost in found) == pytest.approx(best)
    assert min(found, key=lambda point: point[1])[1] == min(cost for _, cost in every)
    assert min(noise for noise, _ in found) == min(noise for noise, _ in every)


def test_equal_choices_are_one_and_the_first_kind_is_taken():
    same = [dict.fromkeys(KINDS, 1.0)] * 2
    assert hull(same, same, KINDS) == [("int8", "int8")]


@dataclass(frozen=True)
class Point:
    cost: float
    loss: float


def test_the_front_holds_what_no_other_beats_the_cheapest_first():
    points = [Point(3, 0.0), Point(1, 0.5), Point(2, 0.5), Point(2, 0.2), Point(4, 0.0), Point(1, 0.6)]
    found = front(points, lambda point: point.cost, lambda point: point.loss)
    assert found == (Point(1, 0.5), Point(2, 0.2), Point(3, 0.0))


LAYERS = ("first", "second", "third")
NETWORK = """
a = Gemm <transB = 1> (x, w1, b1)
r = Relu (a)
b = Gemm <transB = 1> (r, w2, b2)
s = Relu (b)
y = Gemm <transB = 1> (s, w3, b3)
"""


DECISION = "d = ArgMax <axis = 1, keepdims = 0> (y)"


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> Path:
    """A network whose second layer hands on a value a hundred times as large as those that decide; labels are its answers.
    `decided.onnx` is the same network, which hands out the number of the class."""
    folder, random = tmp_path_factory.mktemp("mixed"), numpy.random.default_rng(3)
    sizes = {"w1": (12, 8), "w2": (12, 12), "w3": (4, 12), "b1": (12,), "b2": (12,), "b3": (4,)}
    constants = {name: random.normal(size=dims).astype(numpy.float32) for name, dims in sizes.items()}
    constants["w2"][0] *= 100
    constants["w3"][:, 0] *= 0.001
    keywords = {"inputs": "float[1,8] x", "outputs": "float[1,4] y", "constants": constants}
    (folder / "float.onnx").write_bytes(model(NETWORK, **keywords))
    decided = keywords | {"outputs": "int64[1] d"}
    (folder / "decided.onnx").write_bytes(model(NETWORK + DECISION, **decided))
    x = random.normal(size=(120, 8)).astype(numpy.float32)
    view = graph(NETWORK, **keywords)
    labels = [int(cpu.run(view, {"x": row[None]})["y"].argmax()) for row in x]
    numpy.savez(folder / "seen.npz", x=x[:40])
    numpy.savez(folder / "test.npz", x=x[40:], labels=numpy.array(labels[40:]))
    return folder


def sensitivity(files: Path, *words, network: str = "float.onnx"):
    given = ("--quantize", files / "seen.npz", "--labels", files / "test.npz", "--cpu", "cortex-m4", "--fpu", "auto")
    return aidge_build("sensitivity", files / network, *given, *words)


def test_a_layer_that_makes_an_output_nan_in_int8_is_named_with_the_option_that_leaves_it_out(tmp_path):
    (tmp_path / "net.onnx").write_bytes(model("n = Neg (x)\ny = Div (n, n)", inputs="float[1,2] x", outputs="float[1,2] y"))
    numpy.savez(tmp_path / "test.npz", x=numpy.array([[1e-6, 1.0], [1.0, 1e-6]], numpy.float32), labels=[0, 1])
    given = ("--quantize", tmp_path / "test.npz", "--labels", tmp_path / "test.npz", "--cpu", "cortex-m4", "--fpu", "auto")
    done = aidge_build("accuracy", "--layers", tmp_path / "net.onnx", *given)
    assert done.exit_code == 2 and "is NaN in 2 of 2 samples" in done.stderr, done
    assert "--layer-types Neg_0=float32 leaves out" in done.stderr


@pytest.fixture(scope="module")
def searched(files) -> dict:
    done = sensitivity(
        files, "--search", "--max-loss", 0, "--json", "--picture", files / "front.svg", "--out", files / "mixed.onnx"
    )
    assert done.exit_code == 0, done.stderr
    return done.json


def test_the_layers_on_both_sides_of_a_spoiled_range_cost_and_the_one_before_does_not(searched):
    first, second, third = searched["layers"]
    assert searched["float"]["top1"]["share"] == 1.0
    assert first["int8_alone"]["sqnr_db"] > 10 + max(one["int8_alone"]["sqnr_db"] for one in (second, third))
    assert min(one["int8_alone"]["loss"] for one in (second, third)) > first["int8_alone"]["loss"]
    assert first["float_alone_costs"] > 0


def test_what_is_taken_keeps_the_limit_and_no_measured_choice_that_does_is_cheaper(searched):
    result = searched["search"]
    taken = result["taken"]
    assert taken["loss"] <= 0 < searched["int8"]["loss"]
    assert set(taken["types"].values()) > {"int8"} or "int8" not in taken["types"].values()
    kept = [point["cost"] for point in result["points"] if point["loss"] <= 0]
    assert taken["cost"] == min(kept) and len(result["points"]) == result["measured"] > 10
    assert sum(point["chosen"] for point in result["points"]) == 1


def test_a_network_that_hands_out_a_class_number_loses_what_the_same_network_with_scores_loses(files, searched):
    found = sensitivity(files, "--search", "--max-loss", 0, "--json", network="decided.onnx").json
    assert found["task"] == "decisions" and found["float"]["top1"] == searched["float"]["top1"]
    for one, other in zip(found["layers"], searched["layers"], strict=True):
        for key in ("int8_alone", "float_alone"):
            assert one[key]["top1"] == other[key]["top1"] and one[key]["confusion"] == other[key]["confusion"]
    changed = found["layers"][1]["int8_alone"]
    wrong = changed["top1"]["count"] - changed["top1"]["correct"]  # labels are the answers of the float network
    assert changed["sqnr_db"] == pytest.approx(10 * numpy.log10(changed["top1"]["count"] / wrong))
    assert found["search"]["taken"]["loss"] <= 0


def test_the_front_falls_in_loss_as_it_grows_in_cost(searched):
    found = searched["search"]["front"]
    assert [one["cost"] for one in found] == sorted(one["cost"] for one in found)
    assert [one["loss"] for one in found] == sorted((one["loss"] for one in found), reverse=True)


def test_the_model_that_is_written_is_the_one_that_was_measured(files, searched):
    done = aidge_build("accuracy", files / "mixed.onnx", "--labels", files / "test.npz", "--json")
    assert done.json["stages"][-1]["top1"] == searched["search"]["taken"]["top1"]


def test_a_model_that_the_build_quantizes_is_compared_with_itself_and_its_calibration_is_known(files):
    words = ("--quantize", files / "seen.npz", "--labels", files / "test.npz")
    data = aidge_build("accuracy", files / "float.onnx", *words, "--json").json
    assert [stage["name"] for stage in data["stages"]] == ["float", "model"] and data["calibration_samples"] == 0
    assert data["stages"][0]["top1"]["share"] == 1.0 > data["stages"][1]["top1"]["share"]
    words = ("--quantize", files / "test.npz", "--labels", files / "test.npz", "--max-loss", 0)
    done = aidge_build("accuracy", files / "float.onnx", *words)
    assert done.exit_code == 1 and "FAILED: --max-loss 0" in done.stdout
    assert "WARNING: 80 of the samples are in the calibration data, too" in done.stdout


def test_the_picture_has_a_point_for_each_measured_choice(files, searched):
    drawing = xml.etree.ElementTree.parse(files / "front.svg").getroot()
    circles = [element for element in drawing.iter() if element.tag.endswith("circle")]
    assert len(circles) == searched["search"]["measured"]


def test_bytes_are_those_of_the_constants(files):
    done = sensitivity(files, "--objective", "bytes", "--samples", 10, "--json")
    data = done.json
    assert data["unit"] == "bytes of constants"
    weights = [8 * 12, 12 * 12, 12 * 4]
    assert sum(weights) < data["int8"]["cost"] < 3 * sum(weights)
    for layer, count in zip(data["layers"], weights):
        assert layer["float_alone_costs"] >= 2 * count


def test_the_search_takes_weights_of_four_bits_where_bytes_count_and_leaves_layers_without_weights(files):
    random, nodes = numpy.random.default_rng(5), "a = Conv <pads = [1, 1, 1, 1]> (x, w) b = Add (a, x) y = GlobalAveragePool (b)"
    constants = {"w": random.normal(size=(16, 16, 3, 3)).astype(numpy.float32)}
    (files / "conv.onnx").write_bytes(
        model(nodes, inputs="float[1,16,12,12] x", outputs="float[1,16,1,1] y", constants=constants)
    )
    x = random.normal(size=(8, 1, 16, 12, 12)).astype(numpy.float32)
    numpy.savez(files / "images.npz", x=x)
    numpy.savez(files / "targets.npz", x=x, targets=x.mean(axis=(3, 4), keepdims=True))
    given = ("--quantize", files / "images.npz", "--labels", files / "targets.npz", "--lib", "ref", "--ram-budget", 65536)
    words = ("--search", "--types", "int8,int4", "--objective", "bytes", "--max-loss", 999, "--json")
    found = aidge_build("sensitivity", files / "conv.onnx", *given, *words).json
    taken = found["search"]["taken"]
    assert list(taken["types"].values()) == ["int4", "int8", "int8"]
    assert 0.49 * 2304 < found["int8"]["cost"] - taken["cost"] <= 0.51 * 2304


def test_a_layer_that_is_one_int8_step_between_int8_layers_has_no_figures_in_float(files):
    nodes = "a = Gemm <transB = 1> (x, w) s = Add (a, x) y = Gemm <transB = 1> (s, w)"
    weights = numpy.random.default_rng(4).normal(size=(8, 8)).astype(numpy.float32)
    (files / "sum.onnx").write_bytes(model(nodes, inputs="float[1,8] x", outputs="float[1,8] y", constants={"w": weights}))
    given = ("--quantize", files / "seen.npz", "--labels", files / "test.npz", "--cpu", "cortex-m4", "--fpu", "auto")
    done = aidge_build("accuracy", "--layers", files / "sum.onnx", *given, "--samples", 10)
    rows = {line.split()[0]: line.split()[-1] for line in done.stdout.splitlines()}
    assert rows["Add_1"] == "int8" and rows["Gemm_0"].startswith("+") and rows["Gemm_2"].startswith("+"), done
    assert "int8 between int8 layers, whatever --layer-types says of the layer alone: Add_1" in done.stdout


@pytest.mark.parametrize(
    "words, message",
    [
        (("--types", "int8,int5"), "there is no type 'int5'"),
        (("--types", "int16,float32"), "int8 is the type to start from"),
        (("--out", "m.onnx"), "--out: works only with --search"),
        (("--cpu", "cortex-m3"), "no table of costs comes with the tool for a core with fpu thumb2"),
        (("--cpu", "cortex-m4", "--fpu", "none"), "no table of costs comes with the tool for a core with dsp thumb2"),
        (("--cpu", "generic", "--fpu", "none"), "Hint: name the core with --board B or --cpu CORE; "),
    ],
)
def test_what_cannot_be_done_is_refused_in_one_line(files, words, message):
    done = sensitivity(files, *words)
    assert done.exit_code == 2 and message in done.stderr.splitlines()[-1]


def test_a_layer_with_a_long_name_is_called_as_verify_calls_it(files):
    long = onnx.load(files / "float.onnx")
    for node in long.graph.node:
        node.name = f"{'block/' * 20}{node.output[0]}"
    onnx.save(long, files / "long.onnx")
    samples = ("--quantize", files / "seen.npz", "--samples", "4", "--objective", "bytes", "--labels", files / "test.npz")
    done = aidge_build("accuracy", "--layers", files / "long.onnx", *samples)
    assert [line.split()[0] for line in done.stdout.splitlines()[3:]] == ["fc_1", "fc_2", "fc_3"], done
    assert "layer fc_3 alone" in done.stderr and "block/" not in done.stdout + done.stderr, done


def test_samples_to_quantize_by_are_asked_for(files):
    done = aidge_build("sensitivity", files / "float.onnx", "--labels", files / "test.npz")
    assert done.exit_code == 2 and "--quantize F.npz: the samples for quantization are missing" in done.stderr


COSTS = b"""schema = 1
name = "t"
version = "1"
unit = "instructions"
cost = [{library = "ref", kernel = "fc_float32", op = "FC", per_mac = 5},
        {library = "ref", kernel = "fc_float32", op = "FC", shape = "terms 8, outputs 8", per_mac = 2},
        {library = "ref", kernel = "fc_float32", op = "FC", shape = "terms 16, outputs 16", per_mac = 3},
        {library = "ref", kernel = "other", op = "FC", per_mac = 7},
        {library = "ref", kernel = "more", op = "Conv2D", per_mac = 9},
        {library = "ref", kernel = "pool", op = "MaxPooling2D", per_element = 11},
        {library = "far", kernel = "fc", op = "FC", per_mac = 100}]
"""


def estimated(kernel: str, inputs: int, outputs: int, library: str = "ref") -> tuple[float, bool]:
    """Of a fully connected layer, or of a ReLU of so many values where it has no inputs."""
    weights = {"w": numpy.zeros((outputs, max(inputs, 1)), numpy.float32)}
    if inputs:
        view = graph(
            "y = Gemm <transB = 1> (x, w)", inputs=f"float[1,{inputs}] x", outputs=f"float[1,{outputs}] y", constants=weights
        )
    else:
        view = graph("y = Relu (x)", inputs=f"float[1,{outputs}] x", outputs=f"float[1,{outputs}] y")
    kernel_like = SimpleNamespace(library=library, name=kernel, type="FC")
    return estimate(read_cost_table(COSTS, "t"), kernel_like, NodeView.of(simplify(view), simplify(view).nodes[0]))


@pytest.mark.parametrize(
    "kernel, inputs, outputs, library, cost",
    [
        ("fc_float32", 8, 8, "ref", (2 * 64, True)),
        ("fc_float32", 31, 31, "ref", (3 * 31 * 31, True)),
        ("fc_float32", 256, 256, "ref", (5 * 65536, True)),
        ("more", 8, 8, "ref", (9 * 64, True)),
        ("nobody's", 8, 8, "ref", (7 * 64, False)),
        ("nobody's", 8, 8, "far", (100 * 64, False)),
        ("nobody's", 0, 8, "ref", (11 * 8, False)),
    ],
)
def test_a_layer_costs_what_the_nearest_that_was_measured_did(kernel, inputs, outputs, library, cost):
    assert estimated(kernel, inputs, outputs, library) == cost
