# SPDX-License-Identifier: MIT
"""Names the real format of a file that is not the model that was wanted."""

from __future__ import annotations

from aidge_build.base.errors import AidgeError
from aidge_build.sources.formats import format_of
from aidge_build.sources.source_format import a_model

# The converter's command, by what the file is.
_FROM_KERAS = "python -m tf2onnx.convert --opset 17 --keras model.h5 --output model.onnx"
_FROM_TORCH = (
    "export it in the program that defines the network, here called net.Net: "
    "python -c \"import net, torch; m = net.Net(); m.load_state_dict(torch.load('model.pt', weights_only=True)); "
    "torch.onnx.export(m.eval(), torch.zeros(1, 3, 32, 32), 'model.onnx')\" with your own input size; "
    "a .pt file that holds a whole network runs code when it is loaded: load only your own"
)
_FROM_PROGRAM = (
    "name the model first; `aidge-build check FILE`, `report FILE` and `run FILE --board B` read programs, and "
    "`verify MODEL --against FILE` compares a model with one"
)

TAIL_BYTES = 1 << 16  # in which a zip archive lists its files


def refuse_other_files(data: bytes, tail: bytes, wanted: str) -> None:
    """Refuses a file that is known not to have the format with the title `wanted`, and names its real type.

    `data` are at least its first `TAIL_BYTES`, `tail` as many of its last, or all of a smaller one.
    """
    found = _other_kind(data, tail, wanted)
    if found is not None:
        what, hint = found
        raise AidgeError(what, hint=hint, code="MODEL_FILE")


def _other_kind(data: bytes, tail: bytes, wanted: str) -> tuple[str, str] | None:
    start, model = data[:512], a_model(wanted)
    if not data:
        return f"the file is empty, not {model}", ""
    if start.startswith(b"version https://git-lfs.github.com/spec/"):
        return (
            "this is a Git LFS pointer, not the model itself",
            "run 'git lfs pull' in that checkout, or download the file itself",
        )
    if start.startswith(b"\x7fELF"):
        return f"this is a linked program or an object file (ELF), not {model}", _FROM_PROGRAM
    found = format_of(data)
    if not found.is_last and found.title != wanted:
        convert = f"; to quantize it: {found.to_onnx}" if found.to_onnx else ""
        hint = f"compile, explain and verify read it as it is{convert}"
        return f"this is {a_model(found.title)} ({found.suffix}), not {wanted}", hint
    if start.startswith(b"\x89HDF\r\n\x1a\n"):
        return f"this is an HDF5 file (a Keras .h5 model?), not {wanted}", _FROM_KERAS
    if start.startswith(b"PK\x03\x04"):
        return _kind_of_zip(data, tail, wanted)
    if start[:1] == b"\x80" and start[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05"):
        return f"this is a Python pickle (a PyTorch .pt file?), not {wanted}", _FROM_TORCH
    if start.startswith(b"ORTM") or start[4:8] == b"ORTM":
        return f"this is an onnxruntime .ort file, not {wanted}", "compile the .onnx file that it was made from"
    if start.startswith(b"\x1f\x8b"):
        return f"this is a gzip archive, not {wanted}", "unpack it first"
    if _is_text(start):
        return f"this is a text file, not {model}", ""
    return None


def _kind_of_zip(data: bytes, tail: bytes, wanted: str) -> tuple[str, str]:
    if b"data.pkl" in data[:4096] or b"data.pkl" in tail:
        return f"this is a PyTorch file (.pt), not {wanted}", _FROM_TORCH
    if b"model.weights.h5" in tail:
        return f"this is a Keras file (.keras), not {wanted}", _FROM_KERAS.replace("model.h5", "model.keras")
    return f"this is a zip archive, not {wanted}", "unpack it first"


def _is_text(start: bytes) -> bool:
    """Every ONNX model starts with a field tag; 0x08 (ir_version) and other control characters are no text."""
    try:
        text = start.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start < len(start) - 3:
            return False
        text = start[: error.start].decode("utf-8")
    return all(character >= " " or character in "\t\r\n\f" for character in text) and "\x7f" not in text
