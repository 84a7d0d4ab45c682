#!/usr/bin/env python3
"""Compares the int8 form of u2netp with the fp32 one, on a processor with VNNI.

    /tmp/derive/bin/python models/compare.py models/u2netp/1/model.onnx models/u2netp/1/model.int8.onnx \
        [--openvino] [FOLDER…]

Needs the packages of quantise.py. With --openvino (and the package openvino==2026.4.1) the int8 form runs as in
models/u2netp/1/openvino_model.py. MAD is the mean absolute difference of the masks divided by 255; IoU is computed on
pixels of at least 128. Compares photos, crops that quantise.py did not use, the lemur over other backgrounds with its
true matte, and blanks (images without a subject), whose masks must stay below 128. FOLDER: more photos to compare.
Fails if the forms differ by more than the bounds below.
"""
import pathlib
import sys

import numpy as np
import onnxruntime as ort
from PIL import Image

import quantise

SIZE = quantise.SIZE
COLOURS = {
    "black": (0, 0, 0), "grey": (128, 128, 128), "white": (255, 255, 255), "red": (220, 30, 30), "green": (30, 180, 60),
    "blue": (40, 80, 220), "yellow": (240, 220, 40), "beige": (230, 210, 170),
}
FADES = {
    "day": ((60, 120, 210), (215, 235, 250)), "dusk": ((30, 20, 60), (250, 140, 60)),
    "sand": ((230, 210, 170), (150, 110, 70)), "black to white": ((0, 0, 0), (255, 255, 255)),
}
# Means over the crops of the photos, and highest level of the worst blank.
MAD_MAX, IOU_MIN, BLANK_MAX = 0.01, 0.97, 127


def photo_of(path):
    return np.asarray(Image.open(path).convert("RGB").resize((SIZE, SIZE), Image.Resampling.BILINEAR))


def crops_kept_aside():
    quantise.SEED, crops = quantise.SEED + 1, []
    reader = quantise.Crops()
    while (crop := reader.get_next()) is not None:
        crops.append(crop["image"][0])
    return crops


def blanks():
    down, right = np.mgrid[0:SIZE, 0:SIZE][..., None] / (SIZE - 1)
    ways = {
        "down": down, "right": right, "across": (down + right) / 2,
        "out": np.clip(np.hypot(down - 0.5, right - 0.5) * np.sqrt(2), 0, 1),
    }
    found = {name: np.ones((SIZE, SIZE, 1)) * colour for name, colour in COLOURS.items()}
    for name, (first, last) in FADES.items():
        for way, share in ways.items():
            found[f"{name}, {way}"] = np.array(first) + (np.array(last) - np.array(first)) * share
    random = np.random.default_rng(1)
    for grain in (8, 20, 60):
        clouds = Image.fromarray(random.integers(150, 256, (grain, grain), np.uint8))
        share = np.asarray(clouds.resize((SIZE, SIZE), Image.Resampling.BICUBIC))[..., None] / 255
        found[f"sky with clouds, {grain}"] = np.array((70, 130, 220)) * (1 - share) + 255 * share
        found[f"wall, {grain}"] = np.array((200, 190, 175)) * (0.9 + 0.1 * share)
    return {name: np.round(image).astype(np.uint8) for name, image in found.items()}


def mad(a, b):
    return np.abs(a.astype(float) - b).mean() / 255


def iou(a, b):
    a, b = a > 127, b > 127
    return np.count_nonzero(a & b) / max(1, np.count_nonzero(a | b))


def under_onnxruntime(path):
    settings = ort.SessionOptions()
    settings.intra_op_num_threads = 1
    session = ort.InferenceSession(path, settings, providers=["CPUExecutionProvider"])
    return lambda image: session.run(["alpha"], {"image": image})[0][0]


def under_openvino(path):
    import openvino

    core = openvino.Core()
    graph = core.read_model(path)
    graph.reshape([1, SIZE, SIZE, 3])
    inference = core.compile_model(graph, "CPU", {"INFERENCE_PRECISION_HINT": "f32"}).create_infer_request()
    return lambda image: np.array(inference.infer({"image": image})["alpha"][0])


def main():
    arguments = [argument for argument in sys.argv[1:] if argument != "--openvino"]
    if len(arguments) < 2:
        sys.exit("usage: compare.py FP32.onnx INT8.onnx [--openvino] [FOLDER…]")
    fast = under_openvino if len(arguments) < len(sys.argv) - 1 else under_onnxruntime
    forms = [under_onnxruntime(arguments[0]), fast(arguments[1])]

    def masks(image):
        return [form(np.ascontiguousarray(image[None])) for form in forms]

    def report(name, images):
        pairs = [masks(image) for image in images]
        apart = np.array([(mad(*pair), iou(*pair)) for pair in pairs])
        worst = apart[:, 0].max(), apart[:, 1].min()
        means = apart.mean(0)
        print(f"{name:20} MAD {means[0]:.4f}, worst {worst[0]:.4f}; IoU {means[1]:.4f}, worst {worst[1]:.4f}")
        return means

    photos = {photo: photo_of(quantise.FIXTURES / photo) for photo in quantise.PHOTOS}
    for name, image in photos.items():
        report(name, [image])
    difference, overlap = report("crops kept aside", crops_kept_aside())
    for folder in map(pathlib.Path, arguments[2:]):
        report(folder.name, [photo_of(path) for path in sorted(folder.iterdir()) if path.suffix in (".png", ".jpg")])

    empty = blanks()
    matte = Image.open(quantise.FIXTURES / "lemur-alpha.png").convert("L").resize((SIZE, SIZE), Image.Resampling.BOX)
    alpha, lemur = np.asarray(matte)[..., None] / 255, photo_of(quantise.FIXTURES / "lemur-foreground.png")
    grounds = [*empty.values(), *photos.values()]
    pairs = [masks((lemur * alpha + ground * (1 - alpha)).astype(np.uint8)) for ground in grounds]
    for name, own in zip(("fp32", "int8"), zip(*pairs)):
        errors = [mad(mask, 255 * alpha[..., 0]) for mask in own]
        overlaps = [iou(mask, 255 * alpha[..., 0]) for mask in own]
        found = f"MAD {np.mean(errors):.4f}, IoU {np.mean(overlaps):.4f}"
        print(f"lemur on {len(own)} backgrounds, {name}, against its true matte: {found}")

    worst = [max((int(mask.max()), name) for name, mask in zip(empty, own)) for own in zip(*map(masks, empty.values()))]
    print(f"{len(empty)} blanks: fp32 at most {worst[0]}, int8 {worst[1]}")
    if difference > MAD_MAX or overlap < IOU_MIN or worst[1][0] > BLANK_MAX:
        sys.exit("compare.py: the int8 and fp32 forms differ by more than the bounds")


if __name__ == "__main__":
    main()
