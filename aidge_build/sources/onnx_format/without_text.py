# SPDX-License-Identifier: MIT
"""Text becomes numbers while a file is read: a word is its place in a table, and firmware never sees a string.

Tensors of text that meet (Concat, Equal, Where) count the words of one table; a mapping (LabelEncoder, CategoryMapper) leads
from one table to another, or to numbers. So the class labels of a classifier are 0, 1, 2, ... in the order of its scores.
Inputs and outputs keep their tables (`ValueInfo.names`). In an input, a number that is no place in its table means a word that
the model does not know; that has a meaning if a word is only looked up, or compared with a word of the model. Everything else on
text is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.graph.dtype import DType
from aidge_build.graph.view import Node, topological
from aidge_build.sources.onnx_format.mapping import MAPPINGS, is_text, mapping_node, mapping_of
from aidge_build.sources.onnx_format.mapping import Mapping as Words
from aidge_build.sources.onnx_format.model import ML, ModelNode, OnnxModel, ValueInfo
from aidge_build.sources.onnx_format.tables import Tables
from aidge_build.sources.onnx_format.tensors import text_array

_STRING = 8  # the number of the element type in ONNX files
_ONE_HOT = f"{ML}::OneHotEncoder"
_HANDED_ON = (  # their first input; the others are places
    *"Identity Reshape Flatten Squeeze Unsqueeze Transpose Slice Split Gather GatherElements GatherND Expand Tile".split(),
    f"{ML}::ArrayFeatureExtractor",
)
_JOINED = {"Concat": 0, "Where": 1}  # from this input on
_CLASSES = {  # classifiers: their attribute of integer labels
    f"{ML}::LinearClassifier": "classlabels_ints",
    f"{ML}::SVMClassifier": "classlabels_ints",
    f"{ML}::TreeEnsembleClassifier": "classlabels_int64s",
}


_SHAPED = (*_HANDED_ON, *_JOINED, *_CLASSES, *MAPPINGS, _ONE_HOT, "Equal", "Cast")  # of one input and one output at least


def without_text(model: OnnxModel) -> OnnxModel:
    """The model in which every tensor holds numbers; AidgeError where text is more than looked up."""
    return _Texts(model).numbered() if _has_text(model) else model


def _has_text(model: OnnxModel) -> bool:
    return (
        any(value.holds == "text" for value in (*model.inputs, *model.outputs))
        or any(map(is_text, model.initializers.values()))
        or any(node.domain == ML or _constant(node) is not None or _to_text(node) for node in model.nodes)
    )


def _constant(node: ModelNode) -> numpy.ndarray | None:
    """The value of a Constant that holds text."""
    if node.full_type != "Constant" or not node.outputs:
        return None
    word, words, value = (node.attributes.get(kind) for kind in ("value_string", "value_strings", "value"))
    if isinstance(word, str):
        return text_array([word]).reshape(())
    if isinstance(words, tuple):
        return text_array(map(str, words))
    return value if isinstance(value, numpy.ndarray) and is_text(value) else None


def _to_text(node: ModelNode) -> bool:
    return node.full_type == "Cast" and node.attributes.get("to") == _STRING


def _classes(node: ModelNode) -> tuple[str, ...]:
    return _words(node, "classlabels_strings") if node.full_type in _CLASSES else ()


def _categories(node: ModelNode) -> tuple[str, ...]:
    return _words(node, "cats_strings")


def _words(node: ModelNode, attribute: str) -> tuple[str, ...]:
    words = node.attributes.get(attribute)
    return tuple(map(str, words)) if isinstance(words, tuple) else ()


class _Texts:
    """One model in progress: its tensors of text, each with the values that are known, and the tables of their words."""

    def __init__(self, model: OnnxModel):
        self._model = model
        self._tables = Tables()
        self._constants = {name: values for name, values in model.initializers.items() if is_text(values)}
        self._given = [value.name for value in model.inputs if value.holds == "text" and value.name not in self._constants]
        self._text = {*self._constants, *self._given}
        self._mappings: dict[int, Words] = {}

    def numbered(self) -> OnnxModel:
        """The model on numbers."""
        light = tuple(Node(str(node.index), node, node.inputs, tuple(filter(None, node.outputs))) for node in self._model.nodes)
        for node in (found.operator for found in topological(light)):
            try:
                self._follow(node)
            except AidgeError as error:
                raise error.within(node.where()) from None
        for name, values in self._constants.items():
            self._tables.enter(name, values.reshape(-1))  # also of constants that no node reads
        self._refuse_unknown_words()
        initializers = {
            name: self._numbers(name, values) if is_text(values) else values for name, values in self._model.initializers.items()
        }
        return replace(
            self._model,
            nodes=tuple(map(self._numbered_node, self._model.nodes)),
            initializers=initializers,
            inputs=tuple(map(self._value, self._model.inputs)),
            outputs=tuple(map(self._value, self._model.outputs)),
        )

    def _follow(self, node: ModelNode) -> None:
        """Notes which outputs are text, enters the words of the node, and joins the tables of tensors that meet there."""
        if node.full_type in _SHAPED and not (node.inputs and node.outputs):
            raise _refusal(f"it has {len(node.inputs)} inputs and {len(node.outputs)} outputs")
        read = [name for name in node.inputs if name in self._text]
        for name in read:
            self._tables.enter(name, self._constants.get(name, text_array(())).reshape(-1))
        constant = _constant(node)
        if constant is not None:
            self._constants[node.outputs[0]] = constant
            self._made(node.outputs[0], constant.reshape(-1))
        elif _classes(node):
            self._made(node.outputs[0], _classes(node))
        elif node.full_type in MAPPINGS:
            self._map(node, bool(read))
        elif _to_text(node) and not read:
            raise _refusal("numbers become text", "leave the Cast out: firmware reads the numbers")
        elif read:
            self._join(node, read)

    def _made(self, name: str, words) -> None:
        self._text.add(name)
        self._tables.enter(name, words)

    def _map(self, node: ModelNode, of_text: bool) -> None:
        mapping = self._mappings[node.index] = mapping_of(node, self._model.opsets.get(ML, 1), of_text)
        if is_text(mapping.keys) != of_text:
            raise _refusal(f"its keys are {'text' if is_text(mapping.keys) else 'numbers'}, its input is not")
        if of_text:
            self._tables.enter(node.inputs[0], mapping.keys)
        if is_text(mapping.values):
            self._made(node.outputs[0], [*mapping.values, *mapping.default])

    def _join(self, node: ModelNode, read: list[str]) -> None:
        kind = node.full_type
        outputs = [name for name in node.outputs if name]
        if kind in _HANDED_ON and node.inputs[0] in self._text or _to_text(node):
            self._tables.join((node.inputs[0], *outputs))
            self._text.update(outputs)
        elif kind in _JOINED and all(name in self._text for name in node.inputs[_JOINED[kind] :]):
            self._tables.join((*node.inputs[_JOINED[kind] :], *outputs))
            self._text.update(outputs)
        elif kind == "Equal" and len(read) == 2:
            if not any(name in self._constants for name in read):
                raise _refusal("it compares two texts that are both known at run time only")
            self._tables.join(read)
        elif kind == _ONE_HOT:
            self._tables.enter(read[0], _categories(node))
        else:
            raise _refusal(
                f"it works on the text '{read[0]}'", "text can be looked up: LabelEncoder, CategoryMapper, OneHotEncoder"
            )

    def _refuse_unknown_words(self) -> None:
        """An input's words are numbers that firmware chooses; no output may be one of them without a table that says so."""
        given = {self._tables.root(name): name for name in self._given}
        for value in self._model.outputs:
            if value.name in self._text and self._tables.root(value.name) in given:
                source = given[self._tables.root(value.name)]
                raise _refusal(f"graph output '{value.name}' hands out the text of the input '{source}'")

    def _value(self, value: ValueInfo) -> ValueInfo:
        if value.name not in self._text:
            if value.holds == "text":
                raise _refusal(f"graph output '{value.name}' is declared as text, but holds numbers")
            return value
        return replace(value, holds="numbers", dtype=DType.int64, names=self._tables.words(value.name))

    def _numbers(self, name: str, values: numpy.ndarray) -> numpy.ndarray:
        found = self._tables.places(name, values.reshape(-1)).reshape(values.shape)
        found.flags.writeable = False
        return found

    def _numbered_node(self, node: ModelNode) -> ModelNode:
        """The node as one on integers."""
        kind = node.full_type
        if _constant(node) is not None:
            return replace(node, attributes={"value": self._numbers(node.outputs[0], self._constants[node.outputs[0]])})
        if _to_text(node):
            return replace(node, op_type="Identity", attributes={}, opset=13)
        if _classes(node):
            places = self._tables.places(node.outputs[0], _classes(node))
            return _with(node, "classlabels_strings", _CLASSES[kind], places)
        if kind in MAPPINGS:
            return self._numbered_mapping(node)
        if kind == _ONE_HOT and node.inputs[0] in self._text:
            places = self._tables.places(node.inputs[0], _categories(node))
            return _with(node, "cats_strings", "cats_int64s", places)
        return node

    def _numbered_mapping(self, node: ModelNode) -> ModelNode:
        mapping = self._mappings[node.index]
        if is_text(mapping.keys):
            mapping = replace(mapping, keys=self._tables.places(node.inputs[0], mapping.keys))
        if is_text(mapping.values):
            values, default = (self._tables.places(node.outputs[0], words) for words in (mapping.values, mapping.default))
            mapping = replace(mapping, values=values, default=default)
        return mapping_node(node, mapping)


def _with(node: ModelNode, old: str, new: str, places: numpy.ndarray) -> ModelNode:
    attributes: Mapping = {name: value for name, value in node.attributes.items() if name != old}
    return replace(node, attributes={**attributes, new: tuple(map(int, places))})


def _refusal(what: str, hint: str = "") -> AidgeError:
    return AidgeError(what, hint=hint, code="TEXT")
