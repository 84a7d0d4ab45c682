#!/usr/bin/env python3
"""Adds a published matting network, as an ONNX file, to a folder of models that Matte serves.

    make model-add ARGS="isnet.onnx --name isnet --licence Apache-2.0 --mean .5,.5,.5 --std 1,1,1 --output 0"

docs/models.md has the options for common networks. The file is not changed. Writes NAME/1/model.onnx with bytes in and
out, config.pbtxt, configs/, README.md, LICENSE, and an entry in models.json; the same file and options give the same
bytes. The files are written to a temporary folder and moved into place at the end.
"""
import argparse
import hashlib
import json
import math
import pathlib
import re
import shutil
import sys
import tempfile

from entry_files import Entry, configurations, licence_text, readme, with_line
from matting_graph import ModelError, Settings, make

# The same patterns as in TritonPool.
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
VERSION = re.compile(r"(?=.{1,63}$)[a-z0-9][a-z0-9_-]*(\.[a-z0-9_-]+)*")
# The same pattern as in the controller: SPDX identifiers joined by AND, OR or WITH.
LICENCE = re.compile(r"(?=.{1,128}$)[A-Za-z0-9][A-Za-z0-9.+-]*( (AND|OR|WITH) [A-Za-z0-9][A-Za-z0-9.+-]*)*")

PROGRAM = pathlib.Path(__file__).parent / "u2netp/1/openvino_model.py"


def three_numbers(text):
    try:
        values = tuple(float(part) for part in text.split(","))
    except ValueError:
        values = ()
    if len(values) == 1:
        values *= 3
    if len(values) != 3 or not all(map(math.isfinite, values)):
        raise argparse.ArgumentTypeError(f"{text!r} is not three numbers such as .485,.456,.406, or one for all")
    return values


def arguments():
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog="model-add", description=__doc__, formatter_class=raw)
    parser.add_argument("file", type=pathlib.Path, help="the network, an ONNX file")
    parser.add_argument("--name", required=True, help="name of the folder and of the model in Triton")
    parser.add_argument("--licence", required=True, help="SPDX expression for the weights, such as Apache-2.0")
    parser.add_argument("--licence-file", type=pathlib.Path, help="text of the licence, copied beside the weights")
    parser.add_argument("--model-version", help="name that callers use (default: the name in lower case)")
    parser.add_argument("--input-size", type=int, metavar="S",
                        help="side of the image, if the graph leaves it open")
    parser.add_argument("--mean", type=three_numbers, default=(0.485, 0.456, 0.406), metavar="R,G,B",
                        help="subtracted after the division by --scale (default: ImageNet's)")
    parser.add_argument("--std", type=three_numbers, default=(0.229, 0.224, 0.225), metavar="R,G,B",
                        help="divides the result (default: ImageNet's)")
    parser.add_argument("--scale", type=float, default=255, help="divides each byte first (default: 255)")
    parser.add_argument("--output", metavar="NAME|INDEX", help="output with the mask, if there are several")
    parser.add_argument("--sigmoid", action="store_true", help="the output is logits, not probabilities")
    parser.add_argument("--views", type=int, choices=(1, 2), default=1, help="2: also run the mirror image")
    parser.add_argument("--bf16", action="store_true",
                        help="compute in bf16 if the processor and Triton support it (docs/models.md)")
    parser.add_argument("--origin", default="", help="source of the file, for the README")
    parser.add_argument("--target", type=pathlib.Path, default=pathlib.Path(__file__).parent, help="folder of models")
    parser.add_argument("--replace", action="store_true", help="replace the entry of this name")
    return parser.parse_args()


def check(options):
    if not NAME.fullmatch(options.name):
        raise ModelError(f"--name {options.name}: letters, digits, '.', '_' and '-', at most 63, such as isnet-general")
    version = options.model_version or options.name.lower()
    if not VERSION.fullmatch(version):
        raise ModelError(f"--model-version {version}: lower-case letters, digits, '.', '_' and '-', at most 63")
    if not LICENCE.fullmatch(options.licence):
        raise ModelError(f"--licence {options.licence}: not an SPDX expression such as Apache-2.0 or LicenseRef-Acme")
    if not (math.isfinite(options.scale) and options.scale > 0) or min(options.std) <= 0:
        raise ModelError("--scale and --std must be above 0")
    if not options.file.is_file():
        raise ModelError(f"{options.file} does not exist")
    if options.licence_file is not None and not options.licence_file.is_file():
        raise ModelError(f"--licence-file {options.licence_file} does not exist")
    folder = options.target / options.name
    if folder.exists() and not options.replace:
        raise ModelError(f"{folder} exists: give --replace, or another --name")
    served = known_models(options.target).get(version, {}).get("folder", options.name)
    if served != options.name:
        raise ModelError(f"{version} is the modelVersion of {served} already: give another with --model-version")
    return version


def known_models(target):
    file = target / "models.json"
    return json.loads(file.read_text()) if file.exists() else {}


def write(entry, options):
    """Writes to a temporary folder first, so a half-written entry is never served."""
    options.target.mkdir(parents=True, exist_ok=True)
    models = options.target / "models.json"
    text = options.licence_file.read_text() if options.licence_file else ""
    files = {**configurations(entry), "README.md": readme(entry), "LICENSE": licence_text(entry.licence, text)}
    with tempfile.TemporaryDirectory(prefix=".add-", dir=options.target) as aside:
        made = pathlib.Path(aside) / options.name
        for path, content in files.items():
            (made / path).parent.mkdir(parents=True, exist_ok=True)
            (made / path).write_text(content)
        (made / "1").mkdir()
        (made / "1/model.onnx").write_bytes(entry.result.file)
        if entry.bf16:
            shutil.copyfile(PROGRAM, made / "1" / PROGRAM.name)
        line = pathlib.Path(aside) / "models.json"
        line.write_text(with_line(models.read_text() if models.exists() else "", entry))
        folder = options.target / options.name
        if folder.exists():
            shutil.rmtree(folder)
        made.rename(folder)
        line.rename(models)


def report(entry, options):
    result = entry.result
    batch = "one image at a time" if result.single_reason else "any batch"
    facts = [f"{result.size} x {result.size}", result.form, batch, entry.speed, entry.licence]
    print(f"{options.target / entry.name}: {', '.join(facts)}")
    if result.single_reason:
        print(f"  one image at a time: {result.single_reason}")
    if not options.licence_file:
        print("  LICENSE has no text: most licences require it beside the weights (--licence-file)")
    # With a checksum every node would use cpu.pbtxt.
    checksum = "" if entry.bf16 else f"\n      checksum: sha256:{entry.sha256}"
    print(f"""
In a TritonPool (source: where the pods find the models folder):
    - name: {entry.name}
      modelVersion: {entry.model_version}
      licence: {entry.licence}{checksum}
      source: {{ imagePath: /models }}
Without Kubernetes, one more entry of MODELS_STATIC:
    {json.dumps({"name": entry.model_version, "tritonModel": entry.name, "addresses": ["HOST:8001"]})}""")


def main():
    options = arguments()
    try:
        version = check(options)
        settings = Settings(
            options.input_size, options.mean, options.std, options.scale, options.output, options.sigmoid
        )
        result = make(str(options.file), settings)
        digest = hashlib.sha256(options.file.read_bytes()).hexdigest()
        origin = options.origin or f"`{options.file.name}`"
        entry = Entry(
            options.name, version, options.licence, options.views, options.bf16, origin, digest, settings, result
        )
        write(entry, options)
    except ModelError as error:
        sys.exit(f"model-add: {error}")
    report(entry, options)


if __name__ == "__main__":
    main()
