# SPDX-License-Identifier: MIT
"""Commands of gdb that show and compare the tensors of a model where the program is: `help aidge` lists them.

gdb's own Python runs these files: Python 3.6 or later, its standard library, nothing of aidge_build. All knowledge about a model
is in N.plan.json, which is found by the program and must be of the same build.
"""

import os
import re
import sys

import gdb

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from aidge_plan import INLINED, Model, address_of, fail, frames, holds, index_of, number_of
from aidge_values import Reference, difference

_COLUMNS, _ROWS, _DEPTH = 12, 10, 3
_models = {}  # (program, its time) -> its models


def _all_models():
    program = gdb.current_progspace().filename or fail("gdb has no program: type `file app.elf`")
    key, top = (program, os.path.getmtime(program)), os.path.dirname(program)
    if key not in _models:
        with open(program, "rb") as file:
            names = {name.decode() for name in re.findall(rb"\0aidge_(\w+?)__code_[0-9a-f]{12}\0", file.read())}
        folders = [folder for folder, _, _ in os.walk(top) if folder[len(top) :].count(os.sep) <= _DEPTH]
        _models[key] = [Model(_plan_of(name, folders)) for name in sorted(names)]
    return _models[key] or fail("%s holds no model with a digest of its code: is it stripped?" % program)


def _plan_of(name, folders):
    """Returns the plan, which is next to N.c, or in a folder of the program."""
    symbol = gdb.lookup_global_symbol(name + "_run")  # with debug information
    generated = [os.path.dirname(symbol.symtab.fullname())] if symbol is not None and symbol.symtab is not None else []
    paths = [os.path.join(folder, name + ".plan.json") for folder in generated + folders]
    found = next((path for path in paths if os.path.isfile(path)), None)
    return found or fail("there is no %s.plan.json in the folders of the program: type `aidge plan FILE`" % name)


def _model():
    """Returns the model that runs, or the only one."""
    models = _all_models()
    names = [frame.name() or "" for frame in frames()] if len(models) > 1 else []
    running = [model for model in models if any(name.startswith(model.name + "_") for name in names)]
    return (models + running)[-1] if len(models) == 1 or running else fail("several models: stop in one, or `aidge plan FILE`")


def _is_at(address):
    return bool(gdb.selected_thread()) and gdb.newest_frame().pc() == address


def _stopped(event):
    """Keeps the arguments of N_run wherever the program stops at its first instruction."""
    del event
    for model in [model for models in _models.values() for model in models]:
        model.forget()
    try:
        if re.search(r"_run(_[0-9a-f]{12})?$", gdb.newest_frame().name() or ""):
            for model in [model for model in _all_models() if _is_at(address_of(model.run))]:
                model.remember()
    except (gdb.error, gdb.GdbError, OSError):
        pass  # the next command says it


def _continue_to(address):
    """Runs to an address; fails where the program stops elsewhere."""
    stop = gdb.Breakpoint("*0x%x" % address, internal=True)
    stop.silent = True
    try:
        gdb.execute("continue", to_string=True)
    except gdb.error as error:
        fail("the program ended, or its server did (%s): start it again" % error)
    finally:
        if stop.is_valid():
            stop.delete()
    if not _is_at(address):
        place = "in %s" % gdb.newest_frame().name() if gdb.selected_thread() else "at its end"
        fail("the program stopped elsewhere, %s" % place)


def _title(model, tensor):
    start = model.known(tensor.array)
    place = tensor.place if start is None else "at 0x%x" % (start + tensor.pieces[0][0])
    scale = ", scale %.9g, zero point %d" % (tensor.scale, tensor.zero) if tensor.scale else ""
    return "%s: %s %s, %d B %s%s" % (tensor.name, tensor.dtype, tensor.dims, tensor.bytes, place, scale)


def _named(model, name):
    """Returns the tensor with this name, or the first output of the layer."""
    if name in model.tensors:
        return model.tensors[name]
    for layer in model.layers:
        if name in (layer["name"], layer["symbol"]):
            return model.tensors[layer["outputs"][0]["name"]]
    return fail("there is no tensor or layer '%s': `aidge tensors all` lists them" % name)


def _numbers(text):
    """Returns the whole numbers with commas between them."""
    try:
        return [int(word) for word in text.split(",") if word]
    except ValueError:
        return fail("'%s' is no whole number, or several with commas between them" % text)


def plan(path):
    """Take the plan of the model from this file: aidge plan FILE."""
    found, program = Model(path), gdb.current_progspace().filename
    _models[program, os.path.getmtime(program)] = [found]
    print("%s: model %s, %d layers" % (path, found.name, len(found.layers)))


