# SPDX-License-Identifier: MIT
"""The verb `sbom`: a software bill of materials of the generated code in a firmware."""

from __future__ import annotations

import argparse
import hashlib
import os
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path

from aidge_build.base.errors import HINTS, AidgeError, CheckFailed, MissingTool
from aidge_build.base.output import write_files
from aidge_build.base.reading import open_regular, read_json
from aidge_build.cli.outcome import Outcome
from aidge_build.prove.elf import read_claims, read_image

EXAMPLES = (
    ("report --sbom gen/kws.plan.json --elf app.elf --out app.cdx.json", "a CycloneDX file of all models in a firmware"),
    ("report --sbom gen/kws.plan.json --licence kws=Apache-2.0 --out kws.cdx.json", "of code that is not linked yet"),
)
_SHA256 = re.compile(r"[0-9a-f]{64}")
_FILE = re.compile(r"\w[\w.]*", re.ASCII)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("plans", type=Path, nargs="+", metavar="PLAN", help="N.plan.json, next to the generated files of a model")
    parser.add_argument(
        "--out", type=Path, required=True, metavar="FILE", help="file for the bill, CycloneDX 1.6 as JSON: app.cdx.json"
    )
    parser.add_argument(
        "--elf",
        type=Path,
        metavar="ELF",
        help="firmware: its digest is in the bill, and its models must be the models of the plans (default: none)",
    )
    parser.add_argument(
        "--product", metavar="NAME", help="subject of the bill (default: the name of the firmware, or of the models)"
    )
    parser.add_argument("--release", default="", metavar="A.B.C", help="version of the product (default: made from its digest)")
    parser.add_argument(
        "--licence",
        action="append",
        default=[],
        metavar="MODEL=SPDX",
        help="licence of a model and its weights (repeat; default: none stated)",
    )


def run(arguments: argparse.Namespace) -> Outcome:
    _require_packages()
    from aidge_build.measure.report.bill import PLAN, Product, bill_of, bill_text

    plans = [read_json(path, PLAN, "SBOM", HINTS["SBOM"]) for path in arguments.plans]
    names = [plan["model"] for plan in plans]
    for path, plan in zip(arguments.plans, plans, strict=True):
        if names.count(plan["model"]) > 1:
            raise AidgeError(f"two plans belong to model {plan['model']}", where=str(path), code="SBOM", hint="name each once")
        _require_generated(path, plan)
    sha256 = _linked(arguments.elf, plans) if arguments.elf else ""
    product = Product(
        arguments.product or (arguments.elf.stem if arguments.elf else ", ".join(sorted(names))),
        arguments.release,
        sha256,
        _licences(arguments.licence, names),
        _timestamp(os.environ.get("SOURCE_DATE_EPOCH", "")),
    )
    bill = bill_of(plans, product)
    write_files({arguments.out: bill_text(bill)})
    count = sum(len(part.get("components", ())) for part in bill["components"])
    libraries = sum(part["bom-ref"].startswith("library:") for part in bill["components"])
    line = f"{arguments.out}: {_counted(len(plans), 'model')}, {_counted(libraries, 'library')}, {_counted(count, 'file')}"
    return Outcome([f"{line}, {bill['serialNumber']}"], bill)


def _require_packages() -> None:
    """They are asked for here alone, once in the life of a release: the tool is installed without them."""
    if not all(map(find_spec, ("cyclonedx", "jsonschema"))):
        raise MissingTool(
            "a bill of materials needs the packages cyclonedx-python-lib and jsonschema",
            where="report --sbom",
            hint="pip install 'aidge_build[sbom]'; in a checkout: .venv/bin/pip install cyclonedx-python-lib jsonschema",
            code="PACKAGES",
        )


def _counted(count: int, what: str) -> str:
    return f"{count} {what if count == 1 else what.removesuffix('y') + 'ies' if what.endswith('y') else what + 's'}"


def _require_generated(path: Path, plan: dict) -> None:
    """Refuses a plan if the files in its folder are not the files that it names."""
    for name, digest in [("model", plan["model_sha256"]), *((file["path"], file["sha256"]) for file in _kernel_files(plan))]:
        if not _SHA256.fullmatch(digest):
            raise AidgeError(f"the SHA-256 of {name} is {digest!r}", where=str(path), code="SBOM")
    for name, digest in sorted(plan["files"].items()):
        if not _FILE.fullmatch(name):
            raise AidgeError(f"{name!r} is not a file name of a plan", where=str(path), code="SBOM")
        found = _digest(path.with_name(name))
        if found != digest:
            raise CheckFailed(
                f"it was changed after it was generated: SHA-256 {found[:12]}, {path.name} has {str(digest)[:12]}",
                where=str(path.with_name(name)),
                code="SBOM",
                hint="generate the model again; changes belong into the model or a library of kernels",
            )


def _kernel_files(plan: dict) -> list[dict]:
    return [file for library in plan["libraries"] for file in library["files"]]


def _digest(path: Path) -> str:
    with open_regular(path, "SBOM") as stream:
        digest = hashlib.sha256()
        while piece := stream.read(1 << 20):
            digest.update(piece)
        return digest.hexdigest()


def _linked(elf: Path, plans: Sequence[dict]) -> str:
    """The digest of the firmware, which holds the models of the plans and no others."""
    image = read_image(elf)
    claimed = {claim.model: (claim.model_sha256, claim.code) for claim in read_claims(image)}
    planned = {plan["model"]: (plan["model_sha256"], plan["claim"]["code"]) for plan in plans}
    for model in sorted(claimed.keys() | planned.keys()):
        if claimed.get(model) == planned.get(model):
            continue
        what = "no plan is given of its model" if model not in planned else "it was linked without the model"
        if model in claimed and model in planned:
            what = "it was linked with other code of the model"
        raise CheckFailed(f"{what} {model}", where=str(elf), code="SBOM", hint="name the plans of all models that are linked")
    return _digest(elf)


def _licences(words: Sequence[str], names: Sequence[str]) -> dict[str, str]:
    found = {}
    for word in words:
        model, _, licence = word.partition("=")
        if model not in names or not licence:
            raise AidgeError(
                "is not MODEL=SPDX", where=f"--licence {word}", code="USAGE", hint=f"models: {', '.join(sorted(names))}"
            )
        found[model] = licence
    return found


def _timestamp(seconds: str) -> str:
    """Returns the time of SOURCE_DATE_EPOCH, as all reproducible builds understand it; without it the bill has no time."""
    if not seconds:
        return ""
    try:
        return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError, OSError):
        raise AidgeError(
            f"{seconds!r} is not a number of seconds since 1970",
            where="SOURCE_DATE_EPOCH",
            code="USAGE",
            hint="git log -1 --format=%ct",
        ) from None
