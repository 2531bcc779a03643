# SPDX-License-Identifier: MIT
"""A software bill of materials of generated code, in the form of CycloneDX 1.6: models, code, kernels, licences and digests."""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import NoneType

from aidge_build.base.version import VERSION

# What a bill reads of a plan.
PLAN = {
    "tool": str,
    "model": str,
    "model_sha256": str,
    "target": str,
    "files": {},
    "inputs": [{"name": str, "dtype": str, "dims": [int]}],
    "outputs": [{"name": str, "dtype": str, "dims": [int]}],
    "libraries": [{"name": str, "files": [{"path": str, "sha256": str, "licence": (str, NoneType)}]}],
    "claim": {"code": str},
}
CODE_LICENCE = "0BSD"  # of what is printed around the kernels
NOT_STATED = "not stated"
_EXPRESSION = re.compile(r"[A-Za-z0-9.+()-]+(?: (?:AND|OR|WITH) [A-Za-z0-9.+()-]+)*")
_SERIALS = uuid.UUID("3f0a1d52-9c7e-5b44-8d6b-0c1be1d7a2e4")  # the name space of our serial numbers


@dataclass(frozen=True)
class Product:
    """What the bill is about: a program with its digest, or (`sha256` "") code that has not been linked.

    `version` "": that of its content. `licences` are those of models, by their names; `timestamp` is ISO 8601, "" for none.
    """

    name: str
    version: str = ""
    sha256: str = ""
    licences: Mapping[str, str] = field(default_factory=dict)
    timestamp: str = ""


def bill_of(plans: Sequence[dict], product: Product) -> dict:
    """The bill of the models of these plans (shape PLAN, no two of one name). Pure: the same bill of the same plans, whatever
    their order. Its serial number is a digest of all the rest but the time."""
    plans = sorted(plans, key=lambda plan: plan["model"])
    components = [
        *(_model(plan, product.licences.get(plan["model"])) for plan in plans),
        *(_code(plan) for plan in plans),
        *_libraries(plans),
    ]
    content: dict = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "lifecycles": [{"phase": "build"}],
            "tools": {"components": [{"type": "application", "name": "aidge_build", "version": VERSION, **_licensed(["MIT"])}]},
            "component": _product(plans, product),
        },
        "components": components,
        "dependencies": [
            dict(ref="product", dependsOn=[f"code:{plan['model']}" for plan in plans]),
            *(dict(ref=f"code:{plan['model']}", dependsOn=_sources(plan)) for plan in plans),
            *(dict(ref=entry["bom-ref"]) for entry in components if not entry["bom-ref"].startswith("code:")),
        ],
    }
    content["serialNumber"] = f"urn:uuid:{uuid.uuid5(_SERIALS, _digest(content))}"
    if product.timestamp:
        content["metadata"]["timestamp"] = product.timestamp
    return content


def bill_text(bill: dict) -> bytes:
    """The file: ASCII, sorted, without a control character."""
    return (json.dumps(bill, indent=1, sort_keys=True).replace("\x7f", "\\u007f") + "\n").encode("ascii")


def _product(plans: Sequence[dict], product: Product) -> dict:
    content = product.sha256 or _digest([plan["claim"]["code"] + plan["model_sha256"] for plan in plans])
    return {
        "type": "firmware" if product.sha256 else "library",
        "bom-ref": "product",
        "name": product.name,
        "version": product.version or content[:12],
        **(_hashed(product.sha256) if product.sha256 else {}),
    }


def _model(plan: dict, licence: str | None) -> dict:
    return {
        "type": "machine-learning-model",
        "bom-ref": f"model:{plan['model']}",
        "name": plan["model"],
        "version": plan["model_sha256"][:12],
        "description": "the neural network; its digest is of the model's file, followed by its external data",
        **_hashed(plan["model_sha256"]),
        **_licensed([licence]),
        "modelCard": {"modelParameters": {side: [_format(port) for port in plan[side]] for side in ("inputs", "outputs")}},
    }


def _format(port: dict) -> dict:
    return {"format": f"{port['name']}: {port['dtype']}[{','.join(map(str, port['dims']))}]"}


def _code(plan: dict) -> dict:
    """The generated C: kernels stand in it, with their licences."""
    licences = [file["licence"] for library in plan["libraries"] for file in library["files"]]
    return {
        "type": "library",
        "bom-ref": f"code:{plan['model']}",
        "name": f"{plan['model']} (generated)",
        "version": plan["claim"]["code"],
        "description": f"C that aidge_build {plan['tool']} generated from the neural network for {plan['target'] or 'any core'}",
        **_licensed([CODE_LICENCE, *licences]),
        "components": [
            {"type": "file", "bom-ref": f"file:{plan['model']}/{name}", "name": name, **_hashed(digest)}
            for name, digest in sorted(plan["files"].items())
        ],
    }


def _libraries(plans: Iterable[dict]) -> list[dict]:
    """Each library once, with all files that any model's code has of it; versions of a file are told apart by their digests."""
    found: dict[str, dict[tuple[str, str], str | None]] = {}
    for plan in plans:
        for library in plan["libraries"]:
            files = found.setdefault(library["name"], {})
            files.update({(file["path"], file["sha256"]): file["licence"] for file in library["files"]})
    return [_library(name, files) for name, files in sorted(found.items())]


def _library(name: str, files: Mapping[tuple[str, str], str | None]) -> dict:
    return {
        "type": "library",
        "bom-ref": f"library:{name}",
        "name": f"{name} (kernels)",
        "version": _digest(sorted(files))[:12],
        "description": f"the files of the kernel library {name} that are in the code",
        **_licensed(files.values()),
        "components": [
            {
                "type": "file",
                "bom-ref": f"file:{name}/{path}@{digest[:12]}",
                "name": f"{name}/{path}",
                **_hashed(digest),
                **_licensed([licence]),
            }
            for (path, digest), licence in sorted(files.items())
        ],
    }


def _sources(plan: dict) -> list[str]:
    return [f"model:{plan['model']}", *sorted(f"library:{library['name']}" for library in plan["libraries"])]


def _hashed(digest: str) -> dict:
    return {"hashes": [{"alg": "SHA-256", "content": digest}]}


def _licensed(licences: Iterable[str | None]) -> dict:
    """One expression; where a part says nothing, or something else, each is named."""
    words = sorted({licence or NOT_STATED for licence in licences})
    if not all(map(_EXPRESSION.fullmatch, words)):
        return {"licenses": [{"license": {"name": word}} for word in words]}
    together = len(words) > 1
    return {"licenses": [{"expression": " AND ".join(f"({word})" if together and " OR " in word else word for word in words)}]}


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
