#!/usr/bin/env python3
"""CPU time and latency of a model file in plain ONNX Runtime, without a server: what the tuned numbers rest on.

    PYTHONPATH=TRITON/pytriton/tritonserver/backends/python \\
        python3 models/measure.py models/u2netp/1/model.onnx [--threads 2] [--processes 2] [--no-spinning] \\
        [--mem-pattern]

TRITON is an installation made by local/triton/install.sh. CPU time per image holds on a busy machine, latency does not.
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


def measure(options, start):
    settings = ort.SessionOptions()
    settings.intra_op_num_threads = options.threads
    settings.enable_mem_pattern = options.mem_pattern
    settings.add_session_config_entry("session.intra_op.allow_spinning", "0" if options.no_spinning else "1")
    session = ort.InferenceSession(options.model, settings, providers=["CPUExecutionProvider"])
    (source,) = session.get_inputs()
    # The original takes float planes of a batch of one, the derived file bytes of any batch.
    shape = [size if isinstance(size, int) else options.batch for size in source.shape]
    random = np.random.default_rng(1)
    image = random.random(shape, np.float32) if "float" in source.type else random.integers(0, 256, shape, np.uint8)
    wanted, feed = [session.get_outputs()[0].name], {source.name: image}
    for _ in range(2):  # The first runs also take memory from the system.
        session.run(wanted, feed)
    start.wait()
    before, times = cpu_ms(), []
    for _ in range(options.runs):
        began = time.perf_counter()
        session.run(wanted, feed)
        times.append(1000 * (time.perf_counter() - began))
    cpu = (cpu_ms() - before) / options.runs / shape[0]
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"CPU {cpu:.0f} ms/image, p50 {statistics.median(times) / shape[0]:.0f} ms/image, {memory:.0f} MB")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    for name, default in [("threads", 1), ("processes", 1), ("batch", 1), ("runs", 12)]:
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--no-spinning", action="store_true")
    parser.add_argument("--mem-pattern", action="store_true")
    options = parser.parse_args()
    start = multiprocessing.Barrier(options.processes)
    workers = [multiprocessing.Process(target=measure, args=(options, start)) for _ in range(options.processes)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


if __name__ == "__main__":
    main()
