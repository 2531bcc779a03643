# SPDX-License-Identifier: MIT
"""WHILE of .tflite files: the layer that a loop is, or the loop's steps; values by the layer's equations."""

from __future__ import annotations

import numpy
import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.contract.reference import cpu
from aidge_build.operators.recurrent import Recurrent
from aidge_build.sources.formats.tflite.importer import import_tflite
from tests.loop_files import FEATURES, Loop


def layers(loop: Loop) -> list[str]:
    """The recurrent layers of the graph, whose values must be those of the layer's equations."""
    view, _ = import_tflite(loop.file(), "loop")
    x = numpy.random.default_rng(3).normal(size=(loop.steps, loop.batch, FEATURES)).astype(numpy.float32)
    (found,) = (cpu.run(view, {"x": x})[name] for name in view.outputs)
    numpy.testing.assert_allclose(found, loop.expected(x), atol=2e-6)
    return [node.type for node in view.nodes if isinstance(node.operator, Recurrent)]


@pytest.mark.parametrize("tensor_list", (False, True))
@pytest.mark.parametrize("sequences", (True, False))
@pytest.mark.parametrize("kind", ("LSTM", "GRU", "GRU before", "RNN"))
def test_a_loop_over_rows_whose_body_is_a_cell_is_one_recurrent_layer(kind, sequences, tensor_list):
    assert layers(Loop(kind, sequences, tensor_list=tensor_list)) == [kind.split()[0]]


@pytest.mark.parametrize("kind", ("LSTM", "GRU"))
def test_so_are_loops_of_several_sequences_at_once_and_of_many_steps(kind):
    assert layers(Loop(kind, batch=2)) == layers(Loop(kind, steps=600)) == [kind]


@pytest.mark.parametrize("tensor_list", (False, True))
@pytest.mark.parametrize("sequences", (True, False))
@pytest.mark.parametrize("oddity", ("scaled", "counts"))
@pytest.mark.parametrize("kind", ("LSTM", "GRU", "RNN"))
def test_steps_that_are_no_cell_or_that_depend_on_their_number_are_written_out(kind, oddity, sequences, tensor_list):
    assert layers(Loop(kind, sequences, oddity, tensor_list=tensor_list)) == []


def test_a_loop_that_data_end_is_refused():
    with pytest.raises(AidgeError, match=r"node 0 \(WHILE\): how often it runs depends on data"):
        import_tflite(Loop("RNN", False, "data decide").file(), "loop")


def test_a_loop_that_is_too_long_to_be_written_out_is_refused():
    with pytest.raises(AidgeError, match=r"2,000 steps of 9 operators would be 18,000; the limit is 10,000"):
        import_tflite(Loop("RNN", False, "scaled", steps=2_000).file(), "loop")
