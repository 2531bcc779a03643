# SPDX-License-Identifier: MIT
"""ExportNodeCpp: a kernel in the template style, with a configuration, a forward text and files to copy."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from aidge_build.compat.attributes import ambiguous_attributes, node_attributes, same
from aidge_build.compat.export_node import ExportNode
from aidge_build.compat.inherited import clamp_of, with_bias
from aidge_build.contract.call import Argument, Call, Constant, Input, Output
from aidge_build.contract.kernel_files import KernelFiles
from aidge_build.contract.mem_info import MemInfo, mem_info_of
from aidge_build.contract.spec import ANY, DFormat, IOSpec, NodeView
from aidge_build.errors import AidgeError
from aidge_build.graph.dtype import C_TYPES, DType
from aidge_build.graph.tensor import Tensor
from aidge_build.output import write_files
from aidge_build.render import names_in, render_from

_UNDEFINED: Any = object()
_LOCAL_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"[ \t]*\n?', re.MULTILINE)


class ExportNodeCpp(ExportNode):
    """A subclass sets these in its constructor (or as class attributes); "" and [] mean none, undefined is an error:

    `config_template`, `forward_template`: paths of Jinja templates, which get `attributes`;
    `include_list`: headers that the generated code includes; `kernels_to_copy`: files of kernels, included, too.
    `kernels_path`, `config_path` and `config_extension` say where `export` puts files.

    In the generated model the forward text is the body of a function. Its parameters are the documented `in_name` and
    `out_name` pointers, constants among them. A text that takes the pointer of its one output from a memory itself (`float *{{
    out_name[0] }} = (float *)mem + OFFSET;`) has `memory_name = "mem"`: that is then the parameter, and the memory info counts
    from it. Constants are stored row-major, with `parameter_format` in another order (`dformat.channels_last`).

    A convolution or fully connected layer without a bias gets one of zeros, as the inherited operators always have it. The clamp
    that a recipe put into an operator is computed after the forward text, unless `handles` names "clamp".
    """

    config_template: str = _UNDEFINED
    forward_template: str = _UNDEFINED
    include_list: Sequence[str] = _UNDEFINED
    kernels_to_copy: Sequence[str] = _UNDEFINED
    kernels_path: str = "include/kernels"
    config_path: str = "include/layers"
    config_extension: str = "h"
    memory_name: str = ""
    parameter_format: DFormat = ANY

    def __init__(
        self, aidge_node: NodeView, mem_info: Sequence[MemInfo] | None = None, conversion_map: Mapping[DType, str] = C_TYPES
    ):
        if self.memory_name:
            mem_info = [mem_info_of(tensor, 0) for tensor in aidge_node.outputs]
        self._given = aidge_node.node.inputs
        super().__init__(with_bias(aidge_node), mem_info, conversion_map)

    @classmethod
    def named_attributes(cls, view: NodeView) -> Collection[str]:
        """The attributes that the templates take from the node; a name to which the class gives another value is none."""
        node = cls(_in_one_order(view), None)
        given = node_attributes(node.view, node.mem_info, node.conversion_map)
        templates = (getattr(node, kind) for kind in ("config_template", "forward_template"))
        names = set[str]().union(*(node._names_in(path) for path in templates if isinstance(path, str) and path))
        return {name for name in names & given.keys() if same(given[name], node.attributes[name])}

    @classmethod
    def clamps_behind(cls, view: NodeView) -> bool:
        demands = cls.demands(_in_one_order(view))
        return not (demands.output_stride or demands.output_wrap)

    def export(self, export_folder: str) -> list[str]:
        """Write the configuration and copy the kernels below `export_folder`; the paths to include, in the order of inclusion."""
        includes, root = list(self._defined("include_list")), Path(export_folder)
        for kernel in self._defined("kernels_to_copy"):
            includes.append(_write(root, f"{self.kernels_path}/{Path(kernel).name}", self._files().read(kernel)))
        config = self.config_text()
        if config:
            includes.append(
                _write(root, f"{self.config_path}/{self.attributes['name']}.{self.config_extension}", config.encode())
            )
        return includes

    def forward(self) -> str:
        """The text of one forward pass."""
        return self._rendered("forward_template")

    def config_text(self) -> str:
        """The text of the configuration; "" when there is none."""
        return self._rendered("config_template")

    def call(self) -> Call:
        """The templates as one function of the generated file."""
        files, function = self._files(), f"{self.attributes['name']}_forward"
        local, headers = [], []
        for name in (*self._defined("include_list"), *self._defined("kernels_to_copy")):
            if name.startswith("<"):
                headers.append(f"#include {name}")
            else:
                local.append(files.locate(name))
        config = self.config_text()
        local += [files.locate(name) for name in _LOCAL_INCLUDE.findall(config)]
        config = _LOCAL_INCLUDE.sub("", config)
        parameters, conversions, arguments = self._parameters()
        text = self.forward().strip("\n").split("\n")
        body = "\n".join(f"    {line}".rstrip() for line in (*text, *self._clamp()))
        lines = [
            *headers,
            *([config.strip("\n")] if config.strip() else []),
            f"static void {function}({', '.join(parameters)})",
            "{",
            *conversions,
            body,
            "}",
        ]
        return Call(
            function, tuple(dict.fromkeys(local)), tuple(arguments), texts=("\n".join(lines),), files=files.brought(local)
        )

    def _clamp(self) -> list[str]:
        """The lines that clamp the output in place; none where the operator does not clamp, or the class handles that."""
        bounds = [] if "clamp" in self.handles else clamp_of(self.view)
        if not bounds:
            return []
        name, kind = self.attributes["out_name"][0], self._c_type(self.outputs[0])
        lines = [f"    if ({name}[i] {sign} ({kind}){bound!r}) {name}[i] = ({kind}){bound!r};" for sign, bound in bounds]
        return [f"for (int i = 0; i < {self.outputs[0].elements}; i++) {{", *lines, "}"]

    def _parameters(self) -> tuple[list[str], list[str], list]:
        """Declarations, conversions to the types of `conversion_map`, and the arguments that fill the parameters."""
        declared, conversions, arguments, seen = [], [], [], set()
        sides = [(True, index, tensor, name) for index, (tensor, name) in enumerate(zip(self.inputs, self.attributes["in_name"]))]
        sides += [
            (False, index, tensor, name) for index, (tensor, name) in enumerate(zip(self.outputs, self.attributes["out_name"]))
        ]
        for is_input, index, tensor, name in sides:
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
        """What fills a parameter; inputs count as in the graph, where no bias of zeros was added."""
        if tensor.is_constant:
            return self._constant(tensor, index)
        return Input(self._given.index(self.view.node.inputs[index])) if is_input else Output(index)

    def _c_type(self, tensor: Tensor) -> str:
        return self.conversion_map.get(tensor.dtype, tensor.dtype.c_type)

    def _constant(self, tensor: Tensor, index: int) -> Constant:
        order = IOSpec(format=self.parameter_format).format_for(tensor.rank)
        stored = tensor.with_(format=order) if order is not None else tensor
        return Constant(f"input_{index}", stored.to_stored(stored.data))

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
        """The texts of the template at `path`, and of those that it includes."""
        files = self._files()
        return lambda name: files.text(name, path)

    def _hint(self, what: str) -> str:
        """Which names to use for an attribute that members of a meta-operator have with different values."""
        for name, others in ambiguous_attributes(self.view.operator).items():
            if f"'{name}'" in what:
                return f"its members differ in it: {', '.join(others)}"
        return ""

    def _defined(self, attribute: str):
        value = getattr(self, attribute)
        if value is _UNDEFINED:
            raise AidgeError(
                f"{type(self).__name__} does not define {attribute}",
                where=self.node.where(),
                code="LIBRARY",
                hint="an empty string or list means that there is none",
            )
        return value

    def _files(self) -> KernelFiles:
        return KernelFiles.of(type(self))


def _in_one_order(view: NodeView) -> NodeView:
    """The node with the first storage order that each tensor may get, as constructors see it."""

    def ordered(tensor: Tensor) -> Tensor:
        return tensor if tensor.is_constant else tensor.with_(format=tensor.orders[0])

    inputs = tuple(None if tensor is None else ordered(tensor) for tensor in view.inputs)
    return replace(view, inputs=inputs, outputs=tuple(map(ordered, view.outputs)))


def _write(root: Path, name: str, data: bytes) -> str:
    write_files({root / name: data})
    return name.removeprefix("include/")
