# SPDX-License-Identifier: MIT
"""One call from an ONNX file to the graph that `scheduler_export` and `adapt_to_backend` want."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

from aidge_build.base.errors import printable
from aidge_build.build.compile import import_model
from aidge_build.build.inputs import operators_of, read_model_file
from aidge_build.build.request import CompileRequest
from aidge_build.compat.export_lib import ExportLib
from aidge_build.compat.graph_handles import InheritedGraph
from aidge_build.compat.libraries import libraries_of
from aidge_build.contract.library import Library
from aidge_build.graph.view import GraphView
from aidge_build.prepare.adaptation.match import Target
from aidge_build.sources.dims import Bound


def load_onnx(
    path: str | os.PathLike,
    *,
    bind: Mapping[str, Bound] | None = None,
    libraries: type[ExportLib] | Library | str | Sequence = (),
    target: Target = Target(),
) -> GraphView:
    """The graph of an ONNX file, imported and simplified as `aidge-build compile` does it; it answers the inherited calls.

    `bind` gives numbers to symbolic dims. `libraries` are the libraries of the later export: their own operators are known, and
    the first library's meta-operators are found in the graph as the file holds it. A decision of the reader (a symbolic
    batch that becomes 1) is a warning; AidgeError names the file and the node that cannot be used.
    """
    model, external = read_model_file(Path(path))
    found = libraries_of(libraries)
    request = CompileRequest(
        Path(path).stem,
        model,
        os.fspath(path),
        found,
        operators_of(found),
        target,
        "any",
        external=external,
        bind=dict(bind or {}),
    )
    view, notices = import_model(request)
    for notice in notices:
        warnings.warn(printable(f"{os.fspath(path)}: {notice}", None), stacklevel=2)
    return InheritedGraph.seen_as(view)
