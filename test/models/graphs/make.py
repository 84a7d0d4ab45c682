"""Tiny networks in the usual forms of published ones. Their map is the mean of the three channels, so tests can compute
every pixel.

    make.py FOLDER
"""
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FOLDER = pathlib.Path(sys.argv[1])


def constant(name, value, dtype=np.float32):
    return numpy_helper.from_array(np.asarray(value, dtype), name)


def mean_of(factor, channels=1, dtype=np.float32):
    return constant("mean_of_three", np.full((channels, 3, 1, 1), factor / 3), dtype)


def save(name, nodes, inputs, outputs, constants, kind=TensorProto.FLOAT):
    def values(tensors):
        return [helper.make_tensor_value_info(tensor, kind, dims) for tensor, dims in tensors.items()]

    graph = helper.make_graph(nodes, name, values(inputs), values(outputs), constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    (FOLDER / f"{name}.onnx").write_bytes(model.SerializeToString(deterministic=True))


def conv(source, target):
    return helper.make_node("Conv", [source, "mean_of_three"], [target])


any_size = ["n", 3, "h", "w"]
any_map = ["n", 1, "h", "w"]

# As PyTorch exports a model that was traced with one image: the batch is written into a Reshape.
save("one-image", [conv("input", "map"), helper.make_node("Reshape", ["map", "shape"], ["mask"])],
     {"input": [1, 3, 64, 64]}, {"mask": [1, 1, 64, 64]}, [mean_of(1), constant("shape", [1, 1, 64, 64], np.int64)])
# Any size, logits, several outputs, one of them with a name that Matte uses.
save("logits", [conv("image", "alpha"), helper.make_node("Relu", ["alpha"], ["side"])],
     {"image": any_size}, {"alpha": any_map, "side": any_map}, [mean_of(1)])
# Half precision, channels last, and nodes in an order that ONNX Runtime sorts.
save("half", [helper.make_node("Squeeze", ["map", "axis"], ["mask"]), conv("planes", "map"),
              helper.make_node("Transpose", ["pixels"], ["planes"], perm=[0, 3, 1, 2])],
     {"pixels": ["n", "h", "w", 3]}, {"mask": ["n", "h", "w"]},
     [mean_of(1, dtype=np.float16), constant("axis", [1], np.int64)], TensorProto.FLOAT16)
# Stretches its map to full range over the whole batch, so images of a batch affect each other.
save("stretched", [conv("input", "map"), helper.make_node("ReduceMax", ["map"], ["top"]),
                   helper.make_node("Div", ["map", "top"], ["mask"])],
     {"input": any_size}, {"mask": any_map}, [mean_of(1)])
save("two-channels", [conv("input", "mask")],
     {"input": any_size}, {"mask": ["n", 2, "h", "w"]}, [mean_of(1, channels=2)])
save("smaller", [conv("input", "map"),
                 helper.make_node("MaxPool", ["map"], ["mask"], kernel_shape=[2, 2], strides=[2, 2])],
     {"input": any_size}, {"mask": any_map}, [mean_of(1)])
save("two-inputs", [helper.make_node("Mul", ["input", "trimap"], ["mask"])],
     {"input": any_size, "trimap": any_size}, {"mask": any_size}, [])
(FOLDER / "text.onnx").write_text("<!doctype html><title>Sign in</title>")
(FOLDER / "empty.onnx").write_bytes(b"")
