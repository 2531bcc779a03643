# SPDX-License-Identifier: MIT
"""`python -m tests.exactness.tflite_references`: what LiteRT's reference kernels give, stored in two files beside this one.

It needs the packages ai-edge-litert, flatbuffers, numpy and pytest, in an environment of its own: nothing else here imports
LiteRT. Operators that its reference resolver lacks come from its other kernels, without delegates.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy

from aidge_build.sources.formats.tflite.file import read_tflite
from tests import tflite_random
from tests.shared import FLOAT_MODELS, MLPERF_TINY, MODELS
from tests.tflite_cases import CASES, inputs_of

STORED, STORED_RANDOM = (Path(__file__).with_name(name) for name in ("tflite.npz", "tflite_random.npz"))
LAYERS_OF = ("kws_dscnn", "sww_dscnn1d")  # models of which every layer is stored, for one input
COUNTS = {"int8": 200, "float": 2}
HYBRID = ("kws_dscnn",)  # float models with int8 weights: LiteRT quantizes their data while it runs


def model_inputs(name: str, dims: tuple[int, ...], dtype: numpy.dtype, count: int) -> numpy.ndarray:
    """Seeded inputs of a model: int8 over the whole range, floats between -1 and 1."""
    random = numpy.random.Generator(numpy.random.PCG64(zlib.crc32(name.encode())))
    if dtype.kind == "f":
        return (random.random((count, *dims)) * 2 - 1).astype(dtype)
    return random.integers(-128, 127, (count, *dims), dtype=dtype, endpoint=True)


def packed(values: list[numpy.ndarray]) -> numpy.ndarray:
    """Arrays as the bytes of one."""
    return numpy.frombuffer(b"".join(numpy.ascontiguousarray(value).tobytes() for value in values), numpy.uint8)


def unpacked(data: numpy.ndarray, likes: list[numpy.ndarray]) -> Iterator[numpy.ndarray]:
    """Such bytes as arrays of these dims and types."""
    at = 0
    for like in likes:
        yield numpy.frombuffer(data.tobytes(), like.dtype, like.size, at).reshape(like.shape)
        at += like.nbytes
    assert at == data.size


def stored_case(name: str) -> str:
    """The key of a case: with its file's checksum, so that a changed case has no reference."""
    return f"{name}|{zlib.crc32(CASES[name]()):08x}"


def stored_random(name: str, content: bytes) -> str:
    """The same of a random case."""
    return f"{name}|{zlib.crc32(content):08x}"


def _interpreter(content: bytes, preserve: bool = False):
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    for resolver in (OpResolverType.BUILTIN_REF, OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES):
        try:
            made = Interpreter(
                model_content=content,
                experimental_op_resolver_type=resolver,
                num_threads=1,
                experimental_preserve_all_tensors=preserve,
            )
            made.allocate_tensors()
            return made
        except (ValueError, RuntimeError) as error:
            reason = error
    raise reason


def _run(interpreter, row: list[numpy.ndarray]) -> list[numpy.ndarray]:
    for detail, values in zip(interpreter.get_input_details(), row, strict=True):
        interpreter.set_tensor(detail["index"], values)
    interpreter.invoke()
    return [interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()]


def _cases() -> Iterator[tuple[str, numpy.ndarray]]:
    for name, made in CASES.items():
        interpreter = _interpreter(made())
        types = [(tuple(one["shape"]), numpy.dtype(one["dtype"]).name) for one in interpreter.get_input_details()]
        yield stored_case(name), packed([value for row in inputs_of(name, types) for value in _run(interpreter, row)])


def _random_cases() -> Iterator[tuple[str, numpy.ndarray]]:
    for name in tflite_random.GRAPHS:
        if tflite_random.family_of(name) not in tflite_random.REFUSED:
            content = tflite_random.file_of(name)
            interpreter = _interpreter(content)
            types = [(tuple(one["shape"]), numpy.dtype(one["dtype"]).name) for one in interpreter.get_input_details()]
            rows = tflite_random.inputs_of(name, types)
            yield stored_random(name, content), packed([value for row in rows for value in _run(interpreter, row)])


def _models() -> Iterator[tuple[str, numpy.ndarray]]:
    for kind, names in (("int8", MODELS), ("float", tuple(one for one in FLOAT_MODELS if one not in HYBRID))):
        for name in names:
            interpreter = _interpreter((MLPERF_TINY / f"{name}_{kind}.tflite").read_bytes())
            (given,) = interpreter.get_input_details()
            rows = model_inputs(name, tuple(given["shape"]), numpy.dtype(given["dtype"]), COUNTS[kind])
            yield f"model|{name}_{kind}", numpy.array([_run(interpreter, [row])[0] for row in rows])


def layers(name: str, count: int = 1) -> Iterator[dict[str, numpy.ndarray]]:
    """Every tensor that LiteRT computes in an int8 model, by name, for each of the model's first seeded inputs."""
    content = (MLPERF_TINY / f"{name}_int8.tflite").read_bytes()
    interpreter = _interpreter(content, preserve=True)
    computed = {tensor.name for tensor in read_tflite(content).subgraphs[0].tensors if tensor.raw is None}
    (given,) = interpreter.get_input_details()
    for row in model_inputs(name, tuple(given["shape"]), numpy.dtype(given["dtype"]), count):
        _run(interpreter, [row])
        yield {
            one["name"]: interpreter.get_tensor(one["index"])
            for one in interpreter.get_tensor_details()
            if one["name"] in computed
        }


def main() -> None:
    """Write the files."""
    found = {**dict(_cases()), **dict(_models())}
    for name in LAYERS_OF:
        for tensor, values in next(layers(name)).items():
            found[f"layer|{name}|{tensor}"] = values
    numpy.savez_compressed(STORED, **found)
    numpy.savez_compressed(STORED_RANDOM, **dict(_random_cases()))


if __name__ == "__main__":
    main()
