# SPDX-License-Identifier: MIT
"""`./sconsw misra`: reads kernels, networks that use all of them, generated code, boards and examples with each tool, and writes
docs/misra.md.

Exit code 1 where a finding is no deviation of the table, a deviation covers nothing any more, or a kernel is in no network; 3
without the tools.
"""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tools.static_analysis import networks, page, programs, texts
from tools.static_analysis.findings import Finding, deviations, sort_out

READ = (texts.kernels, texts.networks, texts.glue, texts.models, texts.expansions, texts.boards, texts.examples)


def main() -> int:
    lacking = programs.missing()
    if lacking:
        print(f"missing on this machine: {', '.join(lacking)}. Type: apt-get install {' '.join(lacking)}", file=sys.stderr)
        return 3
    known, rows, counts, failed = deviations(), [], {}, False
    used = networks.used()
    for library, missing in ((one.library, networks.missing(one)) for one in used):
        if missing:
            print(f"{library}: no test has a case of {', '.join(sorted(missing))}")
            failed = True
    read = [one for texts_of in READ for one in texts_of()]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for text, found in zip(read, pool.map(_findings, read)):
            row = page.Row(text.name)
            for tool, findings in found.items():
                outside, covered = sort_out(findings, known)
                for finding in outside:
                    print(f"{tool} {finding.rule} {text.name} {finding.place}: {finding.code}", flush=True)
                failed |= bool(outside)
                row.outside[tool], row.covered[tool] = len(outside), sum(covered.values())
                counts = {name: counts.get(name, 0) + number for name, number in covered.items()}
            print(f"{text.name}: {', '.join(f'{page.TITLES[tool]}: {row.cell(tool)}' for tool in programs.TOOLS)}", flush=True)
            rows.append(row)
    for deviation in known:
        if not counts[deviation.name]:
            print(f"{deviation.name} covers nothing any more: take it out of {page.TABLE}")
            failed = True
    if not failed:
        page.write(rows, known, used)
    return int(failed)


def _findings(text: texts.Text) -> dict[str, list[Finding]]:
    """What each tool says that can read the text."""
    found = {}
    for tool, read in programs.TOOLS.items():
        with tempfile.TemporaryDirectory() as folder, contextlib.suppress(programs.UnreadableText):
            found[tool] = read(text, Path(folder))
    return found


if __name__ == "__main__":
    sys.exit(main())
