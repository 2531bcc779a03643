# SPDX-License-Identifier: MIT
"""SCons tool `aidge`: a neural-network model as a source file of the firmware.

    env.Tool('aidge')                                  # this file in site_scons/site_tools/, or with
                                                       # toolpath=[aidge_build.scons_toolpath()] after `pip install`
    kws = env.AidgeModel('kws', 'models/kws.onnx')     # a node list for source lists; 'zoo:NAME' is a model of the tool
    app = env.Program('app.elf', ['main.c', kws])      # or simply ['main.c', 'models/kws.onnx'], or kws.tflite
    env.AidgeCheck(app)                                # the link fails if the ELF breaks the plan
    `scons generated-sources` generates only; with the tool compilation_db, editors know the generated files, too.

The header of a model is found by the objects of every program and library that has the model among its sources, and by no other:
a folder on the CPPPATH of everybody would hand a second program the header of the first one's model. Who compiles in other ways
appends it himself: env.Append(CPPPATH=[kws.include]).

One file, standard library and SCons (4.4 or newer) only, and it must stay so: reading a SConscript imports no package
of ours and starts no process. The generator is the command `aidge-build`, run as a process with a list of arguments.

Construction variables:
  AIDGE_BUILD    the command, if it is not next to the running Python or on the PATH: a path, or a list of arguments
  AIDGE_BOARD    the board of every model that names none; otherwise the environment's flags decide
  AIDGE_OPTIONS  defaults of AidgeModel's options, for models that are named as sources: {'libs': ['ref']}
  AIDGE_SUFFIXES list of the suffixes of models that are sources by their names, written by the tool; AidgeModel takes any file
  AIDGECOMSTR, AIDGECHECKCOMSTR, AIDGEACCURACYCOMSTR    what is printed instead of the command lines
"""

from __future__ import annotations

import atexit
import difflib
import functools
import hashlib
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import types

import SCons.Action
import SCons.Builder
import SCons.Environment
import SCons.Errors
import SCons.Node.FS
import SCons.Scanner
import SCons.Script
import SCons.Subst
import SCons.Tool
import SCons.Util

EXIT_MISSING = 3

# <options> Written by `aidge-build list options --update .`; do not edit.
# What a call takes -> option of `aidge-build`, what becomes of the value, the valid values (none: any).
OPTIONS = {
    "board": ("--board", "target", ()),
    "cpu": ("--cpu", "target", ()),
    "fpu": ("--fpu", "target", ()),
    "libs": ("--lib", "list", ()),
    "io": ("--io", "word", ("caller", "arena")),
    "input": ("--input", "word", ("whole", "rows")),
    "output": ("--output", "word", ("whole", "rows")),
    "arena": ("--arena", "word", ("static", "caller")),
    "dma": ("--dma", "word", ("off", "hooks", "on")),
    "record": ("--record", "word", ()),
    "monitor": ("--monitor", "word", ("off", "on")),
    "monitor_samples": ("--monitor-samples", "file", ()),
    "weights": ("--weights", "word", ("c", "incbin")),
    "copy_constants": ("--copy-constants", "word", ("off", "memcpy", "hook")),
    "constants_in": ("--constants-in", "pairs", ()),
    "place": ("--place", "file", ()),
    "bind": ("--bind", "pairs", ()),
    "state": ("--state", "pairs", ()),
    "signature": ("--signature", "word", ()),
    "kernel_path": ("--kernel-path", "folders", ()),
    "board_path": ("--board-path", "folders", ()),
    "optimize": ("--optimize", "word", ("speed", "size", "balanced")),
    "select": ("--select", "word", ("library", "cost")),
    "cost_table": ("--cost-table", "file", ()),
    "rounding": ("--rounding", "word", ("onnx", "tflite", "any", "double")),
    "checkout": ("--checkout", "checkouts", ()),
    "memory_model": ("--memory-model", "word", ("default", "plain", "cascade")),
    "state_type": ("--state-type", "word", ("model", "int8")),
    "ram_budget": ("--ram-budget", "word", ()),
    "max_step": ("--max-step", "number", ()),
    "update": ("--update", "word", ("none", "weights")),
    "weights_version": ("--weights-version", "number", ()),
    "integrity": ("--integrity", "word", ("off", "constants", "canary", "on")),
    "constant_channels": ("--constant-channels", "word", ("on", "off")),
    "block_data": ("--block-data", "word", ("file", "int8")),
    "assembly": ("--assembly", "word", ("on", "off")),
    "unaligned": ("--unaligned", "word", ("on", "off")),
    "pack_weights": ("--pack-weights", "word", ("on", "tables", "off")),
    "kernels": ("--kernels", "word", ("own", "shared")),
    "quantize": ("--quantize", "file", ()),
    "ranges": ("--ranges", "word", ("minmax", "moving-average", "percentile", "mse", "entropy")),
    "percentile": ("--percentile", "word", ()),
    "activations": ("--activations", "word", ("asymmetric", "symmetric")),
    "equalize": ("--equalize", "word", ("on", "off")),
    "correct_bias": ("--correct-bias", "word", ("on", "off")),
    "round_weights": ("--round-weights", "word", ("on", "off")),
    "layer_types": ("--layer-types", "pairs", ()),
    "least_sqnr": ("--least-sqnr", "decimal", ()),
    "io_type": ("--io-type", "word", ("int8", "float32")),
    "io_layout": ("--io-layout", "word", ("model", "nhwc")),
}
CHECK_OPTIONS = {
    "board": ("--board", "word", ()),
    "regions": ("--region", "pairs", ()),
    "map": ("--map", "file", ()),
    "board_path": ("--board-path", "folders", ()),
    "shares": ("--shares", "list", ()),
    "weights_in": ("--weights-in", "list", ()),
    "dma_arrays": ("--dma-arrays", "list", ()),
    "task_stacks": ("--task-stacks", "list", ()),
    "max_step_unproved": ("--max-step-unproved", "word", ("error", "warning")),
    "quiet": ("--quiet", "list", ()),
}
ACCURACY_OPTIONS = {
    "float": ("--float", "file", ()),
    "calibration": ("--calibration", "file", ()),
    "task": ("--task", "word", ("auto", "classes", "decisions", "scores", "anomaly", "regression")),
    "labelled_output": ("--labelled-output", "word", ()),
    "elf": ("--elf", "file", ()),
    "block": ("--block", "file", ()),
    "samples": ("--samples", "number", ()),
    "min_top1": ("--min-top1", "decimal", ()),
    "max_loss": ("--max-loss", "decimal", ()),
    "min_auc": ("--min-auc", "decimal", ()),
    "max_mae": ("--max-mae", "decimal", ()),
    "max_rmse": ("--max-rmse", "decimal", ()),
    "min_r2": ("--min-r2", "decimal", ()),
}
# </options>
BUDGETS = ("max_stack", "max_flash", "max_instructions", "max_cycles", "max_ms")  # of AidgeBudget
FLAG_VARIABLES = ("CC", "CCFLAGS", "CFLAGS", "CPPFLAGS", "ASFLAGS", "LINKFLAGS")
COMPILED_WITH = ("CC", "CFLAGS", "CCFLAGS", "CPPFLAGS")  # in the order of a command that compiles C
UNALIGNED_FLAGS = ["-munaligned-access", "-mno-unaligned-access"]  # of words at any address; the last one counts
HOST_COMPILER = re.compile(r"(gcc|cc|clang)(-\d+)?(\.exe)?$")
CROSS_TARGET = re.compile(r"--?target\b")  # clang compiles for other machines by this word
CROSS_COMPILER = re.compile(r"([a-z]\w*)-(?:[\w.]+-)*(?:gcc|cc|clang)(-[\d.]+)?(\.exe)?$")  # riscv64-unknown-elf-gcc: its machine
LINKER = re.compile(r"(.*-)?(gcc|g\+\+|cc|c\+\+|clang|clang\+\+)(-[\d.]+)?(\.exe)?$")  # know -Wl,-Map; armclang does not
LAUNCHER = re.compile(r"(ccache|sccache|distcc|icecc)(\.exe)?$")  # before the compiler: CC='ccache arm-none-eabi-gcc'
# In an ONNX file: the key "location" of a tensor's external data, and the length of the file name that follows.
EXTERNAL_DATA = re.compile(rb"\x0a\x08location\x12([\x01-\x7f])")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^">]+)[">]', re.MULTILINE)
UNOPTIMIZED = "which costs instructions and several times the stack: env.Append(CCFLAGS=['-O2']), or -Os"
MODEL_SUFFIXES = (".onnx", ".tflite")  # where no package is found that says which formats it reads
EMITTERS = ("PROGEMITTER", "LIBEMITTER", "SHLIBEMITTER", "LDMODULEEMITTER")


