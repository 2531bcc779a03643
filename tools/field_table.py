# SPDX-License-Identifier: MIT
"""Measures how often `accuracy --field` flags drifted and clean inputs: the table of docs/howto-field.md.

    python -m tools.field_table                 print the table
    python -m tools.field_table digits          of one data set

The monitor of each program is the generated C, compiled for this machine. It runs on held-out inputs that set no range. It needs
gcc and, for the digits, scikit-learn; four minutes.
"""

from __future__ import annotations

import argparse
import importlib.util
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType

import numpy

from aidge_build.build.compile import build_program
from aidge_build.build.emit import emit
from aidge_build.build.emit.monitor import monitor_digest
from aidge_build.build.inputs import add_model_arguments, load
from aidge_build.measure.accuracy.stages import outputs_on_host
from aidge_build.measure.field.counts import counts_of, read_counts, together
from aidge_build.measure.field.verdict import verdict_on
from aidge_build.prepare.input_samples import Samples, fed

ROOT = Path(__file__).resolve().parents[1]
FALSE_ALARMS = 0.01
VERDICTS = 200
MAIN = """
#include "net.h"
#include <stdio.h>
static union { uint8_t bytes[NET_INPUT_BYTES]; int64_t aligned; } in;
static union { uint8_t bytes[NET_OUTPUT_BYTES]; int64_t aligned; } out;
static uint8_t dump[NET_MONITOR_BYTES];
int main(void)
{
    uint32_t count = 0u;

    while (fread(in.bytes, sizeof in.bytes, 1, stdin) == 1) {
        if (net_run((const void *)in.bytes, (void *)out.bytes) != 0)
            return 1;
        if (++count == INFERENCES) {
            (void)net_monitor(dump);
            (void)fwrite(dump, sizeof dump, 1, stdout);
            net_monitor_reset();
            count = 0u;
        }
    }
    return 0;
}
"""
Values = numpy.ndarray
Drift = Callable[[Values, numpy.random.Generator], Values]


@dataclass(frozen=True)
class Data:
    """`usual` are training inputs in their order, `answered` inputs that training has not seen, for the usual answers.
    `held_out(random)` are the inputs of one verdict, none of them among these: `dumps` of so many `inferences`. `drifts` change
    them; `others` are held-out inputs of another mixture."""

    model: str
    usual: Values
    answered: Values
    held_out: Callable[[numpy.random.Generator], Values]
    drifts: Mapping[str, Drift]
    others: Mapping[str, Callable[[numpy.random.Generator], Values]]
    inferences: int = 100
    dumps: int = 1


def gain(factor: float) -> Drift:
    """Another gain of the sensor."""
    return lambda values, random: values * factor


def offset(distance: float) -> Drift:
    """An offset of the sensor."""
    return lambda values, random: values + distance


def noise(deviation: float) -> Drift:
    """White noise."""
    return lambda values, random: values + random.normal(0, deviation, values.shape)


def dead(values: Values, random: numpy.random.Generator) -> Values:
    """A sensor that always says the same."""
    return numpy.zeros_like(values)


def dead_column(values: Values, random: numpy.random.Generator) -> Values:
    """A column of the picture that stays dark."""
    changed = values.copy()
    changed[..., 3] = 0
    return changed


def digits() -> Data:
    """Pictures: the training set of examples/digits, half of its 450 test pictures for the usual answers, and dumps of 100 of the
    other half."""
    images, tests = example("digits", "dataset").split()
    pixels, labels = tests.pixels[:, None] / 16, tests.labels
    answered, held_out, few = pixels[:225], pixels[225:], pixels[225:][labels[225:] < 5]

    def drawn(pixels: Values) -> Callable[[numpy.random.Generator], Values]:
        return lambda random: pixels[random.permutation(len(pixels))[:100]]

    drifts: dict[str, Drift] = {
        "gain 0.8": gain(0.8),
        "gain 1.2": gain(1.2),
        "offset 0.05 of 1": offset(0.05),
        "noise 0.05": noise(0.05),
    }
    drifts |= {"noise 0.1": noise(0.1), "dead column": dead_column, "dead sensor": dead, "scale 0.5": gain(0.5)}
    return Data(
        "digits/digits.onnx",
        images.pixels[:, None] / 16,
        answered,
        drawn(held_out),
        drifts,
        {"only the digits 0 to 4": drawn(few)},
    )


def keyword() -> Data:
    """Sounds in hops of 20 ms: the training set of examples/keyword, and dumps of 130 hops, ten to a verdict: 26 s of sound."""
    sounds = example("keyword", "sounds")
    random = numpy.random.default_rng(1)  # the examples take turns in their classes, which no device hears
    clips, answered = (random.permutation(sounds.clips(count, seed)[0]) for count, seed in ((500, 1), (250, 1002)))
    pool, labels = sounds.clips(3000, seed=1001)

    def drawn(chosen: Values) -> Callable[[numpy.random.Generator], Values]:
        return lambda random: chosen[random.permutation(len(chosen))[:50]].reshape(-1, 1, 160)

    drifts: dict[str, Drift] = {"gain 0.5": gain(0.5), "gain 0.8": gain(0.8), "gain 1.2": gain(1.2), "gain 2": gain(2)}
    drifts |= {"offset 300 of 32,768": offset(300), "noise 200": noise(200), "noise 500": noise(500), "dead sensor": dead}
    others = {"no words": drawn(pool[labels == 0]), "only the words ya and us": drawn(pool[(labels == 1) | (labels == 4)])}
    return Data(
        "keyword/keyword.onnx", clips.reshape(-1, 1, 160), answered.reshape(-1, 1, 160), drawn(pool), drifts, others, 130, 10
    )


