# SPDX-License-Identifier: MIT
"""Which values the instructions of a kernel read: two orders of its lines are compared by executing both with names of values.

Written from the Arm manual, apart from the tables by which lines are moved. Each instruction makes new names of its text and of
the names of all that it reads; a register that it writes counts as read, too. Addresses are names plus constants.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest

FIXED = re.compile(
    r"b(eq|ne|cs|hs|cc|lo|mi|pl|vs|vc|hi|ls|ge|lt|gt|le)?(\.[nw])?|bl|blx|bx|cbn?z|tb[bh]|it[te]*|vp[st]+[te]*|vpnot|vctp.*|lctp|dls.*|wls.*|le(tp)?|push|pop|vpush|vpop|"
    r"(v?m[rs][sr]|d[sm]b|isb|nop|svc|bkpt|adr|cps.*).*"
)
PREDICATED = re.compile(r"i(t[te]*)|vps(t[te]*)|vp(t[te]*)")
FLAG_SETTERS = re.compile(r"(add|sub|rsb|neg|adc|sbc|and|orr|eor|bic|orn|mvn|mov|mul|lsl|lsr|asr|ror|rrx)s|cmp|cmn|tst|teq")
FLAG_READERS = re.compile(r"adcs?|sbcs?|rrxs?|cs\w+|cin[cv]|cneg|sel|[su]h?(add|sub)(8|16)|vadc.*|vsbc.*|vcmp.*")
NO_RESULT = re.compile(r"cmp|cmn|tst|teq|str.*|stm.*|vstr.*|vst[24m].*|vcmp.*|pld.*")
TWO_RESULTS = re.compile(
    r"[su]mull|[su]mlal|umaal|smlal[bt][bt]|sml[as]ldx?|ldrd|(lsl|lsr|asr)l|[us]q?r?sh[rl]l|v[r]?ml[as]lda.*|vaddlv.*"
)
WORD_LOADS = re.compile(r"ldrd?")
BYTES = {"b": 1, "h": 2, "d": 8}


def lines_of(text: str) -> list[str]:
    """The lines of all assembly in a C text, without comments and quotes; "" for a line of C."""
    found = (re.fullmatch(r' *"(.*)\\n"( */\*.*\*/)?', line) for line in text.splitlines())
    return [match[1] if match else "" for match in found]


def is_straight(line: str) -> bool:
    return line.startswith("    ") and not FIXED.fullmatch(line.split()[0]) and not re.search(r"\bpc\b|%|\b\d[bf]\b|^ *\.", line)


def runs_of(lines: Sequence[str]) -> Iterator[tuple[bool, list[str]]]:
    """Yields (whether it is straight code, its lines) of stretches; what an IT or VPT makes conditional is no straight code."""
    run: list[str] = []
    conditional = 0
    for line in lines:
        if is_straight(line) and not conditional and not _moves_the_stack(line):
            run.append(line.strip())
            continue
        block = PREDICATED.fullmatch(line.split()[0]) if line.strip() else None
        conditional = len(next(filter(None, block.groups()))) if block else max(0, conditional - 1)
        yield True, run
        yield False, [line]
        run = []
    yield True, run


def _moves_the_stack(line: str) -> bool:
    words = re.split(r"[ ,]+", line.strip())
    return words[0][:3] in ("add", "sub", "mov") and words[1] == "sp" or re.search(r"\[sp[^]]*\](!|,)|\bsp!", line) is not None


class State:
    """Names of values: of registers (with a constant), of flags, and the stores so far."""

    def __init__(self) -> None:
        self.names: dict[str, tuple[object, int]] = {}
        self.stores: list[tuple[object, int, int, int]] = []
        self.seen: list[object] = []

    def name(self, register: str) -> tuple[object, int]:
        return self.names.get(register, (register, 0))

    def execute(self, line: str) -> None:
        word, _, rest = line.partition(" ")
        word = word.partition(".")[0] if not word.startswith("v") else word
        bare = word.partition(".")[0]
        mentioned = registers(rest)
        reads: list[object] = [self.name(each) for each in mentioned]
        reads += [self.name("flags")] if FLAG_READERS.fullmatch(bare) else []
        reads += [self.name("vpr")] if bare == "vpsel" else []
        address = self.address(bare, rest)
        if WORD_LOADS.fullmatch(bare) and address is not None and address[0] is not None:
            self.load_words(rest, address)
            return
        if address is not None:
            reads += self.stored(address)
        value = hash((line, tuple(reads)))
        self.seen.append(value)
        if address is not None and bare.startswith(("st", "vst")):
            self.stores.append((*address, value))
        self.write(bare, rest, value)

    def load_words(self, rest: str, address: tuple[object, int, int]) -> None:
        """Loads one word or two: each is named by its own address, so that two loads can replace one."""
        words = registers(rest[: rest.index("[")])
        values = {}
        for place, register in enumerate(words):
            word = address[0], address[1] + 4 * place, address[1] + 4 * place + 4
            values[register] = hash((word, tuple(self.stored(word)))), 0
        moved = self.update("ldr", rest)
        if moved is not None:
            base, root, constant = moved
            self.names[base] = (root, constant) if constant is not None else (hash((str(values), "address")), 0)
        self.names |= values
        self.seen += [name for name, _ in values.values()]

    def stored(self, address: tuple[object, int, int]) -> list[int]:
        """The names of the stores that may have written these bytes."""
        return sorted(value for root, first, end, value in self.stores if _overlap((root, first, end), address))

    def write(self, bare: str, rest: str, value: int) -> None:
        moved = self.update(bare, rest)
        for place, register in enumerate(results(bare, rest)):
            self.names[register] = (hash((value, place)), 0)
        if moved is not None:
            base, root, constant = moved
            self.names[base] = (root, constant) if constant is not None else (hash((value, "address")), 0)
        if FLAG_SETTERS.fullmatch(bare) or re.fullmatch(r"[su]h?(add|sub)(8|16)|v(adc|sbc|cmp).*", bare):
            self.names["flags"] = (hash((value, "flags")), 0)
        match = re.fullmatch(r"(\w+), (?:(\w+), )?#(\d+)", rest)
        if match and re.fullmatch(r"(add|sub)[sw]?", bare):
            root, constant = self.before
            self.names[match[1]] = (root, constant + (1 if bare[0] == "a" else -1) * int(match[3]))

    def address(self, bare: str, rest: str) -> tuple[object, int, int] | None:
        """(name, first byte, end) of an access; the name is None if it may be anywhere."""
        match = re.fullmatch(r"(\w+), (?:(\w+), )?#(\d+)", rest)
        self.before = self.name(match[2] or match[1]) if match else (None, 0)
        if re.match(r"v?(ld|st)m", bare):
            return None, 0, 0
        match = re.search(r"\[(\w+)(?:, #(-?\d+))?\]", rest)
        if "[" not in rest or not bare.startswith(("ld", "st", "vld", "vst")):
            return None
        if match is None:
            return None, 0, 0
        size = 16 * rest.count("q") if "q" in rest else 4 * len(registers(rest[: match.start()]))
        if not bare.startswith("v"):
            size = BYTES.get(bare.removeprefix("ldrs").removeprefix("ldr").removeprefix("str"), 4)
        root, constant = self.name(match[1])
        first = constant + int(match[2] or 0)
        return root, first, first + max(size, 1)

    def update(self, bare: str, rest: str) -> tuple[str, object, int | None] | None:
        """(base register, new name, new constant) of an access that moves its address; None: by an unknown number."""
        match = re.search(r"(?:\[([a-z]\w+)(?:, #(-?\d+))?\](!|, #-?\d+|, \w+))", rest)  # no lane
        if match:
            root, constant = self.name(match[1])
            by = match[2] if match[3] == "!" else match[3].removeprefix(", #")
            return match[1], root, constant + int(by) if re.fullmatch(r"-?\d+", by or "") else None
        match = re.match(r"(\w+)!", rest) or re.search(r"\[(\w+)[^]]*\]!", rest)
        return (match[1], None, None) if match else None


def _overlap(one: tuple[object, int, int], other: tuple[object, int, int]) -> bool:
    return None in (one[0], other[0]) or one[0] != other[0] or one[1] < other[2] and other[1] < one[2]


def registers(words: str) -> list[str]:
    """The registers of operands in their order, ranges written out, those of the FPU as words of 32 bits."""
    found: list[str] = []
    for kind, first, last, other in re.findall(r"\b(?:([rsdq])(\d+)(?:-[rsdq](\d+))?|(lr|ip|sp))\b", words):
        count = {"s": 1, "d": 2, "q": 4}.get(kind, 0)
        for number in range(int(first), int(last or first) + 1) if first else ():
            found += [f"s{number * count + part}" for part in range(count)] if count else [f"r{number}"]
        found += ["r12" if other == "ip" else other] if other else []
    return found


def results(bare: str, rest: str) -> list[str]:
    """The registers that an instruction writes, its address aside."""
    if NO_RESULT.fullmatch(bare):
        return []
    operands = re.findall(r"(?:[^,{\[]|\{[^}]*\}|\[[^]]*\])+", rest)
    if re.match(r"v?ldm", bare):
        return registers(operands[1])
    if bare.startswith("vmov") and len(operands) == 4:
        return registers(", ".join(operands[:2]))
    written = operands[:2] if TWO_RESULTS.fullmatch(bare) else operands[:1]
    extra = operands[1:2] if re.fullmatch(r"v[di]w?dup|vshlc", bare) else []
    return registers(", ".join([*written, *extra]))


def lines_but_words(lines: Sequence[str]) -> list[str]:
    """The lines, sorted, without loads of one word or two: executing both orders tells which words are loaded."""
    return sorted(line for line in lines if not WORD_LOADS.fullmatch(line.split()[0].partition(".")[0]))


def differences(old: str, new: str) -> list[str]:
    """The faults in a new order of a C text: lines that moved across others that must stay, or that read other values now. Two
    loads of one word may replace a load of two."""
    found = []
    for before, after in zip_longest(runs_of(lines_of(old)), runs_of(lines_of(new)), fillvalue=(False, ["nothing"])):
        if before == after:
            continue
        if not before[0] or not after[0] or lines_but_words(before[1]) != lines_but_words(after[1]):
            found.append(f"{before[1][:3]} became {after[1][:3]}")
            continue
        states = State(), State()
        for state, (_, lines) in zip(states, (before, after), strict=True):
            for line in lines:
                state.execute(line)
        one, other = (sorted(map(str, state.seen)) for state in states)
        if one != other or states[0].names != states[1].names:
            found.append(f"other values in {before[1][:3]}")
    return found
