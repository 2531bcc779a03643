# SPDX-License-Identifier: MIT
"""Firmware that is there already: which build it has, and the lines that put a model into it, with its own names."""

from __future__ import annotations

import ast
import posixpath
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from aidge_build.base.errors import AidgeError
from aidge_build.base.installed import integrations_folder
from aidge_build.base.naming import model_name_of
from aidge_build.boards import list_boards, load_board
from aidge_build.cli.foreign_cmake import call, folders_with_programs, links_without_keyword, program_of

# The files that are looked at, in this order of importance.
_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")  # in make's own order
FILES = ("rtconfig.py", "SConstruct", "west.yml", "prj.conf", "platformio.ini", "CMakeLists.txt", *_MAKEFILES, "sdkconfig")
_PROOF = "the model among the sources, and the proof"
# The lines that make a model part of a build, without the options that a user adds to them.
_USES = (
    r"scons_toolpath\(\)",
    r"AidgeModel\([\"']{name}[\"']",
    r"find_package\(aidge_build\b",
    r"(?:aidge_add|zephyr_aidge)_model\({name}\b",
    r"target_link_libraries\([^)]*\b{name}\b",
    r"aidge_check_memory\([^)]*\b{name}\b",
    r"call aidge_model,{name},",
)


@dataclass(frozen=True)
class Step:
    """Lines to insert in `file` after its line `after` (0: top, None: end); they replace the next `replaced` lines."""

    file: str
    lines: tuple[str, ...]
    about: str
    after: int | None = None
    replaced: int = 0


@dataclass(frozen=True)
class Advice:
    """The changes that a project needs: files to copy (from, to), lines, and the page that says more. `is_done`: its files have
    all lines."""

    build: str
    page: str
    steps: tuple[Step, ...]
    copies: tuple[tuple[str, str], ...] = ()
    is_done: bool = False


def advice_for(files: Mapping[str, str], name: str, model: str) -> Advice | None:
    """For a folder with these files (of FILES, and CMake's below it, as text): the steps that they do not have yet; None where no
    build is known among them."""
    for is_it, advise in _BUILDS:
        if is_it(files):
            advice = advise(files, name, model)
            left = tuple(step for step in advice.steps if not _is_done(step, files, name))
            return replace(advice, steps=left, is_done=left != advice.steps and not any(step.file for step in left))
    return None


def named(name: str, model: str) -> str:
    """The option that gives a model its name again, "" where its file has that name."""
    return "" if name == model_name_of(PurePosixPath(model)) else f" --name {name}"


def _is_done(step: Step, files: Mapping[str, str], name: str) -> bool:
    """Whether the file has these lines, however they are indented, and with any options of the model. A changed statement has the
    model among its words instead."""
    there = files.get(step.file, "").splitlines()
    if step.replaced:
        before = "\n".join(there[step.after or 0 : (step.after or 0) + step.replaced])
        return re.search(rf"\b{name}\b", before) is not None and step.lines[-1] in there
    uses = [use for use in (one.format(name=name) for one in _USES) if any(re.search(use, line) for line in step.lines)]
    if uses:
        text = "\n".join(line for line in there if not line.lstrip().startswith("#"))
        return all(re.search(use, text) for use in uses)
    return {line.strip() for line in step.lines} <= {line.strip() for line in there}


def _rt_thread(files: Mapping[str, str], name: str, model: str) -> Advice:
    check = Step("SConstruct", ("env.AidgeCheck(TARGET)",), "the proof, a part of the link")
    copies = ((f"{integrations_folder()}/rt-thread/SConscript", f"{model.rpartition('/')[0] or '.'}/SConscript"),)
    return Advice("RT-Thread", "docs/howto-add.md", (check,), copies)


def _scons(files: Mapping[str, str], name: str, model: str) -> Advice:
    text = files["SConstruct"]
    env, made, program = _environment_and_program(text)
    tool = f'{env}.Tool("aidge", toolpath=[aidge_build.scons_toolpath()])'
    source = f'{name} = {env}.AidgeModel("{name}", "{model}", out="generated")'
    steps = [
        Step("SConstruct", ("import aidge_build",), "at the top", 0),
        Step("SConstruct", (tool, source), f"where {env} is there", made),
    ]
    if program is None:
        check = (f'app = {env}.Program("app.elf", ["main.c", {name}])', f"{env}.AidgeCheck(app)")
        return Advice("SCons", "docs/howto-add.md", (*steps, Step("SConstruct", check, _PROOF)))
    line, end, target, call = program
    _add_source(call, name)
    changed = f"{target} = {ast.unparse(call)}"
    replaced = Step("SConstruct", (changed, f"{env}.AidgeCheck({target})"), _PROOF, line - 1, end - line + 1)
    return Advice("SCons", "docs/howto-add.md", (*steps, replaced))


