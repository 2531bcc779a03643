# SPDX-License-Identifier: MIT
"""Measures the tables of costs that come with the tool (aidge_build/accuracy/costs): about five minutes.

    python -m tools.cost_tables [core=cortex-m4]

Each float model is measured in float, in int8, in int16 and in a mixture of the three, with every kernel that accepts a layer.
To be run anew when kernels get other names, or much faster.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy

from aidge_build.accuracy.costs import SHIPPED
from aidge_build.cli import main
from aidge_build.importers.onnx_importer import import_onnx
from aidge_build.operators import builtin_operators
from aidge_build.quantization import Scheme, quantize
from aidge_build.quantization.layers import layers_of
from aidge_build.quantization.prepare import prepared

ROOT = Path(__file__).resolve().parents[1]
MODELS = ROOT.parent / "shared" / "models" / "mlperf_tiny"
BOARDS = {"cortex-m4": "mps2-an386", "cortex-m55": "mps3-an547"}
MIXTURES = {"": ("int8",), "16": ("int16",), "mix": ("int16", "float32", "int8")}
CALIBRATION, MOST_MIXED = 8, 20  # samples; layers of a model that is measured in all mixtures


def write_models(folder: Path) -> None:
    """NAME_float.onnx, NAME_int8_qdq.onnx and NAME_io.npz of each model and mixture."""
    digits = folder / "digits.onnx"
    train = ROOT / "examples" / "digits" / "train.py"
    subprocess.run([sys.executable, str(train), "--check", "--float-out", str(digits)], check=True, stdout=subprocess.DEVNULL)
    for path in [*sorted(MODELS.glob("*_float.onnx")), digits]:
        write_model(path.stem.removesuffix("_float"), path.read_bytes(), folder)
    digits.unlink()


def write_model(name: str, data: bytes, folder: Path) -> None:
    """One float model and what quantizing makes of it; inputs stay float, so that one file of vectors serves all."""
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
        (folder / f"{name}{ending}_int8_qdq.onnx").write_bytes(quantize(data, {source: samples}, scheme))
        numpy.savez(folder / f"{name}{ending}_io.npz", x=samples[:1].reshape(1, *view.tensor(source).dims))


def run(cores: list[str]) -> int:
    """Writes the tables; the exit code of the first that fails, else 0."""
    with tempfile.TemporaryDirectory() as folder:
        write_models(Path(folder))
        for core in cores:
            table = SHIPPED / f"{core}.toml"
            if code := main(["bench", folder, "--boards", BOARDS[core], "--costs", str(table), "--vectors", "1"]):
                return code
    return 0


if __name__ == "__main__":
    options = dict(word.split("=", 1) for word in sys.argv[1:])
    sys.exit(run([options["core"]] if "core" in options else list(BOARDS)))
