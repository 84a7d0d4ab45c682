"""Images per second of the bare model: no server, no transport, no work before or after.

  bare.py MODEL.onnx PROCESSES THREADS SECONDS [MEM_PATTERN]

Each process has a session of its own with THREADS threads and feeds it the same random picture again and again. All
start together; the figure is the images of the common window over its length, printed as one JSON object. MEM_PATTERN 0
is what the tuned configuration asks for, 1 the default of onnxruntime.
Run it with the Python packages of the Triton installation, so that model file and onnxruntime version are the same.
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