def _environment_and_program(text: str) -> tuple[str, int | None, tuple[int, int, str, ast.Call] | None]:
    """The environment's name, the line that makes it, and (first line, last line, name, call) of the first program."""
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError):
        return "env", None, None
    env, made, program = "env", None, None
    for statement in body:
        value = getattr(statement, "value", None)
        if not isinstance(value, ast.Call):
            continue
        names = [one.id for one in getattr(statement, "targets", []) if isinstance(one, ast.Name)]
        if made is None and names and _called(value) in ("Environment", "DefaultEnvironment"):
            env, made = names[0], statement.end_lineno
        if program is None and _makes_program(value):
            program = (statement.lineno, statement.end_lineno or statement.lineno, names[0] if names else "app", value)
    return env, made, program


def _called(call: ast.Call) -> str:
    """The name of the function or method."""
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _makes_program(call: ast.Call) -> bool:
    """Whether it is `env.Program(name, sources)`."""
    is_method = isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name)
    return is_method and _called(call) == "Program" and len(call.args) > 1


def _add_source(call: ast.Call, name: str) -> None:
    sources, model = call.args[1], ast.Name(name, ast.Load())
    if isinstance(sources, ast.List):
        sources.elts.append(model)
    elif isinstance(sources, ast.Constant):
        call.args[1] = ast.List([sources, model], ast.Load())
    else:
        call.args[1] = ast.BinOp(sources, ast.Add(), model)


def _zephyr(files: Mapping[str, str], name: str, model: str) -> Advice:
    found = call(files.get("CMakeLists.txt", ""), r"find_package\s*\(\s*Zephyr")
    steps = (
        Step("prj.conf", ("CONFIG_AIDGE_BUILD=y",), "switches the module on"),
        Step("CMakeLists.txt", (f"zephyr_aidge_model({name} MODEL {model})",), "after find_package(Zephyr)", found and found[1]),
        Step(
            "", (f"west build -b BOARD -- -DZEPHYR_EXTRA_MODULES={integrations_folder()}/zephyr",), "the build knows the module"
        ),
    )
    return Advice("Zephyr", "docs/howto-zephyr.md", steps)


def _platformio(files: Mapping[str, str], name: str, model: str) -> Advice:
    sections = [number for number, line in enumerate(files["platformio.ini"].splitlines(), 1) if re.match(r"\[env[:\]]", line)]
    lines = ("extra_scripts = pre:aidge_models.py", f"custom_aidge_models = {model}")
    copies = ((f"{integrations_folder()}/platformio/aidge_models.py", "aidge_models.py"),)
    where = sections[0] if sections else None
    return Advice("PlatformIO", "docs/howto-platformio.md", (Step("platformio.ini", lines, "in the environment", where),), copies)


def _esp_idf(files: Mapping[str, str], name: str, model: str) -> Advice:
    chip = re.search(r'^CONFIG_IDF_TARGET="(\w+)"', files.get("sdkconfig", ""), re.MULTILINE)
    core = f" --cpu {load_board(chip[1]).cpu}" if chip and chip[1] in list_boards() else ""
    line = f"aidge-build package {model}{named(name, model)} --for espidf{core} --out components"
    return Advice("ESP-IDF", "docs/packages.md", (Step("", (line,), "a component of the model"),))


# These lines follow project(...). They tell a user without aidge-build on the PATH what to activate or give.
_FIND_PACKAGE = (
    "if(NOT aidge_build_DIR)",
    "  execute_process(COMMAND aidge-build doctor --cmake-dir OUTPUT_VARIABLE aidge_build_DIR",
    "                  OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE aidge_build_missing)",
    "  if(aidge_build_missing)",
    '    message(FATAL_ERROR "aidge-build: ${aidge_build_missing}. Activate its Python environment (or pip install it), "',
    '                        "or give what ENVIRONMENT/bin/aidge-build doctor --cmake-dir prints: -Daidge_build_DIR=FOLDER")',
    "  endif()",
    "endif()",
    "find_package(aidge_build CONFIG REQUIRED)",
)


def _cmake(files: Mapping[str, str], name: str, model: str) -> Advice:
    text = files["CMakeLists.txt"]
    project, program = call(text, r"project\s*\("), program_of(text)
    target, place, where = "TARGET", None, "after the line that makes your program; TARGET is its name"
    if program:
        target, place = program
        where = f"after add_executable({target} ...)"
    elif folders := folders_with_programs(files):
        below = PurePosixPath(folders[0])
        raise AidgeError(
            "this folder makes no program of its own",
            where="CMakeLists.txt",
            tried=folders[:3],
            code="USAGE",
            hint=f"for the program: aidge-build new --existing {posixpath.relpath(model, below)}{named(name, model)} "
            f"--folder FOLDER/{below}",
        )
    elif included := next(filter(None, (program_of(one) for path, one in files.items() if path.endswith(".cmake"))), None):
        target, where = included[0], f"after the line that makes {included[0]}"
    keyword = "" if links_without_keyword(target, files) else "PRIVATE "
    use = (
        f"aidge_add_model({name} MODEL {model})",
        f"target_link_libraries({target} {keyword}{name})",
        f"aidge_check_memory({target} {name})",
    )
    steps = (
        Step("CMakeLists.txt", _FIND_PACKAGE, "after project(...)", project and project[1]),
        Step("CMakeLists.txt", use, where, place),
    )
    return Advice("CMake", "docs/howto-add.md", steps)


