# SPDX-License-Identifier: MIT
"""The wheel is the same tool: kernels, boards and the SCons tool are in it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv as venv_module
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

from aidge_build.base.installed import board_folder, cmake_folder, kernel_folder, scons_toolpath, zoo_folder
from aidge_build.base.zoo import names as zoo_names
from aidge_build.boards import list_boards
from tests.build.checkout import ROOT, copy_of_checkout
from tests.command import aidge_build
from tests.programs import needs_cross_compiler


@pytest.fixture(scope="module")
def sdist(tmp_path_factory) -> Path:
    """The archive of the sources, made from a clone without build litter."""
    pytest.importorskip("setuptools")
    if not (ROOT / ".git").exists():
        pytest.skip("needs a git checkout")
    return packed(copy_of_checkout(tmp_path_factory.mktemp("sdist") / "source", compiled=False))


@pytest.fixture(scope="module")
def wheel(sdist, tmp_path_factory) -> Path:
    """The wheel, made from the archive of the sources: what that lacks, this lacks."""
    shutil.unpack_archive(sdist, folder := tmp_path_factory.mktemp("wheel"))
    return built(folder / sdist.name.removesuffix(".tar.gz"))


def packed(source: Path) -> Path:
    return by_the_backend("sdist", source, "*.tar.gz")


def built(source: Path) -> Path:
    return by_the_backend("wheel", source, "*.whl")


def by_the_backend(kind: str, source: Path, name: str) -> Path:
    """What the build backend makes of the sources, as pip calls it: an installation of the checkout goes by pip itself."""
    code = f"from setuptools import build_meta; build_meta.build_{kind}('..')"
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], cwd=source, stdout=subprocess.DEVNULL, check=True)
    (made,) = source.parent.glob(name)
    return made


@pytest.fixture(scope="module")
def venv(wheel) -> Path:
    """A fresh environment with the wheel; what it depends on is that of the tests."""
    folder = wheel.parent / "venv"
    venv_module.create(folder, with_pip=False, symlinks=True)
    words = (
        "--python",
        folder / "bin/python",
        "install",
        "-q",
        "--no-compile",
        "--no-deps",
        "--no-index",
        "--disable-pip-version-check",
        wheel,
    )
    subprocess.run([sys.executable, "-m", "pip", *words], check=True)
    next(folder.glob("lib/python*/site-packages")).joinpath("tests.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    return folder


@pytest.fixture(scope="module")
def installed(venv) -> Path:
    """The folder of the installed package's modules."""
    return next(venv.glob("lib/python*/site-packages"))


