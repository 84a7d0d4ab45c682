"""Images per second of the bare model, without server, transport or image processing.

  bare.py MODEL.onnx PROCESSES THREADS SECONDS [MEM_PATTERN]

Each process runs a separate session with THREADS threads on the same random image. All start together; prints the sum
of their rates as one JSON object. MEM_PATTERN: 0 as in the tuned configuration, 1 as in onnxruntime's default.
Run with the Python packages of the Triton installation, so model file and onnxruntime version are the same.
"""
import json
import multiprocessing
import sys
import time

import numpy as np
import onnxruntime as ort


def run(path, threads, mem_pattern, ready, seconds, counts):
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.enable_mem_pattern = mem_pattern
    session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    (source,) = session.get_inputs()
    side = source.shape[1]
    feed = {source.name: np.random.default_rng(1).integers(0, 256, (1, side, side, 3), np.uint8)}
    session.run(None, feed)
    ready.wait()
    end = time.perf_counter() + seconds
    count, started = 0, time.perf_counter()
    while time.perf_counter() < end:
        session.run(None, feed)
        count += 1
    counts.put(count / (time.perf_counter() - started))


def main():
    path, processes, threads, seconds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
    mem_pattern = sys.argv[5:] != ["0"]
    ready, counts = multiprocessing.Barrier(processes), multiprocessing.Queue()
    workers = [
        multiprocessing.Process(target=run, args=(path, threads, mem_pattern, ready, seconds, counts))
        for _ in range(processes)
    ]
    for worker in workers:
        worker.start()
    rates = [counts.get(timeout=seconds * 10 + 60) for _ in workers]
    for worker in workers:
        worker.join()
    print(json.dumps({"imagesPerSecond": sum(rates), "onnxruntime": ort.__version__}))


if __name__ == "__main__":
    main()