def tensors(which="here"):
    """List the tensors of the layer at which the program is, or of all layers: aidge tensors [all]."""
    model = _model()
    done, inside, words = model.now()
    here = inside or [min(done, len(model.layers) - 1)]
    ports = [fields["name"] for number in here for side in ("inputs", "outputs") for fields in model.layers[number][side]]
    print(words)
    for tensor in sorted(model.tensors.values(), key=lambda one: one.written):
        if which == "all" or tensor.name in ports:
            print("  %s; %s" % (_title(model, tensor), model.lost(tensor, done, inside) or "in memory"))


def show(name, index=""):
    """Print the values of a tensor, or of a layer's output, in the order of the model: aidge show NAME [INDEX,INDEX,...]."""
    model = _model()
    tensor = _named(model, name)
    reason = model.lost(tensor, *model.now()[:2])
    if reason:
        fail("'%s' is %s" % (tensor.name, reason))
    values, length = tensor.values(model), (tensor.dims or [1])[-1]
    wanted = _numbers(index)
    beginning = len(wanted[: len(tensor.dims) - 1])
    rows = [at for at in range(0, len(values), length or 1) if index_of(at, tensor.dims)[:beginning] == wanted[:beginning]]
    if not rows:
        fail("'%s' has no rows that begin with %s: its dims are %s" % (tensor.name, wanted, tensor.dims))
    print(_title(model, tensor))
    for at in rows[:_ROWS]:
        some = values[at : at + length]
        print("  [%s:] %s" % ("".join("%d," % one for one in index_of(at, tensor.dims)[:-1]), _row(some, "%.9g")))
        if tensor.scale:
            print("     real %s" % _row([(value - tensor.zero) * tensor.scale for value in some], "%.4g"))
    if len(rows) > _ROWS:
        print("  ... %d more rows; `aidge show NAME INDEX,...` prints the rows that begin so" % (len(rows) - _ROWS))


def _row(values, form):
    half = _COLUMNS // 2
    parts = [values] if len(values) <= _COLUMNS else [values[:half], values[-half:]]
    return " ... ".join(" ".join(form % value for value in part) for part in parts)


def diff(path, vector=""):
    """Compare every tensor that is in memory now with the values of a file: aidge diff F.npz [VECTOR].

    `aidge-build verify MODEL --io-data F.npz --layer-values VALUES.npz` writes it. Without VECTOR it is the one with the inputs
    that the program has. $aidge_differing is the number of tensors that differ.
    """
    model = _model()
    reference, (done, inside, words) = Reference(path, model), model.now()
    chosen = _numbers(vector)[0] if vector else reference.vector(model, done, inside)
    print("%s; vector %d" % (words, chosen))
    there = [tensor for tensor in reference.tensors if not model.lost(tensor, done, inside)]
    differing = [tensor for tensor in there if _compared(model, reference, tensor, chosen)]
    gdb.set_convenience_variable("aidge_differing", len(differing))
    counts = len(there) - len(differing), len(there), len(reference.tensors) - len(there)
    print("%d of %d tensors in memory are equal; %d are not in memory now" % counts)


def _compared(model, reference, tensor, vector):
    """Prints how a tensor differs from the reference, and returns whether it does."""
    words = difference(tensor, tensor.values(model), reference.values(tensor, vector))
    if words:
        writer = "layer '%s'" % model.layers[tensor.written]["name"] if tensor.written >= 0 else "before the inference"
        print("  %s (%s): %s" % (tensor.name, writer, words))
    return bool(words)


def feed(path, vector="0"):
    """Write the inputs and states of a vector, at the first instruction of N_run: aidge feed F.npz [VECTOR]."""
    model, (number,) = _model(), _numbers(vector)
    if not _is_at(address_of(model.run)):
        fail("inputs are written at the first instruction of %s: `break *%s`, and continue" % (model.run, model.run))
    reference = Reference(path, model)
    given = [tensor for tensor in reference.tensors if tensor.written < 0]
    for tensor in [tensor for tensor in given if tensor.rows]:
        fail("'%s' comes by rows: aidge feed writes whole inputs" % tensor.name)
    for tensor in given:
        tensor.write(model, reference.values(tensor, number))
    model.mark_state()
    print("vector %s of %d: %s" % (vector, reference.count, ", ".join(tensor.name for tensor in given)))


