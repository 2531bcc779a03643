# SPDX-License-Identifier: MIT
"""Random networks and damaged models as C under the sanitizers of addresses and undefined behaviour: every value is compared with
numpy on the adapted graph, that with the graph as imported, and where nothing was damaged this one with onnxruntime, where it is
installed. Many models are one C program, compiled once."""

from __future__ import annotations

import importlib.util
import traceback
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import numpy
import onnx

from aidge_build.base.errors import AidgeError
from aidge_build.boards import load_board
from aidge_build.boards.cores import NO_ASSEMBLY, SLOW_LONG_PRODUCTS, WIDE_POINTERS
from aidge_build.build.compile import build_program
from aidge_build.build.request import CompileRequest
from aidge_build.contract.reference import cpu
from aidge_build.graph.view import GraphView
from aidge_build.measure.conformance.cases import Prepared
from aidge_build.measure.conformance.run import SANITIZERS, verdicts
from aidge_build.operators import builtin_operators
from aidge_build.plan.options import Options
from aidge_build.prepare.adaptation.match import Target
from aidge_build.prepare.quantization import Scheme, quantize
from aidge_build.sources.formats.onnx.importer import import_onnx
from aidge_build.sources.onnx_format.node_cases import NodeCase, node_cases
from tests.cascade_nets import RowNetwork
from tests.loaded import built_in
from tests.random_models import RandomNetwork
from tools.fuzz import meaning, mutations
from tools.fuzz.model_mutations import damaged_model
from tools.fuzz.seeds import models
from tools.fuzz.telling import largest_finite, telling

TOGETHER = 40  # models of one program
# Compiling takes most of the time: nothing is optimised, and checks are calls or traps (a run without these says where).
FLAGS = (
    *SANITIZERS,
    *("-O0", "-fsanitize-undefined-trap-on-error", "--param", "asan-instrumentation-with-call-threshold=0"),
)
MOST_ELEMENTS = 1 << 16  # of a tensor that is computed; a larger one is the same again
TRIES = 4  # of inputs, until the outputs say something
HOST = load_board("host")
HUGE = 1e30  # sums of such numbers depend on their order: only the sanitizers judge them
ON_CORES = (
    (("ref",), frozenset()),
    (("cortexm", "ref"), frozenset({"dsp"})),
    (("cortexm", "ref"), frozenset({"dsp", "fpu"})),
    (("helium", "cortexm", "ref"), frozenset({"dsp", "mve"})),
    (("helium", "cortexm", "ref"), frozenset({"dsp", "fpu", "mve"})),
    (("armv7m", "ref"), frozenset({"thumb2"})),
    (("armv7m", "ref"), frozenset({"thumb2", SLOW_LONG_PRODUCTS})),
    (("armv6m", "ref"), frozenset({"narrow"})),
)


@dataclass(frozen=True)
class Way:
    """How a model becomes C."""

    libraries: tuple[str, ...]
    features: frozenset[str]
    memory: str
    optimize: str

    @classmethod
    def drawn(cls, choice: Random) -> Way:
        """Any one."""
        libraries, features = choice.choice(ON_CORES)
        return cls(
            libraries, features, choice.choice(("default", "default", "cascade")), choice.choice(("speed", "balanced", "size"))
        )

    @property
    def words(self) -> tuple[str, ...]:
        """It, as a stored fault keeps it."""
        return ",".join(self.libraries), ",".join(sorted(self.features)), self.memory, self.optimize

    @classmethod
    def read(cls, words: Sequence[str]) -> Way:
        """That of `words`."""
        libraries, features, memory, optimize = words
        return cls(tuple(libraries.split(",")), frozenset(filter(None, features.split(","))), memory, optimize)


@dataclass(frozen=True, eq=False)
class Model:
    """A file, the way it becomes C, what chooses inputs for it, and whether nothing of it is damaged."""

    seed: int
    file: bytes
    whole: bool
    way: Way
    choice: Random


@dataclass(frozen=True)
class Judged:
    """`outcome` is refused, right, huge (values differ that depend on the order of sums), vacuous (none differs, and none that is
    expected says anything), or a fault, which `detail` explains."""

    seed: int
    outcome: str
    detail: str = ""

    @property
    def is_fault(self) -> bool:
        return self.outcome not in ("refused", "right", "huge", "vacuous")


def made(name: str, seed: int) -> Model:
    """`name` is the kind: "graphs" are whole networks, float and quantized, "mutants" damaged models."""
    choice = Random(f"{name} {seed}")
    whole = name == "graphs"
    return Model(seed, _network(choice) if whole else _mutant(choice), whole, Way.drawn(choice), choice)


def kept(name: str, seed: int, file: bytes, words: Sequence[str]) -> Model:
    """That of a stored fault."""
    return Model(seed, file, name == "graphs", Way.read(words), Random(f"inputs of {name} {seed}"))


def judge(models: Iterable[Model], folder: Path) -> Iterator[Judged]:
    """What becomes of each model."""
    waiting = []
    for number, model in enumerate(models):
        found = _prepared(model, f"net_{number}")
        if isinstance(found, Judged):
            yield found
        else:
            waiting.append((model.seed, *found))
    done = verdicts([prepared for _, prepared, _ in waiting], HOST, folder, FLAGS)
    for (seed, prepared, is_huge), verdict in zip(waiting, done):
        if verdict.verdict not in ("wrong", "refused"):
            yield Judged(seed, "right" if telling(prepared.case.expected) else "vacuous")
        elif is_huge and verdict.reason.startswith("output "):
            yield Judged(seed, "huge")
        else:
            yield Judged(seed, verdict.verdict, verdict.reason)


