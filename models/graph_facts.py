"""Facts about a network from its graph: its number format, and its cost per image in multiply-adds of convolutions and
matrix products, the same on every machine."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper

COUNTED = ("Conv", "ConvTranspose", "Gemm", "MatMul", "QLinearConv", "DeformConv")


def add_shapes(graph):
    """Adds the shapes that multiply_adds needs as outputs; they are known only after a run."""
    counted, added = [], {}
    for node in list(graph.node):
        if node.op_type not in COUNTED:
            continue
        weight = node.input[3 if node.op_type == "QLinearConv" else 1]
        wanted = [node.input[0], weight, node.output[0]]
        for name in wanted:
            if name not in added:
                added[name] = f"shape_of/{name}"
                graph.node.append(helper.make_node("Shape", [name], [added[name]]))
                graph.output.append(helper.make_tensor_value_info(added[name], TensorProto.INT64, [None]))
        counted.append((node, [added[name] for name in wanted]))
    return counted


def multiply_adds(node, shapes):
    source, weight, result = (np.asarray(shape, np.int64) for shape in shapes)
    if node.op_type == "ConvTranspose":
        return int(np.prod(source) * np.prod(weight[1:]))
    if node.op_type in ("MatMul", "Gemm"):
        flipped = any(one.name == "transA" and one.i for one in node.attribute)
        return int(np.prod(result) * (source[-2] if flipped else source[-1]))
    return int(np.prod(result) * np.prod(weight[1:]))


def form_of(model):
    """Number format of most bytes of the weights."""
    sizes = {"fp32": 0, "fp16": 0, "int8": 0}
    kinds = {TensorProto.FLOAT: "fp32", TensorProto.FLOAT16: "fp16"}
    kinds |= {TensorProto.INT8: "int8", TensorProto.UINT8: "int8"}
    inner = [attribute.t for node in model.graph.node for attribute in node.attribute if attribute.HasField("t")]
    for tensor in [*model.graph.initializer, *inner]:
        if tensor.data_type in kinds:
            sizes[kinds[tensor.data_type]] += numpy_helper.to_array(tensor).nbytes
    return max(sizes, key=sizes.get)
