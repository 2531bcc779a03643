# SPDX-License-Identifier: MIT
"""The verb `list`: what is supported. Each list is a form of this verb with options of its own (`cli/verbs.py`)."""

from __future__ import annotations

import argparse

from aidge_build.base.errors import AidgeError
from aidge_build.cli.outcome import Outcome
from aidge_build.cli.verbs import forms_of

EXAMPLES = (
    ("list boards f407", "the boards with this word in name or title"),
    ("list operators Conv", "the manual of an operator"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", nargs="?", metavar="WHAT", help="boards, kernels, operators, zoo or options")


def run(arguments: argparse.Namespace) -> Outcome:
    what = f"there is no list of '{arguments.what}'" if arguments.what else "the following arguments are required: WHAT"
    raise AidgeError(what, where="list", hint=", ".join(form.selector for form in forms_of("list")), code="USAGE")
