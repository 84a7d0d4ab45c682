#!/usr/bin/env python3
"""Expected values of measure.test.ts, computed independently with scipy and numpy.

    pip install numpy==2.4.6 scipy==1.17.1
    python3 test/quality/metrics/reference.py

Filters are two-dimensional instead of row by row, pieces are labelled instead of flooded, boundaries are dilated. The
planes use integer arithmetic, so both languages compute the same.
"""
import numpy as np
from scipy import ndimage

HEIGHT, WIDTH = 40, 56
Y, X = np.mgrid[:HEIGHT, :WIDTH]


def disc(across, down, radius, slope):
    return np.clip(128 + slope * (radius * radius - (X - across) ** 2 - (Y - down) ** 2), 0, 255)


TRUTH = np.maximum(disc(24, 20, 13, 3), disc(47, 8, 4, 20))
RESULT = np.maximum(disc(25, 19, 12, 2), np.maximum(disc(47, 9, 3, 9), disc(6, 33, 3, 7) * 4 // 5))
TRUE_COLOURS = np.stack([(X * 4) % 256, (Y * 5) % 256, (X * 3 + Y * 2) % 256], -1)
COLOURS = np.stack([(X * 4 + 30) % 256, (Y * 5) % 256, (X * 3 + Y) % 256], -1)


def gradient(alpha, sigma=1.4):
    half = int(np.ceil(sigma * np.sqrt(-2 * np.log(np.sqrt(2 * np.pi) * sigma * 0.01))))
    offsets = np.arange(-half, half + 1)
    bell = np.exp(-(offsets**2) / (2 * sigma**2)) / (sigma * np.sqrt(2 * np.pi))
    across = np.outer(bell, -offsets * bell / sigma**2)
    across /= np.sqrt((across**2).sum())
    parts = [ndimage.convolve(alpha, filter, mode="nearest") for filter in (across, across.T)]
    return np.sqrt(parts[0] ** 2 + parts[1] ** 2)


def connectivity(truth, alpha):
    levels = np.full(truth.shape, -1.0)
    for step in range(1, 11):
        labels, count = ndimage.label((truth >= step / 10) & (alpha >= step / 10))
        body = np.zeros(truth.shape, bool)
        if count:
            body = labels == 1 + np.argmax(np.bincount(labels.ravel())[1:])
        levels[(levels == -1) & ~body] = (step - 1) / 10
    levels[levels == -1] = 1
    connected = [1 - (plane - levels) * (plane - levels >= 0.15) for plane in (truth, alpha)]
    return np.abs(connected[0] - connected[1]).sum()


def boundary_score(truth, alpha):
    lines = [mask & ~ndimage.binary_erosion(mask, border_value=1) for mask in (truth >= 0.5, alpha >= 0.5)]
    near = [ndimage.binary_dilation(line, np.ones((3, 3))) for line in lines]
    precision, recall = near[0][lines[1]].mean(), near[1][lines[0]].mean()
    return 2 * precision * recall / (precision + recall)


def fringe(truth, alpha):
    soft = (truth > 0) & (truth < 1)
    errors = []
    for ground in ([0, 0, 0], [255, 255, 255], [255, 0, 255]):
        seen = [a[..., None] * c + (1 - a[..., None]) * ground for a, c in ((truth, TRUE_COLOURS), (alpha, COLOURS))]
        errors.append(np.abs(seen[0] - seen[1])[soft].mean())
    return np.mean(errors)


def main():
    truth, alpha = TRUTH / 255, RESULT / 255
    difference = np.abs(alpha - truth)
    inside = [plane >= 0.5 for plane in (truth, alpha)]
    print("sad", difference.sum() / 1000)
    print("mse", (difference**2).mean())
    print("mad", difference.mean())
    print("grad", ((gradient(alpha) - gradient(truth)) ** 2).sum() / 1000)
    print("conn", connectivity(truth, alpha) / 1000)
    print("iou", (inside[0] & inside[1]).sum() / (inside[0] | inside[1]).sum())
    print("boundary", boundary_score(truth, alpha))
    print("fringe", fringe(truth, alpha))


if __name__ == "__main__":
    main()
