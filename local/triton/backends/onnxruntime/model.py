"""Triton's "onnxruntime" backend, in Python: it serves `backend: "onnxruntime"` where the C++ one is not to be had.

Triton takes a file of this name in a folder of the backend's name as the backend itself (a "python-based backend"), so a
model repository written for the official image loads unmodified. One stub process per instance runs this file.

As in the C++ backend: `1/model.onnx` or default_model_filename, one session per instance, the requests of a batch joined
along the first axis, only the requested outputs computed, and the parameters read by `session_options`.
Not here: GPUs and other accelerators, completing a configuration from the graph, strings, sequences, ragged batches.
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


def session_options(config):
    """Options from the model configuration, by the names that the C++ backend has for them.

    Keys that begin with `session.` are handed on, so `session.intra_op.allow_spinning` works: with more than one thread
    the waiting ones otherwise burn their core. One thread never waits.
    """
    parameters = {key: value["string_value"] for key, value in config.get("parameters", {}).items()}
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


def check_names(kind, declared, actual):
    """A configuration that does not fit the graph fails when it is loaded, not with the first request."""
    unknown = {tensor["name"] for tensor in declared} - set(actual)
    if unknown or not declared:
        raise pb_utils.TritonModelException(
            f"the configuration declares {kind}s {sorted(t['name'] for t in declared)}, the graph has {sorted(actual)}"
        )


class TritonPythonModel:
    def initialize(self, args):
        config = json.loads(args["model_config"])
        file = config.get("default_model_filename") or "model.onnx"
        path = os.path.join(args["model_repository"], args["model_version"], file)
        self.session = ort.InferenceSession(path, session_options(config), providers=["CPUExecutionProvider"])
        check_names("input", config["input"], [tensor.name for tensor in self.session.get_inputs()])
        check_names("output", config["output"], [tensor.name for tensor in self.session.get_outputs()])
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
