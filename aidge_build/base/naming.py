# SPDX-License-Identifier: MIT
"""C identifiers and comment text from the names of a model: distinct, short, ASCII, and never somebody else's words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath

from aidge_build.base.errors import AidgeError
from aidge_build.base.settings import guess
from aidge_build.base.shortening import pieces_of, shortened_identifier, shortened_text

SIGNIFICANT = 31  # C99 5.2.4.1 and MISRA C 5.1: the characters that surely tell external names apart
LONGEST_MODEL_NAME = 40
_LEAST_ROOM = 22  # after a long prefix: 40 + 1 + 22 = 63, the characters that C99 tells apart inside of a file
_READABLE = 16  # after a long prefix; a longer name of a node is replaced by the operator's type

_KEYWORDS = """
    alignas alignof and and_eq asm atomic auto bitand bitor bool break case catch char char8_t char16_t char32_t class co_await
    co_return co_yield compl complex concept const const_cast consteval constexpr constinit continue decltype default delete do
    double dynamic_cast else enum explicit export extern false final float for friend fortran generic goto if imaginary import
    inline int long module mutable namespace new noexcept noreturn not not_eq nullptr operator or or_eq override private
    protected public register reinterpret_cast requires restrict return short signed sizeof static static_assert static_cast
    struct switch template this thread_local throw true try typedef typeid typename typeof typeof_unqual union unsigned using
    virtual void volatile wchar_t while xor xor_eq
"""
_LIBRARY_NAMES = """
    abort abs acos arm asin assert atan atan2 atexit atof atoi bsearch calloc ceil cos cosh entry errno exit exp fabs fclose
    fflush fgets floor fmod fopen fprintf fputs fread free frexp fscanf fseek fwrite getc getchar getenv gets gmtime i i386
    index infinity ldexp linux localtime log log10 longjmp main malloc mblen memchr memcmp memcpy memmove memset mktime modf
    nan null offsetof perror pow printf putc putchar puts qsort raise rand realloc remove rename rewind scanf setbuf setjmp
    signal sin sinh sprintf sqrt srand sscanf stderr stdin stdout strcat strchr strcmp strcpy strcspn strerror strlen strncat
    strncmp strncpy strstr strtod strtok strtol strtoul system tan tanh time tmpfile tolower toupper ungetc unix vprintf
    int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t intptr_t uintptr_t intmax_t uintmax_t size_t ptrdiff_t
    int8_min int8_max int16_min int16_max int32_min int32_max int64_min int64_max uint8_max uint16_max uint32_max uint64_max
    char_bit char_min char_max int_min int_max long_min long_max eof bufsiz
"""
_HEADERS = """
    assert complex ctype errno fenv float inttypes iso646 limits locale math memory new setjmp signal stdalign stdarg stdatomic
    stdbool stddef stdint stdio stdlib stdnoreturn string strings tgmath threads time uchar unistd vector wchar wctype
