# SPDX-License-Identifier: MIT
"""Trains the digits network, quantizes it and writes digits.onnx.

    python train.py                            write digits.onnx next to this file
    python train.py --out FILE                 write it elsewhere
    python train.py --float-out FILE           also write the float32 network, before quantization
    python train.py --check                    write nothing; exit 1 unless digits.onnx has the bytes that would be written

It needs numpy, scikit-learn and onnx, about fifteen seconds, and no network. Training and calibration see 1,347 images;
the 450 test images of dataset.py are not read here.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import dataset
import network
import qdq_model

EPOCHS = 40
SEED = 1
COMMITTED = Path(__file__).resolve().with_name("digits.onnx")


def main() -> int:
    arguments = _parser().parse_args()
    training, _ = dataset.split()
    images = training.pixels[..., None] / 16.0
    trained = network.train(images, training.labels, EPOCHS, SEED)
    layers = qdq_model.onnx_layers(trained)
    model = qdq_model.qdq_model(layers, qdq_model.calibrate(trained, images)).SerializeToString(deterministic=True)
    if arguments.float_out:
        arguments.float_out.write_bytes(qdq_model.float_model(layers).SerializeToString(deterministic=True))
    if arguments.check:
        same = COMMITTED.is_file() and COMMITTED.read_bytes() == model
        print(f"{COMMITTED.name}: {'as trained' if same else 'differs from what train.py writes'}")
        return 0 if same else 1
    arguments.out.write_bytes(model)
    print(f"{arguments.out}: {sum(layer.weights.size for layer in layers):,} bytes of weights")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=COMMITTED, metavar="FILE", help="the int8 model (default: digits.onnx here)")
    parser.add_argument("--float-out", type=Path, metavar="FILE", help="also write the float32 model")
    parser.add_argument("--check", action="store_true", help="compare with digits.onnx and write only --float-out")
    return parser


if __name__ == "__main__":
    sys.exit(main())
