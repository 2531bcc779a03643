# SPDX-License-Identifier: MIT
"""A plan (N.plan.json) in gdb: the places of its tensors in the program, and which of them hold their values now."""

import json
import re
import struct

import gdb

_ORDERS = {"nc": "01", "ncw": "012", "nwc": "021", "nchw": "0123", "nhwc": "0231", "ncdhw": "01234", "ndhwc": "02341"}
_ORDERS.update(chw="012", hwc="120", chwn="1230")
_CODES = {"int8": "b", "int16": "h", "int32": "i", "int64": "q", "bool": "B", "float16": "e", "float32": "f", "float64": "d"}
_CODES.update({"u" + name: code.upper() for name, code in _CODES.items() if name.startswith("int")})
_REGISTERS = {  # of the first arguments
    "arm": ["r0", "r1", "r2", "r3"],
    "riscv": ["a%d" % number for number in range(8)],
    "x86-64": ["rdi", "rsi", "rdx", "rcx", "r8", "r9"],
}

INLINED = "the compiler inlined them; with debug information (-g), `break LAYER` and `aidge diff` work"
_LONGEST_BEGIN, _STACK_WORDS = 64, 256  # bytes of code, words
_STORE_OR_BRANCH = r"st|vst|s[bhwd]\b|fs|c\.s|b(?!i|f)|cb|j"


def fail(text):
    raise gdb.GdbError("aidge: " + text)


def number_of(text):
    return int(gdb.parse_and_eval("(unsigned long)" + text))


def address_of(symbol):
    """Returns the address of a symbol, None where the program has none of this name."""
    try:
        return number_of("&'%s'" % symbol)
    except gdb.error:
        return None


def memory(address, size):
    try:
        return bytes(gdb.selected_inferior().read_memory(address, size)) if size else b""
    except gdb.error as error:
        return fail("%d B at 0x%x cannot be read: %s" % (size, address, error))


def _pointer_bytes():
    return gdb.lookup_type("long").sizeof


def _word(address):
    return int.from_bytes(memory(address, _pointer_bytes()), "little")


def _function_at(address):
    return gdb.execute("info symbol 0x%x" % address, to_string=True).split(" ")[0]


def _return_addresses():
    """Yields the register with the return address, and the words of the stack."""
    width, frame = _pointer_bytes(), gdb.newest_frame()
    stack, link = number_of("$sp"), "$lr" if "arm" in frame.architecture().name() else "$ra"
    try:
        yield number_of(link) & ~1
        for at in range(_STACK_WORDS):
            yield _word(stack + width * at) & ~1
    except (gdb.error, gdb.GdbError):
        pass  # the end of the memory, or another core


def _has_written_nothing(frame):
    """Whether a function is at its begin, or behind instructions that change only registers and the stack: at a breakpoint."""
    start, pc, of_stack = address_of(frame.name()), frame.pc(), {"sp"}
    if "86" in frame.architecture().name() or not start <= pc < start + _LONGEST_BEGIN:
        return pc == start  # stores of x86 have no names of their own
    passed = frame.architecture().disassemble(start, pc - 1) if pc > start else []
    for text in [each["asm"] for each in passed]:
        if re.match(_STORE_OR_BRANCH, text) and not of_stack.intersection(re.findall(r"\w+", text)):
            return False
        of_stack.update(re.findall(r"^\S+\s+(\w+), ?sp\b", text))
    return True


def frames():
    frame = gdb.newest_frame() if gdb.selected_thread() else fail("the program does not run: start it, and stop at a breakpoint")
    while frame is not None:
        yield frame
        try:
            frame = frame.older()
        except gdb.error:  # gdb does not know the caller
            return


def index_of(position, dims):
    found = []
    for dim in reversed(dims):
        found.insert(0, position % dim)
        position //= dim
    return found


def holds(spans, address, size=1):
    """Whether bytes at a known address are in spans."""
    return _meet(spans, [("", address, address + size)])


def _meet(some, others):
    return any(a[0] == b[0] and a[1] < b[2] and b[1] < a[2] for a in some for b in others)


