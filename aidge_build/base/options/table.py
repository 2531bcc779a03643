# SPDX-License-Identifier: MIT
"""Every option that a user gives, in whichever build: its names, its values and its meaning, once.

An option that is added here is there on the command line; `aidge-build list options --update .` adds it to SCons, to CMake and to
docs/options.md. `inputs.py` and its callers read the values.
"""

from __future__ import annotations

from aidge_build.base.options.accuracy import ACCURACY
from aidge_build.base.options.budget import BUDGET
from aidge_build.base.options.check import BOARD_PATH, CHECK
from aidge_build.base.options.option import SCONS, TARGET, Group, Option
from aidge_build.base.options.quantization import QUANTIZATION, QUANTIZING

# The headings of the help, and the options that a verb which reads a model shows on its first page.
MEMORY, KERNELS = "memory", "kernels and numbers"
OF_MODEL, OF_FIRMWARE = "the model", "the firmware around it"
TOPICS = (TARGET, MEMORY, KERNELS, OF_MODEL, OF_FIRMWARE, QUANTIZING)
FIRST_PAGE = ("board", "cpu", "io", "ram-budget", "optimize", "rounding", "quantize")
MODEL = Group(
    "A model",
    "compile, plan, fit, explain, export, package, verify",
    'env.AidgeModel("kws", "kws.onnx", ...)',
    "aidge_add_model(kws MODEL kws.onnx ...)",
    (
        Option(
            "board",
            "board that the code is generated for, a name of `aidge-build list boards` (default: the core of --cpu)",
            "target",
            metavar="B",
            alternatives="target",
            topic=TARGET,
        ),
        Option(
            "cpu",
            "core, where no board is named: cortex-m7, cortex-m33+nodsp, ..., or an -march of RISC-V; generic: any other core, "
            "in portable C (default: portable C)",
            "target",
            metavar="CORE",
            alternatives="target",
            topic=TARGET,
        ),
        Option(
            "fpu",
            "FPU of the core of --cpu: fpv5-sp-d16, ..., or auto; none: -mfloat-abi=soft (default: without an FPU)",
            "target",
            metavar="FPU",
            topic=TARGET,
        ),
        Option(
            "lib",
            "kernel libraries in order of preference (default: the libraries of the board, or the ones made for the core)",
            "list",
            metavar="A,B",
            scons="libs",
            cmake="LIBS",
            topic=KERNELS,
        ),
        Option(
            "io",
            "place of the model's inputs and outputs: arrays of the caller, or the arena",
            values=("caller", "arena"),
            default="caller",
            topic=MEMORY,
        ),
        Option(
            "input",
            "rows: take the input row by row, so that it is never in memory as a whole (docs/c-api.md); whole: as one array",
            values=("whole", "rows"),
            default="whole",
            topic=MEMORY,
        ),
        Option(
            "output",
            "rows: hand out the output row by row, so that it is never in memory as a whole (docs/c-api.md); whole: as one array",
            values=("whole", "rows"),
            default="whole",
            topic=MEMORY,
        ),
        Option(
            "arena",
            "owner of the arena: a static array in the generated C, or the caller, who passes it",
            values=("static", "caller"),
            default="static",
            topic=MEMORY,
        ),
        Option(
            "dma",
            "hooks: call functions of the firmware before inputs are read and after outputs are written; on: hooks, and cache "
            "lines of their own for inputs and outputs (docs/c-api.md); off: neither",
            values=("off", "hooks", "on"),
            default="off",
            topic=OF_FIRMWARE,
        ),
        Option(
            "record",
            "number of the latest inferences to keep in RAM, with inputs and outputs, for a dump that `verify --replay` reads "
            "(docs/c-api.md; default: none)",
            metavar="COUNT",
            topic=OF_FIRMWARE,
        ),
        Option(
            "monitor",
            "on: count saturation, values beyond the range of samples, and answers, for `N_monitor` and `accuracy --field` "
            "(docs/howto-field.md); off: count nothing",
            values=("off", "on"),
            default="off",
            topic=OF_FIRMWARE,
        ),
        Option(
            "monitor-samples",
            "usual inputs for --monitor on, NPZ file (default: the samples of --quantize; without samples only "
            "saturation and answers are counted)",
            "file",
            metavar="F.npz",
            topic=OF_FIRMWARE,
        ),
        Option(
            "weights",
            "encoding of the weights file: C arrays, or a binary that the assembler includes",
            values=("c", "incbin"),
            default="c",
            topic=MEMORY,
        ),
        Option(
            "copy-constants",
            "copy constants from slow memory into the arena before their layer runs, where that is faster; memcpy: the core "
            "copies; hook: functions of the firmware copy, while the layer before runs (docs/c-api.md); off: read them in place",
            values=("off", "memcpy", "hook"),
            default="off",
            topic=MEMORY,
        ),
        Option(
            "constants-in",
            "memory for the constants that layers read most often, and the bytes they may take there (default: none of them "
            "leaves flash)",
            "pairs",
            metavar="MEMORY=BYTES",
            topic=MEMORY,
        ),
        Option(
            "place",
            "file that names the constants and functions that leave flash for a faster memory, as `aidge-build explain --place "
            "auto` writes it (default: all stay in flash)",
            "file",
            metavar="FILE",
            topic=MEMORY,
        ),
        Option(
            "bind",
            "number for a symbolic dimension, or the value of an input that never changes (default: a symbolic batch is 1, and "
            "any other symbolic dimension is refused)",
            "pairs",
            metavar="NAME=VALUE",
            topic=OF_MODEL,
        ),
        Option(
            "state",
            "output that is an input of the next inference, or auto (docs/c-api.md; default: the caller passes it)",
            "pairs",
            metavar="OUTPUT=INPUT",
            topic=OF_MODEL,
        ),
        Option(
            "signature",
            "signature of a .tflite model, to choose its graph (default: the first)",
            metavar="KEY",
            topic=OF_MODEL,
        ),
        Option(
            "kernel-path",
            "folder of kernel libraries, or one library; its Python code runs, so name only what you trust (default: the "
            "libraries of this tool)",
            "folders",
            metavar="DIR",
            topic=KERNELS,
        ),
        BOARD_PATH,
        Option(
            "optimize",
            "preference of kernels where speed and flash disagree; size: also no more RAM on cores without an FPU than with the "
            "last library",
            values=("speed", "size", "balanced"),
            default="balanced",
            topic=KERNELS,
        ),
        Option(
            "select",
            "cost: take another kernel than the preferred one where it was measured to be faster (--cost-table, or the tool's "
            "table); library: the preferred one",
            values=("library", "cost"),
            default="library",
            topic=KERNELS,
        ),
        Option(
            "cost-table",
            "table for --select cost, as `aidge-build tune` writes it (default: the tool's own)",
            "file",
            metavar="FILE",
            topic=KERNELS,
        ),
        Option(
            "rounding",
            "numerical contract; onnx: exact sums, rounded once; tflite: the bits of LiteRT's reference kernels; any: onnx, and "
            "kernels that round as their own library does (default: tflite for a .tflite file, onnx for an ONNX file)",
            values=("onnx", "tflite", "any", "double"),  # double: what tflite was called
            metavar="{onnx,tflite,any}",
            topic=KERNELS,
        ),
        Option(
            "checkout",
            "source folder of a library that kernels call (default: none, and such a library is refused)",
            "checkouts",
            metavar="LIB=DIR",
            topic=KERNELS,
        ),
        Option(
            "memory-model",
            "plain: no tensor is computed in place or overlaps another one; cascade: compute layers row by row where that needs "
            "less RAM; default: only where the board's memories are too small",
            values=("default", "plain", "cascade"),
            default="default",
            topic=MEMORY,
        ),
        Option(
            "state-type",
            "int8: caches of keys and values hold bytes and a scale for each row (docs/c-api.md); model: types of the file",
            values=("model", "int8"),
            default="model",
            topic=MEMORY,
        ),
        Option(
            "ram-budget",
            "peak of arena, inputs and outputs, such as 20480 or 20K: the fewest instructions within it, row by row and with "
            "smaller kernels where needed; inputs and outputs that the firmware owns are counted while they are in use "
            "(default: the board's memories)",
            metavar="BYTES",
            topic=MEMORY,
        ),
        Option(
            "max-step",
            "instructions of the longest step: an inference runs in steps, by N_begin, N_step, N_cancel (docs/c-api.md; "
            "default: in one call)",
            "number",
            metavar="N",
            topic=OF_FIRMWARE,
        ),
        Option(
            "update",
            "weights: new weights can be installed in the field by N_bind, and no code depends on their values (docs/c-api.md); "
            "none: only with new firmware",
            values=("none", "weights"),
            default="none",
            topic=OF_FIRMWARE,
        ),
        Option(
            "weights-version",
            "version of the weights of --update weights, a higher one is newer (default: 0; `weights`: the next one)",
            "number",
            metavar="N",
            topic=OF_FIRMWARE,
        ),
        Option(
            "integrity",
            "constants: N_verify_constants checks all constants, in slices; canary: calls check words next to the arena; on: "
            "both; a failed check makes all calls refuse (docs/c-api.md); off: no check",
            values=("off", "constants", "canary", "on"),
            default="off",
            topic=OF_FIRMWARE,
        ),
        Option(
            "constant-channels",
            "on: fold constant channels into their readers; off: compute them",
            values=("on", "off"),
            default="on",
            topic=KERNELS,
        ),
        Option(
            "block-data",
            "int8: products with weights in blocks (MatMulNBits) multiply int8 levels; file: where its accuracy_level is 4",
            values=("file", "int8"),
            default="file",
            topic=KERNELS,
        ),
        Option(
            "assembly",
            "off: C and intrinsics instead of inline assembly, and the build prints the cost; on: assembly where a kernel has it",
            values=("on", "off"),
            default="on",
            topic=KERNELS,
        ),
        Option(
            "unaligned",
            "off: kernels access words only at multiples of 4, for code that is compiled with -mno-unaligned-access, and the "
            "build prints the cost (builds that know the flags set it); on: words at any address",
            values=("on", "off"),
            default="on",
            topic=KERNELS,
        ),
        Option(
            "pack-weights",
            "on: weights of 1 to 4 bits share bytes in flash; tables: also weights with at most 16 values; off: a byte each",
            values=("on", "tables", "off"),
            default="on",
            topic=KERNELS,
        ),
        Option(
            "kernels",
            "shared: link the assembly functions that models have in common once (docs/c-api.md); own: each model has its copy",
            values=("own", "shared"),
            default="own",
            topic=KERNELS,
        ),
        *QUANTIZATION,
    ),
)
# `compile` alone has these options; in every build they are a part of the call.
FILES = (
    Option(
        "name",
        "prefix of all files and symbols (default: the name of the model's file)",
        "place",
        instead={SCONS: "the first argument"},
    ),
    Option("out", "folder of the generated files", "place", metavar="DIR", required=True),
)
TABLE = (MODEL, CHECK, BUDGET, ACCURACY)
