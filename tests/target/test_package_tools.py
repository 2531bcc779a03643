# SPDX-License-Identifier: MIT
"""Packages in the hands of their ecosystems' own tools, those that are on this machine: AIDGE_STRESS=1 runs them.

What is built for a Cortex-M4 runs in an emulator, with this repository's start-up code; the rest runs on this machine.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from importlib.metadata import version
from pathlib import Path

import pytest

from aidge_build.boards import load_board
from aidge_build.run.emulate import run_program
from aidge_build.run.toolchain import build_program
from tests.packaged import packaged
from tests.programs import needs_cross_cplusplus
from tests.small_model import small_model

pytestmark = pytest.mark.skipif("AIDGE_STRESS" not in os.environ, reason="tools of ecosystems run in stress")
BOARD = "netduinoplus2"
FOUND = "hello: 0 differing values"
CRATES = Path("/usr/share/cargo/registry")  # where Debian's librust-cc-dev puts its crate
CPU = "-mcpu=cortex-m4 -mthumb -mfpu=fpv4-sp-d16 -mfloat-abi=hard -O2 -ffunction-sections -fdata-sections"
NO_UNWINDING = "-Wl,--defsym=__exidx_start=0,--defsym=__exidx_end=0"
# What printf of the C library asks of a board.
SYSTEM_CALLS = """
#include "semihosting.h"
int _write(int file, const char *data, int count)
{
    char one[2] = {0, 0};
    (void)file;
    for (int index = 0; index < count; index++) {
        one[0] = data[index];
        semihosting_write0(one);
    }
    return count;
}
void *_sbrk(int count)
{
    static char heap[8192];
    static int used;
    used += count;
    return heap + used - count;
}
int _close(int file) { return file; }
int _fstat(int file, void *status) { (void)status; return file; }
int _isatty(int file) { (void)file; return 1; }
int _lseek(int file, int offset, int from) { return file & offset & from; }
int _read(int file, char *data, int count) { (void)data; return file & count & 0; }
int _kill(int process, int signal) { return process & signal; }
int _getpid(void) { return 1; }
"""


def needs(program: str):
    return pytest.mark.skipif(not shutil.which(program), reason=f"needs {program}")


def source_of(variable: str) -> Path:
    """The folder or file that an environment variable names, or a skip that asks for it."""
    if not os.environ.get(variable):
        pytest.skip(f"{variable} names nothing")
    return Path(os.environ[variable])


def run(*words, cwd: Path, **environment) -> str:
    """What a command prints; a test fails with it where the command fails."""
    done = subprocess.run(
        [str(word) for word in words], cwd=cwd, env={**os.environ, **environment}, capture_output=True, text=True
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def hello(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("model") / "hello.onnx"
    path.write_bytes(small_model())
    return path


@pytest.fixture(scope="module")
def link_words(tmp_path_factory) -> str:
    """Linker script, start-up code and system calls of the emulated board, as flags."""
    work, board = tmp_path_factory.mktemp("board"), load_board(BOARD)
    (work / "calls.c").write_text(SYSTEM_CALLS)
    (work / "main.c").write_text("int main(void) { return 0; }\n")
    build_program(board, [work / "main.c", work / "calls.c"], work / "app.elf", work_folder=work / "objects")
    objects = [path for path in sorted((work / "objects").glob("*.o")) if "main" not in path.name]
    return " ".join(
        [
            "-nostartfiles",
            "--specs=nano.specs",
            "-Wl,--gc-sections",
            NO_UNWINDING,
            f"-T{work}/objects/{BOARD}.ld",
            *map(str, objects),
        ]
    )


def emulated(elf: Path) -> str:
    return run_program(elf, load_board(BOARD), work_folder=elf.parent, count=False).stdout.strip()


ARDUINO = """
#include <stdint.h>
extern "C" {
void semihosting_write0(const char *);
void semihosting_write_integer(int32_t);
void semihosting_exit(int) __attribute__((noreturn));
}
struct Printer {
    void begin(unsigned long) {}
    void print(const char *text) { semihosting_write0(text); }
    void print(long value) { semihosting_write_integer((int32_t)value); }
    void print(unsigned long value) { print((long)value); }
    void println(const char *text) { print(text); }
};
extern Printer Serial;
inline unsigned long micros() { return 0; }
inline void delay(unsigned long) { semihosting_exit(0); }
void setup();
void loop();
"""
PLATFORM = """
name=Emulated
version=1.0.0
recipe.c.o.pattern=arm-none-eabi-gcc -c {cpu} -Wall -Werror {{includes}} "{{source_file}}" -o "{{object_file}}"
recipe.cpp.o.pattern=arm-none-eabi-g++ -c {cpu} -Wall -Werror -fno-exceptions {{includes}} "{{source_file}}" -o "{{object_file}}"
recipe.ar.pattern=arm-none-eabi-ar rcs "{{archive_file_path}}" "{{object_file}}"
program={{build.path}}/app.elf
recipe.c.combine.pattern=arm-none-eabi-gcc {cpu} {link} -o "{{program}}" {{object_files}} "{{build.path}}/{{archive_file}}"
recipe.size.pattern=arm-none-eabi-size "{{build.path}}/app.elf"
recipe.preproc.macros=arm-none-eabi-g++ {cpu} -w -x c++ -E -CC {{includes}} "{{source_file}}" -o "{{preprocessed_file_path}}"
"""


@needs("arduino-builder")
@needs_cross_cplusplus
def test_arduino_builder_finds_the_library_and_its_sketch_runs(hello, link_words, tmp_path):
    folder = packaged("arduino", hello, tmp_path / "made")
    shutil.copytree(folder, tmp_path / "libraries" / folder.name)
    sketch = shutil.copytree(folder / "examples" / "self_test", tmp_path / "self_test") / "self_test.ino"
    core = tmp_path / "hardware" / "local" / "arm"
    (core / "cores" / "arduino").mkdir(parents=True)
    (core / "variants" / "v").mkdir(parents=True)
    (core / "boards.txt").write_text("m4.name=M4\nm4.build.board=M4\nm4.build.core=arduino\nm4.build.variant=v\n")
    (core / "platform.txt").write_text(PLATFORM.format(cpu=CPU, link=link_words))
    (core / "cores" / "arduino" / "Arduino.h").write_text(f"#pragma once\n{ARDUINO}")
    (core / "cores" / "arduino" / "main.cpp").write_text(
        '#include "Arduino.h"\nPrinter Serial;\nint main() { setup(); for (;;) loop(); }\n'
    )
    for name in ("build", "tools"):
        (tmp_path / name).mkdir()
    hardware = [word for place in (tmp_path / "hardware", "/usr/share/arduino-builder") for word in ("-hardware", place)]
    words = ["-tools", tmp_path / "tools", "-libraries", tmp_path / "libraries", "-build-path", tmp_path / "build"]
    run("arduino-builder", "-compile", *hardware, *words, "-fqbn", "local:arm:m4", sketch, cwd=tmp_path)
    assert emulated(tmp_path / "build" / "app.elf").startswith(FOUND)


@needs("pio")
@needs_cross_cplusplus
def test_platformio_finds_the_library_and_its_example_runs(hello, link_words, tmp_path):
    """With a platform of its own and this project's SCons, as registries may be out of reach."""
    numbers = [int(number) for number in version("scons").split(".")]
    tool = tmp_path / "core" / "packages" / "tool-scons"
    tool.mkdir(parents=True)
    import SCons

    shutil.copytree(Path(SCons.__file__).parent, tool / "SCons")
    (tool / "scons.py").write_text("import SCons.Script\nSCons.Script.main()\n")
    found = "4.%d%02d%02d.0" % tuple(numbers)
    (tool / "package.json").write_text(f'{{"name": "tool-scons", "version": "{found}"}}')
    spec = '{"owner": "platformio", "id": null, "name": "tool-scons", "requirements": null, "uri": null}'
    (tool / ".piopm").write_text(f'{{"type": "tool", "name": "tool-scons", "version": "{found}", "spec": {spec}}}')
    platform = tmp_path / "platform"
    (platform / "builder").mkdir(parents=True)
    (platform / "platform.json").write_text(
        '{"name": "emulated", "title": "Emulated", "description": "Cortex-M4", "version": "1.0.0", "packages": {}}'
    )
    (platform / "platform.py").write_text(
        "from platformio.public import PlatformBase\n\n\nclass EmulatedPlatform(PlatformBase):\n    pass\n"
    )
    (platform / "builder" / "main.py").write_text(
        "from SCons.Script import Default, DefaultEnvironment\n"
        "env = DefaultEnvironment()\n"
        "env.Replace(CC='arm-none-eabi-gcc', CXX='arm-none-eabi-g++', LINK='arm-none-eabi-g++', AR='arm-none-eabi-ar',\n"
        "    RANLIB='arm-none-eabi-ranlib', SIZETOOL='arm-none-eabi-size', PROGSUFFIX='.elf')\n"
        f"env.Append(CCFLAGS={CPU.split()!r}, LINKFLAGS={[*CPU.split(), *link_words.split()]!r})\n"
        "Default([env.BuildProgram()])\n"
    )
    project = tmp_path / "project"
    folder = packaged("platformio", hello, project / "lib")
    shutil.copytree(folder / "examples" / "self_test" / "src", project / "src")
    (project / "platformio.ini").write_text(f"[env:emulated]\nplatform = symlink://{platform}\n")
    printed = run("pio", "run", cwd=project, PLATFORMIO_CORE_DIR=str(tmp_path / "core"), PLATFORMIO_SETTING_ENABLE_TELEMETRY="no")
    assert "model_hello @ 1.0.0" in printed
    assert emulated(project / ".pio" / "build" / "emulated" / "program.elf") == FOUND


