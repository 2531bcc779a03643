# SPDX-License-Identifier: MIT
"""An export library: a folder of C kernels and of small Python files that register them.

A library is a value: `files` holds everything that was read. Its Python files run as a package of their own (they may import each
other with `from . import name`) and what they mark is collected; nothing global is changed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import cached_property

from aidge_build.base.errors import AidgeError, plugged_in
from aidge_build.base.reading import require_shape, toml_of
from aidge_build.boards.cores import ALIGNED_ONLY, NO_ASSEMBLY, known_features
from aidge_build.contract.call import Call
from aidge_build.contract.implication import most_specific_first
from aidge_build.contract.length import Length, lengths_of
from aidge_build.contract.library_modules import run_modules
from aidge_build.contract.mem_info import MemInfo
from aidge_build.contract.node import KernelClass, KernelNode
from aidge_build.contract.spec import Demands, ImplSpec, NodeView
from aidge_build.graph.view import Node
from aidge_build.operators.base import Operator

MANIFEST = "library.toml"
LANGUAGES = ("c", "c++")
ASSEMBLY = ("none", "helps", "needed")  # how a kernel uses inline assembly
CPP_ENDINGS = (".hpp", ".hh", ".hxx", ".cpp", ".cc", ".cxx")  # of files that no C compiler reads
_SHAPE = {
    "name": str,
    "language?": str,
    "description?": str,
    "checkout?": [str],
    "default_for?": [str],
    "needs?": [str],
    "order?": [str],
    "assembly?": str,
    "unaligned?": bool,
    "per_mac?": {
        f"{kind}?": (int, float) for kind in ("int8", "int8_narrow", "int8_without_products", "float32", "float32_soft")
    },
}
_KEYS = {key.removesuffix("?") for key in _SHAPE}


@dataclass(frozen=True)
class Kernel:
    """One registered implementation; `type` is the operator's, e.g. Conv2D, or a kind of operators, e.g. ElementWise."""

    library: str
    name: str
    type: str
    spec: ImplSpec
    node_class: KernelClass
    pattern: str = ""  # of a meta-operator: the nodes that it replaces
    assembly: str = "none"  # inline assembly in its text: helps, or is needed (`KernelNode.assembly`)
    unaligned: bool = False  # whether it may read or write words at addresses that are not multiples of 4 (`keeps_words`)

    # Only these methods run code of the library's author: an exception of that code becomes a message of one line.

    def rejection(self, view: NodeView, features: Iterable[str], rounding: str) -> str:
        """Returns why the spec does not accept the node; "" if it does."""
        reason = self.spec.misfit(view, features, rounding) or self._without_assembly(features)
        if not reason and self.spec.predicates:
            with self.running("a predicate of the spec", view.node):
                reason = self.spec.refusal(view)
        return reason or self._without_unaligned(view, features)

    def _without_assembly(self, features: Iterable[str]) -> str:
        return "is assembly, and the build takes none" if self.assembly == "needed" and NO_ASSEMBLY in features else ""

    def _without_unaligned(self, view: NodeView, features: Iterable[str]) -> str:
        if ALIGNED_ONLY not in features or self.keeps_words(view):
            return ""
        return "reads or writes words at any address, which the build leaves out"

    def keeps_words(self, view: NodeView) -> bool:
        """Whether every word of this layer that the kernel reads or writes is at a multiple of 4 bytes."""
        if not self.unaligned:
            return True
        with self.running("keeps_words", view.node):
            return self.node_class.keeps_words(view)

    def demands(self, view: NodeView) -> Demands:
        """Returns the demands of the kernel on the planner for this node."""
        with self.running("demands", view.node):
            return _expected(self.node_class.demands(view), Demands)

    def call(self, view: NodeView, mem_info: Sequence[MemInfo] | None) -> Call:
        """Returns the call for this node with outputs at `mem_info`; AidgeError if the node cannot be computed exactly."""
        if not view.in_mem_info:
            view = replace(view, in_mem_info=(None,) * len(view.inputs))
        part = "the constructor"
        with plugged_in(lambda: self._part_named(part), inside=view.node.where):
            node = self.node_class(view, mem_info)
            part = "call"
            return _expected(node.call(), Call)

    def running(self, part: str, node: Node) -> AbstractContextManager[None]:
        """Returns a context for code of the library's author: errors in it name library, class, part and node."""
        return plugged_in(lambda: self._part_named(part), inside=node.where)

    def _part_named(self, part: str) -> str:
        return f"{part} of {self.node_class.__name__} in library {self.library}"


