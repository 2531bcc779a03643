# SPDX-License-Identifier: MIT
"""Which target the SCons tool hands to the generator, and what it says when it cannot."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest

from tests.build.conftest import STUB

MODEL = "env.AidgeModel('kws', 'kws.onnx'{options})"


def command(project, settings: str, options: str = "") -> str:
    """The generator's command line with these settings of the environment."""
    project.sconstruct(f"{settings}\n{MODEL.format(options=options)}")
    run = project.scons("-n", "verbose=1", "kws.c")
    assert run.exit_code == 0, run.output
    return run.output


def refusal(project, settings: str, options: str = "") -> str:
    """The message of a build that must be refused."""
    project.sconstruct(f"{settings}\n{MODEL.format(options=options)}")
    run = project.scons("-n")
    assert run.exit_code == 2, run.output
    return run.output


@pytest.mark.parametrize(
    "settings",
    [
        "env.Append(CCFLAGS=['-mcpu=cortex-m7', '-mfpu=fpv5-sp-d16', '-mfloat-abi=hard'])",
        "env.Replace(CCFLAGS='-mcpu=cortex-m7 -mfpu=fpv5-sp-d16 -mfloat-abi=hard')",
        "env.Replace(CFLAGS='-mthumb $MACHINE', MACHINE='-mcpu=cortex-m7 -mfpu=fpv5-sp-d16 -mfloat-abi=hard')",
        "env.Replace(CC='arm-none-eabi-gcc -mcpu=cortex-m7', CFLAGS='-mfpu=fpv5-sp-d16 -mfloat-abi=softfp')",
        "env.Append(CFLAGS=['-mcpu=cortex-m7', '-mhard-float', '-mfpu=fpv5-sp-d16'])",
        "f = ['-mcpu=cortex-m7', '-mfpu=fpv5-sp-d16', '-mfloat-abi=hard']\nenv.Append(CCFLAGS=f, ASFLAGS=f, LINKFLAGS=f)",
    ],
)
def test_cpu_and_fpu_come_from_the_flags_of_the_environment(project, settings):
    assert "--cpu=cortex-m7 --fpu=fpv5-sp-d16" in command(project, settings)


def test_without_a_hard_float_abi_there_is_no_fpu(project):
    assert "--fpu" not in command(project, "env.Append(CCFLAGS=['-mcpu=cortex-m4', '-mfpu=fpv4-sp-d16'])")


@pytest.mark.parametrize("settings", ["", "env['CC'] = 'ccache gcc'", "env['CC'] = ['/usr/bin/distcc', 'gcc-12']"])
def test_a_native_compiler_means_this_machine(project, settings):
    assert "--board=host" in command(project, settings)


def test_a_launcher_before_a_cross_compiler_is_not_the_compiler(project):
    assert "CC is 'arm-none-eabi-gcc'" in refusal(project, "env['CC'] = 'ccache arm-none-eabi-gcc'")


@pytest.mark.parametrize(
    "settings",
    [
        "env.Replace(CC='clang-19', CCFLAGS='--target=arm-none-eabi -mcpu=cortex-m7 -mfpu=fpv5-sp-d16 -mfloat-abi=hard')",
        "env.Replace(CC='clang --target=arm-none-eabi -mcpu=cortex-m7 -mfpu=fpv5-sp-d16 -mfloat-abi=hard')",
    ],
)
def test_a_clang_for_another_machine_is_taken_by_its_flags(project, settings):
    assert "--cpu=cortex-m7 --fpu=fpv5-sp-d16" in command(project, settings)


@pytest.mark.parametrize("target", ["'--target=thumbv7em-none-eabi'", "'-target', 'arm-none-eabi'", "'-mthumb'"])
def test_a_clang_for_another_machine_without_a_cpu_is_refused(project, target):
    assert "name no -mcpu" in refusal(project, f"env.Replace(CC=['clang', {target}])")


