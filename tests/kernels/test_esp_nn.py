# SPDX-License-Identifier: MIT
"""The glue to ESP-NN: its C has the bits of --rounding tflite. Its assembly is replaced by C here. Needs a checkout:
AIDGE_ESP_NN=DIR."""

from __future__ import annotations

import ctypes
import functools
import os
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import harness
import helium_harness
import numpy
import pytest
from binary_cases import binaries
from cortexm_harness import accepted, taken
from grouped_cases import grouped_cases
from helium_harness import convolution, run
from random_tensors import Randomness
from test_ref_linear import EDGES, random_edge
from test_ref_pools_and_moves import pools

from aidge_build.build.inputs import find_libraries, load_libraries
from aidge_build.contract.kernel_kit.checkout import closure
from aidge_build.contract.kernel_kit.window2d import window2d
from aidge_build.graph.quantization import per_tensor
from aidge_build.operators.arithmetic.fixed_multiplier import scaled
from tests.command import aidge_build
from tests.programs import needs_riscv
from tests.shared import MLPERF_TINY, shared, vectors

VARIABLE = "AIDGE_ESP_NN"
DIGITS = Path(__file__).resolve().parents[2] / "examples" / "digits" / "digits.onnx"
FUNCTIONS = ("conv_s8_opt", "depthwise_conv_s8_opt", "fully_connected_per_ch_s8_ansi", "add_elementwise_s8_ansi")
FUNCTIONS += ("mul_elementwise_s8_ansi", "avg_pool_s8_ansi", "max_pool_s8_ansi")
CORE = """
portable = true
features = ["esp32s3"]

[known_features]
esp32s3 = { title = "the vector instructions of an ESP32-S3" }
"""


@pytest.fixture
def checkout() -> Path:
    folder = os.environ.get(VARIABLE, "")
    if not folder:
        pytest.skip(f"{VARIABLE} names no checkout of ESP-NN")
    return Path(folder)


class Case(helium_harness.Case):
    library_name, features = "esp_nn", frozenset()


class AssemblyCase(Case):
    features = frozenset({"esp32s3"})
    rounding = "any"


def case(*arguments, **output) -> Case:
    made = harness.case(*arguments, **output)
    return Case(made.view, made.values)


@pytest.fixture
def with_sources(checkout, monkeypatch):
    """The library as builds with --checkout have it."""
    (library, *others), _ = load_libraries(["esp_nn"], find_libraries([]), {"esp_nn": checkout})
    _, changed = closure(library.files, tuple(f"esp_nn_{name}" for name in FUNCTIONS), "esp_nn_")
    found, usual = (replace(library, files={**library.files, **changed}), *others), harness.libraries
    monkeypatch.setattr(harness, "libraries", lambda name: found if name == "esp_nn" else usual(name))
    monkeypatch.setattr(helium_harness, "library", lambda name: harness.libraries(name)[0])


@functools.cache
def of_vectors() -> list[helium_harness.Case]:
    """Depthwise layers of many channels and with several outputs for each, and others, small and large."""
    deep = [
        (1, channels, (size, size), channels, kernel, stride, 1, pads, channels)
        for channels in (5, 8, 16, 24, 64)
        for size in (6, 31)
        for kernel, stride, pads in (((3, 3), 1, (1, 1)), ((3, 3), 2, (0, 1)), ((5, 4), 2, (1, 1)))
    ]
    deep += [(1, 6, (9, 8), 6 * each, (3, kernel), 1, 1, (1, 1), 6) for each in (2, 4, 8) for kernel in (3, 2)]
    plain = [
        (1, channels, (size, size), 9, kernel, stride, 1, pads, 1)
        for channels in (3, 8, 20)
        for size in (2, 9)
        for kernel, stride, pads in (((1, 1), 1, (0, 0)), ((1, 1), 2, (0, 0)), ((2, 2), 1, (1, 1)), ((3, 3), 2, (0, 1)))
    ]
    return [convolution(900 + seed, *shape) for seed, shape in enumerate((*deep, *plain))]


@functools.cache
def windows() -> list[helium_harness.Case]:
    shapes = [*EDGES, *filter(None, map(random_edge, range(2000, 2060)))]
    return [*(convolution(seed, *shape) for seed, shape in enumerate(shapes)), *grouped_cases(), *of_vectors()]


