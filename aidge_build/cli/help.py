# SPDX-License-Identifier: MIT
"""The help: a first page of at most 14 options in groups for each verb, and a page of all of them."""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Iterator, Sequence
from types import ModuleType

from aidge_build.base.options import FIRST_PAGE, TOPICS
from aidge_build.base.terminal import emphasized
from aidge_build.cli.groups import GROUPS
from aidge_build.cli.verbs import FIRST, FORMS, RARE, VERBS, forms_of, typed

PROGRAM = "aidge-build"
_NARROW, _WIDE = 60, 130  # columns of a page, whatever the terminal has
_HELP = ("-h", "--help")
_ALWAYS = {"--json", "-v", "-q", *_HELP}  # of every verb: a line, not an option of the page
_EXIT_CODES = "Exit codes: 0 ok, 1 a check failed, 2 bad input or usage, 3 something is missing on this machine."


def asked(words: Sequence[str]) -> tuple[bool, bool]:
    """Whether a command line asks for help, and whether for all of it: `--help all`. Words after `--` ask for nothing."""
    ours = list(words[: words.index("--")] if "--" in words else words)
    places = [index for index, word in enumerate(ours) if word in _HELP]
    return bool(places), any(ours[index + 1 : index + 2] == ["all"] for index in places)


def overview(in_full: bool) -> list[str]:
    """The verbs in groups; `in_full`: the rare ones, too, and other names of forms."""
    verbs = VERBS if in_full else FIRST
    width = max(map(len, verbs))
    lines = [f"usage: {PROGRAM} VERB ...", "", "Put a neural network into firmware."]
    for group in GROUPS:
        lines += ["", emphasized(group)]
        lines += [f"  {name:<{width}}  {verb.summary}" for name, verb in verbs.items() if verb.group == group]
    if in_full:
        lines += ["", emphasized("Forms of verbs, and the names that they have alone"), *_forms()]
    more = [] if in_full else [f"{PROGRAM} --help all: {len(RARE)} more verbs, and the forms of these"]
    pages = "docs/index.md: the documentation"
    return [*lines, "", f"{PROGRAM} VERB --help: the most used options of a verb, and examples", *more, pages, _EXIT_CODES]


def _forms() -> Iterator[str]:
    left, middle = max(len(typed(form.module)) for form in FORMS), max(len(form.alias) for form in FORMS)
    for form in FORMS:
        yield f"  {typed(form.module):<{left}}  {form.alias:<{middle}}  {form.summary}"


def verb_page(parser: argparse.ArgumentParser, name: str, module: ModuleType, in_full: bool) -> list[str]:
    """The help of a verb or form: usage, words, options by what they are about, forms, examples."""
    width = min(_WIDE, max(_NARROW, shutil.get_terminal_size().columns))
    formatter = argparse.RawDescriptionHelpFormatter(parser.prog, max_help_position=24, width=width)
    required = [action for action in parser._actions if action.required or not action.option_strings]
    formatter.add_usage(None, required, [])
    formatter.add_text(parser.description)
    left_out = 0
    for group in parser._action_groups:
        options = [action for action in group._group_actions if not _is_of_every_verb(action)]
        shown = [action for action in options if in_full or _is_first(action, group.title, module)]
        left_out += len(options) - len(shown)
        formatter.start_section("words" if group.title == "positional arguments" else group.title)
        formatter.add_arguments(shown)
        formatter.end_section()
    usage, _, rest = formatter.format_help().rstrip().partition("\n\n")
    more = [f"{left_out} more: {parser.prog} --help all"] if left_out else []
    always = "--json prints one JSON object, -q nothing where all is well, -v the stages of the work (on stderr)."
    return [
        *f"{usage} [OPTION ...]\n\n{rest}".split("\n"),
        "",
        *_forms_of(name),
        *(parser.epilog or "").split("\n"),
        "",
        *more,
        always,
    ]


def _is_of_every_verb(action: argparse.Action) -> bool:
    return bool(action.option_strings) and _ALWAYS.issuperset(action.option_strings)


def _is_first(action: argparse.Action, title: str | None, module: ModuleType) -> bool:
    """Whether the first page shows it: words, what must be given, and what the verb's COMMON or else the table says."""
    if not action.option_strings or action.required:
        return True
    names = {option.lstrip("-") for option in action.option_strings}
    common = getattr(module, "COMMON", None)
    return bool(names & set(FIRST_PAGE if common is None else common)) or (common is None and title not in TOPICS)


def _forms_of(name: str) -> Iterator[str]:
    forms = forms_of(name)
    if not forms:
        return
    yield f"forms ({PROGRAM} {typed(forms[0].module)} --help):"
    width = max(len(form.selector) for form in forms)
    yield from (f"  {form.selector:<{width}}  {form.summary}" for form in forms)
    yield ""
