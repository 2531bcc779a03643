# SPDX-License-Identifier: MIT
"""The inputs that once ended in a fault, as small as they are with it: files below tests/errors/found, which the tests try."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from tools.fuzz.session import Fault

FOLDER = Path(__file__).resolve().parents[2] / "tests" / "errors" / "found"
_INDEX = "index.json"


@dataclass(frozen=True)
class Found:
    """A stored input: `words` are the command, in which {file} and {folder} stand for its places; of models as C the way."""

    kind: str
    seed: int
    what: str
    words: tuple[str, ...]
    data: bytes


def store(fault: Fault, folder: Path = FOLDER) -> Path | None:
    """Where the input was written; None where one of the same fault is stored already."""
    folder.mkdir(parents=True, exist_ok=True)
    index = _index(folder)
    if any((entry["kind"], entry["what"]) == (fault.kind, fault.what) for entry in index) or not fault.data:
        return None
    path = folder / f"{fault.kind}-{fault.seed}"
    path.write_bytes(fault.data)
    index.append({"kind": fault.kind, "seed": fault.seed, "what": fault.what, "words": list(fault.words)})
    lines = ",\n".join(f"  {json.dumps(entry)}" for entry in sorted(index, key=lambda entry: (entry["kind"], entry["seed"])))
    (folder / _INDEX).write_text(f"[\n{lines}\n]\n")
    return path


def stored(folder: Path = FOLDER) -> list[Found]:
    """All of them."""
    return [
        Found(
            entry["kind"],
            entry["seed"],
            entry["what"],
            tuple(entry["words"]),
            (folder / f"{entry['kind']}-{entry['seed']}").read_bytes(),
        )
        for entry in _index(folder)
    ]


def _index(folder: Path) -> list[dict]:
    path = folder / _INDEX
    return json.loads(path.read_text()) if path.exists() else []
