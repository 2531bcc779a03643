# SPDX-License-Identifier: MIT
"""The notice about a library that the user fetched and no layer takes."""

from __future__ import annotations

from types import SimpleNamespace

from aidge_build.prepare.adaptation.unused_libraries import unused_checkouts

THEIRS, OURS = SimpleNamespace(name="theirs", checkout=("*.c",)), SimpleNamespace(name="ref", checkout=())


def notices(*taken: str) -> tuple[str, ...]:
    refused = (("theirs conv", "rounds as 'double'"), ("ref conv", "no"), ("theirs fc", "other dims"))
    choices = {name: SimpleNamespace(kernel=SimpleNamespace(library=name), rejected=refused[:2]) for name in taken}
    choices["last"] = SimpleNamespace(kernel=None, rejected=refused)
    return unused_checkouts(SimpleNamespace(choices=choices), (THEIRS, OURS))


def test_a_library_with_a_checkout_that_no_layer_takes_is_named_with_the_most_frequent_reason():
    assert notices("ref") == ("no layer takes a kernel of theirs, which --checkout names: theirs conv: rounds as 'double'",)
    assert notices("ref", "theirs") == ()


def test_a_library_without_a_kernel_for_the_layers_says_so():
    (line,) = unused_checkouts(SimpleNamespace(choices={}), (THEIRS, OURS))
    assert line.endswith("it has no kernel for these layers")
