# SPDX-License-Identifier: MIT
"""What the manifests of packages name is what is in them, and their examples find no difference on an emulated core.

The manifests are read as their build systems read them: CMake and make run with stand-ins for what an SDK would define.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from aidge_build.boards import load_board
from aidge_build.measure.packages import load_target, targets
from aidge_build.run.emulate import run_program
from aidge_build.run.toolchain import build_program
from tests.command import aidge_build
from tests.packaged import packaged
from tests.programs import needs_cross_compiler, needs_cross_cplusplus
from tests.small_model import small_model

CLASSES = ("Cclass", "Cgroup", "Csub")
GENERATED = ("hello.c", "hello_self_test.c", "hello_weights.c")
needs_cmake = pytest.mark.skipif(not shutil.which("cmake"), reason="needs cmake")
needs_make = pytest.mark.skipif(not shutil.which("make"), reason="needs make")
needs_rust = pytest.mark.skipif(not shutil.which("rustc"), reason="needs rustc")


@pytest.fixture(scope="module")
def folders(tmp_path_factory) -> dict[str, Path]:
    """The unpacked package of each target."""
    work = tmp_path_factory.mktemp("packages")
    (work / "hello.onnx").write_bytes(small_model())
    return {target: packaged(target, work / "hello.onnx", work / target) for target in targets()}


def by_cmake(script: Path, *functions: str) -> dict[str, list[str]]:
    """The arguments of all calls of these functions while CMake reads a script."""
    stand_ins = "".join(f'function({name})\n message("{name};${{ARGV}}")\nendfunction()\n' for name in functions)
    main = script.parent / "stand_ins.cmake"
    main.write_text(f"{stand_ins}set(CONFIG_MODEL_HELLO y)\ninclude({script})\n")
    done = subprocess.run(["cmake", "-P", main], cwd=script.parent, capture_output=True, text=True, check=True)
    main.unlink()
    calls: dict[str, list[str]] = {name: [] for name in functions}
    for line in done.stderr.splitlines():
        name, *words = line.split(";")
        calls[name] += words
    return calls


def paths(folder: Path, names) -> set[Path]:
    return {(folder / name).resolve() for name in names}


def in_espidf(folder: Path) -> tuple[set[Path], Path]:
    calls = by_cmake(folder / "CMakeLists.txt", "idf_component_register", "target_linker_script")
    assert calls["target_linker_script"] == ["INTERFACE", "aidge_note.ld"]
    assert ".note.aidge 0 :" in (folder / "aidge_note.ld").read_text()
    words = calls["idf_component_register"]
    place = words.index("INCLUDE_DIRS")
    assert words[0] == "SRCS" and len(words) == place + 2
    return paths(folder, words[1:place]), folder / words[-1]


def in_zephyr(folder: Path) -> tuple[set[Path], Path]:
    names = ("zephyr_library_named", "zephyr_library_sources", "zephyr_include_directories", "zephyr_linker_sources")
    calls = by_cmake(folder / "zephyr" / "CMakeLists.txt", *names)
    assert calls["zephyr_library_named"] == ["model_hello"]
    assert calls["zephyr_linker_sources"] == ["SECTIONS", "note.ld"]
    assert ".note.aidge 0 :" in (folder / "zephyr" / "note.ld").read_text()
    (include,) = calls["zephyr_include_directories"]
    return paths(folder / "zephyr", calls["zephyr_library_sources"]), folder / "zephyr" / include


def in_micropython(folder: Path) -> tuple[set[Path], Path]:
    names = ("add_library", "target_sources", "target_include_directories", "target_link_libraries")
    calls = by_cmake(folder / "micropython.cmake", *names)
    assert calls["target_link_libraries"] == ["usermod", "INTERFACE", "usermod_model_hello"]
    makefile = f"USERMOD_DIR={folder}\ninclude {folder}/micropython.mk\n$(info $(SRC_USERMOD_C) $(SRC_USERMOD_LIB_C))\nall:\n"
    done = subprocess.run(["make", "-s", "-f", "-"], input=makefile, capture_output=True, text=True, check=True)
    sources = paths(folder, calls["target_sources"][2:])
    assert paths(folder, done.stdout.split()) == sources
    sources.remove((folder / "src" / "model_hello_module.c").resolve())
    return sources, Path(calls["target_include_directories"][-1])


def in_platformio(folder: Path) -> tuple[set[Path], Path]:
    manifest = json.loads((folder / "library.json").read_text())
    assert manifest["name"] == folder.name and set(manifest["headers"]) <= {path.name for path in (folder / "src").iterdir()}
    return set((folder / "src").resolve().glob("*.c")), folder / "src"


def in_cmsis_pack(folder: Path) -> tuple[set[Path], Path]:
    (description,) = folder.glob("*.pdsc")
    root = ElementTree.fromstring(description.read_text())
    assert description.name == f"{root.findtext('vendor')}.{root.findtext('name')}.pdsc"
    files = [(each.get("category"), each.get("name")) for each in root.iter("file")]
    assert all((folder / name).exists() for _, name in files)
    (include,) = (name for category, name in files if category == "include")
    (layer,) = root.iter("clayer")
    text = (folder / layer.get("path") / layer.get("file")).read_text()
    component = "::".join([root.findtext("vendor"), ":".join(next(root.iter("component")).get(key) for key in CLASSES)])
    assert f"component: {component}\n" in text and f"pack: {root.findtext('vendor')}::model_hello@1.0.0\n" in text
    assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9 -]+::[A-Za-z0-9][\w+()/ .-]+(:[A-Za-z0-9][\w+()/ .-]+){2}", component)
    return paths(folder, (name for category, name in files if category == "sourceC")), folder / include


def in_rust(folder: Path) -> tuple[set[Path], Path]:
    text = (folder / "build.rs").read_text()
    (names,) = re.findall(r"const CODE: \[&str; 3\] = \[(.*?)\];", text)
    (include,) = re.findall(r'\.include\("(.*?)"\)', text)
    return paths(folder, json.loads(f"[{names}]")), folder / include


def in_cubemx(folder: Path) -> tuple[set[Path], Path]:
    """By hand in the IDE; for its other toolchain the page has lines of CMake."""
    page = (folder / "README.md").read_text()
    assert "`model_hello/Src`" in page and "`../model_hello/Src`" in page
    (lines,) = re.findall(r"```cmake\n(.*?)```", page, re.S)
    script = folder.parent / "lines.cmake"
    script.write_text(f"set(CMAKE_PROJECT_NAME firmware)\n{lines.replace('CONFIGURE_DEPENDS ', '')}")  # a script has none
    calls = by_cmake(script, "target_sources", "target_include_directories")
    assert [words[:2] for words in calls.values()] == [["firmware", "PRIVATE"]] * 2
    return paths(folder.parent, calls["target_sources"][2:]), folder.parent / calls["target_include_directories"][2]


def in_arduino(folder: Path) -> tuple[set[Path], Path]:
    return set((folder / "src").resolve().glob("*.c")), folder / "src"


def in_plain(folder: Path) -> tuple[set[Path], Path]:
    return {path.resolve() for path in folder.glob("*.c") if path.name != "main.c"}, folder


READ = {
    "arduino": in_arduino,
    "cmsis-pack": in_cmsis_pack,
    "cubemx": in_cubemx,
    "espidf": in_espidf,
    "micropython": in_micropython,
    "plain": in_plain,
    "platformio": in_platformio,
    "rust": in_rust,
    "zephyr": in_zephyr,
}


@needs_cmake
@needs_make
@pytest.mark.parametrize("target", READ)
def test_the_manifest_names_all_generated_files_and_they_are_the_same_everywhere(target, folders):
    sources, include = READ[target](folders[target])
    assert sorted(path.name for path in sources) == sorted(GENERATED)
    for path in (*sources, include / "hello.h", include / "hello_self_test.h"):
        assert path.read_bytes() == (folders["plain"] / path.name).read_bytes()


def test_every_target_that_names_a_tool_has_its_manifest_read_here():
    assert [name for name in targets() if load_target(name).tool and name not in READ] == []


EXAMPLES = {
    "cmsis-pack": "examples/self_test/main.c",
    "espidf": "examples/self_test/main/main.c",
    "plain": "main.c",
    "zephyr": "samples/self_test/src/main.c",
}
CALLER = """
#include "semihosting.h"
#include <stdarg.h>
int printed(const char *format, ...);
int printed(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    for (; *format; format++) {
        char one[2] = {*format, 0};
        if (format[0] == '%' && format[1] == 'l' && format[2] == 'd') {
            semihosting_write_integer((int32_t)va_arg(values, long));
            format += 2;
        } else {
            semihosting_write0(one);
        }
    }
    va_end(values);
    return 0;
}
"""


@needs_cross_compiler
def test_the_examples_find_no_difference_on_an_emulated_core(folders, tmp_path):
    """All in one program, so that the model is compiled once."""
    mains, calls = [], []
    for target, path in EXAMPLES.items():
        name = f"main_of_{target.replace('-', '_')}"
        text = (folders[target] / path).read_text().replace("#include <stdio.h>", "int printed(const char *format, ...);")
        text = re.sub(r"\b(main|app_main)\(void\)", f"{name}(void)", text).replace("printf(", "printed(")
        assert name in text and "printed(" in text
        declared = re.search(rf"^(int|void) {name}\(void\)", text, re.M)[0]
        mains.append(tmp_path / f"{name}.c")
        mains[-1].write_text(text)
        calls.append(f"{{ {declared}; {name}(); }}")
    (tmp_path / "caller.c").write_text(f"{CALLER}\nint main(void) {{ {' '.join(calls)} return 0; }}\n")
    board = load_board("microbit")
    sources = [folders["plain"] / name for name in GENERATED]
    elf = build_program(
        board,
        [*sources, *mains, tmp_path / "caller.c"],
        tmp_path / "app.elf",
        work_folder=tmp_path / "objects",
        include_folders=[folders["plain"]],
    )
    result = run_program(elf, board, work_folder=tmp_path, count=False)
    assert result.stdout == "hello: 0 differing values\n" * len(EXAMPLES)


@needs_cross_cplusplus
def test_the_other_examples_compile(folders, tmp_path):
    (tmp_path / "Arduino.h").write_text(
        "struct Printer { void begin(long); template<class T> void print(T); template<class T> void println(T); };\n"
        "extern Printer Serial; void delay(long);\n"
    )
    main = folders["platformio"] / "examples" / "self_test" / "src" / "main.cpp"
    words = ["arm-none-eabi-g++", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", f"-I{folders['platformio'] / 'src'}"]
    subprocess.run([*words, main], check=True)
    subprocess.run([*words, f"-I{tmp_path}", "-DARDUINO=1", main], check=True)
    example = folders["cubemx"] / "Doc" / "example_main.c"
    subprocess.run(["cc", "-fsyntax-only", "-Wall", "-Werror", f"-I{folders['cubemx'] / 'Src'}", example], check=True)


# What py/obj.h and py/runtime.h declare of what the module uses.
OBJECTS = """
#include <stddef.h>
#include <stdint.h>
typedef void *mp_obj_t;
typedef uintptr_t mp_uint_t;
typedef struct { void *buf; size_t len; int typecode; } mp_buffer_info_t;
typedef struct { int name; } mp_obj_type_t;
typedef struct { const mp_obj_type_t *type; } mp_obj_base_t;
typedef struct { mp_obj_base_t base; size_t used; const void *table; } mp_obj_dict_t;
typedef struct { mp_obj_base_t base; mp_obj_dict_t *globals; } mp_obj_module_t;
typedef struct { const void *key; const void *value; } mp_rom_map_elem_t;
extern const mp_obj_type_t mp_type_module, mp_type_dict, mp_type_ValueError;
void mp_get_buffer_raise(mp_obj_t object, mp_buffer_info_t *found, mp_uint_t flags);
void mp_raise_msg_varg(const mp_obj_type_t *type, const char *format, ...);
void mp_raise_ValueError(const char *text);
mp_obj_t mp_obj_new_int(intptr_t value);
#define MP_BUFFER_READ 1
#define MP_BUFFER_WRITE 2
#define MP_ERROR_TEXT(text) text
#define mp_const_none ((mp_obj_t)0)
#define MP_ROM_QSTR(name) ((const void *)(name))
#define MP_ROM_PTR(place) ((const void *)(place))
#define MP_ROM_INT(value) ((const void *)(uintptr_t)(value))
#define MP_DEFINE_CONST_FUN_OBJ_0(name, function) const struct { mp_obj_t (*call)(void); } name = {function}
#define MP_DEFINE_CONST_FUN_OBJ_VAR_BETWEEN(name, least, most, function) \\
    const struct { int from, to; mp_obj_t (*call)(size_t, const mp_obj_t *); } name = {least, most, function}