def generate(env):
    """Adds AidgeModel, AidgeCheck, AidgeAccuracy and the suffixes of models to `env`."""
    verbose = SCons.Script.ARGUMENTS.get("verbose", "0") not in ("0", "")
    env.SetDefault(AIDGECOMSTR="" if verbose else "AIDGE  $SOURCE -> $TARGET", AIDGECHECKCOMSTR="CHECK  $TARGET")
    env.SetDefault(AIDGEACCURACYCOMSTR="" if verbose else "ACCURACY  $SOURCE -> $TARGET")
    action = SCons.Action.Action(_generation, generator=True)
    env["BUILDERS"]["AidgeGenerate"] = SCons.Builder.Builder(action=action, emitter=_emit, single_source=True)
    env["AIDGE_SUFFIXES"] = _model_suffixes(env)
    env.Append(SCANNERS=[SCons.Scanner.ScannerBase(_external_data, name="AidgeScanner", skeys=env["AIDGE_SUFFIXES"])])
    c_files, _ = SCons.Tool.createCFileBuilders(env)
    for suffix in env["AIDGE_SUFFIXES"]:
        c_files.add_action(suffix, action)
        c_files.add_emitter(suffix, _emit)
    env.AddMethod(aidge_model, "AidgeModel")
    env.AddMethod(aidge_check, "AidgeCheck")
    env.AddMethod(aidge_budget, "AidgeBudget")
    env.AddMethod(aidge_accuracy, "AidgeAccuracy")
    env.AddMethod(aidge_action, "AidgeAction")
    _add_emitters(env)
    _scan_headers_too()
    atexit.unregister(_explain_failures)
    atexit.register(_explain_failures)


def exists(env):
    """Whether the command is there (SCons asks for it)."""
    return _find_command(env) is not None


class ModelFiles(SCons.Util.NodeList):
    """The C files of a model, for source lists; `.plan`, `.header` and `.include` (the header's folder) are nodes.

    It adds up with other lists, Glob('*.c') + kws; a sum or a slice is a list of nodes and no more.
    """

    @classmethod
    def of(cls, nodes):
        files = cls([node for node in nodes if node.name.endswith((".c", ".cpp"))])
        files.header = next(node for node in nodes if node.name.endswith(".h"))
        files.plan = next(node for node in nodes if node.name.endswith(".plan.json"))
        files.include = files.header.dir
        return files


def aidge_model(env, name, model, out=None, **options):
    """The C files of `model` as a node list; its functions and files start with `name`.

    `out` is the folder of the generated files (the SConscript's by default); the other options are those of
    `aidge-build compile`, by the names in OPTIONS; docs/options.md says what they mean.
    """
    if str(name).endswith(tuple(env["AIDGE_SUFFIXES"])) or str(name).startswith("zoo:"):
        raise SCons.Errors.UserError(f"AidgeModel: the name comes first: env.AidgeModel('{_c_name(str(model))}', '{name}')")
    folder = env.Dir(out) if out else env.Dir(".")
    nodes = env.AidgeGenerate(
        folder.File(name + ".c"), _of_zoo(env, model), AIDGE_NAME=name, AIDGE_OPTIONS=_merged_options(env, options)
    )
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
        _refuse_backquote(target, "give the program another name")
        if not target.has_builder():
            raise SCons.Errors.UserError(f"AidgeCheck: {target} is not built here; give it what env.Program returned")
        plans = _plans_of(target) if models is None else [model.plan for model in _as_list(models)]
        if not plans:
            raise SCons.Errors.UserError(
                f"AidgeCheck: there is no model among the sources of {target}, nor in a library of LIBS that is made before "
                "this line; name it: models=[kws]. If its own C includes the header: env.Append(CPPPATH=[kws.include])"
            )
        _share_headers([target, *_libraries(target, target.get_env())], env)
        is_new = not hasattr(target.attributes, "aidge_check")
        named = any(options.get(name) for name in ("board", "regions", "map"))
        where = [] if named else plans[0].attributes.aidge_where
        target.attributes.aidge_plans = {"--plan=" + _path(plan): plan for plan in plans}
        target.attributes.aidge_check = [*where, *given, *target.attributes.aidge_plans]
        made = [target, *_make_with(target, target.name + ".check.json")]
        env.Depends(made, [plans, env.Value(" ".join(["aidge check", *target.attributes.aidge_check]))])
        if is_new:
            _mark_until_checked(target, env)
            _ask_for_map(target, env)
            _follow_the_link(target, SCons.Action.Action(_check, cmdstr="$AIDGECHECKCOMSTR"))
    return elf


