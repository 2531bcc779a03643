# SPDX-License-Identifier: MIT
"""SCons tool `aidge`: a neural-network model as a source file of the firmware.

    env.Tool('aidge')                                  # this file in site_scons/site_tools/, or with
                                                       # toolpath=[aidge_build.scons_toolpath()] after `pip install`
    kws = env.AidgeModel('kws', 'models/kws.onnx')     # a node list for source lists
    app = env.Program('app.elf', ['main.c', kws])      # or simply ['main.c', 'models/kws.onnx']
    env.AidgeCheck(app)                                # the link fails if the ELF breaks the plan
    `scons generated-sources` generates only; with the tool compilation_db, editors know the generated files, too.

One file, standard library and SCons (4.4 or newer) only, and it must stay so: reading a SConscript imports no package
of ours and starts no process. The generator is the command `aidge-build`, run as a process with a list of arguments.

Construction variables:
  AIDGE_BUILD    the command, if it is not beside the running Python or on the PATH: a path, or a list of arguments
  AIDGE_BOARD    the board of every model that names none; otherwise the environment's -mcpu and -mfpu decide
  AIDGE_OPTIONS  defaults of AidgeModel's options, for models that are named as sources: {'libs': ['ref']}
  AIDGECOMSTR    what is printed instead of the command line
"""

from __future__ import annotations

import atexit
import difflib
import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys

import SCons.Action
import SCons.Builder
import SCons.Environment
import SCons.Errors
import SCons.Scanner
import SCons.Script
import SCons.Subst
import SCons.Tool
import SCons.Util

EXIT_MISSING = 3

# <options> Written by `aidge-build options --update .`; do not edit.
# What a call takes -> option of `aidge-build`, what becomes of the value, the valid values (none: any).
OPTIONS = {
    "board": ("--board", "target", ()),
    "cpu": ("--cpu", "target", ()),
    "fpu": ("--fpu", "target", ()),
    "libs": ("--lib", "list", ()),
    "io": ("--io", "word", ("caller", "arena")),
    "arena": ("--arena", "word", ("static", "caller")),
    "weights": ("--weights", "word", ("c", "incbin")),
    "bind": ("--bind", "pairs", ()),
    "kernel_path": ("--kernel-path", "folders", ()),
    "board_path": ("--board-path", "folders", ()),
    "optimize": ("--optimize", "word", ("speed", "size", "balanced")),
    "select": ("--select", "word", ("library", "cost")),
    "cost_table": ("--cost-table", "file", ()),
    "rounding": ("--rounding", "word", ("onnx", "any")),
    "checkout": ("--checkout", "checkouts", ()),
    "memory_model": ("--memory-model", "word", ("default", "plain")),
    "constant_channels": ("--constant-channels", "word", ("on", "off")),
}
CHECK_OPTIONS = {
    "board": ("--board", "word", ()),
    "regions": ("--region", "pairs", ()),
    "board_path": ("--board-path", "folders", ()),
}
# </options>
FLAG_VARIABLES = ("CC", "CCFLAGS", "CFLAGS", "CPPFLAGS", "ASFLAGS", "LINKFLAGS")
HOST_COMPILER = re.compile(r"(gcc|cc|clang)(-\d+)?(\.exe)?$")
LAUNCHER = re.compile(r"(ccache|sccache|distcc|icecc)(\.exe)?$")  # before the compiler: CC='ccache arm-none-eabi-gcc'
# In an ONNX file: the key "location" of a tensor's external data, and the length of the file name that follows.
EXTERNAL_DATA = re.compile(rb"\x0a\x08location\x12([\x01-\x7f])")


