# SPDX-License-Identifier: MIT
"""A library in the template style, in C++ and in a user's folder: generated, built, run, tracked and listed."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import numpy
import pytest

from aidge_build import scons_toolpath
from aidge_build.prove.elf import read_image
from tests.command import aidge_build
from tests.models import model
from tests.programs import needs_cross_cplusplus
from tests.served import scons, served

ROOT = Path(__file__).resolve().parents[2]
PYTHON = '''# SPDX-License-Identifier: MIT
from pathlib import Path

from aidge_build import ExportLib, ExportNodeCpp, ImplSpec, IOSpec, dformat, dtype

HERE = Path(__file__).parent


class Mine(ExportLib):
    """Float kernels as C++ templates."""

    _name = "mine"
    static_files = {str(HERE / "static" / "activation.hpp"): "include"}


class Templated(ExportNodeCpp):
    def __init__(self, node, mem_info):
        super().__init__(node, mem_info)
        self.config_template = str(HERE / "templates" / f"{self.kind}_config.jinja")
        self.forward_template = str(HERE / "templates" / f"{self.kind}_forward.jinja")
        self.include_list = ["activation.hpp"]
        self.kernels_to_copy = [str(HERE / "kernels" / f"{self.kind}.hpp")]


@Mine.register_metaop("PadConvAct", ImplSpec(IOSpec(dtype.float32, dformat.row_major)), "Pad?->Conv2D->ReLU?")
class PadConvAct(Templated):
    kind = "convolution"

    def __init__(self, node, mem_info):
        super().__init__(node, mem_info)
        self.attributes["relu"] = any(member.type == "ReLU" for member in self.operator.graph.nodes)


@Mine.register("Tanh", ImplSpec(IOSpec(dtype.float32, dformat.any_1)))
class Tanh(Templated):
    kind = "elementwise"
'''
FILES = {
    "library.toml": 'name = "mine"\nlanguage = "c++"\ndescription = "C++ templates"\n',
    "mine.py": PYTHON,
    "static/activation.hpp": "#ifndef ACTIVATION_HPP\n#define ACTIVATION_HPP\n#include <cmath>\n"
    "template <bool RELU> static float activate(float x) { return RELU && x < 0.0f ? 0.0f : x; }\n#endif\n",
    "templates/convolution_config.jinja": """#ifndef {{ name | upper }}_H
#define {{ name | upper }}_H
#include "activation.hpp"
{% for axis in ("height", "width") %}
#define {{ name | upper }}_IN_{{ axis | upper }} {{ in_height[0] if axis == "height" else in_width[0] }}
{% endfor %}
#endif
""",
    "templates/convolution_forward.jinja": """{% if not mem_info %}
// the output lies outside of the arena
{% endif %}
convolution<{{ in_chan[0] }}, {{ name | upper }}_IN_HEIGHT, {{ name | upper }}_IN_WIDTH,
             {{ out_chan[0] }}, {{ out_height[0] }}, {{ out_width[0] }},
            {{ kernel_dims | join(", ") }}, {{ (pad_pads_begin[2:] if pad_pads_begin is defined else [0, 0]) | join(", ") }},
             {{ relu | lower }}>({{ in_name | join(", ") }}, {{ out_name[0] }});
""",
    "kernels/convolution.hpp": """#pragma once