def under_contract(entry) -> Case:
    return harness.under_double(Case(entry.view, entry.values))


def under_tflite(cases) -> list[Case]:
    """The cases that the library accepts under --rounding tflite."""
    return accepted([under_contract(entry) for entry in cases])


def pooled() -> list[Case]:
    random, found = Randomness(7), []
    for dims, operator in pools(random):
        data = random.data(*dims)
        found.append(case(operator, [data], [random.int8(*dims)], quantization=data.quantization))
    return found


def test_without_a_checkout_the_library_is_refused_with_the_option_that_is_missing(tmp_path):
    result = aidge_build("compile", DIGITS, "--out", tmp_path, "--lib", "esp_nn,ref")
    assert result.exit_code == 2 and "add --checkout esp_nn=DIR with their source folder" in result.stderr


def test_a_checkout_without_a_function_is_refused_by_the_functions_name(tmp_path):
    options = "--lib", "esp_nn,ref", "--checkout", f"esp_nn={tmp_path}", "--rounding", "any", "--out", tmp_path
    result = aidge_build("compile", DIGITS, *options)
    assert result.exit_code == 2 and "the checkout defines no function esp_nn_" in result.stderr


def test_its_kernels_are_listed_with_their_rounding():
    libraries = aidge_build("kernels", "--json").json["libraries"]
    (library,) = [library for library in libraries if library["name"] == "esp_nn"]
    found = {(kernel["op"], kernel["rounding"]) for kernel in library["kernels"]}
    assert {rounding for op, rounding in found if op == "FC"} == {"esp-nn"}
    assert {rounding for op, rounding in found if "Max" in op} == {"any"}
    assert {op for op, rounding in found if rounding == "double"} == {op for op, rounding in found if rounding == "esp-nn"} - {
        "FC"
    }


@pytest.mark.parametrize("board", ["host", pytest.param("qemu_riscv32", marks=needs_riscv)])
def test_its_c_has_the_bits_of_the_contract(with_sources, board):
    cases = under_tflite([*windows(), *binaries(case, 12), *pooled()])
    counts = {name: sum(entry.kernel.name == name for entry in cases) for name in ("conv2d_int8", "depthwise_int8")}
    counts |= {entry.call.function.removeprefix("aidge_esp_nn_"): 1 for entry in cases}
    assert counts.keys() >= {"conv_s8", "depthwise_s8", "add_s8", "mul_s8", "avg_pool_s8", "max_pool_s8"}
    assert counts["conv2d_int8"] > 30 and counts["depthwise_int8"] > 20
    assert run(cases, board=board) == []


def test_outputs_over_inputs_have_the_same_bits(with_sources):
    cases = [entry for entry in under_tflite([*windows(), *pooled()]) if entry.kernel.node_class.demands(entry.stored).overlap]
    assert len(cases) > 30
    assert run(cases, board="host", lead=lambda entry: entry.kernel.node_class.demands(entry.stored).overlap[0][1]) == []


def test_both_of_its_requantizations_are_the_one_of_the_contract(checkout, tmp_path):
    """Older releases call the fast one."""
    source = '#include "common_functions.h"\n' + "".join(
        f"void {name}(int n, const int *x, const int *m, const int *s, int *y)\n"
        f"{{ while (n--) y[n] = esp_nn_multiply_by_quantized_mult{name}(x[n], m[n], s[n]); }}\n"
        for name in ("", "_fast")
    ).replace("void (", "void _exact(")
    (tmp_path / "both.c").write_text(source)
    words = "-O2", "-w", "-shared", "-fPIC", f"-I{checkout}/src/common", "both.c", "-o", "both.so"
    subprocess.run(["cc", *words], cwd=tmp_path, check=True)
    library, random = ctypes.CDLL(str(tmp_path / "both.so")), numpy.random.default_rng(1)
    shifts = random.integers(-30, 3, 1_000_000)
    sums = random.integers(-(1 << 30), 1 << 30, len(shifts)) >> random.integers(2, 28, len(shifts))
    multipliers = random.integers(1 << 30, 1 << 31, len(shifts))
    given = [values.astype(numpy.int32) for values in (sums, multipliers, shifts)]
    for name in ("_exact", "_fast"):
        result = numpy.zeros(len(shifts), numpy.int32)
        getattr(library, name)(len(shifts), *(values.ctypes.data_as(ctypes.c_void_p) for values in (*given, result)))
        assert numpy.array_equal(result, scaled(sums, multipliers, shifts))


