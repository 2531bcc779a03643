# SPDX-License-Identifier: MIT
"""Says which folders go into the wheel; everything else is in pyproject.toml.

`kernels/`, `boards/`, `site_scons/site_tools/` and the first example lie at the top of the checkout, where a stranger looks
for them. In the wheel they are data inside the package (`aidge_build/data/...`); `aidge_build/installed.py` finds them in both.
"""

import os

from setuptools import find_namespace_packages, setup

DATA = ("kernels", "boards", "site_scons/site_tools", "examples/digits", "integrations")


def data_packages() -> dict[str, str]:
    """Package name -> folder, for every folder of data."""
    packages = {}
    for top in DATA:
        for folder, subfolders, files in os.walk(top):
            subfolders[:] = sorted(name for name in subfolders if name != "__pycache__")
            if files:
                packages["aidge_build.data." + folder.replace(os.sep, "/").replace("/", ".")] = folder
    return packages


# The same files make the same wheel, byte for byte, whenever they were checked out: the earliest time that a zip file knows.
os.environ.setdefault("SOURCE_DATE_EPOCH", "315532800")

data = data_packages()
setup(
    packages=[*find_namespace_packages(include=["aidge_build", "aidge_build.*"]), *data],
    package_dir=data,
    package_data={"": ["*"]},
    exclude_package_data={"": ["*.pyc"]},
    include_package_data=False,
)
