# SPDX-License-Identifier: MIT
"""The five MLPerf Tiny networks, generated with `ref`, on the host and on emulated boards."""

from __future__ import annotations

import json
import os

import numpy
import pytest

from tests.command import aidge_build
from tests.shared import FLOAT_MODELS, MODELS, float_model, int8_model, vectors

STRESS = "AIDGE_STRESS" in os.environ
PERTURBED = 100 if STRESS else 10
# Stored vectors on emulated boards, where each costs a tenth of a second or more: one, of small networks two; the host runs all.
ON_BOARDS = {"kws_dscnn": 2, "sww_dscnn1d": 2}
# Float networks that run on boards, too, and on how many; AIDGE_STRESS=1 takes all.
FLOAT_ON_BOARDS = {"ad_toycar": 2, "kws_dscnn": 1}
# The boards' own libraries: all models on both boards under AIDGE_STRESS=1.
SOME_PAIRS = {
    "ic_resnet8": "mps2-an386",
    "kws_dscnn": "mps3-an547",
    "sww_dscnn1d": "mps3-an547",
}
OWN_LIBRARIES = [(name, board) for name in MODELS for board in ("mps2-an386", "mps3-an547")] if STRESS else [*SOME_PAIRS.items()]
# The code of `ref` is the same for every core: a network on one, another on another; a network that owns no memory runs on the
# Cortex-M7, below. All under AIDGE_STRESS=1.
ON_CORES = {"mps2-an386": ("kws_dscnn",), "stm32f7": (), "mps3-an547": ("sww_dscnn1d",)}
EVERYWHERE = pytest.mark.parametrize(
    "name, board",
    [(name, board) for name in MODELS for board in ("host", *ON_CORES) if STRESS or board == "host" or name in ON_CORES[board]],
)
SMALL = "kws_dscnn" if STRESS else "sww_dscnn1d"
PEAK_BYTES = {"ic_resnet8": 32_768, "kws_dscnn": 16_000, "vww_mobilenet025": 73_728, "ad_toycar": 768, "sww_dscnn1d": 7_936}


def stored(name, board, folder):
    """The file of stored vectors; its first ones for an emulated board."""
    if board == "host":
        return vectors(name)
    count = None if STRESS else ON_BOARDS.get(name, 1)
    values = {key: entry[:count] if entry.ndim else entry for key, entry in numpy.load(vectors(name)).items()}
    numpy.savez(folder / "some.npz", **values)
    return folder / "some.npz"


def verify(folder, model, name, board, *more):
    given = ("--io-data", stored(name, board, folder), "--board", board, "--lib", "ref", "--json")
    result = aidge_build("verify", model, *given, *more)
    assert result.exit_code in (0, 1), result.stderr
    return result.json


@EVERYWHERE
def test_outputs_are_the_stored_references_and_layers_numpys_within_peak_and_instructions(name, board, tmp_path):
    """On the host, the layers are compared with perturbed vectors, below."""
    layers = ("--layers",) if STRESS or board == "mps2-an386" else ()
    found = verify(tmp_path, int8_model(name), name, board, "--reference", "y_ort_qdq", *layers)
    assert found["differing_values"] == 0 and found["first_difference"] is None and found["ok"]
    assert found["values"] == found["outputs"][0]["values"] > 0
    assert found["peak_bytes"] <= PEAK_BYTES[name]
    if board == "mps2-an386":
        assert found["instructions_per_inference"] <= 8 * found["macs"]
        assert sum(layer["instructions"] for layer in found["layers"]) <= found["instructions_per_inference"]


@pytest.mark.parametrize("name", MODELS)
def test_every_layer_equals_the_numpy_backend_on_perturbed_vectors(name, tmp_path):
    found = verify(tmp_path, int8_model(name), name, "host", "--perturb", PERTURBED, "--seed", 7, "--layers")
    assert found["first_difference"] is None and found["ok"]
    assert found["vectors"] == PERTURBED


