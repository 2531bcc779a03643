# SPDX-License-Identifier: MIT
"""Measures the tables of costs that come with the tool (aidge_build/prepare/adaptation/costs).

    python -m tools.cost_tables FOLDER [core=cortex-m4]

Each float model is measured in float, in int8, in int16 and in a mixture of the three, and so are seeded networks in int8, with
every kernel that accepts a layer. FOLDER keeps the models and what was measured: the same command goes on after an interruption.
To be run anew when kernels get other names, or other counts: some ten minutes of a processor for each core.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy

from aidge_build.boards import load_board
from aidge_build.cli import main
from aidge_build.operators import builtin_operators
from aidge_build.prepare.adaptation.shipped import FOLDER, file_name
from aidge_build.prepare.quantization import Scheme, quantize
from aidge_build.prepare.quantization.layers import layers_of
from aidge_build.prepare.quantization.prepare import prepared
from aidge_build.sources.formats.onnx.importer import import_onnx
from tools.prediction.networks import network
from tools.rivals import rivals

ROOT = Path(__file__).resolve().parents[1]
MODELS = ROOT.parent / "shared" / "models" / "mlperf_tiny"
BOARDS = {"cortex-m4": "mps2-an386", "cortex-m55": "mps3-an547"}
MIXTURES = {"": ("int8",), "16": ("int16",), "mix": ("int16", "float32", "int8")}
CALIBRATION, MOST_MIXED = 8, 20  # samples; layers of a model that is measured in all mixtures
NETWORKS = [(seed, "") for seed in range(5000, 5024)] + [(seed, "rare") for seed in range(5000, 5008)]
RIVALS = range(6000, 6010)
FEWEST = 3  # layers of a class of shapes in which kernels are compared


def write_models(folder: Path) -> None:
    """Each model in its mixtures, and the networks."""
    digits = folder / "digits.onnx"
    train = ROOT / "examples" / "digits" / "train.py"
    subprocess.run([sys.executable, str(train), "--check", "--float-out", str(digits)], check=True, stdout=subprocess.DEVNULL)
    for path in [*sorted(MODELS.glob("*_float.onnx")), digits]:
        write_model(path.stem.removesuffix("_float"), path.read_bytes(), folder)
    digits.unlink()
    for seed, kind in NETWORKS:
        (folder / f"network{seed}{kind}.onnx").write_bytes(network(seed, quantized=True, kind=kind).SerializeToString())
    for seed in RIVALS:
        (folder / f"rivals{seed}.onnx").write_bytes(rivals(seed).SerializeToString())


def write_model(name: str, data: bytes, folder: Path) -> None:
    """One float model and what quantizing makes of it."""
    view, _ = import_onnx(data, name, builtin_operators(), {}, {})
    (source,) = view.inputs
    random = numpy.random.Generator(numpy.random.PCG64(1))
    samples = random.normal(size=(CALIBRATION, *view.tensor(source).dims[1:])).astype(numpy.float32)
    layers = [layer.names[0] for layer in layers_of(prepared(view), Scheme()).layers if layer.kind in ("linear", "computing")]
    (folder / f"{name}_float.onnx").write_bytes(data)
    for ending, kinds in MIXTURES.items():
        if ending and len(layers) > MOST_MIXED:
            continue
        types = {layer: kinds[index % len(kinds)] for index, layer in enumerate(layers)}
        scheme = Scheme(layers=types, io_type="float32")
        (folder / f"{name}_int8{ending}.onnx").write_bytes(quantize(data, {source: samples}, scheme))


def run(folder: Path, cores: list[str]) -> int:
    """Writes the tables, all of them at the end: they are part of the tool, and what was measured is that of one tool alone. The
    exit code of the first that fails, else 0."""
    folder.mkdir(parents=True, exist_ok=True)
    write_models(folder)
    models = sorted(map(str, folder.glob("*.onnx")))
    made = {core: folder / f"{core}.toml" for core in cores}
    for core, table in made.items():
        if code := main(["tune", *models, "--board", BOARDS[core], "--out", str(table), "--layers", str(FEWEST)]):
            return code
    for core, table in made.items():
        shutil.copyfile(table, FOLDER / file_name(load_board(BOARDS[core], []).features))
    return 0


if __name__ == "__main__":
    target, *options = sys.argv[1:]
    sys.exit(run(Path(target), [option.removeprefix("core=") for option in options] or list(BOARDS)))