@dataclass(frozen=True)
class Library:
    """`files` maps paths relative to the library's folder, with "/", to their bytes.

    `static_files` maps paths in a stand-alone folder to the bytes of files that go next to the generated files; kernels
    may include them, too.
    """

    name: str
    language: str
    description: str
    files: Mapping[str, bytes]
    kernels: tuple[Kernel, ...]
    operators: tuple[type[Operator], ...]
    checkout: tuple[str, ...] = ()  # patterns of files that the library takes from the user's folder
    needs: tuple[str, ...] = ()  # other libraries that this library includes files of
    order: tuple[str, ...] = ()  # names of kernels, preferred first; it decides if neither spec is more specific
    static_files: Mapping[str, bytes] = field(default_factory=dict)
    lengths: tuple[Length, ...] = ()
    per_mac: Mapping[str, float] = field(default_factory=dict)  # typical instructions per multiply-accumulate, by type
    notices: tuple[str, ...] = ()  # a line for each registration that no node ever gets, for `explain`

    def kernels_for(self, operator_type: str, kinds: Collection[str] = ()) -> tuple[Kernel, ...]:
        """Returns the kernels for a type of operator and for the operator's kinds, as kernels of its type, in order of preference
        (`preferred`).
        """
        key = (operator_type, *kinds)
        if key not in self._known:
            own = [kernel for kernel in self.kernels if kernel.type == operator_type]
            shared = [replace(kernel, type=operator_type) for kernel in self.kernels if kernel.type in kinds]
            self._known[key] = self.preferred((*own, *shared))
        return self._known[key]

    def preferred(self, kernels: Iterable[Kernel]) -> tuple[Kernel, ...]:
        """Returns the kernels in order of preference: a more specific spec first, then the library's order, then the name."""
        given = tuple(kernels)
        key = tuple(map(id, given))  # the cache keeps these kernels alive, so no other kernel gets the same id
        if key not in self._ordered:
            self._ordered[key] = tuple(most_specific_first(given, lambda kernel: kernel.spec, self._rank))
        return self._ordered[key]

    def places(self, kernel: Kernel) -> bool:
        """Whether the library's order names the kernel."""
        return kernel.name in self.order

    def _rank(self, kernel: Kernel) -> tuple:
        place = self.order.index(kernel.name) if kernel.name in self.order else len(self.order)
        return (place, kernel.name, kernel.node_class.__qualname__, str(kernel.spec))

    @cached_property
    def _ordered(self) -> dict[tuple[int, ...], tuple[Kernel, ...]]:
        """The cached results of `preferred`."""
        return {}

    @cached_property
    def _known(self) -> dict[tuple[str, ...], tuple[Kernel, ...]]:
        """The cached results of `kernels_for`."""
        return {}


def _expected(value, wanted: type):
    if not isinstance(value, wanted):
        raise TypeError(f"it returns {type(value).__name__}, not {wanted.__name__}")
    return value


class KernelRegistry:
    """The base of classes that keep kernels of their own: a module of a library may define one instead of marking kernels."""

    @classmethod
    def library_name(cls) -> str:
        """Returns the name of the library that the registry fills."""
        raise NotImplementedError

    @classmethod
    def registered_kernels(cls) -> list[Kernel]:
        """Returns the registered kernels, in the order of registration."""
        raise NotImplementedError

    @classmethod
    def registered_operators(cls) -> list[type[Operator]]:
        """Returns the operators that only this library knows."""
        return []

    @classmethod
    def library_language(cls) -> str:
        """Returns the language of the kernels, as the class states it; "" if only library.toml states it."""
        return ""

    @classmethod
    def library_notices(cls) -> list[str]:
        """Returns a line for each registration that no node ever gets."""
        return []

    @classmethod
    def static_contents(cls) -> dict[str, bytes]:
        """Returns the files of a stand-alone folder, path -> bytes."""
        return {}


def load_library(files: Mapping[str, bytes], where: str) -> Library:
    """Returns the library with these files in its folder; `where` names it in messages."""
    manifest = _manifest(files, where)
    modules = run_modules(manifest["name"], files, where)
    kernels: list[Kernel] = []
    operators: list[type[Operator]] = []
    static_files: dict[str, bytes] = {}
    notices: list[str] = []
    for module in modules:
        for value in vars(module).values():
            if not isinstance(value, type) or value.__module__ != module.__name__:
                continue
            if issubclass(value, KernelNode) and "kernel_spec" in vars(value):
                kernels += [
                    Kernel(
                        manifest["name"],
                        module.__name__.rpartition(".")[2],
                        operator_type,
                        variant.registered_spec(variant.kernel_spec),
                        variant,
                        variant.kernel_pattern,
                    )
                    for variant in (value, *value.kernel_variants)
                    for operator_type in variant.kernel_types
                ]
            elif issubclass(value, Operator) and vars(value).get("onnx_names"):
                operators.append(value)
            elif issubclass(value, KernelRegistry):
                _require_agreement(value, manifest, where)
                static_files |= value.static_contents()
                notices += value.library_notices()
                kernels += value.registered_kernels()
                operators += value.registered_operators()
    _refuse_duplicates(kernels, where)
    return Library(
        manifest["name"],
        manifest.get("language", "c"),
        manifest.get("description", ""),
        dict(files),
        tuple(
            replace(kernel, assembly=_assembly(kernel, manifest, where), unaligned=manifest.get("unaligned", False))
            for kernel in kernels
        ),
        tuple(operators),
        tuple(manifest.get("checkout", ())),
        tuple(manifest.get("needs", ())),
        _order(manifest, {kernel.name for kernel in kernels}, where),
        static_files,
        lengths_of(files, where),
        manifest.get("per_mac", {}),
        tuple(notices),
    )


