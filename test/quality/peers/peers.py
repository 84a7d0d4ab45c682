"""Cut-outs of other programs with the same weights: rembg's modes, and a guided filter at full size.

  U2NET_HOME=FOLDER peers.py < LINES

FOLDER holds the published u2netp.onnx, so nothing is downloaded. Each line is a JSON object: `photo`, a file, and
`results`, the file to write for each mode. Prints one line per picture.
"""
import json
import os
import sys

import numpy as np
from PIL import Image
from rembg import new_session, remove
from scipy.ndimage import uniform_filter

Image.MAX_IMAGE_PIXELS = None

# Modes of rembg's command line: -a, -dc, -ppm; the thresholds 240, 10 and 10 are its defaults.
MODES = {
    "rembg": {},
    "rembg-matting": {"alpha_matting": True},
    "rembg-decontaminate": {"decontaminate": True},
    "rembg-post": {"post_process_mask": True},
}


class Once:
    """A session that runs once per picture, however many modes use its mask."""

    def __init__(self, session, photo):
        self.masks = session.predict(photo)

    def predict(self, *_args, **_kwargs):
        return [mask.copy() for mask in self.masks]


def guided(photo, mask):
    """Guided filter (He, Sun, Tang 2010): guide is the photo's colours, windows 4 % of the picture, epsilon 1e-4."""
    guide = np.moveaxis(np.asarray(photo, np.float32) / 255, -1, 0)
    target = np.asarray(mask, np.float32) / 255
    side = 2 * round(0.02 * max(photo.size)) + 1

    def mean(plane):
        return uniform_filter(plane, side, mode="nearest")

    means, target_mean = [mean(plane) for plane in guide], mean(target)
    covariances = [mean(plane * target) - own * target_mean for plane, own in zip(guide, means)]
    products = {
        (i, j): mean(guide[i] * guide[j]) - means[i] * means[j] + (1e-4 if i == j else 0)
        for i in range(3) for j in range(i, 3)
    }
    rr, rg, rb, gg, gb, bb = (products[key] for key in [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)])
    inverse = {
        (0, 0): gg * bb - gb * gb, (0, 1): gb * rb - rg * bb, (0, 2): rg * gb - gg * rb,
        (1, 1): rr * bb - rb * rb, (1, 2): rb * rg - rr * gb, (2, 2): rr * gg - rg * rg,
    }
    determinant = rr * inverse[0, 0] + rg * inverse[0, 1] + rb * inverse[0, 2]
    slopes = [
        sum(inverse[min(i, j), max(i, j)] * covariances[j] for j in range(3)) / determinant for i in range(3)
    ]
    base = target_mean - sum(slope * own for slope, own in zip(slopes, means))
    alpha = sum(mean(slope) * plane for slope, plane in zip(slopes, guide)) + mean(base)
    result = photo.copy()
    result.putalpha(Image.fromarray(np.round(np.clip(alpha, 0, 1) * 255).astype(np.uint8)))
    return result


def main():
    session = new_session("u2netp")
    for line in sys.stdin:
        task = json.loads(line)
        photo = Image.open(task["photo"]).convert("RGB")
        once = Once(session, photo)
        for mode, path in task["results"].items():
            if mode == "guided":
                result = guided(photo, once.masks[0])
            else:
                result = remove(photo.copy(), session=once, **MODES[mode])
            # Renamed into place: another run may be reading the same name.
            aside = f"{path}.{os.getpid()}"
            result.save(aside, "PNG", compress_level=1)
            os.replace(aside, path)
        print(task["photo"], flush=True)


if __name__ == "__main__":
    main()