def run_there(venv: Path, folder: Path, *words: object) -> str:
    """What a command of the environment prints, far from the checkout."""
    path = f"{venv / 'bin'}{os.pathsep}{os.environ['PATH']}"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {"PATH": path}
    done = subprocess.run([str(word) for word in words], cwd=folder, env=environment, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_wheel_holds_every_data_file_of_the_checkout(installed):
    for folder, inside in (
        (kernel_folder(), "kernels"),
        (board_folder(), "boards"),
        (Path(scons_toolpath()), "site_scons/site_tools"),
        (ROOT / "docs", "docs"),
        *((zoo_folder().parent / name, f"examples/{name}") for name in ("zoo", "digits", "anomaly", "keyword")),
    ):
        tracked = (
            subprocess.run(["git", "ls-files", "-z", "."], cwd=folder, capture_output=True, check=True)
            .stdout.decode()
            .split("\0")
        )
        for name in filter(None, tracked):
            if (folder / name).is_file() and (inside != "docs" or re.fullmatch(r"[\w-]+\.md", name)):
                assert (installed / "aidge_build" / "data" / inside / name).read_bytes() == (folder / name).read_bytes(), name


def test_the_wheel_holds_the_cmake_package(installed):
    for path in cmake_folder().iterdir():
        assert (installed / "aidge_build" / "build" / "cmake" / path.name).read_bytes() == path.read_bytes()


def test_a_message_of_the_wheel_names_a_page_that_is_there(venv, installed, tmp_path):
    help_page = run_there(venv, tmp_path, "aidge-build", "--help")
    page = installed / "aidge_build" / "data" / "docs" / "index.md"
    assert f"{page}: the documentation" in help_page and page.is_file()
    hint = "import aidge_build.base.installed as there; print(there.with_pages('the page docs/kit.md, a file my/docs/kit.md'))"
    said = run_there(venv, tmp_path, "python", "-c", hint)
    assert said == f"the page {page.with_name('kit.md')}, a file my/docs/kit.md\n"


def test_the_wheel_says_that_it_is_typed(installed):
    assert (installed / "aidge_build" / "py.typed").is_file()


def test_no_time_and_no_order_of_a_folder_is_in_the_wheel(wheel):
    with zipfile.ZipFile(wheel) as made:
        entries = made.infolist()
    assert {entry.date_time for entry in entries} == {(1980, 1, 1, 0, 0, 0)}
    own = [entry.filename for entry in entries if ".dist-info/" not in entry.filename]
    assert own == sorted(own, key=lambda name: [*((1, part) for part in name.split("/")[:-1]), (0, name)]) and {
        entry.external_attr >> 16 & 0o777 for entry in entries
    } <= {0o644, 0o755, 0o664, 0o775}


def test_no_time_owner_or_order_of_a_folder_is_in_the_archive_of_the_sources(sdist):
    with tarfile.open(sdist) as made:
        entries = made.getmembers()
    assert {(entry.mtime, entry.uid, entry.gid, entry.uname, entry.gname) for entry in entries} == {(315532800, 0, 0, "", "")}
    assert [entry.name for entry in entries] == sorted(entry.name for entry in entries)
    assert {entry.mode for entry in entries} <= {0o644, 0o755} and sdist.read_bytes()[4:8] == (315532800).to_bytes(4, "little")


@pytest.mark.skipif("AIDGE_STRESS" not in os.environ, reason="AIDGE_STRESS=1 builds wheel and archive twice")
def test_the_same_files_make_the_same_wheel_and_archive_whenever_they_were_written(wheel, sdist, tmp_path):
    source = copy_of_checkout(tmp_path / "another place", compiled=False)
    os.utime(source / "setup.py", (1_000_000_000, 1_000_000_000))
    for again, first in ((packed(source), sdist), (built(source), wheel)):
        assert again.name == first.name and again.read_bytes() == first.read_bytes()


@needs_cross_compiler
def test_firmware_is_generated_linked_proved_and_run_far_from_the_checkout(venv, installed, tmp_path):
    assert Path(run_there(venv, tmp_path, "aidge-build", "cmake-dir").strip()).is_relative_to(installed)
    assert len(run_there(venv, tmp_path, "aidge-build", "boards").splitlines()) == len(list_boards(()))
    assert len(run_there(venv, tmp_path, "aidge-build", "list", "zoo").splitlines()) == len(zoo_names()) + 1
    run_there(venv, tmp_path, "aidge-build", "new", "demo", "--board", "stm32f7")
    printed = run_there(venv, tmp_path / "demo", "python", "-m", "SCons", "-Q", "run")
    assert "output: -12 9 -35" in printed and "CHECK" in printed.upper()
    read = (tmp_path / "demo/build/models/digits.plan.json").read_text()
    assert str(ROOT) not in read
    run_there(venv, tmp_path, "aidge-build", "check", "demo/build/demo.elf", "--board", "stm32f7")
    tool = "import aidge_build\nenv = Environment(tools=['aidge'], toolpath=[aidge_build.scons_toolpath()])\n"
    (tmp_path / "SConstruct").write_text(tool + "print(*env.AidgeModel('kws', 'zoo:keyword', cpu='cortex-m4').plan.sources)\n")
    model = Path(run_there(venv, tmp_path, "python", "-m", "SCons", "-n", "-Q").splitlines()[0])
    assert model == installed / "aidge_build/data/examples/keyword/keyword.onnx" and model.is_file()


def test_importing_the_package_imports_nothing_else_of_it():
    code = (
        "import sys, aidge_build; print(sorted(name for name in sys.modules if name.split('.')[0] in "
        "{'aidge_build', 'numpy', 'onnx'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['aidge_build']"


def offline() -> list[str]:
    """The start of a command that has no network."""
    words = ["unshare", "--map-root-user", "--net"]
    if shutil.which("unshare") is None or subprocess.run([*words, "true"], capture_output=True, check=False).returncode:
        pytest.skip("needs unshare, which takes the network from a command")
    return words


def add_to_wheelhouse(name: str, folder: Path, known: set[str]) -> None:
    """Makes wheels of an installed package and of what it needs, without a network: their files, as they were installed."""
    if name in known:
        return
    known.add(name)
    package = metadata.distribution(name)
    tag = re.findall(r"^Tag: (\S+)", package.read_text("WHEEL"), re.MULTILINE)[-1]
    inside = [file for file in package.files if ".." not in file.parts and file.suffix != ".pyc"]
    with zipfile.ZipFile(folder / f"{package.metadata['Name'].replace('-', '_')}-{package.version}-{tag}.whl", "w") as made:
        for file in inside:
            if file.name not in ("RECORD", "INSTALLER", "REQUESTED", "direct_url.json"):
                made.write(file.locate(), file.as_posix())
        made.writestr(next(file.as_posix() for file in inside if file.name == "RECORD"), "")
    for requirement in package.requires or ():
        if "extra ==" not in requirement and "python_version <" not in requirement:
            add_to_wheelhouse(re.split(r"[\s;<>=!\[~(]", requirement)[0].lower().replace("_", "-"), folder, known)


@pytest.mark.skipif("AIDGE_STRESS" not in os.environ, reason="unpacks all packages that the tool needs: ./sconsw stress")
def test_a_wheelhouse_installs_the_tool_without_a_network_and_generates_the_same_files(wheel, tmp_path):
    words, house, tool = offline(), tmp_path / "wheelhouse", tmp_path / "tool"
    house.mkdir()
    shutil.copy(wheel, house)
    known = set[str]()
    for name in ("onnx", "flatbuffers", "numpy", "jinja2", "pyelftools", "rich", "scons"):
        add_to_wheelhouse(name, house, known)
    venv_module.create(tool, with_pip=False, symlinks=True)
    pip = [sys.executable, "-m", "pip", "--python", tool / "bin/python", "install", "-q", "--no-compile"]
    pip += ["--disable-pip-version-check", "--no-index", "--find-links", house, "aidge_build"]
    subprocess.run([*words, *pip], check=True)
    compiled = ("compile", ROOT / "examples/digits/digits.onnx", "--board", "stm32f4", "--out", tmp_path / "generated")
    assert aidge_build(*compiled).exit_code == 0
    done = run_there(tool, tmp_path, *words, tool / "bin/aidge-build", *compiled, "--check")
    assert "4 files, as aidge-build" in done
