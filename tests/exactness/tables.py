# SPDX-License-Identifier: MIT
"""The tables of docs/arithmetic.md, written from the record."""

from __future__ import annotations

from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "arithmetic.md"
BEGIN, END = "<!-- figures: begin (written by `python -m tests.exactness.measure`) -->", "<!-- figures: end -->"


def updated(page: str, record: dict) -> str:
    """The page with these figures between its marks."""
    before, rest = page.split(BEGIN)
    return f"{before}{BEGIN}\n\n{text(record)}\n{END}{rest.split(END)[1]}"


def text(record: dict) -> str:
    """Both tables."""
    return f"""onnxruntime {record["onnxruntime"]}, {record["machine"]}.

### Operators

{_operators(record["operators"])}

### Networks

{_networks(record["networks"])}
"""


def _operators(operators: dict) -> str:
    equal = [name for name, found in operators.items() if found["off"] == 0]
    rows = [
        [f"`{name}`", *_figures(found)]
        for name, found in sorted(operators.items(), key=lambda item: (-item[1]["off"], item[0]))
        if name not in equal
    ]
    values = sum(operators[name]["values"] for name in equal)
    return (
        f"{len(equal)} of {len(operators)} give what onnxruntime gives without optimisations, "
        f"0 of {values:,} values differ: {', '.join(f'`{name}`' for name in equal)}.\n\nThe others:\n\n"
        + _table(["operator", *_HEADINGS], rows)
    )


def _networks(networks: dict) -> str:
    rows = [[f"{model}, {kind}", *_figures(found)] for model, kinds in networks.items() for kind, found in kinds.items()]
    return _table(["network, inputs", *_HEADINGS], rows)


_HEADINGS = ("values", "differ from off", "levels at most", "differ from all", "off differs from all", "differ where both agree")


def _figures(found: dict) -> list[str]:
    return [f"{found[key]:,}" for key in ("values", "off", "most", "all", "off_all", "both")]


def _table(headings: list[str], rows: list[list[str]]) -> str:
    lines = [headings, ["---", *["--:"] * (len(headings) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
