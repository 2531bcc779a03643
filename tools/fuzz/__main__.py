# SPDX-License-Identifier: MIT
"""Damages inputs, each with its own seed, and prints what goes wrong; random networks and damaged models become C.

python -m tools.fuzz KIND first=0 count=1000    these seeds of a kind (none: of all)
python -m tools.fuzz minutes=5                  all kinds in turn, from the seeds where record.json ends, which is written on
"""

from __future__ import annotations

import itertools
import sys
import time

from tools.fuzz import found, kinds, record, session

ALL = (*kinds.KINDS, *session.COMPILED)
TOGETHER = 400  # seeds of a kind before it is the next one's turn
COMPILED_TOGETHER = 80


def main(words: list[str]) -> int:
    """Exit code 1 where anything went wrong, 2 for words that are none."""
    settings = dict(word.split("=", 1) for word in words if "=" in word)
    wanted = [word for word in words if "=" not in word] or list(ALL)
    unknown = sorted(set(wanted) - set(ALL))
    if unknown:
        print(f"there is no kind '{unknown[0]}'; kinds: {', '.join(ALL)}", file=sys.stderr)
        return 2
    if "minutes" in settings:
        return _for_minutes(wanted, float(settings["minutes"]))
    first, count = int(settings.get("first", 0)), int(settings.get("count", 1000))
    return int(any([_run(name, range(first, first + count)).faults for name in wanted]))


def _for_minutes(wanted: list[str], minutes: float) -> int:
    """Goes on where the record ends, and writes it on after each turn."""
    end, failed = time.monotonic() + 60 * minutes, False
    for name in itertools.cycle(wanted):
        if time.monotonic() >= end:
            break
        first = record.next_seed(record.read(), name)
        result = _run(name, range(first, first + (COMPILED_TOGETHER if name in session.COMPILED else TOGETHER)))
        faults = [f"seed {fault.seed}: {what}" for what, fault in result.faults.items()]
        record.add(name, first, result.outcomes, faults)
        for fault in result.faults.values():
            path = found.store(fault)
            print(f"stored {path}" if path else "one of this fault is stored already")
        failed |= bool(result.faults)
    for name, (count, faults) in record.totals(record.read()).items():
        print(f"{name}: {count} inputs until now, {faults} faults")
    return int(failed)


def _run(name: str, seeds: range) -> session.Result:
    result = session.run(name, seeds)
    seconds, slowest = result.slowest
    outcomes = ", ".join(f"{number} {outcome}" for outcome, number in sorted(result.outcomes.items()))
    print(
        f"{name}: {len(seeds)} inputs from seed {seeds.start}: {outcomes}; slowest {seconds:.1f} s (seed {slowest})", flush=True
    )
    for fault in result.faults.values():
        print(f"  seed {fault.seed}: {fault.what}: {' '.join(fault.words)}\n{fault.detail}", flush=True)
    return result


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
