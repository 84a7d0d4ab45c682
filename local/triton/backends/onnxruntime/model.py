"""Triton's "onnxruntime" backend, in Python: it serves `backend: "onnxruntime"` where the C++ one is not to be had.

Triton takes a file of this name in a folder of the backend's name as the backend itself (a "python-based backend"), so a
model repository written for the official image loads unmodified. One stub process per instance runs this file.

As in the C++ backend: `1/model.onnx` or default_model_filename, one session per instance, the requests of a batch joined
along the first axis, only the requested outputs computed, the parameters read by `session_options`, and on an instance
of KIND_GPU, which needs onnxruntime-gpu (`install.sh TARGET gpu`), those read by `cuda_options`.
Not here: accelerators other than `cuda`, completing a configuration from the graph, strings, sequences, ragged batches.
"""
import json
import os

import numpy as np
import onnxruntime as ort
import triton_python_backend_utils as pb_utils

if int(np.__version__.split(".")[0]) >= 2:
    # The stub would read these arrays as empty: well-formed answers without data.
    raise pb_utils.TritonModelException(f"numpy {np.__version__}: this backend needs a version below 2")

# The values that config.pbtxt has for optimization.graph.level; absent is 0.
GRAPH_LEVELS = {
    -1: ort.GraphOptimizationLevel.ORT_ENABLE_BASIC,
    0: ort.GraphOptimizationLevel.ORT_ENABLE_ALL,
    1: ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED,
    2: ort.GraphOptimizationLevel.ORT_DISABLE_ALL,
}

# CUDA provider options that the C++ backend reads from `parameters`: defaults, and the meaning of numbers.
CUDA_PARAMETERS = {
    "cudnn_conv_algo_search": ("0", {"0": "EXHAUSTIVE", "1": "HEURISTIC", "2": "DEFAULT"}),
    "arena_extend_strategy": ("0", {"0": "kNextPowerOfTwo", "1": "kSameAsRequested"}),
    "do_copy_in_default_stream": ("1", {"0": "0", "1": "1"}),
}


def parameters_of(config):
    return {key: value["string_value"] for key, value in config.get("parameters", {}).items()}


def session_options(config):
    """Options from the model configuration, by the names that the C++ backend has for them.

    Keys that begin with `session.` are handed on, so `session.intra_op.allow_spinning` works: with more than one thread
    the waiting ones otherwise burn their core. One thread never waits.
    """
    parameters = parameters_of(config)
    options = ort.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = int(parameters.get("intra_op_thread_count", 0))
    options.inter_op_num_threads = int(parameters.get("inter_op_thread_count", 0))
    if parameters.get("execution_mode", "0") == "1":
        options.execution_mode = ort.ExecutionMode.ORT_PARALLEL
    options.enable_cpu_mem_arena = parameters.get("enable_mem_arena", "1") == "1"
    options.enable_mem_pattern = parameters.get("enable_mem_pattern", "1") == "1"
    level = int(config.get("optimization", {}).get("graph", {}).get("level", 0))
    options.graph_optimization_level = GRAPH_LEVELS[level]
    for key, value in parameters.items():
        if key.startswith("session."):
            options.add_session_config_entry(key, value)
    return options


def cuda_options(config, device):
    """Options of the CUDA provider, from the two places where the C++ backend has them.

    The accelerator named `cuda` hands on all its parameters, by the provider's own names (`use_tf32`, `prefer_nhwc`);
    those of CUDA_PARAMETERS count only among the model's own `parameters`, as there.
    """
    accelerators = config.get("optimization", {}).get("execution_accelerators", {}).get("gpu_execution_accelerator", [])
    others = [accelerator["name"] for accelerator in accelerators if accelerator["name"] != "cuda"]
    if others:
        raise pb_utils.TritonModelException(f"execution accelerators {others} are not here: `cuda` is the only one")
    options = {key: value for one in accelerators for key, value in one.get("parameters", {}).items()}
    parameters = parameters_of(config)
    for key, (default, meanings) in CUDA_PARAMETERS.items():
        value = parameters.get(key, default)
        if value not in meanings:
            raise pb_utils.TritonModelException(f"unsupported {key} value '{value}'")
        options[key] = meanings[value]
    if "gpu_mem_limit" in parameters:
        options["gpu_mem_limit"] = parameters["gpu_mem_limit"]
    return {**options, "device_id": device}


