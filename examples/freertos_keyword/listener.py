# SPDX-License-Identifier: MIT
"""Runs the firmware in QEMU and compares each of its decisions with the numpy backend, and each injected fault with the record
that the firmware made of it: python listener.py ../keyword ../update build/firmware.elf 10000 100"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy
from product_sounds import CLIP_FRAMES, HOP, clip_of, recording

from aidge_build import load_onnx
from aidge_build.contract.reference.sequence import run_in_order

LATEST, AGREE, SETTLE = 8, 6, 26  # decide.h
SECONDS = 600  # of this machine; the longest run is a minute
LOST_IN_A_RESET = 20 + 8 + 2  # frames: until the watchdog expires, in the queue, in work
# Fault -> the words of the record at the next start, and the stages of watchdog.h that must hang or must not.
RECORDS = {
    "listen stuck": ("watchdog", 2, 1),
    "update, listen stuck": ("watchdog", 2, 1),
    "act stuck": ("watchdog", 8, 3),
    "receive stuck": ("watchdog", 16, 15),
    "microphone dead": ("watchdog", 1, 16),
    "fault in listen": ("hard fault in listen", 0, 0),
    "fault in act": ("hard fault in act", 0, 0),
    "assertion in act": ("assertion in act", 0, 0),
    "stack of receive": ("stack overflow in receive", 0, 0),
    "bit of weights": ("weights damaged", 0, 0),
    "word after the arena": ("memory damaged", 0, 0),
    "bit of weights at start": ("power on", 0, 0),
}
FAILED = "weights failed their self-test"  # may wait for the end of a trial, or be replaced by a later update


def emulated(elf: Path) -> tuple[list[str], list[str]]:
    """The lines of the product's UART, and the faults that the simulation injected."""
    uart, faults = elf.with_suffix(".uart.txt"), elf.with_suffix(".faults.txt")
    machine = ["qemu-system-arm", "-M", "mps2-an386", "-nographic", "-monitor", "none", "-serial", f"file:{uart.name}"]
    clock = ["-icount", "shift=5"]  # 32 ns for an instruction: the same run each time
    host = ["-chardev", f"file,id=host,path={faults.name}", "-semihosting-config", "enable=on,target=native,chardev=host"]
    done = subprocess.run([*machine, *clock, *host, "-kernel", elf.name], cwd=elf.parent, check=False, timeout=SECONDS)
    if done.returncode:
        sys.exit(f"QEMU ended with {done.returncode}")
    return uart.read_text(errors="replace").splitlines(), faults.read_text().splitlines()


def verdict(keyword: str, elf: Path) -> str:
    """The verdict of `accuracy --field` on the dumps of the monitor in the log of the UART."""
    usual, log = elf.with_name("usual.npz"), elf.with_suffix(".uart.txt")
    words = ["accuracy", f"{keyword}/keyword.onnx", "--monitor-samples", str(usual), "--field", str(log), "--together"]
    done = subprocess.run([sys.executable, "-m", "aidge_build", *words], check=False, text=True, stdout=subprocess.PIPE)
    return done.stdout


def labels(job: tuple[str, numpy.ndarray]) -> list[int]:
    """The labels of the numpy backend for frames of one stream, from a reset on."""
    path, samples = job
    return run_in_order(load_onnx(path), {"audio_pcm": samples[:, None]})["decision_label"].ravel().tolist()


def digests(samples: numpy.ndarray) -> numpy.ndarray:
    """The digest of each frame (audio.c)."""
    powers = numpy.array([pow(31, at, 1 << 32) for at in range(samples.shape[1])][::-1], numpy.uint64)
    return (samples.astype(numpy.uint16) * powers).sum(1) % (1 << 32)


def words(heard: list[int]) -> list[int]:
    """The word that decide.c must say at each of these labels."""
    said, last = [], 0
    for count in range(1, len(heard) + 1):
        latest = ([0] * LATEST + heard[:count])[-LATEST:]
        word, votes = Counter(latest).most_common(1)[0]
        is_new = count > SETTLE and votes >= AGREE and word != last
        last = word if is_new else last
        said.append(word if is_new else 0)
    return said


