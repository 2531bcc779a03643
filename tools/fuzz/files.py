# SPDX-License-Identifier: MIT
"""Files of one kind that are damaged, and the commands that read them."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random

MEMORIES = ["--region", "FLASH=0x08000000,0x100000,flash", "--region", "RAM=0x20000000,0x20000,ram"]


class Files:
    """Files of one kind, and the commands that read them; `commands` are words in which {} is the damaged file."""

    def __init__(self, folder: Path, seeds: list[bytes], damage: Callable, name: str, commands: list[list[str]]):
        self.path, self.seeds, self.damage, self.commands = folder / name, seeds, damage, commands
        self.path.parent.mkdir(parents=True, exist_ok=True)

    def damaged(self, chance: Random) -> list[str]:
        """Writes the file, and gives the words of a command."""
        self.path.write_bytes(self.damage(chance.choice(self.seeds), chance))
        return [word.replace("{}", str(self.path)) for word in chance.choice(self.commands)]

    def keep(self, place: Path) -> None:
        """Copies the damaged file to a place that is named after the kind and the seed."""
        shutil.copyfile(self.path, place.with_name(f"{place.name}-{self.path.name}"))