def aidge_budget(env, elf, max_stack=None, max_flash=None, max_instructions=None, max_cycles=None, max_ms=None):
    """Limits for what AidgeCheck has proved: bytes of stack and of flash; and for one inference (emulated): instructions, and
    estimated cycles or milliseconds with their stated error.

    Zero drift: the counts are exact, so a budget may be today's figure. The program that exceeds one is removed.
    """
    proved = {"--max-stack": max_stack, "--max-flash": max_flash}
    counted = {"--max-instructions": max_instructions, "--max-cycles": max_cycles, "--max-ms": max_ms}
    of_check, of_run = (
        [f"{option}={number}" for option, number in budgets.items() if number is not None] for budgets in (proved, counted)
    )
    for target in env.arg2nodes(elf, env.fs.File):
        checked = getattr(target.attributes, "aidge_check", None)
        if checked is None:
            raise SCons.Errors.UserError(f"AidgeBudget: write env.AidgeCheck({target}) before it")
        boards = [word for word in checked if word.startswith("--board")]
        if of_run and not boards:
            name = of_run[0].split("=")[0].lstrip("-").replace("-", "_")
            raise SCons.Errors.UserError(f"AidgeBudget: {name} needs a board to emulate: env.AidgeModel(..., board='stm32f7')")
        target.attributes.aidge_check = checked + of_check
        env.Depends(target, env.Value(" ".join(["aidge budget"] + of_check + of_run)))
        if of_run:
            target.attributes.aidge_count = boards + of_run
            text = "COUNT  $TARGET" if env.get("AIDGECHECKCOMSTR") else None
            _follow_the_link(target, SCons.Action.Action(_count, cmdstr=text))
    return elf


def aidge_accuracy(env, model, labels, board=None, **options):
    """Measures the model on the samples of `labels`: writes `<name>.accuracy.json`, and fails where a limit is broken.

    `model` is what AidgeModel returned, or a program with one model: that is then not linked before the limits are kept. With
    elf= it is the other way round: the program is linked, and the code in it is what is measured. `board`
    is emulated (default: the model's; without one only the host computes). The other options are those of `aidge-build accuracy`,
    by the names in ACCURACY_OPTIONS. Returns the file's node.
    """
    options = {name: value for name, value in options.items() if value is not None}
    _refuse_unknown("AidgeAccuracy", options, ACCURACY_OPTIONS, "board")
    programs = [] if hasattr(model, "plan") else env.arg2nodes(model, env.fs.File)
    plan = _only_plan_of(programs) if programs else model.plan
    if programs and options.get("elf"):
        raise SCons.Errors.UserError(
            "AidgeAccuracy: a program waits for the figures, or they are its own: elf= goes with what AidgeModel returned"
        )
    words = [word for word in plan.attributes.aidge_arguments if not word.startswith("--name=")]
    if board:
        words = [word for word in words if not word.startswith(("--board=", "--cpu=", "--fpu="))] + [f"--board={board}"]
    for name, (option, kind, _) in ACCURACY_OPTIONS.items():
        words += [option + "=" + word for word in _option_words(env, name, kind, options.get(name))]
    samples = _file(env, labels)
    read = _files_of(env, options, ACCURACY_OPTIONS)
    action = SCons.Action.Action(_measurement, generator=True)
    target = plan.dir.File(plan.name[: -len(".plan.json")] + ".accuracy.json")
    target.attributes.aidge_accuracy = [*words, "--labels=" + _path(samples)]  # before the step, which is asked for its command
    env.Command(target, [plan.sources[0], samples, *read], action)
    env.Depends(target, plan.get_executor().get_all_targets())  # what is generated decides what is measured
    for program in programs:
        env.Depends(program, target)
    return target


def _only_plan_of(programs):
    plans = [plan for program in programs for plan in _plans_of(program)]
    if len(plans) != 1:
        raise SCons.Errors.UserError(
            f"AidgeAccuracy: there are {len(plans)} models among the sources of {programs[0]}; give it what AidgeModel returned"
        )
    return plans[0]


def _measurement(source, target, env, for_signature):
    """The action that measures a model."""
    words = ["accuracy", "--out=" + str(target[0]), *target[0].attributes.aidge_accuracy, "--"]
    if for_signature:
        return _literally([*words, str(source[0])])
    return _start([*words, str(source[0].rfile())], "$AIDGEACCURACYCOMSTR")


def aidge_action(env, *arguments, comstr=None):
    """An action that runs another verb of `aidge-build`: env.AidgeAction('run', '--board=stm32f7', '$SOURCE').

    SCons puts in variables ($$ is a dollar); the words that come out reach the process as they are. `comstr` is what is printed:
    nothing by default, the command for "".
    """
    _require_command(env)

    def generator(source, target, env, for_signature):
        if for_signature:
            return [list(arguments)]
        sources = [node.rfile() for node in source]
        return _start([str(word) for word in env.subst_list(list(arguments), target=target, source=sources)[0]], comstr)

    return SCons.Action.Action(generator, generator=True)


# Processes. No shell reads a name or a value: who unpacks an archive of models has not chosen what the files are called.


def _literally(words):
    """Words as the signature of an action, in which SCons replaces no variable."""
    return [[word.replace("$", "$$") for word in words]]


def _start(words, comstr):
    """An action that starts `aidge-build` with `words`, and prints `comstr`, or else the command as a shell would read it."""

    def run(target, source, env):
        return _call(words, env)

    run.strfunction = lambda target, source, env: _shown(_require_command(env) + words)
    return SCons.Action.Action(run, cmdstr=comstr)


def _refuse_backquote(node, hint):
    """The commands that compile and link are SCons' own: it hands them to a shell, and quotes all that a shell reads but this."""
    if "`" in _path(node):
        raise SCons.Errors.UserError(f"aidge: a shell would run what is between backquotes in '{_path(node)}': {hint}")


def _call(words, env):
    """The exit code of `aidge-build`, started with a list of arguments. A SPAWN of the user's gets each quoted for a shell."""
    for name, value in {
        "AIDGE_FRONT_END": "SCons",
        **{name: os.environ.get(name) for name in ("AIDGE_DEBUG", "AIDGE_LOG")},
    }.items():
        if value:
            env["ENV"][name] = value
    command, spawn = _require_command(env) + words, env["SPAWN"]
    sys.stdout.flush()
    if spawn.__module__.startswith("SCons.Platform"):
        return subprocess.call(command, env=_process_environment(env))
    return spawn(env["SHELL"], env["ESCAPE"], command[0], [_shown([word]) for word in command], _process_environment(env))


def _shown(words):
    return subprocess.list2cmdline(words) if os.name == "nt" else shlex.join(words)


# The generator's step.


