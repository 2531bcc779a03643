# SPDX-License-Identifier: MIT
"""ExportNodeCpp: a kernel in the template style, with a configuration, a forward text and files to copy."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from aidge_build.base.errors import AidgeError
from aidge_build.base.output import write_files
from aidge_build.base.render import names_in, render_from
from aidge_build.compat.attributes import IN_BYTES, Observed, ambiguous_attributes, node_attributes, same
from aidge_build.compat.data_conversion import datatype_converter_aidge2c as CONVERSION
from aidge_build.compat.export_node import ExportNode, derived
from aidge_build.compat.exported_files import INCLUDE, exported
from aidge_build.compat.inherited import clamp_of, with_bias
from aidge_build.compat.kernel_includes import Included, further_includes, package_folder
from aidge_build.compat.memory_in_text import counts_elements, memory_in
from aidge_build.compat.open_orders import in_one_order
from aidge_build.contract.call import Argument, Call, Constant, Input, Output
from aidge_build.contract.file_named import file_named
from aidge_build.contract.kernel_files import KernelFiles
from aidge_build.contract.mem_info import MemInfo, mem_info_of
from aidge_build.contract.spec import ANY, Demands, DFormat, IOSpec, NodeView, tensors_that_move
from aidge_build.graph.dtype import DType
from aidge_build.graph.tensor import Tensor

_UNDEFINED: Any = object()
_LOCAL_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"[ \t]*\n?', re.MULTILINE)
_OUTPUT_WRAP, _INPUT_WRAP = "mem_info_wrap_size", "in_mem_info_wrap_size"
_DEFINED = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.MULTILINE)


class Undefined(AidgeError):
    """A class does not define what it leaves to its base."""


class ExportNodeCpp(ExportNode):
    """A subclass sets these in its constructor (or as class attributes); "" and [] mean none, undefined is an error:

    `config_template`, `forward_template`: paths of Jinja templates, which get `attributes`;
    `include_list`: headers that the generated code includes; `kernels_to_copy`: files of kernels, included, too, by path or as
    `add_kernel_to_copy` notes them. `kernels_path`, `config_path` and `config_extension` say where `export` puts files.

    In the generated model the forward text is the body of a function. Its parameters are the documented `in_name` and
    `out_name` pointers, constants among them. A text that takes the pointer of its one output from a memory itself (`float *{{
    out_name[0] }} = (float *)mem + OFFSET;`) gets that memory as the parameter. The memory info then counts from it, and counts
    elements where the text adds to a pointer of the element's type, as here. `memory_name` says the memory's name where the text
    does not show it. Constants are stored row-major, with `parameter_format` in another order.

    A convolution or fully connected layer without a bias gets one of zeros, as the inherited operators always have it. The clamp
    that a recipe put into an operator is computed after the forward text, unless `handles` names "clamp".
    """

    config_template: str = _UNDEFINED
    forward_template: str = _UNDEFINED
    include_list: Sequence[str] = _UNDEFINED
    kernels_to_copy: Sequence[str | Mapping[str, Any]] = _UNDEFINED
    kernels_path: str = "include/kernels"
    config_path: str = "include/layers"
    config_extension: str = "h"
    memory_name: str = ""
    memory_counts_elements: bool = False  # whether the memory info that the text names counts elements, not bytes
    is_foreign: bool = False
    static_names: Collection[str] = ()  # the library's static files, by their places in an export
    parameter_format: DFormat = ANY
    static_paths: Collection[str] | None = None  # the static files of a folder that keeps exported files as they are

    def __init__(
        self,
        aidge_node: NodeView,
        mem_info: Sequence[MemInfo] | None = None,
        conversion_map: Mapping[DType, str] | int | None = CONVERSION,
    ):
        self._seen = aidge_node
        if self.memory_name:
            mem_info = [mem_info_of(tensor, 0) for tensor in aidge_node.outputs]
        self._given = aidge_node.node.inputs
        super().__init__(with_bias(aidge_node), mem_info, conversion_map)

    @classmethod
    def named_attributes(cls, view: NodeView) -> Collection[str]:
        """The attributes that the templates take from the node; a name to which the class gives another value is none."""
        node = cls(in_one_order(view), None)
        given = node_attributes(node.view, node.mem_info, node.conversion_map)
        return {name for name in node._names() & given.keys() if same(given[name], node.attributes[name])}

    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        """The demands of the kind, with the planes that the class knows."""
        return cls.knowing_planes(Demands(), view)

    @classmethod
    def knowing_planes(cls, demands: Demands, view: NodeView) -> Demands:
        """The demands with planes that wrap around, where the class's texts look at that: for its output by naming
        `mem_info_wrap_size`, for an input by `in_mem_info_wrap_size`, or by a macro of the tensor's name with `WRAP` in it."""
        node = cls(in_one_order(view), None)
        names = node._names()
        if not {_OUTPUT_WRAP, _INPUT_WRAP} & names or node.memory_name or node._memory():
            return demands
        texts = f"{node.config_text()}\n{node._text()}"
        planes = tuple(
            index
            for index in tensors_that_move(view.inputs)
            if _INPUT_WRAP in names or re.search(rf"\b{node.attributes['in_name'][index]}\w*WRAP", texts, re.IGNORECASE)
        )
        return replace(demands, output_wrap=_OUTPUT_WRAP in names, input_planes=planes)

    @classmethod
    def unwritten(cls, view: NodeView) -> str:
        """Returns why the class is not written for the node, as its constructor says by NotImplementedError or an assertion; ""
        when it is. A fault in the constructor or templates of a class that nobody can change (`is_foreign`) says so."""
        try:
            node = cls(in_one_order(view), None)
            missing = node._includes().missing
            if missing:
                return f"the library has no file {missing!r}, which the kernel includes"
            if len(view.outputs) > 1 and node._memory():
                return f"has {len(view.outputs)} outputs, the text of {cls.__name__} takes one from its memory"
            if cls.is_foreign:
                node._own_configuration()
        except Exception as error:
            if isinstance(error, Undefined) or not (cls.is_foreign or isinstance(error, NotImplementedError | AssertionError)):
                raise
            return f"{cls.__name__} is not written for it{f': {error}' if str(error) else ''}"
        return ""

    @classmethod
    def clamps_behind(cls, view: NodeView) -> bool:
        return not cls.demands(in_one_order(view)).output_stride

    def add_kernel_to_copy(self, kernel_path: str | Path, export_path: str = "include/kernels", fwd_include: bool = True) -> None:
        """Add a file of kernels to `kernels_to_copy`: where it goes below the export's folder, and whether the generated code
        includes it itself."""
        known = [] if self.kernels_to_copy is _UNDEFINED else list(self.kernels_to_copy)
        self.kernels_to_copy = [*known, {"src_path": str(kernel_path), "dst_path": export_path, "fwd_include": fwd_include}]

    def get_quantizers(self) -> list:
        """The Quantizers among the members of a meta-operator: none, as scales belong to tensors here."""
        return []

    def _kernel_files(self) -> list[tuple[str, str, bool]]:
        """The files of kernels: the path, the path below the export's folder, and whether the generated code includes it."""
        found = []
        for entry in self._defined("kernels_to_copy"):
            if not isinstance(entry, Mapping):
                entry = {"src_path": str(entry), "dst_path": self.kernels_path, "fwd_include": True}
            target = f"{entry['dst_path']}/{Path(entry['src_path']).name}"
            found.append((str(entry["src_path"]), target, bool(entry["fwd_include"])))
        return found

    def export(self, export_folder: str) -> list[str]:
        """Write the configuration and copy the kernels below `export_folder`; the paths to include, in the order of inclusion."""
        includes, root = list(self._defined("include_list")), Path(export_folder)
        for path, target, is_included in self._kernel_files():
            written = _write(root, target, self._files().read(path))
            includes += [written] if is_included else []
        config = self._own_configuration() if self._defined("config_template") else ""
        if config:
            name = f"{self.config_path}/{self.attributes['name']}.{self.config_extension}"
            includes.append(_write(root, name, config.encode()))
        return includes

    def forward(self) -> str:
        """The text of one forward pass."""
        return self._rendered("forward_template")

    def config_text(self) -> str:
        """The text of the configuration; "" when there is none."""
        return "" if self._is_left_out("config_template") else self._rendered("config_template")

    def call(self) -> Call:
        """The templates, or what a class's own `export` and `forward` give, as one function of the generated file."""
        memory = "" if self.memory_name else self._memory()
        if memory:
            return _with_memory(type(self), memory, counts_elements(self._text()))(self._seen, None).call()
        if self.static_paths is not None or self._exports_itself:
            return self._function(*self._exported())
        files = self._files()
        headers = [f"#include {name}" for name in self._defined("include_list") if name.startswith("<")]
        local = [name for name in self._defined("include_list") if not name.startswith("<")]
        brought = dict(self._includes().files)
        for path, target, is_included in self._kernel_files():
            if files.files is None:  # under its name in an export: no path of this machine
                brought[target] = files.read(path)
                path = target
            local += [path] if is_included else []
        config = self._own_configuration()
        local += _LOCAL_INCLUDE.findall(config)
        local = [files.located(name, brought) for name in local]
        brought |= files.brought([name for name in local if name not in brought])
        return self._function(headers, local, _LOCAL_INCLUDE.sub("", config), brought)

    def _exported(self) -> tuple[list[str], list[str], str, Mapping[str, bytes]]:
        """Returns the same for the files of `export`. If the folder keeps files, they are included from there, like static
        files."""
        made, headers, local = exported(self), list[str](), list[str]()
        for name in made.includes:
            path = made.path_of(name)
            if name.startswith("<"):
                headers.append(f"#include {name}")
            elif self.static_paths is not None and (path or file_named(self.static_paths, name)):
                headers.append(f"#include <{path.removeprefix(INCLUDE) or name}>")
            else:
                local.append(path or self._files().located(name))
        return headers, local, "", {**self._files().brought(local), **made.files}

    def _function(self, headers: list[str], local: list[str], config: str, brought: Mapping[str, bytes]) -> Call:
        """Returns the forward text as a function, after its headers and its configuration.

        AIDGE_FUNCTION keeps addresses of the arena and of constants out of the kernel. Known addresses make gcc -O2 spill in
        its loops: 23 % more instructions in LeNet through aidge_export_cpp 0.10.1 on a Cortex-M4.
        """
        function, text = f"{self.attributes['name']}_forward", self._text()
        parameters, conversions, arguments = self._parameters()
        lines = [
            *headers,
            *([config.strip("\n")] if config.strip() else []),
            f"static AIDGE_FUNCTION void {function}({', '.join(parameters)})",
            "{",
            *conversions,
            "\n".join(f"    {line}".rstrip() for line in (*text.strip("\n").split("\n"), *self._clamp())),
            "}",
        ]
        return Call(function, tuple(dict.fromkeys(local)), tuple(arguments), texts=("\n".join(lines),), files=brought)

    def _text(self) -> str:
        """The forward text; a class of its own may give it as a list of lines."""
        given = self.forward()
        return given if isinstance(given, str) else "\n".join(given)

    def _memory(self) -> str:
        """Returns the name that the forward text gives to the memory of its output; "" if the text takes the pointer as it is."""
        return memory_in(self._text(), {*self.attributes["in_name"], *self.attributes["out_name"]})

    @cached_property
    def attributes(self) -> dict:
        """Everything that a template may ask for."""
        found = super().attributes
        if self.memory_counts_elements:
            for side, tensors in (("in_", self.inputs), ("", self.outputs)):
                units = [tensor.dtype.size_bytes if tensor else 1 for tensor in tensors]
                for name in IN_BYTES:
                    key = f"{side}mem_info_{name}"
                    found[key] = [number // unit for number, unit in zip(found[key], units)]
        return found

    def _includes(self) -> Included:
        """The files that the kernels' files include and that nobody brings (`kernel_includes`)."""
        if self._files().files is not None or self._is_left_out("kernels_to_copy"):
            return Included({}, "")
        kernels = tuple((path, target) for path, target, _ in self._kernel_files())
        return further_includes(kernels, tuple(self.static_names), package_folder(type(self)))

    def _own_configuration(self) -> str:
        """Returns the configuration with everything that the forward text names. A template may leave the macros of an input to
        the configuration of the node that computes it, but here the function of a layer needs all of its macros."""
        config, text = self.config_text(), self._text()
        begins = tuple(f"{name.upper()}_" for name, tensor in zip(self.attributes["in_name"], self.inputs) if tensor is not None)
        wanted = {name for name in re.findall(r"\b[A-Z_][A-Z0-9_]*\b", text) if name.startswith(begins)}
        wraps = any(info is not None and info.wrap_size for info in self.view.in_mem_info)
        if not wraps and wanted - set(_DEFINED.findall(config)):
            self.attributes["in_node"] = [None] * len(self.inputs)
            config = self.config_text()
        return _DEFINED.sub(lambda found: f"#undef {found[1]}\n{found[0]}" if found[1].startswith(begins) else found[0], config)

    def _clamp(self) -> list[str]:
        """The lines that clamp the output in place; none where the operator does not clamp, or the class handles that."""
        bounds = [] if "clamp" in self.handles else clamp_of(self.view)
        if not bounds:
            return []
        name, kind = self.attributes["out_name"][0], self._c_type(self.outputs[0])
        info, unit = self.mem_info[0] if self.mem_info else None, self.outputs[0].dtype.size_bytes
        runs = [(0, self.outputs[0].elements)]
        if info is not None and info.wrap_size:
            beyond = (info.wrap_offset - info.offset) // unit
            runs = [(0, info.cont_size // unit), (beyond, beyond + info.wrap_size // unit)]
        found = list[str]()
        for first, end in runs:
            lines = [f"    if ({name}[i] {sign} ({kind}){bound!r}) {name}[i] = ({kind}){bound!r};" for sign, bound in bounds]
            found += [f"for (int i = {first}; i < {end}; i++) {{", *lines, "}"]
        return found

    def _parameters(self) -> tuple[list[str], list[str], list]:
        """Declarations, conversions to the types of `conversion_map`, and the arguments that fill the parameters."""
        declared, conversions, arguments, seen = [], [], [], set()
        sides = [(True, *entry) for entry in enumerate(zip(self.inputs, self.attributes["in_name"]))]
        sides += [(False, *entry) for entry in enumerate(zip(self.outputs, self.attributes["out_name"]))]
        for is_input, index, (tensor, name) in sides:
            if tensor is None or name in seen:
                continue
            seen.add(name)
            if self.memory_name and not is_input:
                if index:
                    raise AidgeError(f"a template with the memory '{self.memory_name}' has one output", code="LIBRARY")
                name = self.memory_name
            const, kind, wanted = "const " if is_input else "", tensor.dtype.c_type, self._c_type(tensor)
            if wanted != kind:
                conversions.append(f"    {const}{wanted} *{name} = ({const}{wanted} *){name}_stored;")
            declared.append(f"{const}{kind} *{name}" + ("_stored" if wanted != kind else ""))
            arguments.append(self._argument(tensor, index, is_input))
        return declared, conversions, arguments

    def _argument(self, tensor: Tensor, index: int, is_input: bool) -> Argument:
        """Returns the argument for a parameter; inputs are numbered as in the graph, without an added bias of zeros."""
        if tensor.is_constant:
            return self._constant(tensor, index)
        return Input(self._given.index(self.view.node.inputs[index])) if is_input else Output(index)

    def _c_type(self, tensor: Tensor) -> str:
        return self.conversion_map.get(tensor.dtype, tensor.dtype.c_type)

    def _constant(self, tensor: Tensor, index: int) -> Constant:
        output = self.outputs[0]
        if tensor.dims == output.dims and "ElementWiseBinary" in self.view.operator.kinds():
            order = output.storage
        else:
            order = IOSpec(format=self.parameter_format).format_for(tensor.rank)
        stored = tensor.with_(format=order) if order is not None else tensor
        return Constant(f"input_{index}", stored.to_stored(stored.data))

    def _names(self) -> set[str]:
        """Returns the names of attributes in the templates, and the attributes that the class's own code reads."""
        templates = (getattr(self, kind) for kind in ("config_template", "forward_template"))
        names = set[str]().union(*(self._names_in(path) for path in templates if isinstance(path, str) and path))
        own = type(self).forward is not ExportNodeCpp.forward or self._exports_itself
        return names | self._names_read() if own else names

    def _names_read(self) -> set[str]:
        """The attributes that a class's own code takes one by one from `attributes`."""
        seen = self.attributes = Observed(self.attributes)
        exported(self)
        self.forward()
        return seen.names

    def _rendered(self, attribute: str) -> str:
        template = self._defined(attribute)
        if not template:
            return ""
        path = self._files().locate(template)
        try:
            return render_from(self._reader(path), path, self.attributes)
        except AidgeError as error:
            error.hint = self._hint(error.what) or error.hint
            raise error.within(f"{type(self).__name__}: {Path(template).name}")

    def _names_in(self, template: str) -> set[str]:
        path = self._files().locate(template)
        return names_in(self._reader(path), path)

    def _reader(self, path: str) -> Callable[[str], str | None]:
        """Returns a function from the name of a template to its text, for the template at `path` and all that it includes."""
        files = self._files()
        return lambda name: files.text(name, path)

    def _hint(self, what: str) -> str:
        """Returns the names to use for an attribute that members of a meta-operator have with different values."""
        for name, others in ambiguous_attributes(self.view.operator).items():
            if f"'{name}'" in what:
                return f"its members differ in it: {', '.join(others)}"
        return ""

    @property
    def _exports_itself(self) -> bool:
        return type(self).export is not ExportNodeCpp.export

    def _is_left_out(self, attribute: str) -> bool:
        """Whether the attribute is undefined, and the class's own `export` does not need it."""
        return getattr(self, attribute) is _UNDEFINED and self._exports_itself

    def _defined(self, attribute: str):
        value = getattr(self, attribute)
        if value is _UNDEFINED:
            raise Undefined(
                f"{type(self).__name__} does not define {attribute}",
                where=self.node.where(),
                code="LIBRARY",
                hint="an empty string or list means that there is none",
            )
        return value

    def _files(self) -> KernelFiles:
        return KernelFiles.of(type(self))


def _write(root: Path, name: str, data: bytes) -> str:
    write_files({root / name: data})
    return name.removeprefix("include/")


@cache
def _with_memory(node_class: type[ExportNodeCpp], name: str, in_elements: bool) -> type[ExportNodeCpp]:
    """The class with the memory that its forward text shows."""
    return derived(node_class, {"memory_name": name, "memory_counts_elements": in_elements})
