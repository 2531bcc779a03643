# SPDX-License-Identifier: MIT
"""Completion of the command line: what the parsers of the verbs say, as a script for a shell."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from dataclasses import dataclass

from aidge_build.boards import list_boards
from aidge_build.cli.help import PROGRAM
from aidge_build.cli.parsing import verb_parser
from aidge_build.cli.verbs import VERBS, forms_of

_MEANT_ONCE = ("-h", "--help")


@dataclass(frozen=True)
class Flag:
    """An option of a verb: `values` are all that it takes, () where it takes anything, None where it takes nothing."""

    names: tuple[str, ...]
    about: str
    values: tuple[str, ...] | None


@dataclass(frozen=True)
class Verb:
    """A verb with its options; `words` are what its other words may be, () for files."""

    word: str
    about: str
    flags: tuple[Flag, ...]
    words: tuple[str, ...] = ()


def verbs_of() -> list[Verb]:
    """What there is to complete: each verb with the selectors of its forms, and with the options and words of these."""
    return [_verb(name) for name in VERBS]


def _verb(name: str) -> Verb:
    boards = tuple(list_boards(()))
    selectors = [(form.selector, _plain(form.summary)) for form in forms_of(name)]
    flags: dict[tuple[str, ...], Flag] = {
        (word,): Flag((word,), about, None) for word, about in selectors if word.startswith("-")
    }
    words = [word for word, _ in selectors if not word.startswith("-")]
    for module in (name, *(form.module for form in forms_of(name))):
        for action in verb_parser(module)._actions:
            if action.option_strings:
                flag = Flag(tuple(action.option_strings), _plain(action.help or ""), _values(action, boards))
                flags.setdefault(flag.names, flag)
            else:
                words += map(str, boards if action.metavar == "BOARD" else action.choices or ())
    return Verb(name, _plain(VERBS[name].summary), tuple(flags.values()), tuple(words))


def _values(action: argparse.Action, boards: tuple[str, ...]) -> tuple[str, ...] | None:
    if action.nargs == 0:
        return None
    if action.choices is not None:
        return tuple(map(str, action.choices))
    return boards if action.dest in ("board", "boards") else ()


def _plain(text: str) -> str:
    """The first part of a help text, with nothing in it that a shell would read."""
    return re.sub(r"[^\w ,.+/=-]", "", re.split(r"[:;(]", text, maxsplit=1)[0]).strip()


def bash(verbs: Sequence[Verb]) -> str:
    """For bash 4 and newer; `--option=value` is three words there."""
    cases = []
    for verb in verbs:
        names = " ".join(name for flag in verb.flags for name in flag.names)
        cases.append(f'  {verb.word}) options="{names}"; words="{" ".join(verb.words)}" ;;')
    values = [
        f'  {"|".join(f"{verb.word}:{name}" for name in flag.names)}) values="{" ".join(flag.values)}" ;;'
        for verb in verbs
        for flag in verb.flags
        if flag.values
    ]
    return "\n".join(
        [
            f'# bash: eval "$({PROGRAM} completion bash)", in ~/.bashrc say',
            "_aidge_build() {",
            '  local current="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" verb="${COMP_WORDS[1]}"',
            '  local options="" words="" values=""',
            '  if [ "$COMP_CWORD" -eq 1 ]; then',
            f'    COMPREPLY=($(compgen -W "{" ".join(verb.word for verb in verbs)} --help --version" -- "$current"))',
            "    return",
            "  fi",
            '  if [ "$current" = "=" ]; then current=""; elif [ "$before" = "=" ]; then before="${COMP_WORDS[COMP_CWORD-2]}"; fi',
            '  case "$verb" in',
            *cases,
            "  esac",
            '  case "$verb:$before" in',
            *values,
            "  esac",
            '  if [ -n "$values" ]; then words="$values"; elif [[ "$current" == -* ]]; then words="$options"; fi',
            '  COMPREPLY=($(compgen -W "$words" -- "$current"))',
            "}",
            f"complete -o default -F _aidge_build {PROGRAM}",
        ]
    )


def zsh(verbs: Sequence[Verb]) -> str:
    """For zsh: a function of its completion system."""
    lines = [
        f"#compdef {PROGRAM}",
        f'# zsh: eval "$({PROGRAM} completion zsh)" behind compinit, in ~/.zshrc say',
        "_aidge_build() {",
        "  if (( CURRENT == 2 )); then",
        "    local -a verbs=(",
        *(f"      '{verb.word}:{verb.about}'" for verb in verbs),
        "    )",
        "    _describe verb verbs",
        "    return",
        "  fi",
        "  local verb=$words[2]",
        "  shift words; (( CURRENT-- ))",
        "  case $verb in",
    ]
    for verb in verbs:
        lines.append(f"  {verb.word}) _arguments -s \\")
        for flag in verb.flags:
            for name in flag.names:
                equals = "=" if name.startswith("--") and flag.values is not None else ""
                value = "" if flag.values is None else f":value:({' '.join(flag.values)})" if flag.values else ":value:_files"
                repeated = "" if name in _MEANT_ONCE else "*"
                lines.append(f"    '{repeated}{name}{equals}[{flag.about}]{value}' \\")
        lines.append(f"    '*:word:{'(' + ' '.join(verb.words) + ')' if verb.words else '_files'}' ;;")
    return "\n".join([*lines, "  esac", "}", f"compdef _aidge_build {PROGRAM}"])


def fish(verbs: Sequence[Verb]) -> str:
    """For fish: a line for each option of each verb."""
    lines = [f"# fish: {PROGRAM} completion fish | source, in ~/.config/fish/config.fish say"]
    for verb in verbs:
        lines.append(f"complete -c {PROGRAM} -n __fish_use_subcommand -f -a {verb.word} -d '{verb.about}'")
        when = f"complete -c {PROGRAM} -n '__fish_seen_subcommand_from {verb.word}'"
        if verb.words:
            lines.append(f"{when} -f -a '{' '.join(verb.words)}'")
        for flag in verb.flags:
            names = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in flag.names)
            value = "" if flag.values is None else f" -x -a '{' '.join(flag.values)}'" if flag.values else " -r"
            lines.append(f"{when} {names}{value} -d '{flag.about}'")
    return "\n".join(lines)


SHELLS = {"bash": bash, "zsh": zsh, "fish": fish}