#include "activation.hpp"
template <int C, int H, int W, int OC, int OH, int OW, int KH, int KW, int PH, int PW, bool RELU>
static void convolution(const float *in, const float *weights, const float *bias, float *out)
{
    for (int oc = 0; oc < OC; oc++)
        for (int y = 0; y < OH; y++)
            for (int x = 0; x < OW; x++) {
                float sum = bias[oc];
                for (int c = 0; c < C; c++)
                    for (int ky = 0; ky < KH; ky++)
                        for (int kx = 0; kx < KW; kx++) {
                            const int iy = y + ky - PH, ix = x + kx - PW;
                            if (iy >= 0 && iy < H && ix >= 0 && ix < W)
                                sum += in[(c * H + iy) * W + ix] * weights[((oc * C + c) * KH + ky) * KW + kx];
                        }
                out[(oc * OH + y) * OW + x] = activate<RELU>(sum);
            }
}
""",
    "templates/elementwise_config.jinja": "",
    "templates/elementwise_forward.jinja": "elementwise<{{ in_size[0] }}>({{ in_name[0] }}, {{ out_name[0] }});",
    "kernels/elementwise.hpp": "template <int N> static void elementwise(const float *in, float *out) "
    "{ for (int i = 0; i < N; i++) "
    "out[i] = std::tanh(in[i]); }\n",
}
RANDOM = numpy.random.default_rng(3)
MODEL = model(
    "p = Pad(x, pads) a = Conv(p, w, b) r = Relu(a) t = Tanh(r) y = Conv(t, v, d)",
    inputs="float[1,2,5,7] x",
    outputs="float[1,2,3,4] y",
    constants={
        "pads": numpy.array([0, 0, 1, 0, 0, 0, 1, 0]),
        "w": RANDOM.normal(size=(3, 2, 3, 2)).astype(numpy.float32),
        "b": RANDOM.normal(size=3).astype(numpy.float32),
        "v": RANDOM.normal(size=(2, 3, 3, 3)).astype(numpy.float32),
        "d": RANDOM.normal(size=2).astype(numpy.float32),
    },
)


@pytest.fixture
def folder(tmp_path):
    for name, text in FILES.items():
        path = tmp_path / "libs" / "mine" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "net.onnx").write_bytes(MODEL)
    numpy.savez(tmp_path / "io.npz", x=RANDOM.normal(size=(3, 1, 2, 5, 7)).astype(numpy.float32))
    return tmp_path


@pytest.mark.parametrize("board", ["host", pytest.param("mps2-an386", marks=needs_cross_cplusplus)])
def test_a_template_library_computes_what_the_numpy_backend_computes(folder, board):
    result = aidge_build(
        "verify",
        folder / "net.onnx",
        "--io-data",
        folder / "io.npz",
        "--board",
        board,
        "--kernel-path",
        folder / "libs",
        "--lib",
        "mine,ref",
        *(["--layers"] if board == "host" else []),
        "--json",
        "--keep",
        folder / "kept",
    )
    assert result.exit_code == 0, result.stdout + result.stderr
    assert [(layer["op"], layer["kernel"].split()[0]) for layer in result.json["layers"]] == [
        ("PadConvAct", "mine"),
        ("Tanh", "mine"),
        ("PadConvAct", "mine"),
    ]
    code = (folder / "kept" / "model.cpp").read_text()
    assert code.count("ACTIVATION_HPP") == 0 and code.count("static float activate") == 1


BY_THE_LETTER = """from pathlib import Path
from aidge_build import ExportLib, ExportNodeCpp, ImplSpec, IOSpec, dformat, dtype
HERE = Path(__file__).parent
class Plain(ExportLib):
    _name = "plain"
IMAGE = IOSpec(dtype.float32, dformat.nchw)
@Plain.register("Conv2D", ImplSpec([IMAGE, IOSpec(dtype.float32)], IMAGE))
class Conv(ExportNodeCpp):
    def __init__(self, node, mem_info):
        super().__init__(node, mem_info)
        self.config_template, self.include_list = "", []
        self.forward_template = str(HERE / "conv.jinja")
        self.kernels_to_copy = [str(HERE / "convolution.hpp")]
