# SPDX-License-Identifier: MIT
"""A new kernel in an existing library: one Python file and one header, no other file is touched."""

from __future__ import annotations

import shutil

import numpy

from aidge_build.base.installed import kernel_folder
from tests.command import aidge_build
from tests.models import model

KERNEL = """# SPDX-License-Identifier: MIT
from aidge_build import Call, ExportNode, ImplSpec, Input, IOSpec, Literal, Output, dformat, dtype, kernel, multiple_of

FOURS = IOSpec(dtype.float32, dformat.row_major, [1, multiple_of(4)])


@kernel("Tanh", ImplSpec(FOURS))
class TanhOfFours(ExportNode):
    def call(self):
        return Call("aidge_ref_tanh_fours", ("tanh_fours.h",), (Input(), Output(), Literal(self.outputs[0].elements)))
"""
HEADER = """/* SPDX-License-Identifier: 0BSD */
#include <math.h>
static void aidge_ref_tanh_fours(const float *input, float *output, int32_t count)
{
    for (int32_t index = 0; index < count; index++)
        output[index] = tanhf(input[index]);
}
"""


def test_the_new_kernel_is_chosen_where_it_is_more_specific_and_computes_the_same(tmp_path):
    shutil.copytree(kernel_folder() / "ref", tmp_path / "ref")
    (tmp_path / "ref" / "tanh_fours.py").write_text(KERNEL)
    (tmp_path / "ref" / "tanh_fours.h").write_text(HEADER)
    for size, expected in ((8, "ref tanh_fours"), (7, "ref unary_float32")):
        (tmp_path / "net.onnx").write_bytes(model("y = Tanh(x)", inputs=f"float[1,{size}] x", outputs=f"float[1,{size}] y"))
        numpy.savez(tmp_path / "io.npz", x=numpy.linspace(-2, 2, 2 * size, dtype=numpy.float32).reshape(2, 1, size))
        result = aidge_build(
            "verify", tmp_path / "net.onnx", "--io-data", tmp_path / "io.npz", "--kernel-path", tmp_path, "--lib", "ref", "--json"
        )
        assert result.exit_code == 0, result.stdout + result.stderr
        assert [layer["kernel"] for layer in result.json["layers"]] == [expected]
