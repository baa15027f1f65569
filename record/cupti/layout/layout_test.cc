#include "record/cupti/layout/layout.h"

#include <cupti.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>

#include "capture/spool/activity_decode.h"

namespace stallhound::record {
namespace {

using capture::spool::ActivityLayout;
using capture::spool::kAbsent;

TEST(LayoutTest, EachVersionHasItsTable) {
  EXPECT_EQ(LayoutFor(21), nullptr);
  EXPECT_EQ(LayoutFor(22)->cupti_version, 22u);
  EXPECT_EQ(LayoutFor(23)->cupti_version, 22u) << "between two tables: the older";
  EXPECT_EQ(LayoutFor(24)->cupti_version, 24u);
  EXPECT_EQ(LayoutFor(26)->cupti_version, 26u);
  EXPECT_EQ(LayoutFor(28)->cupti_version, 28u);
  EXPECT_EQ(LayoutFor(130001)->cupti_version, 130001u);
  EXPECT_EQ(LayoutFor(140000)->cupti_version, 130001u);
  EXPECT_TRUE(HasOwnLayout(26));
  EXPECT_FALSE(HasOwnLayout(27));
  EXPECT_FALSE(HasOwnLayout(1));
}

// The record sizes that were measured on each version.
TEST(LayoutTest, SizesAreThoseMeasured) {
  const struct {
    uint32_t version, sync, memcpy, cuda_event, kernel;
  } expected[] = {{22, 40, 88, 24, 208},
                  {24, 40, 88, 24, 208},
                  {26, 56, 96, 56, 208},
                  {28, 56, 96, 56, 208},
                  {130001, 56, 96, 56, 216}};
  for (const auto& row : expected) {
    const ActivityLayout& layout = *LayoutFor(row.version);
    EXPECT_EQ(layout.sync.bytes, row.sync) << row.version;
    EXPECT_EQ(layout.memcpy.bytes, row.memcpy) << row.version;
    EXPECT_EQ(layout.cuda_event.bytes, row.cuda_event) << row.version;
    EXPECT_EQ(layout.kernel.bytes, row.kernel) << row.version;
  }
  EXPECT_EQ(LayoutFor(24)->sync.event_sync, kAbsent);
  EXPECT_EQ(LayoutFor(24)->sync.return_value, kAbsent);
}

#if CUPTI_API_VERSION == 130001
#define EXPECT_OFFSET(record, field, Struct, member) EXPECT_EQ(layout.record.field, offsetof(Struct, member))

TEST(LayoutTest, TableOf130MatchesItsHeader) {
  const ActivityLayout& layout = *LayoutFor(130001);
  EXPECT_EQ(layout.kernel.bytes, sizeof(CUpti_ActivityKernel10));
  EXPECT_OFFSET(kernel, start, CUpti_ActivityKernel10, start);
  EXPECT_OFFSET(kernel, end, CUpti_ActivityKernel10, end);
  EXPECT_OFFSET(kernel, correlation, CUpti_ActivityKernel10, correlationId);
  EXPECT_OFFSET(kernel, device, CUpti_ActivityKernel10, deviceId);
  EXPECT_OFFSET(kernel, context, CUpti_ActivityKernel10, contextId);
  EXPECT_OFFSET(kernel, stream, CUpti_ActivityKernel10, streamId);
  EXPECT_OFFSET(kernel, name, CUpti_ActivityKernel10, name);
  EXPECT_OFFSET(kernel, grid_z, CUpti_ActivityKernel10, gridZ);
  EXPECT_OFFSET(kernel, block_x, CUpti_ActivityKernel10, blockX);
  EXPECT_OFFSET(kernel, registers, CUpti_ActivityKernel10, registersPerThread);
  EXPECT_OFFSET(kernel, dynamic_shared, CUpti_ActivityKernel10, dynamicSharedMemory);
  EXPECT_OFFSET(kernel, graph_node, CUpti_ActivityKernel10, graphNodeId);
  EXPECT_OFFSET(kernel, graph, CUpti_ActivityKernel10, graphId);
  EXPECT_EQ(layout.memcpy.bytes, sizeof(CUpti_ActivityMemcpy6));
  EXPECT_OFFSET(memcpy, bytes_copied, CUpti_ActivityMemcpy6, bytes);
  EXPECT_OFFSET(memcpy, flags, CUpti_ActivityMemcpy6, flags);
  EXPECT_OFFSET(memcpy, target_kind, CUpti_ActivityMemcpy6, dstKind);
  EXPECT_OFFSET(memcpy, correlation, CUpti_ActivityMemcpy6, correlationId);
  EXPECT_OFFSET(memcpy, graph, CUpti_ActivityMemcpy6, graphId);
  EXPECT_EQ(layout.memcpy2.bytes, sizeof(CUpti_ActivityMemcpyPtoP4));
  EXPECT_OFFSET(memcpy2, target_device, CUpti_ActivityMemcpyPtoP4, dstDeviceId);
  EXPECT_OFFSET(memcpy2, correlation, CUpti_ActivityMemcpyPtoP4, correlationId);
  EXPECT_EQ(layout.memset.bytes, sizeof(CUpti_ActivityMemset4));
  EXPECT_OFFSET(memset, memory_kind, CUpti_ActivityMemset4, memoryKind);
  EXPECT_OFFSET(memset, value, CUpti_ActivityMemset4, value);
  EXPECT_EQ(layout.api.bytes, sizeof(CUpti_ActivityAPI));
  EXPECT_OFFSET(api, cbid, CUpti_ActivityAPI, cbid);
  EXPECT_OFFSET(api, thread, CUpti_ActivityAPI, threadId);
  EXPECT_OFFSET(api, return_value, CUpti_ActivityAPI, returnValue);
  EXPECT_EQ(layout.sync.bytes, sizeof(CUpti_ActivitySynchronization2));
  EXPECT_OFFSET(sync, event, CUpti_ActivitySynchronization2, cudaEventId);
  EXPECT_OFFSET(sync, event_sync, CUpti_ActivitySynchronization2, cudaEventSyncId);
  EXPECT_OFFSET(sync, return_value, CUpti_ActivitySynchronization2, returnValue);
  EXPECT_EQ(layout.cuda_event.bytes, sizeof(CUpti_ActivityCudaEvent2));
  EXPECT_OFFSET(cuda_event, event, CUpti_ActivityCudaEvent2, eventId);
  EXPECT_OFFSET(cuda_event, event_sync, CUpti_ActivityCudaEvent2, cudaEventSyncId);
  EXPECT_EQ(layout.stream.bytes, sizeof(CUpti_ActivityStream));
  EXPECT_OFFSET(stream, flag, CUpti_ActivityStream, flag);
  EXPECT_EQ(layout.context.bytes, sizeof(CUpti_ActivityContext3));
  EXPECT_OFFSET(context, null_stream, CUpti_ActivityContext3, nullStreamId);
  EXPECT_EQ(layout.overhead.bytes, sizeof(CUpti_ActivityOverhead3));
  EXPECT_OFFSET(overhead, thread, CUpti_ActivityOverhead3, objectId.pt.threadId);
}

TEST(LayoutTest, DecodesTheHeadersOwnStructs) {
  CUpti_ActivityKernel10 kernel{};
  kernel.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  kernel.start = 100;
  kernel.end = 250;
  kernel.deviceId = 3;
  kernel.contextId = 4;
  kernel.streamId = 17;
  kernel.gridX = 1024;
  kernel.blockY = 8;
  kernel.registersPerThread = 77;
  kernel.dynamicSharedMemory = 49152;
  kernel.correlationId = 4242;
  kernel.graphNodeId = 0x1122334455667788;
  kernel.graphId = 9;
  kernel.name = "k";
  CUpti_ActivitySynchronization2 sync{};
  sync.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
  sync.type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE;
  sync.cudaEventId = 12;
  sync.cudaEventSyncId = 1ull << 40;
  sync.returnValue = 600;
  uint8_t buffer[1024] = {};
  memcpy(buffer, &kernel, sizeof(kernel));
  memcpy(buffer + sizeof(kernel), &sync, sizeof(sync));
  const ActivityLayout& layout = *LayoutFor(130001);
  capture::spool::ActivityCursor cursor(layout, buffer, sizeof(buffer));
  capture::spool::RawActivity raw;
  ASSERT_TRUE(cursor.Next(raw));
  const auto decoded = capture::spool::DecodeKernel(layout, raw.data);
  EXPECT_EQ(decoded.record.start_ns, 100);
  EXPECT_EQ(decoded.record.end_ns, 250);
  EXPECT_EQ(decoded.record.device_id, 3u);
  EXPECT_EQ(decoded.record.stream_id, 17u);
  EXPECT_EQ(decoded.record.correlation_id, 4242u);
  EXPECT_EQ(decoded.record.graph_id, 9u);
  EXPECT_EQ(decoded.record.graph_node_id, 0x1122334455667788u);
  EXPECT_EQ(decoded.shape.grid[0], 1024u);
  EXPECT_EQ(decoded.shape.block[1], 8u);
  EXPECT_EQ(decoded.shape.registers_per_thread, 77u);
  EXPECT_EQ(decoded.shape.dynamic_shared_bytes, 49152u);
  EXPECT_EQ(decoded.name_pointer, reinterpret_cast<uintptr_t>(kernel.name));
  ASSERT_TRUE(cursor.Next(raw));
  const auto decoded_sync = capture::spool::DecodeSync(layout, raw.data);
  EXPECT_EQ(decoded_sync.event_id, 12u);
  EXPECT_EQ(decoded_sync.event_sync_id, 1ull << 40);
  EXPECT_EQ(decoded_sync.return_value, 600);
  EXPECT_FALSE(cursor.Next(raw)) << "zero bytes end the walk";
  EXPECT_FALSE(cursor.is_damaged());
  EXPECT_EQ(cursor.offset(), sizeof(kernel) + sizeof(sync));
}
#endif

TEST(LayoutTest, WalkEndsAtDamage) {
  const ActivityLayout& layout = *LayoutFor(22);
  uint8_t buffer[256] = {};
  buffer[0] = 200;  // no such kind
  capture::spool::ActivityCursor unknown(layout, buffer, sizeof(buffer));
  capture::spool::RawActivity raw;
  EXPECT_FALSE(unknown.Next(raw));
  EXPECT_TRUE(unknown.is_damaged());
  buffer[0] = capture::spool::kActivityConcurrentKernel;
  capture::spool::ActivityCursor cut(layout, buffer, 100);
  EXPECT_FALSE(cut.Next(raw));
  EXPECT_TRUE(cut.is_damaged());
  capture::spool::ActivityCursor tiny(layout, buffer, 3);
  EXPECT_FALSE(tiny.Next(raw));
  EXPECT_FALSE(tiny.is_damaged());
}

}  // namespace
}  // namespace stallhound::record
