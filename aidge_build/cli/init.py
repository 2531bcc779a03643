# SPDX-License-Identifier: MIT
"""The verb `init`: how a model gets into the firmware of this folder. It changes nothing."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Iterator
from pathlib import Path

from aidge_build.base.errors import AidgeError
from aidge_build.base.naming import model_name_of
from aidge_build.base.reading import LARGEST_TEXT_BYTES, read_regular
from aidge_build.cli.foreign_cmake import cmake_files_below
from aidge_build.cli.foreign_projects import FILES, Advice, Step, advice_for, named
from aidge_build.cli.outcome import Outcome
from aidge_build.sources.formats import suffixes

EXAMPLES = (
    ("new --existing models/kws.onnx", "in the folder of your SConstruct, CMakeLists.txt, Makefile, platformio.ini, ..."),
    ("new --existing models/kws.onnx --folder ../firmware", "of another folder"),
)
_MOST_MODELS = 5  # that a refusal names


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "model", metavar="MODEL", help="file of the model: its path from the folder of the firmware, or from this folder"
    )
    parser.add_argument(
        "--folder", type=Path, default=Path("."), metavar="DIR", help="folder of the firmware (default: this folder)"
    )
    parser.add_argument("--name", help="name of the model in C (default: the name of its file)")


def run(arguments: argparse.Namespace) -> Outcome:
    name, model = arguments.name or model_name_of(Path(arguments.model)), _from_folder(arguments.folder, arguments.model)
    if re.search(r"[\s\"'$;#\\]", model) or not re.fullmatch(r"[A-Za-z]\w*", name, re.ASCII):
        raise AidgeError(
            "this path does not fit into every build file",
            where=model,
            code="USAGE",
            hint="rename it to letters, digits, / . - and _; --name NAME is its name in C",
        )
    files = {
        file: read_regular(arguments.folder / file, LARGEST_TEXT_BYTES).decode("utf-8", "replace")
        for file in FILES
        if (arguments.folder / file).is_file()
    }
    if "CMakeLists.txt" in files:
        files |= cmake_files_below(arguments.folder)
    advice = advice_for(files, name, model)
    if advice is None:
        raise AidgeError(
            "this folder has no build file that is supported",
            where=str(arguments.folder),
            tried=list(FILES),
            code="USAGE",
            hint="aidge-build new makes a project; for any other build: "
            f"aidge-build compile {model}{named(name, model)} --out generated",
        )
    _require_model(arguments.folder, model)
    return Outcome(_lines(advice, files, name), _as_json(advice))


def _from_folder(folder: Path, model: str) -> str:
    """The path of the model from the folder of the firmware; a model that only this folder has is named by its path from here."""
    is_here = Path(model).is_file() and not (folder / model).is_file()
    return Path(os.path.relpath(model, folder)).as_posix() if is_here else model


def _require_model(folder: Path, model: str) -> None:
    """AidgeError (INPUT) where the folder has no such file, with the models that it has."""
    if (folder / model).is_file():
        return
    raise AidgeError(
        "there is no such file" + (f" in {folder}" if folder != Path(".") else ""),
        where=model,
        tried=sorted(_models_in(folder))[:_MOST_MODELS],
        hint="name the model by its path from the folder of the firmware",
        code="INPUT",
    )


def _models_in(folder: Path) -> Iterator[str]:
    """The models in a folder and in the folders there, by their paths from it."""
    found = (*folder.glob("*"), *folder.glob("*/*"))
    yield from (path.relative_to(folder).as_posix() for path in found if path.suffix in suffixes() and path.is_file())


def _lines(advice: Advice, files: dict[str, str], name: str) -> list[str]:
    seen = ", ".join(file for file in files if file in FILES)
    said = f"Nothing was changed; this puts the model into it ({advice.page} says more):"
    if advice.is_done:
        said = f"It has the lines of {name} already ({advice.page} says more)."
    found = [f"{advice.build} ({seen}). {said}", ""]
    for source, target in advice.copies:
        found += [f"copy {source}", f"  to {target}", ""]
    for step in advice.steps:
        found += [f"{_place(step)}: {step.about}", *(f"    {line.expandtabs()}" for line in step.lines), ""]
    call = f"{name}_run(inputs, outputs)"
    found += ["in your C:", f'    #include "{name}.h"', f"    if ({call} != 0) {{ ... }}", ""]
    return [
        *found,
        "also: -O2 for the model in a Debug build (docs/howto-add.md); its arena in CCM or DTCM (docs/howto-fast-memory.md)",
    ]


def _place(step: Step) -> str:
    if not step.file:
        return "type"
    if step.replaced:
        last = step.after + step.replaced
        lines = f"line {last}" if step.replaced == 1 else f"lines {step.after + 1} to {last}"
        return f"{step.file}, instead of {lines}"
    if step.after is None:
        return f"{step.file}, at the end"
    return f"{step.file}, after line {step.after}" if step.after else step.file


def _as_json(advice: Advice) -> dict:
    return {
        "build": advice.build,
        "page": advice.page,
        "copies": [{"from": source, "to": target} for source, target in advice.copies],
        "steps": [
            {"file": step.file, "after": step.after, "replaced": step.replaced, "lines": list(step.lines), "about": step.about}
            for step in advice.steps
        ],
    }
