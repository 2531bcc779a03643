# SPDX-License-Identifier: MIT
"""The page of the files that verbs write, from their JSON schemas."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from tools.docs.markdown import cell, code

SCHEMAS = Path("aidge_build") / "base" / "schemas"


def file_pages(root: Path) -> Iterator[str]:
    yield from (
        "# Files: plan.json, check.json, run.json, export.json, lines of a bench image",
        "",
        "Each is one JSON object with `schema` (a bench image prints it in the first line of a report): a number that grows",
        "when a key changes its meaning or goes. New keys may come at any time. The schemas (JSON Schema, draft 2020-12) are",
        "files of the package, in `aidge_build/base/schemas`; the tests",
        "compare real files with them, key by key.",
        "",
    )
    for path in sorted((root / SCHEMAS).glob("*.schema.json")):
        schema = json.loads(path.read_text())
        yield from (f"## {schema['title']}", "", cell(schema["description"]), "", f"Schema: `{SCHEMAS / path.name}`.", "")
        yield from ("| key | type | meaning |", "|---|---|---|")
        yield from keys(schema, schema.get("$defs", {}), "")
        yield ""


def keys(schema: dict, known: dict, before: str) -> Iterator[str]:
    """A row for each key, those of objects inside behind a point, those of lists behind []."""
    for name, value in schema.get("properties", {}).items():
        required = name in schema.get("required", ())
        value = resolved(value, known)
        always = "" if required else ", not always"
        yield f"| {code(before + name)} | {types(value, known)}{always} | {cell(value.get('description', ''))} |"
        if "properties" in value:
            yield from keys(value, known, f"{before}{name}.")
        elif "properties" in (items := resolved(value.get("items", {}), known)):
            yield from keys(items, known, f"{before}{name}[].")


def resolved(value: dict, known: dict) -> dict:
    """A definition of `$defs` in the place of its name; what stands beside the name (the description) remains."""
    name = value.get("$ref", "").rpartition("/")[2]
    return {**known[name], **{key: text for key, text in value.items() if key != "$ref"}} if name else value


def types(value: dict, known: dict) -> str:
    kind = value.get("type", "any")
    named = " or ".join([kind] if isinstance(kind, str) else kind)
    items = resolved(value.get("items", {}), known).get("type")
    return f"{named} of {items}" if kind == "array" and isinstance(items, str) else named
