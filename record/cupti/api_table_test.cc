#include "record/cupti/api_table.h"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "capture/spool/format.h"

namespace stallhound::record {

std::vector<std::string> g_headers;

namespace {

using capture::ApiClass;
using capture::spool::kNone64;

bool ContainsAny(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

// Names of every callback id in CUPTI's headers.
std::vector<std::string> CallNames() {
  std::vector<std::string> names;
  for (const std::string& path : g_headers) {
    std::ifstream file(path);
    std::string word;
    constexpr std::string_view kMark = "_TRACE_CBID_";
    while (file >> word) {
      const size_t at = word.find(kMark);
      if (word.rfind("CUPTI_", 0) != 0 || at == std::string::npos) continue;
      const std::string name = word.substr(at + kMark.size());
      if (name.rfind("cu", 0) == 0 || name.rfind("__cuda", 0) == 0) names.push_back(name);
    }
  }
  return names;
}

// Speaks of launching, copying, waiting or memory, but does none of it.
bool IsHarmless(std::string_view name) {
  for (std::string_view prefix : {"cuda", "cu64", "cu"}) {
    if (name.substr(0, prefix.size()) != prefix) continue;
    name.remove_prefix(prefix.size());
    break;
  }
  constexpr std::string_view kHarmless[] = {
      "Graph",      "MemPrefetch",    "MemDiscard",         "MemGet",         "MemSet",        "MemRetain",
      "MemAddress", "MemMapArray",    "MemBatchDecompress", "ExternalMemory", "FuncGetModule", "ModuleGet",
      "LibraryGet", "NNSetAllocator", "BinaryFree"};
  return std::any_of(std::begin(kHarmless), std::end(kHarmless),
                     [&](std::string_view prefix) { return name.substr(0, prefix.size()) == prefix; });
}

bool Matters(std::string_view name) {
  return ContainsAny(name, {"Launch",      "Memcpy",       "Memset",         "Synchronize",  "Malloc",    "Alloc",
                            "Free",        "HostRegister", "HostUnregister", "MemCreate",    "MemMap",    "MemUnmap",
                            "MemRelease",  "EventQuery",   "StreamQuery",    "EventRecord",  "WaitEvent", "ModuleLoad",
                            "AddCallback", "ModuleUnload", "LibraryLoad",    "LibraryUnload"});
}

TEST(ApiTableTest, NoCallThatMattersIsUnclassified) {
  const std::vector<std::string> names = CallNames();
  ASSERT_GT(names.size(), 1000u) << "the headers were not read";
  int classified = 0;
  for (const std::string& name : names) {
    if (!Matters(name) || IsHarmless(name)) continue;
    EXPECT_NE(capture::ClassifyApi(name), ApiClass::kOther) << name;
    ++classified;
  }
  EXPECT_GT(classified, 250);
}

TEST(ApiTableTest, NotEveryNameIsHarmless) {
  EXPECT_FALSE(IsHarmless("cudaMemcpyBatchAsync_ptsz_v12080"));
  EXPECT_FALSE(IsHarmless("cuMemFree_v2"));
  EXPECT_TRUE(IsHarmless("cudaGraphAddMemcpyNode_v10000"));
}

TEST(ApiTableTest, EntriesSayWhatToDo) {
  const ApiEntry sync = MakeApiEntry("cudaStreamSynchronize_ptsz_v7000");
  EXPECT_EQ(sync.api_class, ApiClass::kStreamSync);
  EXPECT_TRUE(sync.is_per_thread_stream);
  EXPECT_TRUE(sync.has_callback);
  EXPECT_TRUE(sync.has_stack);
  EXPECT_FALSE(sync.has_activity);
  ASSERT_NE(sync.parameters, nullptr);
  EXPECT_EQ(sync.parameters->stream, 0);

  const ApiEntry launch = MakeApiEntry("cudaLaunchKernel_v7000");
  EXPECT_FALSE(launch.has_callback);
  EXPECT_TRUE(launch.has_activity);
  const ApiEntry query = MakeApiEntry("cuEventQuery");
  EXPECT_TRUE(query.has_callback);
  EXPECT_FALSE(query.has_stack);
  const ApiEntry event = MakeApiEntry("cudaEventRecord_ptsz_v7000");
  EXPECT_TRUE(event.has_callback) << "its activity record does not name the event";
  EXPECT_FALSE(event.has_stack || event.has_activity);
  const ApiEntry copy = MakeApiEntry("cuMemcpyHtoDAsync_v2_ptsz");
  EXPECT_TRUE(copy.has_stack) << "one end may be pageable";
  const ApiEntry other = MakeApiEntry("cudaGetDevice_v3020");
  EXPECT_FALSE(other.has_callback || other.has_activity);
  EXPECT_EQ(MakeApiEntry("cudaStreamBeginCapture_ptsz_v10000").role, CallRole::kBeginCapture);
  EXPECT_EQ(MakeApiEntry("cuStreamEndCapture").role, CallRole::kEndCapture);
  EXPECT_EQ(MakeApiEntry("cudaProfilerStart_v4000").role, CallRole::kProfilerStart);
  EXPECT_EQ(MakeApiEntry("cuProfilerStop").role, CallRole::kProfilerStop);
}

TEST(CallParametersTest, Names) {
  EXPECT_EQ(ParametersName("cudaMalloc_v3020"), "cudaMalloc");
  EXPECT_EQ(ParametersName("cudaMemcpyAsync_ptsz_v7000"), "cudaMemcpyAsync");
  EXPECT_EQ(ParametersName("cuMemcpyHtoD_v2_ptds"), "cuMemcpyHtoD_v2");
  EXPECT_EQ(FindCallParameters("cuMemAlloc"), nullptr) << "32-bit pointers: another struct";
  EXPECT_EQ(FindCallParameters("cudaDeviceSynchronize_v3020"), nullptr);
}

#define EXPECT_PARAMETER(name, member, Struct, field) \
  EXPECT_EQ(static_cast<size_t>(FindCallParameters(name)->member), offsetof(Struct, field)) << name

TEST(CallParametersTest, OffsetsAreThoseOfTheHeaders) {
  EXPECT_PARAMETER("cudaStreamSynchronize", stream, cudaStreamSynchronize_v3020_params, stream);
  EXPECT_PARAMETER("cudaStreamQuery", stream, cudaStreamQuery_v3020_params, stream);
  EXPECT_PARAMETER("cudaEventSynchronize", event, cudaEventSynchronize_v3020_params, event);
  EXPECT_PARAMETER("cudaEventQuery", event, cudaEventQuery_v3020_params, event);
  EXPECT_PARAMETER("cuStreamSynchronize", stream, cuStreamSynchronize_params, hStream);
  EXPECT_PARAMETER("cuEventSynchronize", event, cuEventSynchronize_params, hEvent);
  EXPECT_PARAMETER("cudaLaunchHostFunc", stream, cudaLaunchHostFunc_v10000_params, stream);
  EXPECT_PARAMETER("cudaStreamAddCallback", stream, cudaStreamAddCallback_v5000_params, stream);
  EXPECT_PARAMETER("cuLaunchHostFunc", stream, cuLaunchHostFunc_params, hStream);
  EXPECT_PARAMETER("cuStreamAddCallback", stream, cuStreamAddCallback_params, hStream);
  EXPECT_PARAMETER("cudaMalloc", bytes, cudaMalloc_v3020_params, size);
  EXPECT_PARAMETER("cudaMallocManaged", bytes, cudaMallocManaged_v6000_params, size);
  EXPECT_PARAMETER("cudaMallocHost", bytes, cudaMallocHost_v3020_params, size);
  EXPECT_PARAMETER("cudaHostAlloc", bytes, cudaHostAlloc_v3020_params, size);
  EXPECT_PARAMETER("cudaMallocAsync", stream, cudaMallocAsync_v11020_params, hStream);
  EXPECT_PARAMETER("cudaMallocFromPoolAsync", stream, cudaMallocFromPoolAsync_v11020_params, stream);
  EXPECT_PARAMETER("cudaMallocPitch", bytes, cudaMallocPitch_v3020_params, width);
  EXPECT_PARAMETER("cudaFreeAsync", stream, cudaFreeAsync_v11020_params, hStream);
  EXPECT_PARAMETER("cudaHostRegister", bytes, cudaHostRegister_v4000_params, size);
  EXPECT_PARAMETER("cuMemAlloc_v2", bytes, cuMemAlloc_v2_params, bytesize);
  EXPECT_PARAMETER("cuMemAllocManaged", bytes, cuMemAllocManaged_params, bytesize);
  EXPECT_PARAMETER("cuMemAllocHost_v2", bytes, cuMemAllocHost_v2_params, bytesize);
  EXPECT_PARAMETER("cuMemHostAlloc", bytes, cuMemHostAlloc_params, bytesize);
  EXPECT_PARAMETER("cuMemAllocAsync", stream, cuMemAllocAsync_params, hStream);
  EXPECT_PARAMETER("cuMemAllocFromPoolAsync", stream, cuMemAllocFromPoolAsync_params, hStream);
  EXPECT_PARAMETER("cuMemAllocPitch_v2", rows, cuMemAllocPitch_v2_params, Height);
  EXPECT_PARAMETER("cuMemFree_v2", address, cuMemFree_v2_params, dptr);
  EXPECT_PARAMETER("cuMemFreeAsync", stream, cuMemFreeAsync_params, hStream);
  EXPECT_PARAMETER("cuMemHostRegister_v2", bytes, cuMemHostRegister_v2_params, bytesize);
  EXPECT_PARAMETER("cuMemCreate", bytes, cuMemCreate_params, size);
  EXPECT_PARAMETER("cuMemMap", bytes, cuMemMap_params, size);
  EXPECT_PARAMETER("cuMemUnmap", bytes, cuMemUnmap_params, size);
}

TEST(CallParametersTest, OffsetsOfCopiesAreThoseOfTheHeaders) {
  EXPECT_PARAMETER("cudaMemcpy", bytes, cudaMemcpy_v3020_params, count);
  EXPECT_PARAMETER("cudaMemcpyAsync", bytes, cudaMemcpyAsync_v3020_params, count);
  EXPECT_PARAMETER("cudaMemcpyAsync", stream, cudaMemcpyAsync_v3020_params, stream);
  EXPECT_PARAMETER("cudaMemcpyToSymbol", bytes, cudaMemcpyToSymbol_v3020_params, count);
  EXPECT_PARAMETER("cudaMemcpyToSymbolAsync", stream, cudaMemcpyToSymbolAsync_v3020_params, stream);
  EXPECT_PARAMETER("cudaMemcpyFromSymbolAsync", stream, cudaMemcpyFromSymbolAsync_v3020_params, stream);
  EXPECT_PARAMETER("cudaMemcpyPeer", bytes, cudaMemcpyPeer_v4000_params, count);
  EXPECT_PARAMETER("cudaMemcpyPeerAsync", stream, cudaMemcpyPeerAsync_v4000_params, stream);
  EXPECT_PARAMETER("cudaMemcpy2D", bytes, cudaMemcpy2D_v3020_params, width);
  EXPECT_PARAMETER("cudaMemcpy2D", rows, cudaMemcpy2D_v3020_params, height);
  EXPECT_PARAMETER("cudaMemcpy2DAsync", stream, cudaMemcpy2DAsync_v3020_params, stream);
  EXPECT_PARAMETER("cudaMemcpy3DAsync", stream, cudaMemcpy3DAsync_v3020_params, stream);
  EXPECT_PARAMETER("cuMemcpy", bytes, cuMemcpy_params, ByteCount);
  EXPECT_PARAMETER("cuMemcpyAsync", stream, cuMemcpyAsync_params, hStream);
  EXPECT_PARAMETER("cuMemcpyHtoD_v2", bytes, cuMemcpyHtoD_v2_params, ByteCount);
  EXPECT_PARAMETER("cuMemcpyHtoDAsync_v2", stream, cuMemcpyHtoDAsync_v2_params, hStream);
  EXPECT_PARAMETER("cuMemcpyDtoH_v2", bytes, cuMemcpyDtoH_v2_params, ByteCount);
  EXPECT_PARAMETER("cuMemcpyDtoHAsync_v2", stream, cuMemcpyDtoHAsync_v2_params, hStream);
  EXPECT_PARAMETER("cuMemcpyDtoDAsync_v2", stream, cuMemcpyDtoDAsync_v2_params, hStream);
  EXPECT_PARAMETER("cuMemcpyPeer", bytes, cuMemcpyPeer_params, ByteCount);
  EXPECT_PARAMETER("cuMemcpyPeerAsync", stream, cuMemcpyPeerAsync_params, hStream);
  EXPECT_PARAMETER("cuMemcpyDtoA_v2", bytes, cuMemcpyDtoA_v2_params, ByteCount);
  EXPECT_PARAMETER("cuMemcpyAtoD_v2", bytes, cuMemcpyAtoD_v2_params, ByteCount);
  EXPECT_PARAMETER("cuMemcpyHtoA_v2", bytes, cuMemcpyHtoA_v2_params, ByteCount);
  EXPECT_PARAMETER("cuMemcpyHtoAAsync_v2", bytes, cuMemcpyHtoAAsync_v2_params, ByteCount);
  EXPECT_PARAMETER("cuMemcpyHtoAAsync_v2", stream, cuMemcpyHtoAAsync_v2_params, hStream);
  EXPECT_PARAMETER("cuMemcpyAtoH_v2", bytes, cuMemcpyAtoH_v2_params, ByteCount);
  EXPECT_PARAMETER("cuMemcpyAtoHAsync_v2", bytes, cuMemcpyAtoHAsync_v2_params, ByteCount);
  EXPECT_PARAMETER("cuMemcpyAtoHAsync_v2", stream, cuMemcpyAtoHAsync_v2_params, hStream);
  EXPECT_PARAMETER("cuMemcpyAtoA_v2", bytes, cuMemcpyAtoA_v2_params, ByteCount);
  EXPECT_PARAMETER("cuMemcpyBatchAsync", stream, cuMemcpyBatchAsync_params, hStream);
  EXPECT_PARAMETER("cuMemcpyBatchAsync_v2", stream, cuMemcpyBatchAsync_v2_params, hStream);
  EXPECT_PARAMETER("cuMemcpy2DAsync_v2", stream, cuMemcpy2DAsync_v2_params, hStream);
  EXPECT_PARAMETER("cuMemcpy3DAsync_v2", stream, cuMemcpy3DAsync_v2_params, hStream);
}

TEST(CallParametersTest, OffsetsOfEventCallsAreThoseOfTheHeaders) {
  EXPECT_PARAMETER("cudaEventRecord", event, cudaEventRecord_v3020_params, event);
  EXPECT_PARAMETER("cudaEventRecord", stream, cudaEventRecord_v3020_params, stream);
  EXPECT_PARAMETER("cudaEventRecordWithFlags", event, cudaEventRecordWithFlags_v11010_params, event);
  EXPECT_PARAMETER("cudaEventRecordWithFlags", stream, cudaEventRecordWithFlags_v11010_params, stream);
  EXPECT_PARAMETER("cuEventRecord", event, cuEventRecord_params, hEvent);
  EXPECT_PARAMETER("cuEventRecord", stream, cuEventRecord_params, hStream);
  EXPECT_PARAMETER("cuEventRecordWithFlags", event, cuEventRecordWithFlags_params, hEvent);
  EXPECT_PARAMETER("cuEventRecordWithFlags", stream, cuEventRecordWithFlags_params, hStream);
  EXPECT_PARAMETER("cudaStreamWaitEvent", event, cudaStreamWaitEvent_v3020_params, event);
  EXPECT_PARAMETER("cudaStreamWaitEvent", stream, cudaStreamWaitEvent_v3020_params, stream);
  EXPECT_PARAMETER("cuStreamWaitEvent", event, cuStreamWaitEvent_params, hEvent);
  EXPECT_PARAMETER("cuStreamWaitEvent", stream, cuStreamWaitEvent_params, hStream);
}

TEST(CallParametersTest, ReadsAllocations) {
  void* memory = reinterpret_cast<void*>(0x7f0000001000);
  cudaMalloc_v3020_params params{&memory, 4096};
  const CallParameters* parameters = FindCallParameters("cudaMalloc_v3020");
  const CallDetails details = ReadCallDetails(parameters, &params, true);
  EXPECT_EQ(details.bytes, 4096u);
  EXPECT_EQ(details.address, 0x7f0000001000u);
  EXPECT_FALSE(details.has_stream);
  // A failed call's output pointer may be anything.
  cudaMalloc_v3020_params failed{reinterpret_cast<void**>(8), 1};
  EXPECT_EQ(ReadCallDetails(parameters, &failed, false).address, kNone64);
  EXPECT_EQ(ReadCallDetails(nullptr, &params, true).bytes, kNone64);
  EXPECT_EQ(ReadCallDetails(parameters, nullptr, true).bytes, kNone64);
  cudaMemcpy2D_v3020_params flat{nullptr, 0, nullptr, 0, 100, 7, cudaMemcpyHostToDevice};
  EXPECT_EQ(ReadCallDetails(FindCallParameters("cudaMemcpy2D"), &flat, true).bytes, 700u);
}

}  // namespace
}  // namespace stallhound::record

int main(int count, char** arguments) {
  testing::InitGoogleTest(&count, arguments);
  for (int i = 1; i < count; ++i) stallhound::record::g_headers.push_back(arguments[i]);
  return RUN_ALL_TESTS();
}