def open_session(path, config, kind, device):
    """A session where the instance is to run: a GPU that cannot be used is an error, not a reason to take the CPU."""
    if kind != "GPU":
        return ort.InferenceSession(path, session_options(config), providers=["CPUExecutionProvider"])
    cuda = "CUDAExecutionProvider"
    if cuda not in ort.get_available_providers():
        raise pb_utils.TritonModelException(
            f"the instance is of KIND_GPU, and onnxruntime {ort.__version__} here is for the CPU: install Triton by "
            "`local/triton/install.sh TARGET gpu`, or serve the configuration `cpu`"
        )
    ort.preload_dlls()  # CUDA and cuDNN lie beside onnxruntime, where the loader does not look.
    session = ort.InferenceSession(
        path, session_options(config), providers=[(cuda, cuda_options(config, device)), "CPUExecutionProvider"]
    )
    if cuda not in session.get_providers():
        raise pb_utils.TritonModelException(
            "the instance is of KIND_GPU, and onnxruntime does not start CUDA: the server's log says which library or "
            "driver is missing"
        )
    return session


def check_names(kind, declared, actual):
    """A configuration that does not fit the graph fails when it is loaded, not with the first request."""
    unknown = {tensor["name"] for tensor in declared} - set(actual)
    if unknown or not declared:
        raise pb_utils.TritonModelException(
            f"the configuration declares {kind}s {sorted(t['name'] for t in declared)}, the graph has {sorted(actual)}"
        )


def check_batch_axis(config, tensors):
    """Like the C++ backend: what Triton may send in batches has to have an open first axis."""
    for tensor in tensors:
        if config["max_batch_size"] > 0 and (not tensor.shape or isinstance(tensor.shape[0], int)):
            raise pb_utils.TritonModelException(
                f"tensor '{tensor.name}' has shape {tensor.shape} in the graph, and max_batch_size "
                f"{config['max_batch_size']} needs an open first axis: set it to 0, and give the whole shape as dims"
            )


class TritonPythonModel:
    def initialize(self, args):
        config = json.loads(args["model_config"])
        file = config.get("default_model_filename") or "model.onnx"
        path = os.path.join(args["model_repository"], args["model_version"], file)
        self.session = open_session(path, config, args["model_instance_kind"], args["model_instance_device_id"])
        check_names("input", config["input"], [tensor.name for tensor in self.session.get_inputs()])
        check_names("output", config["output"], [tensor.name for tensor in self.session.get_outputs()])
        check_batch_axis(config, [*self.session.get_inputs(), *self.session.get_outputs()])
        self.batching = config["max_batch_size"] > 0

    def execute(self, requests):
        """Answers in the order of the requests, each with outputs or an error of its own."""
        answers = [None] * len(requests)
        for group in self.groups(requests, answers):
            try:
                self.run(group, answers)
            except Exception as error:  # One bad group must not take the others' answers away.
                for index, _, _ in group:
                    answers[index] = failure(f"onnx runtime error: {error}")
        return answers

    def groups(self, requests, answers):
        """Requests that can run as one batch: the same inputs with the same shapes, and the same outputs wanted."""
        groups = {}
        for index, request in enumerate(requests):
            if request.is_cancelled():
                answers[index] = failure("the request was cancelled", pb_utils.TritonError.CANCELLED)
                continue
            inputs = {tensor.name(): tensor.as_numpy() for tensor in request.inputs()}
            outputs = tuple(sorted(request.requested_output_names()))
            shapes = tuple(sorted((name, array.dtype.str, array.shape[1:]) for name, array in inputs.items()))
            key = (outputs, shapes) if self.batching else index
            groups.setdefault(key, []).append((index, outputs, inputs))
        return groups.values()

    def run(self, group, answers):
        _, outputs, first = group[0]
        feed = first
        if len(group) > 1:
            feed = {name: np.concatenate([inputs[name] for _, _, inputs in group]) for name in first}
        results = self.session.run(outputs, feed)
        start = 0
        for index, _, inputs in group:
            end = start + len(next(iter(inputs.values())))
            parts = [result[start:end] for result in results] if len(group) > 1 else results
            answers[index] = pb_utils.InferenceResponse(
                [pb_utils.Tensor(name, np.ascontiguousarray(part)) for name, part in zip(outputs, parts)]
            )
            start = end


def failure(message, *code):
    # The stub adds TritonError and its codes to the module after this file is loaded, so no default can name one.
    return pb_utils.InferenceResponse(error=pb_utils.TritonError(message, *code))
