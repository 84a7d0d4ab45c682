#!/usr/bin/env python3
"""Makes the int8 form of the u2netp that Matte serves, for processors with VNNI.

    /tmp/derive/bin/pip install onnxruntime==1.31.1 pillow==13.0.0      # in addition to those of derive.py
    /tmp/derive/bin/python models/quantise.py models/u2netp/1/model.onnx models/u2netp/1/model.int8.onnx

The same input, photos and versions give the same bytes. Activations become unsigned 8-bit with one scale per tensor,
over their range in 50 crops of the bundled photos; weights become signed 8-bit with one scale per output channel.
"""
import hashlib
import pathlib
import sys
import tempfile

import numpy as np
import onnx
from onnx import helper
from onnxruntime.quantization import CalibrationMethod, QuantFormat, QuantType, quantize_static
from onnxruntime.quantization.calibrate import CalibrationDataReader, TensorsData, create_calibrator, save_tensors_data
from PIL import Image

SOURCE_SHA256 = "282926cf326521bfeb0cae7f983a955ef63c0b83b0fd3297ed82340f99f02aeb"
SIZE = 320
CROPS, SEED = 50, 1
PHOTOS = ["astronaut.png", "chelsea.png", "coffee.png", "lemur.png", "rocket.jpg"]
FIXTURES = pathlib.Path(__file__).parent.parent / "test/fixtures/photos"
OPERATORS = ["Conv", "Concat", "MaxPool", "Resize", "Add", "Relu"]
# One channel of Conv_765 reaches 228, the others stay below 72, and Conv_787 multiplies it by weights 35 times the next
# largest: a step of 228/255 would change the mask more than everything else. The small nodes between the two therefore
# keep floats, and so do the logits of the mask, whose steps would show as bands in soft edges.
FLOAT_NODES = ["Conv_765", "Relu_766", "Resize_785", "Concat_786", "Conv_787", "Concat_1046", "Conv_1047"]


class Crops(CalibrationDataReader):
    """Crops of half to all of each side, from each photo in turn, every second one mirrored."""

    def __init__(self):
        self.random = np.random.default_rng(SEED)
        self.photos = [Image.open(FIXTURES / photo).convert("RGB") for photo in PHOTOS]
        self.count = 0

    def get_next(self):
        if self.count == CROPS:
            return None
        photo = self.photos[self.count % len(self.photos)]
        self.count += 1
        share = self.random.uniform(0.5, 1)
        width, height = int(photo.width * share), int(photo.height * share)
        left, top = (int(self.random.integers(0, room + 1)) for room in (photo.width - width, photo.height - height))
        crop = photo.resize((SIZE, SIZE), Image.Resampling.BILINEAR, (left, top, left + width, top + height))
        if self.count % 2 == 0:
            crop = crop.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
        return {"image": np.asarray(crop)[None]}


def outward(value):
    """Rounds away from zero to six significant bits, because processors differ in the last bits."""
    mantissa, exponent = np.frexp(np.asarray(value, np.float64).item())
    return np.float32(np.ldexp(np.sign(mantissa) * np.ceil(abs(mantissa) * 64) / 64, exponent))


def ranges_of(source, folder):
    calibrator = create_calibrator(
        source, OPERATORS, str(folder / "augmented.onnx"), CalibrationMethod.MinMax, providers=["CPUExecutionProvider"]
    )
    calibrator.collect_data(Crops())
    found = {name: data.range_value for name, data in calibrator.compute_data().items()}
    rounded = {name: (outward(lowest), outward(highest)) for name, (lowest, highest) in found.items()}
    return TensorsData(CalibrationMethod.MinMax, rounded)


def quantise(source, float_nodes=FLOAT_NODES):
    missing = set(float_nodes) - {node.name for node in onnx.load(source).graph.node}
    if missing:
        sys.exit(f"quantise.py: the graph has no node {', '.join(sorted(missing))}")
    with tempfile.TemporaryDirectory(prefix="matte-") as name:
        folder = pathlib.Path(name)
        save_tensors_data(ranges_of(source, folder), folder / "ranges.json")
        quantize_static(
            source, folder / "int8.onnx", None, calibration_cache_path=folder / "ranges.json",
            quant_format=QuantFormat.QDQ, activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8,
            per_channel=True, op_types_to_quantize=OPERATORS, nodes_to_exclude=float_nodes,
        )
        quantised = onnx.load(folder / "int8.onnx")
    del quantised.graph.value_info[:]
    quantised.producer_name, quantised.producer_version = "matte models/quantise.py", ""
    helper.set_model_props(quantised, {"source_sha256": SOURCE_SHA256})
    onnx.checker.check_model(quantised, full_check=True)
    return quantised.SerializeToString(deterministic=True)


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: quantise.py SOURCE.onnx TARGET.onnx")
    source = pathlib.Path(sys.argv[1])
    found = hashlib.sha256(source.read_bytes()).hexdigest()
    if found != SOURCE_SHA256:
        sys.exit(f"quantise.py: {source} has SHA-256 {found}, not {SOURCE_SHA256}: use that of models/models.json")
    quantised = quantise(source)
    with open(sys.argv[2], "wb") as file:
        file.write(quantised)
    print(f"{hashlib.sha256(quantised).hexdigest()}  {sys.argv[2]} ({len(quantised)} bytes)")


if __name__ == "__main__":
    main()
