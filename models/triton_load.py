"""Load for a Triton server: processes that keep a number of requests in flight.

Like the controller: one image per request, raw bytes in and out, a stream per request in flight. Needs
tritonclient[grpc]. Times are of the machine's monotonic clock, which all processes share.
"""
import multiprocessing
import queue
import threading
import time

import numpy as np

WORKERS = 8  # A Python process uses one core; eight can request more than 1,000 images per second.


def request_of(pb, load, seed):
    side = load["side"]
    image = np.random.default_rng(seed).integers(0, 256, (1, side, side, 3), np.uint8)
    request = pb.ModelInferRequest(model_name=load["model"], raw_input_contents=[image.tobytes()])
    request.inputs.add(name="image", datatype="UINT8", shape=image.shape)
    request.outputs.add(name="alpha")
    return request


def keep_one_in_flight(stub, request, until, ended):
    """Adds (begun, ended) of each request to the list, or an error message for the last."""
    waiting = queue.SimpleQueue()
    waiting.put(request)
    begun = time.monotonic()
    try:
        for answer in stub.ModelStreamInfer(iter(waiting.get, None)):
            now = time.monotonic()
            if answer.error_message:
                ended.append(answer.error_message)
                break
            ended.append((begun, now))
            if now > until:
                break
            begun = time.monotonic()
            waiting.put(request)
    except Exception as error:  # For example, the server ended: reported to the parent.
        ended.append(str(error))
    waiting.put(None)


def work(pipe):
    import grpc
    from tritonclient.grpc import service_pb2, service_pb2_grpc

    stubs = {}
    while (load := pipe.recv()) is not None:
        address, ended = load["address"], []
        if address not in stubs:
            stubs[address] = service_pb2_grpc.GRPCInferenceServiceStub(
                grpc.insecure_channel(address, options=[("grpc.max_receive_message_length", 64 << 20)])
            )
        threads = [
            threading.Thread(
                target=keep_one_in_flight,
                args=(stubs[address], request_of(service_pb2, load, seed), load["until"], ended),
            )
            for seed in range(load["in_flight"])
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        pipe.send(ended)


class Load:
    """Worker processes, spawned because gRPC does not survive a fork."""

    def __init__(self):
        context = multiprocessing.get_context("spawn")
        self.pipes = []
        for _ in range(WORKERS):
            ours, theirs = context.Pipe()
            context.Process(target=work, args=(theirs,), daemon=True).start()
            self.pipes.append(ours)

    def close(self):
        for pipe in self.pipes:
            pipe.send(None)

    def run(self, address, model, side, concurrency, seconds, warm_up=0.4):
        """Images per second, p50 and p99 in ms, of requests that end within the window."""
        first = time.monotonic() + warm_up
        until = first + seconds
        shares = [concurrency // WORKERS + (index < concurrency % WORKERS) for index in range(WORKERS)]
        busy = [(pipe, share) for pipe, share in zip(self.pipes, shares) if share]
        for pipe, share in busy:
            pipe.send({"address": address, "model": model, "side": side, "in_flight": share, "until": until})
        answers = [one for pipe, _ in busy for one in pipe.recv()]
        errors = [one for one in answers if isinstance(one, str)]
        if errors:
            raise RuntimeError(errors[0])
        times = [1000 * (ended - begun) for begun, ended in answers if first <= ended < until]
        if not times:
            raise RuntimeError(f"{model}: no answer within {seconds} s")
        return len(times) / seconds, np.percentile(times, 50), np.percentile(times, 99)