@pytest.mark.parametrize(
    "settings",
    [
        "env['CC'] = 'riscv64-that-nobody-installed-gcc'",
        "env.Replace(CC='/opt/xtensa-lx106-elf-gcc', CCFLAGS='-mcpu=esp8266')",
        "env.Replace(CC='clang', CCFLAGS=['-target', 'mips-unknown-elf'])",
    ],
)
def test_a_compiler_for_a_machine_without_kernels_gets_portable_c(project, settings):
    line = command(project, settings)
    assert "--cpu=generic" in line and "--board" not in line
    assert "--cpu=cortex-m3" in command(project, settings, ", cpu='cortex-m3'")


def test_the_march_of_a_risc_v_compiler_names_the_core(project):
    given = "'-march=rv32i', '-march=rv32imac_zba', '-mabi=ilp32'"
    for settings in (
        f"env.Replace(CC='ccache riscv32-esp-elf-gcc-12.2.0', CCFLAGS=[{given}], LINKFLAGS='-march=rv32imac')",
        f"env.Replace(CC='clang', CCFLAGS=['--target=riscv32-unknown-elf', {given}])",
    ):
        assert "--cpu=rv32imac_zba+ilp32 " in command(project, settings)


def test_without_march_a_risc_v_compiler_is_asked(project):
    names = ("xlen 32", "mul 1", "m 2000000", "e 1009000", "abi_rve 1")
    macros = "\n".join(f"#define __riscv_{name}" for name in names)
    project.write("riscv-mine-gcc", f"#!/bin/sh\n[ $1 = -mcpu=mine ] && echo '{macros}'\n").chmod(0o755)
    assert "--cpu=rv32_e_m+ilp32e " in command(project, "env.Replace(CC='./riscv-mine-gcc', CCFLAGS='-mcpu=mine')")


def test_a_compiler_that_is_named_after_this_machine_is_the_native_one(project):
    assert "--board=host" in command(project, f"env['CC'] = '{platform.machine()}-linux-gnu-gcc'")


def test_a_named_board_is_handed_on(project):
    assert "--board=stm32f7" in command(project, "", ", board='stm32f7'")
    assert "--board=stm32f7" in command(project, "env['AIDGE_BOARD'] = 'stm32f7'")


def test_flags_that_use_no_fpu_count_for_a_board_that_has_one(project):
    assert "--board=stm32f7 --fpu=none" in command(project, "env.Append(CCFLAGS=['-mfloat-abi=soft'])", ", board='stm32f7'")
    assert "--fpu" not in command(project, "env.Append(CCFLAGS=['-mfloat-abi=hard'])", ", board='stm32f7'")


def test_flags_without_unaligned_access_reach_the_generator(project):
    off, on = "-mno-unaligned-access", "-munaligned-access"
    assert "--unaligned=off" in command(project, f"env.Append(CCFLAGS=['-mcpu=cortex-m4', '{off}'])")
    assert "--unaligned=off" in command(project, f"env.Append(CCFLAGS=['{off}'])", ", board='stm32f7'")
    assert "--unaligned" not in command(project, f"env.Append(CFLAGS=['{off}'], CCFLAGS=['{on}'])", ", board='stm32f7'")
    assert "--unaligned=off" not in command(project, f"env.Append(CFLAGS=['{off}'])", ", board='stm32f7', unaligned='on'")


def test_flags_that_contradict_each_other_are_refused(project):
    message = refusal(project, "env.Append(CCFLAGS=['-mcpu=cortex-m7'], ASFLAGS=['-mcpu=cortex-m4'])")
    assert "contradict each other (-mcpu=cortex-m7 in CCFLAGS, -mcpu=cortex-m4 in ASFLAGS)" in message
    assert "board='stm32f7'" in message


def test_a_cross_compiler_without_a_cpu_is_refused(project):
    message = refusal(project, "env['CC'] = 'arm-none-eabi-gcc'")
    assert "CC is 'arm-none-eabi-gcc'" in message and "board='stm32f7'" in message