def generate(env):
    """Adds AidgeModel, AidgeCheck and the suffix .onnx to `env`."""
    verbose = SCons.Script.ARGUMENTS.get("verbose", "0") not in ("0", "")
    env.SetDefault(AIDGECOMSTR="" if verbose else "AIDGE  $SOURCE -> $TARGET", AIDGECHECKCOMSTR="CHECK  $TARGET")
    action = SCons.Action.Action(_command, generator=True, cmdstr="$AIDGECOMSTR")
    env["BUILDERS"]["AidgeGenerate"] = SCons.Builder.Builder(action=action, emitter=_emit, single_source=True)
    env.Append(SCANNERS=[SCons.Scanner.ScannerBase(_external_data, name="AidgeScanner", skeys=[".onnx"])])
    c_files, _ = SCons.Tool.createCFileBuilders(env)
    c_files.add_action(".onnx", action)
    c_files.add_emitter(".onnx", _emit)
    env.AddMethod(aidge_model, "AidgeModel")
    env.AddMethod(aidge_check, "AidgeCheck")
    env.AddMethod(aidge_budget, "AidgeBudget")
    env.AddMethod(aidge_action, "AidgeAction")
    atexit.unregister(_explain_failed_links)
    atexit.register(_explain_failed_links)


def exists(env):
    """Whether the command is there (SCons asks for it)."""
    return _find_command(env) is not None


class ModelFiles(SCons.Util.NodeList):
    """The C files of a model, for source lists; `.plan`, `.header` and `.header_dir` are nodes.

    It adds up with other lists, Glob('*.c') + kws; a sum or a slice is a list of nodes and no more.
    """

    @classmethod
    def of(cls, nodes):
        files = cls([node for node in nodes if node.name.endswith((".c", ".cpp"))])
        files.header = next(node for node in nodes if node.name.endswith(".h"))
        files.plan = next(node for node in nodes if node.name.endswith(".plan.json"))
        files.header_dir = files.header.dir
        return files


def aidge_model(env, name, model, out=None, **options):
    """The C files of `model` as a node list; its functions and files start with `name`, its header is on env's CPPPATH.

    `out` is the folder of the generated files (the SConscript's by default); the other options are those of
    `aidge-build compile`, by the names in OPTIONS; docs/options.md says what they mean.
    """
    folder = env.Dir(out) if out else env.Dir(".")
    nodes = env.AidgeGenerate(folder.File(name + ".c"), model, AIDGE_NAME=name, AIDGE_OPTIONS=_merged_options(env, options))
    _add_header_folder(env, folder)
    return ModelFiles.of(nodes)


def aidge_check(env, elf, models=None, **options):
    """Makes the proof of memory use a part of linking `elf`: if it fails, the target fails and is removed.

    `models` are what AidgeModel returned (default: all models among the sources). The other options are those of
    `aidge-build check`, by the names in CHECK_OPTIONS; without board= and regions= the board is the model's. Writes
    `<elf>.check.json`.
    """
    options = {name: value for name, value in options.items() if value is not None}
    _refuse_unknown("AidgeCheck", options, CHECK_OPTIONS, "models")
    given = [
        option + "=" + word
        for name, (option, kind, _) in CHECK_OPTIONS.items()
        for word in _option_words(env, name, kind, options.get(name))
    ]
    for target in env.arg2nodes(elf, env.fs.File):
        if not target.has_builder():
            raise SCons.Errors.UserError("AidgeCheck: %s is not built here; give it what env.Program returned" % target)
        plans = _plans_of(target) if models is None else [model.plan for model in _as_list(models)]
        if not plans:
            raise SCons.Errors.UserError("AidgeCheck: there is no model among the sources of %s; name it: models=[kws]" % target)
        where = [] if options.get("board") or options.get("regions") else plans[0].attributes.aidge_where
        target.attributes.aidge_check = where + given + ["--plan=" + _path(plan) for plan in plans]
        env.Depends(target, [plans, env.Value(" ".join(["aidge check", *target.attributes.aidge_check]))])
        env.Clean(target, target.dir.File(target.name + ".check.json"))
        env.AddPostAction(target, SCons.Action.Action(_check, cmdstr="$AIDGECHECKCOMSTR"))
    return elf


