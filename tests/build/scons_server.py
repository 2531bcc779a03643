# SPDX-License-Identifier: MIT
"""Runs scons, each time in a fork of this process, which has loaded SCons: to load it is four fifths of most runs of the tests.

A request is a line, the JSON of [folder, words, environment]; the answer is the line of [exit code, output].
"""

import atexit
import json
import os
import sys

import SCons.Script
import SCons.Tool.gcc
import SCons.Tool.gnulink


def run(folder: str, words: list[str], environment: dict[str, str], output: int) -> None:
    """Ends this process as `python -m SCons words...` would end in the folder; prints into the pipe `output`."""
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv, sys.path[0] = [os.path.join(SCons.__path__[0], "__main__.py"), *words], folder
    code = 1
    try:
        SCons.Script.main()
    except SystemExit as end:
        code = end.code or 0
    finally:
        atexit._run_exitfuncs()
        sys.stdout.flush()
        os._exit(code)


for line in sys.stdin:
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        run(*json.loads(line), write)
    os.close(write)
    with open(read, encoding="utf-8", errors="replace") as stream:
        printed = stream.read()
    print(json.dumps([os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), printed]), flush=True)
