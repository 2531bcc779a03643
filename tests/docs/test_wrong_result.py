# SPDX-License-Identifier: MIT
"""The C with which docs/howto-wrong-result.md quantizes an input gives what numpy gives: ties, and values beyond int8, too."""

from __future__ import annotations

import subprocess

import numpy

from tests.docs.blocks import blocks

SCALE, ZERO_POINT = 0.125, -7  # exact in binary, so that ties are ties
HEADER = f"#include <stdint.h>\n#define KWS_INPUT_SCALE {SCALE}f\n#define KWS_INPUT_ZERO_POINT ({ZERO_POINT})\n"
MAIN = """
#include <stdio.h>
static int8_t quantized(float given)
{
SNIPPET
    return input;
}
int main(void)
{
    float given;
    while (scanf("%f", &given) == 1)
        printf("%d\\n", quantized(given));
    return 0;
}
"""


def test_the_snippet_quantizes_an_input_as_numpy_does(tmp_path):
    (block,) = [block for block in blocks("docs/howto-wrong-result.md") if block.language == "c"]
    body = "\n".join(line for line in block.text.splitlines() if not line.startswith("#include"))
    assert "real = 0.25f;" in body
    (tmp_path / "kws.h").write_text(HEADER)
    includes = '#include <math.h>\n#include "kws.h"\n'
    (tmp_path / "main.c").write_text(includes + MAIN.replace("SNIPPET", body.replace("0.25f", "given")))
    subprocess.run(["gcc", "-Wall", "-Werror", "-o", "main", "main.c", "-lm"], cwd=tmp_path, check=True)
    reals = numpy.concatenate((numpy.arange(-20, 20, 1 / 32), [-1e30, 1e30, -1e9, 1e9])).astype(numpy.float32)
    written = "".join(f"{real!r}\n" for real in reals.tolist())
    done = subprocess.run([tmp_path / "main"], input=written, capture_output=True, text=True, check=True)
    expected = numpy.clip(numpy.rint(reals / numpy.float32(SCALE)) + ZERO_POINT, -128, 127)
    assert numpy.array(done.stdout.split(), numpy.int64).tolist() == expected.astype(numpy.int64).tolist()