@needs("compote")
def test_the_manager_of_components_packs_the_component(hello, tmp_path):
    folder = packaged("espidf", hello, tmp_path)
    assert run("compote", "manifest", "lint", ".", cwd=folder).strip() == ""
    run("compote", "component", "pack", "--name", folder.name, "--dest-dir", tmp_path / "packed", cwd=folder)
    assert {path.name for path in (tmp_path / "packed").glob("*.tgz")} >= {"model_hello_1.0.0.tgz"}


def test_esp_idf_builds_the_example_for_this_machine(hello, tmp_path):
    """IDF_PATH and the Python packages of ESP-IDF are there: its target is linux."""
    source_of("IDF_PATH")
    example = packaged("espidf", hello, tmp_path) / "examples" / "self_test"
    words = ["-G", "Ninja", "-B", "build", "-DIDF_TARGET=linux", "-DPYTHON_DEPS_CHECKED=1", "."]
    run("cmake", *words, cwd=example, IDF_TARGET="linux", IDF_COMPONENT_MANAGER="1")
    run("ninja", "-C", "build", cwd=example, IDF_TARGET="linux", IDF_COMPONENT_MANAGER="1")
    assert FOUND in said_until([example / "build" / "self_test.elf"], "differing")  # it never ends: the scheduler goes on


