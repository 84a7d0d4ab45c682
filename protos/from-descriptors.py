#!/usr/bin/env python3
"""Writes Triton's .proto files from the descriptors compiled into the Python client.

    pip download --no-deps --only-binary=:all: tritonclient==2.73.0 && unzip tritonclient-2.73.0-*.whl
    pip install protobuf==7.36.2
    python3 protos/from-descriptors.py tritonclient/grpc protos/triton

The client contains compiled modules but no .proto files. A descriptor holds names, numbers, types and options, which
determine the wire format, but no comments. The same wheel gives the same files.
"""
import ast
import os
import sys

from google.protobuf import descriptor_pb2

FILES = {"service_pb2.py": "grpc_service.proto", "model_config_pb2.py": "model_config.proto"}
Field = descriptor_pb2.FieldDescriptorProto
COMPOSITES = ("TYPE_MESSAGE", "TYPE_ENUM", "TYPE_GROUP")
SCALARS = {number: name[5:].lower() for name, number in Field.Type.items() if name not in COMPOSITES}


def descriptor_in(path):
    """Reads the serialized file descriptor, the only argument of AddSerializedFile, without executing the module."""
    with open(path) as module:
        for node in ast.walk(ast.parse(module.read())):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "AddSerializedFile":
                return descriptor_pb2.FileDescriptorProto.FromString(ast.literal_eval(node.args[0]))
    raise SystemExit(f"{path} has no serialized descriptor")


def short(name, package):
    return name.removeprefix(f".{package}.")


def field_line(field, entries, package):
    entry = entries.get(field.type_name)
    if entry is not None:
        key, value = (type_of(part, package) for part in entry.field)
        return f"map<{key}, {value}> {field.name} = {field.number};"
    label = "repeated " if field.label == Field.LABEL_REPEATED else "optional " if field.proto3_optional else ""
    if field.HasField("options"):
        raise SystemExit(f"{field.name}: options are not written by this script")
    return f"{label}{type_of(field, package)} {field.name} = {field.number};"


def type_of(field, package):
    return SCALARS.get(field.type) or short(field.type_name, package)


def message_lines(message, scope, package):
    name = f"{scope}.{message.name}"
    entries = {f"{name}.{nested.name}": nested for nested in message.nested_type if nested.options.map_entry}
    yield f"message {message.name} {{"
    for enum in message.enum_type:
        yield from indented(enum_lines(enum))
    for nested in message.nested_type:
        if not nested.options.map_entry:
            yield from indented(message_lines(nested, name, package))
    for span in message.reserved_range:
        yield f"  reserved {span.start} to {span.end - 1};"
    open_oneof = None
    for field in message.field:
        # A descriptor stores a proto3 `optional` as a oneof group; the output uses the keyword.
        oneof = field.oneof_index if field.HasField("oneof_index") and not field.proto3_optional else None
        if oneof != open_oneof:
            if open_oneof is not None:
                yield "  }"
            if oneof is not None:
                yield f"  oneof {message.oneof_decl[oneof].name} {{"
            open_oneof = oneof
        yield ("    " if oneof is not None else "  ") + field_line(field, entries, package)
    if open_oneof is not None:
        yield "  }"
    yield "}"


def enum_lines(enum):
    yield f"enum {enum.name} {{"
    yield from (f"  {value.name} = {value.number};" for value in enum.value)
    yield "}"


def service_lines(service, package):
    yield f"service {service.name} {{"
    for method in service.method:
        ask = ("stream " if method.client_streaming else "") + short(method.input_type, package)
        answer = ("stream " if method.server_streaming else "") + short(method.output_type, package)
        yield f"  rpc {method.name}({ask}) returns ({answer}) {{}}"
    yield "}"


def indented(lines):
    return (f"  {line}" for line in lines)


def proto_text(file):
    blocks = [
        f'syntax = "{file.syntax}";',
        f"package {file.package};",
        *(f'import "{os.path.basename(name)}";' for name in file.dependency),
        *("\n".join(service_lines(service, file.package)) for service in file.service),
        *("\n".join(enum_lines(enum)) for enum in file.enum_type),
        *("\n".join(message_lines(message, f".{file.package}", file.package)) for message in file.message_type),
    ]
    return "\n\n".join(blocks) + "\n"


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: from-descriptors.py GENERATED_MODULES TARGET")
    for module, proto in FILES.items():
        text = proto_text(descriptor_in(os.path.join(sys.argv[1], module)))
        with open(os.path.join(sys.argv[2], proto), "w") as target:
            target.write(text)


if __name__ == "__main__":
    main()