class Tensor:
    """A tensor of the plan; `written` is the number of the layer that writes it, -1 where it is there before an inference."""

    def __init__(self, fields, written):
        self.name, self.dims, self.dtype, self.place = (fields[key] for key in ("name", "dims", "dtype", "place"))
        self.written, self.scale, self.zero = written, fields.get("scale"), fields.get("zero_point") or 0
        self.order = [int(axis) for axis in _ORDERS.get(fields["format"]) or fields["format"].split("_")[1:]]
        self.rows = re.search(r", (\d+ of \d+ rows)$", self.place)
        self.code, size = _CODES[self.dtype], 1
        self.width, strides = struct.calcsize(self.code), {}
        for axis in reversed(self.order):
            strides[axis], size = size, size * self.dims[axis]
        self.strides, self.bytes = strides, size * self.width
        self.array, self.pieces = self._pieces()

    def _pieces(self):
        """Returns the array that holds it and its (offset, bytes) there, in the order of memory."""
        array, words = re.match(r"(?:argument )?(\S+) ?(.*)", self.place).groups()
        numbers = [int(number) for number in re.findall(r"\d+", words)]
        if self.place.startswith("argument"):
            return array, [((numbers or [0])[0], self.bytes)]
        if " rows of " in words:
            step = (numbers[1] + 1 - numbers[0] - numbers[3]) // (numbers[2] - 1)
            return array, [(numbers[0] + at * step, numbers[3]) for at in range(numbers[2])]
        return array, [(numbers[0], numbers[1] + 1 - numbers[0] if self.rows else self.bytes)]  # states have no second number

    def addresses(self, model):
        """Returns the address of each element, in the order of the model."""
        if self.rows:
            fail("of '%s' only %s are in memory at a time" % (self.name, self.rows.group(1)))
        start, width, places = model.base(self.array), self.width, [0]
        stored = [start + offset + at for offset, size in self.pieces for at in range(0, size - size % width, width)]
        for axis, dim in enumerate(self.dims):
            places = [place + at * self.strides[axis] for place in places for at in range(dim)]
        return [stored[place] for place in places]

    def values(self, model):
        """Returns the values in the order of the model."""
        addresses = self.addresses(model)
        first = min(addresses)
        data = memory(first, max(addresses) + self.width - first)
        return [struct.unpack_from("<" + self.code, data, address - first)[0] for address in addresses]

    def write(self, model, values):
        """Puts values into the program, and fails where its memory does not keep them."""
        addresses = self.addresses(model)
        first = min(addresses)
        data = bytearray(memory(first, max(addresses) + self.width - first))
        for address, value in zip(addresses, values):
            struct.pack_into("<" + self.code, data, address - first, value)
        gdb.selected_inferior().write_memory(first, bytes(data))
        if memory(first, len(data)) != data:
            fail("'%s' at 0x%x does not keep what is written: is it in flash?" % (self.name, first))


