"""Runs models/u2netp/1/openvino_model.py, including cancelled and failed requests, without Triton and OpenVINO.

  openvino_cases.py MODEL_PY

Both modules are faked: the network returns the first channel, and fails for an image of 9s. Prints JSON: the responses,
and device, precision and threads of compilations without a parameter and with bf16.
"""
import importlib.util
import json
import os
import sys
import types

import numpy as np


class Request:
    def __init__(self, *levels, cancelled=False):
        self.images = np.stack([np.full((2, 2, 3), level, np.uint8) for level in levels])
        self.is_cancelled = lambda: cancelled


class Error:
    CANCELLED = "cancelled"

    def __init__(self, message, code="internal"):
        self.text = f"{code}: {message}"


class Core:
    """Fake of OpenVINO's Core; records compilations."""

    def read_model(self, path):
        return types.SimpleNamespace(reshape=lambda shape: None)

    def compile_model(self, graph, device, settings):
        compiled.append([device, settings["INFERENCE_PRECISION_HINT"], settings["INFERENCE_NUM_THREADS"]])
        return types.SimpleNamespace(create_infer_request=Inference)


compiled = []


class Inference:
    """Returns the same buffer each time, as OpenVINO may."""

    alpha = np.zeros((1, 2, 2), np.uint8)

    def infer(self, inputs):
        if inputs["image"].max() == 9:
            raise RuntimeError("no mask")
        self.alpha[:] = inputs["image"][..., 0]
        return {"alpha": self.alpha}


def load(path):
    utils, openvino = types.ModuleType("triton_python_backend_utils"), types.ModuleType("openvino")
    utils.TritonError = Error
    utils.Tensor = lambda name, array: array
    utils.InferenceResponse = lambda tensors=(), error=None: error.text if error else tensors[0].tolist()
    utils.get_input_tensor_by_name = lambda request, name: types.SimpleNamespace(as_numpy=lambda: request.images)
    sys.modules.update({utils.__name__: utils, openvino.__name__: openvino})
    openvino.Core = Core
    os.environ["OPENVINO_PACKAGES"] = "/nowhere"
    spec = importlib.util.spec_from_file_location("model", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.TritonPythonModel


def initialised(program, **parameters):
    values = {key: {"string_value": value} for key, value in {"weights": "model.onnx", **parameters}.items()}
    tensors = {"input": [{"name": "image", "dims": [2, 2, 3]}], "output": [{"name": "alpha", "dims": [2, 2]}]}
    model = program()
    model.initialize({
        "model_config": json.dumps({**tensors, "parameters": values}),
        "model_repository": "/models/a",
        "model_version": "1",
    })
    return model


def main():
    program = load(sys.argv[1])
    model = initialised(program)
    initialised(program, precision="bf16")
    answers = model.execute([Request(1, 2), Request(3, cancelled=True), Request(4, 9), Request(5)])
    json.dump({"answers": answers, "compiled": compiled}, sys.stdout)


if __name__ == "__main__":
    main()
