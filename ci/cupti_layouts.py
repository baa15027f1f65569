#!/usr/bin/env python3
"""Writes record/cupti/layout/layout_tables.cc: where CUPTI's activity records keep their fields, by version.

Usage: ci/cupti_layouts.py [--cuda-include DIR] CUPTI_INCLUDE_DIR... | clang-format > record/cupti/layout/layout_tables.cc

Each directory holds one version's CUPTI headers (the wheels nvidia-cuda-cupti-cu12 and nvidia-cuda-cupti carry them).
The compiler computes every offset and checks every width, so nothing here is typed by hand but the names of the fields.
"""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent

# Our record: CUPTI's struct without its number, and CUPTI's name of each of our fields if it is another.
RECORDS = {
    "kernel": ("Kernel", {
        "correlation": "correlationId", "device": "deviceId", "context": "contextId", "stream": "streamId",
        "grid_x": "gridX", "grid_y": "gridY", "grid_z": "gridZ", "block_x": "blockX", "block_y": "blockY",
        "block_z": "blockZ", "registers": "registersPerThread", "static_shared": "staticSharedMemory",
        "dynamic_shared": "dynamicSharedMemory", "graph_node": "graphNodeId", "graph": "graphId"}),
    "memcpy": ("Memcpy", {
        "correlation": "correlationId", "device": "deviceId", "context": "contextId", "stream": "streamId",
        "bytes_copied": "bytes", "copy_kind": "copyKind", "source_kind": "srcKind", "target_kind": "dstKind",
        "graph_node": "graphNodeId", "graph": "graphId"}),
    "memcpy2": ("MemcpyPtoP", {
        "correlation": "correlationId", "device": "deviceId", "context": "contextId", "stream": "streamId",
        "bytes_copied": "bytes", "copy_kind": "copyKind", "source_kind": "srcKind", "target_kind": "dstKind",
        "target_device": "dstDeviceId", "graph_node": "graphNodeId", "graph": "graphId"}),
    "memset": ("Memset", {
        "correlation": "correlationId", "device": "deviceId", "context": "contextId", "stream": "streamId",
        "bytes_set": "bytes", "memory_kind": "memoryKind", "graph_node": "graphNodeId", "graph": "graphId"}),
    "api": ("API", {"correlation": "correlationId", "thread": "threadId", "return_value": "returnValue"}),
    "sync": ("Synchronization", {
        "correlation": "correlationId", "context": "contextId", "stream": "streamId", "event": "cudaEventId",
        "event_sync": "cudaEventSyncId", "return_value": "returnValue"}),
    "cuda_event": ("CudaEvent", {
        "correlation": "correlationId", "context": "contextId", "stream": "streamId", "event": "eventId",
        "event_sync": "cudaEventSyncId", "device_time": "deviceTimestamp"}),
    "stream": ("Stream", {"context": "contextId", "stream": "streamId", "correlation": "correlationId"}),
    "context": ("Context", {"context": "contextId", "device": "deviceId", "null_stream": "nullStreamId"}),
    "overhead": ("Overhead", {
        "overhead_kind": "overheadKind", "object_kind": "objectKind", "thread": "objectId.pt.threadId",
        "correlation": "correlationId"}),
}

WIDTH_BYTES = {"u8": 1, "u16": 2, "u32": 4, "i32": 4, "u64": 8, "ptr": 8}


def layout_fields():
    """[(record, [(field, type)])] in the order of capture/spool/activity_layout.h."""
    text = (REPOSITORY / "capture/spool/activity_layout.h").read_text()
    macro = text[text.index("#define SH_ACTIVITY_LAYOUT"):text.index("struct ActivityLayout")].replace("\\\n", " ")
    macro = re.sub(r"\s+", " ", macro)
    records = []
    for part in macro.split("KIND(")[1:]:
        name = part.split(",")[0].strip()
        records.append((name, re.findall(r"FIELD\(\s*(\w+),\s*(\w+)\)", part)))
    return records


def newest_struct(header, name):
    """CUPTI's struct of the highest number in the header: the one that this version's library writes."""
    numbers = re.findall(r"\}\s*CUpti_Activity%s(\d*);" % name, header)
    if not numbers:
        sys.exit("no CUpti_Activity%s in the header" % name)
    return "CUpti_Activity" + name + max(numbers, key=lambda number: int(number or 1))


def program(header, records):
    lines = ["#include <cupti.h>", "#include <cstddef>", "#include <cstdio>", "#include <type_traits>",
             "template <typename T> int Main() {", "  return 0;", "}", "int main() {",
             '  printf("version %u\\n", static_cast<unsigned>(CUPTI_API_VERSION));']
    for record, fields in records:
        cupti_name, names = RECORDS[record]
        struct = newest_struct(header, cupti_name)
        lines.append('  printf("%s %s %%zu\\n", sizeof(%s));' % (record, struct, struct))
        for field, width in fields:
            member = names.get(field, field)
            lines.append(
                "  [&]<typename T>(T*) {{ if constexpr (requires(T t) {{ t.{m}; }}) {{"
                ' static_assert(sizeof(T::{d}) == {w}, "{s}.{m}"); printf("- %zu\\n", offsetof(T, {m})); }}'
                ' else {{ printf("- absent\\n"); }} }}(static_cast<{s}*>(nullptr));'.format(
                    m=member, d=member.split(".")[0], w=WIDTH_BYTES[width] if "." not in member else
                    "sizeof(T::%s)" % member.split(".")[0], s=struct))
    lines.append("}")
    return "\n".join(lines)


def table(include, cuda_include, records):
    header = (include / "cupti_activity.h").read_text()
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "offsets.cc"
        source.write_text(program(header, records))
        subprocess.run(["g++", "-std=c++20", "-w", "-I", str(include), "-isystem", str(cuda_include), "-o",
                        folder + "/offsets", str(source)], check=True)
        output = subprocess.run([folder + "/offsets"], check=True, capture_output=True, text=True).stdout.split("\n")
    version = int(output[0].split()[1])
    lines = iter(output[1:])
    rows = []
    for record, fields in records:
        _, struct, size = next(lines).split()
        cells = ["%s = %s" % ("." + field, offset if offset != "absent" else "kAbsent")
                 for (field, _), offset in ((f, next(lines).split()[1]) for f in fields)]
        rows.append("        // %s\n        .%s = {.bytes = %s, %s}," % (struct, record, size, ", ".join(cells)))
    return version, "    {.cupti_version = %d, .reserved = 0,\n%s},\n" % (version, "\n".join(rows))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cuda-include", default="/usr/local/cuda/include", type=pathlib.Path)
    parser.add_argument("cupti_include", nargs="+", type=pathlib.Path)
    arguments = parser.parse_args()
    records = layout_fields()
    tables = sorted(table(include, arguments.cuda_include, records) for include in arguments.cupti_include)
    print("// Generated by ci/cupti_layouts.py from the headers of each version; do not edit.\n")
    print('#include "record/cupti/layout/layout.h"\n')
    print("namespace stallhound::record {\n\nusing capture::spool::ActivityLayout;\nusing capture::spool::kAbsent;\n")
    print("extern const ActivityLayout kLayouts[] = {\n%s};\n" % "".join(text for _, text in tables))
    print("extern const int kLayoutCount = %d;\n\n}  // namespace stallhound::record" % len(tables))


if __name__ == "__main__":
    main()
