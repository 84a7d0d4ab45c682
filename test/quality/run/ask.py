"""Masks of a model file, asked for one by one over standard input.

  ask.py MODEL.onnx

In: 4 bytes, the length, little-endian; then the bytes of one square image, RGB interleaved. Out: the same for its mask.
Run with the Python packages of the Triton installation, so that model file and onnxruntime version are the same.
"""
import math
import struct
import sys

import numpy as np
import onnxruntime as ort


def main():
    session = ort.InferenceSession(sys.argv[1], providers=["CPUExecutionProvider"])
    (source,) = session.get_inputs()
    while header := sys.stdin.buffer.read(4):
        image = np.frombuffer(sys.stdin.buffer.read(struct.unpack("<I", header)[0]), np.uint8)
        side = math.isqrt(image.size // 3)
        mask = session.run(None, {source.name: image.reshape(1, side, side, 3)})[0].tobytes()
        sys.stdout.buffer.write(struct.pack("<I", len(mask)) + mask)
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
