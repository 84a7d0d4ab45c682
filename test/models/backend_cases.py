"""Runs local/triton/backends/onnxruntime/model.py with GPU configurations, without Triton and without a GPU.

  backend_cases.py MODEL_PY MODEL_ONNX MODEL_GPU_ONNX

Triton's module is faked. Prints one JSON object.
"""
import importlib.util
import json
import sys
import types

import numpy as np

FAKE = "triton_python_backend_utils"


class Refused(Exception):
    pass


def load(path):
    sys.modules[FAKE] = types.ModuleType(FAKE)
    sys.modules[FAKE].TritonModelException = Refused
    spec = importlib.util.spec_from_file_location("backend", path)
    backend = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(backend)
    return backend


def said_by(work):
    try:
        return work()
    except Refused as error:
        return f"refused: {error}"


def differences(backend, model, of_eight):
    """Mask differences of the two files for one and for three images, on the CPU; the second file computes eight."""
    images = np.random.default_rng(1).integers(0, 256, (3, 320, 320, 3), np.uint8)
    sessions = [backend.open_session(path, {}, "CPU", "0") for path in (model, of_eight)]
    for count in (1, 3):
        own, other = (one.run(["alpha"], {"image": images[:count]})[0].astype(int) for one in sessions)
        yield [list(other.shape), int(np.abs(own - other).max())]


def main():
    backend, model = load(sys.argv[1]), sys.argv[2]
    text = lambda value: {"string_value": value}  # noqa: E731
    parameters = lambda **pairs: {"parameters": {key: text(value) for key, value in pairs.items()}}  # noqa: E731
    accelerator = lambda name, **pairs: {  # noqa: E731
        "optimization": {"execution_accelerators": {"gpu_execution_accelerator": [{"name": name, "parameters": pairs}]}}
    }
    options = lambda config: said_by(lambda: backend.cuda_options(config, "1"))  # noqa: E731
    on = lambda kind: said_by(lambda: backend.open_session(model, {}, kind, "0").get_providers())  # noqa: E731
    tensor = lambda shape: types.SimpleNamespace(name="alpha", shape=shape)  # noqa: E731
    found = {
        "cpu": on("CPU"),
        "gpu without CUDA": on("GPU"),
        "defaults": options({}),
        "given": options({
            **parameters(cudnn_conv_algo_search="1", arena_extend_strategy="1", gpu_mem_limit="1000", unknown="1"),
            **accelerator("cuda", use_tf32="0", cudnn_conv_algo_search="DEFAULT"),
        }),
        "unknown value": options(parameters(cudnn_conv_algo_search="3")),
        "file for GPUs": list(differences(backend, model, sys.argv[3])),
        "closed axis": said_by(lambda: backend.check_batch_axis({"max_batch_size": 1}, [tensor([1, 64, 64])])),
        "closed axis without batches": backend.check_batch_axis({"max_batch_size": 0}, [tensor([1, 64, 64])]),
        "open axis": backend.check_batch_axis({"max_batch_size": 8}, [tensor(["N", 64, 64])]),
        "other accelerator": options(accelerator("tensorrt")),
    }
    # A GPU package whose libraries are missing silently falls back to the CPU.
    backend.ort.get_available_providers = lambda: ["CUDAExecutionProvider", "CPUExecutionProvider"]
    found["gpu that does not start"] = on("GPU")
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
