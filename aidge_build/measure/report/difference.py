# SPDX-License-Identifier: MIT
"""Two reports compared, as Markdown for a pull request: flash and RAM apart."""

from __future__ import annotations

from collections.abc import Iterator

from aidge_build.base.errors import AidgeError
from aidge_build.measure.report.document import SCHEMA

_ITEMS_SHOWN = 20
_KINDS = (("flash", "Flash"), ("ram", "RAM"))


def render_difference(old: dict, new: dict, where: str) -> str:
    """Returns what grew and what shrank from `old` to `new`; AidgeError (REPORT) for a document of another schema."""
    if old["schema"] != SCHEMA:
        raise AidgeError("is not a report", where=where, hint="write one with: aidge-build report ELF --json", code="REPORT")
    lines = [*_heading("memory")]
    for kind, title in _KINDS:
        lines += [_row(f"**{title}**", _used(old, kind), _used(new, kind)), *_regions(old, new, kind)]
    if old.get("stack_bound_bytes") is not None and new.get("stack_bound_bytes") is not None:
        lines.append(_row("stack bound", old["stack_bound_bytes"], new["stack_bound_bytes"]))
    before, after = _counted(old), _counted(new)
    names = [name for name in after if name in before]
    lines += [_row(f"instructions of `{_plain(name)}`", sum(before[name].values()), sum(after[name].values())) for name in names]
    for kind, title in _KINDS:
        lines += _table(title, _changes(_sizes(old, kind), _sizes(new, kind)))
    for name in names:
        lines += _table(f"Instructions of `{_plain(name)}`", _changes(before[name], after[name]))
    return "\n".join(lines)


def _heading(title: str) -> tuple[str, str]:
    return f"| {title} | before | after | change |", "|---|---:|---:|---:|"


def _table(title: str, changes: Iterator[tuple[str, int, int]]) -> list[str]:
    rows = _shown(list(changes))
    return ["", *_heading(title), *rows] if rows else []


def _regions(old: dict, new: dict, kind: str) -> list[str]:
    """The memories of one kind that either of the reports uses."""
    before, after = (
        {region["name"]: region["used_bytes"] for region in document["regions"] if region["kind"] == kind}
        for document in (old, new)
    )
    sizes = {name: (before.get(name, 0), after.get(name, 0)) for name in {**before, **after}}
    return [_row(name, *both) for name, both in sizes.items() if any(both)]


def _used(document: dict, kind: str) -> int:
    return sum(region["used_bytes"] for region in document["regions"] if region["kind"] == kind)


def _sizes(document: dict, kind: str) -> dict[tuple[str, str], int]:
    """Bytes by group and name, of one kind of memory."""
    sizes: dict[tuple[str, str], int] = {}
    for region in document["regions"]:
        for group in region["groups"] if region["kind"] == kind else ():
            for item in group["items"] if group["name"] != "free" else ():
                name = "padding" if group["name"] == "padding" else item["name"]
                sizes[group["name"], name] = sizes.get((group["name"], name), 0) + item["size_bytes"]
    return sizes


def _counted(document: dict) -> dict[str, dict[tuple[str, str], int]]:
    """Returns the instructions of an inference, for each model with counts: by layer, and around the layers."""
    found = {}
    for model in document.get("models", ()):
        layers = {(model["model"], layer["symbol"]): layer.get("instructions") for layer in model["layers"]}
        around = {("", "around the layers"): model.get("other_instructions") or 0}
        counted = {key: count for key, count in layers.items() if count is not None}
        if counted:
            found[model["model"]] = {**counted, **around}
    return found


def _changes(old: dict, new: dict) -> Iterator[tuple[str, int, int]]:
    """The largest change first."""
    keys = sorted({*old, *new}, key=lambda key: (-abs(new.get(key, 0) - old.get(key, 0)), key))
    for group, name in keys:
        before, after = old.get((group, name), 0), new.get((group, name), 0)
        if before != after:
            yield (
                (f"`{_plain(name)}`" if name != group else name) + (f" ({group})" if group not in ("", name) else ""),
                before,
                after,
            )


def _shown(changes: list[tuple[str, int, int]]) -> list[str]:
    rows = [_row(*change) for change in changes[:_ITEMS_SHOWN]]
    rest = changes[_ITEMS_SHOWN:]
    if rest:
        rows.append(_row(f"{len(rest)} more", sum(before for _, before, _ in rest), sum(after for _, _, after in rest)))
    return rows


def _row(name: str, before: int, after: int) -> str:
    change = "0" if before == after else f"{after - before:+,}"
    return f"| {name} | {before:,} | {after:,} | {change} |"


def _plain(name: str) -> str:
    return name.replace("`", "'").replace("|", "/")