#define MP_DEFINE_CONST_DICT(name, entries) \\
    const mp_obj_dict_t name = {{&mp_type_dict}, sizeof entries / sizeof entries[0], entries}
"""


def test_the_module_for_micropython_fits_its_interface(folders, tmp_path):
    module = folders["micropython"] / "src" / "model_hello_module.c"
    names = sorted(set(re.findall(r"MP_QSTR_\w+", module.read_text())))
    assert names == [f"MP_QSTR_{name}" for name in ("INPUT_BYTES", "OUTPUT_BYTES", "__name__", "model_hello", "run", "self_test")]
    (tmp_path / "py").mkdir()
    marks = "".join(f'#define {name} "{name}"\n' for name in names)
    (tmp_path / "py" / "obj.h").write_text(f"{OBJECTS}{marks}#define MP_REGISTER_MODULE(name, module) extern int registered\n")
    (tmp_path / "py" / "runtime.h").write_text("")
    include = [f"-I{tmp_path}", f"-I{module.parent}"]
    subprocess.run(["cc", "-std=gnu99", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", *include, module], check=True)


@needs_rust
def test_the_crate_is_rust_without_std(folders, tmp_path):
    words = ["rustc", "--edition", "2021", "--crate-type", "rlib", "--emit", "metadata", "--out-dir", tmp_path, "-Dwarnings"]
    done = subprocess.run([*words, folders["rust"] / "src" / "lib.rs"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "#![no_std]" in (folders["rust"] / "src" / "lib.rs").read_text()


@pytest.mark.parametrize(
    ("core", "name"),
    [("cortex-m0plus", "Cortex-M0+"), ("cortex-m35p+nodsp", "Cortex-M35P"), ("cortex-m4", "Cortex-M4"), ("", "")],
)
def test_a_pack_asks_for_the_core_that_its_kernels_are_for(tmp_path, core, name):
    (tmp_path / "hello.onnx").write_bytes(small_model())
    folder = packaged("cmsis-pack", tmp_path / "hello.onnx", tmp_path / "out", *(["--cpu", core] if core else []))
    (description,) = folder.glob("*.pdsc")
    root = ElementTree.fromstring(description.read_text())
    assert [each.get("Dcore") for each in root.iter("require")] == ([name] if name else [])
    assert [each.get("condition") for each in root.iter("component")] == (["core"] if name else [None])


def test_options_that_only_other_packages_can_have_are_refused_by_name(tmp_path):
    (tmp_path / "hello.onnx").write_bytes(small_model())
    for target in ("rust", "micropython"):
        for option, value, wanted in (("arena", "caller", "static"), ("io", "arena", "caller"), ("update", "weights", "none")):
            words = ("--for", target, "--out", tmp_path / "out", f"--{option}", value)
            result = aidge_build("package", tmp_path / "hello.onnx", *words)
            assert result.exit_code == 2 and f"--{option} {wanted}" in result.stderr
    assert not (tmp_path / "out").exists()
