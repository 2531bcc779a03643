# SPDX-License-Identifier: MIT
"""Loops that begin at a word and have instructions of 32 bits alone, for a core that fetches words."""

from __future__ import annotations

import re

from aidge_build.build.ordering.lines import text_of

_LABEL = re.compile(r' {8}"(\d+):\\n".*')
_BACK = re.compile(r"b[a-z]{0,2} (\d+)b")
_SHORT = re.compile(  # may have 16 bits; each of them has a form of 32 bits, too
    r"((ldr|str)[bh]?|ldrs[bh]|(ldm|stm)(ia)?|movs?|(add|sub|rsb|and|orr|eor|bic|lsl|lsr|asr)s?|mvns|cmp|tst|[su]xt[bh]|rev|"
    r"b(eq|ne|cs|hs|cc|lo|mi|pl|hi|ls|ge|lt|gt|le)?) .*"
)
_LONG = re.compile(r"#-|\](!|,)|(lsl|lsr|asr|ror) ")  # operands of instructions that have 32 bits
_ALIGN = '        "    .p2align 2\\n"'


def aligned_text(text: str) -> str:
    """Returns the C text of a function in assembly with aligned loops: all that have few short instructions, apart from a loop
    around others."""
    lines = text.split("\n")
    loops = _loops(lines)
    aligned = [loop for loop in loops if not _is_outermost(loop, loops) and _is_wide([lines[number] for number in loop])]
    begins, inside = {loop[0] for loop in aligned}, set[int]().union(*aligned)
    found = list[str]()
    for number, line in enumerate(lines):
        if number in begins:
            found.append(_ALIGN)
        found.append(_widened(line) if number in inside and not _is_condition(lines[number + 1]) else line)
    return "\n".join(found)


def _loops(lines: list[str]) -> list[range]:
    """Returns the numbers of the lines of each loop, from its label to the last jump to it."""
    labels, loops = dict[str, int](), dict[int, range]()
    for number, line in enumerate(lines):
        label, jump = _LABEL.fullmatch(line), _BACK.fullmatch(text_of(line))
        if label:
            labels[label[1]] = number
        elif jump and jump[1] in labels:
            loops[labels[jump[1]]] = range(labels[jump[1]], number + 1)
    return [*loops.values()]


def _is_outermost(loop: range, loops: list[range]) -> bool:
    """Whether another loop is in this one, which is in no other."""
    others = [other for other in loops if other != loop]
    return any(other[-1] in loop for other in others) and all(loop[-1] not in other for other in others)


def _is_wide(lines: list[str]) -> bool:
    """Whether fewer than half of the instructions may have 16 bits: others gain little."""
    texts = [text for line in lines if (text := text_of(line))]
    return 2 * sum(map(_may_be_short, texts)) < len(texts)


def _may_be_short(text: str) -> bool:
    return _SHORT.fullmatch(text) is not None and not _LONG.search(text)


def _is_condition(line: str) -> bool:
    """Whether a line is IT, which takes no time after an instruction of 16 bits."""
    return text_of(line).startswith("it")


def _widened(line: str) -> str:
    text = text_of(line)
    return line.replace(text, text.replace(" ", ".w ", 1), 1) if _may_be_short(text) else line
