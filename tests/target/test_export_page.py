# SPDX-License-Identifier: MIT
"""The page about the export API does what it says: its kernel computes exactly, its export runs, every name on it is there."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import numpy
import pytest

import aidge_build
import aidge_build.prepare.net
from aidge_build import compat
from aidge_build.compat.mem_info import generate_optimized_memory_info
from aidge_build.compat.prod_conso import ProdConso
from aidge_build.contract.spec import NodeView
from tests.command import aidge_build as command
from tests.models import model
from tests.stripes_export import forget_inherited_modules

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "export-api.md").read_text()
KERNEL, EXPORT, INHERITED, ADOPTION = re.findall(r"^```python\n(.*?)^```", PAGE, re.M | re.S)
(HEADER,) = re.findall(r"^```c\n(.*?)^```", PAGE, re.M | re.S)
RANDOM = numpy.random.default_rng(6)


def quantized_layer() -> bytes:
    """A fully connected layer with a scale per output, in the QDQ form."""
    return model(
        "q = QuantizeLinear(x, s, z) a = DequantizeLinear(q, s, z) b = DequantizeLinear<axis=0>(w, t, zw) "
        "c = DequantizeLinear<axis=0>(v, u, zv) g = Gemm<transB=1>(a, b, c) h = QuantizeLinear(g, r, zr) "
        "y = DequantizeLinear(h, r, zr)",
        inputs="float[3,17] x",
        outputs="float[3,5] y",
        constants={
            "s": numpy.float32(0.03),
            "z": numpy.int8(-11),
            "w": RANDOM.integers(-127, 128, (5, 17)).astype(numpy.int8),
            "t": (scales := RANDOM.uniform(0.001, 0.01, 5).astype(numpy.float32)),
            "zw": numpy.zeros(5, numpy.int8),
            "v": RANDOM.integers(-5000, 5000, 5).astype(numpy.int32),
            "u": numpy.float32(0.03) * scales,
            "zv": numpy.zeros(5, numpy.int32),
            "r": numpy.float32(0.02),
            "zr": numpy.int8(4),
        },
    )


def test_the_int8_kernel_of_the_page_computes_exactly(tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "library.toml").write_text('name = "mine"\nneeds = ["kit"]\n')
    (folder / "fc.py").write_text(KERNEL)
    (folder / "fc.h").write_text(HEADER)
    (tmp_path / "net.onnx").write_bytes(quantized_layer())
    numpy.savez(tmp_path / "io.npz", x=RANDOM.normal(size=(20, 3, 17)).astype(numpy.float32) * 2)
    words = ["--kernel-path", tmp_path, "--lib", "mine,ref", "--io-data", tmp_path / "io.npz", "--keep", tmp_path / "kept"]
    result = command("verify", tmp_path / "net.onnx", *words)
    assert result.exit_code == 0 and "0 of 300 values differ" in result.stdout, result.stdout + result.stderr
    layers = json.loads((tmp_path / "kept" / "model.plan.json").read_text())["layers"]
    assert ("mine", "fc") in [(layer["library"], layer["kernel"]) for layer in layers]


def test_the_export_of_the_page_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("kws.onnx").write_bytes(model("y = Relu(x)", inputs="float[N,4] x", outputs="float[N,4] y"))
    exec(EXPORT, {"x": numpy.float32([[-1, 0, 1, 2]])})
    line = re.search(r"^    (gcc .*)$", Path("out/README.md").read_text(), re.MULTILINE)[1]
    subprocess.run(line.split(), cwd="out", check=True)
    assert subprocess.run([tmp_path / "out/model"], capture_output=True, text=True).stdout == "0 values differ\n"


def test_the_library_of_the_page_that_knows_nothing_of_this_project_runs(tmp_path):
    names = {"__name__": __name__}
    try:
        exec(INHERITED, names)
    finally:
        forget_inherited_modules()
    (tmp_path / "net.onnx").write_bytes(
        model("a = Neg(x) b = Relu(a) c = Neg(b) y = Abs(c)", inputs="float[1,6] x", outputs="float[1,6] y")
    )
    made = names["export"](aidge_build.load_onnx(tmp_path / "net.onnx", libraries=names["Plain"]), str(tmp_path / "out"))
    assert list(made.backends.values()) == ["ref", "plain", "ref", "plain"]
    aidge_build.generate_main_compare(str(tmp_path / "out"), made, {"x": RANDOM.normal(size=(1, 6)).astype(numpy.float32)})
    line = re.search(r"^    (gcc .*)$", (tmp_path / "out/README.md").read_text(), re.MULTILINE)[1]
    subprocess.run(line.split(), cwd=tmp_path / "out", check=True)
    assert subprocess.run([tmp_path / "out/model"], capture_output=True, text=True).stdout == "0 values differ\n"


@pytest.mark.parametrize(
    "name",
    re.findall(
        r"\b(get_nb_(?:required|protected|consumed|produced)\w*|get_required_memory|\w+_consumer_producer|by_rows|in_parts|default_model)\b",
        PAGE,
    ),
)
def test_every_method_of_the_producer_consumer_model_on_the_page_is_there(name):
    assert callable(getattr(ProdConso, name))


def test_every_inherited_name_of_the_page_is_there():
    text = PAGE[PAGE.index("Names and parameters are the documented ones") : PAGE.index("### Libraries that cannot be changed")]
    cells = [line.split("|")[1] for line in text.splitlines() if line.startswith("| ")]
    names = {
        name
        for cell in cells
        for code in re.findall(r"`([^`]+)`", cell)
        for name in re.findall(r"(?:^|\.)([A-Za-z_]\w*)", re.sub(r"\(.*", "", code))
    }
    view = aidge_build.prepare.net.Graph("g")
    view.output(aidge_build.prepare.net.Relu(view.input("x", (1, 2))), "y")
    node = compat.ExportNodeCpp.__mro__[1](NodeView.of(view.view(), view.view().nodes[0]))
    owners = [compat, compat.ExportLib, compat.ExportNodeCpp, compat.OperatorImpl, compat.SequentialScheduler, ProdConso]
    owners += [
        compat.OperatorHandle,
        compat.export_utils,
        compat.hw_model,
        compat.Log,
        compat.FCOp,
        node,
        node.node,
        node.operator,
    ]
    known = {name for owner in owners for name in dir(owner)} | set(node.attributes) | {"model_forward", "graph_view", "hw_model"}
    assert (
        len(names) > 70 and sorted(name for name in names - known if not name.endswith("_") and not hasattr(compat, name)) == []
    )


def test_every_module_helper_and_option_on_the_page_is_there():
    kit = ROOT / "aidge_build" / "contract" / "kernel_kit"
    table = PAGE[PAGE.index("| of `aidge_build/contract/kernel_kit/`") :].partition("\n\n")[0]
    names = re.findall(r"`(\w+\.py)`", "".join(line.split("|")[1] for line in table.splitlines()[2:]))
    assert len(names) > 10 and [name for name in names if not (kit / name).is_file()] == []
    written = re.findall(r"`(generate_\w+|load_onnx|scheduler_export)`", PAGE)
    assert [name for name in written if not hasattr(compat.export_utils, name) and not hasattr(aidge_build, name)] == []
    assert generate_optimized_memory_info is compat.mem_info.generate_optimized_memory_info
    compile(ADOPTION, "docs/export-api.md", "exec")