def aidge_budget(env, elf, max_stack=None, max_flash=None, max_instructions=None):
    """Limits for what AidgeCheck has proved: bytes of stack and of flash, instructions of one inference (emulated).

    Zero drift: the counts are exact, so a budget may be today's figure. The program that exceeds one is removed.
    """
    budgets = {"--max-stack": max_stack, "--max-flash": max_flash, "--max-instructions": max_instructions}
    given = ["%s=%d" % (option, number) for option, number in budgets.items() if number is not None]
    for target in env.arg2nodes(elf, env.fs.File):
        checked = getattr(target.attributes, "aidge_check", None)
        if checked is None:
            raise SCons.Errors.UserError("AidgeBudget: write env.AidgeCheck(%s) before it" % target)
        boards = [word for word in checked if word.startswith("--board")]
        if max_instructions is not None and not boards:
            raise SCons.Errors.UserError(
                "AidgeBudget: max_instructions needs a board to emulate: env.AidgeModel(..., board='stm32f7')"
            )
        target.attributes.aidge_check = checked + [word for word in given if not word.startswith("--max-instructions")]
        env.Depends(target, env.Value(" ".join(["aidge budget"] + given)))
        if max_instructions is not None:
            target.attributes.aidge_count = boards + given[-1:]
            env.AddPostAction(
                target, SCons.Action.Action(_count, cmdstr="COUNT  $TARGET" if env.get("AIDGECHECKCOMSTR") else None)
            )
    return elf


def aidge_action(env, *arguments, comstr=None):
    """An action that runs another verb of `aidge-build`: env.AidgeAction('run', '--board=stm32f7', '$SOURCE')."""
    command = ["$("] + [SCons.Subst.Literal(word) for word in _require_command(env)] + ["$)"]
    return SCons.Action.Action([command + list(arguments)], cmdstr=comstr)


# The generator's step.


def _emit(target, source, env):
    """What the generator writes for one model, and what it depends on beside the model."""
    command = _require_command(env)
    options = _merged_options(env, {})
    model = source[0]
    name = env.get("AIDGE_NAME") or SCons.Util.splitext(model.name)[0]
    if not re.match(r"[A-Za-z][A-Za-z0-9_]*$", name):
        raise SCons.Errors.UserError(
            "%s: '%s' is no name for a C function. Write env.AidgeModel('%s', '%s')"
            % (model, name, re.sub(r"[^A-Za-z0-9_]", "_", re.sub(r"^(?![A-Za-z])", "model_", name)), model)
        )
    folder = target[0].dir
    if not env.get("AIDGE_NAME") and not folder.is_under(env.Dir(".")):
        folder = env.Dir(".")  # a model elsewhere: nothing is written beside it
    endings = [_code_ending(env, options), "_weights.c", ".h", ".plan.json"] + (
        ["_weights.bin"] if options.get("weights") == "incbin" else []
    )
    targets = [folder.File(name + ending) for ending in endings]
    arguments, digest = _arguments(env, options), _digest_of_tool(command, env, options)
    for node in targets:
        node.attributes.aidge_plan = targets[3]
        node.attributes.aidge_arguments = ["--name=" + name] + arguments
        node.attributes.aidge_tool = digest
        node.attributes.aidge_where = [argument for argument in arguments if argument.startswith("--board")]
    env.Alias("generated-sources", targets)  # for editors: headers without a build of everything
    env.Precious(targets)  # so that the generator can leave a file alone whose content stays the same
    if options.get("cost_table"):
        env.Depends(targets, env.File(options["cost_table"]))
    env.Depends(targets, [env.Dir(folder) for _, folder in sorted((options.get("checkout") or {}).items())])
    _add_header_folder(env, folder)
    return targets, source


