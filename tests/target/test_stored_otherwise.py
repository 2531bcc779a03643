# SPDX-License-Identifier: MIT
"""Kernels are chosen before storage orders: one whose rows depend on the order must be right in each."""

from __future__ import annotations

import numpy

from tests.command import aidge_build
from tests.models import model
from tests.programs import needs_cross_compiler, needs_qemu


@needs_cross_compiler
@needs_qemu
def test_a_log_softmax_between_convolutions_is_right_where_the_channels_are_stored_last(tmp_path):
    random = numpy.random.default_rng(0)
    data = model(
        "a = Conv(x, w) b = LogSoftmax<axis = 3>(a) y = Conv(b, v)",
        inputs="float[1,3,8,9] x",
        outputs="float[1,2,6,7] y",
        constants={
            name: random.normal(size=dims).astype(numpy.float32) for name, dims in (("w", (8, 3, 3, 3)), ("v", (2, 8, 1, 1)))
        },
    )
    (tmp_path / "net.onnx").write_bytes(data)
    numpy.savez(tmp_path / "io.npz", x=random.normal(size=(2, 1, 3, 8, 9)).astype(numpy.float32))
    words = ("--io-data", tmp_path / "io.npz", "--board", "mps2-an386", "--json")
    result = aidge_build("verify", tmp_path / "net.onnx", *words)
    assert result.exit_code == 0, result.stderr or result.stdout
