# SPDX-License-Identifier: MIT
"""A library written for the system before this one, which imports `aidge_core`, exports a CNN after one line of adoption."""

from __future__ import annotations

import re
import subprocess
import sys
import types
from pathlib import Path

import numpy
import pytest

import aidge_build
from aidge_build import compat
from aidge_build.base.errors import AidgeError
from tests.models import model

FILES = {
    "static/types.hpp": "#pragma once\n#include <algorithm>\n#include <stdint.h>\n",
    "kernels/window.hpp": """#pragma once
#include "network/types.hpp"
template <bool MAX, int C, int H, int W, int OC, int OH, int OW, int KY, int KX, int SY, int SX, int PY, int PX>
static void window(const float *in, float *out, const float *weights, const float *bias)
{
    for (int oy = 0; oy < OH; oy++)
        for (int ox = 0; ox < OW; ox++)
            for (int o = 0; o < OC; o++) {
                float best = -1e30f, sum = bias ? bias[o] : 0.0f;
                for (int ky = 0; ky < KY; ky++)
                    for (int kx = 0; kx < KX; kx++) {
                        const int y = oy * SY + ky - PY, x = ox * SX + kx - PX;
                        if (y < 0 || x < 0 || y >= H || x >= W)
                            continue;
                        if (MAX)
                            best = std::max(best, in[(y * W + x) * C + o]);
                        else
                            for (int c = 0; c < C; c++)
                                sum += in[(y * W + x) * C + c] * weights[((o * KY + ky) * KX + kx) * C + c];
                    }
                out[(oy * OW + ox) * OC + o] = MAX ? best : sum;
            }
}
""",
    "kernels/add.hpp": "#pragma once\n"
    "template <int N> static void add(const float *a, const float *b, float *out)\n"
    "{ for (int i = 0; i < N; i++) out[i] = a[i] + b[i]; }\n",
    "kernels/fc.hpp": """#pragma once
template <int N, int M> static void fc(const float *in, const float *weights, const float *bias, float *out)
{
    for (int m = 0; m < M; m++) {
        out[m] = bias[m];
        for (int n = 0; n < N; n++)
            out[m] += in[n] * weights[m * N + n];
    }
}
""",
    "templates/_sizes.jinja": """{% for index in range(nb_out) -%}
#define {{ out_name[index]|upper }}_OFFSET {{ mem_info_offset[index] }}
#define {{ out_name[index]|upper }}_CHANNELS {{ out_chan[index] }}
{% endfor %}
{#- a comment that takes no line -#}
{% for index in range(nb_in) -%}
#define {{ in_name[index]|upper }}_CHANNELS {{ in_chan[index] }}
{% endfor %}""",
    "templates/config.jinja": """#ifndef {{ name|upper }}_LAYER_H
#define {{ name|upper }}_LAYER_H
{% include "./_sizes.jinja" %}
{%- set size = 1 %}
#define {{ name|upper }}_SIZE {{ size * out_size[0] }}
#endif
""",
    "templates/window.jinja": """{% filter indent(width=4, first=False) %}
float* {{ out_name[0] }} = (float*) mem + {{ out_name[0]|upper }}_OFFSET;
window<{{ maximum }}, {{ in_name[0]|upper }}_CHANNELS, {{ in_height[0] }}, {{ in_width[0] }},
    {{ out_name[0]|upper }}_CHANNELS, {{ out_height[0] }}, {{ out_width[0] }},
    {{ kernel_dims|join(", ") }}, {{ stride_dims|join(", ") }}, {{ padding[0] }}, {{ padding[1] }}>(
    {{ in_name[0] }}, {{ out_name[0] }}, {{ "nullptr, nullptr" if maximum == "true" else in_name[1] ~ ", " ~ in_name[2] }});
{% endfilter %}
""",
    "templates/add.jinja": "float* {{ out_name[0] }} = (float*) mem + {{ out_name[0]|upper }}_OFFSET;\n"
    "add<{{ in_size[0] }}>({{ in_name[0] }}, {{ in_name[1] }}, {{ out_name[0] }});\n",
    "templates/fc.jinja": "float* {{ out_name[0] }} = (float*) mem + {{ out_name[0]|upper }}_OFFSET;\n"
    "fc<{{ in_dims[0][1] }}, {{ out_chan[0] }}>({{ in_name|join(', ') }}, {{ out_name[0] }});\n",
    "templates/parameters.jinja": "static const {{ data_t }} {{ name }}[{{ values|length }}] = {\n{{ values|join(', ') }}\n};\n",
    "foreign_export.py": """
from pathlib import Path
import numpy as np
import aidge_core
from aidge_core.export_utils import ExportLib, ExportNode, ExportNodeCpp, generate_file

ROOT = Path(__file__).resolve().parent
FLOAT = aidge_core.ImplSpec(aidge_core.IOSpec(aidge_core.dtype.float32))


class ForeignLib(ExportLib):
    _name = "foreign"
    static_files = {str(ROOT / "static" / "types.hpp"): "dnn/include/network"}


@ForeignLib.register("Producer", aidge_core.ImplSpec(aidge_core.IOSpec(aidge_core.dtype.any)))
class Producer(ExportNode):
    def export(self, export_folder):
        template = str(ROOT / "templates" / "parameters.jinja")
        generate_file(str(export_folder / "p.h"), template, name="p", data_t="float", values=[1, 2])


@ForeignLib.register("Pad2D", aidge_core.ImplSpec(aidge_core.IOSpec(aidge_core.dtype.any)))
class Pad(ExportNodeCpp):
    def __init__(self, node, mem_info):
        raise NotImplementedError("Pad2D nodes is not implemented")


class Foreign(ExportNodeCpp):
    kernel = "window"
    def __init__(self, node, mem_info):
        super().__init__(node, mem_info)
        self.attributes["maximum"] = "false"
        self.config_template = str(ROOT / "templates" / "config.jinja")
        self.forward_template = str(ROOT / "templates" / f"{self.kernel}.jinja")
        self.include_list = []
        self.kernels_to_copy = [str(ROOT / "kernels" / f"{self.kernel}.hpp")]


@ForeignLib.register("Conv2D", FLOAT)
class Conv(Foreign):
    def __init__(self, node, mem_info):
        super().__init__(node, mem_info)
        self.attributes["padding"] = [0, 0]


@ForeignLib.register_metaop("PaddedConv2D", FLOAT)
class PaddedConv(Foreign):
    def __init__(self, node, mem_info):
        super().__init__(node, mem_info)
        for n in self.operator.get_micro_graph().get_nodes():
            if n.type() == "Pad2D":
                self.attributes["padding"] = n.get_operator().attr.begin_end_borders
            if n.type() == "Conv2D":
                self.attributes["kernel_dims"] = n.get_operator().attr.kernel_dims
                self.attributes["stride_dims"] = n.get_operator().attr.stride_dims


@ForeignLib.register("MaxPooling2D", FLOAT)
class MaxPool(Foreign):
    def __init__(self, node, mem_info):
        super().__init__(node, mem_info)
        self.attributes["padding"], self.attributes["maximum"] = [0, 0], "true"


@ForeignLib.register("Add", FLOAT)
class Add(Foreign):
    kernel = "add"


@ForeignLib.register("FC", FLOAT)
class FC(Foreign):
    kernel = "fc"


@ForeignLib.register("GlobalAveragePooling", FLOAT)
class Broken(Foreign):
    kernel = "no such file"
""",
}
RANDOM = numpy.random.default_rng(11)
TEXT = (
    "a = Conv<pads=[1,1,1,1]>(x, w, b) r = Relu(a) p = MaxPool<kernel_shape=[2,2], strides=[2,2]>(r) c = Conv(p, u) "
    "s = Clip(c, lo, hi) d = Conv<pads=[1,1,1,1]>(s, k) e = Add(s, d) m = Add(e, row) g = Conv<group=2, "
    "pads=[1,1,1,1]>(m, h) f = Flatten(g) "
    "y = Gemm<transB=1>(f, v)"
)


