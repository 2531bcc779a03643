# SPDX-License-Identifier: MIT
"""Whatever a library's own code raises ends in one line that names library, class and node, and in exit code 2."""

from __future__ import annotations

import signal

import pytest

from tests.command import aidge_build
from tests.models import model

LIBRARY = """
import os
import sys
from aidge_build import Call, Demands, ExportLib, ExportNodeCpp, ImplSpec, Input, IOSpec, KernelNode, Output, dtype, kernel

def accepts(view):
    {predicate}
    return ""

@kernel("ReLU", ImplSpec(IOSpec(dtype.float32), predicates=(accepts,)))
class Rectify(KernelNode):
    def __init__(self, node, mem_info=None):
        {constructor}
        super().__init__(node, mem_info)
    @classmethod
    def demands(cls, view):
        {demands}
        return Demands()
    def call(self):
        {call}
        return Call("rectify", (), (Input(0), Output(0)))
"""
PARTS = {
    "predicate": "a predicate of the spec",
    "constructor": "the constructor",
    "demands": "demands",
    "call": "call",
}


@pytest.fixture
def run(tmp_path, monkeypatch):
    def run(text: str, verb: str = "compile", **environment: str):
        folder = tmp_path / "mine"
        folder.mkdir(exist_ok=True)
        (folder / "library.toml").write_text('name = "mine"\n')
        (folder / "mine.py").write_text(text)
        (tmp_path / "net.onnx").write_bytes(model("y = Relu(x)", inputs="float[1,4] x", outputs="float[1,4] y"))
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        more = ["--out", tmp_path / "out"] if verb == "compile" else []
        return aidge_build(verb, tmp_path / "net.onnx", "--kernel-path", tmp_path, "--lib", "mine", *more)

    return run


@pytest.mark.parametrize("raised", ["raise NotImplementedError('Pad2D nodes is not implemented')", "sys.exit(3)", "os._exit(3)"])
@pytest.mark.parametrize("part", PARTS)
def test_what_a_kernel_raises_is_one_line_with_library_class_and_node(run, part, raised):
    result = run(LIBRARY.format(**{name: raised if name == part else "pass" for name in PARTS}))
    assert result.exit_code == 2 and len(result.stderr.splitlines()) == 1, result.stderr
    reason = "raised NotImplementedError: Pad2D nodes is not implemented" if "raise" in raised else "ended the program with 3"
    assert f"node 'Relu_0' (ReLU): {PARTS[part]} of Rectify in library mine {reason} (mine.py, line " in result.stderr


@pytest.mark.parametrize(
    "read",
    [
        "view.inputs[0].storage.order",
        "view.inputs[0].storage == view.outputs[0].storage",
        "view.inputs[0].storage != view.outputs[0].storage",
        "view.outputs[0].layout.strides",
        "view.outputs[0].format.order",
    ],
)
def test_a_predicate_that_reads_a_storage_order_is_refused_since_orders_are_chosen_after_kernels(run, read):
    result = run(LIBRARY.format(**{**dict.fromkeys(PARTS, "pass"), "predicate": read}))
    assert result.exit_code == 2 and len(result.stderr.splitlines()) == 1, result.stderr
    assert "it reads a storage order, and kernels are chosen before orders are" in result.stderr
    assert (
        "node 'Relu_0' (ReLU)" in result.stderr
        and "Hint: read Tensor.orders, the orders that the tensor may get" in result.stderr
    )


@pytest.mark.parametrize("part", ["constructor", "demands", "call"])
def test_what_runs_once_orders_are_chosen_may_read_them(run, part):
    view = {"constructor": "node", "demands": "view", "call": "self.view"}[part]
    result = run(LIBRARY.format(**{**dict.fromkeys(PARTS, "pass"), part: f"{view}.outputs[0].layout.strides"}))
    assert result.exit_code == 0, result.stderr