def _code_ending(env, options):
    """`.cpp` when a library of the user's that is named says language = "c++", else `.c`."""
    for name in ",".join(_as_list(options.get("libs") or [])).split(","):
        for folder in _folders(env, "kernel_path", options.get("kernel_path")):
            folder = folder.get_abspath()
            for path in (folder, os.path.join(folder, name)):
                manifest = os.path.join(path, "library.toml")
                if os.path.basename(path) == name and os.path.isfile(manifest):
                    with open(manifest, encoding="utf-8") as file:
                        if re.search(r'^language\s*=\s*"c\+\+"', file.read(), re.MULTILINE):
                            return ".cpp"
    return ".c"


def _command(source, target, env, for_signature):
    """The generator's command line; a list, so that no shell splits or expands it."""
    arguments = ["compile", "--out=" + str(target[0].dir)] + target[0].attributes.aidge_arguments + ["--", str(source[0])]
    if for_signature:  # what the command consists of is a part of it, where it lies is none
        return [
            [argument.replace("$", "$$") for argument in arguments]
            + [target[0].attributes.aidge_tool, _content_signature(source[0])]
        ]
    _pass_debug_level(env)
    return [[SCons.Subst.Literal(argument) for argument in _require_command(env) + arguments]]


def _arguments(env, options):
    """The options of `aidge-build compile`, in a fixed order."""
    arguments = [] if options.get("board") or options.get("cpu") else _target_arguments(env)
    for name, (option, kind, _) in OPTIONS.items():
        arguments += [option + "=" + word for word in _option_words(env, name, kind, options.get(name))]
    if options.get("board"):
        _refuse_other_cpu(env, options)
    return arguments


def _option_words(env, name, kind, value):
    """What stands behind an option on the command line, once for each time that it is repeated; paths as an action sees them."""
    if not value:
        return []
    if kind == "folders":
        return [_path(folder) for folder in _folders(env, name, value)]
    if kind == "file":
        return [_path(env.File(value).srcnode())]
    if kind == "checkouts":
        return ["%s=%s" % (library, _path(env.Dir(folder).srcnode())) for library, folder in sorted(value.items())]
    if kind == "pairs":
        return ["%s=%s" % pair for pair in sorted(value.items())] if isinstance(value, dict) else _as_list(value)
    return [",".join(map(str, _as_list(value)))]


def _merged_options(env, options):
    """AIDGE_BOARD and AIDGE_OPTIONS with `options` over them; a misspelled one is an error."""
    given = {name: value for name, value in options.items() if value is not None}
    merged = dict(env.get("AIDGE_OPTIONS") or {}, **given)
    _refuse_unknown("AidgeModel", merged, OPTIONS, "out")
    if env.get("AIDGE_BOARD") and not merged.get("cpu"):
        merged.setdefault("board", env["AIDGE_BOARD"])
    return merged


def _refuse_unknown(call, given, table, *own):
    """An option that the call does not have, or a value that its option does not take, is an error with what is near."""
    for name, value in given.items():
        if name not in table:
            guess = _guess(name, table)
            raise SCons.Errors.UserError("%s has no option '%s'; %soptions: %s" % (call, name, guess, ", ".join([*table, *own])))
        values = table[name][2]
        if values and value and value not in values:
            guess = _guess(str(value), values)
            raise SCons.Errors.UserError("%s: %s='%s': %svalues: %s" % (call, name, value, guess, ", ".join(values)))


def _guess(word, words):
    near = difflib.get_close_matches(word, words, n=1)
    return "did you mean '%s'? " % near[0] if near else ""


def _add_header_folder(env, folder):
    """On CPPPATH of the user's environment, also when a call overrides some variables of it."""
    while isinstance(env, SCons.Environment.OverrideEnvironment):
        env = env.__dict__["__subject"]
    env.AppendUnique(CPPPATH=[folder])


