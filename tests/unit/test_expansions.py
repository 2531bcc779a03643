# SPDX-License-Identifier: MIT
"""Operators that others take the place of: Einsum, Fourier transforms."""

from __future__ import annotations

import numpy
import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.contract.reference import cpu
from aidge_build.sources.formats.onnx import expansion
from aidge_build.sources.formats.onnx.expansions import spectra
from tests.models import graph, types

INT64 = numpy.int64


def values(view, seed: int = 2) -> tuple[dict[str, numpy.ndarray], numpy.ndarray]:
    random = numpy.random.default_rng(seed)
    inputs = {name: random.normal(size=view.tensor(name).dims).astype("f4") for name in view.inputs}
    return inputs, cpu.run(view, inputs)["y"]


@pytest.mark.parametrize(
    "equation, dims",
    [
        ("ij,jk->ik", [(2, 3), (3, 4)]),
        ("bij,bjk->bik", [(2, 3, 4), (2, 4, 5)]),
        ("bqhd,bkhd->bhqk", [(2, 3, 2, 4), (2, 5, 2, 4)]),
        ("...qd,...kd->...qk", [(2, 3, 4, 5), (3, 2, 5)]),
        ("i,j->ij", [(3,), (4,)]),
        ("ij->ji", [(3, 4)]),
        ("ijk->j", [(2, 3, 4)]),
        ("ij,ij", [(3, 4), (3, 4)]),
        ("ij,kj->k", [(3, 4), (2, 4)]),
        ("ab,bc,cd->ad", [(2, 3), (3, 4), (4, 5)]),
        ("b i, b j -> j i b", [(2, 3), (2, 4)]),
        ("...i->...", [(2, 3, 4)]),
        ("ji,j", [(3, 4), (3,)]),
    ],
)
def test_einsum_is_transpositions_and_matrix_products(equation, dims):
    names = [f"x{place}" for place in range(len(dims))]
    inputs = ", ".join(f"float[{','.join(map(str, size))}] {name}" for name, size in zip(names, dims))
    rank = numpy.einsum(equation.replace(" ", ""), *map(numpy.zeros, dims)).ndim
    result = f"float[{','.join('?' * rank)}] y" if rank else "float y"
    view = graph(f'y = Einsum<equation = "{equation}">({", ".join(names)})', inputs=inputs, outputs=result)
    given, found = values(view)
    wanted = numpy.einsum(equation.replace(" ", ""), *(given[name].astype(float) for name in names))
    assert "Einsum" not in types(view) and found.shape == wanted.shape and numpy.allclose(found, wanted, atol=1e-5)


@pytest.mark.parametrize(
    "equation, words",
    [("ii->i", "repeats an axis within an operand"), ("ij,jk->ik", "has 2 operands, the node 1"), ("ijk->i", "does not fit")],
)
def test_equations_that_are_none_are_refused(equation, words):
    with pytest.raises(AidgeError, match=words):
        graph(f'y = Einsum<equation = "{equation}">(x)', inputs="float[3,3] x", outputs="float[3] y")


@pytest.mark.parametrize("opset, words", [(17, "DFT<axis = 1{more}>(x, n)"), (20, "DFT<{more}>(x, n, axis)")])
@pytest.mark.parametrize("length", [7, 5, 8])
def test_a_fourier_transform_is_one_operator_on_rows(opset, words, length):
    constants = {"n": INT64(length), "axis": INT64(1)}
    constants = constants if opset == 20 else {"n": constants["n"]}
    for more, channels, wanted in (
        ("onesided = 1", 1, lambda x: numpy.fft.rfft(x[..., 0], length, axis=1)),
        ("inverse = 0", 2, lambda x: numpy.fft.fft(x[..., 0] + 1j * x[..., 1], length, axis=1)),
        ("inverse = 1", 1, lambda x: numpy.fft.ifft(x[..., 0], length, axis=1)),
        ("onesided = 1", 2, lambda x: numpy.fft.fft(x[..., 0] + 1j * x[..., 1], length, axis=1)[:, : length // 2 + 1]),
        ("inverse = 1", 2, lambda x: numpy.fft.ifft(x[..., 0] + 1j * x[..., 1], length, axis=1)),
    ):
        text = words.format(more=f", {more}" if "axis =" in words else more)
        view = graph(
            f"y = {text}", inputs=f"float[2,7,3,{channels}] x", outputs="float[?,?,?,2] y", constants=constants, opset=opset
        )
        given, found = values(view)
        expected = wanted(given["x"].astype(float))
        assert numpy.allclose(found[..., 0] + 1j * found[..., 1], expected, atol=1e-5)
        assert types(view).count("RealFourier" if channels == 1 else "ComplexFourier") == 1


@pytest.mark.parametrize("length", [1, 2, 7, 8])
def test_an_inverse_transform_of_one_side_gives_real_values(length):
    view = graph(
        "y = DFT<inverse = 1, onesided = 1>(x, n, axis)",
        inputs=f"float[2,{length // 2 + 1},2] x",
        outputs="float[?,?,1] y",
        constants={"n": INT64(length), "axis": INT64(1)},
        opset=20,
    )
    given, found = values(view)
    wanted = given["x"].astype(float)
    wanted = numpy.fft.irfft(wanted[..., 0] + 1j * wanted[..., 1], length, axis=1)
    assert found.shape == (2, length, 1)
    assert numpy.allclose(found[..., 0], wanted, atol=1e-5)


def test_windows_of_a_signal_are_transformed_by_one_operator():
    window = numpy.hanning(8).astype("f4")
    view = graph(
        "y = STFT(x, step, window)",
        inputs="float[2,30] x",
        outputs="float[?,?,?,2] y",
        constants={"step": INT64(3), "window": window},
    )
    given, found = values(view)
    frames = numpy.lib.stride_tricks.sliding_window_view(given["x"].astype(float), 8, axis=1)[:, ::3]
    expected = numpy.fft.rfft(frames * window, axis=2)
    assert types(view).count("RealFourier") == 1
    assert numpy.allclose(found[..., 0] + 1j * found[..., 1], expected, atol=1e-5)


def test_a_length_that_is_none_and_a_window_that_is_computed_are_refused():
    with pytest.raises(AidgeError, match="its length is 0"):
        graph("y = DFT(x, n)", inputs="float[1,7,1] x", outputs="float[?,?,2] y", constants={"n": INT64(0)})
    with pytest.raises(AidgeError, match="its window depends on data: 'window' is computed at run time from the input 'window'"):
        graph(
            "y = STFT(x, step, window)",
            inputs="float[1,30] x, float[8] window",
            outputs="float[?,?,?,2] y",
            constants={"step": INT64(3)},
        )


@pytest.mark.requirement("REGISTRY")
def test_two_functions_for_one_operator_are_refused(monkeypatch):
    monkeypatch.setattr(spectra, "also", expansion.expands("Einsum")(lambda draft: ()), raising=False)
    expansion.expansions.cache_clear()
    with pytest.raises(AidgeError, match="two expansions read the operator Einsum"):
        expansion.expansions()
    monkeypatch.undo()
    expansion.expansions.cache_clear()
