# SPDX-License-Identifier: MIT
"""The verb `completion`: the script that lets a shell complete verbs, options and their values. shtab writes it."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path

from aidge_build.base.terminal import Drawn
from aidge_build.boards import list_boards
from aidge_build.cli.help import PROGRAM
from aidge_build.cli.outcome import Outcome
from aidge_build.cli.parsing import verb_parser
from aidge_build.cli.verbs import VERBS, forms_of
from aidge_build.sources.formats import suffixes

EXAMPLES = (
    ("doctor --completion bash", 'in ~/.bashrc: eval "$(aidge-build doctor --completion bash)"'),
    ("doctor --completion zsh", 'in ~/.zshrc, after compinit: eval "$(aidge-build doctor --completion zsh)"'),
    ("doctor --completion fish", "in ~/.config/fish/config.fish: aidge-build doctor --completion fish | source"),
    (
        "doctor --completion tcsh",
        "in ~/.tcshrc: aidge-build doctor --completion tcsh > ~/.aidge-build.tcsh; source ~/.aidge-build.tcsh",
    ),
)
_FILES = ("ELF", "F", "FILE", "PLAN")  # in a help text; F.json is one file of a kind
# To bash, `--option=value` is three words, and to shtab two; a word without a completion of its own may be a file.
_BASH = """
_aidge_build() {
  local -a words=("${COMP_WORDS[0]}")
  local at=$COMP_CWORD index
  for (( index = 1; index < ${#COMP_WORDS[@]}; index++ )); do
    if [[ "${COMP_WORDS[index]}" != "=" || "${COMP_WORDS[index-1]}" != --* ]]; then words+=("${COMP_WORDS[index]}")
    elif (( index == COMP_CWORD )); then words+=("")
    elif (( index < COMP_CWORD )); then at=$((at - 1)); fi
  done
  local -a COMP_WORDS=("${words[@]}")
  local COMP_CWORD=$at
  _shtab_aidge_build
}
complete -o default -F _aidge_build aidge-build"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "fish", "tcsh"), metavar="SHELL", help="bash, zsh, fish or tcsh")


def run(arguments: argparse.Namespace) -> Outcome:
    text = completion_script(arguments.shell)
    return Outcome([Drawn(line) for line in text.split("\n")], {"shell": arguments.shell, "script": text})


def completion_script(shell: str) -> str:
    """The script of shtab, and what it lacks: `--option=value` in bash and zsh, and in zsh the third of several words."""
    import shtab

    script = shtab.complete(command_parser(), shell).rstrip("\n")
    if shell == "zsh":
        script = re.sub(r'^  "(--[\w-]+)(\[.*\]:)', r'  "\1=\2', script, flags=re.MULTILINE)
        script = re.sub(r'^  "\(\*\)::?', '  "*:', script, flags=re.MULTILINE)
    return script + _BASH if shell == "bash" else script


def command_parser() -> argparse.ArgumentParser:
    """All words of the command in one parser: a verb takes what its forms take, too; a form that is a word is a verb in it."""
    command = argparse.ArgumentParser(PROGRAM)
    command.add_argument("--version", action="store_true", help="print the version")
    verbs = command.add_subparsers()
    for name, verb in VERBS.items():
        forms = forms_of(name)
        words = [form for form in forms if not form.selector.startswith("-")]
        parser = verbs.add_parser(name, help=verb.summary, add_help=False)
        if words:
            inner = parser.add_subparsers()
            for form in words:
                _take(inner.add_parser(form.selector, help=form.summary, add_help=False), [form.module])
            continue
        for form in forms:
            parser.add_argument(form.selector, action="store_true", help=_brief(form.summary))
        _take(parser, [name, *(form.module for form in forms)])
    return command


def _take(parser: argparse.ArgumentParser, modules: Sequence[str]) -> None:
    """Adds the words of verbs or forms to a parser, each once."""
    taken: set[str] = set()
    for action in (action for module in modules for action in verb_parser(module)._actions):
        if taken.isdisjoint(action.option_strings or [action.dest]):
            taken.update(action.option_strings or [action.dest])
            parser._add_action(_completed(action))


def _completed(action: argparse.Action) -> argparse.Action:
    """The same word, with what completes its value: choices, boards, or files by the name of the value in the help text."""
    import shtab

    name = str(action.metavar)
    ending = re.fullmatch(r"[A-Z]+(\.[a-z]+)", name)
    files = None
    if name == "BOARD" or action.dest in ("board", "boards"):
        action.choices = list_boards(())
    elif name == "MODEL" or ending:
        files = shtab.glob(*(f"*{one}" for one in (ending.groups() if ending else suffixes())))
    elif name == "DIR":
        files = shtab.DIRECTORY
    elif name in _FILES or action.type is Path:
        files = shtab.FILE
    if files:
        action.complete = files  # type: ignore[attr-defined]
    action.help, action.metavar = _brief(action.help or ""), None
    return action


def _brief(text: str) -> str:
    return re.split(r"[:;(]", text, maxsplit=1)[0].rstrip()
