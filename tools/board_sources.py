# SPDX-License-Identifier: MIT
"""What the sources that the boards name say of their memories, as tests/board_sources.json.

    python tools/board_sources.py --probe-rs FOLDER     a checkout of the project probe-rs

Needs the packages modm-devices (https://github.com/modm-io/modm-devices) and PyYAML in the Python that runs it, and aidge_build
on its path. probe-rs keeps a file for each family of chips (probe-rs/targets, probe-rs-espressif/targets), most of them made from
the vendors' CMSIS packs.
"""

from __future__ import annotations

import argparse
import json
from importlib.metadata import version
from pathlib import Path

from aidge_build.boards import list_boards, load_board

FOLDER = Path(__file__).resolve().parents[1]
ANSWERS = FOLDER / "tests" / "board_sources.json"


def modm_devices(names: list[str]) -> dict:
    """{device: {core, memories: [[name, first address, bytes, access]]}} of the package."""
    import modm_devices as package
    from modm_devices.parser import DeviceParser

    found, parser = {}, DeviceParser()
    for path in sorted((Path(package.__file__).parent / "resources" / "devices").glob("*/*.xml")):
        for device in parser.parse(str(path)).get_devices():
            if device.identifier.string in names:
                core = device.get_driver("core")
                memories = [[item["name"], int(item["start"], 0), int(item["size"]), item["access"]] for item in core["memory"]]
                found[device.identifier.string] = {"core": core["type"], "memories": memories}
    return found


def probe_rs(names: list[str], checkout: Path) -> dict:
    """The same, of `family/chip`, or of `family/chip@core` if it is not the first core; the core is its architecture."""
    import yaml

    class Loader(yaml.SafeLoader):
        """Tags such as !Nvm become the key `kind`."""

    def tagged(loader: yaml.SafeLoader, kind: str, node: yaml.Node) -> dict:
        values = loader.construct_mapping(node, deep=True) if isinstance(node, yaml.MappingNode) else {}
        return {**values, "kind": kind}

    Loader.add_multi_constructor("!", tagged)
    found = {}
    for name in names:
        family, device = name.split("/")
        chip, _, core = device.partition("@")
        file = next(checkout.glob(f"*/targets/{family}.yaml"))
        described = yaml.load(file.read_bytes(), Loader)
        for variant in described["variants"]:
            if variant["name"] == chip:
                memories = [
                    [item.get("name") or "", item["range"]["start"], item["range"]["end"] - item["range"]["start"], item["kind"]]
                    for item in variant["memory_map"]
                ]
                cores = [item["type"] for item in variant["cores"] if core in ("", item["name"])]
                found[name] = {"core": cores[0], "memories": memories}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--probe-rs", type=Path, required=True, metavar="FOLDER", help="a checkout of probe-rs")
    arguments = parser.parse_args()
    sources = [pair for name in list_boards() for pair in load_board(name).source]
    named = {collection: sorted({device for other, device in sources if other == collection}) for collection, _ in sources}
    answers = {
        "modm-devices": {"release": version("modm-devices"), "devices": modm_devices(named["modm-devices"])},
        "probe-rs": {"release": "checkout", "devices": probe_rs(named["probe-rs"], arguments.probe_rs)},
    }
    for collection, devices in named.items():
        if missing := sorted(set(devices) - set(answers[collection]["devices"])):
            raise SystemExit(f"{collection} does not know {', '.join(missing)}")
    ANSWERS.write_text(_text(answers), encoding="utf-8")


def _text(answers: dict) -> str:
    """JSON with a line for each device."""
    collections = []
    for name, answer in sorted(answers.items()):
        devices = (f"{json.dumps(device)}: {json.dumps(said)}" for device, said in sorted(answer["devices"].items()))
        joined = ",\n  ".join(devices)
        collections.append(f'{json.dumps(name)}: {{"release": {json.dumps(answer["release"])}, "devices": {{\n  {joined}\n}}}}')
    return "{" + ",\n".join(collections) + "}\n"


if __name__ == "__main__":
    main()
