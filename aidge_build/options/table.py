# SPDX-License-Identifier: MIT
"""Every option that a user gives, in whichever build: its names, its values and its meaning, once.

An option that is added here is there on the command line, in SCons and in CMake after `aidge-build options --update .`, which
rewrites the texts that other languages read. What it does is a matter of `inputs.py` and of who reads it from there.
"""

from __future__ import annotations

from dataclasses import dataclass

from aidge_build.options.accuracy import ACCURACY
from aidge_build.options.option import CMAKE, SCONS, Group, Option

BOARD_PATH = Option("board-path", "a folder with boards of your own, whose data and C you trust", "folders", metavar="DIR")

# Quantizing a float model: of every verb that reads a model, by these names; the verb `quantize` alone says --calibration.
QUANTIZATION = (
    Option(
        "quantize",
        "quantize the float model first: an NPZ file with samples of its inputs, `x` or one array for each input",
        "file",
        metavar="F.npz",
    ),
    Option(
        "ranges",
        "with --quantize: how the range of a tensor is found from its values",
        values=("minmax", "moving-average", "percentile", "mse", "entropy"),
        default="minmax",
    ),
    Option("percentile", "with --ranges percentile: how many values of a hundred lie inside", metavar="P", default="99.99"),
    Option(
        "activations",
        "with --quantize: whether the zero point of a tensor is chosen, or 0",
        values=("asymmetric", "symmetric"),
        default="asymmetric",
    ),
    Option(
        "equalize",
        "with --quantize: scale channels so that those of one tensor have similar ranges",
        values=("on", "off"),
        default="off",
    ),
    Option(
        "correct-bias",
        "with --quantize: biases take what quantizing moves the mean of a channel by",
        values=("on", "off"),
        default="off",
    ),
    Option(
        "round-weights",
        "with --quantize: round each weight up or down as the layer's results ask for",
        values=("on", "off"),
        default="off",
    ),
    Option(
        "layer-types",
        "with --quantize: int8, int16 or float32 for a layer, named by its node or by what it writes",
        "pairs",
        metavar="LAYER=TYPE",
    ),
    Option(
        "least-sqnr",
        "with --quantize: the least signal to quantization noise that each output must have on the samples (10 if not given); "
        "below, quantizing fails",
        "decimal",
        metavar="DB",
    ),
    Option(
        "io-type",
        "with --quantize: the type of the model's inputs and outputs",
        values=("int8", "float32"),
        default="int8",
    ),
    Option(
        "io-layout",
        "with --quantize: nhwc: images come with their channels last, as a camera delivers them",
        values=("model", "nhwc"),
        default="model",
    ),
)
MODEL = Group(
    "A model",
    "compile, plan, fit, explain, export, package, verify",
    'env.AidgeModel("kws", "kws.onnx", ...)',
    "aidge_add_model(kws MODEL kws.onnx ...)",
    (
        Option("board", "a board of `aidge-build boards`", "target", metavar="B", alternatives="target"),
        Option(
            "cpu",
            "a core such as cortex-m7 or cortex-m33+nodsp, when no board is named; generic: any other, in portable C",
            "target",
            metavar="CORE",
            alternatives="target",
        ),
        Option(
            "fpu",
            "with --cpu: the FPU, e.g. fpv5-sp-d16, or auto; none: -mfloat-abi=soft",
            "target",
            metavar="FPU",
        ),
        Option(
            "lib",
            "kernel libraries in order of preference (default: the board's, or those made for the core)",
            "list",
            metavar="A,B",
            scons="libs",
            cmake="LIBS",
        ),
        Option("io", "where graph inputs and outputs live", values=("caller", "arena"), default="caller"),
        Option(
            "input",
            "rows: the input comes row by row and is never in memory as a whole (docs/c-api.md)",
            values=("whole", "rows"),
            default="whole",
        ),
        Option(
            "output",
            "rows: the output leaves row by row and is never in memory as a whole (docs/c-api.md)",
            values=("whole", "rows"),
            default="whole",
        ),
        Option("arena", "who owns the arena", values=("static", "caller"), default="static"),
        Option(
            "dma",
            "hooks: functions of the firmware are called before inputs are read and after outputs are written; on: these, and "
            "inputs and outputs in lines of their own of the data cache (docs/c-api.md)",
            values=("off", "hooks", "on"),
            default="off",
        ),
        Option(
            "record",
            "keep what the last COUNT inferences read and wrote in RAM, for a dump that verify --replay reads (docs/c-api.md)",
            metavar="COUNT",
        ),
        Option("weights", "weights as C arrays or as an included binary", values=("c", "incbin"), default="c"),
        Option(
            "copy-constants",
            "constants in slow memory are copied into the arena before their layer runs, where that pays; memcpy: by the core; "
            "hook: by functions of the firmware, while the layer before runs (docs/c-api.md)",
            values=("off", "memcpy", "hook"),
            default="off",
        ),
        Option(
            "constants-in",
            "a memory for the constants of the layers that read theirs most often, and the bytes that they may take of it",
            "pairs",
            metavar="MEMORY=BYTES",
        ),
        Option(
            "bind",
            "a number for a symbolic dimension, or the value of an input that never changes",
            "pairs",
            metavar="NAME=VALUE",
        ),
        Option(
            "state",
            "an output that is an input of the next inference: the model remembers it (docs/c-api.md)",
            "pairs",
            metavar="OUTPUT=INPUT",
        ),
        Option("signature", "of a .tflite model: the signature whose graph is compiled (default: the first)", metavar="KEY"),
        Option(
            "kernel-path",
            "a folder of libraries, or a library: its Python runs, name only what you trust",
            "folders",
            metavar="DIR",
        ),
        BOARD_PATH,
        Option(
            "optimize",
            "what kernels prefer where speed and flash disagree; size: without an FPU no more RAM than with the last library",
            values=("speed", "size", "balanced"),
            default="balanced",
        ),
        Option(
            "select",
            "cost: another kernel than the preferred one where it was measured to be quicker, by --cost-table or the tool's own",
            values=("library", "cost"),
            default="library",
        ),
        Option(
            "cost-table",
            "with --select cost: the table that aidge-build tune measured, instead of the tool's own",
            "file",
            metavar="FILE",
        ),
        Option(
            "rounding",
            "the numerical contract; double, or tflite: that of TensorFlow Lite's reference kernels; any: also kernels that "
            "round as their own library does",
            values=("onnx", "double", "tflite", "any"),
            default="onnx",
        ),
        Option("checkout", "the sources that a library of glue is for", "checkouts", metavar="LIB=DIR"),
        Option(
            "memory-model",
            "plain: no tensor is computed in place or overlaps another one; cascade: layers are computed row by row where that "
            "needs less RAM",
            values=("default", "plain", "cascade"),
            default="default",
        ),
        Option(
            "ram-budget",
            "the fewest instructions within so many bytes of RAM for the arena, inputs and outputs (20480, or 20K): layers are "
            "computed row by row where they must, and where that is not enough kernels fall back to smaller ones",
            metavar="BYTES",
        ),
        Option(
            "max-step",
            "an inference runs in steps of at most so many instructions: N_begin, N_step, N_cancel (docs/c-api.md)",
            "number",
            metavar="N",
        ),
        Option(
            "update",
            "weights: new weights can be put into firmware in the field, by N_bind; no code depends on their values "
            "(docs/c-api.md)",
            values=("none", "weights"),
            default="none",
        ),
        Option("weights-version", "with --update weights: of these; a higher one is newer", "number", metavar="N"),
        Option(
            "constant-channels",
            "off: channels that always have the same value are kept as the model has them",
            values=("on", "off"),
            default="on",
        ),
        Option(
            "assembly",
            "off: no inline assembly, C and intrinsics instead; the build says what that costs",
            values=("on", "off"),
            default="on",
        ),
        Option(
            "unaligned",
            "off: no kernel reads or writes a word at an address that is no multiple of 4, for code that is compiled with "
            "-mno-unaligned-access (front ends that know the flags say it by themselves); the build says what that costs",
            values=("on", "off"),
            default="on",
        ),
        Option(
            "kernels",
            "shared: functions in assembly that several models of a program have are linked once (docs/c-api.md)",
            values=("own", "shared"),
            default="own",
        ),
        *QUANTIZATION,
    ),
)
# Of `compile` alone; in every build they are a part of the call.
FILES = (
    Option(
        "name",
        "prefix of all files and symbols (default: the file's stem)",
        "place",
        instead={SCONS: "the first argument"},
    ),
    Option("out", "folder of the generated files", "place", metavar="DIR", required=True),
)
CHECK = Group(
    "The check of a program",
    "check; report takes the memories",
    "env.AidgeCheck(app, ...)",
    "aidge_check_memory(app kws ...)",
    (
        Option("board", "the board whose memories count", metavar="B", alternatives="memories"),
        Option(
            "region",
            "a memory, instead of a board; normal: the MPU makes it Normal memory, whatever its address says",
            "pairs",
            metavar="NAME=ORIGIN,LENGTH[,ram|flash][,normal]",
            scons="regions",
            cmake="REGIONS",
            alternatives="memories",
        ),
        Option(
            "map",
            "the map of the link (GNU ld), which names the memories; without board and memories one beside the program is found",
            "file",
            metavar="F.map",
            alternatives="memories",
        ),
        BOARD_PATH,
        Option(
            "shares",
            "models that never run at the same time: their arenas may have the same bytes",
            "list",
            metavar="A+B,C+D",
        ),
        Option(
            "weights-in",
            "memories that hold weights beside flash, because start-up code copies them there",
            "list",
            metavar="RAM,ITCM",
        ),
        Option(
            "dma-arrays",
            "arrays that DMA reads or writes (inputs of --io caller): no other bytes may lie in their lines of the cache",
            "list",
            metavar="A,B",
        ),
        Option(
            "max-step-unproved",
            "what it is that a step of a model has no bound for all inputs (INS03): an error, or a warning",
            values=("error", "warning"),
            default="error",
        ),
        Option(
            "quiet",
            "warnings and notes with these codes (docs/proof.md) are not printed, e.g. STK02; errors always are",
            "list",
            metavar="CODE,CODE",
        ),
    ),
)
BUDGET = Group(
    "Budgets",
    "check; --max-instructions of run",
    "env.AidgeBudget(app, ...)",
    "aidge_check_memory(app kws ...)",
    (
        Option("max-stack", "fail when the stack may grow beyond, or when no bound can be proved", "number", metavar="BYTES"),
        Option("max-flash", "fail when all flash memories together hold more", "number", metavar="BYTES"),
        Option(
            "max-instructions",
            "fail when an inference takes more",
            "number",
            metavar="N",
            instead={CMAKE: "a target of your own that calls `aidge-build run --max-instructions`"},
        ),
    ),
)
TABLE = (MODEL, CHECK, BUDGET, ACCURACY)