def _emit(target, source, env):
    """What the generator writes for one model, and what it depends on beside the model."""
    command = _require_command(env)
    options = _merged_options(env, {})
    model = source[0]
    name = env.get("AIDGE_NAME") or SCons.Util.splitext(model.name)[0]
    if not re.match(r"[A-Za-z][A-Za-z0-9_]*$", name):
        raise SCons.Errors.UserError(
            f"{model}: '{name}' is no name for a C function. Write env.AidgeModel('{_c_name(name)}', '{model}')"
        )
    folder = target[0].dir
    if not env.get("AIDGE_NAME") and not folder.is_under(env.Dir(".")):
        folder = env.Dir(".")  # a model elsewhere: nothing is written beside it
    _refuse_backquote(folder, "out='...' names another folder")
    endings = [_code_ending(env, options), "_weights.c", ".h", ".plan.json"] + (
        ["_weights.bin"] if options.get("weights") == "incbin" else []
    )
    targets = [folder.File(name + ending) for ending in endings]
    arguments, digest = _arguments(env, options), _digest_of_tool(command, env, options)
    _claim(env, name, targets, source, arguments)
    for node in targets:
        node.attributes.aidge_plan = targets[3]
        node.attributes.aidge_header = targets[2]
        node.attributes.aidge_arguments = ["--name=" + name] + arguments
        node.attributes.aidge_tool = digest
        node.attributes.keep_targetinfo = 1  # SCons forgets what a second scan of a repository's header asks for
        node.attributes.aidge_where = [argument for argument in arguments if argument.startswith("--board")]
    env.Alias("generated-sources", targets)  # for editors: headers without a build of everything
    env.Precious(targets)  # so that the generator can leave a file alone whose content stays the same
    files = _files_of(env, options, OPTIONS)
    env.Depends(targets, files)
    env.Depends(targets, [env.Dir(folder) for _, folder in sorted((options.get("checkout") or {}).items())])
    for node in [model, *files, *(env.File(word) for word in command if os.path.isfile(word))]:
        node.Decider(_has_changed)
    _add_emitters(env)
    return targets, source


def _c_name(text):
    """A name for C functions that is near to `text`, which may be a path."""
    stem = SCons.Util.splitext(os.path.basename(text))[0]
    return re.sub(r"[^A-Za-z0-9_]", "_", re.sub(r"^(?![A-Za-z])", "model_", stem))


_headers = {}  # name of a generated header -> the headers of this name


def _claim(env, name, targets, source, arguments):
    """Refuses a second model of the same name whose header could be taken for the first one's; the same model again is fine."""
    base, folder = _base_environment(env), targets[0].dir
    owner, folders = base.__dict__.get("aidge_folders", (None, {}))
    if owner is not base:  # a clone shares the attributes of its original
        owner, folders = base.__dict__["aidge_folders"] = (base, {})
    if folders.setdefault(name, folder) is not folder:
        raise SCons.Errors.UserError(
            f"AidgeModel: this environment has a model '{name}' in '{_path(folders[name])}'; a second one in "
            f"'{_path(folder)}' needs an environment of its own: env = env.Clone()"
        )
    _refuse_twin(name, targets, folders)
    before = targets[0].attributes.__dict__.get("aidge_arguments")
    if before is None:
        _headers.setdefault(targets[2].name, []).append(targets[2])
    elif before != ["--name=" + name] + arguments or targets[0].sources != source:
        there, here = [*before[1:], *map(_path, targets[0].sources)], [*arguments, *map(_path, source)]
        raise SCons.Errors.UserError(
            f"AidgeModel: {_path(targets[0])} is generated with {_other_words(there, here)} and with "
            f"{_other_words(here, there)}: give one of the two a folder of its own, out='...'"
        )
    else:
        for node in targets:  # the same step for another image; SCons would warn of two environments
            node.env_set(env)


def _refuse_twin(name, targets, folders):
    """Two names that differ in upper case alone: their macros are the same, and on many disks their files, too."""
    beside = [header for known in _headers.values() for header in known if header.dir is targets[2].dir]
    names = [*folders, *(SCons.Util.splitext(header.name)[0] for header in beside)]
    twin = next((other for other in names if other != name and other.lower() == name.lower()), None)
    if twin is not None:
        raise SCons.Errors.UserError(
            f"AidgeModel: the models '{twin}' and '{name}' differ in upper case alone: macros of both begin with "
            f"{name.upper()}_, and there are disks on which their files are the same; give one of them another name"
        )


def _other_words(words, others):
    return " ".join(word for word in words if word not in others) or "nothing else"


def _has_changed(dependency, target, prev_ni, repo_node=None):
    """By content for our targets, whatever env.Decider says: those whose content stays are not written, and so stay older."""
    dependency = dependency.disambiguate()  # what env.Command makes is a file or a folder once it is asked
    if _is_not_as_recorded(target):
        return True
    if hasattr(target.attributes, "aidge_plan"):
        return dependency.changed_content(target, prev_ni, repo_node)
    env = target.get_build_env()
    return (env.decide_target if dependency.has_builder() else env.decide_source)(dependency, target, prev_ni, repo_node)


def _is_not_as_recorded(target):
    """Whether a generated file or its object is another one than SCons recorded: a build that was killed wrote it and recorded
    nothing, and SCons alone calls it up to date when its sources are again the recorded ones."""
    recorded = target.get_stored_info().ninfo
    if getattr(recorded, "csig", None) is None or not target.exists() or target is target.attributes.__dict__.get("aidge_plan"):
        return False  # a plan that somebody changed is left for the check, which says so
    is_touched = (recorded.timestamp, recorded.size) != (target.get_timestamp(), target.get_size())
    return is_touched and recorded.csig != target.get_content_hash()


def _code_ending(env, options):
    """`.cpp` when a library of the user's that is named says language = "c++", else `.c`."""
    wanted = ",".join(_as_list(options.get("libs") or [])).split(",")
    for folder in _folders(env, "kernel_path", options.get("kernel_path")):
        place = folder.get_abspath()
        for path in (place, *(os.path.join(place, name) for name in sorted(os.listdir(place)))):
            manifest = os.path.join(path, "library.toml")
            if os.path.isfile(manifest):
                with open(manifest, encoding="utf-8") as file:
                    fields = dict(re.findall(r'^(name|language)\s*=\s*"([^"]*)"', file.read(), re.MULTILINE))
                if fields.get("language") == "c++" and {fields.get("name"), os.path.basename(path)} & set(wanted):
                    return ".cpp"
    return ".c"


def _generation(source, target, env, for_signature):
    """The action that generates. Its signature holds what the command consists of, and not where it lies."""
    words = ["compile", "--out=" + str(target[0].dir), *target[0].attributes.aidge_arguments, "--"]
    if for_signature:
        return _literally([*words, str(source[0]), target[0].attributes.aidge_tool, _content_signature(source[0])])
    return _start([*words, str(source[0].rfile())], "$AIDGECOMSTR")


