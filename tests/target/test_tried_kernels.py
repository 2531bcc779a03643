# SPDX-License-Identifier: MIT
"""A library of the inherited style's newer form, some of whose kernels are wrong: the export takes those that compute right."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import numpy
import pytest

import aidge_build
from aidge_build import compat
from aidge_build.prepare.adaptation.match import FAILED
from tests.models import model
from tests.sanitized import SANITIZED

WINDOW = """#include "tools/bounds.hpp"
enum kind { CONV, MAX };
template <kind K, int C, int H, int W, int O, int OH, int OW, int KY, int KX, int SY, int SX, int PY, int PX, int RELU>
static void window(const float *in, float *out, const float *weights, const float *bias)
{
    for (int y = 0; y < OH; y++)
        for (int x = 0; x < OW; x++)
            for (int o = 0; o < O; o++) {
                float found = K == MAX ? -1e30f : bias[o];
                for (int ky = 0; ky < KY; ky++)
                    for (int kx = 0; kx < KX; kx++) {
                        const int row = y * SY + ky - PY, column = x * SX + kx - PX;
                        if (!is_inside(row, H) || !is_inside(column, W))
                            continue;
                        if (K == MAX)
                            found = in[(row * W + column) * C + o] > found ? in[(row * W + column) * C + o] : found;
                        else
                            for (int c = 0; c < C; c++)
                                found += in[(row * W + column) * C + c] * weights[((o * KY + ky) * KX + kx) * C + c];
                    }
                out[(y * OW + x) * O + o] = RELU && found < 0.0f ? 0.0f : found;
            }
}
"""
FILES = {
    "static/limits.hpp": "#pragma once\nconst int LOWEST = 0;\n",
    "other/tools/bounds.hpp": '#pragma once\n#include "utils/limits.hpp"\n'
    "static bool is_inside(int i, int n) { return i >= LOWEST && i < n; }\n",
    "kernels/window.hpp": WINDOW,
    "kernels/mean.hpp": "template <int N, int C> static void mean(const float *in, float *out)\n"
    "{\n    for (int c = 0; c < C; c++) {\n        int sum = 0;\n        for (int i = 0; i < N; i++)\n"
    "            sum += (int)in[i * C + c];\n        out[c] = (float)sum / N;\n    }\n}\n",
    "kernels/scaled.hpp": "template <int N> static void product(const float *a, const float *b, float *out)\n"
    "{ int last[N] = {0}; for (int i = 0; i < N; i++) out[i] = a[i] * b[i] + (float)last[i - (int)(a[0] * 0.0f) - 1]; }\n",
    "kernels/core.hpp": "#include <no_such_core.h>\nstatic void activate(const float *in, float *out, int n)\n"
    "{ for (int i = 0; i < n; i++) out[i] = core_tanh(in[i]); }\n",
    "templates/config.jinja": "#define {{ out_name[0]|upper }}_OFFSET {{ mem_info_offset[0] }}\n"
    "{% if not in_node[0] %}#define {{ in_name[0]|upper }}_AREA {{ in_height[0] * in_width[0] }}{% endif %}\n"
    "#define {{ out_name[0]|upper }}_AREA {{ out_height[0] * out_width[0] }}\n",
    "templates/window.jinja": "float *{{ out_name[0] }} = (float *)(mem + {{ out_name[0]|upper }}_OFFSET);\n"
    "window<{{ kind }}, {{ in_chan[0] }}, {{ in_height[0] }}, {{ in_width[0] }}, {{ out_chan[0] }}, {{ out_height[0] }}, "
    "{{ out_width[0] }}, {{ kernel_dims|join(', ') }}, {{ stride_dims|join(', ') }}, {{ padding[0] }}, {{ padding[1] }}, "
    "{{ relu }}>({{ in_name[0] }}, {{ out_name[0] }}, {{ in_name[1:]|join(', ') or '0, 0' }});\n",
    "templates/mean.jinja": "float *{{ out_name[0] }} = (float *)(mem + {{ out_name[0]|upper }}_OFFSET);\n"
    "mean<{{ in_name[0]|upper }}_AREA, {{ out_chan[0] }}>({{ in_name[0] }}, {{ out_name[0] }});\n",
    "templates/scaled.jinja": "product<{{ out_size[0] }}>({{ in_name|join(', ') }}, {{ out_name[0] }});\n",
    "templates/core.jinja": "activate({{ in_name[0] }}, {{ out_name[0] }}, {{ out_size[0] }});\n",
    "__init__.py": """
from pathlib import Path
import aidge_core
from aidge_core.export_utils import ExportLib, ExportNodeCpp, get_chan, get_height, get_node_from_metaop, get_width

ROOT = Path(__file__).parent
ANY = aidge_core.IOSpec(aidge_core.dtype.any)
IMAGE = aidge_core.IOSpec(aidge_core.dtype.any, aidge_core.dformat.nhwc)
WINDOW = aidge_core.ImplSpec([IMAGE, IMAGE, ANY], [IMAGE])


class Newer(ExportLib):
    _name = "newer"
    static_files = {str(ROOT / "static" / "limits.hpp"): "dnn/include/utils"}


class RowAhead(aidge_core.ProdConso):
    def __init__(self, op: aidge_core.Operator):
        aidge_core.ProdConso.__init__(self, op, False)

    def default_model(op: aidge_core.Operator):
        return RowAhead(op)

    def get_nb_required_protected(self, input_idx):
        out = self.get_operator().get_output(0)
        return aidge_core.Elts_t.data_elts(get_chan(out) * get_width(out) * get_height(out) if input_idx else out.size)


