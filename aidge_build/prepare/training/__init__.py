# SPDX-License-Identifier: MIT
"""Training on the numpy backend: gradient descent on a graph that ends in a loss. The generator imports nothing of this."""

from aidge_build.prepare.training.aware import QuantizedTraining, coarser
from aidge_build.prepare.training.batches import batches
from aidge_build.prepare.training.descent import SGD, Adam, Optimizer
from aidge_build.prepare.training.fit import fit, train_step
from aidge_build.prepare.training.initial import glorot, he, orthogonal
from aidge_build.prepare.training.prune import pruned

__all__ = [
    "SGD",
    "Adam",
    "Optimizer",
    "QuantizedTraining",
    "batches",
    "coarser",
    "fit",
    "glorot",
    "he",
    "orthogonal",
    "pruned",
    "train_step",
]
