"""Official descriptors, as JSON on stdout, of the files and messages that are named on stdin (one a line).

Run by the Python of a virtual environment that holds xds-protos and grpcio-health-checking.
"""

import importlib
import json
import sys

from google.protobuf import descriptor_pb2, descriptor_pool

FIELD = descriptor_pb2.FieldDescriptorProto


def module_of(proto: str) -> str:
    path = proto.replace("grpc/health/v1", "grpc_health/v1")
    return path.removesuffix(".proto").replace("/", ".") + "_pb2"


def field(f) -> dict:
    target = f.message_type or f.enum_type
    oneof = f.containing_oneof
    return {
        "number": f.number,
        "type": FIELD.Type.Name(f.type).removeprefix("TYPE_").lower(),
        "of": target.full_name if target is not None else None,
        "repeated": f.is_repeated,
        "oneof": oneof.name if oneof is not None else None,
    }


def walk(message, out: dict) -> None:
    out["messages"][message.full_name] = {f.name: field(f) for f in message.fields}
    for enum in message.enum_types:
        out["enums"][enum.full_name] = {v.name: v.number for v in enum.values}
    for nested in message.nested_types:
        walk(nested, out)


def main() -> None:
    pool = descriptor_pool.Default()
    out = {"messages": {}, "enums": {}, "methods": {}}
    for proto in sys.stdin.read().split():
        importlib.import_module(module_of(proto))
        file = pool.FindFileByName(proto.replace("grpc/health/v1", "grpc_health/v1"))
        for message in file.message_types_by_name.values():
            walk(message, out)
        for enum in file.enum_types_by_name.values():
            out["enums"][enum.full_name] = {v.name: v.number for v in enum.values}
        for service in file.services_by_name.values():
            for method in service.methods:
                name = f"{service.full_name}/{method.name}"
                streams = [method.client_streaming, method.server_streaming]
                types = [method.input_type.full_name, method.output_type.full_name]
                out["methods"][name] = types + streams
    json.dump(out, sys.stdout)


if __name__ == "__main__":
    main()
