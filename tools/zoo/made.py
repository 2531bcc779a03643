# SPDX-License-Identifier: MIT
"""A trained model as its module hands it over, stored samples, and the scripts of other examples."""

from __future__ import annotations

import importlib
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import numpy

from aidge_build.base.installed import zoo_folder

EXAMPLES = zoo_folder().parent
Arrays = dict[str, numpy.ndarray]  # of an NPZ file, as `aidge-build accuracy` reads it


@dataclass(frozen=True)
class Made:
    """The file of a model, and its file in float32 before it was quantized. A model that computes in float32 itself has no such
    file; `trial` is the same model in int8, which is measured and not kept."""

    model: bytes
    floating: bytes | None = None
    trial: bytes | None = None


def run_script(example: str, *words: str) -> list[bytes]:
    """The files that a script of an example writes; words that begin with @ are the names of these files."""
    with tempfile.TemporaryDirectory() as name:
        files = [Path(name, word[1:]) for word in words if word.startswith("@")]
        given = [str(Path(name, word[1:])) if word.startswith("@") else word for word in words]
        subprocess.run([sys.executable, "-B", *given], cwd=EXAMPLES / example, stdout=sys.stderr, check=True)
        return [file.read_bytes() for file in files]


def module_of(example: str, name: str) -> ModuleType:
    """A module of an example."""
    sys.path.insert(0, str(EXAMPLES / example))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.pop(0)


def stored(real: numpy.ndarray, step: float, dtype: type[numpy.signedinteger]) -> Arrays:
    """Samples as integers in steps of a sensor. Values between the steps are a fault of the caller."""
    values = numpy.rint(real / step)
    limits = numpy.iinfo(dtype)
    assert (values * step == real).all() and limits.min <= values.min() <= values.max() <= limits.max
    return {"x": values.astype(dtype), "x_scale": numpy.float32(step)}