def _arguments(env, options):
    """The options of `aidge-build compile`, in a fixed order."""
    arguments = [] if options.get("board") or options.get("cpu") else _target_arguments(env)
    for name, (option, kind, _) in OPTIONS.items():
        arguments += [option + "=" + word for word in _option_words(env, name, kind, options.get(name))]
    said = [word for variable in COMPILED_WITH for word in _words(env, variable) if word in UNALIGNED_FLAGS]
    if said[-1:] == UNALIGNED_FLAGS[1:] and not options.get("unaligned"):
        arguments.append("--unaligned=off")
    if options.get("board"):
        _refuse_other_cpu(env, options)
        flags = {variable: _words(env, variable) for variable in FLAG_VARIABLES}
        if _machine_flag(flags, "-mfloat-abi=") == "soft" and not options.get("fpu"):
            arguments.append("--fpu=none")  # whatever the board has: kernels must not wait for an FPU
    return arguments


def _option_words(env, name, kind, value):
    """What stands behind an option on the command line, once for each time that it is repeated; paths as an action sees them."""
    if kind in ("decimal", "number"):
        return [] if value is None else [str(value)]  # 0 is a limit, too
    if not value:
        return []
    if kind == "folders":
        return [_path(folder) for folder in _folders(env, name, value)]
    if kind == "file":
        return [_path(_file(env, value))]
    if kind == "checkouts":
        return [f"{library}={_path(env.Dir(folder).srcnode().rdir())}" for library, folder in sorted(value.items())]
    if kind == "pairs":
        return [f"{name}={text}" for name, text in sorted(value.items())] if isinstance(value, dict) else _as_list(value)
    return [",".join(map(str, _as_list(value)))]


def _files_of(env, options, table):
    """The nodes of the files that options name."""
    return [_file(env, options[name]) for name, (_, kind, _) in table.items() if kind == "file" and options.get(name)]


def _file(env, value):
    """The file of an option: what this build makes, or a source."""
    nodes = env.arg2nodes(_of_zoo(env, value), env.fs.File)
    return nodes[0] if nodes[0].has_builder() else nodes[0].srcnode().rfile()


def _of_zoo(env, value):
    """The path that `zoo:NAME` or `zoo:NAME/test.npz` means, by the cards that aidge_build/base/zoo.py reads; any other value."""
    if SCons.Util.is_List(value) and len(value) == 1:
        value = value[0]
    word = env.subst(value) if SCons.Util.is_String(value) else ""
    command = _find_command(env) if word.startswith("zoo:") else None
    if command is None:  # a model without the command is refused, or removed by `scons -c`
        return value
    package, (name, _, samples) = _package_folder(command), word[len("zoo:") :].partition("/")
    if samples not in ("", "test.npz"):
        raise SCons.Errors.UserError(f"{word}: a model of the zoo has no '{samples}'; its samples: zoo:{name}/test.npz")
    folders = [os.path.join(package, "data", "examples", "zoo"), *_beside(package, ["examples/zoo"])] if package else []
    zoo = next(filter(os.path.isdir, folders), None)
    if zoo is None:
        raise SCons.Errors.UserError(f"{word}: the package aidge_build is not found; name the file: aidge-build list zoo {name}")
    names = [folder for folder in sorted(os.listdir(zoo)) if os.path.isfile(os.path.join(zoo, folder, "card.toml"))]
    if name not in names:
        raise SCons.Errors.UserError(f"{word}: {_guess(name, names)}models of the zoo: {', '.join(names)}")
    with open(os.path.join(zoo, name, "card.toml"), encoding="utf-8") as file:
        given = dict(re.findall('^(model|test) = "(.*)"$', file.read(), re.MULTILINE))
    file = given.get("test", "test.npz") if samples else given.get("model", name + ".onnx")
    return os.path.normpath(os.path.join(zoo, name, file))


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
            guess = f"env.AidgeBudget(app, {name}={value}) has it; " if name in BUDGETS else _guess(name, table)
            raise SCons.Errors.UserError(f"{call} has no option '{name}'; {guess}options: {', '.join([*table, *own])}")
        values = table[name][2]
        if values and value and value not in values:
            guess = _guess(str(value), values)
            raise SCons.Errors.UserError(f"{call}: {name}='{value}': {guess}values: {', '.join(values)}")


def _guess(word, words):
    near = difflib.get_close_matches(word, words, n=1)
    return f"did you mean '{near[0]}'? " if near else ""


# Who finds the header of a model.


def _base_environment(env, holding=None):
    """The environment that a call overrides some variables of; an override that holds the variable `holding` counts as one."""
    while isinstance(env, SCons.Environment.OverrideEnvironment) and holding not in env.__dict__["overrides"]:
        env = env.__dict__["__subject"]
    return env


def _add_emitters(env):
    """Programs and libraries are asked for their sources; again with every model, as a tool may set its emitters later."""
    base = _base_environment(env)
    for name in EMITTERS:
        emitters = base.get(name) or []
        if SCons.Util.is_String(emitters):
            emitters = SCons.Builder.EmitterProxy(emitters)
        emitters = _as_list(emitters)
        if _emit_program not in emitters:
            base[name] = [*emitters, _emit_program]


def _emit_program(target, source, env):
    """Changes nothing but what the objects among the sources may include."""
    if _headers:
        _share_headers([*source, *_libraries(target[0], env)], env)
    return target, source


def _share_headers(nodes, env):
    """Every object that is linked with a model, directly or through libraries, finds its header; `_has_changed` decides."""
    headers, objects = {}, []
    for node in _linked(nodes):
        header = node.attributes.__dict__.get("aidge_header")
        if header is not None:
            headers[header] = True
            for generated in (node, header):  # now that they have a builder, which sets SCons's own decider
                generated.Decider(_has_changed)
        elif node.sources:
            objects.append(node)
    if headers:
        found, environments = tuple(headers), {}
        for node in objects:
            own = node.attributes.__dict__.get("aidge_headers", found)
            node.attributes.aidge_headers = found if own is found else tuple(dict.fromkeys(own + found))
            _refuse_ambiguous(node)
            user = node.get_env() or env
            environments[id(user)] = user
        for user in environments.values():
            _add_include_path(user)


def _linked(nodes):
    """These nodes, what they are made from, and so on, each once; not what generated files are made from."""
    waiting, seen = list(nodes), set()
    for node in waiting:
        if node not in seen:
            seen.add(node)
            yield node
            if not hasattr(node.attributes, "aidge_plan"):
                waiting += node.sources


def _libraries(program, env):
    """The libraries of LIBS that this build makes, as far as it knows them yet; SCons' own scanner of programs finds them."""
    scanner = SCons.Tool.ProgramScanner
    found = scanner(program, env, scanner.path(env, program.dir)) if env and env.get("LIBS") else []
    return [node for node in found if isinstance(node, SCons.Node.FS.File) and node.has_builder()]


