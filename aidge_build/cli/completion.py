# SPDX-License-Identifier: MIT
"""The verb `completion`: the script that lets a shell complete verbs, options and their values."""

from __future__ import annotations

import argparse

from aidge_build.base.terminal import Drawn
from aidge_build.cli.outcome import Outcome

EXAMPLES = (
    ("doctor --completion bash", 'in ~/.bashrc: eval "$(aidge-build doctor --completion bash)"'),
    ("doctor --completion zsh", 'in ~/.zshrc, after compinit: eval "$(aidge-build doctor --completion zsh)"'),
    ("doctor --completion fish", "in ~/.config/fish/config.fish: aidge-build doctor --completion fish | source"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), metavar="SHELL", help="bash, zsh or fish")


def run(arguments: argparse.Namespace) -> Outcome:
    from aidge_build.cli.shells import SHELLS, verbs_of

    text = SHELLS[arguments.shell](verbs_of())
    return Outcome([Drawn(line) for line in text.split("\n")], {"shell": arguments.shell, "script": text})