def test_micropython_imports_the_module(hello, tmp_path):
    """MICROPYTHON is a checkout with mpy-cross built: its unix port is built with the module."""
    checkout = source_of("MICROPYTHON")
    folder = packaged("micropython", hello, tmp_path / "modules")
    switches = [f"MICROPY_PY_{name}=0" for name in ("SSL", "BTREE", "FFI")]
    words = ["-C", checkout / "ports" / "unix", f"BUILD={tmp_path}/build", f"USER_C_MODULES={folder.parent}", "FROZEN_MANIFEST="]
    run("make", "-j2", *words, *switches, cwd=tmp_path)
    interpreter = tmp_path / "build" / "micropython"
    assert run(interpreter, folder / "examples" / "self_test.py", cwd=tmp_path).strip() == FOUND
    wrong = "import model_hello\ntry:\n model_hello.run(bytearray(7), bytearray(3))\nexcept ValueError as error:\n print(error)"
    assert run(interpreter, "-c", wrong, cwd=tmp_path).strip() == "7 bytes are there, 8 are wanted"
    shared = "both = memoryview(bytearray(10))\n"
    wrong = wrong.replace("bytearray(7), bytearray(3)", "both[:8], both[7:]").replace("import", f"{shared}import")
    assert run(interpreter, "-c", wrong, cwd=tmp_path).strip() == "an output overlaps an input"


