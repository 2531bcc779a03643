# SPDX-License-Identifier: MIT
"""The findings of a check as a SARIF 2.1.0 log, which CI services and editors show next to the source."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import TypeAlias
from urllib.parse import quote

from aidge_build.base.version import VERSION
from aidge_build.prove.elf import Image, read_image
from aidge_build.prove.elf.debug_info import defined_at
from aidge_build.prove.elf.findings import ERROR, RULES

Places: TypeAlias = Mapping[str, tuple[str, int]]
_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"  # the name of the format, which nothing here loads
_PAGE = "docs/reference-findings.md"
_WORD = re.compile(r"\.?[A-Za-z_][\w.]*")


def sarif_log(elf: Path, findings: Iterable[Mapping[str, str]], quiet: Collection[str] = ()) -> bytes:
    """Returns the log of one check of `elf`: each finding has `code`, `severity`, `text` and `hint`.

    A result points to the source line of the first function or variable in its text, and prefers files in the current folder.
    Without a line in the debug information it points to the program. Warnings and notes of the codes in `quiet` are suppressed.
    The bytes also depend on the current folder, to which paths are relative, and on nothing else.
    """
    image, findings = read_image(elf), list(findings)
    digest = hashlib.sha256(elf.read_bytes()).hexdigest()
    places = defined_at(elf, {word for finding in findings for word in _named(image, finding["text"])})
    run = {
        "tool": {"driver": {"name": "aidge-build", "version": VERSION, "rules": [_rule(code) for code in RULES]}},
        "artifacts": [{"location": {"uri": _uri(str(elf))}, "roles": ["analysisTarget"], "hashes": {"sha-256": digest}}],
        "results": [_result(image, elf, finding, places, finding["code"] in quiet) for finding in findings],
    }
    return (json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1) + "\n").encode()


def _rule(code: str) -> dict:
    rule = RULES[code]
    return {
        "id": code,
        "shortDescription": {"text": rule.meaning},
        "help": {
            "text": f"{rule.hint}. {_PAGE} lists all codes.",
            "markdown": f"{rule.hint}. [{_PAGE}]({_PAGE}) lists all codes.",
        },
    }


def _result(image: Image, elf: Path, finding: Mapping[str, str], places: Places, is_quiet: bool) -> dict:
    names = _named(image, finding["text"])
    placed = [places[name] for name in names if name in places]
    place = min(placed, key=lambda place: _inside(place[0]) is None, default=None)  # a file of the project before all others
    program = {"physicalLocation": {"artifactLocation": {"uri": _uri(str(elf)), "index": 0}}}
    location = _at_line(*place) if place else program
    if names:
        location = location | {"logicalLocations": [_logical(image, name) for name in names]}
    return {
        "ruleId": finding["code"],
        "ruleIndex": list(RULES).index(finding["code"]),
        "level": finding["severity"],
        "message": {"text": f"{finding['text'].rstrip('.')}. Hint: {finding['hint']}"},
        "locations": [location],
        **({"relatedLocations": [program]} if place else {}),
        **({"suppressions": [{"kind": "external"}]} if is_quiet and finding["severity"] != ERROR else {}),
    }


def _named(image: Image, text: str) -> list[str]:
    """Returns the functions, variables and sections of the program that a text names, in its order."""
    words = dict.fromkeys(word.rstrip(".") for word in _WORD.findall(text))
    return [
        word for word in words if image.section(word) or (found := image.symbol(word)) and found.kind in ("function", "object")
    ]


def _logical(image: Image, name: str) -> dict:
    symbol = image.symbol(name)
    kind = "function" if symbol and symbol.kind == "function" else "variable" if symbol else "section"
    return {"name": name, "kind": kind}


def _at_line(file: str, line: int) -> dict:
    return {"physicalLocation": {"artifactLocation": {"uri": _uri(file)}, "region": {"startLine": line}}}


def _uri(path: str) -> str:
    inside = _inside(path)
    return quote(inside) if inside else Path(path).resolve().as_uri()


def _inside(path: str) -> str | None:
    """Returns the path relative to the current folder; None for a path outside it."""
    whole = Path(path).resolve()
    return whole.relative_to(Path.cwd()).as_posix() if whole.is_relative_to(Path.cwd()) else None