"""


def test_a_library_by_the_letter_of_the_export_api_computes_no_layer_that_says_more_than_its_template_knows(tmp_path):
    """Its convolution knows no clamp, groups, pads or dilations, and wants a bias."""
    forward = FILES["templates/convolution_forward.jinja"].partition("{% endif %}")[2].replace("relu | lower", '"false"')
    forward = forward.replace(
        "{{ name | upper }}_IN_HEIGHT, {{ name | upper }}_IN_WIDTH", "{{ in_height[0] }}, {{ in_width[0] }}"
    )
    forward = forward.replace('(pad_pads_begin[2:] if pad_pads_begin is defined else [0, 0]) | join(", ")', '"0, 0"')
    header = FILES["static/activation.hpp"] + FILES["kernels/convolution.hpp"].replace('#include "activation.hpp"', "")
    manifest = 'name = "plain"\nlanguage = "c++"\n'
    names = {"library.toml": manifest, "plain.py": BY_THE_LETTER, "conv.jinja": forward, "convolution.hpp": header}
    (tmp_path / "plain").mkdir()
    for name, text in names.items():
        (tmp_path / "plain" / name).write_text(text)
    weights = {
        name: RANDOM.normal(size=dims).astype(numpy.float32) for name, dims in {"w": (4, 2, 3, 3), "v": (4, 4, 3, 3)}.items()
    }
    net = model(
        "a = Conv(x, w) r = Relu(a) g = Conv<group=2, pads=[1,1,1,1]>(r, w) p = Conv<pads=[1,1,1,1]>(g, v) "
        "d = Conv<dilations=[2,2]>(p, v) y = Clip(d, lo, hi)",
        inputs="float[1,2,9,9] x",
        outputs="float[1,4,3,3] y",
        constants={**weights, "lo": numpy.float32(-1), "hi": numpy.float32(2)},
    )
    (tmp_path / "net.onnx").write_bytes(net)
    numpy.savez(tmp_path / "io.npz", x=RANDOM.normal(size=(3, 1, 2, 9, 9)).astype(numpy.float32))
    flags = ("--board", "host", "--kernel-path", tmp_path / "plain", "--lib", "plain,ref", "--layers", "--json")
    result = aidge_build("verify", tmp_path / "net.onnx", "--io-data", tmp_path / "io.npz", *flags)
    assert result.exit_code == 0, result.stdout + result.stderr
    kernels = [layer["kernel"].split()[0] for layer in result.json["layers"] if layer["op"] == "Conv2D"]
    assert kernels == ["plain", "ref", "ref", "ref"]


LIBRARY = ("--kernel-path", "libs", "--lib", "mine,ref")


@needs_cross_cplusplus
def test_layers_of_a_cplusplus_library_are_proved_counted_and_reported_by_their_names(folder, monkeypatch):
    monkeypatch.chdir(folder)
    verified = aidge_build(
        "verify", "net.onnx", "--io-data", "io.npz", "--board", "mps2-an386", *LIBRARY, "--json", "--keep", "kept"
    )
    assert verified.exit_code == 0, verified.stderr
    assert all(layer["instructions"] > 0 for layer in verified.json["layers"])
    (elf,) = (folder / "kept").glob("*.elf")
    image, layers = read_image(elf), json.loads((folder / "kept" / "model.plan.json").read_text())["layers"]
    names = [layer["symbol"] for layer in layers]
    assert all(image.symbol(name).linked_name == f"_ZL{len(name)}{name}PhPKf" for name in names[:1])
    assert not set(names) & {symbol.linked_name for symbol in image.symbols}
    checked = aidge_build("check", elf, "--board", "mps2-an386", "--plan", "kept/model.plan.json", "--json")
    assert checked.exit_code == 0 and not [finding for finding in checked.json["findings"] if finding["code"] == "MEM07"]
    reported = aidge_build("report", elf, "--board", "mps2-an386", "--json").json
    assert all(layer["code_bytes"] > 0 for layer in reported["models"][0]["layers"])


@needs_cross_cplusplus
def test_explain_measures_each_layer_of_a_cplusplus_library(folder, monkeypatch):
    monkeypatch.chdir(folder)
    nodes = aidge_build("explain", "net.onnx", "--board", "mps2-an386", *LIBRARY, "--measure", "--json").json["nodes"]
    assert len(nodes) == 3 and all(node["instructions"] > 0 for node in nodes)


def test_meta_operators_name_the_nodes_of_the_file_that_they_cover(folder):
    nodes = aidge_build("explain", folder / "net.onnx", "--kernel-path", folder / "libs", "--lib", "mine,ref", "--json").json[
        "nodes"
    ]
    assert nodes[0]["origin"] == ["Pad_0", "Conv_1", "Relu_2"] and nodes[0]["library"] == "mine"


def test_a_template_library_is_listed(folder):
    libraries = aidge_build("kernels", "--kernel-path", folder / "libs", "--json").json["libraries"]
    (mine,) = [library for library in libraries if library["name"] == "mine"]
    assert mine["language"] == "c++" and sorted(kernel["op"] for kernel in mine["kernels"]) == ["PadConvAct", "Tanh"]


def test_a_template_library_builds_through_scons_which_tracks_its_files_and_the_cost_table_that_decides(folder):
    table = (
        'schema = 1\nname = "t"\nversion = "1"\nunit = "instructions"\ncost = [{{library = "mine", kernel = '
        '"Tanh", fixed = {mine}}}, '
        '{{library = "ref", kernel = "unary_float32", fixed = 10}}]\n'
    )
    (folder / "costs.toml").write_text(table.format(mine=5))
    (folder / "main.c").write_text(
        '#include "net.h"\nint main(void) { static float x[NET_INPUT_SIZE], y[NET_OUTPUT_SIZE]; return net_run(x, y); }\n'
    )
    (
        folder / "SConstruct"
    ).write_text(f"""env = Environment(tools=['gcc', 'g++', 'gnulink'], ENV={{'PATH': {os.environ["PATH"]!r}}},
    AIDGE_BUILD={list(served("aidge_build"))!r}, LINK='g++',
    CCCOMSTR='CC $TARGET', CXXCOMSTR='CC $TARGET', LINKCOMSTR='LINK $TARGET')
env.Tool('aidge', toolpath=[{scons_toolpath()!r}])
model = env.AidgeModel('net', 'net.onnx', libs='mine,ref', kernel_path='libs', select='cost', cost_table='costs.toml')
env.Program('app.elf', ['main.c', model])
""")

    def built() -> str:
        code, printed = scons(folder, env={**os.environ, "AIDGE_LOG": str(folder / "build.log")})
        assert code == 0, printed
        assert "\n== stage assignment\n" in (folder / "build.log").read_text()
        return printed

    def library_of_tanh() -> str:
        return json.loads((folder / "net.plan.json").read_text())["layers"][1]["library"]

    assert "CC net.o" in built() and (folder / "net.cpp").is_file() and not (folder / "net.c").exists()
    assert subprocess.run([folder / "app.elf"]).returncode == 0 and library_of_tanh() == "mine"
    template = folder / "libs/mine/templates/elementwise_forward.jinja"
    template.write_text("// changed\n" + template.read_text())
    assert "CC net.o" in built()
    (folder / "costs.toml").write_text(table.format(mine=20))
    assert "CC net.o" in built() and library_of_tanh() == "ref"