@dataclass(frozen=True)
class Variable:
    """A setting of a whole build or of the process: `where` is who reads it."""

    name: str
    where: str
    meaning: str


VARIABLES = (
    Variable(
        "AIDGE_BUILD",
        "SCons environment",
        "the command, if it is not beside the running Python or on the PATH: a path, or a list of arguments",
    ),
    Variable(
        "AIDGE_BOARD",
        "SCons environment",
        "the board of every model that names none; without it the environment's own -mcpu and -mfpu decide",
    ),
    Variable(
        "AIDGE_OPTIONS",
        "SCons environment",
        "options of every model that does not say otherwise, also of models named as sources: `{'optimize': 'size'}`",
    ),
    Variable("AIDGECOMSTR", "SCons environment", "what is printed instead of the generator's command line"),
    Variable("AIDGECHECKCOMSTR", "SCons environment", "what is printed instead of the check's command line"),
    Variable("AIDGE_EXECUTABLE", "CMake", "the command, if it is not found: a path, or a list of arguments"),
    Variable("AIDGE", "GNU make", "the command (`aidge-build`)"),
    Variable("AIDGE_COMPILE", "GNU make", "the command that compiles the C of models, where no rule of the makefile does"),
    Variable("AIDGE_CHECK_OPTIONS", "GNU make", "options of `aidge-build check` for `$(AIDGE_CHECK)` and `aidge_check`"),
    Variable("AIDGE_OUT", "GNU make", "the folder of everything that is generated (`build/aidge`)"),
    Variable(
        "AIDGE_DEBUG", "process", "1 shows tracebacks, 2 graphs, 3 schedules, 4 calls, too; SCons hands it to the generator"
    ),
    Variable(
        "AIDGE_LOG",
        "process",
        "a file to which commands, their graphs and schedules (or what AIDGE_DEBUG says) and their errors are appended; "
        "SCons hands it to the generator",
    ),
    Variable(
        "AIDGE_CACHE",
        "process",
        "the folder in which `aidge-build fit` keeps its answers (`aidge-build` in the user's cache); empty: nothing is kept",
    ),
    Variable(
        "AIDGE_FRONT_END", "process", "set by SCons and CMake (`SCons`, `CMake`): hints name options as they are typed there"
    ),
    Variable("AIDGE_TOOLCHAIN_PREFIX", "process", "the cross compiler's prefix (`arm-none-eabi-`)"),
    Variable(
        "AIDGE_CC",
        "process",
        "another compiler for the programs that our verbs build for boards, a command with its first words: `clang-19`; "
        "the cross compiler has the C library, and links ([builds.md](builds.md#other-compilers))",
    ),
)
