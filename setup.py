# SPDX-License-Identifier: MIT
"""Says which folders go into the wheel; everything else is in pyproject.toml.

`kernels/`, `boards/`, `site_scons/site_tools/`, the first example and the pages of `docs/` lie at the top of the checkout, where
a stranger looks for them. In the wheel they are data inside the package (`aidge_build/data/...`).
`aidge_build/base/installed.py` finds them in both.
"""

import gzip
import os
import tarfile

from setuptools import find_namespace_packages, setup
from setuptools.command.sdist import sdist

EXAMPLES = ("examples/digits", "examples/anomaly", "examples/keyword", "examples/zoo")  # the zoo, and the examples that it names
DATA = ("kernels", "boards", "site_scons/site_tools", *EXAMPLES, "integrations", "docs")


def data_packages() -> dict[str, str]:
    """Package name -> folder, for every folder of data."""
    packages = {}
    for top in DATA:
        for folder, subfolders, files in os.walk(top):
            subfolders[:] = sorted(name for name in subfolders if name != "__pycache__")
            if top == "docs":  # the pages alone
                subfolders.clear()
            if files:
                packages["aidge_build.data." + folder.replace(os.sep, "/").replace("/", ".")] = folder
    return packages


class SourceArchive(sdist):
    """Writes the same bytes for the same files: their order, owners, times and rights follow from names and SOURCE_DATE_EPOCH."""

    def make_archive(self, base_name, format, root_dir=None, base_dir=None, owner=None, group=None):
        """The .tar.gz of the folder `base_dir`; the only format."""
        time = int(os.environ["SOURCE_DATE_EPOCH"])
        files = sorted(os.path.join(folder, name) for folder, _, names in os.walk(base_dir) for name in names)
        with gzip.GzipFile(f"{base_name}.tar.gz", "wb", mtime=time) as packed, tarfile.open(fileobj=packed, mode="w") as archive:
            for name in files:
                entry = archive.gettarinfo(name)
                entry.mtime, entry.uid, entry.gid, entry.uname, entry.gname = time, 0, 0, "", ""
                entry.mode = 0o755 if entry.mode & 0o100 else 0o644
                with open(name, "rb") as content:
                    archive.addfile(entry, content)
        return f"{base_name}.tar.gz"


# The same files make the same wheel, byte for byte, whenever they were checked out: the earliest time that a zip file knows.
os.environ.setdefault("SOURCE_DATE_EPOCH", "315532800")

data = data_packages()
setup(
    cmdclass={"sdist": SourceArchive},
    packages=[*find_namespace_packages(include=["aidge_build", "aidge_build.*"]), *data],
    package_dir=data,
    package_data={"": ["*"]},
    exclude_package_data={"": ["*.pyc"], "aidge_build.data.docs": ["*.json", "*.toml"]},
    include_package_data=False,
)
