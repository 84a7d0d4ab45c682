#!/usr/bin/env python3
"""Measures Triton on a GPU: images per second of a model's `gpu` configuration with other numbers.

    local/triton/install.sh INSTALLATION gpu
    pip install 'tritonclient[grpc]==2.73.0'
    python3 models/measure_gpu.py INSTALLATION models/u2netp --instances 1,2 --batch 1,8 --delay 0,1000 \\
        --concurrency 1,16 [--file OTHER.onnx] [--cuda use_tf32=0]… [--parameter cudnn_conv_algo_search=0]…

Each combination is loaded as a separate model (one server for those with the same instances and batch) and measured in
turn. `mean batch` is Triton's inference_count ÷ execution_count; `GPU MB` is the memory of the model's processes.
`--config cpu` tests the script without a GPU.
"""
import argparse
import itertools
import json
import os
import pathlib
import re
import subprocess
import tempfile
import time
import urllib.request

from triton_load import Load

ADDRESS, HTTP, GRPC, METRICS = "127.0.0.1", 18900, 18901, 18902
READY_SECONDS = 240


def numbers(text):
    return [int(part) for part in text.split(",")]


def name_of(instances, batch, delay):
    return f"i{instances}-b{batch}-d{delay}"


def config_of(text, variant, options):
    """The configuration with the instances, batch and delay of one combination."""
    instances, batch, delay = variant
    side = int(re.search(r'name: "image".*?dims: \[ (?:1, )?(\d+)', text).group(1))
    kind = re.search(r"kind: (KIND_\w+)", text).group(1)
    replaced = r"^(name|max_batch_size|default_model_filename|instance_group|dynamic_batching|optimization)\b.*\n"
    text = re.sub(r"(?ms)^model_warmup \[.*?^\]\n", "", re.sub(replaced, "", text, flags=re.M))
    for key, value in options.parameter:
        text = re.sub(rf'^parameters {{ key: "{key}".*\n', "", text, flags=re.M)
        text += f'parameters {{ key: "{key}" value: {{ string_value: "{value}" }} }}\n'
    image = f'inputs {{ key: "image" value: {{ data_type: TYPE_UINT8 dims: [ {side}, {side}, 3 ] zero_data: true }} }}'
    sizes = range(1, batch + 1) if options.warm_up == "all" else [1]
    warm_up = [f'{{ name: "{size}" batch_size: {size} {image} }}' for size in sizes]
    lines = [
        f'name: "{name_of(*variant)}"',
        f"max_batch_size: {batch}",
        f"instance_group [ {{ kind: {kind} count: {instances} }} ]",
        f"model_warmup [ {', '.join(warm_up)} ]",
    ]
    if batch > 1:
        lines.append(f"dynamic_batching {{ max_queue_delay_microseconds: {delay} }}")
    if options.cuda:
        pairs = " ".join(f'parameters {{ key: "{key}" value: "{value}" }}' for key, value in options.cuda)
        lines.append(
            f'optimization {{ execution_accelerators {{ gpu_execution_accelerator [ {{ name: "cuda" {pairs} }} ] }} }}'
        )
    return text + "\n".join(lines) + "\n", side


def write_repository(folder, variants, options):
    source = pathlib.Path(options.model)
    text = (source / f"configs/{options.config}.pbtxt").read_text()
    named = re.search(r'^default_model_filename: "(.*)"', text, flags=re.M)
    weights = pathlib.Path(options.file) if options.file else source / "1" / (named.group(1) if named else "model.onnx")
    for variant in variants:
        entry = folder / name_of(*variant)
        (entry / "1").mkdir(parents=True)
        (entry / "1/model.onnx").symlink_to(weights.resolve())
        config, side = config_of(text, variant, options)
        (entry / "config.pbtxt").write_text(config)
    return side


def get(path):
    with urllib.request.urlopen(f"http://{ADDRESS}:{HTTP}/v2/{path}", timeout=5) as answer:
        return answer.read()