def _external_data(node, env=None, path=()):
    """The files beside a model that hold its weights; this runs when the model exists, also if it is built."""
    content = node.get_contents() if node.rexists() else b""
    names = {content[match.end() : match.end() + match.group(1)[0]] for match in EXTERNAL_DATA.finditer(content)}
    texts = sorted(name.decode("utf-8", "replace") for name in names)
    files = [
        node.dir.File(text) for text in texts if not os.path.isabs(text) and ".." not in text.split("/") and "\0" not in text
    ]
    return [file for file in files if file.has_builder() or file.rexists()]


def _content_signature(model):
    """The content of a model; SCons alone takes a file for unchanged whose time is some days old and the same as before."""
    digest = hashlib.sha256()
    for node in [model] + _external_data(model):
        digest.update(hashlib.sha256(node.get_contents() if node.rexists() else b"").digest())
    return digest.hexdigest()


# The target, from the environment's own flags.


def _target_arguments(env):
    """`--cpu` and `--fpu` as the environment's flags say, or `--board=host` for the native compiler."""
    cpu, fpu, float_abi = (_machine_flag(env, flag) for flag in ("-mcpu=", "-mfpu=", "-mfloat-abi="))
    if cpu:
        has_fpu = float_abi in ("hard", "softfp") or any("-mhard-float" in _words(env, variable) for variable in FLAG_VARIABLES)
        return ["--cpu=" + cpu] + (["--fpu=" + (fpu or "auto")] if has_fpu else [])
    compiler = os.path.basename(_compiler(env))
    if HOST_COMPILER.match(compiler) and "-mthumb" not in _words(env, "CCFLAGS"):
        return ["--board=host"]
    raise SCons.Errors.UserError(
        "aidge: the flags of this environment (CC is '%s') name no -mcpu. Name the target: "
        "env.AidgeModel(..., board='stm32f7'), or env['AIDGE_BOARD'] = 'stm32f7'" % compiler
    )


def _machine_flag(env, flag):
    """The value of a -m flag; within a variable the last one counts, as it does for gcc."""
    values = {}
    for variable in FLAG_VARIABLES:
        for word in _words(env, variable):
            if word.startswith(flag):
                values[variable] = word[len(flag) :]
    if len(set(values.values())) > 1:
        found = ", ".join("%s in %s" % (flag + value, variable) for variable, value in values.items())
        raise SCons.Errors.UserError(
            "aidge: the flags of this environment contradict each other (%s). Make them equal, "
            "or name the target: env.AidgeModel(..., board='stm32f7')" % found
        )
    return next(iter(values.values()), "")


def _words(env, variable):
    """The flags in a variable, be it a list or a string."""
    return [str(word) for line in env.subst_list("$" + variable) for word in line]


def _compiler(env):
    """The compiler as the environment calls it, without what starts it."""
    return next((word for word in _words(env, "CC") if not LAUNCHER.match(os.path.basename(word))), "")


def _refuse_other_cpu(env, options):
    """A board whose CPU is not the one that the environment compiles for is an error."""
    flags_cpu = _machine_flag(env, "-mcpu=")
    board_cpu = _cpu_of_board(options["board"], _board_folders(env, options))
    if flags_cpu and board_cpu and flags_cpu != board_cpu:
        raise SCons.Errors.UserError(
            "aidge: board='%s' has a %s, but the flags of this environment say -mcpu=%s. Correct one "
            "of them, or leave out board=" % (options["board"], board_cpu, flags_cpu)
        )


def _cpu_of_board(name, folders):
    """The CPU that a board's file or the files it extends name; None where that cannot be read."""
    for _ in range(10):
        paths = [os.path.join(folder, sub, name + ".toml") for folder in folders for sub in ("", "bases")]
        path = next((path for path in paths if os.path.isfile(path)), None)
        if path is None:
            return None
        with open(path, encoding="utf-8") as file:
            found = dict(re.findall(r'^(cpu|extends)\s*=\s*"([^"]*)"', file.read(), re.MULTILINE))
        if "cpu" in found or "extends" not in found:
            return found.get("cpu")
        name = found["extends"]
    return None


# The command, and what it consists of.