def verified(checkout, name, tmp_path, *words) -> dict:
    numpy.savez(tmp_path / "io.npz", **{key: values[:4] for key, values in numpy.load(vectors(name)).items() if values.ndim > 1})
    model, options = shared(MLPERF_TINY / f"{name}_int8.tflite"), ("--lib", "esp_nn,ref", "--checkout", f"esp_nn={checkout}")
    return aidge_build("verify", model, "--io-data", tmp_path / "io.npz", "--board", "host", *options, "--json", *words).json


@pytest.mark.parametrize("name", ["ic_resnet8", "kws_dscnn"])
def test_a_network_has_the_bits_of_litert_and_under_any_those_of_tensorflow_lite_micro(checkout, name, tmp_path):
    exact = verified(checkout, name, tmp_path, "--reference", "y_litert_ref")
    used = {layer["op"]: layer["kernel"].split()[0] for layer in exact["layers"]}
    assert exact["outputs"][0]["max_difference"] == 0 and used.pop("FC") == "ref" and used["Conv2D"] == "esp_nn"
    micro = verified(checkout, name, tmp_path, "--reference", "y_tflm_cmsisnn", "--rounding", "any")
    assert micro["outputs"][0]["max_difference"] == 0
    assert "esp_nn" in {layer["kernel"].split()[0] for layer in micro["layers"] if layer["op"] == "FC"}


def test_two_models_in_one_firmware_share_its_functions(checkout, tmp_path):
    options = "--lib", "esp_nn,ref", "--checkout", f"esp_nn={checkout}", "--rounding", "any", "--out", tmp_path
    for name in ("first", "second"):
        assert aidge_build("compile", DIGITS, "--name", name, *options).exit_code == 0
    names = [f"{name}{suffix}.c" for name in ("first", "second") for suffix in ("", "_weights")]
    subprocess.run(["cc", "-Wall", "-Wextra", "-Werror", "-r", *names, "-o", "both.o"], cwd=tmp_path, check=True)


def test_warnings_are_off_around_the_code_of_the_checkout_and_guards_of_headers_stay_first():
    guarded = "/* A. */\n#ifndef A\n#define A\nint esp_nn_f(int x);\n#endif\n"
    files = {"checkout/f.c": b"int esp_nn_f(int x)\n{\n    return 1;\n}\n", "checkout/f.h": guarded.encode()}
    _, changed = closure(files, ("esp_nn_f",), "esp_nn_", ("-Wunused-parameter",))
    first, *code, last = changed["checkout/f.c"].decode().splitlines()
    assert (first, code[0]) == ("#pragma GCC diagnostic push", '#pragma GCC diagnostic ignored "-Wunused-parameter"')
    assert code[1:] == files["checkout/f.c"].decode().splitlines() and last == "#pragma GCC diagnostic pop"
    assert "checkout/f.h" not in changed


DILATED = (1, 2, (9, 9), 4, (3, 3), 1, 2, (2, 2), 1)
GROUPED = (1, 8, (4, 3), 8, (3, 3), 1, 1, (1, 1), 2)
PADDED_PIXEL = (1, 4, (5, 5), 6, (1, 1), 1, 1, (1, 1), 1)
LONG = (1, 2, (1, 40_000), 2, (1, 1), 1, 1, (0, 0), 1)


@pytest.mark.parametrize("shape", [DILATED, GROUPED, PADDED_PIXEL, LONG])
def test_a_convolution_that_esp_nn_does_not_compute_is_left_to_the_next_library(shape):
    assert taken([under_contract(convolution(1, *shape))]) == []


