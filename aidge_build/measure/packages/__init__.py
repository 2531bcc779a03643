# SPDX-License-Identifier: MIT
"""A model as a package that users of an ecosystem import as usual. A target is a folder here; docs/packages.md is the guide."""

from aidge_build.measure.packages.making import Package, make_package
from aidge_build.measure.packages.publication import Publication
from aidge_build.measure.packages.target import Target, load_target, targets

__all__ = ["Package", "Publication", "Target", "load_target", "make_package", "targets"]
