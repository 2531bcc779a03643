# SPDX-License-Identifier: MIT
"""Kernels and scripts that were written for 0.1 import modules by the names of then."""

from __future__ import annotations

import importlib
import json
import sys

import pytest

import aidge_build as package
from tests.command import aidge_build
from tests.models import model

# Module of 0.1 -> names that the pages and the kernels of then imported from it.
OLD = {
    "aidge_build.export.call": ("Call", "Constant", "Input", "Literal", "Output", "Scratch", "Struct", "computed"),
    "aidge_build.export.node": ("ExportNode", "kernel"),
    "aidge_build.export.elementwise": ("ElementWise",),
    "aidge_build.export.export_lib": ("ExportLib",),
    "aidge_build.export.export_node_cpp": ("ExportNodeCpp",),
    "aidge_build.export.library": ("Library", "load_library", "library_of"),
    "aidge_build.export.linear": ("LinearConstants", "linear_constants"),
    "aidge_build.export.mem_info": ("MemInfo", "mem_info_of"),
    "aidge_build.export.pooling": ("PoolNode",),
    "aidge_build.export.raster": ("convolution_demands",),
    "aidge_build.export_folder": ("scheduler_export", "generate_main", "SequentialScheduler", "compute_default_mem_info"),
    "aidge_build.backend.spec": (
        "ANY",
        "CHANNELS_LAST",
        "Demands",
        "ImplSpec",
        "IOSpec",
        "NodeView",
        "Predicate",
        "ROW_MAJOR",
        "SAME",
    ),
    "aidge_build.backend.adapt": ("adapt_to_backend",),
    "aidge_build.backend.execution": ("prepare",),
    "aidge_build.backend.host": ("HostBackend",),
    "aidge_build.backend.operator_impl": ("Impl", "OperatorImpl"),
    "aidge_build.backend.prod_conso": ("ProdConso",),
    "aidge_build.importers.expansion": ("expands",),
    "aidge_build.importers.onnx_importer": ("import_onnx",),
    "aidge_build.sources.importers.dims": ("Binding", "check_elements"),
    "aidge_build.sources.importers.tflite.registry": ("reads",),
    "aidge_build.sources.tflite_format": ("Field",),
    "aidge_build.graph.dtype": ("DType", "dtype"),
    "aidge_build.operators.kinds": ("ElementWise",),
    "aidge_build.operators.register": ("attribute", "operator"),
}
PUBLIC = """
AidgeError Call CompileRequest Constant Demands ExportLib ExportNode ExportNodeCpp GraphView HostBackend IOSpec Impl
ImplSpec Input Literal Node OperatorImpl Output Predicate ProdConso Scratch SequentialScheduler Struct Tensor VERSION
adapt_to_backend compute_default_mem_info dformat dtype find generate_main generate_main_compare
generate_optimized_memory_info kernel multiple_of scheduler_export scons_toolpath
""".split()
KERNEL = """
import numpy

from aidge_build.backend.spec import *
from aidge_build.export.call import Call, Constant, Input, Literal, Output
from aidge_build.export.node import ExportNode, kernel
from aidge_build.graph.dtype import dtype

FLOATS = IOSpec(dtype.float32, SAME)


@kernel("Tanh", ImplSpec((FLOATS,), (FLOATS,)))
class Tanh(ExportNode):
    def call(self):
        return Call("old_tanh", ("tanh.h",), (Input(), Output(), Literal(self.outputs[0].elements)))
"""


@pytest.mark.parametrize("module", OLD)
def test_names_are_what_they_are_now_under_the_module_of_then(module):
    found = importlib.import_module(module)
    for name in OLD[module]:
        assert getattr(found, name).__module__.startswith("aidge_build.") or name.isupper(), name
    with pytest.raises(ImportError, match="no_such_name"):
        exec(f"from {module} import no_such_name")


def test_the_public_names_of_the_package_are_all_there():
    assert [name for name in PUBLIC if not hasattr(package, name)] == []


def test_what_never_was_is_still_not_there():
    for name in ("aidge_build.export.no_such", "aidge_build.backends", "aidge_build.backend.spec.inside", "export.node"):
        with pytest.raises(ImportError):
            importlib.import_module(name)
        assert name not in sys.modules


def test_a_library_of_kernels_for_0_1_generates_code(tmp_path):
    library = tmp_path / "old"
    library.mkdir()
    (library / "library.toml").write_text('name = "old"\n')
    (library / "tanh.py").write_text(KERNEL)
    (library / "tanh.h").write_text(
        "static void old_tanh(const float *x, float *y, int32_t count)\n{\n    y[count - 1] = x[0];\n}\n"
    )
    (tmp_path / "net.onnx").write_bytes(model("y = Tanh(x)", inputs="float[1,4] x", outputs="float[1,4] y", constants={}))
    words = ("--out", tmp_path / "gen", "--cpu", "cortex-m4", "--kernel-path", library, "--lib", "old")
    done = aidge_build("compile", tmp_path / "net.onnx", *words)
    assert done.exit_code == 0, done
    assert json.loads((tmp_path / "gen/net.plan.json").read_text())["layers"][0]["library"] == "old"
    (library / "tanh.py").write_text(KERNEL.replace("Literal, Output", "Literal, Output, Inside"))
    refused = aidge_build("compile", tmp_path / "net.onnx", *words)
    assert refused.exit_code == 2 and "'Inside'" in refused.stderr and "Hint: docs/stability.md says" in refused.stderr