@pytest.mark.parametrize("factor, is_taken", [(2.0**-32, False), (2.0**-31, True), (2.0**9, True), (2.0**20, False)])
def test_a_sum_that_esp_nn_would_shift_too_far_is_left_to_the_next_library(factor, is_taken):
    entry = convolution(1, 1, 8, (3, 3), 4, (3, 3), 1, 1, (1, 1), 1)
    (data, weights, *bias), (output,) = entry.view.inputs, entry.view.outputs
    weights = weights.with_(quantization=per_tensor(2.0**-8, 0))
    data, output = (
        tensor.with_(quantization=per_tensor(scale, 3)) for tensor, scale in ((data, 1.0), (output, 2.0**-8 / factor))
    )
    view = replace(entry.view, inputs=(data, weights, *bias), outputs=(output,))
    assert bool(taken([under_contract(replace(entry, view=view))])) is is_taken


def their_objects(checkout: Path, folder: Path, *renamed: str) -> list[Path]:
    """The objects of the C around their assembly, which is not there."""
    sources = [checkout / f"src/convolution/esp_nn_{part}_esp32s3.c" for part in ("conv", "depthwise_conv_s8")]
    names = sorted({name for path in sources for name in re.findall(r"\besp_nn_\w+", path.read_text())})
    (folder / "weak.h").write_text("".join(f"#pragma weak {name}\n" for name in names))
    words = "-O1", "-w", "-fPIC", "-c", "-DCONFIG_IDF_TARGET_ESP32S3=1", "-include", folder / "weak.h"
    subprocess.run(["cc", *words, *headers(checkout), *renamed, *sources], cwd=folder, check=True)
    return [folder / f"{path.stem}.o" for path in sources]


def headers(checkout: Path) -> list[str]:
    return [f"-I{checkout}/include", f"-I{checkout}/src/common"]