def _target_in(makefile: str) -> str:
    """Returns the options that name the target of a makefile's flags."""
    if march := re.search(r"-march=(rv\w+)", makefile):
        abi = re.search(r"-mabi=(\w+)", makefile)
        return "+".join([f"--cpu={march[1]}", *([abi[1]] if abi else [])])
    if core := re.search(r"-mcpu=([\w.+-]+)", makefile):
        return f"--cpu={core[1]} --fpu=auto"
    return "--cpu=CORE" if re.search(r"none-eabi|none-elf|riscv\w*-\S*elf", makefile) else "--board=host"


def _make(files: Mapping[str, str], name: str, model: str) -> Advice:
    file = next(one for one in _MAKEFILES if one in files)
    text = files[file]
    use = ("include aidge.mk", f"$(eval $(call aidge_model,{name},{model},{_target_in(text)}))")
    objects, sources = _list_of(text, r"OBJS?|OBJECTS"), _list_of(text, r"C_SOURCES|SOURCE_FILES|SOURCES|SRCS?")
    steps = [Step(file, use, "at the top; the goal of a plain `make` stays what it was", 0)]
    if sources and (objects is None or "$(" in objects[2]):
        lists = (f"{sources[0]} += $(AIDGE_SOURCES)", "VPATH += $(AIDGE_OUT)")
        steps.append(Step(file, lists, "after the list of sources", sources[1]))
        includes = _list_of(text, r"INCLUDE_DIRS|C_INCLUDES|INCLUDES|INCDIR")
        if includes:
            steps.append(
                Step(
                    file,
                    (f"{includes[0]} += $({_include_variable(text, includes[0])})",),
                    "after the include folders",
                    includes[1],
                )
            )
        if objects:
            in_order = "| " if re.search(r"\s-M?MD\b", text) else ""  # depfiles say who includes the header
            steps.append(Step(file, (f"$({objects[0]}): {in_order}$(AIDGE_HEADERS)",), "after the objects", objects[1]))
    else:
        known, behind, value = objects or ("OBJS", None, "")
        main = re.search(r"[\w./-]+\.o\b", value)
        lists = (f"{known} += $(AIDGE_OBJECTS)", f"{main[0] if main else 'main.o'}: $(AIDGE_HEADERS)")
        steps.append(Step(file, lists, "after the list of objects", behind))
    link = _link_rule(text)
    steps.append(Step(file, ("\t$(AIDGE_CHECK)",), "the last line of the rule that links, indented with a tab", link))
    return Advice("GNU make", "docs/howto-make.md", tuple(steps), ((f"{integrations_folder()}/make/aidge.mk", "aidge.mk"),))


def _include_variable(text: str, name: str) -> str:
    """Folders, where the makefile puts -I before each of the list."""
    puts_flag = re.search(
        rf"addprefix\s+-I\s*,\s*\$[({{]{name}[)}}]|\$[({{]{name}:%=-I%[)}}]|patsubst\s+%,-I%,\$[({{]{name}[)}}]", text
    )
    return "AIDGE_INCLUDE_DIRS" if puts_flag else "AIDGE_INCLUDE"


def _list_of(text: str, names: str) -> tuple[str, int, str] | None:
    """Returns (name, last line, value) of the first list of such a name; lines joined by a backslash count as one."""
    lines = text.splitlines()
    for index, line in enumerate(lines):
        found = re.match(rf"({names})\s*[:+?]?=(.*)", line)
        if found:
            last = index
            while lines[last].endswith("\\") and last + 1 < len(lines):
                last += 1
            return found[1], last + 1, "\n".join(lines[index : last + 1])
    return None


def _link_rule(text: str) -> int | None:
    """The last line of the recipe that links: one that names the compiler, -o, and no -c."""
    for index, line in enumerate(lines := text.splitlines()):
        if line.startswith("\t") and re.search(r"\$\((CC|LD|LINK\.\w+)\)", line) and "-c" not in line.split():
            while index + 1 < len(lines) and lines[index + 1].startswith("\t"):
                index += 1
            return index + 1
    return None


def _is_zephyr(files: Mapping[str, str]) -> bool:
    return "west.yml" in files or re.search(r"find_package\s*\(\s*Zephyr", files.get("CMakeLists.txt", "")) is not None


_BUILDS: tuple[tuple[Callable[[Mapping[str, str]], bool], Callable[[Mapping[str, str], str, str], Advice]], ...] = (
    (lambda files: "rtconfig.py" in files and "SConstruct" in files, _rt_thread),
    (lambda files: "SConstruct" in files, _scons),
    (_is_zephyr, _zephyr),
    (lambda files: "platformio.ini" in files, _platformio),
    (lambda files: "IDF_PATH" in files.get("CMakeLists.txt", ""), _esp_idf),
    (lambda files: "CMakeLists.txt" in files, _cmake),
    (lambda files: any(name in files for name in _MAKEFILES), _make),
)
