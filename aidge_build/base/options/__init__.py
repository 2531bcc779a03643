# SPDX-License-Identifier: MIT
"""The one table of options, and what is written from it: arguments of the verbs, names in SCons and CMake, the page."""

from aidge_build.base.options.accuracy import ACCURACY, LIMITS
from aidge_build.base.options.arguments import add_options, also_called, differing, from_words, typed_again, with_given, words_of
from aidge_build.base.options.budget import BUDGET
from aidge_build.base.options.check import BOARD_PATH, CHECK
from aidge_build.base.options.option import Group, Option, options_named
from aidge_build.base.options.table import FILES, FIRST_PAGE, MODEL, QUANTIZATION, TABLE, TOPICS

__all__ = [
    "ACCURACY",
    "BOARD_PATH",
    "BUDGET",
    "CHECK",
    "FILES",
    "FIRST_PAGE",
    "LIMITS",
    "MODEL",
    "QUANTIZATION",
    "TABLE",
    "TOPICS",
    "Group",
    "Option",
    "add_options",
    "also_called",
    "differing",
    "from_words",
    "options_named",
    "typed_again",
    "with_given",
    "words_of",
]