def keyword_104_s() -> Data:
    """The same with four times as much sound, for the changes that 26 s seldom show."""
    data = keyword()
    drifts = {name: data.drifts[name] for name in ("gain 0.8", "gain 1.2", "noise 200")}

    def longer(random: numpy.random.Generator) -> Values:
        return numpy.concatenate([data.held_out(random) for _ in range(4)])

    return replace(data, held_out=longer, drifts=drifts, others={}, dumps=4 * data.dumps)


def anomaly() -> Data:
    """Windows of vibration: the training set of examples/anomaly, and dumps of 100 new windows."""
    windows = example("anomaly", "vibration").windows
    pool, faulty = windows(4000, seed=1001, faulty=False), windows(4000, seed=1002, faulty=True)

    def drawn(random: numpy.random.Generator) -> Values:
        return pool[random.permutation(len(pool))[:100]]

    def some_faulty(random: numpy.random.Generator) -> Values:
        return numpy.concatenate([drawn(random)[:80], faulty[random.permutation(len(faulty))[:20]]])

    drifts: dict[str, Drift] = {
        "gain 0.8": gain(0.8),
        "gain 1.2": gain(1.2),
        "offset 0.05 g": offset(0.05),
        "noise 0.02 g": noise(0.02),
    }
    drifts |= {"noise 0.05 g": noise(0.05), "dead sensor": dead, "scale 9.81 (m/s2 for g)": gain(9.81)}
    others = {"every fifth window of a faulty pump": some_faulty}
    return Data(
        "anomaly/anomaly.onnx", windows(1500, seed=1, faulty=False), windows(500, seed=1003, faulty=False), drawn, drifts, others
    )


DATA = {"digits": digits, "keyword": keyword, "keyword, 104 s": keyword_104_s, "anomaly": anomaly}


def example(folder: str, name: str) -> ModuleType:
    """The module `name` of an example."""
    path = ROOT / "examples" / folder / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"{folder}_{name}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look there
    spec.loader.exec_module(module)
    return module


class Monitor:
    """The program of a data set, compiled for this machine, and what its samples look like."""

    def __init__(self, data: Data, folder: Path):
        self.data, usual = data, folder / "usual.npz"
        floats = data.usual.dtype.kind == "f"
        numpy.savez(usual, x=data.usual.astype(numpy.float32) if floats else data.usual)
        parser = argparse.ArgumentParser()
        add_model_arguments(parser)
        words = [str(ROOT / "examples" / data.model), "--board", "host", "--monitor", "on", "--monitor-samples", str(usual)]
        self.program = build_program(load(parser.parse_args(words), "net"))
        for name, content in emit(self.program).files.items():
            (folder / name).write_bytes(content)
        (folder / "main.c").write_text(MAIN)
        self.app = folder / "app"
        sources = [str(folder / name) for name in ("main.c", "net.c", "net_weights.c")]
        flags = ["-O2", f"-DINFERENCES={data.inferences}u", f"-I{folder}"]
        subprocess.run(["gcc", *flags, *sources, "-o", str(self.app), "-lm"], check=True)
        view, inputs, answered = self.program.view, *({self.name: self.stored(one)} for one in (data.usual, data.answered))
        assert self.program.monitoring is not None
        self.usual = counts_of(self.program.monitoring, view, inputs, outputs_on_host(view, answered, data.model))

    @property
    def name(self) -> str:
        """The only input."""
        return self.program.view.given[0]

    def stored(self, values: Values) -> Values:
        """The values as the input stores them."""
        tensor = self.program.view.tensor(self.name)
        if tensor.dtype.is_float or tensor.quantization is not None:
            return fed(Samples({self.name: values.astype(numpy.float32)}), self.name, tensor, None)
        low, high = tensor.dtype.range
        return numpy.clip(numpy.rint(values), low, high).astype(tensor.dtype.numpy)

    def findings(self, values: Values) -> tuple[str, ...]:
        """Which numbers the verdict on these inputs flags."""
        ran = subprocess.run([str(self.app)], input=self.stored(values).tobytes(), capture_output=True, check=True)
        monitoring = self.program.monitoring
        assert monitoring is not None
        dumps = read_counts(ran.stdout, monitoring, monitor_digest(self.program), "the program")
        assert len(dumps) == self.data.dumps
        verdict = verdict_on(monitoring, together(dumps), self.usual.counts, self.usual, FALSE_ALARMS)
        return tuple(one.what for one in verdict.flagged)


def rows(name: str) -> Iterator[tuple[str, ...]]:
    """Yields the rows of a data set: the change, the share of flagged verdicts, and what was flagged most often."""
    data = DATA[name]()
    with tempfile.TemporaryDirectory() as folder:
        monitor = Monitor(data, Path(folder))
        cases: dict[str, tuple[Callable[[numpy.random.Generator], Values], Drift]] = {"none": (data.held_out, gain(1))}
        cases |= {drift: (data.held_out, change) for drift, change in data.drifts.items()}
        cases |= {other: (drawn, gain(1)) for other, drawn in data.others.items()}
        for title, (drawn, change) in cases.items():
            flagged, what = 0, Counter[str]()
            for seed in range(VERDICTS):
                random = numpy.random.default_rng(seed)
                findings = monitor.findings(change(drawn(random), random))
                flagged += bool(findings)
                what.update(findings)
            most = ", ".join(word for word, count in what.most_common(3) if count >= VERDICTS // 20)
            yield name, title, f"{100 * flagged / VERDICTS:g} %", most


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"data sets (default: {', '.join(DATA)})")
    print("| data set | change | flagged | found by |\n|---|---|---|---|")
    for name in parser.parse_args().names or DATA:
        for row in rows(name):
            print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