def test_a_board_with_another_cpu_than_the_flags_is_refused(project):
    project.write("boards/mine.toml", 'extends = "base"\n')
    project.write("boards/bases/base.toml", 'cpu = "cortex-m4"\n')
    message = refusal(project, "env.Append(CCFLAGS=['-mcpu=cortex-m7'])", ", board='mine', board_path='boards'")
    assert "board='mine' has a cortex-m4, but the flags of this environment say -mcpu=cortex-m7" in message


def test_flags_that_the_core_of_a_board_names_are_its_own(project):
    project.write("boards/mine.toml", 'cpu = "star"\n')
    project.write("boards/cores/star.toml", 'extends = "armv8-m.main"\nflags = ["-mcpu=cortex-m33", "-mthumb"]\n')
    for cpu, is_own in (("cortex-m33", True), ("star", True), ("cortex-m7", False)):
        project.sconstruct(f"env.Append(CCFLAGS=['-mcpu={cpu}'])\n" + MODEL.format(options=", board='mine', board_path='boards'"))
        assert ("but the flags of this environment say" in project.scons("-n").output) != is_own


def test_a_misspelled_option_is_refused_with_the_valid_ones(project):
    message = refusal(project, "", ", optimise='size'")
    assert "no option 'optimise'; did you mean 'optimize'? options: board, cpu, fpu, libs," in message


def test_a_misspelled_value_is_refused_with_the_valid_ones(project):
    message = refusal(project, "", ", weights='inbin'")
    assert "AidgeModel: weights='inbin': did you mean 'incbin'? values: c, incbin" in message


def test_a_named_core_comes_before_the_flags_and_before_the_board_of_the_environment(project):
    line = command(project, "env.Append(CCFLAGS=['-mcpu=cortex-m4'])", ", cpu='cortex-m33+nodsp', fpu='auto'")
    assert "--cpu=cortex-m33+nodsp --fpu=auto" in line and "cortex-m4" not in line
    line = command(project, "env['AIDGE_BOARD'] = 'stm32f7'", ", cpu='cortex-m4'")
    assert "--cpu=cortex-m4" in line and "--board" not in line


def test_a_file_name_that_is_no_c_name_is_refused_with_what_to_write(project):
    project.write("my-model.2.onnx", "topology=A\nweights=1\n")
    project.sconstruct("env.Program('app.elf', ['main.c', 'my-model.2.onnx'])")
    run = project.scons()
    assert run.exit_code == 2 and "Write env.AidgeModel('my_model_2', 'my-model.2.onnx')" in run.output
    project.write("2.onnx", "topology=A\nweights=1\n")
    project.sconstruct("env.Program('app.elf', ['main.c', '2.onnx'])")
    assert "Write env.AidgeModel('model_2', '2.onnx')" in project.scons().output


@pytest.mark.parametrize("name", ["mine", "a-folder"])
def test_a_library_in_cpp_makes_cpp_by_its_own_name_and_by_that_of_its_folder(project, name):
    project.write("a-folder/library.toml", 'name = "mine"\nlanguage = "c++"\n')
    project.sconstruct(f"print(*env.AidgeModel('kws', 'kws.onnx', libs=['ref', {name!r}], kernel_path='a-folder'))")
    assert project.scons("-n").output.startswith("kws.cpp kws_weights.c\n")


def test_swapped_arguments_are_said(project):
    project.sconstruct("\nenv.AidgeModel('models/my-net.onnx', 'kws')")
    run = project.scons()
    assert run.exit_code == 2 and "the name comes first: env.AidgeModel('kws', 'models/my-net.onnx')" in run.output


@pytest.mark.parametrize(
    "line",
    [
        "env.AidgeModel('kws', 'kws.onnx', optimise='size')",
        "env.AidgeCheck('none.elf')",
        "env.Program('app.elf', ['main.c', 'k w s.onnx'])",
    ],
)
def test_an_error_names_the_users_file_and_line(project, line):
    project.write("k w s.onnx", "topology=A\nweights=1\n")
    project.write("src/SConscript", f"Import('env')\n\n{line}\n")
    project.sconstruct("SConscript('src/SConscript', exports='env')")
    run = project.scons()
    assert run.exit_code == 2 and 'src/SConscript", line 3, in <module>' in run.output, run.output
    assert "aidge.py" not in run.output


