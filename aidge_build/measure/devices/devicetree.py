# SPDX-License-Identifier: MIT
"""The chip of a devicetree (Devicetree Specification 0.4, chapters 2 and 3) with the bindings that Zephyr uses for memories.

The only importer of the package `devicetree`, Zephyr's own parser.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from aidge_build.base.errors import AidgeError, MissingTool
from aidge_build.boards.cores import find_core, load_core
from aidge_build.boards.instruction_sets import instruction_set
from aidge_build.measure.devices.device import CODE, Device, Memory, joined

if TYPE_CHECKING:
    from types import ModuleType

    from devicetree.dtlib import DT, Node

_FLASHES = {"soc-nv-flash"}
_RAMS = {"mmio-sram", "zephyr,memory-region", "st,stm32-ccm", "arm,dtcm", "nxp,imx-dtcm"}
_CORE = "arm,cortex-m"
_UNSEEN_FLASHES = {"espressif,esp32-flash-controller"}  # their flashes state offsets, and not where the core sees them
_HINT = "give a file such as build/zephyr/zephyr.dts"

# The package looks for each reference among all nodes and copies a property for each value of it: the squares of these
# limits are seconds. The largest trees of Zephyr's boards have a tenth of each.
_MOST_BYTES = 1 << 20
_MOST_TOKENS = 150_000
_MOST_LABELS = 10_000
_MOST_COMPARISONS = 5_000_000  # nodes x references


def read(content: bytes, name: str, where: str) -> Device:
    """Returns the one chip of the tree, for any `name`; the first CPU that is not disabled counts."""
    for word in (b"/include/", b"/incbin/", b"#include"):
        if word in content:
            raise AidgeError(
                f"the devicetree has {word.decode()}: it is only a part",
                where=where,
                code=CODE,
                hint="give the whole devicetree of a build: build/zephyr/zephyr.dts",
            )
    if len(content) > _MOST_BYTES:
        raise AidgeError(
            f"the devicetree has {len(content):,} bytes, the limit is {_MOST_BYTES:,}", where=where, code=CODE, hint=_HINT
        )
    try:
        from devicetree import dtlib
    except ImportError:
        raise MissingTool("the package devicetree is not installed", where=where, hint="pip install devicetree") from None
    try:
        return _device(_bounded(dtlib)(where), name, where)
    except (dtlib.DTError, RecursionError, ValueError) as error:
        raise AidgeError(f"not a devicetree: {_reason(error)}", where=where, code=CODE, hint=_HINT) from None


def _reason(error: Exception) -> str:
    """Returns the fault in the words of devicetrees, if Python reports it and not the package."""
    if isinstance(error, RecursionError):
        return "nodes or expressions are nested too deep"
    if isinstance(error, UnicodeError):
        return "it is not UTF-8"
    if type(error) is ValueError:
        return "a number has more than 64 bits, a digit that its base lacks, or is shifted by less than 0 bits"
    return str(error).splitlines()[0]


def _device(tree: DT, name: str, where: str) -> Device:
    cpu = _cpu(tree, where)
    compatible = _compatible(cpu)[0].removeprefix("arm,")
    core = _riscv_core(cpu, where) or compatible.removesuffix("f").replace("+", "plus")
    memories = tuple(_memories(tree, where))
    return Device(
        name=name or _title(tree),
        core=core,
        has_fpu=True if compatible.endswith("f") and not _instruction_set(cpu) else None,
        has_dsp=None,
        has_mve=None,
        clock_hz=_number(cpu, "clock-frequency"),
        memories=joined(memories),
        described_by=f"{where.rpartition('/')[2]}, {_title(tree)}",
    )


def _checked(operation: Callable[[int, int], int]) -> Callable[[int, int], _Number]:
    return lambda one, other: _Number(operation(int(one), int(other)))


class _Number(int):
    """A number of an expression: 64 bits, as in dtc. A larger result is a ValueError, before it takes memory."""

    def __new__(cls, value: int) -> _Number:
        """Returns the number; raises ValueError if it has more than 64 bits."""
        if not -1 << 63 <= value < 1 << 64:
            raise ValueError
        return super().__new__(cls, value)

    __add__ = _checked(operator.add)  # type: ignore[assignment]
    __sub__ = _checked(operator.sub)  # type: ignore[assignment]
    __mul__ = _checked(operator.mul)  # type: ignore[assignment]
    __floordiv__ = _checked(operator.floordiv)  # type: ignore[assignment]
    __mod__ = _checked(operator.mod)  # type: ignore[assignment]
    __lshift__ = _checked(lambda value, bits: value << min(bits, 64))  # type: ignore[assignment]
    __rshift__ = _checked(operator.rshift)  # type: ignore[assignment]


def _bounded(dtlib: ModuleType) -> Callable[[str], DT]:
    """The package's parser, for files of strangers: numbers of 64 bits, and limits on repeated work."""
    kinds = dtlib._T

    class BoundedTree(dtlib.DT):  # type: ignore[name-defined]
        def __init__(self, path: str) -> None:
            self._seen: Counter = Counter()
            self._last: Any = None
            super().__init__(path)

        def _eval_unary(self) -> int:
            return _Number(super()._eval_unary())

        def _next_token(self) -> Any:
            token, last = super()._next_token(), self._last
            if token is last:  # it was looked at before
                return token
            self._last = token
            seen = self._seen
            seen["all"] += 1
            seen["{" if token.val == "{" else token.id] += 1
            if seen["all"] > _MOST_TOKENS or seen[kinds.LABEL] > _MOST_LABELS or seen["{"] * seen[kinds.REF] > _MOST_COMPARISONS:
                raise dtlib.DTError("it has more values, labels, nodes or references than any board")
            if last is not None and last.id == kinds.DEL_NODE and not str(token.val).strip("{/}"):
                raise dtlib.DTError("it deletes its root")
            return token

    return BoundedTree


