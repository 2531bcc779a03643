# SPDX-License-Identifier: MIT
"""Prints a program as C: the interface, the code, the constants, and the manifest. Pure: the same program, the same bytes."""

from __future__ import annotations

from aidge_build.base.source_files import Sources
from aidge_build.build.emit.claim import claim_of
from aidge_build.build.emit.code import code_of, used_kernels
from aidge_build.build.emit.functions import functions_of
from aidge_build.build.emit.header import header_of
from aidge_build.build.emit.integrity import digest_array
from aidge_build.build.emit.layers import layers_of
from aidge_build.build.emit.manifest import manifest_of, manifest_text
from aidge_build.build.emit.needs import needs_of
from aidge_build.build.emit.origins import libraries_of
from aidge_build.build.emit.places import Places
from aidge_build.build.emit.ports import ports_of
from aidge_build.build.emit.replaced import in_flash
from aidge_build.build.emit.soundness import require_sound
from aidge_build.build.emit.update import update_claim
from aidge_build.build.emit.weights import weights_files
from aidge_build.plan.constant_arrays import arrays_of
from aidge_build.plan.program import Program


def interface_of(program: Program) -> str:
    """The digest of the header, by which a linked program says which interface it has."""
    ports = ports_of(program)
    arrays = arrays_of(program)
    kernels = used_kernels(program, layers_of(program, Places(program, ports, arrays), arrays))
    return header_of(program, ports, needs_of(program, kernels.texts)).digest


def emit(program: Program) -> Sources:
    """The generated files. Their list depends on the name and `options.weights` alone."""
    require_sound(program)
    ports = ports_of(program)
    arrays = arrays_of(program)
    places = Places(program, ports, arrays)
    layers = layers_of(program, places, arrays)
    kernels = used_kernels(program, layers)
    header = header_of(program, ports, needs_of(program, kernels.texts))
    functions = [function.symbol for function in functions_of(program, ports)]
    code = code_of(program, ports, arrays, layers, kernels, header.digest)
    flash = (*in_flash(program, arrays, code.layout), *digest_array(program, code.parts))
    claim = claim_of(program, functions, flash, header.digest, code.digest)
    replaces = program.options.replaces_weights
    if replaces:
        claim["update"] = update_claim(program, ports, arrays, code.layout)
    files = {
        f"{program.name}.h": header.text.encode("ascii"),
        program.code_file: code.text.encode("utf-8"),
        **weights_files(program, flash, claim),
    }
    manifest = manifest_of(program, ports, places, arrays, layers, files, claim["weights_bytes"])
    manifest |= {"claim": claim, "libraries": libraries_of(program, kernels.files)}
    files[f"{program.name}.plan.json"] = manifest_text(manifest)
    return Sources(files, manifest, flash[0].data if replaces else b"")
