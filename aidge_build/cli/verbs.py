# SPDX-License-Identifier: MIT
"""The verbs: the first page of the help, rarer verbs, and the forms of verbs, which once were verbs of their own."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType

from aidge_build.cli.groups import BEGIN, BOARD, BUILD, PROVE, UNDERSTAND


@dataclass(frozen=True)
class Verb:
    """The group and the summary of a verb on the page of help; the summary needs no import of the verb's module."""

    group: str
    summary: str


# Each verb is a module of this package with EXAMPLES, add_arguments(parser) and run(arguments) -> Outcome.
# A module that leaves options out of its first page of help names the options that it shows: COMMON.
FIRST = {
    "new": Verb(BEGIN, "make a starter project that builds and runs at once"),
    "fit": Verb(BEGIN, "show the boards that a model fits, what is missing on the others, and its speed"),
    "doctor": Verb(BEGIN, "list versions, and what this machine lacks"),
    "compile": Verb(BUILD, "generate the C of a model"),
    "quantize": Verb(BUILD, "quantize a float model by samples of its inputs"),
    "package": Verb(BUILD, "write a model as a library of an ecosystem: Arduino, Rust, Zephyr, ..."),
    "weights": Verb(BUILD, "make new weights for firmware in the field, and prove that they fit"),
    "explain": Verb(UNDERSTAND, "show the kernel of each node, and why"),
    "report": Verb(UNDERSTAND, "show where the bytes of a linked program are"),
    "check": Verb(PROVE, "prove the memory use of a linked program"),
    "verify": Verb(PROVE, "compare the generated C with numpy, value by value: generate, compile, run"),
    "run": Verb(PROVE, "run a linked program, emulated on the board's memory map or on the board"),
    "accuracy": Verb(PROVE, "measure how often a model is right: float, quantized, and on the emulated board"),
    "bench": Verb(PROVE, "measure time, instructions and bytes of a folder of models on emulated boards"),
    "flash": Verb(BOARD, "put a checked program on the board, or debug it there"),
    "list": Verb(BOARD, "list boards, kernels, operators, models or options"),
}
RARE = {
    "frontend": Verb(BUILD, "put an audio or image front end before a model, and a decision after it"),
    "tune": Verb(UNDERSTAND, "measure every kernel at every layer, and write the table for --select cost"),
    "conformance": Verb(PROVE, "run the ONNX node cases as generated C"),
}
VERBS = {**FIRST, **RARE}


@dataclass(frozen=True)
class Form:
    """`aidge-build VERB SELECTOR ...`, which `aidge-build ALIAS ...` means, too. Its module is called as the alias."""

    alias: str
    verb: str
    selector: str
    summary: str

    @property
    def module(self) -> str:
        """The module of this package: the same attributes as of a verb."""
        return self.alias.replace("-", "_")


FORMS = (
    Form("init", "new", "--existing", "print the lines that put a model into the build of this folder"),
    Form("link-script", "new", "--link-script", "write the linker script of a board"),
    Form("sweep", "fit", "--sweep", "evaluate models x boards x options into one file and a page"),
    Form("completion", "doctor", "--completion", "print a script for shell completion of verbs, options and values"),
    Form("cmake-dir", "doctor", "--cmake-dir", "print the folder of the CMake package (cmake -Daidge_build_DIR=...)"),
    Form("export", "package", "--standalone", "write a model as a folder of C with a main program"),
    Form("plan", "explain", "--plan", "show the memory plan of a model, or of a problem file of the planner"),
    Form(
        "explain-link", "explain", "--link", "explain a failed link: too little memory, other headers or flags, undefined names"
    ),
    Form("serial-handler", "verify", "--serial-handler", "write the C file with which firmware answers verify --serial"),
    Form("gdb-script", "doctor", "--gdb-script", "print the file that makes gdb show and compare tensors (gdb -x FILE)"),
    Form("sbom", "report", "--sbom", "write a software bill of materials: models, generated code, kernels, licences, digests"),
    Form(
        "sensitivity",
        "accuracy",
        "--layers",
        "find layers that cost accuracy in int8, and the cheapest mix of types that keeps it",
    ),
    Form("calibrate", "bench", "--calibrate", "count cycles on a board, next to the estimate, in a file to send in"),
    Form("boards", "list", "boards", "list boards, or write a board file from a CMSIS pack or a devicetree"),
    Form("kernels", "list", "kernels", "list the kernel libraries and their kernels"),
    Form("ops", "list", "operators", "list operators with their backends and types, or show the manual of one"),
    Form("zoo", "list", "zoo", "list the models that come with the tool, or show the card of one"),
    Form("options", "list", "options", "list options with their names in SCons and CMake"),
)
MODULES = (*VERBS, *(form.module for form in FORMS))
_FORM_OF = {form.module: form for form in FORMS}
_FORM_CALLED = {form.alias: form for form in FORMS}


def module_of(name: str) -> ModuleType:
    """The module: EXAMPLES (words without the program, what they do), add_arguments and run."""
    return importlib.import_module(f"aidge_build.cli.{name}")


def summary_of(module: str) -> str:
    """Returns a line that says what a verb or a form does."""
    return (_FORM_OF.get(module) or VERBS[module]).summary


def typed(module: str) -> str:
    """The first words of a command line that runs this module: `compile`, `explain --plan`."""
    form = _FORM_OF.get(module)
    return f"{form.verb} {form.selector}" if form else module


def forms_of(verb: str) -> list[Form]:
    """The forms of a verb, in the order of the help."""
    return [form for form in FORMS if form.verb == verb]


def chosen(words: Sequence[str]) -> tuple[str, list[str]] | None:
    """The module that a command line means, and the words that are left for it; None where there is no such verb.

    The selector of a form may be anywhere before `--`; a word as selector is the first one that is no option.
    """
    first, *rest = words
    if first in _FORM_CALLED:
        return _FORM_CALLED[first].module, rest
    if first not in VERBS:
        return None
    end = rest.index("--") if "--" in rest else len(rest)
    named = next((word for word in rest[:end] if not word.startswith("-")), "")
    for form in forms_of(first):
        if form.selector == named or (form.selector.startswith("-") and form.selector in rest[:end]):
            rest.remove(form.selector)
            return form.module, rest
    return first, rest