def test_a_predicate_may_ask_which_orders_a_tensor_may_get_and_how_large_it_is(run):
    asked = 'if (len(view.inputs[0].orders), view.outputs[0].size_bytes) != (1, 16): return "other"'
    result = run(LIBRARY.format(**{**dict.fromkeys(PARTS, "pass"), "predicate": asked}))
    assert result.exit_code == 0, result.stderr


def test_a_kernel_that_never_ends_is_named_when_it_is_interrupted_and_nothing_is_written(run, tmp_path):
    forever = "import signal\n        signal.setitimer(signal.ITIMER_REAL, 0.05)\n        while True: pass"
    text = LIBRARY.format(**{**dict.fromkeys(PARTS, "pass"), "call": forever})
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        result = run(text)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert (result.exit_code, result.stdout) == (130, "") and not (tmp_path / "out").exists()
    assert result.stderr == "aidge-build: interrupted in call of Rectify in library mine (mine.py, line 22)\n"


def test_files_that_a_kernel_brings_along_are_text_of_the_model_wherever_they_say_to_lie(run, tmp_path):
    brought = (
        'return Call("rectify", ("../../outside.h",), (Input(0), Output(0)), files={"../../outside.h": b"void rectify(void);"})'
    )
    result = run(LIBRARY.format(**{**dict.fromkeys(PARTS, "pass"), "call": brought}))
    files = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.suffix != ".pyc" and path.is_file()}
    assert result.exit_code in (0, 2), result.stderr
    assert {name for name in files if not name.startswith("out/net")} == {"net.onnx", "mine/library.toml", "mine/mine.py"}


@pytest.mark.requirement("LIBRARY")
@pytest.mark.parametrize("returned", ["[]", "[Call('a', (), ()), Call('b', (), ())]", "('a.c', 'b.c')"])
def test_more_calls_than_one_or_none_are_refused(run, returned, tmp_path):
    result = run(LIBRARY.format(**{**dict.fromkeys(PARTS, "pass"), "call": f"return {returned}"}))
    assert result.exit_code == 2 and "call of Rectify in library mine raised TypeError: it returns" in result.stderr
    assert not (tmp_path / "out").exists()


def test_a_debug_level_still_shows_the_traceback(run):
    text = LIBRARY.format(**{**dict.fromkeys(PARTS, "pass"), "call": "raise ValueError('no')"})
    result = run(text, AIDGE_DEBUG="1")
    assert result.exit_code == 2 and "Traceback" in result.stderr and "ValueError: no" in result.stderr


@pytest.mark.requirement("LIBRARY")
def test_a_call_that_is_none_is_refused(run):
    text = LIBRARY.format(**{**dict.fromkeys(PARTS, "pass"), "call": "return None"})
    assert "call of Rectify in library mine raised TypeError: it returns NoneType, not Call" in run(text).stderr


def test_a_library_that_ends_the_program_while_it_is_loaded_is_refused(run):
    for ending in ("import sys\nsys.exit(3)\n", "import os\nos._exit(3)\n", "from posix import _exit\n_exit(3)\n"):
        result = run(ending)
        assert result.exit_code == 2 and "mine.py: the module ended the program with 3 (mine.py, line 2)" in result.stderr


def test_a_process_that_a_library_forks_may_end_as_it_likes(run):
    result = run("import os\nchild = os.fork()\nif not child:\n    os._exit(7)\nraise OSError(os.waitpid(child, 0)[1] >> 8)\n")
    assert "the module raised OSError: 7 (mine.py, line 5)" in result.stderr


def test_an_operator_of_a_library_that_fails_is_named_with_its_node(run):
    text = """
from aidge_build import ExportLib, ExportNode, ImplSpec
def infer(inputs):
    raise KeyError("dims")
class Mine(ExportLib):
    _name = "mine"
Mine.register_generic("Relu", ImplSpec(), infer=infer)(ExportNode)
"""
    result = run(text, verb="plan")
    assert result.exit_code == 2 and len(result.stderr.splitlines()) == 1, result.stderr
    assert "(Relu): the operator Relu raised KeyError: 'dims' (mine.py, line 4)" in result.stderr
