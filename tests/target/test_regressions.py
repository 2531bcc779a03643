# SPDX-License-Identifier: MIT
"""Faults that are known from the systems before this one: each model is right, in float32 and in int8, on the host.

Float models are compared with onnxruntime. The int8 models are what onnxruntime's own quantization makes of them; they must
equal the numpy backend, which in turn must be close to onnxruntime.
"""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import numpy
import onnx
import onnxruntime
import pytest
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

from tests.command import Result, aidge_build
from tests.models import model

RANDOM = numpy.random.default_rng(11)
VECTORS = 4


def weights(*dims) -> numpy.ndarray:
    return (RANDOM.normal(size=dims) * 0.3).astype(numpy.float32)


@dataclass(frozen=True)
class Case:
    text: str
    inputs: str
    outputs: str
    constants: dict = field(default_factory=dict)


CASES = {
    "non-square global pooling": Case(
        "a = Conv(x, w) y = GlobalAveragePool(a)", "float[1,3,9,5] x", "float[1,4,1,1] y", {"w": weights(4, 3, 3, 2)}
    ),
    "non-square global maximum": Case(
        "a = Conv(x, w) y = GlobalMaxPool(a)", "float[1,3,9,5] x", "float[1,4,1,1] y", {"w": weights(4, 3, 3, 2)}
    ),
    "Clip bounds as inputs": Case(
        "a = Conv(x, w) y = Clip(a, low, high)",
        "float[1,3,6,7] x",
        "float[1,4,4,6] y",
        {"w": weights(4, 3, 3, 2), "low": numpy.float32(0), "high": numpy.float32(0.75)},
    ),
    "auto_pad SAME_UPPER": Case(
        'y = Conv<auto_pad="SAME_UPPER", strides=[2,2]>(x, w)', "float[1,3,9,8] x", "float[1,4,5,4] y", {"w": weights(4, 3, 3, 4)}
    ),
    "auto_pad SAME_LOWER": Case(
        'y = Conv<auto_pad="SAME_LOWER", strides=[2,2]>(x, w)', "float[1,3,9,8] x", "float[1,4,5,4] y", {"w": weights(4, 3, 3, 4)}
    ),
    "count_include_pad 0": Case(
        "y = AveragePool<kernel_shape=[3,3], pads=[1,1,1,1], count_include_pad=0>(x)", "float[1,3,6,7] x", "float[1,3,6,7] y"
    ),
    "count_include_pad 1": Case(
        "y = AveragePool<kernel_shape=[3,3], pads=[1,1,1,1], count_include_pad=1>(x)", "float[1,3,6,7] x", "float[1,3,6,7] y"
    ),
    "concat of convolutions": Case(
        "a = Conv<pads=[1,1,1,1]>(x, v) b = Conv(x, w) c = Concat<axis=1>(a, b) y = Conv(c, u)",
        "float[1,3,6,7] x",
        "float[1,2,6,7] y",
        {"v": weights(5, 3, 3, 3), "w": weights(2, 3, 1, 1), "u": weights(2, 7, 1, 1)},
    ),
    "residual Add": Case(
        "a = Conv<pads=[1,1,1,1]>(x, v, b) r = Relu(a) c = Conv<pads=[1,1,1,1]>(r, w) d = Add(c, r) e = Relu(d) y = Conv(e, u)",
        "float[1,3,6,7] x",
        "float[1,2,6,7] y",
        {"v": weights(5, 3, 3, 3), "b": weights(5), "w": weights(5, 5, 3, 3), "u": weights(2, 5, 1, 1)},
    ),
    "an intermediate tensor that is also an output": Case(
        "a = Conv(x, v) b = Relu(a) y = Conv(b, w)",
        "float[1,3,6,7] x",
        "float[1,5,4,6] b, float[1,2,4,6] y",
        {"v": weights(5, 3, 3, 2), "w": weights(2, 5, 1, 1)},
    ),
    "two inputs": Case(
        "a = Conv(x, w) b = Conv(z, v) y = Add(a, b)",
        "float[1,3,6,7] x, float[1,2,6,7] z",
        "float[1,5,6,7] y",
        {"w": weights(5, 3, 1, 1), "v": weights(5, 2, 1, 1)},
    ),
    "Flatten inside": Case(
        "a = Conv(x, w) r = Relu(a) f = Flatten(r) g = Gemm<transB=1>(f, v, b) y = Relu(g)",
        "float[1,3,6,5] x",
        "float[1,6] y",
        {"w": weights(4, 3, 3, 2), "v": weights(6, 64), "b": weights(6)},
    ),
    "grouped convolution": Case(
        "y = Conv<group=2, pads=[1,0,0,1]>(x, w, b)",
        "float[1,6,6,7] x",
        "float[1,4,5,6] y",
        {"w": weights(4, 3, 3, 3), "b": weights(4)},
    ),
    **{
        f"{count} channels": Case(
            "a = Conv<pads=[1,1,1,1]>(x, w) d = Conv<pads=[1,1,1,1], group=GROUP>(a, v) y = Conv(d, u)".replace(
                "GROUP", str(count)
            ),
            "float[1,3,6,7] x",
            f"float[1,{count + 2},6,7] y",
            {"w": weights(count, 3, 3, 3), "v": weights(count, 1, 3, 3), "u": weights(count + 2, count, 1, 1)},
        )
        for count in (1, 3, 5, 17)
    },
}