@needs("cargo")
def test_cargo_builds_the_crate_and_runs_its_tests(hello, tmp_path):
    if not list(CRATES.glob("cc-*")):
        pytest.skip(f"the crate cc is not in {CRATES} (Debian: librust-cc-dev)")
    folder = packaged("rust", hello, tmp_path)
    (tmp_path / ".cargo").mkdir()
    (tmp_path / ".cargo" / "config.toml").write_text(
        f'[source.crates-io]\nreplace-with = "debian"\n[source.debian]\ndirectory = "{CRATES}"\n'
    )
    printed = run("cargo", "test", "--offline", cwd=folder)
    assert len(re.findall(r"test result: ok\. 1 passed", printed)) == 2
    assert run("cargo", "run", "-q", "--offline", "--example", "self_test", cwd=folder).strip() == FOUND


@needs("xmllint")
def test_the_description_of_the_pack_suits_the_schema(hello, tmp_path):
    schema = source_of("PACK_XSD")
    for number, words in enumerate([(), ("--cpu", "cortex-m0plus"), ("--board", "stm32f7", "--author", "Ada L. <a@b.c>")]):
        folder = packaged("cmsis-pack", hello, tmp_path / str(number), *words)
        run("xmllint", "--noout", "--schema", schema, *folder.glob("*.pdsc"), cwd=tmp_path)
        if shutil.which("packchk"):
            printed = run("packchk", "-s", schema, *folder.glob("*.pdsc"), cwd=tmp_path)
            assert "Found 0 Error(s) and 0 Warning(s)." in printed


@needs("west")
def test_west_fetches_the_module(hello, tmp_path):
    folder = packaged("zephyr", hello, tmp_path / "made")
    identity = ["-c", "user.email=a@example.com", "-c", "user.name=a"]
    for words in (["init", "-q", "-b", "main", "."], ["add", "-A"], [*identity, "commit", "-qm", "module"]):
        run("git", *words, cwd=folder)
    (tmp_path / "work" / "app").mkdir(parents=True)
    (tmp_path / "work" / "app" / "west.yml").write_text(
        f"manifest:\n  projects:\n    - name: model_hello\n      url: file://{folder}\n      path: modules/model_hello\n"
        "      revision: main\n"
    )
    run("west", "init", "-l", "app", cwd=tmp_path / "work")
    run("west", "update", cwd=tmp_path / "work")
    run("west", "manifest", "--validate", cwd=tmp_path / "work")
    assert (tmp_path / "work" / "modules" / "model_hello" / "zephyr" / "module.yml").is_file()


@needs("west")
@needs("qemu-system-arm")
def test_zephyr_builds_the_sample_and_it_runs(hello, tmp_path):
    """ZEPHYR_BASE is a checkout, ZEPHYR_MODULES are its modules (CMSIS); its Python packages are beside west."""
    is_new = (source_of("ZEPHYR_BASE") / "boards" / "arm" / "mps2").is_dir()  # since Zephyr 3.7
    sample = packaged("zephyr", hello, tmp_path / "made", "--cpu", "cortex-m3") / "samples" / "self_test"
    python = Path(str(shutil.which("west"))).parent / "python"
    board = "mps2/an385" if is_new else "mps2_an385"
    words = [f"-DZEPHYR_MODULES={os.environ.get('ZEPHYR_MODULES', '')}", f"-DPython3_EXECUTABLE={python}", f"-DBOARD={board}"]
    tools = {"ZEPHYR_TOOLCHAIN_VARIANT": "cross-compile", "CROSS_COMPILE": "/usr/bin/arm-none-eabi-"}
    run("cmake", "-G", "Ninja", "-B", tmp_path / "build", *words, ".", cwd=sample, **tools)
    printed = run("ninja", "-C", tmp_path / "build", cwd=tmp_path, **tools)
    assert ".note.aidge" not in printed  # the linker's warning of a section that nobody placed
    emulator = ["qemu-system-arm", "-M", "mps2-an385", "-nographic", "-kernel", tmp_path / "build" / "zephyr" / "zephyr.elf"]
    assert FOUND in said_until(emulator, "differing")


def said_until(words: list, last: str) -> str:
    """What a program that never ends prints, up to the line that holds `last`."""
    printed = ""
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as program:
        for line in program.stdout or ():
            printed += line
            if last in line:
                break
        program.kill()
    return printed
