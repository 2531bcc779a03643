# SPDX-License-Identifier: MIT
"""A software bill of materials of generated code, in the form of CycloneDX 1.6: models, code, kernels, licences and digests.

The only importer of cyclonedx, which is an optional package.
"""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import NoneType

from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.license import DisjunctiveLicense, License, LicenseExpression
from cyclonedx.model.lifecycle import LifecyclePhase, PredefinedLifecycle
from cyclonedx.output.json import JsonV1Dot6
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from aidge_build.base.errors import HINTS, AidgeError
from aidge_build.base.version import VERSION

# The keys of a plan that a bill reads.
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
CODE_LICENCE = "0BSD"  # of the code generated around the kernels
NOT_STATED = "not stated"
_EXPRESSION = re.compile(r"[A-Za-z0-9.+()-]+(?: (?:AND|OR|WITH) [A-Za-z0-9.+()-]+)*")
_SERIALS = uuid.UUID("3f0a1d52-9c7e-5b44-8d6b-0c1be1d7a2e4")  # the name space of our serial numbers


@dataclass(frozen=True)
class Product:
    """The subject of the bill: a program with its digest, or (`sha256` "") code that has not been linked.

    `version` "": the version is made from the content. `licences` are the licences of models, by their names; `timestamp` is
    ISO 8601, "" for none.
    """

    name: str
    version: str = ""
    sha256: str = ""
    licences: Mapping[str, str] = field(default_factory=dict)
    timestamp: str = ""


def bill_of(plans: Sequence[dict], product: Product) -> dict:
    """Returns the bill of the models of these plans (shape PLAN, no two of one name). Pure: the same bill of the same plans in
    any order. Its serial number is a digest of everything except the time. AidgeError (SBOM) if the schema of CycloneDX refuses
    it, because of names in a plan."""
    plans = sorted(plans, key=lambda plan: plan["model"])
    models = [_model(plan, product.licences.get(plan["model"])) for plan in plans]
    codes = [_code(plan) for plan in plans]
    libraries = _libraries(plans)
    bom = Bom(components=[*models, *codes, *libraries.values()])
    bom.metadata.lifecycles = [PredefinedLifecycle(LifecyclePhase.BUILD)]
    bom.metadata.tools.components.add(_component(ComponentType.APPLICATION, "", "aidge_build", version=VERSION, licences=["MIT"]))
    bom.metadata.component = _product(plans, product)
    bom.register_dependency(bom.metadata.component, codes)
    for plan, model, code in zip(plans, models, codes, strict=True):
        bom.register_dependency(code, [model, *(libraries[library["name"]] for library in plan["libraries"])])
    return _reproducible(json.loads(JsonV1Dot6(bom).output_as_string()), plans, product.timestamp)


def bill_text(bill: dict) -> bytes:
    """The file: ASCII, sorted, without a control character."""
    return (json.dumps(bill, indent=1, sort_keys=True).replace("\x7f", "\\u007f") + "\n").encode("ascii")


def _reproducible(bill: dict, plans: Sequence[dict], timestamp: str) -> dict:
    """Returns the bill with a reproducible serial number and time, and with the model cards, which the library lacks."""
    del bill["metadata"]["timestamp"], bill["serialNumber"]
    cards = {f"model:{plan['model']}": _card(plan) for plan in plans}
    for component in bill["components"]:
        component.update(cards.get(component["bom-ref"], {}))
    bill["serialNumber"] = f"urn:uuid:{uuid.uuid5(_SERIALS, _digest(bill))}"
    if timestamp:
        bill["metadata"]["timestamp"] = timestamp
    if wrong := JsonStrictValidator(SchemaVersion.V1_6).validate_str(json.dumps(bill)):
        raise AidgeError(f"the bill would not be CycloneDX 1.6: {wrong.data.message:.80}", code="SBOM", hint=HINTS["SBOM"])
    return bill


def _card(plan: dict) -> dict:
    """The types and dimensions of inputs and outputs."""
    sides = {
        side: [{"format": f"{port['name']}: {port['dtype']}[{','.join(map(str, port['dims']))}]"} for port in plan[side]]
        for side in ("inputs", "outputs")
    }
    return {"modelCard": {"modelParameters": sides}}


def _product(plans: Sequence[dict], product: Product) -> Component:
    content = product.sha256 or _digest([plan["claim"]["code"] + plan["model_sha256"] for plan in plans])
    kind = ComponentType.FIRMWARE if product.sha256 else ComponentType.LIBRARY
    return _component(kind, "product", product.name, sha256=product.sha256, version=product.version or content[:12])


def _model(plan: dict, licence: str | None) -> Component:
    return _component(
        ComponentType.MACHINE_LEARNING_MODEL,
        f"model:{plan['model']}",
        plan["model"],
        sha256=plan["model_sha256"],
        licences=[licence],
        version=plan["model_sha256"][:12],
        description="the neural network; its digest is of the model's file, followed by its external data",
    )


def _code(plan: dict) -> Component:
    """The generated C: kernels are in it, with their licences."""
    licences = [file["licence"] for library in plan["libraries"] for file in library["files"]]
    return _component(
        ComponentType.LIBRARY,
        f"code:{plan['model']}",
        f"{plan['model']} (generated)",
        licences=[CODE_LICENCE, *licences],
        version=plan["claim"]["code"],
        description=f"C that aidge_build {plan['tool']} generated from the neural network for {plan['target'] or 'any core'}",
        components=[
            _component(ComponentType.FILE, f"file:{plan['model']}/{name}", name, sha256=digest)
            for name, digest in plan["files"].items()
        ],
    )


def _libraries(plans: Iterable[dict]) -> dict[str, Component]:
    """Returns each library once, with all its files in any model's code; digests tell versions of a file apart."""
    found: dict[str, dict[tuple[str, str], str | None]] = {}
    for plan in plans:
        for library in plan["libraries"]:
            files = found.setdefault(library["name"], {})
            files.update({(file["path"], file["sha256"]): file["licence"] for file in library["files"]})
    return {name: _library(name, files) for name, files in found.items()}


def _library(name: str, files: Mapping[tuple[str, str], str | None]) -> Component:
    return _component(
        ComponentType.LIBRARY,
        f"library:{name}",
        f"{name} (kernels)",
        licences=files.values(),
        version=_digest(sorted(files))[:12],
        description=f"the files of the kernel library {name} that are in the code",
        components=[
            _component(
                ComponentType.FILE, f"file:{name}/{path}@{digest[:12]}", f"{name}/{path}", sha256=digest, licences=[licence]
            )
            for (path, digest), licence in files.items()
        ],
    )


def _component(
    kind: ComponentType, ref: str, name: str, sha256: str = "", licences: Iterable[str | None] = (), **facts
) -> Component:
    hashes = [HashType(alg=HashAlgorithm.SHA_256, content=sha256)] if sha256 else []
    return Component(type=kind, bom_ref=ref or None, name=name, hashes=hashes, licenses=_licensed(licences), **facts)


def _licensed(licences: Iterable[str | None]) -> list[License]:
    """Returns one licence expression; if a part has no licence or no valid expression, returns each by name."""
    words = sorted({licence or NOT_STATED for licence in licences})
    if not all(map(_EXPRESSION.fullmatch, words)):
        return [DisjunctiveLicense(name=word) for word in words]
    together = len(words) > 1
    joined = " AND ".join(f"({word})" if together and " OR " in word else word for word in words)
    return [LicenseExpression(joined)] if words else []


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
