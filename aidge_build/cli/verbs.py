# SPDX-License-Identifier: MIT
"""The verbs: those of the first page of the help, rarer ones, and the forms of verbs, which once were verbs of their own."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType

# Each verb is a module of this package with SUMMARY, GROUP, EXAMPLES, add_arguments(parser) and run(arguments) -> Outcome.
# A module whose first page of help leaves options out names those that it shows: COMMON.
FIRST = (
    "new",
    "fit",
    "doctor",
    "compile",
    "quantize",
    "package",
    "weights",
    "explain",
    "report",
    "check",
    "verify",
    "run",
    "accuracy",
    "bench",
    "flash",
    "list",
)
RARE = ("frontend", "tune", "conformance")
VERBS = (*FIRST, *RARE)


@dataclass(frozen=True)
class Form:
    """`aidge-build VERB SELECTOR ...`, which `aidge-build ALIAS ...` means, too. Its module is called as the alias."""

    alias: str
    verb: str
    selector: str

    @property
    def module(self) -> str:
        """The module of this package: the same attributes as of a verb."""
        return self.alias.replace("-", "_")


FORMS = (
    Form("init", "new", "--existing"),
    Form("link-script", "new", "--link-script"),
    Form("sweep", "fit", "--sweep"),
    Form("completion", "doctor", "--completion"),
    Form("cmake-dir", "doctor", "--cmake-dir"),
    Form("export", "package", "--standalone"),
    Form("plan", "explain", "--plan"),
    Form("explain-link", "explain", "--link"),
    Form("sbom", "report", "--sbom"),
    Form("sensitivity", "accuracy", "--layers"),
    Form("calibrate", "bench", "--calibrate"),
    Form("boards", "list", "boards"),
    Form("kernels", "list", "kernels"),
    Form("ops", "list", "operators"),
    Form("options", "list", "options"),
)
MODULES = (*VERBS, *(form.module for form in FORMS))
_FORM_OF = {form.module: form for form in FORMS}
_FORM_CALLED = {form.alias: form for form in FORMS}


def module_of(name: str) -> ModuleType:
    """The module: SUMMARY, GROUP (of a verb), EXAMPLES (words without the program, what they do), add_arguments and run."""
    return importlib.import_module(f"aidge_build.cli.{name}")


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
