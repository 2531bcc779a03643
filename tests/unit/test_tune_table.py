# SPDX-License-Identifier: MIT
"""The table that measured layers make: comparisons hold in every layer that was measured, and for as wide a class as they can."""

from __future__ import annotations

from dataclasses import replace

from aidge_build.measure.tune.measured import Measured
from aidge_build.measure.tune.table import Head, comparisons, table_text
from aidge_build.prepare.adaptation.cost import read_cost_table

HEAD = Head("board", "gcc 1", "instructions", ("fpu", "dsp"), "balanced")


def layer(name: str, kernel: str, instructions: int, shape: tuple[str, str, str] = ("big", "32", "33"), **other) -> Measured:
    shapes = ("", *shape)
    found = Measured(name, "Mul", "int8 -> int8", shapes, shape[0], "nhwc", "lib", kernel, 0, 100, instructions, None, None)
    return replace(found, **other)


def said(*models, fewest: int = 1):
    return [(one.kernel, one.than, one.shape, one.layers, one.ratio, one.most) for one in comparisons(models, fewest)]


def test_a_kernel_that_was_always_faster_is_so_for_all_shapes():
    first = [layer("a", "usual", 100), layer("b", "usual", 300, ("small", "1", "1")), layer("a", "other", 90)]
    assert said([*first, layer("b", "other", 240, ("small", "1", "1"))]) == [("other", "lib usual", "", 2, 0.825, 0.9)]


def test_one_that_was_slower_somewhere_is_so_for_narrower_classes():
    usual = [
        layer("a", "usual", 100),
        layer("b", "usual", 100, ("small", "1", "1")),
        layer("c", "usual", 100, ("small", "1", "2")),
    ]
    other = [layer("a", "other", 110), layer("b", "other", 90, ("small", "1", "1")), layer("c", "other", 80, ("small", "1", "2"))]
    assert said([*usual, *other]) == [("other", "lib usual", "small", 2, 0.85, 0.9)]
    slower = replace(other[2], instructions=120)
    assert said([*usual, *other[:2], slower]) == [("other", "lib usual", "1", 1, 0.9, 0.9)]


def test_a_class_in_which_too_few_layers_were_measured_is_left_out():
    def pair(exact: str):
        return [layer("a", kernel, taken, ("big", "32", exact)) for kernel, taken in (("usual", 100), ("other", 90))]

    assert said(pair("33"), pair("34"), fewest=3) == []
    assert said(pair("33"), pair("34"), pair("34"), fewest=3) == [], "the same layer again says nothing new"
    assert said(pair("33"), pair("34"), pair("35"), fewest=3) == [("other", "lib usual", "", 3, 0.9, 0.9)]


def test_what_is_hardly_faster_is_left():
    assert said([layer("a", "usual", 1000), layer("a", "other", 991)]) == []
    assert said([layer("a", "usual", 1000), layer("a", "other", 990)]) != []


def test_a_build_in_which_the_layer_reads_other_formats_is_no_comparison():
    assert said([layer("a", "usual", 100), layer("a", "other", 90, formats="nchw")]) == []


def test_kernels_are_compared_with_the_preferred_one_alone():
    layers = [layer("a", "usual", 100), layer("a", "slower", 150), layer("a", "other", 120)]
    assert said(layers) == []


def test_the_text_is_read_as_what_was_written_whatever_the_order_of_models():
    models = [[layer("a", "usual", 100), layer("a", "other", 90)], [layer("a", "usual", 10), layer("a", "other", 9)]]
    text = table_text(models, HEAD, 1)
    assert text == table_text(models[::-1], HEAD, 1)
    table = read_cost_table(text.encode(), "t")
    assert (table.features, table.optimize, table.name, table.version) == ({"fpu", "dsp"}, "balanced", "board", "gcc 1")
    assert list(table.quicker) == comparisons(models, 1)
    costs = {(entry.kernel, entry.shape): entry.per_element for entry in table.entries}
    assert costs == {("usual", ""): 0.55, ("usual", "big"): 0.55, ("other", ""): 0.495, ("other", "big"): 0.495}


def test_a_layer_counts_once_with_each_kernel():
    """It keeps the preferred one where others are measured; its neighbours may change what it takes a little."""
    layers = [layer("a", "usual", 100), layer("b", "usual", 10), layer("a", "usual", 104)]
    (entry, *_) = read_cost_table(table_text([layers], HEAD, 1).encode(), "t").entries
    assert entry.per_element == 0.55


def test_a_table_without_comparisons_says_that_it_has_none():
    assert read_cost_table(table_text([[layer("a", "usual", 100)]], HEAD, 1).encode(), "t").quicker == ()


def test_a_table_in_cycles_has_costs_and_lines_of_flash_alone():
    """How many cycles a line of flash takes is a matter of the board."""
    layers = [layer("a", "usual", 100, cycles=200, flash_lines=50), layer("a", "other", 90, cycles=100, flash_lines=0)]
    table = read_cost_table(table_text([layers], replace(HEAD, unit="cycles"), 1).encode(), "t")
    assert table.quicker is None
    assert {(one.kernel, one.per_element, one.lines_per_element) for one in table.entries} == {("usual", 2, 0.5), ("other", 1, 0)}
