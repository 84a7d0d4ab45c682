#!/usr/bin/env python3
"""CPU time and latency of a model file in plain ONNX Runtime or OpenVINO, without a server.

    PYTHONPATH=TRITON/pytriton/tritonserver/backends/python \\
        python3 models/measure.py models/u2netp/1/model.onnx [--threads 2] [--processes 2] [--no-spinning] \\
        [--mem-pattern] [--openvino [--bf16] [--pinning]]

--openvino runs the file like models/u2netp/1/openvino_model.py: one image per run, one thread, fp32, or bf16 with
--bf16. ONEDNN_MAX_CPU_ISA=AVX512_CORE_VNNI hides AMX from it; AVX2_VNNI also hides AVX-512. TRITON is an installation
of local/triton/install.sh. CPU time per image is reliable on a busy machine, latency is not.
"""
import argparse
import multiprocessing
import resource
import statistics
import time

import numpy as np
import onnxruntime as ort


def cpu_ms():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return 1000 * (usage.ru_utime + usage.ru_stime)


def prepare_openvino(options):
    import openvino

    core = openvino.Core()
    graph = core.read_model(options.model)
    side = graph.inputs[0].partial_shape[1].get_length()
    graph.reshape([1, side, side, 3])
    settings = {"INFERENCE_NUM_THREADS": 1, "NUM_STREAMS": 1, "ENABLE_CPU_PINNING": options.pinning}
    settings["INFERENCE_PRECISION_HINT"] = "bf16" if options.bf16 else "f32"
    inference = core.compile_model(graph, "CPU", settings).create_infer_request()
    image = np.random.default_rng(1).integers(0, 256, (1, side, side, 3), np.uint8)
    return lambda: inference.infer({0: image}), 1


def prepare_onnxruntime(options):
    settings = ort.SessionOptions()
    settings.intra_op_num_threads = options.threads
    settings.enable_mem_pattern = options.mem_pattern
    settings.add_session_config_entry("session.intra_op.allow_spinning", "0" if options.no_spinning else "1")
    session = ort.InferenceSession(options.model, settings, providers=["CPUExecutionProvider"])
    (source,) = session.get_inputs()
    # The original takes float planes in a batch of one, the derived file bytes in any batch.
    shape = [size if isinstance(size, int) else options.batch for size in source.shape]
    random = np.random.default_rng(1)
    image = random.random(shape, np.float32) if "float" in source.type else random.integers(0, 256, shape, np.uint8)
    wanted, feed = [session.get_outputs()[0].name], {source.name: image}
    return lambda: session.run(wanted, feed), shape[0]


def measure(options, start):
    run, images = (prepare_openvino if options.openvino else prepare_onnxruntime)(options)
    for _ in range(2):  # The first runs also allocate memory.
        run()
    start.wait()
    before, times = cpu_ms(), []
    for _ in range(options.runs):
        began = time.perf_counter()
        run()
        times.append(1000 * (time.perf_counter() - began))
    cpu = (cpu_ms() - before) / options.runs / images
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"CPU {cpu:.0f} ms/image, p50 {statistics.median(times) / images:.0f} ms/image, {memory:.0f} MB")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    for name, default in [("threads", 1), ("processes", 1), ("batch", 1), ("runs", 12)]:
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--no-spinning", action="store_true")
    parser.add_argument("--mem-pattern", action="store_true")
    parser.add_argument("--openvino", action="store_true")
    parser.add_argument("--bf16", action="store_true")
    parser.add_argument("--pinning", action="store_true")
    options = parser.parse_args()
    start = multiprocessing.Barrier(options.processes)
    workers = [multiprocessing.Process(target=measure, args=(options, start)) for _ in range(options.processes)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


if __name__ == "__main__":
    main()
