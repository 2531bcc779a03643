# SPDX-License-Identifier: MIT
"""What the kernels of an LSTM with states as inputs and outputs share."""

from __future__ import annotations

from aidge_build.contract.call import Struct
from aidge_build.contract.node import KernelNode
from aidge_build.contract.spec import Demands, NodeView

HIDDEN, CELL = 4, 5  # places among the inputs; the next cell is output 0


class LstmNode(KernelNode):
    """Each value of the cell is read before its next one is written, so that this may take its bytes."""

    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        return Demands(in_place=(CELL,))

    def shape(self) -> Struct:
        """The struct of lstm_shape.h."""
        data, cell, operator = self.inputs[0], self.inputs[CELL], self.operator
        (batches, steps), inputs, units = operator.batch_and_steps(data.dims), data.dims[2], cell.dims[1]
        fields = {"batches": batches, "steps": steps, "inputs": inputs, "units": units}
        for name, size in (("in", inputs), ("out", units)):
            time, batch = (batches * size, size) if operator.time_first else (size, steps * size)
            fields |= {f"{name}_time": time, f"{name}_batch": batch}
        return Struct("aidge_ref_lstm_shape", fields)
