# SPDX-License-Identifier: MIT
"""External data: read from beside the model, never from anywhere else."""

from __future__ import annotations

import os

import numpy
import onnx
import pytest
from onnx import TensorProto

from aidge_build.base.errors import AidgeError
from aidge_build.operators import builtin_operators
from aidge_build.sources.formats.onnx.importer import import_onnx
from aidge_build.sources.onnx_format import external_locations, read_external
from tests.models import model
from tests.refusals import own_words


def _external(location, **more) -> bytes:
    """y = x + w with w stored at the location."""
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[4], data_location=TensorProto.EXTERNAL)
    for key, text in {"location": location, **more}.items():
        tensor.external_data.add(key=key, value=text)
    made = onnx.load_from_string(model("y = Add(x, w)", inputs="float[1,4] x", outputs="float[1,4] y"))
    made.graph.initializer.append(tensor)
    return made.SerializeToString()


def _refusal(data: bytes, external) -> str:
    with pytest.raises(AidgeError) as refused:
        import_onnx(data, "m.onnx", builtin_operators(), {}, external)
    return own_words(refused.value)


def test_external_data_is_read_from_beside_the_model(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "w.bin").write_bytes(b"\0" * 4 + numpy.array([1, 2, 3, 4], "<f4").tobytes())
    data = _external("data/w.bin", offset="4", length="16")
    assert external_locations(data) == ("data/w.bin",)
    external = read_external(tmp_path / "m.onnx", external_locations(data))
    view, _ = import_onnx(data, "m.onnx", builtin_operators(), {}, external)
    assert view.tensor("w").data.tolist() == [1, 2, 3, 4]


@pytest.mark.requirement("EXTERNAL", "G15")
@pytest.mark.parametrize(
    "location, message",
    [
        ("../secret", "the location leaves the model's folder"),
        ("a/../../secret", "the location leaves the model's folder"),
        ("/etc/passwd", "the location is an absolute path. Hint: locations are relative to the model's folder"),
        ("C:/secret", "the location is an absolute path. Hint: locations are relative to the model's folder"),
        ("..\\secret", "the location holds a backslash or NUL"),
        (".", "the location names no file"),
        ("folder", "it is not a regular file"),
        ("pipe", "it is not a regular file"),
        ("hard", "it is a hard link. Hint: copy the data file into the folder of the model file"),
        (
            "soft",
            "cannot be read (Too many levels of symbolic links). "
            "Hint: keep the data file in the folder of the model file, as a regular file, not a link",
        ),
        (
            "parent/secret",
            "cannot be read (Not a directory). "
            "Hint: keep the data file in the folder of the model file, as a regular file, not a link",
        ),
        (
            "missing",
            "cannot be read (No such file or directory). "
            "Hint: keep the data file in the folder of the model file, as a regular file, not a link",
        ),
    ],
)
def test_external_data_outside_the_folder_is_refused(tmp_path, location, message):
    folder = tmp_path / "model"
    (folder / "folder").mkdir(parents=True)
    (tmp_path / "secret").write_bytes(b"\0" * 16)
    os.mkfifo(folder / "pipe")
    os.link(tmp_path / "secret", folder / "hard")
    os.symlink(tmp_path / "secret", folder / "soft")
    os.symlink(tmp_path, folder / "parent")
    with pytest.raises(AidgeError) as refused:
        read_external(folder / "m.onnx", [location])
    assert own_words(refused.value) == f"external data '{location}': {message}"


@pytest.mark.parametrize(
    "more, message",
    [
        ({"offset": "-4"}, "external data 'w.bin': offset '-4' is not a count of bytes"),
        ({"offset": "8"}, "external data 'w.bin' has 16 bytes, the tensor is at 8 to 24"),
        ({"length": str(1 << 60)}, "external data 'w.bin': length 1152921504606846976, but dims and type want 16 bytes"),
        ({"__class__": "x"}, "external data: unknown or repeated key '__class__'"),
    ],
)
def test_external_data_that_lies_is_refused(more, message):
    found = _refusal(_external("w.bin", **more), {"w.bin": b"\0" * 16})
    assert found == f"m.onnx: initialiser 'w': {message}"


@pytest.mark.requirement("EXTERNAL")
def test_external_data_that_was_not_read_is_named():
    assert _refusal(_external("w.bin"), {}) == (
        "m.onnx: initialiser 'w': external data 'w.bin' is missing. Hint: keep the data file in the folder of the model file"
    )
