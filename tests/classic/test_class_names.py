# SPDX-License-Identifier: MIT
"""The names of classes in firmware: what the header says compiles as C and C++, and is what the model holds."""

from __future__ import annotations

import subprocess

import numpy
import pytest
from onnx import TensorProto, helper

from aidge_build.boards import load_board
from aidge_build.build.emit import emit
from tests.classic.pipelines import stored
from tests.command import aidge_build
from tests.compiled import program_of

NAMES = (
    "plain",
    'a "quote"',
    "back\\slash",
    "what??/",
    "*/ int injected; /*",
    "line\nbreak",
    "\u00e9\U0001f600",
    "%s",
    "x" * 300,
)
MAIN = """#include <stdio.h>
#include "net.h"
static const char *const labels[NET_LABELS_SIZE] = NET_LABELS;
int main(void)
{
    const float x[NET_INPUT_SIZE] = {0.0f, 1.0f};
    int64_t label[NET_LABEL_SIZE];
    float score[NET_SCORE_SIZE];
    int i;
    for (i = 0; i < NET_SCORE_NAMES_SIZE; i++) {
        printf("%s%c", labels[i], 0);
    }
    return net_run(x, label, score) + (label[0] != 4);
}
"""


def classifier() -> bytes:
    """Nine classes of two features; the fifth wins for (0, 1)."""
    weights = numpy.zeros((len(NAMES), 2), numpy.float32)
    weights[4, 1] = 1
    labels = [name.encode() for name in NAMES]
    nodes = [
        helper.make_node(
            "LinearClassifier",
            ["x"],
            ["label", "sums"],
            domain="ai.onnx.ml",
            classlabels_strings=labels,
            coefficients=weights.reshape(-1).tolist(),
            intercepts=[0.0] * len(NAMES),
        ),
        helper.make_node("ZipMap", ["sums"], ["score"], domain="ai.onnx.ml", classlabels_strings=labels),
    ]
    maps = helper.make_map_type_proto(TensorProto.STRING, helper.make_tensor_type_proto(TensorProto.FLOAT, None))
    graph = helper.make_graph(
        nodes,
        "names",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2])],
        [
            helper.make_tensor_value_info("label", TensorProto.STRING, [1]),
            helper.make_value_info("score", helper.make_sequence_type_proto(maps)),
        ],
    )
    opsets = [helper.make_opsetid("ai.onnx.ml", 1), helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()


@pytest.mark.parametrize("compiler", [("cc", "-std=c99", "-trigraphs"), ("c++", "-x", "c++", "-std=c++98", "-Wno-long-long")])
def test_names_of_classes_reach_firmware_whole_and_harmless(compiler, tmp_path):
    for name, data in emit(program_of(classifier(), "names.onnx", load_board("host"))).files.items():
        (tmp_path / name).write_bytes(data)
    (tmp_path / "main.c").write_text(MAIN)
    flags = ("-Wall", "-Wextra", "-Werror", "-pedantic-errors")
    objects = []
    for source, command in (
        ("main.c", (*compiler, *flags)),
        ("net.c", ("cc", "-std=c99")),
        ("net_weights.c", ("cc", "-std=c99")),
    ):
        objects.append(f"{source}.o")
        subprocess.run([*command, "-c", source, "-o", objects[-1]], check=True, cwd=tmp_path)
    subprocess.run(["cc", *objects, "-lm", "-o", "names"], check=True, cwd=tmp_path)
    found = subprocess.run([tmp_path / "names"], capture_output=True)
    assert found.returncode == 0
    assert tuple(name.decode() for name in found.stdout.split(b"\0")[:-1]) == NAMES


def test_labels_that_are_words_are_the_classes_of_the_model(tmp_path):
    content, inputs, outputs = stored()["SVC, rbf, probabilities, labels are words"]
    (tmp_path / "net.onnx").write_bytes(content)
    words = outputs["output_label"].copy()
    words[0] = "low" if words[0] != "low" else "high"
    numpy.savez(tmp_path / "test.npz", x=inputs["X"], labels=words)
    done = aidge_build("accuracy", tmp_path / "net.onnx", "--labels", tmp_path / "test.npz", "--json").json
    assert (done["task"], done["stages"][0]["top1"]["correct"], done["stages"][0]["top1"]["count"]) == ("decisions", 11, 12)
    words[3] = "lov"
    numpy.savez(tmp_path / "test.npz", x=inputs["X"], labels=words)
    refused = aidge_build("accuracy", tmp_path / "net.onnx", "--labels", tmp_path / "test.npz")
    assert refused.exit_code == 2 and "the label 'lov' is no class of the model" in refused.stderr
