# SPDX-License-Identifier: MIT
"""An export library and a memory manager as somebody writes them by the inherited API's documentation alone, as files.

They know nothing of this project: names come from `aidge_core`, sizes count elements, planes may wrap around a ring.
"""

import sys


def forget_inherited_modules() -> None:
    """Take the names of the inherited system, and of this library, from what the process has loaded; everything else stays."""
    for name in sorted(sys.modules):
        if name.startswith(("aidge_core", "aidge_backend_", "aidge_deploy", "stripes_")):
            del sys.modules[name]


FILES = {
    "stripes_export/static/ring.hpp": """#ifndef STRIPES_RING
#define STRIPES_RING
#include <cmath>
// Element i of a plane: behind its first CONT bytes it goes on at another place.
template <int CONT, int JUMP, typename T> static inline int at(int i)
{
    return i * (int)sizeof(T) < CONT ? i : i + JUMP / (int)sizeof(T);
}
#endif
""",
    "stripes_export/kernels/map.hpp": """#pragma once
#include "stripes/ring.hpp"
template <int N, int IC, int IJ, int OC, int OJ, typename T, typename F> static void map_all(const T *in, T *out, F one)
{
    for (int i = 0; i < N; i++)
        out[at<OC, OJ, T>(i)] = one(in[at<IC, IJ, T>(i)]);
}
""",
    "stripes_export/kernels/slide.hpp": """#pragma once
#include "stripes/ring.hpp"
template <int C, int H, int W, int O, int OH, int OW, int K, int S, int P, bool ACT, int IC, int IJ, int OC, int OJ,
          typename T>
static void slide(const T *in, const T *w, const T *b, T *out)
{
    for (int o = 0; o < O; o++)
        for (int y = 0; y < OH; y++)
            for (int x = 0; x < OW; x++) {
                T sum = b[o];
                for (int c = 0; c < C; c++)
                    for (int i = 0; i < K; i++)
                        for (int j = 0; j < K; j++) {
                            const int v = y * S + i - P, u = x * S + j - P;
                            if (v >= 0 && u >= 0 && v < H && u < W)
                                sum += in[at<IC, IJ, T>((c * H + v) * W + u)] * w[((o * C + c) * K + i) * K + j];
                        }
                out[at<OC, OJ, T>((o * OH + y) * OW + x)] = ACT && sum < 0 ? T(0) : sum;
            }
}
""",
    "stripes_export/templates/plane.jinja": """{% set up = out_name[0] | upper %}
#define {{ up }}_CONT {{ mem_info_cont_size[0] if mem_info_wrap_size[0] else 1000000000 }}
#define {{ up }}_WRAP_JUMP {{ mem_info_wrap_offset[0] - mem_info_cont_offset[0] - mem_info_cont_size[0] }}
{% if in_node[0] is none %}
#define {{ in_name[0] | upper }}_CONT 1000000000
#define {{ in_name[0] | upper }}_WRAP_JUMP 0
{% endif %}
""",
    "stripes_export/templates/map_config.jinja": """#ifndef {{ name | upper }}_MAP
#define {{ name | upper }}_MAP
{% include "./plane.jinja" %}
#define {{ name | upper }}_N {{ out_chan[0] * out_height[0] * out_width[0] }}
#endif
""",
    "stripes_export/templates/map.jinja": """{% set i = in_name[0] | upper %}{% set o = out_name[0] | upper %}
map_all<{{ name | upper }}_N, {{ i }}_CONT, {{ i }}_WRAP_JUMP, {{ o }}_CONT, {{ o }}_WRAP_JUMP>(
    {{ in_name[0] }}, {{ out_name[0] }},
    []({{ out_cdtype[0] }} x) { return {{ function }}; });
""",
    "stripes_export/templates/slide_config.jinja": """#ifndef {{ name | upper }}_SLIDE
#define {{ name | upper }}_SLIDE
{% include "./plane.jinja" %}
#endif
""",
    "stripes_export/templates/slide.jinja": """{% set i = in_name[0] | upper %}{% set o = out_name[0] | upper %}
slide<{{ in_chan[0] }}, {{ in_height[0] }}, {{ in_width[0] }}, {{ out_chan[0] }}, {{ out_height[0] }}, {{ out_width[0] }},
      {{ kernel_dims[0] }}, {{ stride_dims[0] }}, {{ border }}, {{ act }},
      {{ i }}_CONT, {{ i }}_WRAP_JUMP, {{ o }}_CONT, {{ o }}_WRAP_JUMP>(
      {{ in_name[0] }}, {{ in_name[1] }}, {{ in_name[2] }}, {{ out_name[0] }});
""",
    "stripes_export/__init__.py": '''import os
from pathlib import Path
import aidge_core
from aidge_core.export_utils import ExportLib, ExportNode, ExportNodeCpp

HERE = os.path.dirname(os.path.abspath(__file__))
F32 = aidge_core.ImplSpec(aidge_core.IOSpec(aidge_core.dtype.float32))

class StripesLib(ExportLib):
    _name = "stripes"
    static_files = {HERE + "/static/ring.hpp": "dnn/include/stripes"}

TEXTS = {"Tanh": "std::tanh(x)", "ReLU": "x > 0 ? x : 0", "Abs": "x < 0 ? -x : x"}

@StripesLib.register(list(TEXTS), F32)
class MapAll(ExportNodeCpp):
    def __init__(self, node, mem_info):
        super().__init__(node, mem_info)
        self.attributes["function"] = TEXTS[node.get_operator().type()]
        self.config_template = HERE + "/templates/map_config.jinja"
        self.forward_template = HERE + "/templates/map.jinja"
        self.include_list = ["stripes/ring.hpp"]
        self.kernels_to_copy = [HERE + "/kernels/map.hpp"]

class Slide(ExportNodeCpp):
    def __init__(self, node, mem_info):
        super().__init__(node, mem_info)
        self.attributes["border"] = 0
        self.attributes["act"] = "false"
        op = node.get_operator()
        if op.type() != "Conv2D" or "PadMode" in op.attr.__dict__:
            raise NotImplementedError("only Conv2D")
        if len(set(op.attr.kernel_dims)) > 1 or len(set(op.attr.stride_dims)) > 1:
            raise NotImplementedError("windows are square here")
        self.config_template = HERE + "/templates/slide_config.jinja"
        self.forward_template = HERE + "/templates/slide.jinja"
        self.include_list = []
        self.kernels_to_copy = [HERE + "/kernels/slide.hpp"]

@StripesLib.register("Conv2D", F32)
class Conv(Slide):
    pass

@StripesLib.register_metaop("ConvAct", F32)
class ConvAct(Slide):
    def __init__(self, node, mem_info):
        super().__init__(node, mem_info)
        self.attributes["act"] = "true"

    def forward(self):
        lines = super().forward()
        return [lines] if isinstance(lines, str) else lines

@StripesLib.register_metaop("PadConv", F32)
class PadConv(Slide):
    def __init__(self, node, mem_info):
        super().__init__(node, mem_info)
        pad = [n for n in node.get_operator().get_micro_graph().get_nodes() if n.type() == "Pad2D"][0]
        borders = pad.get_operator().attr.begin_end_borders
        if len(set(borders)) > 1:
            raise NotImplementedError("borders are equal here")
        self.attributes["border"] = borders[0]

@StripesLib.register_metaop("PadConvAct", F32)
class PadConvAct(PadConv):
    def __init__(self, node, mem_info):
        super().__init__(node, mem_info)
        self.attributes["act"] = "true"

@StripesLib.register_metaop(["SwiGLU", "QConv"], F32)
class Unheard(ExportNodeCpp):
    pass

@StripesLib.register("Pad2D", F32)
class Pad(ExportNode):
    """Writes its own header; no template."""

    def __init__(self, node, mem_info, is_input, is_output):
        super().__init__(node, mem_info)
        if self.attributes["border_type"] != "constant" or self.attributes["border_value"] != 0:
            raise NotImplementedError("zeros alone")

    def export(self, export_folder):
        a, top, left = self.attributes, self.attributes["pads_begin"][-2], self.attributes["pads_begin"][-1]
        c, h, w = a["in_chan"][0], a["in_height"][0], a["in_width"][0]
        path = Path(export_folder) / "include" / "pads" / (a["name"] + ".hpp")
        os.makedirs(path.parent, exist_ok=True)
        wraps, up = a["mem_info_wrap_size"][0], a["out_name"][0].upper()
        jump = a["mem_info_wrap_offset"][0] - a["mem_info_cont_offset"][0] - a["mem_info_cont_size"][0]
        with open(path, "w") as out:
            out.write(f"""#pragma once
#include "stripes/ring.hpp"
#define {up}_CONT {a["mem_info_cont_size"][0] if wraps else 1000000000}
#define {up}_WRAP_JUMP {jump}
template <int IC, int IJ, typename T> static void pad_{a["name"]}(const T *in, T *out)
{{
    for (int k = 0; k < {a["out_size"][0]}; k++) {{
        const int x = k % {a["out_width"][0]} - {left}, y = k / {a["out_width"][0]} % {a["out_height"][0]} - {top};
        const int c = k / {a["out_width"][0] * a["out_height"][0]};
        out[at<{up}_CONT, {up}_WRAP_JUMP, T>(k)] =
            x >= 0 && y >= 0 && x < {w} && y < {h} ? in[at<IC, IJ, T>((c * {h} + y) * {w} + x)] : T(0);
    }}
}}
""")
        return ["pads/" + a["name"] + ".hpp"]

    def forward(self):
        a, up = self.attributes, self.attributes["in_name"][0].upper()
        return [f"pad_{a['name']}<{up}_CONT, {up}_WRAP_JUMP>({a['in_name'][0]}, {a['out_name'][0]});"]
''',
    "stripes_memory.py": '''import aidge_core

def ring_memory(scheduler, slack=0):
    """One ring for everything: each output begins where the one before it ends, and goes on at the start of the ring."""
    sizes, planes = {}, {}
    nodes = [n for n in scheduler.get_static_scheduling() if n.type() != "Producer"]
    for n in nodes:
        sizes[n] = [1] * n.get_nb_outputs()
        for i in range(n.get_nb_outputs()):
            for d in n.get_operator().get_output(i).dims():
                sizes[n][i] *= d
    ring = max(a[0] + b[0] for a, b in zip([list(sizes.values())[0], *sizes.values()], sizes.values())) + slack
    at = 0
    for n in nodes:
        planes[n] = []
        for size in sizes[n]:
            cont = min(size, ring - at)
            planes[n].append({"size": 1, "offset": at, "stride": 1, "length": size, "count": 1, "cont_offset": at,
                              "cont_size": cont, "wrap_offset": 0, "wrap_size": size - cont})
            at = (at + size) % ring
    for n in scheduler.graph_view().get_output_nodes():
        assert n in planes
    return ring, planes
''',
}