def _find_command(env):
    """The setting AIDGE_BUILD, else the command beside the running Python, else the one on the PATH; None if missing."""
    setting = env.get("AIDGE_BUILD")
    if setting and not SCons.Util.is_String(setting):
        return [str(part) for part in setting]
    if setting:
        path = env.File(str(setting)).get_abspath()
        return [path] if os.path.isfile(path) else None
    beside = shutil.which("aidge-build", path=os.path.dirname(sys.executable))
    found = beside or shutil.which("aidge-build")
    return [found] if found else None


def _require_command(env):
    command = _find_command(env)
    if command is None and (SCons.Script.GetOption("clean") or SCons.Script.GetOption("help")):
        return ["aidge-build"]
    if command is None:
        setting = " (AIDGE_BUILD is '%s')" % env["AIDGE_BUILD"] if env.get("AIDGE_BUILD") else ""
        sys.stdout.flush()
        sys.stderr.write(
            "aidge: the command aidge-build is missing%s. Type in the checkout of aidge_build: ./sconsw --install "
            "(makes .venv, with scons and everything), or for your own scons: pip install .\n" % setting
        )
        sys.exit(EXIT_MISSING)
    return command


def _digest_of_tool(command, env, options):
    """One hash over everything that the generator reads beside the model: package, templates, kernels, boards.

    Coarse on purpose: a change too many costs a second, and what is generated decides what is compiled.
    """
    package = _package_folder(command)
    if package:
        folders = [package] + ([] if os.path.isdir(os.path.join(package, "data")) else _beside(package, ("kernels", "boards")))
    else:
        folders = [part for part in command[1:] or command if os.path.isfile(part)]
    for name in ("kernel_path", "board_path"):
        folders += [folder.get_abspath() for folder in _folders(env, name, options.get(name))]
    return hashlib.sha256("".join(_digest(folder) for folder in folders).encode()).hexdigest()


def _package_folder(command):
    """The folder of the package aidge_build that `command` runs, found without running it; None if that fails."""
    if len(command) > 1 and "aidge_build" not in command:
        return None  # a list that is not `python -m aidge_build`: a wrapper, which counts by its own files
    for path in (command[0], os.path.realpath(command[0])):
        prefix = os.path.dirname(os.path.dirname(os.path.abspath(path)))
        for library in _subfolders(prefix, "lib", r"python3") + _subfolders(prefix, "local/lib", r"python3") + [prefix + "/Lib"]:
            for packages in ("site-packages", "dist-packages"):
                folder = _package_in(os.path.join(library, packages))
                if folder:
                    return folder
    return None


def _package_in(packages):
    """The package in a site-packages folder, or where an editable install there points to."""
    if os.path.isfile(os.path.join(packages, "aidge_build", "__init__.py")):
        return os.path.join(packages, "aidge_build")
    for entry in sorted(os.listdir(packages)) if os.path.isdir(packages) else []:
        if "aidge_build" in entry and entry.endswith((".pth", "_finder.py")):
            with open(os.path.join(packages, entry), encoding="utf-8") as file:
                text = file.read()
            places = [line + "/aidge_build" for line in text.splitlines()] + re.findall(r"'aidge_build': '([^']+)'", text)
            for place in places:
                if os.path.isfile(os.path.join(place, "__init__.py")):
                    return place
    return None


def _subfolders(prefix, folder, start):
    parent = os.path.join(prefix, folder)
    return (
        [os.path.join(parent, name) for name in sorted(os.listdir(parent)) if name.startswith(start)]
        if os.path.isdir(parent)
        else []
    )


def _beside(package, names):
    paths = [os.path.join(os.path.dirname(package), name) for name in names]
    return [path for path in paths if os.path.isdir(path)]


_digests = {}


