# SPDX-License-Identifier: MIT
"""A library and a memory manager written by the inherited API's documentation alone run unchanged."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy
import pytest

import aidge_build
from aidge_build import compat
from aidge_build.base.errors import AidgeError
from aidge_build.contract.library import library_of
from tests.models import model
from tests.sanitized import SANITIZED
from tests.stripes_export import FILES, forget_inherited_modules

RANDOM = numpy.random.default_rng(3)


def weights(*dims: int) -> numpy.ndarray:
    return RANDOM.normal(size=dims).astype(numpy.float32) / 2


NET = model(
    "a = Abs(x) b = Conv<pads=[1,1,1,1]>(a, u, p) c = Relu(b) d = Pad(c, by) e = Abs(d) "
    "f = Conv<strides=[2,2]>(e, v, q) g = Relu(f) y = Tanh(g)",
    inputs="float[1,2,8,8] x",
    outputs="float[1,4,4,5] y",
    constants={
        **{"u": weights(3, 2, 3, 3), "p": weights(3), "v": weights(4, 3, 3, 3), "q": weights(4)},
        "by": numpy.array([0, 0, 1, 2, 0, 0, 0, 1]),
    },
)
X = {"x": weights(1, 2, 8, 8) * 3}


@pytest.fixture(scope="module")
def stripes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stripes")
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (folder / "net.onnx").write_bytes(NET)
    compat.install_as("aidge_core")
    sys.path.insert(0, str(folder))
    import stripes_export
    import stripes_memory

    yield stripes_export.StripesLib, stripes_memory.ring_memory, folder
    sys.path.remove(str(folder))
    forget_inherited_modules()


def exported(stripes, out: Path, **choices) -> aidge_build.SequentialScheduler:
    library, manager, folder = stripes
    made = aidge_build.SequentialScheduler(aidge_build.load_onnx(folder / "net.onnx", libraries=library))
    aidge_build.scheduler_export(made, str(out), library, manager, **choices)
    compat.export_utils.generate_main_compare_cpp(str(out), made, X)
    return made


def built_and_run(folder: Path, line: str) -> str:
    words = [*line.split(), "-Wall", *SANITIZED]
    subprocess.run(words, cwd=folder, check=True)
    return subprocess.run([folder / "model"], capture_output=True, text=True, check=False).stdout


def test_it_exports_through_its_own_memory_manager_and_computes_right(stripes, tmp_path):
    made = exported(stripes, tmp_path, test_mode=True)
    assert set(made.backends.values()) == {"stripes"}
    wrapped = [name for name, place in made.program.memory.places.items() if place.plane is not None and place.plane.wrap_size]
    assert wrapped and made.program.memory.arena.peak_bytes == 4 * (3 * 9 * 11 * 2)
    line = re.search(r"^    (g\+\+ .*)$", (tmp_path / "README.md").read_text(), re.MULTILINE)[1]
    assert built_and_run(tmp_path, line) == "0 values differ\n"


def test_its_folder_has_the_inherited_layout_and_its_own_files(stripes, tmp_path):
    exported(stripes, tmp_path, layout="dnn", memory_manager_args={"slack": 8})
    found = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    kernels = {"dnn/include/kernels/map.hpp", "dnn/include/kernels/slide.hpp", "dnn/include/pads/model_pad_3.hpp"}
    sources = {"main.cpp", "dnn/src/forward.cpp", "dnn/src/model.cpp", "dnn/src/model_weights.cpp"}
    assert (
        kernels | sources | {"dnn/include/stripes/ring.hpp", "dnn/include/forward.hpp", "dnn/include/layers/model_abs_0.h"}
        <= found
    )
    text = (tmp_path / "dnn/src/model.cpp").read_text()
    assert "#include <kernels/slide.hpp>" in text and "static void slide" not in text
    line = "g++ -O1 -I. -Idnn/include main.cpp dnn/src/forward.cpp dnn/src/model.cpp dnn/src/model_weights.cpp -o model"
    assert built_and_run(tmp_path, line) == "0 values differ\n"


def test_what_it_registers_in_vain_is_said_and_a_type_of_nobody_s_refused(stripes):
    library = stripes[0]
    notices = library_of(library).notices
    assert any(notice.startswith("SwiGLU is registered and never taken") for notice in notices)
    assert any(notice.startswith("QConv is registered and never taken") for notice in notices)
    with pytest.raises(AidgeError, match=r"stripes: Pad: no operator has the type 'Conv'\. Tried: Conv1D; Conv2D; Conv3D"):
        library.register("Conv", compat.ImplSpec())(library.registry[-1].node_class)


def test_a_pad_of_another_kind_is_not_given_to_it(stripes, tmp_path):
    library = stripes[0]
    for mode, value in (("reflect", 0.0), ("constant", 2.0)):
        text = f'd = Pad<mode="{mode}">(x, by{", value" if value else ""}) y = Abs(d)'
        constants = {"by": numpy.array([0, 0, 1, 1, 0, 0, 1, 1]), **({"value": numpy.float32(value)} if value else {})}
        net = model(text, inputs="float[1,2,4,4] x", outputs="float[1,2,6,6] y", constants=constants)
        (tmp_path / "net.onnx").write_bytes(net)
        view = aidge_build.load_onnx(tmp_path / "net.onnx", libraries=[library, "ref"])
        chosen = compat.adapt_to_backend(view, [library, *compat_libraries("ref")]).choices
        pads = [choice.kernel.library for choice in chosen.values() if choice.kernel and choice.kernel.type == "Pad"]
        assert pads == ["ref"]


def compat_libraries(name: str):
    from aidge_build.compat.libraries import libraries_of

    return libraries_of(name)