@pytest.mark.parametrize("name, board", OWN_LIBRARIES)
def test_the_boards_own_libraries_are_as_exact_in_every_layer(name, board, tmp_path):
    words = ("verify", int8_model(name), "--io-data", stored(name, board, tmp_path), "--board", board, "--layers", "--json")
    known = aidge_build(*words, "--reference", "y_ort_qdq")
    assert known.exit_code == 0 and known.json["differing_values"] == 0, known.stderr or known.stdout
    assert any(not layer["kernel"].startswith("ref ") for layer in known.json["layers"])
    if name == "kws_dscnn" or STRESS:
        perturbed = aidge_build(*words, "--perturb", 5, "--seed", 3)
        assert perturbed.exit_code == 0, perturbed.stderr or perturbed.stdout


@pytest.mark.parametrize("name", FLOAT_MODELS)
def test_float_outputs_are_within_the_tolerance_of_onnxruntime(name, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(str(float_model(name)), options, providers=["CPUExecutionProvider"])
    known = numpy.load(vectors(name))
    real = (known["x"].astype(numpy.float32) - numpy.float32(known["x_zero_point"])) * numpy.float32(known["x_scale"])
    outputs = numpy.stack([session.run(None, {session.get_inputs()[0].name: x})[0] for x in real])
    for board in ("host", "mps2-an386", "mps3-an547")[: 3 if STRESS else 1 + FLOAT_ON_BOARDS.get(name, 0)]:
        count = None if board == "host" or STRESS else 1
        numpy.savez(tmp_path / "io.npz", x=real[:count], y=outputs[:count])
        result = aidge_build(
            "verify",
            float_model(name),
            "--io-data",
            tmp_path / "io.npz",
            "--reference",
            "y",
            "--board",
            board,
            "--lib",
            "ref",
            "--weights",
            "c" if STRESS or (name, board) == ("kws_dscnn", "host") else "incbin",  # numbers in C took half of the time
            "--json",
        )
        assert result.exit_code == 0, result.stderr or json.dumps(result.json["outputs"])
        assert result.json["outputs"][0]["max_difference"] <= 1e-4


@pytest.mark.parametrize(
    "board, flags",
    [
        ("host", ("-std=gnu11", "-O3")),
        ("host", ("-O2", "-flto")),
        ("host", ("-std=c99", "-O0")),
        ("mps2-an386", ("-Os",)),
        ("mps2-an386", ("-O3", "-flto", "-ffp-contract=fast")),
    ],
)
def test_results_do_not_depend_on_the_consumers_flags(flags, board, tmp_path):
    words = ("--reference", "y_ort_qdq", *(f"--flag={flag}" for flag in flags))
    found = verify(tmp_path, int8_model(SMALL), SMALL, board, *words)
    assert found["differing_values"] == 0


def test_a_float_model_refuses_fast_math():
    result = aidge_build(
        "verify",
        float_model("ad_toycar"),
        "--io-data",
        vectors("ad_toycar"),
        "--board",
        "host",
        "--lib",
        "ref",
        "--flag=-ffast-math",
    )
    assert result.exit_code == 2 and "fast-math" in result.stderr


OWNERS = [("--io", "arena"), ("--arena", "caller"), ("--io", "arena", "--arena", "caller"), ("--weights", "incbin")]


@pytest.mark.parametrize(
    "options, board",
    [(words, board) for words in OWNERS for board in ("host", "stm32f7") if STRESS or board == "host" or words == OWNERS[2]],
)
def test_every_way_to_own_memory_gives_the_same_outputs(options, board, tmp_path):
    found = verify(tmp_path, int8_model(SMALL), SMALL, board, "--reference", "y_ort_qdq", *options)
    assert found["differing_values"] == 0
    assert found["peak_bytes"] <= PEAK_BYTES[SMALL]


def test_a_wrong_reference_is_found_and_ends_with_exit_code_1(tmp_path):
    known = dict(numpy.load(vectors("kws_dscnn")))
    known["y_ort_qdq"][2, 0, 5] += 1
    numpy.savez(tmp_path / "io.npz", **known)
    result = aidge_build(
        "verify", int8_model("kws_dscnn"), "--io-data", tmp_path / "io.npz", "--reference", "y_ort_qdq", "--lib", "ref", "--json"
    )
    assert result.exit_code == 1
    assert result.json["differing_values"] == 1 and result.json["max_difference"] == 1
