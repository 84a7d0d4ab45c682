"""Converts a published network into the graph that Matte serves, and tests it; add.py writes the files.

Source: one normalised float image [N,3,S,S] or [N,S,S,3] in, one or more maps out. Result: `image` UINT8 [N,S,S,3]
(RGB) in, `alpha` UINT8 [N,S,S] out. The weights and all nodes in between are unchanged.
"""
import copy
import dataclasses
import re

import numpy as np
import onnx
import onnxruntime as ort
from google.protobuf.message import DecodeError
from graph_facts import add_shapes, form_of, multiply_adds
from onnx import TensorProto, compose, helper, numpy_helper

PREFIX = "source/"  # Keeps the network's names apart from ours.
RAW = "raw_map"
FLOATS = {TensorProto.FLOAT: np.float32, TensorProto.FLOAT16: np.float16}
OPSET_MIN = 9
NUMBERS = {"zero": 0, "one": 1, "to_255": 255, "half": 0.5}
RANGE_SLACK = 0.01  # An upsampling last layer may overshoot by this much.


class ModelError(Exception):
    """An error that the user can fix; the message says how."""


@dataclasses.dataclass(frozen=True)
class Settings:
    input_size: int | None
    mean: tuple
    std: tuple
    scale: float
    output: str | None
    sigmoid: bool


@dataclasses.dataclass(frozen=True)
class Source:
    model: onnx.ModelProto
    input_name: str
    input_type: int
    channels_last: bool
    size: int
    output_name: str


@dataclasses.dataclass(frozen=True)
class Result:
    file: bytes
    size: int
    output_name: str
    form: str
    # Reason why the graph takes only one image; empty: any batch.
    single_reason: str
    multiply_adds: int


def make(path, settings):
    source = read(path, settings)
    graph = build(source, settings)
    alone = try_alone(source, graph, settings)
    file = serialised(graph)
    reason = try_batch(file, source.size)
    if reason:
        file = for_one_image(graph)
    return Result(file, source.size, source.output_name, form_of(source.model), reason, alone)