def start(installation, repository, log):
    server = pathlib.Path(installation).resolve() / "pytriton/tritonserver"
    command = [
        str(server / "bin/tritonserver"), "--model-repository", str(repository), "--disable-auto-complete-config",
        "--backend-directory", str(server / "backends"),
        "--backend-config", f"python,shm-region-prefix-name=measure_{os.getpid()}_",
        *(f"--{what}-address={ADDRESS}" for what in ("http", "grpc", "metrics")),
        f"--http-port={HTTP}", f"--grpc-port={GRPC}", f"--metrics-port={METRICS}", "--allow-gpu-metrics=false",
    ]
    begun = time.monotonic()
    process = subprocess.Popen(command, stdout=log, stderr=log)
    while time.monotonic() < begun + READY_SECONDS:
        if process.poll() is not None:
            break
        try:
            get("health/ready")
            return process, time.monotonic() - begun
        except OSError:
            time.sleep(0.05)
    process.kill()
    raise RuntimeError(f"Triton did not become ready; see its log, {log.name}")


def batches_so_far(name):
    stats = json.loads(get(f"models/{name}/stats"))["model_stats"][0]
    return int(stats["inference_count"]), int(stats["execution_count"])


def gpu_megabytes(name):
    """Memory of the stubs that run the model's instances, found by their command lines."""
    query = ["nvidia-smi", "--query-compute-apps=pid,used_memory", "--format=csv,noheader,nounits"]
    try:
        lines = subprocess.run(query, capture_output=True, text=True, check=True).stdout.splitlines()
        used = dict(re.findall(r"\d+", line)[:2] for line in lines if len(re.findall(r"\d+", line)) >= 2)
        of_model = [pid for pid in used if name + "_" in pathlib.Path(f"/proc/{pid}/cmdline").read_text()]
        return sum(int(used[pid]) for pid in of_model)
    except (OSError, ValueError, subprocess.CalledProcessError):
        return 0


def measure_group(load, variants, options):
    with tempfile.TemporaryDirectory(prefix="matte-") as folder, open(options.log, "a", encoding="utf8") as log:
        side = write_repository(pathlib.Path(folder), variants, options)
        process, seconds = start(options.installation, folder, log)
        print(f"<!-- {len(variants)} models ready after {seconds:.1f} s -->", flush=True)
        try:
            for variant, concurrency in itertools.product(variants, options.concurrency):
                name = name_of(*variant)
                images, runs = batches_so_far(name)
                rate, p50, p99 = load.run(f"{ADDRESS}:{GRPC}", name, side, concurrency, options.seconds)
                more_images, more_runs = batches_so_far(name)
                row = [
                    options.label, *variant, concurrency, f"{rate:.0f}" if rate >= 50 else f"{rate:.1f}",
                    f"{p50:.1f}", f"{p99:.1f}", f"{(more_images - images) / (more_runs - runs):.1f}",
                    gpu_megabytes(name),
                ]
                print(f"| {' | '.join(map(str, row))} |", flush=True)
        finally:
            process.terminate()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()


def pair(text):
    key, _, value = text.partition("=")
    return key, value


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("installation")
    parser.add_argument("model")
    defaults = {"instances": "1,2,4", "batch": "1,8,16,32", "delay": "0,1000", "concurrency": "1,8,16,32,64"}
    for name, default in defaults.items():
        parser.add_argument(f"--{name}", type=numbers, default=numbers(default))
    parser.add_argument("--seconds", type=float, default=1.5)
    parser.add_argument("--config", default="gpu")
    parser.add_argument("--file", help="another ONNX file with the same tensors")
    parser.add_argument("--label", default="", help="text of the first column")
    parser.add_argument("--cuda", type=pair, action="append", default=[], help="option of the CUDA provider, KEY=VALUE")
    parser.add_argument("--parameter", type=pair, action="append", default=[], help="of the configuration, KEY=VALUE")
    parser.add_argument("--warm-up", choices=["all", "one"], default="all", help="batch sizes to warm up")
    parser.add_argument("--log", default="triton.log", help="file for Triton's output")
    return parser.parse_args()


def main():
    options, load = parse(), Load()
    print("| | instances | batch | delay µs | in flight | images/s | p50 ms | p99 ms | mean batch | GPU MB |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for instances, batch in itertools.product(options.instances, options.batch):
        delays = options.delay if batch > 1 else [0]
        try:
            measure_group(load, [(instances, batch, delay) for delay in delays], options)
        except (RuntimeError, OSError) as error:
            print(f"<!-- instances {instances}, batch {batch}: {error} -->", flush=True)
    load.close()


if __name__ == "__main__":
    main()