def _assembly(kernel: Kernel, manifest: Mapping, where: str) -> str:
    said = kernel.node_class.assembly or manifest.get("assembly", ASSEMBLY[0])
    if said not in ASSEMBLY:
        raise AidgeError(f"kernel {kernel.name}: assembly is {said!r}", where=where, code="LIBRARY", tried=ASSEMBLY)
    return said


def _order(manifest: Mapping, names: Collection[str], where: str) -> tuple[str, ...]:
    wanted = manifest.get("order", [])
    unknown = [name for name in wanted if name not in names]
    if unknown:
        what = f"`order` names {unknown[0]!r}, which is no kernel"
        raise AidgeError(
            what, where=f"{where}/{MANIFEST}", code="LIBRARY", tried=sorted(names), hint="name kernels of the library"
        )
    return tuple(wanted)


def library_of(registry: type[KernelRegistry], language: str = "") -> Library:
    """Returns a program's own registry as a library without a folder; its nodes bring the files that they need.

    The language is stated by the registry, else it is `language`, else C.
    """
    name, said = registry.library_name(), registry.library_language()
    if said and language and said != language:
        raise AidgeError(f"{registry.__name__} says language {said!r}, not {language!r}", where=name, code="LIBRARY")
    _require_language(said or language or "c", name)
    return Library(
        name,
        said or language or "c",
        (registry.__doc__ or "").partition("\n")[0],
        {},
        tuple(registry.registered_kernels()),
        tuple(registry.registered_operators()),
        static_files=registry.static_contents(),
        notices=tuple(registry.library_notices()),
    )


def manifest_name(files: Mapping[str, bytes], where: str) -> str:
    """Returns the name in a library's manifest; AidgeError (code LIBRARY) if the name is not valid."""
    return _manifest(files, where)["name"]


def default_features(files: Mapping[str, bytes], where: str) -> frozenset[str] | None:
    """Returns the features for which a core gets this library without naming it; None if no core does."""
    wanted = _manifest(files, where).get("default_for")
    return None if wanted is None else frozenset(wanted)


def _require_agreement(registry: type[KernelRegistry], manifest: Mapping, where: str) -> None:
    """Refuses a registry with another name or language than library.toml: build systems read only library.toml."""
    if registry.library_name() != manifest["name"]:
        raise AidgeError(
            f"{registry.__name__} is the registry of {registry.library_name()!r}, {MANIFEST} says {manifest['name']!r}",
            where=where,
            code="LIBRARY",
        )
    said, language = registry.library_language(), manifest.get("language", "c")
    if said and said != language:
        raise AidgeError(
            f"{registry.__name__} says language {said!r}, {MANIFEST} says {language!r}",
            where=where,
            code="LIBRARY",
            hint=f"{MANIFEST} alone says it: language = {said!r}",
        )


def _require_language(language: str, where: str) -> None:
    if language not in LANGUAGES:
        raise AidgeError(f"language {language!r} is unknown", where=where, code="LIBRARY", tried=LANGUAGES)


def _manifest(files: Mapping[str, bytes], where: str) -> dict:
    if MANIFEST not in files:
        raise AidgeError(
            f"the folder has no {MANIFEST}",
            where=where,
            code="LIBRARY",
            hint='a library says its name in library.toml: name = "mylib"',
        )
    manifest = toml_of(files[MANIFEST], f"{where}/{MANIFEST}", "LIBRARY")
    _require_language(manifest.get("language", "c"), f"{where}/{MANIFEST}")
    unknown = sorted(set(manifest) - _KEYS)
    if unknown or not str(manifest.get("name", "")).isidentifier():
        what = f"unknown key {unknown[0]!r}" if unknown else "`name` must be an identifier"
        raise AidgeError(what, where=f"{where}/{MANIFEST}", code="LIBRARY", hint=f"keys: {', '.join(sorted(_KEYS))}")
    require_shape(manifest, _SHAPE, f"{where}/{MANIFEST}", "LIBRARY", f"keys: {', '.join(sorted(_KEYS))}")
    _check_default(manifest, f"{where}/{MANIFEST}")
    return manifest


def _check_default(manifest: Mapping, where: str) -> None:
    wanted = manifest.get("default_for", [])
    if any(feature not in known_features() for feature in wanted):
        raise AidgeError(
            f"`default_for` wants a list of what a core must have, got {wanted!r}",
            where=where,
            code="LIBRARY",
            tried=known_features(),
        )
    if "default_for" in manifest and manifest.get("language", "c") != "c":
        raise AidgeError(
            "a library in C++ is only taken where it is named: the name of the code file depends on it",
            where=where,
            code="LIBRARY",
            hint="leave out `default_for`",
        )


def _refuse_duplicates(kernels: Sequence[Kernel], where: str) -> None:
    seen: dict[tuple, Kernel] = {}
    for entry in kernels:
        other = seen.setdefault((entry.type, entry.spec, entry.pattern), entry)
        if other is not entry:
            raise AidgeError(
                f"kernels {other.name} and {entry.name} register the same spec for {entry.type}",
                where=where,
                code="LIBRARY",
                hint="a spec must say what tells the kernel apart",
            )