class Model:
    """A plan, and the places of its arrays in the program; `seen` are the arguments of N_run at the last stop there."""

    def __init__(self, path):
        self.path, self.seen, self.tensors = path, {}, {}
        self.forget()
        try:
            with open(path) as file:
                self.plan = json.load(file)
            self.name, self.layers, self.claim = self.plan["model"], self.plan["layers"], self.plan["claim"]
            self._require_same_build()
            self._take_tensors()
        except OSError as error:
            fail("%s cannot be read: %s" % (path, error.strerror))
        except (ValueError, KeyError, TypeError) as error:
            fail("%s is no plan of this version of aidge-build (%s): name N.plan.json" % (path, error))
        self.run, self.is_in_pieces, chains = self.name + "_run", "steps" in self.plan or "rows" in self.plan, self._chains()
        self.chain_of = {number: chain for chain in chains for number in chain}
        self.functions = {layer["symbol"]: number for number, layer in enumerate(self.layers)}
        self.functions.update(("%s_cascade_%d" % (self.name, at), chain[0]) for at, chain in enumerate(chains, 1))

    def _take_tensors(self):
        """Makes the tensors: inputs, states, outputs of layers, and other names for them."""
        states = [
            dict(state, name=state["input"], place="state bytes %(offset_bytes)d.." % state) for state in self.plan["states"]
        ]
        self.tensors = {fields["name"]: Tensor(fields, -1) for fields in self.plan["inputs"] + states}
        for number, layer in enumerate(self.layers):
            for fields in layer["inputs"]:
                if re.match("arena|state|argument", fields["place"]) and fields["name"] not in self.tensors:
                    self.tensors[fields["name"]] = self._read(Tensor(fields, -1), number)
            self.tensors.update((fields["name"], Tensor(fields, number)) for fields in layer["outputs"])

    def _chains(self):
        """Returns the layers of each chain that is computed by rows or in steps."""
        numbers = {layer["name"]: number for number, layer in enumerate(self.layers)}
        chains = [[cut["name"]] for cut in self.plan.get("steps", {}).get("cut_layers", [])]
        chains += [[layer["name"] for layer in cascade["layers"]] for cascade in self.plan["cascades"]]
        return sorted(sorted(numbers[name] for name in chain) for chain in chains)

    def _require_same_build(self):
        with open(gdb.current_progspace().filename, "rb") as file:
            program = file.read()
        if json.dumps(self.claim, sort_keys=True, separators=(",", ":")).encode() in program:
            return
        codes = re.findall(("aidge_%s__code_([0-9a-f]{12})\0" % self.name).encode(), program)
        if ('"model":"%s"' % self.name).encode() in program or codes != [self.claim["code"].encode()]:
            fail("%s is not of the build of this program: build again, or `aidge plan FILE` of its build" % self.path)

    def _read(self, tensor, reader):
        """Returns a tensor that no layer writes: an input, a state, or another name for what an earlier layer wrote."""
        mine = self.spans(tensor.array, tensor.pieces, False)
        for number, layer in enumerate(self.layers[:reader]):
            for other in (self.tensors[fields["name"]] for fields in layer["outputs"]):
                if _meet(mine, self.spans(other.array, other.pieces, False)):
                    tensor.written = number
        return tensor

    def forget(self):
        """Drops the addresses, which hold while the program is stopped."""
        self._places, self._writes = {}, {}

    def known(self, array):
        """Returns the address of a part of the arena, of the state, or of an argument; None where it is not known here."""
        if array not in self._places:
            self._places[array] = self._address(array)
        return self._places[array]

    def _address(self, array):
        if array.startswith(("arena", "state")) and self.plan["options"]["arena"] == "static":
            return address_of("%s_%s" % (self.name, array))
        for frame in frames() if gdb.selected_thread() else ():
            name = frame.name() or ""
            try:
                is_ours = name.startswith(self.name + "_") and frame.pc() != address_of(name)  # there no argument is stored yet
                symbol = gdb.lookup_symbol(array, frame.block())[0] if is_ours else None
                value = symbol.value(frame) if symbol is not None and symbol.is_argument else None
                if value is not None and not value.is_optimized_out:
                    return int(value.cast(gdb.lookup_type("unsigned long")))
            except (RuntimeError, gdb.error):
                pass  # the function has no debug information
        owner = self.known("self") if array in ("arena", "state") else None
        return self.seen.get(array) if owner is None else _word(owner + _pointer_bytes() * ("arena", "state").index(array))

    def base(self, array):
        """Returns what `known` does, and fails where it is not known."""
        found = self.known(array)
        return fail("the address of %s is known after a stop at *%s: break there" % (array, self.run)) if found is None else found

    def remember(self):
        """Keeps the arguments of N_run while the program is at its first instruction."""
        self.forget()
        options, architecture = self.plan["options"], gdb.newest_frame().architecture().name()
        registers = next((names for name, names in _REGISTERS.items() if name in architecture), [])
        own = [] if options["arena"] == "static" else ["self" if self._has_instance() else "arena"]
        ports = self.plan["inputs"] + self.plan["outputs"] if options["io"] == "caller" else []
        names = own + [port["symbol"] for port in ports]
        self.seen = {name: number_of("$" + register) for name, register in zip(names, registers)}
        if "r0" in registers or "a0" in registers:  # the stack pointer is at the next arguments
            places = [number_of("$sp") + _pointer_bytes() * number for number in range(len(names) - len(registers))]
            self.seen.update(zip(names[len(registers) :], map(_word, places)))

    def _has_instance(self):
        return self.plan["state_bytes"] > 0 or self.is_in_pieces or self.plan["options"]["update"] != "none"

    def mark_state(self):
        """Says in N_state that it holds values, so that N_run does not begin with the initial ones."""
        size = self.plan["state_bytes"]
        end = max([state["offset_bytes"] + state["size_bytes"] for state in self.plan["states"]] or [0])
        if self.plan["options"]["arena"] == "static" and size >= -(-end // 4) * 4 + 4:
            gdb.selected_inferior().write_memory(self.base("state") + size - 4, b"\1")

    def spans(self, array, pieces, absolute=True):
        """Returns the (array, first, end) of bytes; the array is "" where its address is known."""
        start = self.known(array) if absolute else None
        name, start = (array, 0) if start is None else ("", start)
        return [(name, start + offset, start + offset + size) for offset, size in pieces]

    def writes(self, number):
        """Returns each thing that a layer writes: words for it, and its bytes."""
        if number not in self._writes:
            outputs = [self.tensors[fields["name"]] for fields in self.layers[number]["outputs"]]
            found = [("'%s'" % tensor.name, self.spans(tensor.array, tensor.pieces)) for tensor in outputs]
            arrays = {part["region"]: part["symbol"][len(self.name) + 1 :] for part in self.claim["arenas"]}
            for buffer in self.plan["buffers"]:
                if buffer["kind"] in ("scratch", "copy") and buffer["first"] <= number < buffer["last"]:
                    pieces = [(buffer["offset_bytes"], buffer["size_bytes"])]
                    found.append((buffer["name"], self.spans(arrays.get(buffer["region"], "arena"), pieces)))
            self._writes[number] = found
        return self._writes[number]

    def calls(self):
        """Returns (address of the call, address behind it, number of the layer) for the calls of layers in N_run."""
        if self.is_in_pieces:
            fail("%s computes in steps or by rows: break in a layer, and use `aidge diff`" % self.run)
        lines = gdb.execute("disassemble '%s'" % self.run, to_string=True).splitlines()
        parts = [re.match(r"(?:=>)?\s+0x([0-9a-f]+)[^:]*:\s(?:.*<_*([A-Za-z]\w*?)(?:_veneer)?>)?", line) for line in lines]
        parts = [(int(part.group(1), 16), part.group(2)) for part in parts if part]
        return [(at, after, self.functions[name]) for (at, name), (after, _) in zip(parts, parts[1:]) if name in self.functions]

    def running(self):
        """Returns the number of the layer that runs, and None, or None and the address at which N_run is; (None, None): neither.
        Where gdb loses the frames in assembly, the first return address on the stack in a function of the model tells."""
        found = [(frame.name() or "", frame.pc()) for frame in frames()]
        if not any(name in self.functions or name.startswith(self.run) or name == "main" for name, _ in found):
            found = [(_function_at(address), address) for address in _return_addresses()]
        for name, pc in found:
            if name in self.functions:
                return self.functions[name], None
            if re.match(self.run + "(_[0-9a-f]{12})?$", name):
                return None, pc
        return None, None

    def now(self):
        """Returns how many layers are complete, which are being computed, and words for it."""
        number, pc = self.running()
        if number is not None:
            chain, newest = self.chain_of.get(number, [number]), gdb.newest_frame()
            at_start = newest.name() in self.functions and chain == [number] and newest.type() == gdb.NORMAL_FRAME
            at_start = at_start and _has_written_nothing(newest)
            words = ("at the start of layer '%s'" if at_start else "in layer '%s'") % self.layers[number]["name"]
            return chain[0], [] if at_start else chain, words + (", which is computed by rows" if len(chain) > 1 else "")
        if pc is not None:
            calls = self.calls()
            if len(calls) < len(set(self.functions.values()) - set(self.chain_of)) and pc != address_of(self.run):
                fail("layers have no call in %s: %s" % (self.run, INLINED))
            done = max([self.chain_of.get(number, [number])[-1] + 1 for at, _, number in calls if at < pc] or [0])
            return done, [], "in %s, %d of %d layers complete" % (self.run, done, len(self.layers))
        if self.is_in_pieces:
            fail("it computes in steps or by rows: break in a layer")
        return len(self.layers), [], "no layer of %s is running: the last inference, if one has run" % self.name

    def lost(self, tensor, done, inside):
        """Returns why a tensor's values are not in memory; "" where they are."""
        if tensor.rows:
            return "only %s are in memory at a time" % tensor.rows.group(1)
        if tensor.written >= done:
            words = "being written by layer '%s'" if tensor.written in inside else "not written yet: layer '%s' does"
            return words % self.layers[tensor.written]["name"]
        mine = self.spans(tensor.array, tensor.pieces)
        for number in list(range(tensor.written + 1, done)) + [one for one in inside if one >= done]:
            for words, spans in self.writes(number):
                if _meet(mine, spans):
                    return "overwritten by layer '%s' (%s)" % (self.layers[number]["name"], words)
        return ""
