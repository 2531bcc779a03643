# SPDX-License-Identifier: MIT
"""What is read: the headers of every library, networks that use every kernel, generated code of models, the C of the examples,
and what boards and the glue to CMSIS-NN and ESP-NN bring."""

from __future__ import annotations

import functools
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from graphlib import TopologicalSorter
from pathlib import Path

import every_kernel
import helium_harness

from aidge_build import cli
from aidge_build.build.emit import emit
from aidge_build.build.emit.expansions import expansion
from aidge_build.build.emit.kernels import KernelText, kernel_text
from aidge_build.build.emit.template import render_file
from aidge_build.plan.packed_words import UNITS
from aidge_build.plan.program import Program
from tools.static_analysis import ROOT
from tools.static_analysis.networks import network


@dataclass(frozen=True)
class Core:
    """A core as compilers are told: flags for gcc and clang, clang's target, and the command of gcc."""

    flags: tuple[str, ...]
    target: str
    gcc: tuple[str, ...]


def _arm(*flags: str) -> Core:
    return Core(("-mthumb", *flags), "arm-none-eabi", ("arm-none-eabi-gcc",))


def _riscv(*flags: str) -> Core:
    return Core(flags, "riscv32-unknown-elf", ("riscv64-unknown-elf-gcc", "--specs=picolibc.specs"))


# A core on which the library's own kernels run.
CORES = {
    "ref": _arm("-mcpu=cortex-m4", "-mfpu=fpv4-sp-d16", "-mfloat-abi=hard"),
    "cortexm": _arm("-mcpu=cortex-m4", "-mfpu=fpv4-sp-d16", "-mfloat-abi=hard"),
    "helium": _arm("-mcpu=cortex-m55", "-mfloat-abi=hard"),
    "armv7m": _arm("-mcpu=cortex-m3"),
    "armv6m": _arm("-mcpu=cortex-m0plus"),
    "rv32": _riscv("-march=rv32imc", "-mabi=ilp32"),
    "rvv": _riscv("-march=rv32imafc_zve32f_zvl128b", "-mabi=ilp32f"),
}
ASSEMBLY_ALONE = ("helium", "rvv")  # libraries without C versions, which no other core can take
_OF_A_BOARD = CORES["cortexm"]
# What the C of each example includes the headers of: name, model, options.
EXAMPLES: dict[str, tuple[tuple[str, ...], ...]] = {
    "anomaly": (("anomaly", "anomaly/anomaly.onnx"),),
    "camera_rows": (("stripes", "camera_rows/stripes.onnx", "--input", "rows"),),
    "custom_kernel": (
        ("thermal", "custom_kernel/model/thermal.onnx", "--lib", "sensor,cortexm,ref")
        + ("--kernel-path", str(ROOT / "examples" / "custom_kernel" / "kernels")),
    ),
    "digits": (("digits", "digits/digits.onnx"),),
    "hello": (("hello", "hello/hello.onnx"),),
    "keyword": (("keyword", "keyword/keyword.onnx"),),
    "story": (("story", "story/story.onnx"),),
    "training": (("digits", "digits/digits.onnx"),),
    "two_models": (
        ("anomaly", "anomaly/anomaly.onnx", "--arena", "caller"),
        ("digits", "digits/digits.onnx", "--arena", "caller"),
    ),
    "update": (("keyword", "keyword/keyword.onnx", "--update", "weights"),),
}
_SAMPLES = ("--monitor-samples", str(ROOT / "examples/digits/test_images.npz"))
_OF_AN_INSTANCE = ("--arena", "caller", "--update", "weights", "--integrity", "on", "--monitor", "on")
# Functions that no example has, and lines that only options together print.
OPTIONS = (
    ("digits", "digits/digits.onnx", "--integrity", "on", "--arena", "caller"),
    ("keyword", "keyword/keyword.onnx", "--integrity", "on", "--update", "weights"),
    ("digits", "digits/digits.onnx", "--monitor", "on", *_SAMPLES),
    ("digits", "digits/digits.onnx", *_OF_AN_INSTANCE, *_SAMPLES, "--max-step", "20000"),
    ("stripes", "camera_rows/stripes.onnx", *_OF_AN_INSTANCE, "--input", "rows", "--dma", "on"),
)
# All but the first numbers of arrays: the tools take minutes for megabytes of them.
_LONG = re.compile(r"\b(\w+)\[\d+\] = \{\n(    [-\d., exfu]+)\n(?:    [-\d., exfu]+\n)+\};")
_FILE = re.compile(r"/\* FILE (\S+) \*/")
_TITLE = re.compile(r"/\* ---- (\w+/\S+) ---- \*/")
WITH_CODE = ("semihosting_text.h", "memories.h")
OF_THIS_MACHINE = "semihosting_host.c"  # where a program of a board stands on an operating system
MODELS = "../shared/models/mlperf_tiny/*int8_qdq.onnx"