def wrong_decisions(decisions: numpy.ndarray, networks: dict[int, str], loudness: int) -> int:
    """How many rows (frame, since, version, sound, label, word) are not what numpy decides from the same frames, at `loudness`
    percent."""
    played = numpy.trunc(recording().astype(numpy.int32) * loudness / 100).astype(numpy.int16)
    jobs, rows = [], []
    for since, version in sorted({(row[1], row[2]) for row in decisions.tolist()}):
        rows.append(decisions[(decisions[:, 1] == since) & (decisions[:, 2] == version)])
        frames = range(since - 1, rows[-1][:, 0].max())
        samples = [played[clip_of(frame, len(played))].reshape(CLIP_FRAMES, HOP)[frame % CLIP_FRAMES] for frame in frames]
        jobs.append((networks[version and (version - 1) % 3 + 1], numpy.stack(samples)))
    wrong = 0
    with ProcessPoolExecutor() as pool:
        for made, job, expected in zip(rows, jobs, pool.map(labels, jobs)):
            reference = numpy.stack([digests(job[1]), expected, words(expected)], 1)[made[:, 0] - made[:, 1]]
            wrong += int((made[:, 3:] != reference).any(1).sum())
    return wrong


def unexplained(starts: list[str], faults: list[str]) -> list[str]:
    """The starts whose record is not what the fault before them must leave, and the faults without a start."""
    expected = [RECORDS[fault] for fault in faults if fault in RECORDS]
    found = [start for start in starts if FAILED not in start]
    if len(starts) - len(found) > faults.count("update with wrong answers") or len(found) != len(expected):
        return [f"{len(found)} starts, {len(expected)} faults that must end in one", *starts]
    return [start for start, record in zip(found, expected) if not explains(start, *record)]


def explains(start: str, words: str, hanging: int, advancing: int) -> bool:
    detail = int((re.findall(r"detail (\d+)", start) or [0])[0])
    return start.startswith(words) and detail & hanging == hanging and not detail & advancing


def main() -> None:
    keyword, update, elf, count = sys.argv[1], sys.argv[2], Path(sys.argv[3]), int(sys.argv[4])
    lines, injected = emulated(elf)
    decisions = numpy.array([line.split()[1:] for line in lines if line.startswith("heard ")], int)
    starts = re.findall(r"^start \d+: (.*)$", "\n".join(lines), re.MULTILINE)
    counts = dict(re.findall(r"^([a-z ]+): (\d+)$", "\n".join(lines), re.MULTILINE))
    faults = [line.split(" ", 2)[2] for line in injected]
    retrained, original = f"{update}/retrained.onnx", f"{keyword}/keyword.onnx"
    networks = {0: original, 1: retrained, 2: original, 3: "none: it answers wrongly"}
    spoiled = int(((decisions[:, 2] > 0) & (decisions[:, 2] % 3 == 0)).sum())
    wrong = spoiled or wrong_decisions(decisions, networks, int(sys.argv[5]))
    frames = int(decisions[:, 0].max())
    silent = sum(int(counts[name]) for name in ("missed", "late", "queue full", "withheld"))
    lost = frames - len(decisions) - silent
    silence = int(numpy.diff(decisions[:, 0]).max())
    problems = unexplained(starts[1:], faults)
    for line in [f"{number:5} x {fault}" for fault, number in sorted(Counter(faults).items())] + problems:
        print(line)
    print(f"{frames} frames, {len(decisions)} decisions, {int((decisions[:, 5] > 0).sum())} words, {wrong} wrong")
    print(f"without a decision: {silent} frames that the firmware counted, {lost} in {len(starts) - 1} resets")
    print(f"longest time without a decision: {silence} frames")
    print(
        f"{len(faults)} injected, {len(problems)} without the right record; asleep {int(counts['asleep ms']) / (20 * frames):.0%}"
    )
    print(verdict(keyword, elf), end="")
    if wrong or problems or frames < count or silence > LOST_IN_A_RESET or not 0 <= lost <= LOST_IN_A_RESET * (len(starts) - 1):
        sys.exit("FAILED")


if __name__ == "__main__":
    main()
