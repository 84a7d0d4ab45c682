"""Masks of a model file, one per image on standard input.

  ask.py MODEL.onnx [openvino [f32 | bf16]]

First writes 4 bytes, the side of the images in pixels, little-endian. Then reads 4 bytes, the length, and the bytes of
a square image, RGB interleaved, and writes its mask in the same format.
Run with the Python packages of the Triton installation, so model file and versions are the same. With `openvino` the
file runs as in models/u2netp/1/openvino_model.py, or in bf16.
"""
import struct
import sys

import numpy as np
import onnxruntime as ort


def under_onnxruntime(path):
    session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
    (source,) = session.get_inputs()
    return source.shape[1], lambda image: session.run(None, {source.name: image})[0]


def under_openvino(path, precision="f32"):
    import openvino

    core = openvino.Core()
    graph = core.read_model(path)
    shape = graph.inputs[0].partial_shape
    shape[0] = 1
    graph.reshape(shape)
    inference = core.compile_model(graph, "CPU", {"INFERENCE_PRECISION_HINT": precision}).create_infer_request()
    return shape[1].get_length(), lambda image: np.array(inference.infer({0: image})[0])


def main():
    path, *runtime = sys.argv[1:]
    side, mask_of = under_openvino(path, *runtime[1:]) if runtime else under_onnxruntime(path)
    sys.stdout.buffer.write(struct.pack("<I", side))
    sys.stdout.buffer.flush()
    while header := sys.stdin.buffer.read(4):
        image = np.frombuffer(sys.stdin.buffer.read(struct.unpack("<I", header)[0]), np.uint8)
        mask = mask_of(image.reshape(1, side, side, 3)).tobytes()
        sys.stdout.buffer.write(struct.pack("<I", len(mask)) + mask)
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
