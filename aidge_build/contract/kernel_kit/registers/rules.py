# SPDX-License-Identifier: MIT
"""The registers that an instruction can name, and the bytes that a choice costs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import cache

from aidge_build.contract.kernel_kit.registers.named import (
    CALL,
    CHANGED,
    ENTER_FLOATS,
    ENTERS,
    GET,
    PARAMETER_REGISTERS,
    PUT,
    RESULT,
    VALUE,
    Step,
    Value,
    called,
    leaves,
)
from aidge_build.contract.kernel_kit.registers.webs import Webs

LOW = tuple(f"r{number}" for number in range(8))
POOLS = {
    "r": (*LOW, *(f"r{number}" for number in range(8, 13)), "lr"),
    "q": tuple(f"q{number}" for number in range(8)),
    "s": tuple(f"s{number}" for number in range(32)),
    "w": tuple(f"w{number}" for number in range(32)),
}
PRESERVED = frozenset((*POOLS["r"][4:12], *POOLS["q"][4:], *POOLS["s"][16:]))
_FIXED = re.compile(r"(?<![.\w%])(r\d+|lr|q\d|s\d+)\b")
_LISTS = re.compile(r"v?(ldm|stm)(ia|db)?")
_INTERLEAVED = re.compile(r"vst[24]\d")
_ACROSS = re.compile(r"v(r?ml[as]l?dava?|ml[as]v|ml[as]va|mlalva?|addl?va?)x?")  # to even registers of the core
_ACROSS_LONG = re.compile(r"v(r?ml[as]ldava?|mlalva?|addlva?)x?")  # and the next one is odd
_REACHES_HIGH = re.compile(r"(mov|cmp|add|bx|blx) (?!.*sp,)[^#]*")  # of Armv6-M's instructions
_CONVERTS = re.compile(r"v(ld|st)r(bt?\.[su]?(16|32)|ht?\.[su]?32) %q\.\w+, \[[^,\]]*(\]|, #).*")  # with a low register as base
_ALWAYS_LOW = ("cbz", "cbnz")
_SERIES = re.compile(r"v[id]dup")  # from an even register
_COUNTS = re.compile(r"(dls|wls|le)(tp)?(\.\d+)? %")  # in lr
# Loads that widen and stores that narrow take their address from a low register.
_WIDENS = re.compile(r"v(ldr|str)(b[te]?\.[su]?(16|32)|h[te]?\.[su]?32) [^,]+, \[%(?P<address>\w+)(\]|, #).*")
# Instructions of Armv7-M that are 16 bits long where all registers are low, and what makes them longer.
_SHORT = re.compile(
    r"(mov|add|sub|rsb|adc|sbc|and|orr|eor|bic|mvn|mul|lsl|lsr|asr|ror|neg)s|cmp|cmn|tst|(ldr|str)(s?[bh])?|[us]xt[bh]|rev(16|sh)?"
    r"|ldm|stm|put|get"
)
_LONGER = re.compile(r"\], |\]!|#-|(lsl|lsr|asr|ror) #|^ldrs[bh] [^,]+, \[[^,]+\]|^cmp %\w+, %|^(ldm|stm) [^!]*$|^(put|get) .*,")
_CHANGED_FLOATS = 16  # registers that a function need not save
_SAVED_BYTES, _LINK_BYTES, _LONGER_BYTES = 4, 2, 2


@dataclass
class Rules:
    """The choices for each web. `domains`: its registers. `lists`: for each web the lists that it is in, of webs with rising
    numbers, in steps of 1 if dense. `short`: for each web the instructions, by their lines, that are short where all their webs,
    which follow, have low registers."""

    domains: dict[int, tuple[str, ...]] = field(default_factory=dict)
    lists: dict[int, list[tuple[tuple[int, ...], bool]]] = field(default_factory=dict)
    short: dict[int, dict[int, tuple[int, ...]]] = field(default_factory=dict)
    saved: frozenset[str] = PRESERVED  # the registers that a function must save if it uses them
    kept: frozenset[int] = frozenset()  # the webs that want a register of their own, whatever it costs to save it

    def cost(self, web: int, register: str, used: AbstractSet[str]) -> int:
        """Returns the bytes that a register costs where others are used; a low one costs a little where it gains nothing."""
        saved = _SAVED_BYTES * len((self._with_neighbours(web, register) & self.saved) - used)
        if web in self.kept:
            saved = 0
        elif register == "lr" and not used & {*PRESERVED, register}:
            saved = _LINK_BYTES
        short = len(self.short.get(web, ()))
        return saved + (not short if register in LOW else _LONGER_BYTES * short)

    def _with_neighbours(self, web: int, register: str) -> set[str]:
        """Returns the registers of the dense lists with this register in the place of a web, too."""
        if web not in self.lists:
            return {register}
        first = number_of(register)
        lists = [(webs, first - webs.index(web)) for webs, is_dense in self.lists.get(web, ()) if is_dense]
        return {register, *(f"{register[0]}{start + place}" for webs, start in lists for place in range(len(webs)))}

    def bytes_of(self, chosen: Mapping[int, str]) -> int:
        """Returns the bytes that a choice costs."""
        return _SAVED_BYTES * len(PRESERVED.intersection(chosen.values())) + _LONGER_BYTES * self.long(chosen, chosen)

    def long(self, webs: Iterable[int], chosen: Mapping[int, str]) -> int:
        """Returns how many instructions with these webs are long and need not be."""
        steps = {step: named for web in webs for step, named in self.short.get(web, {}).items()}
        return sum(any(chosen[web] not in LOW for web in named) for named in steps.values())

    def high(self, webs: Iterable[int], chosen: Mapping[int, str]) -> int:
        """Returns how often high registers of these webs keep instructions from being short, maybe not alone."""
        return sum(len(self.short.get(web, ())) for web in webs if chosen[web] not in LOW)

    def add_low(self, step: Step, here: dict[Value, int]) -> None:
        """Adds the rules of an instruction of Armv6-M; `here` are its webs."""
        if not _REACHES_HIGH.fullmatch(step.text):
            self._keep([here[value] for value in step.named], LOW.__contains__)

    def add(self, step: Step, here: dict[Value, int]) -> None:
        """Adds the rules of an instruction; `here` are its webs."""
        named, mnemonic = [here[value] for value in step.named], step.text.split()[0].partition(".")[0]
        if step.text.startswith((PUT, GET)):
            self._list([here[Value("w", match[2])] for match in VALUE.finditer(step.text)], True)
        else:
            self._add_instruction(step, mnemonic, named)
        if match := _WIDENS.fullmatch(step.text):
            self._keep([here[Value("r", match["address"])]], LOW.__contains__)
        if _SHORT.fullmatch(mnemonic) and not _LONGER.search(step.text):
            for web in named:
                self.short.setdefault(web, {})[step.place] = tuple(named)

    def _add_instruction(self, step: Step, mnemonic: str, named: Sequence[int]) -> None:
        if _LISTS.fullmatch(mnemonic):
            self._list(named["{" not in step.text.split(",")[0] :], mnemonic[0] == "v")
        if _INTERLEAVED.fullmatch(mnemonic):
            self._list([web for web, value in zip(named, step.named, strict=True) if value.kind == "q"], True)
        if mnemonic == "vmov" and len(named) == 4:
            self._list([web for web, value in zip(named, step.named, strict=True) if value.kind == "s"], True)
        if mnemonic in _ALWAYS_LOW:
            self._keep(named, LOW.__contains__)
        if _CONVERTS.fullmatch(step.text):
            self._keep(named[1:], LOW.__contains__)
        self._keep(named[: bool(_COUNTS.match(step.text))], lambda register: register == "lr")
        even = [*named[: bool(_ACROSS.fullmatch(mnemonic))], *named[1 : 1 + bool(_SERIES.fullmatch(mnemonic))]]
        self._keep(even, lambda register: number_of(register) % 2 == 0)
        self._keep(named[1 : 1 + bool(_ACROSS_LONG.fullmatch(mnemonic))], lambda register: number_of(register) % 2 == 1)

    def _list(self, webs: Sequence[int], is_dense: bool) -> None:
        for web in webs if len(webs) > 1 else ():
            self.lists.setdefault(web, []).append((tuple(webs), is_dense))

    def _keep(self, webs: Sequence[int], is_possible: Callable[[str], bool]) -> None:
        for web in webs:
            self.domains[web] = tuple(filter(is_possible, self.domains[web]))


@cache
def number_of(register: str) -> int:
    """Returns the number of a register."""
    return 14 if register == "lr" else int(register[1:])


def rules_of(steps: Sequence[Step], webs: Webs, is_low: bool, parameters: Sequence[str]) -> Rules:
    """Returns the rules for the webs of a function with these parameters."""
    fixed, rules = fixed_registers(steps), Rules(kept=webs.kept)
    if steps[0].text == ENTER_FLOATS:
        rules.saved |= _waiting_floats(webs)
    for web, value in enumerate(webs.values):
        if value.kind:
            rules.domains[web] = tuple(register for register in POOLS[value.kind] if register not in fixed)
    for number, step in enumerate(steps):
        if step.text in ENTERS:
            passed = parameters[:PARAMETER_REGISTERS]
            rules.domains |= {webs.written[number][Value("r", name)]: (f"r{place}",) for place, name in enumerate(passed)}
        elif leaves(step.text):
            rules.domains |= dict.fromkeys(webs.read[number].values(), (RESULT,))
        elif not CALL.fullmatch(step.text):
            rules.add(step, webs.read[number] | webs.written[number])
            if is_low:
                rules.add_low(step, webs.read[number] | webs.written[number])
    if is_low:
        rules.short.clear()  # all instructions are short
    for number, step in enumerate(steps):
        if call := CALL.fullmatch(step.text):
            _add_call(rules, call, webs.read[number], webs.written[number], webs.alive[number])
    return rules


def _waiting_floats(webs: Webs) -> frozenset[str]:
    """Returns the float registers in which values can wait without being saved: they wait behind the ones that are used."""
    words = len({value for value in webs.values if value.kind == "w"})
    return frozenset(POOLS["s"][_CHANGED_FLOATS - words : _CHANGED_FLOATS])


def _add_call(
    rules: Rules, call: re.Match[str], read: Mapping[Value, int], written: Mapping[Value, int], alive: AbstractSet[int]
) -> None:
    """Adds the rules of a call: values that are alive after it are not in registers that it changes."""
    for here, registers in zip((read, written), called(call), strict=True):
        rules.domains |= {here[Value("r", name)]: (register,) for name, register in registers.items()}
    for web in alive & rules.domains.keys() - {*written.values()}:
        rules.domains[web] = tuple(register for register in rules.domains[web] if register not in CHANGED)


def fixed_registers(steps: Sequence[Step]) -> set[str]:
    """Returns the registers that a text names itself."""
    return {name for step in steps for name in _FIXED.findall(VALUE.sub("", step.text))}
