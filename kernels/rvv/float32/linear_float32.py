# SPDX-License-Identifier: MIT
"""float32 convolutions and fully connected layers: vectors of outputs, with the texts of integers' blocks."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Call
from aidge_build.contract.kernel_kit.linear_float32 import LinearFloat32, linear_float_spec
from aidge_build.contract.kernel_kit.packing import taps_last_channels
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import ROW_MAJOR

from ..core.assembly import WITH_FLOATS
from ..core.conditions import MANY_CHANNELS
from ..core.floats import Floats
from ..sums.conv2d_int8 import ONE_DENSE_GROUP, Convolution
from ..sums.fc_int8 import FullyConnected
from ..windows.depthwise_int8 import Depthwise


class _Layer(LinearFloat32):
    def floats(self, rows: numpy.ndarray) -> Floats:
        """Returns the layer with weights [outputs, taps]."""
        return Floats(rows, self.bias(), (self.operator.minimum, self.operator.maximum))


@kernel(("Conv1D", "Conv2D"), linear_float_spec(WITH_FLOATS, MANY_CHANNELS, *ONE_DENSE_GROUP))
class Conv2dFloat32(Convolution, _Layer):
    def call(self) -> Call:
        return self.layer(self.floats(taps_last_channels(self.inputs[1].data)))


@kernel(("ConvDepthWise1D", "ConvDepthWise2D"), linear_float_spec(WITH_FLOATS, MANY_CHANNELS))
class DepthwiseFloat32(Depthwise, _Layer):
    def call(self) -> Call:
        weights = self.inputs[1].data
        return self.layer(self.floats(weights.reshape(len(weights), -1)).of(self.outputs_of_pixel()))


@kernel("FC", linear_float_spec(WITH_FLOATS, MANY_CHANNELS, form=ROW_MAJOR))
class FcFloat32(FullyConnected, _Layer):
    def call(self) -> Call:
        return self.layer(self.floats(self.inputs[1].data))
