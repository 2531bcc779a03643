# SPDX-License-Identifier: MIT
"""A stand-in for `aidge-build` that starts in 20 ms: the dependency facts of the SCons tool do not depend on real models.

A model is a text file: `topology=A`, `weights=1`, perhaps `size=2` for its header and, to make the check fail, `check=bad`.
With --quantize the weights stand in that file. With --kernel-path the content of `used.h` there becomes a part of the C file; the
depfile lists all files of that folder, this file, the model and the samples.
"""

import os
import signal
import sys
from _json import encode_basestring_ascii  # to import json would double the time that Python takes to start


def dumps(value):
    """JSON of texts, lists and dictionaries, whose names are sorted."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{dumps(name)}: {dumps(value[name])}" for name in sorted(value)) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(dumps, value)) + "]"
    return encode_basestring_ascii(value) if isinstance(value, str) else str(value).lower()


def write_if_different(path, text):
    if not os.path.exists(path) or open(path, encoding="utf-8").read() != text:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


def compile_model(options, model):
    with open(model, encoding="latin-1") as file:
        fields = dict(line.strip().split("=", 1) for line in file if "=" in line)
    if "topology" not in fields:
        sys.exit(f"{model}: not a model, hints for {os.environ.get('AIDGE_FRONT_END')}")
    name = options.pop("--name")[0]
    out = os.path.join(options.pop("--out")[0], name)
    depfile, stamp = options.pop("--depfile", None), options.pop("--stamp", None)
    folders = options.get("--kernel-path", [])
    read = [model, os.path.abspath(__file__), *folders, *(entry.path for folder in folders for entry in os.scandir(folder))]
    for path in options.get("--quantize", []):
        with open(path, encoding="utf-8") as file:
            fields["weights"] = file.read().strip()
        read.append(path)
    used = "".join(open(path, encoding="utf-8").read() for path in read if os.path.basename(path) == "used.h")
    about = dumps(fields["topology"] + " " + dumps(options))
    write_if_different(out + ".h", f"int {name}_run(void);\n#define {name.upper()}_SIZE {fields.get('size', 1)}\n")
    write_if_different(
        out + ".c",
        f'{used}#include "{name}.h"\nconst char {name}_about[] = {about};\nextern const int {name}_weight;\n'
        f"int {name}_run(void) {{ return {name}_weight; }}\n",
    )
    write_if_different(out + "_weights.c", f"extern const int {name}_weight;\nconst int {name}_weight = {fields['weights']};\n")
    write_if_different(out + ".plan.json", dumps({"model": name, "options": options, **fields}))
    if depfile:
        escaped = " ".join(path.replace(" ", "\\ ") for path in read)
        write_if_different(depfile[0], f"{stamp[0].replace(' ', chr(92) + ' ')}: {escaped}\n")
        open(stamp[0], "w").close()


def check(options, elf):
    if os.path.exists("kill the build"):  # as the power does, once
        os.remove("kill the build")
        os.killpg(os.getsid(0), signal.SIGKILL)  # the build; its rule may be a group of its own
        os.killpg(0, signal.SIGKILL)
    plans = [open(path, encoding="utf-8").read() for path in options["--plan"]]
    for path in options.get("--objects", []):
        if not os.path.isfile(path):
            sys.exit(f"{path}: no object")
    failed = any('"check": "bad"' in plan for plan in plans)
    write_if_different(options["--out"][0], dumps({"ok": not failed, "options": options}))
    if failed:
        sys.exit(f"{elf}: the arena is not the plan's")
    print(f"       {len(plans)} models, hints for {os.environ.get('AIDGE_FRONT_END')}")


def accuracy(options, model):
    """`right=0.9` of a model is its top-1; the figures say by what they were measured."""
    with open(model, encoding="latin-1") as file:
        fields = dict(line.strip().split("=", 1) for line in file if "=" in line)
    right, out = float(fields.get("right", 1)), options["--out"][0]
    samples = {name: open(options[name][0], encoding="utf-8").read() for name in ("--labels", "--float") if name in options}
    if right < float(options.get("--min-top1", ["0"])[0]):
        sys.exit(f"{model}: top-1 {right}, hints for {os.environ.get('AIDGE_FRONT_END')}")
    write_if_different(out, dumps({"options": options, **samples}))


def main():
    verb, *words = sys.argv[1:]
    if verb == "--version":
        return print("aidge-build stub")
    options = {}
    for word in words[: words.index("--")]:
        name, _, value = word.partition("=")
        options.setdefault(name, []).append(value)
    {"compile": compile_model, "check": check, "accuracy": accuracy}[verb](options, words[-1])


main()
