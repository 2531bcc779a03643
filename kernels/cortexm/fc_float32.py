# SPDX-License-Identifier: MIT
"""float32 fully connected layer, 8 outputs at a time."""

from __future__ import annotations

from aidge_build.backend.spec import ROW_MAJOR, NodeView, Predicate
from aidge_build.export.call import Call, Input, Literal, Output, computed
from aidge_build.export.node import kernel

from .float32 import LinearFloat32, float_spec, row_text

OUTPUTS = 8


def _few(view: NodeView) -> str:
    count = view.inputs[1].dims[0]
    return "" if count >= OUTPUTS else f"{count} outputs, wants at least {OUTPUTS}"


@kernel("FC", float_spec(Predicate("at least 8 outputs", _few), form=ROW_MAJOR))
class FcFloat32(LinearFloat32):
    def call(self) -> Call:
        stream = self.stream(self.inputs[1].data, OUTPUTS)
        outputs, features = self.inputs[1].dims
        numbers = (self.inputs[0].dims[0], features, outputs, stream.values.size)
        return Call("aidge_cortexm_fc_f32", ("fc_float32.h",), (Input(0), Output(0), stream, self.limits(),
                                                                *map(Literal, numbers)),
                    texts=(row_text(),), facts=computed("1 row x 8 outputs"))
