# SPDX-License-Identifier: MIT
"""The description of a device from a file, by the file's ending."""

from __future__ import annotations

from pathlib import Path

from aidge_build.base.errors import AidgeError
from aidge_build.base.reading import LARGEST_TEXT_BYTES, read_regular
from aidge_build.measure.devices.device import CODE, Device
from aidge_build.measure.devices.devicetree import read as read_devicetree
from aidge_build.measure.devices.pack import read as read_pack

_READERS = {".pdsc": read_pack, ".dts": read_devicetree}


def read_device(path: Path, name: str) -> Device:
    """Returns the device `name` ("" if the file describes a single one) of a CMSIS pack's description or a devicetree.

    Raises AidgeError (BOARD): another kind of file, a file that cannot be read, a device that is not there (with near names).
    """
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise AidgeError(
            "neither the description of a CMSIS pack nor a devicetree",
            where=str(path),
            tried=sorted(_READERS),
            code=CODE,
            hint="a pack (.pack) is a zip file that holds one .pdsc; Zephyr leaves build/zephyr/zephyr.dts",
        )
    return reader(read_regular(path, LARGEST_TEXT_BYTES, CODE), name, str(path))
