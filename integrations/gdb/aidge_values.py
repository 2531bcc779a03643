# SPDX-License-Identifier: MIT
"""The values that tensors must have, in gdb: a file that `aidge-build verify --layer-values` writes."""

import ast
import hashlib
import json
import struct
import zipfile

from aidge_plan import fail, index_of

_TOLERANCE = 1e-4  # of floats, relative to the largest value of the tensor: as in `aidge-build verify`
_MOST_BYTES = 512 << 20


class Reference:
    """The file of `aidge-build verify --layer-values`: the values of inputs, states and layers for several vectors."""

    def __init__(self, path, model):
        self.path = path
        try:
            with zipfile.ZipFile(path) as archive:
                if sum(member.file_size for member in archive.infolist()) > _MOST_BYTES:
                    raise ValueError("its arrays are too large")
                self.arrays = {name[:-4]: _array(archive.read(name)) for name in archive.namelist()}
            head = json.loads(self.arrays.pop("aidge", ("", (), b"null"))[2].decode())
        except Exception as error:  # zipfile, zlib and ast raise errors of a dozen types for damaged files
            fail("%s is no whole NPZ file: %s" % (path, error))
        if not isinstance(head, dict):
            fail("%s has no values of layers: aidge-build verify MODEL --io-data %s --layer-values F.npz" % (path, path))
        layers = "".join("%(name)s %(constants_sha256)s\n" % layer for layer in model.layers)
        digests = [model.plan["model_sha256"], hashlib.sha256(layers.encode()).hexdigest()]
        if [head.get("model_sha256"), head.get("layers_sha256")] != digests:
            fail("%s is of another model, board or options than %s: make it with the options of this build" % (path, model.name))
        self.tensors = sorted((model.tensors[name] for name in self.arrays if name in model.tensors), key=lambda one: one.written)
        self.count = min(len(self.arrays[tensor.name][1]) and self.arrays[tensor.name][1][0] for tensor in self.tensors)

    def values(self, tensor, vector):
        """Returns the values that a tensor must have."""
        kind, _, data = self.arrays[tensor.name]
        if kind != tensor.dtype[0] + str(tensor.width) or len(data) != self.count * tensor.bytes or not 0 <= vector < self.count:
            fail("%s has no vector %d of '%s': it has vectors 0 to %d" % (self.path, vector, tensor.name, self.count - 1))
        return struct.unpack_from("<%d%s" % (tensor.bytes // tensor.width, tensor.code), data, vector * tensor.bytes)

    def vector(self, model, done, inside):
        """Returns the number of the vector with the inputs that the program has."""
        names = {port["name"] for port in model.plan["inputs"]}
        given = [tensor for tensor in self.tensors if tensor.name in names and not model.lost(tensor, done, inside)]
        if not given:
            fail("the inputs are not in memory any more: name the vector that the program got, 0 to %d" % (self.count - 1))
        got = [(tensor, tuple(tensor.values(model))) for tensor in given]
        for vector in range(self.count):
            if all(difference(tensor, values, self.values(tensor, vector)) == "" for tensor, values in got):
                return vector
        return fail("the inputs are no vector of %s: `aidge feed %s 0` at *%s writes one" % (self.path, self.path, model.run))


def _array(data):
    """Returns the type, the dims and the bytes of an array as numpy writes it."""
    start = 10 if data[6:7] == b"\x01" else 12
    end = start + struct.unpack("<H" if start == 10 else "<I", data[8:start])[0]
    head = ast.literal_eval(data[start:end].decode("latin-1"))
    size = int(head["descr"][2:])
    for dim in head["shape"]:
        size *= dim
    if data[:6] != b"\x93NUMPY" or head["fortran_order"] or head["descr"][0] not in "<|" or size != len(data) - end:
        raise ValueError("an array is cut, or in another order")
    return head["descr"][1:], head["shape"], data[end:]


def difference(tensor, got, wanted):
    """Returns how values differ in words, "" where they are equal: integers to the last bit, floats within the tolerance."""
    largest = max([abs(value) for value in wanted if abs(value) < float("inf")] or [0]) if tensor.code in "efd" else 0
    limit = _TOLERANCE * largest
    wrong = [at for at, (a, b) in enumerate(zip(got, wanted)) if not (a == b or abs(a - b) <= limit or (a != a and b != b))]
    if not wrong:
        return ""
    at, most = wrong[0], max(abs(got[each] - wanted[each]) for each in wrong)
    words = "%d of %d values differ by up to %.9g; the first is %s: %.9g instead of %.9g"
    return words % (len(wrong), len(got), most, index_of(at, tensor.dims), got[at], wanted[at])