def _is_there(node: Node) -> bool:
    return "status" not in node.props or node.props["status"].to_string() in ("okay", "ok")


def _compatible(node: Node) -> list[str]:
    return node.props["compatible"].to_strings() if "compatible" in node.props else []


def _title(tree: DT) -> str:
    root = tree.root
    return root.props["model"].to_string() if "model" in root.props else (_compatible(root) or ["device"])[0]


def _cpu(tree: DT, where: str) -> Node:
    for node in tree.node_iter():
        is_cortex = any(word.startswith(_CORE) for word in _compatible(node)[:1])
        if (is_cortex or _has_32_bits(node)) and _is_there(node) and node.parent.name == "cpus":
            return node
    raise AidgeError(
        "no Cortex-M and no RISC-V of 32 bits among its CPUs", where=where, code=CODE, hint="other cores have no board here yet"
    )


def _instruction_set(cpu: Node) -> str:
    """Returns the -march of a core of RISC-V; "" for another core."""
    if "riscv,isa" in cpu.props:
        return cpu.props["riscv,isa"].to_string()
    if "riscv,isa-base" not in cpu.props:
        return ""
    base = cpu.props["riscv,isa-base"].to_string()
    words = cpu.props["riscv,isa-extensions"].to_strings() if "riscv,isa-extensions" in cpu.props else []
    letters = "".join(word for word in words if len(word) == 1 and word != base[-1:])
    return "_".join([base + letters, *(word for word in words if len(word) > 1)])


def _has_32_bits(cpu: Node) -> bool:
    found = instruction_set(_instruction_set(cpu))
    return found is not None and found.bits == 32


def _riscv_core(cpu: Node, where: str) -> str:
    """Returns the core file of a core of RISC-V: by its name if it has the instructions, else by them; "" for another core."""
    march = _instruction_set(cpu)
    if not march:
        return ""
    wanted, named = instruction_set(march), find_core(_compatible(cpu)[0].rpartition(",")[2]) if _compatible(cpu) else None
    if named and named.instruction_set and wanted and wanted.contains(named.instruction_set):
        return named.cpu
    found = load_core(march)
    if found.is_portable:
        raise AidgeError(f"no core file has these instructions: {march}", where=where, code=CODE, hint="a core file of your own")
    return found.cpu


