# SPDX-License-Identifier: MIT
"""The files of a package: generated C, its self-test, and the files from the target's templates."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.base.naming import comment_text
from aidge_build.base.render import render, render_parts
from aidge_build.base.version import VERSION
from aidge_build.boards.cores import known_features
from aidge_build.build.compile import build_program
from aidge_build.build.emit import emit
from aidge_build.build.emit.origins import LICENCE
from aidge_build.build.emit.ports import Port, ports_of
from aidge_build.build.request import CompileRequest
from aidge_build.measure.packages.archive import zip_of
from aidge_build.measure.packages.core_guard import condition_of, core_of
from aidge_build.measure.packages.publication import Publication
from aidge_build.measure.packages.self_test import self_test_of
from aidge_build.measure.packages.target import GUIDE, Target
from aidge_build.plan.program import Program
from aidge_build.run.verify.calling import calling_of
from aidge_build.run.verify.vectors import input_conversions

SCHEMA = 1


@dataclass(frozen=True)
class Package:
    """`name` is the name of the folder, or of the one file that `files` then holds; `manifest` is the manifest of the model,
    N.plan.json."""

    name: str
    files: Mapping[str, bytes]
    is_archive: bool
    manifest: dict
    conversions: tuple[str, ...] = ()  # lines about stored inputs of another scale


def package_name(model: str) -> str:
    """The name of a model's package, which is no word of any language, tool or operating system, and lower case."""
    return f"model_{model.lower()}"


def list_path(target: Target, model: str) -> str:
    """Returns the path of the file in a package that lists its files, so that a newer package may replace them."""
    return _in(target.plan, f"{package_name(model)}.json")


def make_package(
    request: CompileRequest,
    target: Target,
    publication: Publication = Publication(),
    vectors: Mapping[str, numpy.ndarray] | None = None,
) -> Package:
    """Returns the package of a model for a target. `vectors` are arrays x, or x_<input>, for its self-test: seeded ones without
    them.

    Pure, as `compile` is. AidgeError if the target does not support the request.
    """
    _require_suitable(request, target)
    program = build_program(request)
    if program.language not in target.languages:
        raise AidgeError(
            f"a package for {target.name} cannot hold {program.language.upper()}, which a library of kernels brings",
            where="--lib",
            code="USAGE",
            hint="name libraries in C, or make the package plain",
        )
    try:
        values = _values(request, program, target, publication, vectors)
    except AidgeError as error:
        raise error.within(request.file_name)
    converted = tuple(input_conversions(vectors or {}, program.view))
    sources = emit(program)
    files = {
        _in(target.plan if path.endswith(".plan.json") else target.sources, path): data for path, data in sources.files.items()
    }
    values["licence"] = " AND ".join(_licences(files))
    files |= _rendered(target, values)
    files[list_path(target, program.name)] = _list_of(program, target, publication, files)
    if target.archive:
        top = render(target.top, **values)
        name = render(target.archive, **values)
        content = {name: zip_of({_in(top, path): data for path, data in files.items()})}
        return Package(name, content, True, sources.manifest, converted)
    return Package(package_name(program.name), dict(sorted(files.items())), False, sources.manifest, converted)


def _require_suitable(request: CompileRequest, target: Target) -> None:
    if request.name.lower() in target.hidden:
        raise AidgeError(
            f"{request.name}.h would hide a header of the ecosystem",
            where=f"--for {target.name}",
            code="NAME",
            hint=f"choose another name, such as --name my_{request.name[:30]}",
        )
    for key, wanted in sorted({"weights": "c", **target.only}.items()):
        if getattr(request.options, key) != wanted:
            option = key.replace("_", "-")
            raise AidgeError(
                f"such a package is made with --{option} {wanted}",
                where=f"--for {target.name}",
                code="USAGE",
                hint=f"leave out --{option}, or make the package plain",
            )


def _rendered(target: Target, values: dict) -> dict[str, bytes]:
    name = values["name"]
    wanted = {
        _in(target.sources, f"{name}_self_test.h"): "self_test.h",
        _in(target.sources, f"{name}_self_test.c"): "self_test.c",
        "LICENSE": "LICENSE",
        "README.md": "README.md",
        **target.files,
    }
    try:
        return {render(path, **values): render_parts(target.read, template, values).encode() for path, template in wanted.items()}
    except AidgeError as error:
        error.hint = GUIDE  # not the hint about templates of kernel libraries
        raise error.within(f"packages/{target.name}")


def _values(
    request: CompileRequest,
    program: Program,
    target: Target,
    publication: Publication,
    vectors: Mapping[str, numpy.ndarray] | None,
) -> dict:
    """Returns the values that templates use."""
    ports = ports_of(program)
    core = core_of(program)
    condition = condition_of(request)
    return {
        "name": program.name,
        "package": package_name(program.name),
        "prefix": program.name.upper(),
        "target": target,
        "publication": publication,
        "tool_version": VERSION,
        "code": [program.code_file, f"{program.name}_weights.c", f"{program.name}_self_test.c"],
        "headers": [f"{program.name}.h", f"{program.name}_self_test.h"],
        "core": core if condition else "",
        "condition": condition,
        "features": sorted(request.target.features.intersection(known_features())),
        "call": calling_of(program),
        "has_state": program.memory.states.size_bytes > 0,
        "inputs": [_described(port, program.name.upper()) for port in ports if port.is_input],
        "outputs": [_described(port, program.name.upper()) for port in ports if not port.is_input],
        "arena_bytes": program.memory.arena.peak_bytes,
        "test": self_test_of(program, vectors),
        "seeded": vectors is None,
    }


def _described(port: Port, prefix: str) -> dict:
    tensor = port.tensor
    known = tensor.quantization if tensor.quantization is not None and tensor.quantization.per_tensor else None
    real = f", real value = (element - ({known.zero_point})) * {known.scale:.9g}" if known else ""
    return {
        "title": _harmless(tensor.name),
        "text": f"{'x'.join(map(str, tensor.dims)) or 'one'} {tensor.dtype.name}{real}",
        "c_type": tensor.dtype.c_type,
        "elements": max(1, tensor.elements),
        "macro": port.macro,
        "word": port.macro[len(prefix) + 1 :],
        "parameter": port.parameter,
        "scale": (str(numpy.float32(known.scale)), int(known.zero_point)) if known else None,
    }


def _harmless(name: str) -> str:
    """Returns the name of a tensor, escaped for a comment of C or Rust, or a page of Markdown."""
    return re.sub(r"[<>&`\[\]|$]", lambda match: f"\\u{ord(match[0]):04x}", comment_text(name))


def _licences(files: Mapping[str, bytes]) -> list[str]:
    """Returns the licences that generated files name, each once."""
    return sorted({match.decode() for data in files.values() for match in LICENCE.findall(data)})


def _list_of(program: Program, target: Target, publication: Publication, files: Mapping[str, bytes]) -> bytes:
    content = {
        "schema": SCHEMA,
        "tool": VERSION,
        "model": program.name,
        "model_sha256": program.model_sha256,
        "target": target.name,
        "release": publication.release,
        "core": core_of(program),
        "files": sorted(files),
    }
    return (json.dumps(content, indent=1, sort_keys=True) + "\n").encode()


def _in(folder: str, path: str) -> str:
    return f"{folder}/{path}" if folder else path