def _refuse_ambiguous(node):
    headers = node.attributes.aidge_headers
    names = [header.name for header in headers]
    if len(set(names)) < len(names):
        name = next(name for name in names if names.count(name) > 1)
        places = " and with ".join(_path(header) for header in headers if header.name == name)
        raise SCons.Errors.UserError(
            f"{_path(node)} is linked with {places}, it can include only one of them: "
            "compile it for each of the programs, with another name of the object: env = env.Clone(OBJPREFIX='other_')"
        )


def _add_include_path(env):
    """To what compile commands say of CPPPATH; in CPPPATH itself it would be the same for all who share the environment."""
    place = _base_environment(env, holding="_CPPINCFLAGS")
    flags = place.get("_CPPINCFLAGS", "")
    if "$AIDGE_INCLUDE" not in flags:
        place["_CPPINCFLAGS"] = flags + " $( $AIDGE_INCLUDE $)"
        _base_environment(env)["AIDGE_INCLUDE"] = _include_flags


def _include_flags(target, source, env, for_signature):
    """-I for the headers of the models that this object is linked with. Their content is in the signature, not their place."""
    if for_signature or not target:
        return []
    prefix, suffix = env.get("INCPREFIX", "-I"), env.get("INCSUFFIX", "")
    return [_quoted(f"{prefix}{folder}{suffix}") for folder in _include_folders(target[0])]


def _quoted(word):
    """A word that SCons quotes where a shell would read more in it than a word."""
    return SCons.Subst.Literal(word) if re.search(r"[^\w./\\:=,+@-]", word) else word


def _include_folders(node):
    headers = node.attributes.__dict__.get("aidge_headers", ())
    return list(dict.fromkeys(folder for header in headers for folder in header.dir.get_all_rdirs()))


def _scan_headers_too():
    """The scanner of C looks for an object's includes in the same folders as its compiler."""
    find = SCons.Tool.CScanner.path_function
    if hasattr(find, "aidge"):
        return

    known = {}  # one tuple for equal paths, as SCons has it, too: it looks up every include by the path

    def path_function(env, dir=None, target=None, source=None, *rest):
        paths = find(env, dir, target, source, *rest)
        headers = target[0].attributes.__dict__.get("aidge_headers") if target else None
        if headers is None:
            return paths
        if (paths, headers) not in known:
            known[paths, headers] = paths + tuple(_include_folders(target[0]))
        return known[paths, headers]

    path_function.aidge = True
    SCons.Tool.CScanner.path_function = path_function


# What the generator reads beside its options.


def _external_data(node, env=None, path=()):
    """The files beside a model that hold its weights; this runs when the model exists, also if it is built."""
    content = _content(node)
    names = {content[match.end() : match.end() + match.group(1)[0]] for match in EXTERNAL_DATA.finditer(content)}
    texts = sorted(name.decode("utf-8", "replace") for name in names)
    files = [
        node.dir.File(text) for text in texts if not os.path.isabs(text) and ".." not in text.split("/") and "\0" not in text
    ]
    found = [file for file in files if file.has_builder() or file.rexists()]
    for file in found:
        file.Decider(_has_changed)
    return found


def _content(node):
    """The bytes of a file, none where it is not there: SCons remembers that it was there before `scons -c` removed it."""
    try:
        return node.get_contents() if node.rexists() else b""
    except OSError:
        return b""


def _content_signature(model):
    """The content of a model; SCons alone takes a file for unchanged whose time is some days old and the same as before."""
    digest = hashlib.sha256()
    for node in [model] + _external_data(model):
        digest.update(hashlib.sha256(_content(node)).digest())
    return digest.hexdigest()


# The target, from the environment's own flags.


def _target_arguments(env):
    """`--cpu` and `--fpu` as the environment's flags say, or `--board=host` for the native compiler; `--cpu=generic` for one of
    a machine for which there are no kernels."""
    flags = {variable: _words(env, variable) for variable in FLAG_VARIABLES}
    words = [word for several in flags.values() for word in several]
    compiler = os.path.basename(_compiler(env))
    machine = _machine(compiler, flags)
    if machine and not machine.startswith(("arm", "thumb")):
        return [_target_of(machine, env)]
    cpu, fpu, float_abi = (_machine_flag(flags, flag) for flag in ("-mcpu=", "-mfpu=", "-mfloat-abi="))
    if cpu:
        has_fpu = float_abi in ("hard", "softfp") or "-mhard-float" in words
        return ["--cpu=" + cpu] + (["--fpu=" + (fpu or "auto")] if has_fpu else [])
    elsewhere = "-mthumb" in words or any(map(CROSS_TARGET.match, words))
    if HOST_COMPILER.match(compiler) and not elsewhere:
        return ["--board=host"]
    raise SCons.Errors.UserError(
        f"aidge: the flags of this environment (CC is '{compiler}') name no -mcpu. Name the target: "
        "env.AidgeModel(..., board='stm32f7'), or env['AIDGE_BOARD'] = 'stm32f7'"
    )


def _target_of(machine, env):
    """The option for a machine other than Arm's."""
    if machine == platform.machine():
        return "--board=host"
    return "--cpu=" + (_instruction_set(env) if machine.startswith("riscv") else "generic")


def _instruction_set(env):
    """RISC-V's -march with the -mabi after a +, as the flags say, or else as the compiler means without: `rv32imac+ilp32`."""
    words = [word for variable in COMPILED_WITH for word in _words(env, variable)]
    march, abi = ([word.partition("=")[2] for word in words if word.startswith(flag)] for flag in ("-march=", "-mabi="))
    if march and march[-1].startswith(("rv32", "rv64")):
        return "+".join(march[-1:] + abi[-1:])
    return _meant_instruction_set(tuple(words), tuple(sorted(_process_environment(env).items())))