def _memories(tree: DT, where: str) -> Iterator[Memory]:
    chosen = tree.root.nodes["chosen"].props if "chosen" in tree.root.nodes else {}
    code, data = (_chosen(tree, chosen, key) for key in ("zephyr,flash", "zephyr,sram"))
    for node in tree.node_iter():
        words = set(_compatible(node))
        is_flash = node is code or bool(words & _FLASHES)
        is_ram = node is data or bool(words & _RAMS)
        # Neither list has the memory for instructions (ITCM): no arena goes there unless the user says so.
        if not (is_flash or is_ram) or not _is_seen(node):
            continue
        for origin, length in _ranges(node, where):
            yield Memory(
                name=next(iter(node.labels), node.name.partition("@")[0]),
                origin=origin,
                length_bytes=length,
                is_flash=is_flash,
                is_default=node in (code, data) or (code is None and is_flash) or (data is None and is_ram),
                is_start=node is code,
            )


def _is_seen(node: Node) -> bool:
    """Whether a memory is there, at an address of the core."""
    is_offset = node.parent is not None and bool(_UNSEEN_FLASHES & set(_compatible(node.parent)))
    return _is_there(node) and "reg" in node.props and not is_offset


def _chosen(tree: DT, chosen: Any, key: str) -> Node | None:
    """Returns the node of a path or a reference; None if `key` is missing."""
    if key not in chosen:
        return None
    value = chosen[key]
    return value.to_path() if hasattr(value, "to_path") else None


def _number(node: Node, key: str) -> int:
    return node.props[key].to_num() if key in node.props else 0


def _cells(node: Node, key: str, default: int) -> int:
    return node.props[key].to_num() if key in node.props else default


def _ranges(node: Node, where: str) -> list[tuple[int, int]]:
    """Returns (first address, bytes) of the node's registers, as the root sees them (`ranges` of all buses between)."""
    parent = node.parent
    of_address, of_size = _cells(parent, "#address-cells", 2), _cells(parent, "#size-cells", 1)
    if not of_size and "size" in node.props and "reg" in parent.props:
        # A serial flash: its size is in bits, and its controller's second range shows it to the core.
        windows = _ranges(parent, where)[1:]
        return [(origin, min(length, _number(node, "size") // 8)) for origin, length in windows[:1]]
    numbers = node.props["reg"].to_nums()
    step = of_address + of_size
    if not of_size or len(numbers) % step:
        raise AidgeError(
            f"{node.path}: 'reg' has {len(numbers)} cells", where=where, code=CODE, hint=f"its bus has {step} for a range"
        )
    found = []
    for at in range(0, len(numbers), step):
        origin = _joined_cells(numbers[at : at + of_address])
        found.append((_translated(parent, origin), _joined_cells(numbers[at + of_address : at + step])))
    return found


def _joined_cells(cells: list[int]) -> int:
    value = 0
    for cell in cells:
        value = value << 32 | cell
    return value


def _translated(bus: Node, address: int) -> int:
    """Returns the root address of `address` on this bus; a bus without ranges, as Zephyr's flash controllers, maps one to one."""
    while bus.parent is not None:
        if "ranges" in bus.props and bus.props["ranges"].value:
            own, above = _cells(bus, "#address-cells", 2), _cells(bus.parent, "#address-cells", 2)
            size = _cells(bus, "#size-cells", 1)
            numbers = bus.props["ranges"].to_nums()
            step = own + above + size
            for at in range(0, len(numbers) - step + 1, step):
                child = _joined_cells(numbers[at : at + own])
                length = _joined_cells(numbers[at + own + above : at + step])
                if child <= address < child + length:
                    address += _joined_cells(numbers[at + own : at + own + above]) - child
                    break
        bus = bus.parent
    return address