def _digest(place):
    """The hash of a file, or of the names and contents of all files below a folder; computed once in a run."""
    if place not in _digests:
        digest = hashlib.sha256()
        for path in _files_below(place) if os.path.isdir(place) else [place]:
            with open(path, "rb") as file:
                content = file.read()
            digest.update(("%s %d\n" % (path[len(place) :], len(content))).encode("utf-8", "surrogateescape"))
            digest.update(content)
        _digests[place] = digest.hexdigest()
    return _digests[place]


def _files_below(folder):
    entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    for entry in entries:
        if entry.name.startswith(".") or entry.name == "__pycache__":
            continue
        if entry.is_dir():
            for path in _files_below(entry.path):
                yield path
        elif entry.is_file():
            yield entry.path


def _folders(env, name, value):
    """The user's folders of kernels or boards as nodes: their names stay relative where the checkout's place changes."""
    folders = [env.Dir(folder) for folder in _as_list(value)]
    folders = [folder.srcnode() for folder in folders]
    for folder in folders:
        if not os.path.isdir(folder.get_abspath()):
            raise SCons.Errors.UserError("aidge: %s: there is no folder '%s'" % (name, folder))
    return folders


def _board_folders(env, options):
    package = _package_folder(_require_command(env))
    own = [folder.get_abspath() for folder in _folders(env, "board_path", options.get("board_path"))]
    return own + ([os.path.join(package, "data", "boards")] + _beside(package, ["boards"]) if package else [])


# The check as a part of the link.


def _plans_of(elf):
    """The plans of all models among the sources of a program (and of their objects), in order."""
    found, waiting = [], list(elf.sources)
    while waiting:
        node = waiting.pop(0)
        plan = node.attributes.__dict__.get("aidge_plan")
        if plan is not None and plan not in found:
            found.append(plan)
        elif plan is None:
            waiting += node.sources
    return found


def _check(target, source, env):
    """Runs `aidge-build check`; its JSON goes to <elf>.check.json; a program that fails is removed."""
    return _prove(target[0], env, ["check", "--out=" + str(target[0]) + ".check.json"] + target[0].attributes.aidge_check)


def _count(target, source, env):
    """Runs the program in the emulator and compares its instructions with the budget."""
    return _prove(target[0], env, ["run"] + target[0].attributes.aidge_count)


def _prove(elf, env, words):
    """Runs a verb of `aidge-build` that reads `elf`, and removes the program where it fails."""
    _pass_debug_level(env)
    sys.stdout.flush()
    status = subprocess.call(_require_command(env) + words + ["--", str(elf)], env=_process_environment(env))
    if status != 0 and os.path.exists(str(elf)):
        os.remove(str(elf))
    return status


def _explain_failed_links():
    """Where a program with a model did not link, says which memory is too small, what is in it and what helps, if that is why."""
    for failure in SCons.Script.GetBuildFailures():
        # The words are as a shell reads them.
        words = shlex.split(" ".join(map(str, failure.command))) if SCons.Util.is_List(failure.command) else []
        if words and "-c" not in words and failure.node.has_builder() and _plans_of(failure.node):
            env = failure.node.get_build_env()
            sys.stdout.flush()
            subprocess.call(
                _require_command(env) + ["explain-link", "--hook", "--"] + words,
                env=_process_environment(env),
                cwd=failure.node.fs.Top.get_abspath(),
            )


def _process_environment(env):
    """SCons' own environment, with the folder of the compiler: the check reads the ELF with the toolchain's programs."""
    variables = {name: str(value) for name, value in env["ENV"].items()}
    compiler = shutil.which(_compiler(env) or "cc")
    if compiler:
        variables["PATH"] = variables.get("PATH", "") + os.pathsep + os.path.dirname(compiler)
    return variables


def _pass_debug_level(env):
    if os.environ.get("AIDGE_DEBUG"):
        env["ENV"]["AIDGE_DEBUG"] = os.environ["AIDGE_DEBUG"]


def _path(node):
    """The path as an action sees it, from the top folder; str() depends on which SConscript is being read."""
    return node.get_path(node.fs.Top)


def _as_list(value):
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]