def layers(path, vector="0"):
    """Feed a vector to the next inference, and stop behind the first layer that differs: aidge layers F.npz [VECTOR].

    Each layer is compared when it returns. A model with states begins with the states of the vector. The file is the one of
    `aidge diff`, and $aidge_differing is set, too.
    """
    model = _model()
    reference, run, (number,) = Reference(path, model), address_of(model.run), _numbers(vector)
    if not _is_at(run):
        _continue_to(run)
    feed(path, vector)
    calls = model.calls() or fail("%s has no calls of layers: %s" % (model.run, INLINED))
    computed, differing = 0, 0
    for _, after, call in calls:
        _continue_to(after)
        done, inside, words = model.now()
        chain = model.chain_of.get(call, [call])
        mine = [tensor for tensor in reference.tensors if tensor.written in chain and not model.lost(tensor, done, inside)]
        differing = sum(_compared(model, reference, tensor, number) for tensor in mine)
        if differing:
            print("stopped behind the first layer that differs: %s" % words)
            break
        computed += len(chain)
    gdb.set_convenience_variable("aidge_differing", differing)
    if not differing:
        print("vector %s: %d of %d layers are equal" % (vector, computed, len(model.layers)))
        if computed < len(model.layers):
            print("%d layers have no call in %s: %s" % (len(model.layers) - computed, model.run, INLINED))


def arena(address):
    """List what the plan keeps at an address, in the order of the layers: aidge arena ADDRESS."""
    model, at = _model(), number_of("(%s)" % address)
    done, inside, words = model.now()
    print(words)
    lines = []
    for tensor in sorted(model.tensors.values(), key=lambda one: one.written):
        if holds(model.spans(tensor.array, tensor.pieces), at):
            starts = [] if tensor.rows else tensor.addresses(model)
            element = [index_of(each, tensor.dims) for each, start in enumerate(starts) if 0 <= at - start < tensor.width]
            state = model.lost(tensor, done, inside) or "in memory"
            lines.append("  %s; %s" % (" ".join(map(str, [tensor.name] + element)), state))
    for number, layer in enumerate(model.layers):
        for what in [what for what, spans in model.writes(number) if not what.startswith("'") and holds(spans, at)]:
            lines.append("  %s, during layer '%s'" % (what, layer["name"]))
    print("\n".join(lines) or "  the plan keeps nothing at 0x%x" % at)


class _Watch(gdb.Breakpoint):
    """A watchpoint that says which layer writes, and whether the plan lets it."""

    def __init__(self, model, address):
        self.model, self.address = model, address & ~3
        super().__init__("*(unsigned int *)0x%x" % self.address, gdb.BP_WATCHPOINT, gdb.WP_WRITE)

    def stop(self):
        """Prints who wrote."""
        number = self.model.running()[0]
        writes = self.model.writes(number) if number is not None else []
        planned = [what for what, spans in writes if holds(spans, self.address, 4)]
        if planned:
            print("written by layer '%s', as planned: %s" % (self.model.layers[number]["name"], planned[0]))
        else:
            print("written by %s: the plan lets no layer that runs now write there" % gdb.newest_frame().name())
        return True


def watch(name, index=""):
    """Stop when the word with an element of a tensor changes: aidge watch NAME [INDEX,INDEX,...].

    It prints the layer that wrote, and whether the plan lets it. It is a watchpoint of the core: DMA does not trigger it.
    """
    model = _model()
    tensor = _named(model, name)
    wanted = _numbers(index) or [0] * len(tensor.dims)
    elements = [index_of(at, tensor.dims) for at in range(tensor.bytes // tensor.width)]
    if wanted not in elements:
        fail("'%s' has no element %s: its dims are %s" % (tensor.name, wanted, tensor.dims))
    _Watch(model, tensor.addresses(model)[elements.index(wanted)])


class _Command(gdb.Command):
    """A command, and the function that does it."""

    def __init__(self, function):
        self.function, self.__doc__ = function, function.__doc__
        super().__init__("aidge " + function.__name__, gdb.COMMAND_DATA, gdb.COMPLETE_FILENAME)

    def invoke(self, argument, from_tty):
        """Calls the function with the words."""
        del from_tty
        words, code = gdb.string_to_argv(argument), self.function.__code__
        if not code.co_argcount - len(self.function.__defaults__ or ()) <= len(words) <= code.co_argcount:
            fail("type `help aidge %s`" % self.function.__name__)
        try:
            self.function(*words)
        except (gdb.error, ValueError, OSError) as error:
            fail(str(error))


class _Commands(gdb.Command):
    """Tensors of a model that aidge-build compiled: their places, values, and differences from numpy."""

    def __init__(self):
        super().__init__("aidge", gdb.COMMAND_DATA, gdb.COMPLETE_NONE, True)

    def invoke(self, argument, from_tty):
        """Lists the commands."""
        del from_tty
        gdb.execute("help aidge")
        if argument:
            fail("there is no command 'aidge %s'" % argument)


_Commands()
for _each in (plan, tensors, show, diff, feed, layers, arena, watch):
    _Command(_each)
gdb.events.stop.connect(_stopped)
