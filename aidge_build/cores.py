# SPDX-License-Identifier: MIT
"""What a processor core can do, from the name that gcc's -mcpu= has for it."""

from __future__ import annotations

from dataclasses import dataclass

from aidge_build.errors import AidgeError

# Beside the features of a core: the build takes no inline assembly, so that C and intrinsics stand in for it.
NO_ASSEMBLY = "no assembly"
ASSEMBLY = "assembly"  # what is left out then
NO_FPU = "none"  # instead of the name of an FPU: the flags use none, whatever the board has
CPU_FEATURES = ("thumb2", "dsp", "fpu", "mve", "narrow")
_IMPLIED = {"dsp": {"thumb2"}, "mve": {"thumb2", "dsp"}}
# The FPU is not among them: most cores are built with and without, and the float ABI decides.
CORES = {
    "cortex-m0": "narrow",
    "cortex-m0plus": "narrow",
    "cortex-m1": "narrow",
    "cortex-m3": "thumb2",
    "cortex-m4": "thumb2 dsp",
    "cortex-m7": "thumb2 dsp",
    "cortex-m23": "narrow",
    "cortex-m33": "thumb2 dsp",
    "cortex-m35p": "thumb2 dsp",
    "cortex-m52": "thumb2 dsp mve",
    "cortex-m55": "thumb2 dsp mve",
    "cortex-m85": "thumb2 dsp mve",
    "host": "",
}
# Bytes of a line of the data cache (Technical Reference Manuals of the cores: Cortex-M7 5.1, M52, M55 and M85 "L1 caches").
_CACHE_LINES = {"cortex-m7": 32, "cortex-m52": 32, "cortex-m55": 32, "cortex-m85": 32}
_MAY_HAVE_FPU = ("cortex-m4", "cortex-m7", "cortex-m33", "cortex-m35p", "cortex-m52", "cortex-m55", "cortex-m85")
_NAMES = {"dsp": "DSP instructions", "fpu": "an FPU", "mve": "MVE", "thumb2": "Thumb-2"}
# What the ELF's build attributes call the architecture of a core (Arm IHI 0045, Tag_CPU_arch); v6S-M is v6-M with an extension.
_ARCHITECTURES = {
    "v6-M": ("cortex-m0", "cortex-m0plus", "cortex-m1"),
    "v7-M": ("cortex-m3",),
    "v7E-M": ("cortex-m4", "cortex-m7"),
    "v8-M.baseline": ("cortex-m23",),
    "v8-M.mainline": ("cortex-m33", "cortex-m35p"),
    "v8.1-M.mainline": ("cortex-m52", "cortex-m55", "cortex-m85"),
}
# Which architectures have all instructions of one (Armv8-M Architecture Reference Manual, B2.1 and its predecessors).
_RUNS_ON = {
    "v6-M": tuple(_ARCHITECTURES),
    "v7-M": ("v7-M", "v7E-M", "v8-M.mainline", "v8.1-M.mainline"),
    "v7E-M": ("v7E-M", "v8-M.mainline", "v8.1-M.mainline"),
    "v8-M.baseline": ("v8-M.baseline", "v8-M.mainline", "v8.1-M.mainline"),
    "v8-M.mainline": ("v8-M.mainline", "v8.1-M.mainline"),
    "v8.1-M.mainline": ("v8.1-M.mainline",),
}
# gcc's extensions behind the core, and what the core then has not (GCC manual, "ARM Options", -mcpu). A kernel that wants MVE
# may use its float half, too.
_EXTENSIONS = {
    "nodsp": {"dsp", "mve"},
    "nofp": {"fpu"},
    "nomve": {"mve"},
    "nomve.fp": {"mve"},
    "nofp.dp": set(),
    "nopacbti": set(),
}
_EXTENSIONS |= {f"cdecp{number}": set() for number in range(8)}


def core_features(cpu: str, fpu: str = "") -> frozenset[str]:
    """The features of `cortex-m33+nodsp` and its like; with an FPU where one is named and the core has not left it out."""
    core, *extensions = cpu.split("+")
    if core not in CORES:
        raise AidgeError(f"unknown core {core!r}", where="--cpu", tried=sorted(CORES), code="USAGE")
    features = {*CORES[core].split(), *(["fpu"] if fpu not in ("", NO_FPU) else [])}
    for extension in extensions:
        if extension not in _EXTENSIONS:
            raise AidgeError(
                f"unknown extension {extension!r} of the core", where=f"--cpu {cpu}", tried=sorted(_EXTENSIONS), code="USAGE"
            )
        features -= _EXTENSIONS[extension]
    return frozenset(features)


def cache_line_bytes(cpu: str) -> int:
    """The bytes of a line of the core's data cache, which a chip may leave out; 0 for a core that has none."""
    return _CACHE_LINES.get(cpu.partition("+")[0], 0)


def with_implied(features: frozenset[str]) -> frozenset[str]:
    """The features, and those that every core has which has these."""
    return features.union(*(_IMPLIED.get(feature, set()) for feature in features))


@dataclass(frozen=True)
class LeftOut:
    """What a build does not use of its core: the flag that says so, and what helps where the chip has it."""

    flag: str
    help: str


def possible_features(cpu: str) -> frozenset[str]:
    """All that a chip with this core may have, whatever the flags leave out."""
    core = cpu.split("+")[0]
    return frozenset({*CORES.get(core, "").split(), *(["fpu"] if core in _MAY_HAVE_FPU else [])})


def left_out(cpu: str, features: frozenset[str]) -> dict[str, LeftOut]:
    """What a core of this name may have and `features` has not, by feature."""
    core, *extensions = cpu.split("+")
    found = {feature: _left_out(core, extensions, feature) for feature in sorted(possible_features(cpu) - features)}
    return found | (
        {ASSEMBLY: LeftOut("--assembly off", "with --assembly on they take those")} if NO_ASSEMBLY in features else {}
    )


def _left_out(core: str, extensions: list[str], feature: str) -> LeftOut:
    said = next((extension for extension in extensions if feature in _EXTENSIONS.get(extension, ())), "")
    if said:
        return LeftOut(f"-mcpu={core}+{said}", f"without +{said} they take those, if the chip has {_NAMES[feature]}")
    if feature == "fpu":
        return LeftOut("-mfloat-abi=soft", "with -mfloat-abi=hard they take those, if the chip has an FPU")
    return LeftOut(
        f"features without {feature}", f'with features = ["{feature}"] they take those, if the chip has {_NAMES[feature]}'
    )


def architecture_of(cpu: str) -> str:
    """The architecture of `cortex-m33+nodsp` and its like, as build attributes call it; "" for any other name."""
    core = cpu.split("+")[0]
    return next((name for name, cores in _ARCHITECTURES.items() if core in cores), "")


def runs_code_of(architecture: str, of: str) -> bool:
    """Whether a core of `architecture` has all instructions of another one's code."""
    return architecture in _RUNS_ON[of]