class Base(ExportNodeCpp):
    kernel, kind, type_name = "window", "CONV", "Conv2D"

    def __init__(self, node, mem_info, instance_count):
        super().__init__(node, mem_info, instance_count)
        self.attributes["padding"], self.attributes["relu"], self.attributes["kind"] = [0, 0, 0, 0], 0, self.kind
        for each in get_node_from_metaop(node, self.type_name):
            for name in ("kernel_dims", "stride_dims"):
                if hasattr(each.get_operator().attr, name):
                    self.attributes[name] = getattr(each.get_operator().attr, name)
        self.config_template = str(ROOT / "templates" / "config.jinja")
        self.forward_template = str(ROOT / "templates" / f"{self.kernel}.jinja")
        self.include_list = []
        self.add_kernel_to_copy(ROOT / "kernels" / f"{self.kernel}.hpp", "include/kernels/cpp")


@Newer.register("Conv2D", WINDOW, RowAhead.default_model)
class Conv(Base):
    pass


@Newer.register_metaop("PadConvAct", WINDOW, RowAhead.default_model)
class PadConvAct(Base):
    def __init__(self, node, mem_info, instance_count):
        super().__init__(node, mem_info, instance_count)
        self.attributes["padding"] = get_node_from_metaop(node, "Pad")[0].get_operator().attr.pads
        self.attributes["relu"] = int(bool(get_node_from_metaop(node, "ReLU")))


@Newer.register("MaxPooling2D", aidge_core.ImplSpec(IMAGE))
class Max(Base):
    kind, type_name = "MAX", "MaxPooling2D"

    def __init__(self, node, mem_info, instance_count):
        super().__init__(node, mem_info, instance_count)
        self.attributes["kernel_dims"] = self.attributes["kernel_dims"][::-1]


@Newer.register("GlobalAveragePooling", aidge_core.ImplSpec(IMAGE))
class Mean(Base):
    kernel = "mean"


@Newer.register("Mul", aidge_core.ImplSpec(ANY), aidge_core.ProdConso.in_place_model)
class Mul(Base):
    kernel = "scaled"


@Newer.register("Tanh", aidge_core.ImplSpec(ANY))
class Tanh(Base):
    kernel = "core"


@Newer.register_metaop("QConv", "Conv2D->Quantizer", WINDOW)
class Sleeping(Conv):
    pass
""",
}
RANDOM = numpy.random.default_rng(3)


def numbers(*dims: int) -> numpy.ndarray:
    return RANDOM.normal(size=dims).astype(numpy.float32)


TEXT = "a = Conv<pads=[1,1,1,1]>(x, w, b) r = Relu(a) c = Conv(r, v, b) p = MaxPool<kernel_shape=[{}], strides=[2,2]>(c)"
CONSTANTS = {"w": numbers(4, 2, 3, 3), "v": numbers(4, 4, 3, 3), "b": numbers(4)}


@pytest.fixture
def newer(tmp_path, monkeypatch):
    """The library, imported as it is."""
    for name, text in FILES.items():
        path = tmp_path / "newer_export" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    before = set(sys.modules)
    compat.install_as("aidge_core")
    yield importlib.import_module("newer_export").Newer
    for name in set(sys.modules) - before:
        if name.startswith(("aidge_core", "aidge_backend_cpu", "aidge_deploy", "newer_export")):
            del sys.modules[name]


def exported(library: type, folder: Path, text: str, output: str, constants: dict) -> aidge_build.SequentialScheduler:
    (folder / "net.onnx").write_bytes(model(text, inputs="float[1,2,8,9] x", outputs=output, constants=constants))
    made = aidge_build.SequentialScheduler(aidge_build.load_onnx(folder / "net.onnx", libraries=[library, "ref"]))
    aidge_build.scheduler_export(made, str(folder / "out"), [library, "ref"], compat.generate_optimized_memory_info)
    return made


def test_kernels_that_compute_right_are_taken_as_they_are_and_the_program_is_right(newer, tmp_path):
    made = exported(newer, tmp_path, TEXT.format("2,2"), "float[1,4,3,3] p", CONSTANTS)
    chosen = {name: choice.kernel.name for name, choice in made.assignment.choices.items() if choice.kernel}
    assert [chosen[name] for name in ("Conv_0", "Conv_2", "MaxPool_3")] == ["PadConvAct", "Conv", "Max"]
    compat.generate_main_compare(str(tmp_path / "out"), made, {"x": numbers(1, 2, 8, 9)})
    sources = sorted(map(str, (tmp_path / "out").glob("*.cpp")))
    subprocess.run(["g++", "-w", *SANITIZED, *sources, "-o", tmp_path / "run"], cwd=tmp_path / "out", check=True)
    assert subprocess.run([tmp_path / "run"], capture_output=True, text=True).stdout == "0 values differ\n"


def test_a_kernel_that_is_wrong_for_a_layer_leaves_it_to_the_next_library(newer, tmp_path):
    text = TEXT.format("2,3") + " m = GlobalAveragePool(p) t = Tanh(m) y = Mul(t, k)"
    made = exported(newer, tmp_path, text, "float[1,4,1,1] y", {**CONSTANTS, "k": numbers(1, 4, 1, 1)})
    backends = {name: made.backends[name] for name in made.backends if "reformat" not in name}
    assert backends == {
        **{"Conv_0": "newer", "Conv_2": "newer"},
        **{"MaxPool_3": "ref", "GlobalAveragePool_4": "ref", "Tanh_5": "newer", "Mul_6": "ref"},
    }
    assert ("newer Max", FAILED) in made.assignment.choices["MaxPool_3"].rejected
    assert newer.notices == ["QConv is registered and never taken: no node is a Quantizer: here scales belong to tensors"]