@functools.cache
def _meant_instruction_set(words, variables):
    """The instruction set that a compiler means where no flag names it, from its macros; `generic` if it has none."""
    command = [*words, "-E", "-dM", "-x", "c", os.devnull]
    try:
        run = subprocess.run(
            command, env=dict(variables), text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return "generic"
    bits = re.search(r"__riscv_xlen (\d+)", run.stdout)
    names = sorted(re.findall(r"__riscv_([a-z]\w*) \d{4,}$", run.stdout, re.MULTILINE))  # with their versions: i 2001000
    abi = "+ilp32e" if "__riscv_abi_rve" in run.stdout else ""
    return f"rv{bits[1]}_{'_'.join(names)}{abi}" if bits and names else "generic"


def _machine(compiler, flags):
    """The machine that a compiler makes code for, where its name or clang's --target says it: `riscv64`."""
    words = [word for words in flags.values() for word in words]
    targets = [word.partition("=")[2] for word in words if word.startswith("--target=")]
    targets += [after for word, after in zip(words, words[1:]) if word in ("-target", "--target")]
    named = CROSS_COMPILER.match(compiler)
    return targets[0].partition("-")[0] if targets else named[1] if named else ""


def _machine_flag(flags, flag):
    """The value of a -m flag; within a variable the last one counts, as it does for gcc."""
    values = {}
    for variable, words in flags.items():
        for word in words:
            if word.startswith(flag):
                values[variable] = word[len(flag) :]
    if len(set(values.values())) > 1:
        found = ", ".join(f"{flag}{value} in {variable}" for variable, value in values.items())
        raise SCons.Errors.UserError(
            f"aidge: the flags of this environment contradict each other ({found}). Make them equal, "
            "or name the target: env.AidgeModel(..., board='stm32f7')"
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
    flags_cpu = _machine_flag({variable: _words(env, variable) for variable in FLAG_VARIABLES}, "-mcpu=")
    folders = _board_folders(env, options)
    board_cpu = _cpu_of_board(options["board"], folders)
    if flags_cpu and board_cpu and flags_cpu not in (board_cpu, _compiled_as(board_cpu, folders)):
        raise SCons.Errors.UserError(
            f"aidge: board='{options['board']}' has a {board_cpu}, but the flags of this environment say -mcpu={flags_cpu}. "
            "Correct one of them, or leave out board="
        )


def _compiled_as(cpu, folders):
    """What the compiler is told of a CPU: its name, unless the core's file names another one."""
    for folder in folders:
        path = os.path.join(folder, "cores", cpu.partition("+")[0] + ".toml")
        if os.path.isfile(path):
            with open(path, encoding="utf-8") as file:
                told = re.search(r'^flags\s*=\s*\[[^\]]*"-mcpu=([^"{]+)"', file.read(), re.MULTILINE)
            return told[1] if told else cpu
    return cpu


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
        setting = f" (AIDGE_BUILD is '{env['AIDGE_BUILD']}')" if env.get("AIDGE_BUILD") else ""
        sys.stdout.flush()
        sys.stderr.write(
            f"aidge: the command aidge-build is missing{setting}. Type in the checkout of aidge_build: ./sconsw --install "
            "(makes .venv, with scons and everything), or for your own scons: pip install .\n"
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
    here = os.path.join(SCons.Node.FS.get_default_fs().Top.get_abspath(), "aidge_build")
    if "-m" in command and os.path.isfile(os.path.join(here, "__init__.py")):
        return here  # python -m looks first where SCons runs
    for path in (command[0], os.path.realpath(command[0])):
        prefix = os.path.dirname(os.path.dirname(os.path.abspath(path)))
        for library in _subfolders(prefix, "lib", r"python3") + _subfolders(prefix, "local/lib", r"python3") + [prefix + "/Lib"]:
            for packages in ("site-packages", "dist-packages"):
                folder = _package_in(os.path.join(library, packages))
                if folder:
                    return folder
    return None


def _model_suffixes(env):
    """The suffixes of models: each format is a folder of the package, named like the suffix of its files."""
    command = _find_command(env)
    folder = os.path.join((_package_folder(command) if command else None) or "", "sources", "formats")
    entries = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    return ["." + name for name in entries if os.path.isfile(os.path.join(folder, name, "__init__.py"))] or list(MODEL_SUFFIXES)


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
            digest.update(f"{path[len(place) :]} {len(content)}\n".encode("utf-8", "surrogateescape"))
            digest.update(content)
        _digests[place] = digest.hexdigest()
    return _digests[place]


def _files_below(folder):
    entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    for entry in entries:
        if entry.name.startswith(".") or entry.name == "__pycache__":
            continue
        if entry.is_dir():
            yield from _files_below(entry.path)
        elif entry.is_file():
            yield entry.path


def _folders(env, name, value):
    """The user's folders of kernels or boards as nodes: their names stay relative where the checkout's place changes."""
    folders = [env.Dir(folder) for folder in _as_list(value)]
    folders = [folder.srcnode().rdir() for folder in folders]
    for folder in folders:
        if not os.path.isdir(folder.get_abspath()):
            raise SCons.Errors.UserError(f"aidge: {name}: there is no folder '{folder}'")
    return folders


def _board_folders(env, options):
    package = _package_folder(_require_command(env))
    own = [folder.get_abspath() for folder in _folders(env, "board_path", options.get("board_path"))]
    return own + ([os.path.join(package, "data", "boards")] + _beside(package, ["boards"]) if package else [])


# The check as a part of the link.


def _plans_of(elf):
    """The plans of all models among the sources of a program (and of their objects and libraries), in order."""
    nodes = _linked([*elf.sources, *_libraries(elf, elf.get_env())])
    plans = (node.attributes.__dict__.get("aidge_plan") for node in nodes)
    return list(dict.fromkeys(plan for plan in plans if plan is not None))


def _objects_of(elf):
    """The objects of the generated C files among the sources of a program, also where a library holds them."""
    nodes = _linked([*elf.sources, *_libraries(elf, elf.get_env())])
    return [node for node in nodes if any(hasattr(source.attributes, "aidge_plan") for source in node.sources) and node.rexists()]


def _note_what_is_not_optimized(elf, objects):
    """One line where the flags leave out what a compiler can do for a microcontroller; see docs/builds.md."""
    for env in [node.get_build_env() for node in objects if not _for_this_machine(node)][:1]:
        levels = [word for variable in ("CCFLAGS", "CFLAGS") for word in _words(env, variable) if re.match(r"-O(\w*)$", word)]
        if LINKER.match(os.path.basename(_compiler(env))) and (levels or ["-O0"])[-1] == "-O0":
            print(f"{elf}: models are compiled {'with -O0' if levels else 'without any -O'}, {UNOPTIMIZED}")


def _for_this_machine(node):
    return any("--board=host" in source.attributes.__dict__.get("aidge_arguments", ()) for source in node.sources)


def _check(target, source, env):
    """Runs `aidge-build check`; its JSON goes to <elf>.check.json; a program that fails is removed."""
    nodes = _objects_of(target[0])
    _note_what_is_not_optimized(target[0], nodes)
    objects = ["--objects=" + path for path in sorted({_path(node.rfile()) for node in nodes})]
    checked, plans = target[0].attributes.aidge_check, target[0].attributes.aidge_plans
    given = ["--plan=" + _path(plans[word].rfile()) if word in plans else word for word in checked]  # perhaps of a repository
    words = ["check", "--out=" + str(target[0]) + ".check.json"] + objects + given
    return _prove(target[0], env, words)


def _count(target, source, env):
    """Runs the program in the emulator and compares its instructions with the budget."""
    return _prove(target[0], env, ["run"] + target[0].attributes.aidge_count)


def _prove(elf, env, words):
    """Runs a verb of `aidge-build` that reads `elf`, and removes the program where it fails."""
    status = _call(words + ["--", str(elf)], env)
    if status != 0 and os.path.exists(str(elf)):
        os.remove(str(elf))
        os.remove(_marker(elf))
    return status


def _follow_the_link(target, action):
    """Directly behind the link, before whatever else follows it: from a program that fails, objcopy makes no image."""
    attributes = target.attributes.__dict__
    place = attributes["aidge_actions"] = attributes.get("aidge_actions", 0) + 1
    target.get_executor().post_actions.insert(place - 1, action)


def _mark_until_checked(target, env):
    """A mark lies beside a program from before its link until it is proved: a build that was killed in between links it again.

    SCons alone calls a program up to date by its sources, whatever a killed linker left of it.
    """
    if os.path.exists(_marker(target)):
        env.AlwaysBuild(target)
    env.Clean(target, target.dir.File(target.name + ".unchecked"))

    target.get_executor().pre_actions.insert(0, SCons.Action.Action(_mark, cmdstr=None))
    target.get_executor().post_actions.insert(0, SCons.Action.Action(_unmark, cmdstr=None))


def _mark(target, source, env):
    with open(_marker(target[0]), "w", encoding="utf-8"):
        return 0


def _unmark(target, source, env):
    os.remove(_marker(target[0]))


def _marker(program):
    return program.get_abspath() + ".unchecked"


def _ask_for_map(target, env):
    """Where nobody names the memories, the linker writes a map beside the program, if no flag asks for one, for the check."""
    place = _base_environment(target.get_env() or env, holding="_LIBFLAGS")
    flags = place.get("_LIBFLAGS", "")
    if "$AIDGE_MAP" not in flags:
        place["_LIBFLAGS"] = flags + " $( $AIDGE_MAP $)"
        _base_environment(place)["AIDGE_MAP"] = _map_flags
    env.Clean(target, target.dir.File(target.name + ".map"))


def _map_flags(target, source, env, for_signature):
    """Not in the signature: a map changes no byte of the program."""
    if for_signature or not target:
        return []
    words = target[0].attributes.__dict__.get("aidge_check", ["--board=unchecked"])
    is_known = any(word.startswith(("--board=", "--region=", "--map=")) for word in words)
    linker = next((word for word in _words(env, "LINK") if not LAUNCHER.match(os.path.basename(word))), "")
    if is_known or not LINKER.match(os.path.basename(linker)) or any("-Map" in word for word in _words(env, "LINKFLAGS")):
        return []
    return [_quoted(f"-Wl,-Map={target[0]}.map")]


def _make_with(target, name):
    """A second file that the step of `target` makes: it is cached, fetched and cleaned together with it."""
    executor, node = target.get_executor(), target.dir.File(name)
    if "TARGETS" in str(executor):  # the link command would name it; it is only cleaned then
        target.get_env().Clean(target, node)
        return []
    if node not in executor.batches[0].targets:
        executor.batches[0].targets.append(node)
        node.builder_set(target.builder)
        node.env_set(target.env)
        node.add_source(target.sources)
        node.set_executor(executor)
        node.cwd = target.cwd
    return [node]


def _explain_failures():
    """Says more of what failed: why a program with a model did not link, and who cannot find the header of a model."""
    for failure in SCons.Script.GetBuildFailures():
        words = _words_of(failure)
        if words and failure.node.has_builder():
            sys.stdout.flush()
            if "-c" in words:
                _explain_missing_header(failure.node, words)
            elif isinstance(failure.node, SCons.Node.FS.File) and _plans_of(failure.node):  # and no alias that runs it
                _explain_failed_link(failure.node, words)


def _words_of(failure):
    """The words of the command that failed, as a shell reads them, without the temporary file of a long command: it is gone."""
    command = failure.command if SCons.Util.is_List(failure.command) else []
    if any(str(word).startswith("@") for word in command) and hasattr(failure.action, "cmd_list"):
        env = failure.node.get_build_env().Override({"MAXLINELENGTH": sys.maxsize})
        lines = env.subst_list(failure.action.cmd_list, SCons.Subst.SUBST_CMD, executor=failure.executor)
        command = lines[0] if len(lines) == 1 else command
    try:
        return shlex.split(" ".join(map(str, command)))
    except ValueError:  # a quote that no other one ends
        return []


def _explain_failed_link(node, words):
    env = node.get_build_env()
    subprocess.call(
        _require_command(env) + ["explain-link", "--hook", "--"] + words,
        env=_process_environment(env),
        cwd=node.fs.Top.get_abspath(),
    )


def _explain_missing_header(node, words):
    """What includes the header of a model, and is compiled without its folder: nobody told the compiler where that is."""
    prefix = node.get_build_env().get("INCPREFIX", "-I")
    read = [*node.sources, *(found for found in node.implicit or () if found.name.endswith((".h", ".hpp")))]
    included = {os.path.basename(name) for file in read for name in INCLUDE.findall(_content(file).decode("utf-8", "replace"))}
    for name in sorted(included & set(_headers) - {file.name for file in read if file not in _headers.get(file.name, ())}):
        places = [str(header.dir) for header in _headers[name]]
        if not any(prefix + place in words for place in places):
            print(
                f"{node}: {name} is generated in {' or '.join(places)}: put the model among the sources of the program, "
                "or append its folder: env.Append(CPPPATH=[env.AidgeModel(...).include])"
            )


def _process_environment(env):
    """SCons' own environment, with the folder of the compiler: the check reads the ELF with the toolchain's programs."""
    variables = {
        name: os.pathsep.join(map(str, value)) if SCons.Util.is_List(value) else str(value) for name, value in env["ENV"].items()
    }
    compiler = shutil.which(_compiler(env) or "cc")
    if compiler:
        variables["PATH"] = variables.get("PATH", "") + os.pathsep + os.path.dirname(compiler)
    return variables


def _path(node):
    """The path as an action sees it, from the top folder; str() depends on which SConscript is being read."""
    return node.get_path(node.fs.Top)


def _as_list(value):
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _as_a_part_of_scons():
    """Errors and warnings of SCons name the innermost file that lies in no folder SCons: the user's SConscript, not this file.

    So our functions say that they come from there: by the way from SCons' own folder to this file, which every debugger can walk.
    """
    try:
        own = os.path.dirname(SCons.Script.__file__)
        place = os.path.join(own, os.path.relpath(os.path.abspath(__file__), own))
    except ValueError:  # on another drive there is no such way
        return

    def renamed(code):
        constants = tuple(renamed(value) if isinstance(value, types.CodeType) else value for value in code.co_consts)
        return code.replace(co_filename=place, co_consts=constants)

    for function in (*globals().values(), *vars(ModelFiles).values()):
        function = getattr(function, "__func__", function)
        if isinstance(function, types.FunctionType) and function.__module__ == __name__:
            function.__code__ = renamed(function.__code__)


_as_a_part_of_scons()
