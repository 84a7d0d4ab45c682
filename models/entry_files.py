"""Text files of a repository entry: configurations for Triton, README, LICENSE, and its entry in models.json."""
import dataclasses
import hashlib
import json

from matting_graph import Result, Settings

# On a GPU: one image at a time, because ONNX Runtime's CUDA provider plans all convolutions again when the batch size
# changes; two instances, so one copies and launches while the other computes.
GPU_INSTANCES = 2
# Upper bounds of multiply-adds per image for each speed; above both, a model is slow (docs/models.md).
SPEEDS = [("fast", 20_000_000_000), ("medium", 100_000_000_000)]


@dataclasses.dataclass(frozen=True)
class Entry:
    name: str
    model_version: str
    licence: str
    views: int
    # Has a form for processors with AMX.
    bf16: bool
    origin: str
    source_sha256: str
    settings: Settings
    result: Result

    @property
    def sha256(self):
        return hashlib.sha256(self.result.file).hexdigest()

    @property
    def speed(self):
        cost = self.result.multiply_adds * self.views
        return next((name for name, most in SPEEDS if cost <= most), "slow")


def parameter(key, value):
    return f'parameters {{ key: "{key}" value: {{ string_value: "{value}" }} }}'


def head(entry, comment, batch):
    """`batch` 0: the graph's first axis is 1, which Triton accepts only without batching."""
    return [
        *(f"# {line}" for line in comment),
        f'name: "{entry.name}"',
        'backend: "onnxruntime"',
        f"max_batch_size: {batch}",
        *tensors(entry.result.size, "1, " if batch == 0 else ""),
        *properties(entry, entry.result.form),
        "",
    ]


def tensors(size, axis):
    return [
        f'input [ {{ name: "image" data_type: TYPE_UINT8 dims: [ {axis}{size}, {size}, 3 ] }} ]',
        f'output [ {{ name: "alpha" data_type: TYPE_UINT8 dims: [ {axis}{size}, {size} ] }} ]',
    ]


def properties(entry, form):
    return [
        "# Parameters that Matte reads (docs/models.md).",
        parameter("matte.form", form),
        parameter("matte.licence", entry.licence),
        parameter("matte.speed", entry.speed),
        *([parameter("matte.views", entry.views)] if entry.views != 1 else []),
    ]


def warmup(size, axis):
    dims = f"[ {axis}{size}, {size}, 3 ]"
    image = f'inputs {{ key: "image" value: {{ data_type: TYPE_UINT8 dims: {dims} zero_data: true }} }}'
    return ["model_warmup [", f'  {{ name: "one" batch_size: 1 {image} }}', "]"]


THREADS = [parameter("intra_op_thread_count", 1), parameter("inter_op_thread_count", 1)]


def configurations(entry):
    """Configurations by path in the entry. The numbers are those of u2netp; its README has the measurements."""
    is_single = entry.result.single_reason != ""
    on_cpu, on_gpu = (0, 0) if is_single else (2, 1)
    only = ["The graph takes one image at a time; README.md has the reason."] if is_single else []
    memory = parameter("enable_mem_pattern", 0)
    last = warmup(entry.result.size, "1, " if is_single else "")
    files = {
        "config.pbtxt": [
            *head(entry, ["Used without --model-config-name; configs/ has the tuned configurations.", *only], on_cpu),
            "instance_group [ { kind: KIND_AUTO count: 1 } ]", *THREADS, memory, "", *last,
        ],
        "configs/cpu.pbtxt": [
            *head(entry, ["For the CPU (--model-config-name=cpu): an instance per core, no batches.", *only], on_cpu),
            "# At start the count is set to the number of allowed cores; 1 suits one core.",
            "instance_group [ { kind: KIND_CPU count: 1 } ]", *THREADS, memory, "", *last,
        ],
        "configs/gpu.pbtxt": [
            *head(entry, ["For a GPU (--model-config-name=gpu): one image at a time (docs/models.md).", *only], on_gpu),
            f"instance_group [ {{ kind: KIND_GPU count: {GPU_INSTANCES} }} ]", *THREADS,
            "# 1 = heuristic; the exhaustive search takes three times as long at start.",
            parameter("cudnn_conv_algo_search", 1), "", *last,
        ],
    }
    if entry.bf16:
        files["configs/cpu-amx-openvino.pbtxt"] = under_openvino(entry)
    return {path: "\n".join(lines) + "\n" for path, lines in files.items()}


def under_openvino(entry):
    """The program sends one image at a time, so the graph needs no batch axis."""
    return [
        "# Replaces cpu.pbtxt if the processor has AMX and Triton has OpenVINO: the same file, in bf16.",
        f'name: "{entry.name}"',
        'backend: "python"',
        'default_model_filename: "openvino_model.py"',
        parameter("weights", "model.onnx"),
        parameter("precision", "bf16"),
        "max_batch_size: 2",
        *tensors(entry.result.size, ""),
        *properties(entry, "bf16"),
        "",
        "# At start the count is set to the number of allowed cores; 1 suits one core.",
        "instance_group [ { kind: KIND_CPU count: 1 } ]", *warmup(entry.result.size, ""),
    ]


def readme(entry):
    result, settings = entry.result, entry.settings
    three = lambda values: ", ".join(f"{value:g}" for value in values)  # noqa: E731
    batch = f"one image at a time: {result.single_reason}" if result.single_reason else \
        "any batch: two images together give what each gives alone, to one grey level"
    rows = [
        ("licence", f"{entry.licence} (`LICENSE`)"),
        ("taken from", f"{entry.origin}, SHA-256 `{entry.source_sha256}`"),
        ("served", f"`1/model.onnx`, {len(result.file) / 1e6:.1f} MB, SHA-256 `{entry.sha256}`, "
                   "made from it by `models/add.py`"),
        ("input", f"`image` UINT8 [N, {result.size}, {result.size}, 3]: RGB, already resized"),
        ("output", f"`alpha` UINT8 [N, {result.size}, {result.size}]: `{result.output_name}`"
                   f"{' through a sigmoid' if settings.sigmoid else ''} × 255, rounded"),
        ("in the graph", f"(value ÷ {settings.scale:g} − mean) ÷ deviation; mean {three(settings.mean)}, "
                         f"deviation {three(settings.std)}"),
        ("batch", batch),
        ("weights", f"{result.form}{', computed in bf16 under OpenVINO with AMX' if entry.bf16 else ''}"),
        ("multiply-adds", f"{result.multiply_adds / 1e9:.1f} billion an image, which makes it {entry.speed}"
                          f"{f' with {entry.views} views' if entry.views != 1 else ''}"),
    ]
    table = "\n".join(f"| {key} | {value} |" for key, value in rows)
    return f"# {entry.name}\n\nServed as `{entry.model_version}`.\n\n| | |\n|---|---|\n{table}\n"


def licence_text(licence, text):
    """Most licences require their text beside the weights; without one, only the identifier is written."""
    return text or f"SPDX-License-Identifier: {licence}\n\nNo text was given when the model was added.\n"


def with_line(models_json, entry):
    """models.json with this entry; replaces other entries for the same folder."""
    known = json.loads(models_json) if models_json else {}
    kept = {name: one for name, one in known.items() if one.get("folder") != entry.name}
    line = {
        "folder": entry.name, "default": known.get(entry.model_version, {}).get("default", False),
        "licence": entry.licence, "file": "1/model.onnx", "sha256": entry.sha256,
    }
    return json.dumps({**kept, entry.model_version: line}, indent=2) + "\n"
