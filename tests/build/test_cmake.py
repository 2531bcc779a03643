# SPDX-License-Identifier: MIT
"""Which steps a CMake project runs after which change, with both kinds of generator and a stand-in for aidge-build.

AIDGE_STRESS=1 deletes every output with Make, too."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from aidge_build.base.installed import cmake_folder
from tests.build.conftest import MAIN, MODEL, STUB
from tests.build.known_compiler import WORKS, begin_build

CMAKELISTS = """\
cmake_minimum_required(VERSION 3.20)
project(firmware LANGUAGES C)
add_compile_options(-Wall -Wextra -Werror)
find_package(aidge_build 0.1 CONFIG REQUIRED)
aidge_add_model(kws MODEL models/kws.onnx KERNEL_PATH kernels)
add_executable(app main.c)
target_link_libraries(app PRIVATE kws)
aidge_check_memory(app kws)
"""
GENERATORS = {"Ninja": "ninja", "Unix Makefiles": "make"}
STRESS = "AIDGE_STRESS" in os.environ
CROSS = ("-DCMAKE_SYSTEM_NAME=Generic", "-DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY")


@dataclass(frozen=True)
class Run:
    exit_code: int
    output: str

    @property
    def steps(self) -> set[str]:
        """The commands that ran: `AIDGE kws`, `CC main`, `AR kws`, `LINK app`."""
        verbs = {"AIDGE": "AIDGE", "Building C object": "CC", "Linking C static library": "AR", "Linking C executable": "LINK"}
        found = re.findall(rf"({'|'.join(verbs)}) +(?:.* -> )?(.*)$", self.output, re.MULTILINE)
        return {f"{verbs[verb]} {Path(target).name.split('.')[0].removeprefix('lib')}" for verb, target in found}


@dataclass(frozen=True)
class Firmware:
    """A CMake project at a path with a space."""

    folder: Path
    generator: str

    def write(self, name: str, text: str) -> Path:
        """Writes a file where its content differs."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
        return path

    def change(self, name: str, field: str) -> None:
        """Appends a digit to the first word after `field` of a file."""
        path = self.folder / name
        path.write_text(re.sub(rf"({field}\w+)", r"\g<1>1", path.read_text(), count=1))

    def lay_out(self) -> None:
        self.write("CMakeLists.txt", CMAKELISTS)
        self.write("main.c", MAIN)
        self.write("models/kws.onnx", MODEL)
        self.write("kernels/used.h", "/* one */\n")
        self.write("kernels/unused.h", "/* one */\n")

    def configure(self, *words: str, build: str = "build", command: str | None = None) -> Run:
        command = f"{sys.executable};{STUB}" if command is None else command
        if not re.search("COMPILER|--target", " ".join(words)):
            begin_build(self.folder / build, self.generator, *(word for word in words if word in CROSS))
        given = (f"-Daidge_build_DIR={cmake_folder()}", f"-DAIDGE_EXECUTABLE={command}", WORKS, *words)
        return self.run("cmake", "-S", ".", "-B", build, "-G", self.generator, *given)

    def run(self, *words: str) -> Run:
        done = subprocess.run(words, cwd=self.folder, text=True, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return Run(done.returncode, done.stdout)

    def build(self, build: str = "build") -> set[str]:
        """The steps of a build that must succeed."""
        run = self.run("cmake", "--build", build)
        assert run.exit_code == 0, run.output
        return run.steps


def new_firmware(folder: Path, generator: str) -> Firmware:
    for program in ("cmake", GENERATORS[generator], "cc"):
        if shutil.which(program) is None:
            pytest.skip(f"needs {program}")
    made = Firmware(folder / "a pröject", generator)
    made.lay_out()
    return made


@pytest.fixture(scope="module", params=GENERATORS)
def firmware(request, tmp_path_factory) -> Firmware:
    """The project, built; every test finds it built and leaves it so, with other contents."""
    made = new_firmware(tmp_path_factory.mktemp("cmake"), request.param)
    run = made.configure()
    assert run.exit_code == 0, run.output
    made.build()
    return made


def test_a_null_build_runs_nothing(firmware):
    assert firmware.build() == set()


def test_touching_the_model_runs_the_generator_and_compiles_and_links_nothing(firmware):
    os.utime(firmware.folder / "models/kws.onnx")
    assert firmware.build() == {"AIDGE kws"}
    assert firmware.build() == set()


def test_a_change_of_weights_alone_runs_the_generator_one_compile_and_the_link(firmware):
    firmware.change("models/kws.onnx", "weights=")
    assert firmware.build() == {"AIDGE kws", "CC kws_weights", "AR kws", "LINK app"}
    assert firmware.build() == set()


def test_a_change_of_topology_does_not_recompile_the_users_code(firmware):
    firmware.change("models/kws.onnx", "topology=")
    assert firmware.build() == {"AIDGE kws", "CC kws", "AR kws", "LINK app"}
    assert firmware.build() == set()


def test_a_kernel_that_is_used_recompiles_the_models_code_and_another_one_nothing(firmware):
    firmware.change("kernels/used.h", "/\\* ")
    assert firmware.build() == {"AIDGE kws", "CC kws", "AR kws", "LINK app"}
    firmware.change("kernels/unused.h", "/\\* ")
    assert firmware.build() == {"AIDGE kws"}
    assert firmware.build() == set()


def test_a_new_file_in_a_kernel_folder_regenerates(firmware):
    path = firmware.write("kernels/new.h", "/* new */\n")
    assert firmware.build() == {"AIDGE kws"}
    path.unlink()
    assert firmware.build() == {"AIDGE kws"}
    assert firmware.build() == set()


def test_a_changed_option_regenerates(firmware):
    firmware.write("CMakeLists.txt", CMAKELISTS.replace("KERNEL_PATH", "OPTIMIZE size KERNEL_PATH"))
    assert firmware.build() == {"AIDGE kws", "CC kws", "AR kws", "LINK app"}
    assert firmware.build() == set()


def test_a_deleted_output_comes_back_without_a_change_of_the_program(firmware):
    program = (firmware.folder / "build/app").read_bytes()
    # For Make each of them has a rule of the same form.
    outputs = ("kws.h", "kws.c", "kws_weights.c", "kws.plan.json")
    for output in outputs if STRESS or firmware.generator == "Ninja" else outputs[::3]:
        path = firmware.folder / "build/aidge/kws" / output
        path.unlink()
        assert "AIDGE kws" in firmware.build()
        assert path.exists() and (firmware.folder / "build/app").read_bytes() == program
    assert firmware.build() == set()


@pytest.mark.requirement("G16")
def test_the_check_follows_the_link_and_a_program_that_fails_is_removed_and_linked_again(firmware):
    program, findings = firmware.folder / "build/app", firmware.folder / "build/app.check.json"
    found = json.loads(findings.read_text())
    assert found["ok"] is True
    assert {Path(path).name.split(".")[0] for path in found["options"]["--objects"]} == {"kws", "kws_weights"}
    model = (firmware.folder / "models/kws.onnx").read_text()
    firmware.write("models/kws.onnx", model + "check=bad\n")
    for _ in range(2):
        run = firmware.run("cmake", "--build", "build")
        assert run.exit_code != 0 and "the arena is not the plan's" in run.output and "memory check of" in run.output
        assert not program.exists()
    firmware.write("models/kws.onnx", model)
    assert "LINK app" in firmware.build() and program.exists()


def test_a_failing_generator_fails_the_build_and_the_next_build_repairs_it(firmware):
    model = (firmware.folder / "models/kws.onnx").read_text()
    firmware.write("models/kws.onnx", "nonsense\n")
    run = firmware.run("cmake", "--build", "build")
    assert run.exit_code != 0 and "kws.onnx: not a model, hints for CMake" in run.output
    firmware.write("models/kws.onnx", model)
    assert firmware.build() == {"AIDGE kws"}


def test_cleaning_removes_what_was_generated(firmware):
    assert firmware.run("cmake", "--build", "build", "--target", "clean").exit_code == 0
    left = {path.name for path in (firmware.folder / "build/aidge/kws").iterdir()}
    assert left == {"kws.options"}  # of the configuration, as build.ninja is
    assert not [path.name for path in (firmware.folder / "build").glob("*app*")]
    assert "LINK app" in firmware.build()


TWO_MODELS = CMAKELISTS.replace(
    "aidge_check_memory(app kws)",
    """aidge_add_model(vad MODEL models/kws.onnx)
target_link_libraries(app PRIVATE vad)
aidge_check_memory(app kws vad)""",
)


@pytest.mark.parametrize("generator", GENERATORS)
def test_a_build_with_many_jobs_generates_each_model_once(tmp_path, generator):
    fresh = new_firmware(tmp_path, generator)
    fresh.write("CMakeLists.txt", TWO_MODELS)
    assert fresh.configure().exit_code == 0
    fresh.write("models/kws.onnx", "nonsense\n")
    run = fresh.run("cmake", "--build", "build", "-j8")
    assert run.exit_code != 0 and "not a model" in run.output
    fresh.write("models/kws.onnx", MODEL)
    run = fresh.run("cmake", "--build", "build", "-j8")
    assert run.exit_code == 0 and run.output.count("AIDGE") == 2 and "Warning" not in run.output
    (fresh.folder / "build/aidge/kws/kws.h").unlink()
    (fresh.folder / "build/aidge/vad/vad_weights.c").unlink()
    os.utime(fresh.folder / "models/kws.onnx")
    run = fresh.run("cmake", "--build", "build", "-j8")
    assert run.exit_code == 0 and run.output.count("AIDGE") == 2
    assert fresh.build() == set()


# What the configuration says; one generator is enough.


@pytest.fixture
def fresh(tmp_path) -> Firmware:
    return new_firmware(tmp_path, "Ninja")


def model_command(firmware: Firmware, call: str, *words: str) -> str:
    """The generator's command for `aidge_add_model(kws MODEL models/kws.onnx ...)`."""
    firmware.write(
        "CMakeLists.txt",
        f"cmake_minimum_required(VERSION 3.20)\nproject(p LANGUAGES C)\n"
        f'include("{cmake_folder()}/aidge_build-config.cmake")\n{call}\n',
    )
    run = firmware.configure(*words)
    assert run.exit_code == 0, run.output
    return (firmware.folder / "build/aidge/kws/kws.options").read_text()


def refusal(firmware: Firmware, call: str, *words: str, command: str | None = None) -> str:
    """The message of a configuration that must be refused, on one line."""
    firmware.write("CMakeLists.txt", CMAKELISTS.replace("aidge_add_model(kws MODEL models/kws.onnx KERNEL_PATH kernels)", call))
    run = firmware.configure(*words, command=command)
    assert run.exit_code != 0, run.output
    return " ".join(run.output.split())


@pytest.mark.parametrize(
    "where",
    [
        'set(CMAKE_C_LINK_FLAGS "-T \\"${CMAKE_SOURCE_DIR}/app.ld\\"")',
        "add_link_options(-T${CMAKE_SOURCE_DIR}/app.ld)",
        "link_libraries(-Wl,-T,${CMAKE_SOURCE_DIR}/app.ld)",
        'add_library(board INTERFACE)\ntarget_link_options(board INTERFACE "SHELL:-T \\"${CMAKE_SOURCE_DIR}/app.ld\\"")\n'
        "link_libraries(board)",
    ],
    ids=["toolchain", "folder", "word", "library"],
)
def test_an_edited_linker_script_that_a_flag_names_links_again(fresh, where):
    fresh.write("app.ld", "")
    fresh.write("CMakeLists.txt", CMAKELISTS.replace("find_package", f"{where}\nfind_package"))
    assert fresh.configure().exit_code == 0
    lines = (fresh.folder / "build/build.ninja").read_text().splitlines()
    (rule,) = [line for line in lines if line.startswith("build ") and "C_EXECUTABLE_LINKER__app" in line]
    assert f"{fresh.folder}/app.ld".replace(" ", "$ ") in rule


def test_options_reach_the_generator(fresh):
    text = model_command(
        fresh,
        "aidge_add_model(kws MODEL models/kws.onnx CPU cortex-m4 FPU auto LIBS a ref IO arena ARENA caller "
        "OPTIMIZE size BIND batch=1 time=49 BOARD_PATH own SELECT cost COST_TABLE costs.toml ROUNDING any "
        "CHECKOUT glue=vendor MEMORY_MODEL cascade RAM_BUDGET 20K CONSTANT_CHANNELS off)",
    )
    assert text.split("\n")[4:-5] == [
        "--name=kws",
        "--cpu=cortex-m4",
        "--fpu=auto",
        "--lib=a,ref",
        "--io=arena",
        "--arena=caller",
        "--bind=batch=1",
        "--bind=time=49",
        f"--board-path={fresh.folder}/own",
        "--optimize=size",
        "--select=cost",
        f"--cost-table={fresh.folder}/costs.toml",
        "--rounding=any",
        f"--checkout=glue={fresh.folder}/vendor",
        "--memory-model=cascade",
        "--ram-budget=20K",
        "--constant-channels=off",
    ]


def test_options_of_the_check_reach_it(fresh):
    call = "aidge_check_memory(app kws REGIONS FLASH=0,4096,flash RAM=0x20000000,4096 MAX_STACK 200 BOARD_PATH own)"
    fresh.write("CMakeLists.txt", CMAKELISTS.replace("aidge_check_memory(app kws)", call))
    assert fresh.configure().exit_code == 0
    fresh.build()
    options = json.loads((fresh.folder / "build/app.check.json").read_text())["options"]
    assert options["--region"] == ["FLASH=0,4096,flash", "RAM=0x20000000,4096"] and "--board" not in options
    assert options["--max-stack"] == ["200"] and options["--board-path"] == [f"{fresh.folder}/own"]


def test_the_native_compiler_means_this_machine(fresh):
    assert "--board=host" in model_command(fresh, "aidge_add_model(kws MODEL models/kws.onnx)")


def test_cpu_and_fpu_come_from_the_flags_of_the_project(fresh):
    text = model_command(
        fresh,
        "add_compile_options(-mfpu=fpv5-sp-d16)\naidge_add_model(kws MODEL models/kws.onnx)",
        *CROSS,
        "-DCMAKE_C_FLAGS=-mcpu=cortex-m7 -mfloat-abi=hard",
    )
    assert "--cpu=cortex-m7\n--fpu=fpv5-sp-d16\n" in text


def test_flags_that_use_no_fpu_count_for_a_board_that_has_one(fresh):
    call = "aidge_add_model(kws MODEL models/kws.onnx BOARD stm32f7)"
    assert "--board=stm32f7\n--fpu=none\n" in model_command(fresh, call, *CROSS, "-DCMAKE_C_FLAGS=-mfloat-abi=soft")


def test_flags_without_unaligned_access_reach_the_generator(fresh):
    call = "aidge_add_model(kws MODEL models/kws.onnx BOARD stm32f7)"
    off = "-DCMAKE_C_FLAGS=-mno-unaligned-access"
    assert "--unaligned=off" in model_command(fresh, call, *CROSS, off)
    assert "--unaligned" not in model_command(fresh, f"add_compile_options(-munaligned-access)\n{call}", *CROSS, off)


def test_flags_that_contradict_each_other_are_refused(fresh):
    message = refusal(
        fresh,
        "add_compile_options(-mcpu=cortex-m4)\naidge_add_model(kws MODEL models/kws.onnx)",
        *CROSS,
        "-DCMAKE_C_FLAGS=-mcpu=cortex-m7",
    )
    assert (
        "(-mcpu=cortex-m7, -mcpu=cortex-m4). Make them equal, or name the target: aidge_add_model(... BOARD stm32f7)" in message
    )


def test_a_cross_compiler_without_a_cpu_is_refused_and_is_never_this_machine(fresh):
    named = fresh.folder / "arm-none-eabi-cc-gcc"  # by a toolchain file that names no system
    named.symlink_to(shutil.which("cc"))
    for words, build in ((CROSS, "build"), ([f"-DCMAKE_C_COMPILER={named}"], "other")):
        message = refusal(fresh, "aidge_add_model(kws MODEL models/kws.onnx)", *words, "-B", build)
        assert "name no -mcpu. Name the target: aidge_add_model(... BOARD stm32f7), or CPU cortex-m4 FPU auto" in message


@pytest.mark.parametrize(
    "words",
    [
        ("-DCMAKE_C_COMPILER={folder}/bin/riscv64-unknown-elf-gcc",),
        ("-DCMAKE_C_COMPILER={folder}/bin/xtensa-esp32-elf-gcc-13.2", *CROSS[:1]),
        ("-DCMAKE_C_COMPILER_TARGET=mips-unknown-elf", *CROSS[:1]),
    ],
)
def test_a_compiler_for_a_machine_without_kernels_gets_portable_c(fresh, words):
    for name in ("riscv64-unknown-elf-gcc", "xtensa-esp32-elf-gcc-13.2"):
        fresh.write(f"bin/{name}", '#!/bin/sh\nexec cc "$@"\n').chmod(0o755)
    given = [word.format(folder=fresh.folder) for word in words]
    text = model_command(fresh, "aidge_add_model(kws MODEL models/kws.onnx)", *given)
    assert "--cpu=generic\n" in text and "--board" not in text


@pytest.mark.parametrize(
    "flags, cpu",
    [
        ("-march=rv32i -march=rv32imac_zba -mabi=ilp32", "rv32imac_zba+ilp32"),
        ("-mcpu=mine", "rv32_e_m+ilp32e"),  # by the macros of the compiler
    ],
)
def test_the_march_of_a_risc_v_compiler_names_the_core(fresh, flags, cpu):
    names = ("xlen 32", "mul 1", "m 2000000", "e 1009000", "abi_rve 1")
    macros = "\n".join(f"#define __riscv_{name}" for name in names)
    own = f"case \"$*\" in '-mcpu=mine -E -dM '*) echo '{macros}'; exit;; esac"
    named = fresh.write("bin/riscv-mine-gcc", f'#!/bin/sh\n{own}\nexec cc "$@"\n')
    named.chmod(0o755)
    words = (f"-DCMAKE_C_COMPILER={named}", f"-DCMAKE_C_FLAGS={flags}", *CROSS)
    assert f"--cpu={cpu}\n" in model_command(fresh, "aidge_add_model(kws MODEL models/kws.onnx)", *words)


LINKED = """target_link_libraries(kws PRIVATE board)
add_library(board INTERFACE)
add_library(chip INTERFACE)
target_link_libraries(board INTERFACE chip)
target_compile_options(chip INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-march=rv32i> $<$<COMPILE_LANGUAGE:C,ASM>:-march=rv32imac>)
target_compile_options(chip INTERFACE -mabi=ilp32)
"""


@pytest.mark.parametrize("lines", ['target_compile_options(kws PRIVATE "SHELL:-march=rv32imac -mabi=ilp32")', LINKED])
def test_flags_of_the_model_and_of_targets_that_it_links_name_the_core(fresh, lines):
    text = model_command(fresh, f"aidge_add_model(kws MODEL models/kws.onnx)\n{lines}", *as_riscv(fresh))
    assert "--cpu=rv32imac+ilp32\n" in text


def test_flags_that_only_cmake_can_evaluate_are_refused_unless_the_core_is_named(fresh):
    options = "target_compile_options(kws PRIVATE $<$<CONFIG:Debug>:-march=rv32imac>)"
    message = refusal(fresh, f"aidge_add_model(kws MODEL models/kws.onnx)\n{options}", *as_riscv(fresh))
    assert "CMake evaluates flags in generator expressions after this ($<$<CONFIG:Debug>:-march=rv32imac>)" in message
    named = f"aidge_add_model(kws MODEL models/kws.onnx CPU rv32imac)\n{options}"
    assert "--cpu=rv32imac\n" in model_command(fresh, named, *as_riscv(fresh))


def as_riscv(firmware: Firmware) -> tuple[str, ...]:
    """The words of a configuration with a compiler for RISC-V."""
    firmware.write("bin/riscv64-unknown-elf-gcc", '#!/bin/sh\nexec cc "$@"\n').chmod(0o755)
    return (f"-DCMAKE_C_COMPILER={firmware.folder}/bin/riscv64-unknown-elf-gcc", *CROSS)


def test_two_programs_with_models_of_one_name_see_their_own_folder_and_no_other(fresh):
    fresh.write(
        "CMakeLists.txt",
        CMAKELISTS.partition("aidge_add_model")[0]
        + "".join(
            f"aidge_add_model(kws_{one} NAME kws MODEL models/kws.onnx)\nadd_executable({one} main.c)\n"
            f"target_link_libraries({one} PRIVATE kws_{one})\n"
            for one in ("first", "second")
        )
        + "add_executable(without plain.c)\n",
    )
    fresh.write("plain.c", "int main(void) { return 0; }\n")
    assert fresh.configure("-DCMAKE_EXPORT_COMPILE_COMMANDS=ON").exit_code == 0
    commands = json.loads((fresh.folder / "build/compile_commands.json").read_text())
    seen = {}
    for one in (one["command"] for one in commands if one["file"].endswith(("main.c", "plain.c"))):
        folders = [Path(word[2:]).name for word in shlex.split(one) if word.startswith("-I")]
        seen[re.search(r"/(\w+)\.dir/", one)[1]] = folders
    assert seen == {"first": ["kws_first"], "second": ["kws_second"], "without": []}


def test_two_targets_that_generate_one_header_are_refused(fresh):
    fresh.write("sub/CMakeLists.txt", "aidge_add_model(other NAME kws MODEL ../models/kws.onnx OUT ../here)\n")
    message = refusal(fresh, "aidge_add_model(kws MODEL models/kws.onnx OUT here)\nadd_subdirectory(sub)")
    assert (
        "aidge_add_model(other): another target generates" in message
        and "/here/kws.h, perhaps in other upper case. Give one of them another OUT or NAME" in message
    )


def test_two_targets_whose_names_differ_in_upper_case_alone_are_refused(fresh):
    """On a disk that knows no upper case one would overwrite the files of the other."""
    message = refusal(fresh, "aidge_add_model(kws MODEL models/kws.onnx)\naidge_add_model(KWS MODEL models/kws.onnx)")
    assert "aidge_add_model(KWS): another target generates" in message and "/aidge/KWS/KWS.h, perhaps in other" in message


def test_a_misspelled_option_is_refused_with_the_valid_ones(fresh):
    message = refusal(fresh, "aidge_add_model(kws MODEL models/kws.onnx OPTIMISE size)")
    assert "aidge_add_model(kws): unknown or without a value: OPTIMISE size. Options: MODEL, NAME, OUT, BOARD," in message


def test_a_missing_command_is_said_with_what_to_do(fresh):
    message = refusal(fresh, "aidge_add_model(kws MODEL models/kws.onnx)", command="/nowhere/aidge-build")
    assert (
        "aidge-build does not answer (AIDGE_EXECUTABLE is '/nowhere/aidge-build'" in message
        and "-DAIDGE_EXECUTABLE=ENVIRONMENT/bin/aidge-build" in message
    )


def test_a_checkout_can_be_a_subdirectory_of_the_project(fresh):
    fresh.write(
        "CMakeLists.txt",
        CMAKELISTS.replace("find_package(aidge_build 0.1 CONFIG REQUIRED)", f'add_subdirectory("{cmake_folder()}" aidge_build)'),
    )
    assert fresh.configure().exit_code == 0
    assert "LINK app" in fresh.build()


def test_a_folder_of_the_project_may_find_the_package_again(fresh):
    fresh.write(
        "sub/CMakeLists.txt", "find_package(aidge_build CONFIG REQUIRED)\naidge_add_model(other MODEL ../models/kws.onnx)\n"
    )
    fresh.write("CMakeLists.txt", CMAKELISTS + "add_subdirectory(sub)\n")
    done = fresh.configure()
    assert done.exit_code == 0, done.output


def test_a_model_may_be_built_and_two_models_and_binary_weights_are_no_trouble(fresh):
    fresh.write(
        "CMakeLists.txt",
        CMAKELISTS.replace(
            "aidge_check_memory(app kws)",
            """
add_custom_command(OUTPUT vad.onnx COMMAND ${CMAKE_COMMAND} -E copy ${CMAKE_CURRENT_SOURCE_DIR}/models/kws.onnx vad.onnx
                   DEPENDS models/kws.onnx)
aidge_add_model(vad_model NAME vad MODEL ${CMAKE_CURRENT_BINARY_DIR}/vad.onnx)
target_link_libraries(app PRIVATE vad_model)
aidge_check_memory(app kws vad_model)""",
        ),
    )
    assert fresh.configure().exit_code == 0
    assert fresh.build() >= {"AIDGE kws", "AIDGE vad", "LINK app"}
    plans = json.loads((fresh.folder / "build/app.check.json").read_text())["options"]["--plan"]
    assert [Path(plan).name for plan in plans] == ["kws.plan.json", "vad.plan.json"]
    assert fresh.build() == set()


INSTALLED = (
    CMAKELISTS
    + """
add_library(ml STATIC ml.c)
target_link_libraries(ml PUBLIC kws)
install(TARGETS ml kws EXPORT firmware)
install(EXPORT firmware DESTINATION lib/cmake/firmware FILE firmware-config.cmake)
"""
)
USER = """\
cmake_minimum_required(VERSION 3.20)
project(user LANGUAGES C)
find_package(firmware CONFIG REQUIRED)
add_executable(app main.c)
target_link_libraries(app PRIVATE ml)
"""


def test_a_model_is_installed_and_exported_with_its_header(fresh):
    fresh.write("ml.c", '#include "kws.h"\nint ml(void);\nint ml(void) { return kws_run(); }\n')
    fresh.write("CMakeLists.txt", INSTALLED)
    configured = fresh.configure(f"-DCMAKE_INSTALL_PREFIX={fresh.folder}/installed")
    assert configured.exit_code == 0 and "Warning" not in configured.output, configured.output
    fresh.build()
    assert fresh.run("cmake", "--install", "build").exit_code == 0
    fresh.write("user/CMakeLists.txt", USER)
    fresh.write("user/main.c", MAIN)
    done = fresh.run("cmake", "-S", "user", "-B", "user/build", "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={fresh.folder}/installed")
    assert done.exit_code == 0 and fresh.run("cmake", "--build", "user/build").exit_code == 0, done.output


def test_a_project_of_c90_compiles_the_model_as_c99(fresh):
    call = "set(CMAKE_C_STANDARD 90)\nset(CMAKE_C_EXTENSIONS OFF)\nfind_package"
    fresh.write("CMakeLists.txt", CMAKELISTS.replace("find_package", call))
    fresh.write("main.c", "#if __STDC_VERSION__ >= 199901L\n#error C90\n#endif\n" + MAIN)
    assert fresh.configure("-DCMAKE_EXPORT_COMPILE_COMMANDS=ON").exit_code == 0
    commands = json.loads((fresh.folder / "build/compile_commands.json").read_text())
    standards = {Path(one["file"]).name: re.findall(r"-std=(\S+)", one["command"]) for one in commands}
    assert standards == {"main.c": ["c90"], "kws.c": ["c99"], "kws_weights.c": ["c99"]}
    assert "LINK app" in fresh.build()


def test_a_command_whose_path_a_shell_would_read_is_refused(fresh):
    stub = fresh.write("x`touch ran`/stub.py", STUB.read_text())
    message = refusal(fresh, "aidge_add_model(kws MODEL models/kws.onnx)", command=f"{sys.executable};{stub}")
    assert "aidge_check_memory(app): a shell would read the path of aidge_build" in message


@pytest.mark.parametrize(
    "build_type, options, says", [("", "", True), ("Debug", "-O0", True), ("Debug", "-O1", False), ("Release", "", False)]
)
def test_one_line_says_that_a_model_for_a_microcontroller_is_not_optimized(fresh, build_type, options, says):
    call = "aidge_add_model(kws MODEL models/kws.onnx CPU cortex-m4)"
    later = f"target_compile_options(kws PRIVATE {options})\n" if options else ""
    fresh.write(
        "CMakeLists.txt", CMAKELISTS.replace("aidge_add_model(kws MODEL models/kws.onnx KERNEL_PATH kernels)", call) + later
    )
    assert fresh.configure(*CROSS, f"-DCMAKE_BUILD_TYPE={build_type}").exit_code == 0
    run = fresh.run("cmake", "--build", "build")
    assert run.exit_code == 0 and ("app: models are compiled with -O0 or without any -O, which costs" in run.output) is says
    assert ("several times the stack: target_compile_options(kws PRIVATE -O2), or -Os\n" in run.output) is says