def test_a_warning_names_the_users_file_and_line(project):
    """What SCons warns of under a call of ours; here it is a variable that warns when it is read, from a file of SCons."""
    warns = "def warn(target, source, env, for_signature):\n    SCons.Warnings.warn(SCons.Warnings.SConsWarning, 'told')"
    project.sconstruct(
        f"import SCons.Warnings\nenv.SetOption('warn', ['all'])\nexec(compile({warns!r}, '/SCons/warn.py', 'exec'))\n"
        "env['AIDGE_WARN'] = warn\nenv.Append(CCFLAGS=['$AIDGE_WARN'])\nenv.AidgeModel('kws', 'kws.onnx')"
    )
    output = project.scons("-n").output
    assert 'scons: warning: told\nFile "' in output and 'SConstruct", line 9, in <module>' in output, output
    assert "aidge.py" not in output


def test_options_reach_the_generator(project):
    line = command(project, "", ", libs=['a', 'ref'], io='arena', arena='caller', bind={'time': 49, 'batch': 1}, optimize='size'")
    assert "--lib=a,ref --io=arena --arena=caller --bind=batch=1 --bind=time=49 --optimize=size" in line


def test_without_the_command_scons_says_in_one_line_what_to_do(project):
    project.sconstruct("env.Program('app.elf', ['main.c', env.AidgeModel('kws', 'kws.onnx')])", settings="AIDGE_BUILD='missing',")
    run = project.scons()
    assert run.exit_code == 3
    assert (
        run.output.startswith("aidge: the command aidge-build is missing (AIDGE_BUILD is 'missing'). Type")
        and run.output.count("\n") == 1
    )


def test_reading_a_sconscript_imports_no_package_of_ours_and_nothing_heavy(project):
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "SCons", "-Q", "-n"],
        cwd=project.folder,
        text=True,
        capture_output=True,
        check=True,
    )
    imported = {line.rsplit("|", 1)[-1].strip() for line in done.stderr.splitlines()}
    assert not {name for name in imported if name.split(".")[0] in ("aidge_build", "onnx", "numpy", "jinja2", "rich")}


def test_the_command_beside_python_comes_before_the_one_on_the_path(project, tmp_path):
    other = tmp_path / "bin" / "aidge-build"
    other.parent.mkdir()
    other.write_text("#!/bin/sh\nexit 9\n")
    other.chmod(0o755)
    project.sconstruct(MODEL.format(options=""), settings="")
    run = project.scons("-n", "verbose=1", "kws.c", env={**os.environ, "PATH": f"{other.parent}:{os.environ['PATH']}"})
    beside = os.path.join(os.path.dirname(sys.executable), "aidge-build")
    expected = beside if os.path.exists(beside) else str(other)
    assert run.output.startswith((expected, f'"{expected}"')), run.output


def test_a_folder_of_a_format_in_the_package_makes_its_files_sources(project):
    project.write("aidge_build/__init__.py", "")
    project.write("aidge_build/__main__.py", STUB.read_text())
    project.write("aidge_build/sources/formats/dense/__init__.py", "")
    project.write("net.dense", project.read("kws.onnx"))
    settings = f"AIDGE_BUILD=[{sys.executable!r}, '-m', 'aidge_build'],"
    project.sconstruct("env.Program('app.elf', ['main.c', 'net.dense'])", settings)
    run = project.scons("-n")
    assert run.exit_code == 0 and "AIDGE net.c" in run.steps, run.output
    project.sconstruct("env.AidgeModel('models/net.dense', 'net')", settings)
    assert "the name comes first: env.AidgeModel('net', 'models/net.dense')" in project.scons("-n").output