@dataclass(frozen=True)
class Text:
    """C that a compiler takes as it stands, given the headers in `beside`. `place` names its file where no line does."""

    name: str
    place: str
    text: str
    core: Core
    beside: tuple[tuple[str, str], ...] = ()
    of_any_core: bool = False  # what other cores see of it is read, too
    is_assembly: bool = False  # it has no C versions: the tools read assembly and intrinsics

    def place_of(self, line: int) -> str:
        """The file that this line (from 1) stems from."""
        found = _FILE.findall("\n".join(self.text.split("\n")[:line]))
        return found[-1] if found else self.place


def kernels() -> Iterator[Text]:
    """All headers of each library and of the kit as one text: the functions, too, that no layer of a network needs."""
    files = {name: helium_harness.library(name).files for name in (*every_kernel.LIBRARIES, "kit")}
    for library in every_kernel.LIBRARIES:
        wanted = [(name, path) for name in ("kit", library) for path in sorted(files[name]) if path.endswith(".h")]
        text = library_text(kernel_text(files, wanted))
        yield Text(f"kernels of {library}", f"{library}/", text, CORES[library], **_kind_of(library))


def _kind_of(library: str) -> dict[str, bool]:
    is_assembly = library in ASSEMBLY_ALONE
    return {"of_any_core": not is_assembly, "is_assembly": is_assembly}


def library_text(kernels: KernelText) -> str:
    """The C, in which comments say which file stands where."""
    includes = [f"#include {name}" for name in sorted({*kernels.system_includes, "<stdint.h>", "<math.h>"})]
    return "\n".join([*includes, *(f"/* FILE {file.title} */\n{file.text}" for file in kernels.files), ""])


def networks() -> Iterator[Text]:
    """Code and constants of the networks that use every kernel, as the compiler prints them."""
    for library in every_kernel.LIBRARIES:
        program = network(library)
        sources = emit(program)
        code, weights, header = (sources.files[f"{program.name}{end}"].decode() for end in (".c", "_weights.c", ".h"))
        beside, title = ((f"{program.name}.h", header),), f"of a network with every kernel of {library}"
        yield Text(f"N.c {title}", "generated/N.c", with_places(code, program), CORES[library], beside, **_kind_of(library))
        yield Text(f"N_weights.c {title}", "generated/N_weights.c", _shortened(weights), CORES[library], beside)


def with_places(code: str, program: Program) -> str:
    """N.c, in which comments say which lines are a library's headers, which it generated, and which are the model's."""
    generated = min(place for layer in program.layers for text in layer.call.texts if (place := code.find(text)) >= 0)
    library = program.layers[0].kernel.library
    code = f"{code[:generated]}/* FILE {library}/generated.c */\n{code[generated:]}"
    return _TITLE.sub(r"/* FILE \1 */", code.replace("/* ---- The layers ---- */", "/* FILE generated/N.c */"))


def models() -> Iterator[Text]:
    """Code and constants of models next to the checkout, and of the examples, as they build them and with further options."""
    for path in sorted(ROOT.glob(MODELS)):
        yield from texts_of_model(re.sub(r"\W", "_", path.stem), path, ())
    used = dict.fromkeys(model for used in EXAMPLES.values() for model in used)
    for name, path, *words in (*used, *OPTIONS):
        yield from texts_of_model(name, ROOT / "examples" / path, tuple(words))