def read(path, settings):
    try:
        model = onnx.load(path)
    except (DecodeError, UnicodeDecodeError) as error:
        raise ModelError(f"{path} is not an ONNX file ({str(error) or 'it cannot be parsed'})") from error
    except (OSError, ValueError, onnx.checker.ValidationError) as error:
        raise ModelError(f"{path} cannot be read: {error}") from error
    if not model.graph.node or not model.graph.output:
        raise ModelError(f"{path} is not an ONNX file: it has no nodes or no outputs")
    opset = next((entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")), 0)
    if opset < OPSET_MIN:
        raise ModelError(f"{path} has opset {opset}: export it again with {OPSET_MIN} or later")
    weights = {tensor.name for tensor in model.graph.initializer}
    inputs = [value for value in model.graph.input if value.name not in weights]
    if len(inputs) != 1:
        raise ModelError(f"{path} must have one input, an image; it has {listing(inputs)}")
    size, channels_last = layout(inputs[0], settings.input_size)
    output = choose_output(model.graph.output, settings.output)
    return Source(model, inputs[0].name, inputs[0].type.tensor_type.elem_type, channels_last, size, output)


def dims_of(value):
    """An int, a name or "?" per axis."""
    return [dim.dim_value or dim.dim_param or "?" for dim in value.type.tensor_type.shape.dim]


def describe(value):
    kind = TensorProto.DataType.Name(value.type.tensor_type.elem_type)
    return f"{value.name} {kind} [{','.join(map(str, dims_of(value)))}]"


def listing(values):
    return ", ".join(f"{index}: {describe(value)}" for index, value in enumerate(values)) or "none"


def layout(value, wanted_size):
    dims = dims_of(value)
    if value.type.tensor_type.elem_type not in FLOATS or len(dims) != 4:
        raise ModelError(f"the input must be FLOAT or FLOAT16 [N,3,S,S] or [N,S,S,3]; it is {describe(value)}")
    channels_last = dims[3] == 3 and dims[1] != 3
    channels, sides = (dims[3], dims[1:3]) if channels_last else (dims[1], dims[2:])
    if isinstance(channels, int) and channels != 3:
        raise ModelError(f"the input must have 3 channels; it is {describe(value)}")
    fixed = sorted({side for side in sides if isinstance(side, int)})
    if len(fixed) > 1:
        raise ModelError(f"the input must be square; it is {describe(value)}")
    if fixed and wanted_size not in (None, fixed[0]):
        raise ModelError(f"--input-size {wanted_size}: the graph takes {fixed[0]} only, its input is {describe(value)}")
    size = fixed[0] if fixed else wanted_size
    if size is None:
        raise ModelError(f"the input takes any size, {describe(value)}: give the one to serve with --input-size")
    if size < 4 or size % 4:
        raise ModelError(f"--input-size {size}: it must be a multiple of 4")
    return size, channels_last


def choose_output(outputs, wanted):
    names = [value.name for value in outputs]
    if wanted is None and len(names) > 1:
        choice = f"choose one with --output, by name or index: {listing(outputs)}"
        raise ModelError(f"the graph has {len(names)} outputs: {choice}")
    if wanted is None or wanted in names:
        return wanted or names[0]
    if wanted.isdecimal() and int(wanted) < len(names):
        return names[int(wanted)]
    raise ModelError(f"--output {wanted}: the graph has {listing(outputs)}")


def constant(name, value, dtype):
    return numpy_helper.from_array(np.asarray(value, dtype), name)


def build(source, settings):
    model = compose.add_prefix(copy.deepcopy(source.model), PREFIX)
    graph, size = model.graph, source.size
    shape = (1, 1, 1, 3) if source.channels_last else (1, 3, 1, 1)
    mean, std = (np.array(three, np.float64) for three in (settings.mean, settings.std))
    first = "image" if source.channels_last else "planes"
    before = [
        *([] if source.channels_last else [helper.make_node("Transpose", ["image"], ["planes"], perm=[0, 3, 1, 2])]),
        helper.make_node("Cast", [first], ["floats"], to=TensorProto.FLOAT),
        helper.make_node("Sub", ["floats", "mean"], ["centred"]),
        helper.make_node("Mul", ["centred", "factor"], ["normalised"]),
        helper.make_node("Cast", ["normalised"], [PREFIX + source.input_name], to=source.input_type),
    ]
    last = "probability" if settings.sigmoid else RAW
    after = [
        helper.make_node("Cast", [PREFIX + source.output_name], [RAW], to=TensorProto.FLOAT),
        *([helper.make_node("Sigmoid", [RAW], [last])] if settings.sigmoid else []),
        helper.make_node("Max", [last, "zero"], ["from_zero"]),
        helper.make_node("Min", ["from_zero", "one"], ["to_one"]),
        helper.make_node("Mul", ["to_one", "to_255"], ["levels"]),
        helper.make_node("Add", ["levels", "half"], ["raised"]),
        helper.make_node("Floor", ["raised"], ["rounded"]),
        helper.make_node("Cast", ["rounded"], ["bytes"], to=TensorProto.UINT8),
        helper.make_node("Reshape", ["bytes", "mask_shape"], ["alpha"]),
    ]
    constants = [
        constant("mean", (mean * settings.scale).reshape(shape), np.float32),
        constant("factor", (1 / (std * settings.scale)).reshape(shape), np.float32),
        *(constant(name, value, np.float32) for name, value in NUMBERS.items()),
        constant("mask_shape", [-1, size, size], np.int64),
    ]
    nodes, live = without_dead_nodes([*before, *graph.node, *after], ["alpha"])
    weights = [tensor for tensor in [*graph.initializer, *constants] if tensor.name in live]
    made = helper.make_graph(
        nodes, "matte",
        [helper.make_tensor_value_info("image", TensorProto.UINT8, ["N", size, size, 3])],
        [helper.make_tensor_value_info("alpha", TensorProto.UINT8, ["N", size, size])],
        weights, sparse_initializer=[one for one in graph.sparse_initializer if one.values.name in live],
    )
    # IR version 4 and later allow initializers that are not inputs.
    return helper.make_model(
        made, opset_imports=model.opset_import, functions=model.functions, ir_version=max(4, model.ir_version),
        producer_name="matte models/add.py",
    )


def names_read(node):
    """Includes names read by subgraphs, which can read those of the outer graph."""
    inner = [one for attribute in node.attribute for one in [attribute.g, *attribute.graphs] if one.node]
    return {*node.input, *(name for graph in inner for one in graph.node for name in names_read(one)),
            *(value.name for graph in inner for value in graph.output)}


def without_dead_nodes(nodes, outputs):
    """Keeps the order, in which a node may precede its inputs: ONNX Runtime sorts the nodes."""
    producers = {output: node for node in nodes for output in node.output}
    live, waiting, kept = set(), list(outputs), set()
    while waiting:
        name = waiting.pop()
        if name in live:
            continue
        live.add(name)
        if name in producers:
            kept.add(id(producers[name]))
            waiting += names_read(producers[name])
    return [node for node in nodes if id(node) in kept], live


def serialised(model):
    try:
        return model.SerializeToString(deterministic=True)
    except ValueError as error:  # protobuf's limit
        raise ModelError("the model is over 2 GB, more than an ONNX file can hold: export it as fp16") from error


def session(file):
    options = ort.SessionOptions()
    options.log_severity_level = 4
    return ort.InferenceSession(file, options, providers=["CPUExecutionProvider"])


def pictures(size):
    """Two different test images: a disc with texture on a gradient."""
    y, x = np.mgrid[0:size, 0:size] / size
    random = np.random.default_rng(1)
    ground = np.stack([90 + 120 * y, 120 + 60 * x, 200 - 110 * y], -1)
    made = []
    for centre, colour in [(0.4, (230, 120, 60)), (0.6, (40, 60, 200))]:
        inside = ((x - centre) ** 2 + (y - 0.5) ** 2 < 0.09)[..., None]
        noise = random.normal(0, 12, (size, size, 1))
        made.append(np.clip(np.where(inside, np.array(colour) + noise, ground), 0, 255).astype(np.uint8))
    return np.stack(made)


def try_alone(source, model, settings):
    """Runs one image and checks that the output is one map of probabilities. Returns the multiply-adds."""
    probe = copy.deepcopy(model)
    nodes, _ = without_dead_nodes(model.graph.node, [RAW])
    del probe.graph.node[:], probe.graph.output[:]
    probe.graph.node.extend(nodes)
    probe.graph.output.append(helper.make_tensor_value_info(RAW, TensorProto.FLOAT, None))
    counted = add_shapes(probe.graph)
    image = pictures(source.size)[:1]
    try:
        names = [RAW, *(name for _, shapes in counted for name in shapes)]
        raw, *shapes = session(serialised(probe)).run(names, {"image": image})
    except Exception as error:
        reason = first_line(error)
        raise ModelError(f"ONNX Runtime cannot run the model at {source.size} x {source.size}: {reason}") from error
    check_map(source, raw, settings)
    known = dict(zip(names[1:], shapes))
    return sum(multiply_adds(node, [known[name] for name in shapes]) for node, shapes in counted)


def check_map(source, raw, settings):
    name, size = source.output_name, source.size
    found = f"output {name} gives {list(raw.shape)}"
    if [side for side in raw.shape if side != 1] != [size, size]:
        raise ModelError(f"{found} for one image, not one map of {size} x {size}: choose another with --output")
    if not np.isfinite(raw).all():
        raise ModelError(f"output {name} is not a number for a test image: check --mean, --std and --scale")
    low, high = float(raw.min()), float(raw.max())
    is_probability = low >= -RANGE_SLACK and high <= 1 + RANGE_SLACK
    ranges = f"output {name} goes from {low:.3g} to {high:.3g} for a test image"
    if settings.sigmoid and is_probability:
        raise ModelError(f"{ranges}: these are already probabilities: omit --sigmoid")
    if not settings.sigmoid and not is_probability:
        raise ModelError(f"{ranges}, not from 0 to 1: give --sigmoid, or choose another with --output")


def try_batch(file, size):
    """Reason why the graph takes only one image; empty if two together give the masks that each gives alone."""
    run = session(file).run
    both = pictures(size)
    singles = np.concatenate([run(["alpha"], {"image": one[None]})[0] for one in both])
    try:
        (pair,) = run(["alpha"], {"image": both})
    except Exception as error:
        return f"it fails with two: {first_line(error)}"
    if pair.shape != singles.shape:
        return f"two images give {list(pair.shape)}"
    apart = int(np.abs(pair.astype(int) - singles).max())
    return f"two images together are up to {apart} levels from each alone" if apart > 1 else ""


def for_one_image(model):
    """Sets the first axis of both tensors to 1, as Triton requires for a configuration without batches."""
    for tensor in [*model.graph.input, *model.graph.output]:
        tensor.type.tensor_type.shape.dim[0].dim_value = 1
    return serialised(model)


def first_line(error):
    """First line of the error, without ONNX Runtime's code and file name."""
    line = re.sub(r"\[ONNXRuntimeError\] : \d+ : \w+ : |/onnxruntime_src/\S+ ", "", str(error).strip().splitlines()[0])
    return line if len(line) <= 200 else f"{line[:199]}…"
