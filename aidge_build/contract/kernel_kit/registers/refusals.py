# SPDX-License-Identifier: MIT
"""Refusals of texts that name values: of each line that would mean something else than its author meant."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from aidge_build.base.errors import AidgeError
from aidge_build.contract.kernel_kit.registers.named import (
    APART,
    ARGUMENT,
    BEGIN,
    CALL,
    DECLARATIONS,
    ENTER_FLOATS,
    ENTER_LOW,
    ENTERS,
    FRAME_WORD,
    LABEL,
    LEAVE,
    PARAMETER_REGISTERS,
    VALUE,
    leaves,
)
from aidge_build.contract.thumb.instruction import CONDITIONS, instruction_of_text
from aidge_build.contract.thumb.kinds import kind_of
from aidge_build.contract.work import DEFAULT

_JUMP = re.compile(rf"(?:b(?:{'|'.join(CONDITIONS)})?(?:\.[nw])?|cbn?z|(?:le|wls)(?:tp)?(?:\.\d+)?) (?:.*[, ])?(\S+)")
_END = re.compile(rf"{LEAVE}.*|b(\.[nw])? .*|tb[bh] .*|\..*")
_FRAME_PLACE = re.compile(rf"sp, {FRAME_WORD.pattern}")
_FRAME_BEGIN = re.compile(r"mov %\w+, sp")
_BEGIN = re.compile(rf"{BEGIN}%q\.\w+(, %q\.\w+)*")
_VALUES_APART = re.compile(rf"{APART}{VALUE.pattern}(, {VALUE.pattern})+")
_MOVE = re.compile(r"(?:put|get)\b(?: %([a-z]\w*)(?:, %(?!\1\b)[a-z]\w*)?$)?")
_PARAMETER = re.compile(r"(.*?)(\w+)((?:\[\w*\])*)")
_ELSEWHERE = re.compile(r"\b(float|double|\w*64_t|long long|struct)\b")  # in other registers, or in two
_LABELLED = re.compile(r"%\w+: *\S")
_KEPT = 1 << 12  # lines
_FLOAT = re.compile(r"(?<![.\w%])[sd]\d+\b")  # a float register, which the text names
_REFUSED = (
    (r".*([;@]|//|/\*)", "is more than one instruction"),
    (r"\w+:.*", "is no label: names of labels begin with %, numbers are given by the build"),
    (
        r"(v?push|v?pop)\w*\b|.*[ ,{\[](sp|r13)\b",
        "names the stack pointer: what %enter saves and what waits have their places there",
    ),
    (r"b(l|x|lx)(ns)?(..)?(\.[nw])? ", "leaves the function: only %leave does"),
    (r"(?!tb[bh] \[pc,).*[ ,{\[](pc|r15)\b|adr\b|ldr.*=", "reads or writes the address of an instruction"),
    (r"(?!.*%enter).*[ ,{\[-](fp|sl|sb|ip|r14|[av][1-8])\b", "names a register by another name than r0 to r12 and lr"),
    (r"[^.].*%[\w.]+ *-", "names no values: a list has a name for each of its registers"),
    (r"(v[id]wdup|vld[24]\d|(st|ld)a?l?ex[bhd]?)\b.*%", "writes more than this package knows: name its registers"),
)


def require_meant(lines: Sequence[str], parameters: Sequence[str], where: str) -> None:
    """Raises AidgeError for a line if its author cannot have meant what the build would make of it.

    parameters: the names of the parameters. where: the name of the function.
    """
    texts = [line.strip() for line in lines if line.strip()]
    labels = [match[1] for text in texts if (match := LABEL.fullmatch(text))]
    for text, reason in _wrong(texts, labels, parameters):
        if reason:
            raise AidgeError(f"`{text}` {reason}", where=where, code="KERNEL")


def names_of(parameters: str, where: str) -> tuple[str, ...]:
    """Returns the names of C parameters; AidgeError for one that is not passed in one register of the core."""
    found = []
    for parameter in parameters.split(","):
        match = _PARAMETER.fullmatch(parameter.strip())
        if match is None or not ("*" in match[1] or match[3] or not _ELSEWHERE.search(match[1])):
            raise AidgeError(f"`{parameter.strip()}` is not passed in one register of the core", where=where, code="KERNEL")
        found.append(match[2])
    return tuple(found)


def _wrong(texts: Sequence[str], labels: Sequence[str], parameters: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yields lines, and why they are wrong."""
    yield from ((text, _reason(text, len(parameters))) for text in texts)
    enters = [text for text in texts if text in ENTERS]
    if texts[0] not in ENTERS or len(enters) > 1:
        yield (enters or texts)[-1], "is in a text that does not begin with its one %enter"
    if not _END.fullmatch(texts[-1]):
        yield texts[-1], "is the last line, and the function goes on"
    yield from _wrong_for_the_core(texts)
    yield from _wrong_labels(texts, labels)


def _wrong_for_the_core(texts: Sequence[str]) -> Iterator[tuple[str, str]]:
    kinds = {match[1] for text in texts for match in VALUE.finditer(text)}
    if "q" in kinds and ("s" in kinds or texts[0] == ENTER_FLOATS or any(map(_FLOAT.search, texts))):
        yield texts[0], "is before vector values and floats, which share registers"
    if texts[0] == ENTER_LOW:
        pairs = [text for text in texts if _MOVE.match(text) and "," in text]
        yield from ((text, "moves two values, for which Armv6-M has no instruction") for text in pairs)


def _wrong_labels(texts: Sequence[str], labels: Sequence[str]) -> Iterator[tuple[str, str]]:
    yield from ((f"%{label}:", "is there twice") for number, label in enumerate(labels) if label in labels[:number])
    for text in texts:
        jump = _JUMP.fullmatch(text)
        if jump and jump[1].removeprefix("%") not in labels:
            yield text, "jumps to no label of the text"


@lru_cache(_KEPT)
def _reason(text: str, parameters: int) -> str:
    """Returns why a line of a function with so many parameters is refused by itself; "" if it is not."""
    if _is_of_the_notation(text):
        return ""
    text = _FRAME_PLACE.sub("#0", text)
    if not all(PARAMETER_REGISTERS <= int(match[1]) < parameters for match in ARGUMENT.finditer(text)):
        return "names no parameter on the stack: they are counted from 0, and the first four are in registers"
    if _LABELLED.match(text):
        return "is a label and an instruction: write two lines"
    if "%" in VALUE.sub("", ARGUMENT.sub("", text)):
        return "has a % without the name of a value: small letters, digits and _ after %, %q. or %s."
    if move := _MOVE.match(text):
        return "" if move[1] else "names one or two values in registers of the core"
    return next((reason for pattern, reason in _REFUSED if re.match(pattern, text)), "") or _unknown(text)


def _is_of_the_notation(text: str) -> bool:
    """Whether a line is no instruction, or the one that may read the stack pointer."""
    own = (LABEL, CALL, _FRAME_BEGIN, _BEGIN, _VALUES_APART)
    return text in ENTERS or leaves(text) or text.startswith(DECLARATIONS) or any(pattern.fullmatch(text) for pattern in own)


def _unknown(text: str) -> str:
    plain = VALUE.sub(lambda match: f"{match[1] or 'r'}0", text)
    instruction = instruction_of_text(plain)
    return "is no instruction" if instruction and kind_of(*instruction[2:5])[0] == DEFAULT else ""