@functools.cache
def texts_of_model(name: str, path: Path, words: tuple[str, ...]) -> tuple[Text, ...]:
    """N.c and N_weights.c for a Cortex-M4F, which include N.h."""
    with tempfile.TemporaryDirectory() as folder:
        if cli.main(["compile", str(path), "--name", name, "--board", "mps2-an386", "--out", folder, *words]) != 0:
            raise AssertionError(f"{path} does not compile")
        headers = (f"{name}.h", (Path(folder) / f"{name}.h").read_text())
        files = {f"N{suffix}.c": Path(folder) / f"{name}{suffix}.c" for suffix in ("", "_weights")}
        title = " ".join((path.name, *(Path(word).name if word.startswith(str(ROOT)) else word for word in words)))
        return tuple(
            Text(f"{file} of {title}", f"generated/{file}", _shortened(made.read_text()), _OF_A_BOARD, (headers,))
            for file, made in files.items()
        )


def expansions() -> Iterator[Text]:
    """The functions that expand packed constants, as any model may have them, for cores with and without vectors."""
    code = render_file("model/expand.c", name="N", expansions=[expansion(kind) for kind in UNITS])
    uses = "".join(f"    N_expand_{kind}(to, from, 9u);\n" for kind in UNITS)
    head = "#include <stdint.h>\n#define AIDGE_FUNCTION\nvoid N_use(uint8_t *to, const uint32_t *from);\n"
    text = f"{head}{code}void N_use(uint8_t *to, const uint32_t *from)\n{{\n{uses}}}\n"
    for library in ("cortexm", "helium"):
        yield Text(f"expansions of packed constants, {library}", "generated/N.c", text, CORES[library])


def boards() -> Iterator[Text]:
    """What boards bring: start-up and semihosting, with the headers of theirs that hold code."""
    headers = dict(_headers("boards"))
    for path in sorted((ROOT / "boards").glob("*.c")):
        if path.name != OF_THIS_MACHINE:
            place = path.relative_to(ROOT).as_posix()
            text = f"/* FILE {place} */\n{path.read_text()}"
            for name in WITH_CODE:
                text = text.replace(f'#include "{name}"', f"/* FILE boards/{name} */\n{headers[name]}\n/* FILE {place} */")
            core = CORES["rv32"] if path.stem.endswith("_riscv") else _OF_A_BOARD
            yield Text(place, place, text, core, tuple(headers.items()))


def glue() -> Iterator[Text]:
    """The calls of CMSIS-NN and of ESP-NN, whose own headers lie in a checkout of the user's."""
    for library in ("cmsis_nn", "esp_nn"):
        headers = dict(_headers(f"kernels/{library}"))
        includes = {name: [other for other in headers if f'#include "{other}"' in headers[name]] for name in headers}
        parts = (f"/* FILE {library}/{name} */\n{headers[name]}" for name in TopologicalSorter(includes).static_order())
        own = {f'#include "{name}"' for name in headers}
        text = "\n".join(line for part in parts for line in part.split("\n") if line not in own)
        yield Text(f"glue to {library}", f"{library}/", text, _OF_A_BOARD)


def _headers(folder: str) -> Iterator[tuple[str, str]]:
    return ((path.name, path.read_text()) for path in sorted((ROOT / folder).glob("*.h")))


def _shortened(text: str) -> str:
    """With the first numbers of arrays of several lines, whose lengths are then those."""
    names = _LONG.findall(text)
    text = _LONG.sub(r"\1[] = {\n\2\n};", text)
    for name, _ in names:
        text = re.sub(rf"(extern const \w+ {name})\[\d+\];", r"\1[];", text)
    return text


def examples() -> Iterator[Text]:
    """The C that people wrote for the examples."""
    for folder, used in EXAMPLES.items():
        made = [texts_of_model(name, ROOT / "examples" / path, tuple(words))[0] for name, path, *words in used]
        own = [(path.name, path.read_text()) for path in sorted(ROOT.glob("examples/*/*.h"))]
        beside = (*own, *(header for text in made for header in text.beside))
        for path in sorted((ROOT / "examples" / folder).glob("*.c")):
            place = path.relative_to(ROOT).as_posix()
            yield Text(place, place, path.read_text(), _OF_A_BOARD, beside)
