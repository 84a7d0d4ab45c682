#!/usr/bin/env python3
"""Measures a model in plain ONNX Runtime on a GPU, without a server: images per second by batch size, and its masks.

    PYTHONPATH=INSTALLATION/pytriton/tritonserver/backends/python \\
        python3 models/measure_cuda.py models/u2netp/1/model.onnx [--batch 1,8,32] [--cuda use_tf32=0]… [--graph]

INSTALLATION is made by `local/triton/install.sh INSTALLATION gpu`. `copied`: images and masks are copied from and to
the host's memory, as in Triton; `bound`: both stay on the GPU. The masks of the bundled photos, of blanks (images
without a subject) and of noise are compared with those of the same file, or of --reference, on the CPU, in grey levels
of 255. Needs pillow. --graph records a CUDA graph per batch size, which shows the cost of launching kernels singly.
"""
import argparse
import pathlib
import time

import numpy as np
import onnxruntime as ort
from PIL import Image

PHOTOS = pathlib.Path(__file__).parent.parent / "test/fixtures/photos"
COLOURS = [(0, 0, 0), (128, 128, 128), (255, 255, 255), (220, 30, 30), (40, 80, 220), (240, 220, 40), (230, 210, 170)]


def pictures(side):
    files = ["astronaut.png", "chelsea.png", "coffee.png", "lemur.png", "rocket.jpg"]
    size = (side, side)
    for file in files:
        yield "photos", np.asarray(Image.open(PHOTOS / file).convert("RGB").resize(size, Image.Resampling.LANCZOS))
    for colour in COLOURS:
        yield "blanks", np.full((side, side, 3), colour, np.uint8)
    fade = np.linspace(60, 215, side).astype(np.uint8)
    yield "blanks", np.repeat(np.broadcast_to(fade, size)[..., None], 3, 2)
    for seed in range(3):
        yield "noise", np.random.default_rng(seed).integers(0, 256, (side, side, 3), np.uint8)


def open_session(path, cuda, graph=False):
    settings = ort.SessionOptions()
    settings.log_severity_level = 3
    if cuda is None:
        return ort.InferenceSession(path, settings, providers=["CPUExecutionProvider"])
    settings.intra_op_num_threads = 1
    chosen = {"device_id": "0", **cuda, **({"enable_cuda_graph": "1"} if graph else {})}
    session = ort.InferenceSession(
        path, settings, providers=[("CUDAExecutionProvider", chosen), "CPUExecutionProvider"]
    )
    if "CUDAExecutionProvider" not in session.get_providers():
        raise SystemExit("measure_cuda.py: onnxruntime cannot start CUDA on this machine")
    return session


def rate_of(run, batch, seconds):
    for _ in range(3):
        run()
    count, begun = 0, time.perf_counter()
    while (taken := time.perf_counter() - begun) < seconds:
        run()
        count += 1
    return count * batch / taken, 1000 * taken / count


def bound_run(session, images):
    """Returns a run that keeps its tensors at the same GPU addresses, as a CUDA graph requires."""
    given = ort.OrtValue.ortvalue_from_numpy(images, "cuda", 0)
    mask = ort.OrtValue.ortvalue_from_shape_and_type(images.shape[:3], np.uint8, "cuda", 0)
    binding = session.io_binding()
    binding.bind_ortvalue_input("image", given)
    binding.bind_ortvalue_output("alpha", mask)
    return lambda: session.run_with_iobinding(binding)


def report_masks(options, session):
    reference = open_session(options.reference or options.model, None)
    side = session.get_inputs()[0].shape[1]
    found = {}
    for kind, image in pictures(side):
        (ours,), (theirs,) = (one.run(["alpha"], {"image": image[None]}) for one in (session, reference))
        found.setdefault(kind, []).append((np.abs(ours.astype(int) - theirs), ours.max(), theirs.max()))
    for kind, ones in found.items():
        apart = np.stack([one[0] for one in ones])
        print(
            f"{options.label} {kind}: largest difference {apart.max()}, mean {apart.mean():.4f}, of more than 1 in "
            f"{np.count_nonzero(apart > 1)} of {apart.size}; highest level {max(one[1] for one in ones)}, "
            f"CPU {max(one[2] for one in ones)}"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--batch", type=lambda text: [int(part) for part in text.split(",")], default=[1, 8, 32])
    parser.add_argument("--cuda", type=lambda text: text.split("=", 1), action="append", default=[])
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--graph", action="store_true")
    parser.add_argument("--reference", help="file whose masks on the CPU are the reference")
    parser.add_argument("--no-masks", action="store_true")
    parser.add_argument("--label", default="")
    options = parser.parse_args()
    ort.preload_dlls()
    cuda = dict(options.cuda)
    session = open_session(options.model, cuda)
    side = session.get_inputs()[0].shape[1]
    for batch in options.batch:
        images = np.random.default_rng(batch).integers(0, 256, (batch, side, side, 3), np.uint8)
        begun = time.perf_counter()
        session.run(["alpha"], {"image": images})
        first = 1000 * (time.perf_counter() - begun)
        copied = rate_of(lambda: session.run(["alpha"], {"image": images}), batch, options.seconds)
        one = open_session(options.model, cuda, True) if options.graph else session
        bound = rate_of(bound_run(one, images), batch, options.seconds)
        print(
            f"{options.label} batch {batch}: copied {copied[0]:.0f} images/s ({copied[1]:.2f} ms), bound "
            f"{bound[0]:.0f} images/s ({bound[1]:.2f} ms), first run {first:.0f} ms", flush=True
        )
    if not options.no_masks:
        report_masks(options, session)


if __name__ == "__main__":
    main()
