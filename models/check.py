#!/usr/bin/env python3
"""Compares the committed u2netp with its source file, and writes the reference images of the tests.

    /tmp/derive/bin/pip install onnxruntime==1.31.1 pillow==13.0.0      # in addition to those of derive.py
    /tmp/derive/bin/python models/check.py package/u2netp.onnx models/u2netp/1/model.onnx
    /tmp/derive/bin/python models/check.py --write-references package/u2netp.onnx models/u2netp/1/model.onnx

Fails if any pixel of any photo, alone or in a batch, is more than one grey level from the original's first output
x 255.
"""
import argparse
import pathlib
import sys

import numpy as np
import onnxruntime as ort
from PIL import Image

FIXTURES = pathlib.Path(__file__).parent.parent / "test/fixtures"
PHOTOS = ["astronaut.png", "chelsea.png", "coffee.png", "lemur.png", "rocket.jpg"]
REFERENCES = ["astronaut.png", "lemur.png"]
MEAN = np.array([0.485, 0.456, 0.406])
DEVIATION = np.array([0.229, 0.224, 0.225])


def resized(photo):
    image = Image.open(FIXTURES / "photos" / photo).convert("RGB")
    return np.asarray(image.resize((320, 320), Image.Resampling.BILINEAR))


def original_alpha(session, image):
    """Runs the published pipeline with division by 255: float planes in, first map out."""
    planes = ((image / 255 - MEAN) / DEVIATION).astype(np.float32).transpose(2, 0, 1)[None]
    (probability,) = session.run([session.get_outputs()[0].name], {session.get_inputs()[0].name: planes})
    return np.round(probability[0, 0] * 255).astype(np.uint8)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("original")
    parser.add_argument("derived")
    parser.add_argument("--write-references", action="store_true")
    options = parser.parse_args()
    original, derived = (
        ort.InferenceSession(path, providers=["CPUExecutionProvider"]) for path in (options.original, options.derived)
    )
    noise = np.random.default_rng(1).integers(0, 256, (320, 320, 3), np.uint8)
    images = {photo: resized(photo) for photo in PHOTOS}
    images |= {"black": np.zeros_like(noise), "white": np.full_like(noise, 255), "noise": noise}
    (batch,) = derived.run(["alpha"], {"image": np.stack(list(images.values()))})

    worst = 0
    for (name, image), in_batch in zip(images.items(), batch):
        expected = original_alpha(original, image)
        (alone,) = derived.run(["alpha"], {"image": image[None]})
        apart = np.abs(np.stack([alone[0], in_batch]).astype(int) - expected)
        pixels = np.count_nonzero(apart.max(0))
        print(f"{name:14} largest difference {apart.max()}, in {pixels} pixels of {expected.size}")
        worst = max(worst, apart.max())
        if options.write_references and name in REFERENCES:
            stem = FIXTURES / "u2netp" / pathlib.Path(name).stem
            stem.parent.mkdir(exist_ok=True)
            Image.fromarray(image).save(f"{stem}-input.png", optimize=True)
            Image.fromarray(expected).save(f"{stem}-alpha.png", optimize=True)
    if worst > 1:
        sys.exit("check.py: the derived model is more than one grey level from the original")


if __name__ == "__main__":
    main()
