# SPDX-License-Identifier: MIT
"""Sums and products in generated C."""

from __future__ import annotations

from aidge_build.contract.kernel_kit.terms import plus, plus_product, times


def test_terms_that_do_nothing_are_not_written():
    assert [plus("x", number) for number in (-2, 0, 3)] == ["x - 2", "x", "x + 3"]
    assert [times("row", factor) for factor in (0, 1, 2)] == ["0", "row", "row * 2"]
    assert [plus_product("x", factor, "n") for factor in (0, 1, 2)] == ["x", "x + n", "x + 2 * n"]