class Reader(CalibrationDataReader):
    def __init__(self, feeds):
        self.feeds = iter(feeds)

    def get_next(self):
        return next(self.feeds, None)


def session_of(path: Path):
    return onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])


def joined() -> onnx.ModelProto:
    """One model of all cases, which share nothing; the names of case N begin with cN_."""
    made = [
        onnx.compose.add_prefix(
            onnx.load_from_string(model(case.text, inputs=case.inputs, outputs=case.outputs, constants=case.constants)), f"c{n}_"
        )
        for n, case in enumerate(CASES.values())
    ]
    for part in made[1:]:
        for side in ("node", "initializer", "input", "output"):
            getattr(made[0].graph, side).extend(getattr(part.graph, side))
    return made[0]


@dataclass(frozen=True)
class Outcome:
    """What `verify` said of one program of all cases, and for each output what the firmware and onnxruntime computed."""

    result: Result
    got: dict[str, numpy.ndarray]
    wanted: dict[str, numpy.ndarray]

    def of(self, name: str) -> list[dict]:
        """The outputs of a case in the JSON object."""
        start = f"c{list(CASES).index(name)}_"
        found = [entry for entry in self.result.json["outputs"] if entry["name"].startswith(start)]
        assert len(found) == CASES[name].outputs.count("float["), self.result.stdout
        return found