def test_the_assembly_gets_the_scratch_that_its_functions_ask_for(checkout, with_sources, tmp_path):
    words = "-shared", "-fPIC", *their_objects(checkout, tmp_path), "-o", tmp_path / "sizes.so"
    subprocess.run(["cc", *words], check=True)
    library = ctypes.CDLL(str(tmp_path / "sizes.so"))
    cases = [AssemblyCase(entry.view, entry.values) for entry in windows()]
    cases = [entry for entry in accepted(cases) if entry.kernel.spec.features]
    for entry in cases:
        s = window2d(entry.stored.inputs[0], *entry.stored.outputs, entry.view.operator.window).fields
        is_depthwise = entry.kernel.name == "depthwise_int8"
        dims = [[s[f"{side}_{axis}"] for axis in ("width", "height")] for side in ("in", "kernel", "out")]
        channels = s["in_channels"], s["in_channels"], s["out_channels"]
        arrays = [(ctypes.c_int32 * 4)(*pair, count, 1) for pair, count in zip(dims, channels)]
        strides, pads = (s["stride_width"], s["stride_height"]), (s["pad_left"], s["pad_top"])
        multiple = (s["out_channels"] // s["in_channels"],) * is_depthwise
        parameters = (ctypes.c_int32 * 11)(0, 0, *multiple, *strides, *pads, 1, 1, -128, 127)
        ask = library[f"esp_nn_get_{'depthwise_' * is_depthwise}conv_scratch_size_esp32s3"]
        assert ask(*arrays, parameters) == entry.scratch_bytes, s
    assert len(cases) > 80


STAND_IN = """
#include <string.h>
#include "esp_nn_esp32s3.h"
static void *buffer;
int calls, more; /* layers with scratch; bytes that the linked release asks for beyond those of 1.2.3 */
int their_conv_size(const data_dims_t *i, const data_dims_t *f, const data_dims_t *o, const conv_params_t *p);
int their_depthwise_conv_size(const data_dims_t *i, const data_dims_t *f, const data_dims_t *o, const dw_conv_params_t *p);
int esp_nn_get_conv_scratch_size_esp32s3(const data_dims_t *i, const data_dims_t *f, const data_dims_t *o, const conv_params_t *p)
{
    return their_conv_size(i, f, o, p) + more;
}
int esp_nn_get_depthwise_conv_scratch_size_esp32s3(const data_dims_t *i, const data_dims_t *f, const data_dims_t *o,
                                                   const dw_conv_params_t *p)
{
    return their_depthwise_conv_size(i, f, o, p) + more;
}
void esp_nn_conv_s8_esp32s3(const data_dims_t *i, const int8_t *x, const data_dims_t *f, const int8_t *w, const int32_t *b,
                            const data_dims_t *o, int8_t *y, const conv_params_t *p, const quant_data_t *q)
{
    memset(buffer, 0xa5, their_conv_size(i, f, o, p));
    calls++;
    esp_nn_conv_s8_ansi(i, x, f, w, b, o, y, p, q);
}
void esp_nn_depthwise_conv_s8_esp32s3(const data_dims_t *i, const int8_t *x, const data_dims_t *f, const int8_t *w,
                                      const int32_t *b, const data_dims_t *o, int8_t *y, const dw_conv_params_t *p,
                                      const quant_data_t *q)
{
    memset(buffer, 0xa5, their_depthwise_conv_size(i, f, o, p));
    calls++;
    esp_nn_depthwise_conv_s8_ansi(i, x, f, w, b, o, y, p, q);
}
void esp_nn_fully_connected_per_ch_s8_esp32s3(const int8_t *x, int32_t a, uint16_t n, const int8_t *w, int32_t c,
                                              const int32_t *b, int8_t *y, uint16_t m, int32_t o, const int32_t *s,
                                              const int32_t *q, int32_t l, int32_t h)
{
    esp_nn_fully_connected_per_ch_s8_ansi(x, a, n, w, c, b, y, m, o, s, q, l, h);
}
void esp_nn_set_conv_scratch_buf_esp32s3(const void *b) { buffer = (void *)b; }
void esp_nn_set_depthwise_conv_scratch_buf_esp32s3(const void *b) { buffer = (void *)b; }
"""


@pytest.mark.parametrize("name", ["ic_resnet8", "kws_dscnn"])
def test_the_glue_of_the_assembly_computes_a_network_with_c_in_its_place(checkout, name, tmp_path):
    """The stand-in writes all scratch that the functions ask for. An input at no multiple of 16 bytes gets ESP-NN's C, and so do
    all layers if the release asks for more scratch."""
    (tmp_path / "cores").mkdir()
    (tmp_path / "cores" / "esp32s3.toml").write_text(CORE)
    options = "--cpu", "esp32s3", "--board-path", tmp_path, "--lib", "esp_nn,ref", "--checkout", f"esp_nn={checkout}"
    model = shared(MLPERF_TINY / f"{name}_int8.tflite")
    made = aidge_build("compile", model, "--name", "model", "--rounding", "any", "--out", tmp_path, *options)
    assert made.exit_code == 0, made.stderr
    names = {"{}_s8": "", "set_{}_scratch_buf": "_set", "get_{}_scratch_size": "_size"}
    kinds = "conv", "depthwise_conv"
    renamed = [f"-Desp_nn_{part.format(kind)}_esp32s3=their_{kind}{end}" for part, end in names.items() for kind in kinds]
    objects = their_objects(checkout, tmp_path, *renamed)
    (tmp_path / "stand_in.c").write_text(STAND_IN)
    plain = [path for kind in ("ansi", "opt") for path in sorted((checkout / "src").glob(f"*/*_{kind}.c"))]
    sources = "stand_in.c", "model.c", "model_weights.c", *plain
    words = "-O1", "-w", "-shared", "-fPIC", *headers(checkout), *objects, *sources, "-o", "model.so", "-lm"
    subprocess.run(["cc", *words], cwd=tmp_path, check=True)
    library, stored = ctypes.CDLL(str(tmp_path / "model.so")), numpy.load(vectors(name))
    calls, more = (ctypes.c_int.in_dll(library, word) for word in ("calls", "more"))
    given, expected = stored["x"][0].ravel(), stored["y_tflm_cmsisnn"][0]
    counts = []
    for bytes_, offset in ((0, 0), (0, 4), (1, 0)):
        more.value, calls.value = bytes_, 0
        place, result = numpy.zeros(given.size + 32, numpy.int8), numpy.zeros(expected.shape, numpy.int8)
        place = place[-place.ctypes.data % 16 + offset :][: given.size]
        place[:] = given
        library.model_run(*(array.ctypes.data_as(ctypes.c_void_p) for array in (place, result)))
        assert numpy.array_equal(result, expected)
        counts.append(calls.value)
    assert counts[0] > 8 and counts[1:] == [counts[0] - 1, 0]