"""
_DEVICES = "aux con nul prn " + " ".join(f"{port}{number}" for port in ("com", "lpt") for number in range(1, 10))

RESERVED = frozenset(_KEYWORDS.split()) | frozenset(_LIBRARY_NAMES.split())
_REFUSED_MODEL_NAMES = RESERVED | frozenset(_HEADERS.split()) | frozenset(_DEVICES.split()) | {"aidge"}


_PLURALS = {"entry": "entries", "has": "have", "is": "are"}


def counted(count: int, noun: str, verb: str = "") -> str:
    """A number with its noun, and with a verb in the present: "1 layer takes", "2 layers take"."""
    if count != 1:
        noun, verb = _PLURALS.get(noun, f"{noun}s"), _PLURALS.get(verb, verb.removesuffix("s"))
    return " ".join(filter(None, (f"{count:,}", noun, verb)))


def identifier(text: str) -> str:
    """A C identifier after this text."""
    words = re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_") or "node"
    return f"_{words}" if words[0].isdigit() else words


def model_name_of(path: PurePath) -> str:
    """A name for the model of this file: its stem, as the prefix of C symbols."""
    return re.sub(r"\W", "_", re.sub(r"^(?![A-Za-z])", "model_", path.stem), flags=re.ASCII)


def check_model_name(name: str) -> None:
    """Refuses a name that cannot be the prefix of C symbols and the stem of file names."""
    reason = _name_fault(name)
    if reason:
        raise AidgeError(
            f"the model name '{name[:80]}' {reason}",
            code="NAME",
            hint="choose another one, such as --name kws: a letter, then letters, digits and '_'",
        )


def _name_fault(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name):
        return "is not a C identifier that begins with a letter"
    if len(name) > LONGEST_MODEL_NAME:
        return f"has {len(name)} characters, {LONGEST_MODEL_NAME} at most are possible"
    if name.lower() in _REFUSED_MODEL_NAMES:
        return "is a word of C, C++, their libraries or the operating system"
    if name.lower().startswith("aidge_"):
        return "begins with aidge_, as the kernels do"
    return ""


class Namer:
    """Hands out lower-case identifiers, each once.

    With a prefix, every name is `<prefix>_...`; without, names keep clear of C's words. Names are at most 31 characters
    long (a long prefix may need more, never above 63); a longer text is cut in the middle.
    """

    def __init__(self, prefix: str = "", taken: Iterable[str] = ()):
        self._start = f"{prefix}_" if prefix else ""
        self._room = max(SIGNIFICANT - len(self._start), _LEAST_ROOM)
        self._taken = {name.lower() for name in taken}
        self._counts: dict[str, int] = {}

    def fits(self, text: str) -> bool:
        """Whether the whole text has room in a name that is still read at a glance."""
        return len(text) <= max(SIGNIFICANT - len(self._start), _READABLE)

    def take(self, text: str, endings: Sequence[str] = ("",)) -> str:
        """A new name after `text`; with `endings`, one to which each of them can be appended."""
        stem = self._stem(text)
        name, count = self._start + stem, self._counts.get(stem, 1)
        while not self._taken.isdisjoint([(name + ending).lower() for ending in endings]):
            count += 1
            suffix = f"_{count}"
            name = self._start + shortened_identifier(stem, self._room - len(suffix)) + suffix
        self._counts[stem] = count
        self._taken.update([(name + ending).lower() for ending in endings])
        return name

    def _stem(self, text: str) -> str:
        words = _NO_WORD.sub("_", text.lower()).strip("_") or "unnamed"
        if not self._start and (words in RESERVED or words[0].isdigit()):
            words = f"tensor_{words}"
        return shortened_identifier(words, self._room)


_NO_WORD = re.compile(r"[^a-z0-9]+")
_BY_ROWS = ("begin", "push_input", "pull_output", "end", "cancel", "rows", "progress", "take", "give")  # by rows
_HOOKS = ("before_input", "after_output")
_WEIGHTS = ("bind", "newer", "bound", "weights", "weights_bytes", "constant", "crc", "suits")  # of replaceable weights
_INTEGRITY = ("verify_constants", "integrity", *(f"integrity_{word}" for word in ("state", "guard", "part", "parts", "digest")))
_RECORD = ("record", "record_begin", "record_end", "record_sums")
_MONITOR = (
    *("monitor", "monitor_reset", "monitor_end", "monitor_put", "monitored", "counters"),
    *(f"monitor_{side}_{number}" for side in ("input", "output") for number in range(10)),
)
_CASCADES = ("shift", *(f"cascade_{number}" for number in range(1, 10)))
_EXPANSIONS = (
    "expanded",
    "expanded_vector",
    *(f"expand_{kind}" for kind in ("1", "2", "3", "4", "table")),
)  # of packed constants


def public_symbols(model: str) -> tuple[str, ...]:
    """The symbols that every model of this name owns."""
    return tuple(
        f"{model}_{word}"
        for word in (
            "run",
            "arena",
            "state",
            "reset",
            "init",
            "self_test",
            *_WEIGHTS,
            *_HOOKS,
            *_RECORD,
            *_INTEGRITY,
            *_MONITOR,
            *_BY_ROWS,
            *_CASCADES,
            *_EXPANSIONS,
        )
    )


def model_of_symbol(symbol: str) -> str:
    """Returns the model that a public function or array, or a part of an array, may belong to; "" for any other symbol."""
    match = re.fullmatch(
        r"(.+)_(?:run|reset|init|bind|newer|bound|weights(?:_bytes)?|begin|push_input|pull_output|end|cancel|rows|record"
        r"|verify_constants|integrity"
        r"|monitor(?:_reset)?|monitored"
        r"|(?:arena|state)(?:_[A-Za-z0-9_]+)?)",
        symbol,
    )
    return match[1] if match else ""


def layer_symbols(model: str, nodes: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """The C functions of layers, given as (node name, operator type), in the same order.

    `kws_conv_3` for 'Conv_3'; operator type and a number where the node's name is too long to be read.
    """
    namer, numbers, symbols = Namer(model, public_symbols(model)), dict[str, int](), []
    for name, operator_type in nodes:
        if not namer.fits(name) or not re.search(r"[A-Za-z]", name):
            numbers[operator_type] = numbers.get(operator_type, 0) + 1
            name = f"{operator_type}_{numbers[operator_type]}"
        symbols.append(namer.take(name))
    return tuple(symbols)


LONGEST_READ = 28  # columns of a name in lines for people; exporters name fused layers by whole chains


NAMES_LISTED = 40
NAME_TO_LOOK_AT = "model"  # of models that are not generated for a firmware: plan, explain, verify


def readable_names(symbols: Mapping[str, str], model: str) -> dict[str, str]:
    """Returns node name -> the layer's name for people; `symbols` is node name -> function in C.

    The name is the node's own, or, if that is long, the function's without the model's name, unless another node has this name.
    """
    short = {name: symbol.removeprefix(f"{model}_") for name, symbol in symbols.items()}
    return {name: name if len(name) <= LONGEST_READ or brief in short else brief for name, brief in short.items()}


def no_layer(word: str, names: Sequence[str], where: str, others: Iterable[str] = ()) -> AidgeError:
    """The refusal of a word that names no layer: it lists `names`, and suggests the nearest of them and of `others`."""
    known = list(dict.fromkeys(names))
    more = ", ..." if len(known) > NAMES_LISTED else ""
    hint = f"{guess(word, [*known, *others])}Layers: {', '.join(known[:NAMES_LISTED])}{more}"
    return AidgeError(f"there is no layer '{word}'", where=where, hint=hint, code="USAGE")


# 48 bits: enough to tell apart all headers of a model that anybody will ever have, short enough for a line of the linker.
DIGEST_DIGITS = 12
_SECOND_NAME = re.compile(rf"(\w+)_([0-9a-f]{{{DIGEST_DIGITS}}})", re.ASCII)


def second_name(symbol: str, digest: str) -> str:
    """Returns the name of a model's function or array for users of its header: it ends in the header's digest."""
    return f"{symbol}_{digest}"


def split_second_name(symbol: str) -> tuple[str, str] | None:
    """Returns the first name and the digest of a possible second name; it is a second name only if the first name exists."""
    match = _SECOND_NAME.fullmatch(symbol)
    return (match[1], match[2]) if match else None


def code_symbol(model: str, digest: str) -> str:
    """The absolute symbol by which a model's code file says which one it is."""
    return f"aidge_{model}__code_{digest}"


def model_of_code(symbol: str) -> str:
    """Returns the model with this `code_symbol`; "" for any other symbol."""
    match = re.fullmatch(r"aidge_(.+)__code_[0-9a-f]+", symbol)
    return match[1] if match else ""


_HARMLESS = frozenset(map(chr, range(0x20, 0x7F))) - frozenset("*?\\")


def comment_text(text: str, limit: int = 60) -> str:
    """Returns foreign text for a C comment: it cannot end the comment, begin another, continue a line or form a trigraph.

    A longer text is cut in the middle: three points mark the gap.
    """
    if len(text) <= limit and _HARMLESS.issuperset(text):
        return text
    ends = text if len(text) <= 2 * limit else text[:limit] + "\0" + text[-limit:]  # what is between has no room in any case
    return shortened_text(["".join(map(_harmless, piece)) for piece in pieces_of(ends)], limit)


def _harmless(character: str) -> str:
    if character in _HARMLESS:
        return character
    return "\\\\" if character == "\\" else f"\\u{ord(character):04x}"