def numbers(*dims: int) -> numpy.ndarray:
    return RANDOM.normal(size=dims).astype(numpy.float32)


CNN = model(
    TEXT,
    inputs="float[1,3,8,10] x",
    outputs="float[1,5] y",
    constants={
        "w": numbers(4, 3, 3, 3),
        "b": numbers(4),
        "u": numbers(6, 4, 3, 3),
        "k": numbers(6, 6, 3, 3),
        "row": numbers(1, 6, 1, 1),
        "h": numbers(6, 3, 3, 3),
        "v": numbers(5, 6 * 2 * 3),
        "lo": numpy.float32(-1.5),
        "hi": numpy.float32(2.5),
    },
)


@pytest.fixture
def foreign(tmp_path, monkeypatch) -> types.ModuleType:
    """The library, imported as it is."""
    for name, text in FILES.items():
        path = tmp_path / "foreign" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.syspath_prepend(tmp_path / "foreign")
    for name in ("aidge_core", "aidge_core.export_utils", "aidge_core.mem_info", "foreign_export"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    assert compat.install_as("aidge_core") is compat
    import foreign_export

    yield foreign_export
    for name in ("aidge_core", "aidge_core.export_utils", "aidge_core.mem_info", "foreign_export"):
        sys.modules.pop(name, None)


def exported(library: type, folder: Path, **choices) -> aidge_build.SequentialScheduler:
    (folder / "net.onnx").write_bytes(CNN)
    libraries = [library, "ref"]
    made = aidge_build.SequentialScheduler(aidge_build.load_onnx(folder / "net.onnx", libraries=libraries))
    aidge_build.scheduler_export(made, str(folder / "out"), libraries, compat.mem_info.generate_optimized_memory_info, **choices)
    compat.export_utils.generate_main_compare_cpp(str(folder / "out"), made, {"x": numbers(1, 3, 8, 10)})
    return made


def test_a_cnn_through_a_library_that_was_not_changed_is_right_layer_by_layer(foreign, tmp_path):
    library = compat.adopted(
        foreign.ForeignLib, data_format=compat.dformat.channels_last, memory_name="mem", without=["GlobalAveragePooling"]
    )
    made = exported(
        library, tmp_path, test_mode=True, memory_manager_args={"stats_folder": str(tmp_path / "stats"), "wrapping": True}
    )
    assert not any(place.plane for place in made.program.memory.places.values())  # no kernel declares a ring
    out = tmp_path / "out"
    kernels = {name: choice.kernel.name for name, choice in made.assignment.choices.items() if choice.kernel}
    assert [kernels[name] for name in ("Conv_0", "MaxPool_2", "Conv_3", "Conv_5", "Add_6", "Gemm_10")] == [
        *("PaddedConv", "MaxPool", "Conv", "PaddedConv", "Add"),
        "FC",
    ]
    assert made.backends["Add_7"] == made.backends["Conv_8"] == "ref"  # it broadcasts, and has groups
    assert (out / "dnn/include/network/types.hpp").is_file() and (tmp_path / "stats/memory_info.txt").is_file()
    command = re.search(r"^    (g\+\+ .*)$", (out / "README.md").read_text(), re.MULTILINE)[1]
    subprocess.run([*command.split(), "-Wall", "-Werror=return-type"], cwd=out, check=True)
    assert subprocess.run([out / "model"], cwd=out, capture_output=True, text=True).stdout == "0 values differ\n"


def test_the_same_library_in_a_user_s_folder_reaches_every_build(foreign, tmp_path):
    from aidge_build.contract.library import load_library

    text = (
        "from aidge_build import compat\nimport foreign_export\n"
        "class Foreign(compat.adopted(foreign_export.ForeignLib, data_format='channels_last', memory_name='mem')):\n"
        "    _name = 'foreign'\n"
    )
    found = load_library({"library.toml": b'name = "foreign"\nlanguage = "c++"\n', "mine.py": text.encode()}, "libs/foreign")
    assert {"Conv", "PaddedConv", "FC"} <= {kernel.name for kernel in found.kernels}
    assert list(found.static_files) == ["dnn/include/network/types.hpp"]


def test_a_kernel_that_is_left_out_by_a_name_it_does_not_have_is_refused(foreign):
    with pytest.raises(AidgeError, match="ForeignLib has no kernel for Softmax"):
        compat.adopted(foreign.ForeignLib, without=["Softmax"])


def test_generate_file_writes_what_a_template_says(foreign, tmp_path):
    foreign.Producer.export(None, tmp_path)
    assert (tmp_path / "p.h").read_text() == "static const float p[2] = {\n1, 2\n};\n"


def test_another_module_of_the_name_is_not_replaced(monkeypatch):
    monkeypatch.setitem(sys.modules, "aidge_core", types.ModuleType("aidge_core"))
    with pytest.raises(AidgeError, match="another module aidge_core is loaded already"):
        compat.install_as("aidge_core")