def outcome(path: Path, feeds: list[dict], *words: str) -> Outcome:
    """`verify` on the host; NPZ keys are x_<input> and ref_<output>."""
    session = session_of(path)
    names = [entry.name for entry in session.get_outputs()]
    rows = [session.run(names, feed) for feed in feeds]
    wanted = {name: numpy.stack([row[index] for row in rows]) for index, name in enumerate(names)}
    arrays = {f"x_{name}": numpy.stack([feed[name] for feed in feeds]) for name in feeds[0]}
    numpy.savez(path.parent / "io.npz", **arrays, **{f"ref_{name}": values for name, values in wanted.items()})
    kept = path.parent / "kept"
    result = aidge_build("verify", path, "--io-data", path.parent / "io.npz", "--lib", "ref", "--json", "--keep", kept, *words)
    assert result.stdout, result.stderr
    got = numpy.fromfile(kept / "output.bin", numpy.float32).reshape(VECTORS, -1)
    ends = numpy.cumsum([values.size // VECTORS for values in wanted.values()])
    return Outcome(result, dict(zip(names, numpy.split(got, ends[:-1], axis=1), strict=True)), wanted)


@pytest.fixture(scope="module")
def in_float(tmp_path_factory) -> tuple[Path, list[dict], Outcome]:
    path = tmp_path_factory.mktemp("regressions") / "net.onnx"
    onnx.save(joined(), path)
    inputs = session_of(path).get_inputs()
    feeds = [{entry.name: RANDOM.normal(size=entry.shape).astype(numpy.float32) for entry in inputs} for _ in range(VECTORS)]
    return path, feeds, outcome(path, feeds, "--reference", "ref")


@pytest.fixture(scope="module")
def in_int8(in_float, tmp_path_factory) -> Outcome:
    path, feeds, _ = in_float
    quantized = tmp_path_factory.mktemp("quantized") / "quantized.onnx"
    quantize_static(
        str(path),
        str(quantized),
        Reader(feeds),
        quant_format=QuantFormat.QDQ,
        activation_type=QuantType.QInt8,
        weight_type=QuantType.QInt8,
    )
    return outcome(quantized, feeds, "--layers")


@pytest.mark.parametrize("name", CASES)
def test_the_float_model_computes_what_onnxruntime_does(name, in_float):
    assert all(entry["differing_values"] == 0 for entry in in_float[2].of(name))


@pytest.mark.parametrize("name", CASES)
def test_the_int8_model_equals_the_numpy_backend_and_is_close_to_onnxruntime(name, in_int8):
    for entry in in_int8.of(name):
        assert entry["differing_values"] == 0
        got, wanted = (values[entry["name"]].reshape(VECTORS, -1) for values in (in_int8.got, in_int8.wanted))
        assert numpy.abs(got - wanted).max() <= 0.03 * numpy.abs(wanted).max()


def test_every_layer_of_both_models_is_right_and_of_the_reference_library(in_float, in_int8):
    assert in_float[2].result.exit_code == in_int8.result.exit_code == 0, in_int8.result.stdout
    assert all(layer["kernel"].startswith("ref ") for layer in in_int8.result.json["layers"])


def test_two_models_in_one_firmware_do_not_clash(tmp_path):
    cases = [
        CASES["residual Add"],
        Case(
            CASES["residual Add"].text,
            "float[1,3,6,7] x",
            "float[1,2,6,7] y",
            {name: values * 2 for name, values in CASES["residual Add"].constants.items()},
        ),
    ]
    values = RANDOM.normal(size=(1, 3, 6, 7)).astype(numpy.float32)
    wanted = []
    for name, case in zip(("one", "two"), cases):
        path = tmp_path / f"{name}.onnx"
        path.write_bytes(model(case.text, inputs=case.inputs, outputs=case.outputs, constants=case.constants))
        wanted.append(session_of(path).run(None, {"x": values})[0].reshape(-1))
        result = aidge_build("compile", path, "--name", name, "--out", tmp_path, "--lib", "ref", "--json")
        assert result.exit_code == 0 and json.loads(result.stdout)["ok"]
    numbers = ", ".join(repr(float(value)) for value in values.reshape(-1))
    (tmp_path / "main.c").write_text(f"""#include <stdio.h>
#include "one.h"
#include "two.h"
static const float x[ONE_INPUT_SIZE] = {{ {numbers} }};
int main(void)
{{
    static float a[ONE_OUTPUT_SIZE], b[TWO_OUTPUT_SIZE];
    if (one_run(x, a) != 0 || two_run(x, b) != 0) return 1;
    for (int i = 0; i < ONE_OUTPUT_SIZE; i++) printf("%.9g %.9g\\n", (double)a[i], (double)b[i]);
    return 0;
}}
""")
    sources = ["main.c", "one.c", "one_weights.c", "two.c", "two_weights.c"]
    subprocess.run(["cc", "-O1", "-Wall", "-Werror", *sources, "-lm", "-o", "both"], cwd=tmp_path, check=True)
    printed = subprocess.run(["./both"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout.split()
    for got, reference in zip((printed[0::2], printed[1::2]), wanted):
        assert numpy.allclose(numpy.float32(got), reference, atol=1e-4 * numpy.abs(reference).max())
