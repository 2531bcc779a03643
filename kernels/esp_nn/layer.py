# SPDX-License-Identifier: MIT
"""Shared by all kernels of this library: contracts, and the sources of the checkout."""

from __future__ import annotations

from dataclasses import replace

import numpy

from aidge_build.contract.call import Argument, Call, Constant
from aidge_build.contract.kernel_files import KernelFiles
from aidge_build.contract.kernel_kit.checkout import closure
from aidge_build.contract.node import KernelNode
from aidge_build.contract.spec import ImplSpec

ESP32S3 = "esp32s3"  # the feature of a core with ESP-NN's assembly
WARNINGS = ("-Wunused-parameter", "-Wunused-function")  # of ESP-NN's code under -Wall -Wextra
LARGEST_SHIFT = 30  # to the right: a shift of 31 bits overflows in ESP-NN


def both_contracts(spec: ImplSpec) -> list[ImplSpec]:
    """Returns the spec for `--rounding tflite`, with equal bits, and for `--rounding any`, rounded as ESP-NN does."""
    return [replace(spec, rounding="double"), replace(spec, rounding="esp-nn")]


def of_checkout(layer: KernelNode, glue: str, functions: tuple[str, ...], arguments: tuple[Argument, ...]) -> Call:
    """Returns the call of `aidge_esp_nn_<glue>`, which calls these C functions of ESP-NN."""
    sources, files = closure(KernelFiles.of(type(layer)).files, functions, "esp_nn_", WARNINGS)
    return Call(f"aidge_esp_nn_{glue}", (*sources, f"{glue}.h"), arguments, note="C of ESP-NN", files=files)


def words(name: str, values) -> Constant:
    """Returns a constant of int32."""
    return Constant(name, numpy.array(values, numpy.int32))
