# SPDX-License-Identifier: MIT
"""Sums and products of `armv6m` against their numpy meaning, bit for bit."""

from __future__ import annotations

import functools
import shutil

import pytest
from armv6m_harness import BOARD, accepted, case, run
from binary_cases import binaries
from harness import under

needs_compiler = pytest.mark.skipif(not shutil.which("arm-none-eabi-gcc"), reason="needs arm-none-eabi-gcc")


@functools.cache
def candidates():
    return accepted(binaries(case, 24))


@needs_compiler
@pytest.mark.parametrize("flags", [(), ("-Os", "-flto")], ids=lambda flags: " ".join(flags) or "usual")
def test_sums_and_products_equal_the_meaning_on_the_emulated_core(flags):
    cases = candidates()
    assert len(cases) >= 20 and len({entry.call.function for entry in cases}) >= 4
    products = [entry.call.function for entry in cases if entry.view.node.type == "Mul"]
    assert len(products) >= 8 and any(function.endswith("_rows") for function in products)
    assert run(under(flags, cases), *flags, board=BOARD) == []