def _network(choice: Random) -> bytes:
    seed = choice.randrange(1 << 30)
    if choice.random() < 0.25:
        rows = RowNetwork(seed, choice.randrange(2, 8), pooled=choice.random() < 0.5)
        file, samples = rows.file(), rows.values(3)
    else:
        grown = RandomNetwork(seed, nodes=choice.randrange(1, 11), groups=choice.random() < 0.5, wide=choice.random() < 0.5)
        file, samples = grown.model().SerializeToString(), grown.inputs(3)
    if choice.random() < 0.4:
        return file
    scheme = Scheme(
        activations=choice.choice(("asymmetric", "symmetric")),
        io_type=choice.choice(("int8", "float32")),
        equalize=choice.random() < 0.3,
    )
    return quantize(file, {"x": samples[:, None] if samples.ndim == 4 else samples}, scheme)


def _mutant(choice: Random) -> bytes:
    cases = list(node_cases().values())
    file = choice.choice((*models(), choice.choice(cases).model, choice.choice(cases).model, _network(choice)))
    message = onnx.ModelProto.FromString(file)
    mutations.use_words([name for node in message.graph.node for name in (*node.input, *node.output, node.op_type)])
    damaged_model(message, choice)
    return message.SerializeToString()


def _largest(values: Iterable[numpy.ndarray]) -> float:
    """The largest absolute value of the floats."""
    return max((float(numpy.abs(value).max(initial=0)) for value in values if value.dtype.kind == "f"), default=0.0)


def _prepared(model: Model, symbol: str) -> Judged | tuple[Prepared, bool]:
    """A program with what numpy expects of it, and whether numbers are huge; or why there is none."""
    try:
        with warnings.catch_warnings(), numpy.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            view, _ = import_onnx(model.file, symbol, builtin_operators(), {}, {})
            sizes = [tensor.elements for tensor in view.tensors.values()]
            if max(sizes, default=0) > MOST_ELEMENTS:
                return Judged(model.seed, "refused")
            program = build_program(_request(model, symbol))
            for _ in range(TRIES):
                inputs = {name: _values(view, name, model.choice) for name in view.inputs}
                computed = cpu.run(view, inputs)
                expected = tuple(computed[name] for name in view.outputs)
                if telling(expected):
                    break
            adapted = cpu.run(program.view, inputs)
    except AidgeError:
        return Judged(model.seed, "refused")
    except Exception as error:
        return Judged(model.seed, f"our fault {type(error).__name__}", traceback.format_exc())
    is_huge = not _largest(computed.values()) < HUGE
    if not is_huge and model.whole and (reason := _differs_from_onnxruntime(model, inputs, expected)):
        return Judged(model.seed, "numpy is wrong", reason)
    if not is_huge and (reason := meaning.difference(view, inputs, adapted)):
        return Judged(model.seed, "adapted wrongly", reason)
    expected = tuple(adapted[name] for name in view.outputs)
    case = NodeCase(symbol, model.file, inputs, expected, 1e-4, 1e-4 * largest_finite(expected) + 1e-6, ())
    return Prepared(case, (), program), is_huge


def _request(model: Model, symbol: str) -> CompileRequest:
    options = Options(memory_model=model.way.memory, optimize=model.way.optimize)
    # Kernels that need assembly have no C: the next library takes their layers.
    of_host = {NO_ASSEMBLY, *([WIDE_POINTERS] if HOST.core.pointer_bytes > 4 else [])}
    target = Target(model.way.features | of_host)
    libraries = built_in(*model.way.libraries)
    return CompileRequest(symbol, model.file, symbol, libraries, builtin_operators(), target, "any", options=options)


def _values(view: GraphView, name: str, choice: Random) -> numpy.ndarray:
    """Numbers for an input: small ones, and for integers all that the type holds."""
    tensor = view.tensor(name)
    random, dtype = numpy.random.default_rng(choice.randrange(1 << 30)), tensor.dtype.numpy
    if tensor.dtype.is_float:
        return random.normal(size=tensor.dims).astype(dtype)
    if numpy.dtype(dtype).kind == "b":
        return random.integers(0, 2, tensor.dims).astype(dtype)
    ends = numpy.iinfo(dtype)
    lowest, highest = (ends.min, ends.max) if ends.bits == 8 else (max(ends.min, -3), 4)
    return random.integers(lowest, highest, tensor.dims, endpoint=True).astype(dtype)


def _differs_from_onnxruntime(model: Model, inputs: dict[str, numpy.ndarray], expected: Sequence[numpy.ndarray]) -> str:
    if importlib.util.find_spec("onnxruntime") is None:
        return ""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    session = onnxruntime.InferenceSession(model.file, options, providers=["CPUExecutionProvider"])
    for index, (theirs, ours) in enumerate(zip(session.run(None, inputs), expected)):
        if (theirs.dtype, theirs.shape) != (ours.dtype, ours.shape):
            return f"output {index} is {ours.dtype}{list(ours.shape)}, onnxruntime has {theirs.dtype}{list(theirs.shape)}"
        distance = numpy.abs(theirs.astype(numpy.float64) - ours).max(initial=0)
        # A sum of floats in another order may round to the next level of int8, which later layers hand on.
        limit = 3 if ours.dtype.kind in "iu" else 0.02 * max(1.0, float(numpy.abs(theirs).max(initial=0)))
        if not distance <= limit:  # NaN is no small distance
            return f"output {index} is {distance:.3g} away from onnxruntime's"
    return ""
