"""Runs a model file under OpenVINO, for Triton's "python" backend.

A configuration names this file by default_model_filename, and the model file by the parameter `weights`. Each instance
is a separate process with one thread. Floats are 32-bit unless the parameter `precision` is bf16: with AMX, OpenVINO
would use bf16 for everything not quantised, which makes u2netp's masks worse (README.md), and Triton's "openvino"
backend has no parameter for it. OPENVINO_PACKAGES must name the folder of the package.
"""
import json
import os
import sys

import numpy as np
import triton_python_backend_utils as pb_utils

sys.path.append(os.environ["OPENVINO_PACKAGES"])
import openvino

SETTINGS = {
    "INFERENCE_NUM_THREADS": 1,
    "NUM_STREAMS": 1,
    # By default each process pins its thread to a core, and two instances may choose the same one (README.md).
    "ENABLE_CPU_PINNING": False,
}


class TritonPythonModel:
    def initialize(self, args):
        config = json.loads(args["model_config"])
        self.input, self.output = config["input"][0]["name"], config["output"][0]["name"]
        parameters = {key: value["string_value"] for key, value in config["parameters"].items()}
        path = os.path.join(args["model_repository"], args["model_version"], parameters["weights"])
        precision = parameters.get("precision", "f32")
        core = openvino.Core()
        graph = core.read_model(path)
        # One image at a time: with an open batch axis an image takes a sixth longer.
        graph.reshape([1, *config["input"][0]["dims"]])
        settings = {**SETTINGS, "INFERENCE_PRECISION_HINT": precision}
        self.inference = core.compile_model(graph, "CPU", settings).create_infer_request()

    def execute(self, requests):
        """Responses in the order of the requests, each with masks or an error."""
        return [self.answer(request) for request in requests]

    def answer(self, request):
        if request.is_cancelled():
            return failure("the request was cancelled", pb_utils.TritonError.CANCELLED)
        try:
            images = pb_utils.get_input_tensor_by_name(request, self.input).as_numpy()
            masks = np.concatenate([self.mask_of(image) for image in images])
        except Exception as error:
            return failure(f"OpenVINO: {error}")
        return pb_utils.InferenceResponse([pb_utils.Tensor(self.output, masks)])

    def mask_of(self, image):
        results = self.inference.infer({self.input: image[None]})
        return np.array(results[self.output])


def failure(message, *code):
    return pb_utils.InferenceResponse(error=pb_utils.TritonError(message, *code))
