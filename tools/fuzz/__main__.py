# SPDX-License-Identifier: MIT
"""`python -m tools.fuzz KIND first=0 count=1000`: damages inputs of a kind, each with its own seed; prints what goes wrong."""

from __future__ import annotations

import collections
import sys
import tempfile
import time
from pathlib import Path
from random import Random

from tools.fuzz import kinds, trial


def main(words: list[str]) -> int:
    """Exit code 1 where anything went wrong."""
    settings = dict(word.split("=", 1) for word in words if "=" in word)
    first, count = int(settings.get("first", 0)), int(settings.get("count", 1000))
    wanted = [word for word in words if "=" not in word] or list(kinds.KINDS)
    failed = False
    for name in wanted:
        failed |= _run(name, range(first, first + count), Path(settings["keep"]) if "keep" in settings else None)
    return int(failed)


def _run(name: str, seeds: range, keep: Path | None) -> bool:
    found: dict[tuple[str, str], list[int]] = collections.defaultdict(list)
    codes: collections.Counter[int] = collections.Counter()
    details, slowest = {}, (0.0, -1)
    with tempfile.TemporaryDirectory() as temporary:
        kind = kinds.KINDS[name](Path(temporary))
        trial.limit_memory()
        for seed in seeds:
            words = kind.damaged(Random(f"{name} {seed}"))
            before = time.process_time()
            verdict = trial.run(words)
            slowest = max(slowest, (time.process_time() - before, seed))
            codes[verdict.exit_code] += 1
            if verdict.kind:
                key = verdict.kind, verdict.fault
                if key not in found:
                    details[key] = verdict.detail
                    print(
                        f"{name} seed {seed}: {verdict.kind} {verdict.fault}: {' '.join(words)}\n{verdict.detail[-1500:]}",
                        flush=True,
                    )
                    if keep:
                        kind.keep(keep / f"{name}-{seed}")
                found[key].append(seed)
    print(
        f"{name}: {len(seeds)} inputs, exit codes {dict(sorted(codes.items()))}, slowest {slowest[0]:.1f} s (seed {slowest[1]})"
    )
    for (what, fault), failing in sorted(found.items()):
        print(f"  {len(failing):5} x {what} {fault}, first seed {failing[0]}")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
