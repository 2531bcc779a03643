# SPDX-License-Identifier: MIT
"""Trains small networks on data sets that come with scikit-learn, quantizes them in several ways, and prints a table.

    python -m tools.accuracy_table board=mps2-an386

It needs scikit-learn, the cross compiler and the emulator. Training (with calibration), validation and test data are disjoint:
validation chooses calibration and mixture, the figures are those of the test data.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy
import onnx

from aidge_build.cli import main

RANGES = ("minmax", "moving-average", "percentile", "mse", "entropy")
OPTIONS = ("equalize", "correct-bias", "round-weights")
# The plain one first: what is no better does not take its place. With each kind of ranges, none, each alone, or all options.
WAYS = [
    ("--ranges", ranges, *(word for option in options for word in (f"--{option}", "on")))
    for options in ((), *((option,) for option in OPTIONS), OPTIONS)
    for ranges in RANGES
]
SEED, CALIBRATION = 0, 100


@dataclass(frozen=True)
class Case:
    """A data set with a network: `hidden` layers of so many values; `in_model` standardizes the features in the network."""

    name: str
    hidden: tuple[int, ...]
    in_model: bool = False

    @property
    def title(self) -> str:
        """For the table."""
        return f"{self.name}{', raw features' if self.in_model else ''}"


CASES = (
    Case("digits", (32,)),
    Case("breast_cancer", (16, 8)),
    Case("breast_cancer", (16, 8), in_model=True),
    Case("diabetes", (16, 8)),
)


def write_case(case: Case, folder: Path) -> None:
    """float.onnx and calibration.npz, validation.npz and test.npz of one case."""
    from sklearn import datasets
    from sklearn.model_selection import train_test_split
    from sklearn.neural_network import MLPClassifier, MLPRegressor
    from sklearn.preprocessing import StandardScaler

    data = getattr(datasets, f"load_{case.name}")()
    is_real = case.name == "diabetes"
    x, y = data.data, data.target / 100 if is_real else data.target
    kept = None if is_real else y
    training, others = train_test_split(numpy.arange(len(y)), test_size=0.5, random_state=SEED, stratify=kept)
    validation, test = train_test_split(others, test_size=0.5, random_state=SEED, stratify=None if is_real else y[others])
    scaler = StandardScaler().fit(x[training])
    kind = MLPRegressor if is_real else MLPClassifier
    network = kind(hidden_layer_sizes=case.hidden, random_state=SEED, max_iter=600, alpha=1.0 if is_real else 1e-3)
    network.fit(scaler.transform(x[training]), y[training])
    weights, biases = [array.T for array in network.coefs_], list(network.intercepts_)
    given = x if case.in_model else scaler.transform(x)
    if case.in_model:  # as an exported pipeline has it
        weights[0], biases[0] = weights[0] / scaler.scale_, biases[0] - weights[0] @ (scaler.mean_ / scaler.scale_)
    (folder / "float.onnx").write_bytes(network_bytes(weights, biases))
    truth = {"targets": y[:, None].astype(numpy.float32)} if is_real else {"labels": y.astype(numpy.int64)}
    numpy.savez(folder / "calibration.npz", x=given[training[:CALIBRATION]].astype(numpy.float32))
    for name, rows in (("validation", validation), ("test", test)):
        numpy.savez(
            folder / f"{name}.npz", x=given[rows].astype(numpy.float32), **{key: value[rows] for key, value in truth.items()}
        )


def network_bytes(weights: Sequence[numpy.ndarray], biases: Sequence[numpy.ndarray]) -> bytes:
    """Fully connected layers with Relu between them: logits, or one value."""
    lines, value, constants = [], "x", {}
    for index, (matrix, bias) in enumerate(zip(weights, biases)):
        last = index == len(weights) - 1
        constants |= {f"w{index}": matrix.astype(numpy.float32), f"b{index}": bias.astype(numpy.float32)}
        lines.append(f"{'y' if last else f'a{index}'} = Gemm <transB = 1> ({value}, w{index}, b{index})")
        lines += [] if last else [f"r{index} = Relu (a{index})"]
        value = f"r{index}"
    signature = f"(float[1,{weights[0].shape[1]}] x) => (float[1,{len(biases[-1])}] y)"
    graph = onnx.parser.parse_graph(f"network {signature} {{ {chr(10).join(lines)} }}")
    graph.initializer.extend(onnx.numpy_helper.from_array(values, name) for name, values in constants.items())
    made = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)])
    made.ir_version = 8
    return made.SerializeToString()


def called(*words: object) -> dict:
    """What a verb prints as JSON."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        code = main([*map(str, words), "--json"])
    found = json.loads(out.getvalue())
    if code not in (0, 1):
        raise SystemExit(f"{words}: {found}")
    return found


def row(case: Case, board: str) -> list[str]:
    """The cells of one case."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_case(case, folder)
        io_type = ("--io-type", "float32") if case.in_model else ()
        quantize = (folder / "float.onnx", "--quantize", folder / "calibration.npz", *io_type)

        def measured(data: str, *words: object, model: Sequence[object] = quantize) -> list[dict]:
            return called("accuracy", *model, "--labels", folder / f"{data}.npz", *words)["stages"]

        best = max(WAYS, key=lambda way: figure(measured("validation", *way)[-1])[1])
        plain = measured("test", "--board", board)
        chosen = measured("test", "--board", board, *best)
        words = ("--search", "--max-loss", 0, *best, "--out", folder / "mixed.onnx", "--board", board)
        mixture = called("sensitivity", *quantize, "--labels", folder / "validation.npz", *words)["search"]["taken"]
        mixed = measured("test", "--board", board, model=(folder / "mixed.onnx",))
        floats = measured("test", "--board", board, model=(folder / "float.onnx",))
        types = " ".join({"int8": "8", "int16": "16", "float32": "f"}[kind] for kind in mixture["types"].values())
        stages = [floats[-1], plain[-1], chosen[-1], mixed[-1]]
        texts = [f"{figure(stage)[0]}, {stage['instructions']:,}" for stage in stages]
        return [
            case.title,
            str(count(stages[0], folder)),
            texts[0],
            texts[1],
            f"{texts[2]} ({way_text(best)})",
            f"{texts[3]} ({types})",
        ]


def way_text(way: Sequence[str]) -> str:
    """`mse, equalize` of the words of a command line."""
    return ", ".join(word.removeprefix("--") for word in way[1:] if word != "on")


def figure(stage: dict) -> tuple[str, float]:
    """The main figure, for people and as a number."""
    if stage["top1"]:
        return f"{100 * stage['top1']['share']:.1f} %", stage["top1"]["share"]
    errors = next(iter(stage["errors"].values()))
    return f"R2 {errors['r2']:.4f}", errors["r2"]


def count(stage: dict, folder: Path) -> int:
    """How many samples the test data have."""
    return len(numpy.load(folder / "test.npz")["x"])


def run(board: str) -> None:
    """Prints the table."""
    titles = ["data", "test samples", "float", "int8, min-max", "int8, best of 25 ways", "mixed, no loss allowed"]
    for cells in (titles, ["---"] * len(titles), *(row(case, board) for case in CASES)):
        print(f"| {' | '.join(cells)} |")


if __name__ == "__main__":
    options = dict(word.split("=", 1) for word in sys.argv[1:])
    run(options.get("board", "mps2-an386"))
