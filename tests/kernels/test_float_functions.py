# SPDX-License-Identifier: MIT
"""The functions of kernels/kit in C: how far they are from the real numbers, for every float32, and their bits in numpy."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import numpy
import pytest

from aidge_build.contract.kernel_kit import float_functions as functions
from aidge_build.contract.kernel_kit.float_steps import PORTABLE

KERNELS = Path(__file__).parents[2] / "kernels"
STEP = 1 if os.environ.get("AIDGE_STRESS") else 9973  # between the patterns that are tried
FUNCTIONS = {"exp": functions.exponential, "tanh": functions.tanh, "erf": functions.erf, "logistic": functions.logistic}

PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
#include "kit/functions_float32.h"

static double logistic(double x) { return 1.0 / (1.0 + exp(-x)); }

static void try_all(const char *name, float (*function)(float), double (*real)(double), uint32_t step)
{
    double worst = 0.0;
    uint64_t pattern;
    for (pattern = 0; pattern <= 0xFFFFFFFFu; pattern += step) {
        const uint32_t bits = (uint32_t)pattern;
        float x;
        double wanted, error;
        int exponent;
        memcpy(&x, &bits, sizeof x);
        wanted = real(x);
        if (isnan(x) || isinf(x) || fabs(wanted) < 1.2e-38 || fabs(wanted) > 3.4028234e38) {
            continue;
        }
        frexp(wanted, &exponent);
        error = fabs(function(x) - wanted) * ldexp(1.0, 24 - exponent);
        worst = error > worst ? error : worst;
    }
    printf("%s %.3f\\n", name, worst);
}

int main(int count, char **words)
{
    float x;
    if (count > 1) {
        const uint32_t step = (uint32_t)atoi(words[1]);
        try_all("exp", aidge_kit_exp, exp, step);
        try_all("tanh", aidge_kit_tanh, tanh, step);
        try_all("erf", aidge_kit_erf, erf, step);
        try_all("logistic", aidge_kit_logistic, logistic, step);
        return 0;
    }
    while (fread(&x, sizeof x, 1, stdin) == 1) {
        const float results[4] = {aidge_kit_exp(x), aidge_kit_tanh(x), aidge_kit_erf(x), aidge_kit_logistic(x)};
        fwrite(results, sizeof results, 1, stdout);
    }
    return 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("functions")
    (folder / "main.c").write_text(PROGRAM)
    compiler = os.environ.get("CC") or shutil.which("cc")
    subprocess.run([compiler, "-O2", f"-I{KERNELS}", "-o", folder / "main", folder / "main.c", "-lm"], check=True)
    return folder / "main"


def test_every_function_is_right_to_two_units_of_the_last_place(program):
    found = subprocess.run([program, str(STEP)], check=True, capture_output=True, text=True).stdout.split()
    worst = dict(zip(found[::2], map(float, found[1::2])))
    assert list(worst) == list(FUNCTIONS) and max(worst.values()) <= 2, worst


def test_numpy_has_the_bits_of_the_c(program):
    patterns = numpy.arange(0, 1 << 32, 1 << 17, dtype=numpy.uint64).astype(numpy.uint32)
    x = numpy.concatenate([patterns.view(numpy.float32), numpy.linspace(-120, 120, 20001).astype(numpy.float32)])
    written = subprocess.run([program], input=x.tobytes(), check=True, capture_output=True).stdout
    found = numpy.frombuffer(written, numpy.float32).reshape(-1, 4).T
    with numpy.errstate(all="ignore"):
        for results, (name, function) in zip(found, FUNCTIONS.items()):
            assert numpy.array_equal(results, function(PORTABLE, x), equal_nan=True), name
