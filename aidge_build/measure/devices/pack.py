# SPDX-License-Identifier: MIT
"""Devices of a CMSIS pack: its description (.pdsc), as the Open-CMSIS-Pack specification has it ("/package/devices")."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from aidge_build.base.errors import AidgeError
from aidge_build.base.naming import counted
from aidge_build.measure.devices.device import CODE, Device, Memory, joined

_LEVELS = {"family": "Dfamily", "subFamily": "DsubFamily", "device": "Dname", "variant": "Dvariant"}
_ABSENT = ("0", "no_fpu", "no_dsp", "no_mve")
_NAMES_SHOWN = 8

# A device and the elements around it, the outermost one first: inner ones add to outer ones, and overrule them.
Levels = tuple[Element, ...]


def read(content: bytes, name: str, where: str) -> Device:
    """The device, or `device:core` of one with several cores. Upper and lower case are the same."""
    wanted, _, core = name.partition(":")
    devices = {_name(path[-1]): path for path in _devices(_parsed(content, where), ())}
    path = devices.get(wanted) or next((path for key, path in devices.items() if key.lower() == wanted.lower()), None)
    if path is None:
        longer = sorted(key for key in devices if wanted and key.lower().startswith(wanted.lower()))
        near = (longer or difflib.get_close_matches(wanted.upper(), devices, cutoff=0.3) or sorted(devices))[:_NAMES_SHOWN]
        what = (
            f"there is no device '{wanted}' among its {len(devices)}"
            if wanted
            else f"it describes {counted(len(devices), 'device')}"
        )
        raise AidgeError(
            what, where=where, code=CODE, hint=f"name one, such as {', '.join(near)}" if near else "is it a device pack?"
        )
    return _device(path, core, where)


def _parsed(content: bytes, where: str) -> Element:
    """The file's elements. Declarations of document types are refused: no pack has one, and they can make a small file large."""
    parser, builder = expat.ParserCreate(), TreeBuilder()

    def refuse(*_: object) -> None:
        raise AidgeError("a document type is declared", where=where, code=CODE, hint="descriptions of packs have none")

    parser.StartDoctypeDeclHandler = refuse
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    try:
        parser.Parse(content, True)
        return builder.close()
    except (expat.ExpatError, AssertionError) as error:
        raise AidgeError(f"not XML: {error}", where=where, code=CODE, hint="give the .pdsc file of a CMSIS pack") from None


def _devices(element: Element, above: Levels) -> Iterator[Levels]:
    """Yields all devices, and variants of devices; a device with variants is none itself."""
    for child in element:
        if child.tag in _LEVELS:
            path = (*above, child)
            is_device = child.tag == "variant" or child.tag == "device" and child.find("variant") is None
            yield from [path] if is_device else _devices(child, path)
        elif child.tag == "devices":
            yield from _devices(child, above)


def _name(element: Element) -> str:
    return element.get(_LEVELS[element.tag], "")


def _device(path: Levels, core: str, where: str) -> Device:
    name, processor = _name(path[-1]), _processor(path, core, where)
    if "Dcore" not in processor:
        raise AidgeError(
            f"the pack does not name the core of device '{name}'",
            where=where,
            code=CODE,
            hint='write a board file by hand, with cpu = "cortex-m4" or another core (docs/howto-board.md)',
        )
    own = processor.get("Pname", "")
    memories = (
        _memory(found, where)
        for found in _merged(path, "memory", ("name", "id", "Pname"))
        if found.get("Pname", own) in ("", own)
    )
    return Device(
        name=f"{name}:{own}" if core else name,
        core=processor["Dcore"].lower().replace("+", "plus"),
        has_fpu=_has(processor, "Dfpu"),
        has_double={"DP_FPU": True, "SP_FPU": False}.get(processor.get("Dfpu", "").upper()),
        has_dsp=_has(processor, "Ddsp"),
        has_mve=_has(processor, "Dmve"),
        clock_hz=_number(processor.get("Dclock", "0"), where),
        memories=joined(tuple(memory for memory in memories if memory)),
        described_by=f"{where.rpartition('/')[2]}, device {name}",
    )


def _processor(path: Levels, core: str, where: str) -> dict[str, str]:
    """Returns the attributes of the core with this name, or of the only core; AidgeError if there is none, or several without a
    name."""
    name, processors = _name(path[-1]), _merged(path, "processor", ("Pname",))
    names = [found.get("Pname", "") for found in processors]
    if not core and len(processors) > 1 or core and core not in names:
        raise AidgeError(
            f"{name} has no core '{core}'" if core else f"{name} has {len(processors)} cores",
            where=where,
            code=CODE,
            hint=f"name one: {', '.join(f'{name}:{found}' for found in names if found) or name}",
        )
    return processors[names.index(core)] if core in names else (processors or [{}])[0]


def _merged(path: Levels, tag: str, keys: tuple[str, ...]) -> list[dict[str, str]]:
    """Returns the elements `tag` of all nested elements. Elements with equal `keys` become one; the innermost attributes win."""
    found: dict[tuple[str, ...], dict[str, str]] = {}
    for level in path:
        for element in level.findall(tag):
            key = tuple(element.get(name, "") for name in keys)
            found[key] = {**found.get(key, {}), **element.attrib}
    return list(found.values())


def _has(processor: dict[str, str], attribute: str) -> bool | None:
    return processor[attribute].lower() not in _ABSENT if attribute in processor else None


def _memory(attributes: dict[str, str], where: str) -> Memory | None:
    """Returns None for an element without programs or data: peripherals, and other addresses of memories that are listed, too."""
    identity, access = attributes.get("id", ""), attributes.get("access", "")
    if "alias" in attributes or "p" in access or (access and "r" not in access) or "start" not in attributes:
        return None
    length = _number(attributes.get("size", "0"), where)
    if not length:
        return None
    return Memory(
        name=attributes.get("name") or identity,
        origin=_number(attributes["start"], where),
        length_bytes=length,
        is_flash="w" not in access if access else identity.startswith("IROM"),
        is_default=attributes.get("default", "0") in ("1", "true"),
        is_start=attributes.get("startup", "0") in ("1", "true"),
    )


def _number(text: str, where: str) -> int:
    try:
        number = int(text, 0)
    except ValueError:
        number = -1
    if not 0 <= number < 1 << 40:
        raise AidgeError(f"{text!r} is no number", where=where, code=CODE, hint="sizes and addresses are 0x... or decimal")
    return number
