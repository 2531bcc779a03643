# SPDX-License-Identifier: MIT
"""The architecture as facts: who may import whom, and what starts without heavy packages."""

from __future__ import annotations

import ast
import functools
import subprocess
import sys
from pathlib import Path

import pytest

from aidge_build.cli.verbs import MODULES

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "aidge_build"

# A module imports only from its own floor or one below it: here the first one is the lowest (docs/architecture.md).
FLOORS = (
    ("base",),
    ("graph",),
    ("boards",),
    ("operators",),
    ("contract",),
    ("sources",),
    ("prepare",),
    ("plan",),
    ("prove",),
    ("build",),
    ("run", "measure"),
    ("compat",),
    ("cli", "__main__"),
)
ONLY_IMPORTER = {
    "onnx": "sources.onnx_format",
    "flatbuffers": "sources.formats.tflite.file",
    "jinja2": "base.render",
    "unicorn": "run.emulate",
    "devicetree": "measure.devices",
    "distributed": "measure.sweep.on_dask",
    "sqlite3": "measure.sweep.store",
    "rich": "base.terminal",
    "shtab": "cli.completion",
    "cyclonedx": "measure.report.bill",
}


def modules():
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).with_suffix("").as_posix().replace("/", ".").removesuffix(".__init__")
        if name != "__init__" and not name.startswith("data."):
            yield name, path


@functools.cache
def read(path: Path) -> tuple[list[str], set[str]]:
    """What a module imports, and its texts."""
    imported, texts = [], set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            imported.append(node.module)
        elif isinstance(node, ast.Import):
            imported += [alias.name for alias in node.names]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            texts.add(node.value)
    return imported, texts


def imports(path: Path) -> list[str]:
    return read(path)[0]


def floor(name: str) -> int:
    floors = [index for index, rooms in enumerate(FLOORS) if name.partition(".")[0] in rooms]
    assert floors, f"{name} is in no room"
    return floors[0]


def test_every_module_imports_only_from_its_own_floor_or_below():
    wrong = [
        f"{name} imports {target}"
        for name, path in modules()
        for target in imports(path)
        if target.startswith("aidge_build.") and floor(target.removeprefix("aidge_build.")) > floor(name)
    ]
    assert wrong == []


def test_there_is_no_import_cycle():
    edges = {
        name: {target.removeprefix("aidge_build.") for target in imports(path) if target.startswith("aidge_build.")}
        for name, path in modules()
    }
    done: set[str] = set()

    def visit(name: str, above: tuple[str, ...]) -> None:
        assert name not in above, " -> ".join((*above, name))
        if name not in done:
            for target in sorted(edges.get(name, ())):
                visit(target, (*above, name))
            done.add(name)

    for name in edges:
        visit(name, ())


def test_the_kit_of_kernels_serves_kernels_alone():
    wrong = [name for name, path in modules() for target in imports(path) if target.startswith("aidge_build.contract.kernel_kit")]
    assert [name for name in wrong if not name.startswith("contract.kernel_kit")] == []


def test_each_heavy_package_has_one_importer():
    wrong = [
        f"{name} imports {target}"
        for name, path in modules()
        for target in imports(path)
        if target.split(".")[0] in ONLY_IMPORTER and not name.startswith(ONLY_IMPORTER[target.split(".")[0]])
    ]
    assert wrong == []


def test_the_core_names_no_library_and_no_board():
    names = [path.name for path in (ROOT / "kernels").iterdir() if path.is_dir()]
    names += [path.stem for path in (ROOT / "boards").glob("*.toml") if path.stem != "host"]
    wrong = [
        f"{name} names {word}"
        for name, path in modules()
        if not name.startswith("cli")
        for word in sorted(read(path)[1].intersection(names))
    ]
    assert wrong == [], "the core names a library or a board; or one has a word of the core as its name: choose another"


@pytest.mark.parametrize(
    "module, heavy",
    [
        ("aidge_build", {"numpy", "onnx", "jinja2", "elftools", "rich"}),
        ("aidge_build.cli.compile", {"jinja2", "elftools", "rich", "aidge_build.prove.elf.image"}),
    ],
)
def test_an_import_loads_nothing_heavy_that_it_does_not_need(module, heavy):
    code = f"import sys, {module}; print(sorted(set({sorted(heavy)}) & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.strip() == "[]", done.stderr


def test_the_page_of_all_verbs_loads_the_module_of_none():
    code = "import sys; from aidge_build.cli import main; main(['--help', 'all']); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    loaded = set(done.stdout.splitlines()[-1].split())
    assert not loaded & {f"aidge_build.cli.{name}" for name in MODULES}
    assert not loaded & {"numpy", "onnx", "jinja2", "elftools", "aidge_build.boards", "aidge_build.contract"}


def test_every_source_file_says_its_licence():
    files = [
        *PACKAGE.rglob("*.py"),
        *(ROOT / "kernels").rglob("*.[ch]"),
        *(ROOT / "kernels").rglob("*.py"),
        *(ROOT / "tests").rglob("*.py"),
        *(ROOT / "boards").rglob("*.*"),
    ]
    silent = [
        str(path.relative_to(ROOT))
        for path in files
        if path.is_file()
        and path.suffix in (".py", ".c", ".h", ".toml", ".md", ".j2")
        and "SPDX-License-Identifier:" not in path.read_text()[:300]
    ]
    assert silent == []
