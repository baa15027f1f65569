#include "record/cupti/copy_call.h"

#include <cupti.h>
#include <gtest/gtest.h>

#include <cstddef>

#include "capture/spool/format.h"

namespace stallhound::record {
namespace {

using capture::CopyDirection;
using capture::MemoryKind;
using capture::spool::kNone32;
using capture::spool::kNone64;

constexpr CUdeviceptr kPageableMemory = 0x1000;
constexpr CUdeviceptr kPinnedMemory = 0x2000;
constexpr CUdeviceptr kDeviceMemory = 0x3000;
constexpr CUdeviceptr kManagedMemory = 0x4000;
constexpr CUdeviceptr kOtherDeviceMemory = 0x5000;

void* Host(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

// The driver, as far as a pointer's attributes go.
CUresult Attributes(unsigned count, CUpointer_attribute* names, void** values, CUdeviceptr pointer) {
  for (unsigned i = 0; i < count; ++i) {
    unsigned value = 0;
    if (names[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL) value = pointer == kOtherDeviceMemory ? 5 : 4;
    if (names[i] == CU_POINTER_ATTRIBUTE_IS_MANAGED) value = pointer == kManagedMemory;
    if (names[i] == CU_POINTER_ATTRIBUTE_MEMORY_TYPE && pointer == kPinnedMemory) value = CU_MEMORYTYPE_HOST;
    if (names[i] == CU_POINTER_ATTRIBUTE_MEMORY_TYPE && pointer >= kDeviceMemory) value = CU_MEMORYTYPE_DEVICE;
    *static_cast<unsigned*>(values[i]) = value;
  }
  return CUDA_SUCCESS;
}
CUresult NoAttributes(unsigned, CUpointer_attribute*, void**, CUdeviceptr) { return CUDA_ERROR_NOT_PERMITTED; }

template <typename Params>
CopyFacts Read(const char* name, const Params& params, PointerAttributesFunction attributes = Attributes) {
  const CopyCall* call = FindCopyCall(name);
  EXPECT_NE(call, nullptr) << name;
  return call == nullptr ? CopyFacts{} : ReadCopy(*call, &params, 0, attributes);
}

void ExpectFacts(const CopyFacts& facts, CopyDirection direction, MemoryKind source, MemoryKind target) {
  EXPECT_EQ(facts.direction, direction);
  EXPECT_EQ(facts.source_kind, source);
  EXPECT_EQ(facts.target_kind, target);
}

#define EXPECT_ENDS(name, Struct, source, target)                                                 \
  do {                                                                                            \
    ASSERT_NE(FindCopyCall(name), nullptr) << name;                                               \
    EXPECT_EQ(FindCopyCall(name)->source_at, static_cast<int>(offsetof(Struct, source))) << name; \
    EXPECT_EQ(FindCopyCall(name)->target_at, static_cast<int>(offsetof(Struct, target))) << name; \
  } while (false)

TEST(CopyCallTest, OffsetsAreThoseOfTheHeaders) {
  EXPECT_ENDS("cuMemcpy", cuMemcpy_params, src, dst);
  EXPECT_ENDS("cuMemcpyAsync", cuMemcpyAsync_params, src, dst);
  EXPECT_ENDS("cuMemcpyHtoD_v2", cuMemcpyHtoD_v2_params, srcHost, dstDevice);
  EXPECT_ENDS("cuMemcpyHtoDAsync_v2_ptsz", cuMemcpyHtoDAsync_v2_params, srcHost, dstDevice);
  EXPECT_ENDS("cuMemcpyDtoH_v2_ptds", cuMemcpyDtoH_v2_params, srcDevice, dstHost);
  EXPECT_ENDS("cuMemcpyDtoHAsync_v2", cuMemcpyDtoHAsync_v2_params, srcDevice, dstHost);
  EXPECT_ENDS("cuMemcpyDtoD_v2", cuMemcpyDtoD_v2_params, srcDevice, dstDevice);
  EXPECT_ENDS("cuMemcpyDtoDAsync_v2", cuMemcpyDtoDAsync_v2_params, srcDevice, dstDevice);
  EXPECT_ENDS("cuMemcpyPeer", cuMemcpyPeer_params, srcDevice, dstDevice);
  EXPECT_ENDS("cuMemcpyPeerAsync", cuMemcpyPeerAsync_params, srcDevice, dstDevice);
  EXPECT_ENDS("cuMemcpyDtoA_v2", cuMemcpyDtoA_v2_params, srcDevice, dstArray);
  EXPECT_ENDS("cuMemcpyAtoD_v2", cuMemcpyAtoD_v2_params, srcArray, dstDevice);
  EXPECT_ENDS("cuMemcpyHtoA_v2", cuMemcpyHtoA_v2_params, srcHost, dstArray);
  EXPECT_ENDS("cuMemcpyHtoAAsync_v2", cuMemcpyHtoAAsync_v2_params, srcHost, dstArray);
  EXPECT_ENDS("cuMemcpyAtoH_v2", cuMemcpyAtoH_v2_params, srcArray, dstHost);
  EXPECT_ENDS("cuMemcpyAtoHAsync_v2", cuMemcpyAtoHAsync_v2_params, srcArray, dstHost);
  EXPECT_ENDS("cuMemcpyAtoA_v2", cuMemcpyAtoA_v2_params, srcArray, dstArray);
  EXPECT_ENDS("cuMemcpy2D_v2", cuMemcpy2D_v2_params, pCopy, pCopy);
  EXPECT_ENDS("cuMemcpy2DUnaligned_v2", cuMemcpy2DUnaligned_v2_params, pCopy, pCopy);
  EXPECT_ENDS("cuMemcpy2DAsync_v2", cuMemcpy2DAsync_v2_params, pCopy, pCopy);
  EXPECT_ENDS("cuMemcpy3D_v2", cuMemcpy3D_v2_params, pCopy, pCopy);
  EXPECT_ENDS("cuMemcpy3DAsync_v2", cuMemcpy3DAsync_v2_params, pCopy, pCopy);
  EXPECT_ENDS("cuMemcpy3DPeer", cuMemcpy3DPeer_params, pCopy, pCopy);
  EXPECT_ENDS("cuMemcpy3DPeerAsync", cuMemcpy3DPeerAsync_params, pCopy, pCopy);
  EXPECT_EQ(FindCopyCall("cuMemcpyHtoD"), nullptr) << "32-bit pointers: another struct";
  EXPECT_ENDS("cuMemcpyBatchAsync", cuMemcpyBatchAsync_params, srcs, dsts);
  EXPECT_ENDS("cuMemcpyBatchAsync_v2", cuMemcpyBatchAsync_v2_params, srcs, dsts);
  EXPECT_EQ(offsetof(cuMemcpyBatchAsync_params, sizes), offsetof(cuMemcpyBatchAsync_v2_params, sizes));
  EXPECT_EQ(offsetof(cuMemcpyBatchAsync_params, count), offsetof(cuMemcpyBatchAsync_v2_params, count));
  EXPECT_EQ(FindCopyCall("cuMemcpy3DBatchAsync_v2"), nullptr);
  EXPECT_EQ(FindCopyCall("cudaMemcpyAsync_v3020"), nullptr) << "the driver's call inside tells";
}

TEST(CopyCallTest, StructsOfPeerCopiesAreReadAsTheOthers) {
  EXPECT_EQ(offsetof(CUDA_MEMCPY3D_PEER, srcMemoryType), offsetof(CUDA_MEMCPY3D, srcMemoryType));
  EXPECT_EQ(offsetof(CUDA_MEMCPY3D_PEER, srcDevice), offsetof(CUDA_MEMCPY3D, srcDevice));
  EXPECT_EQ(offsetof(CUDA_MEMCPY3D_PEER, dstMemoryType), offsetof(CUDA_MEMCPY3D, dstMemoryType));
  EXPECT_EQ(offsetof(CUDA_MEMCPY3D_PEER, dstHost), offsetof(CUDA_MEMCPY3D, dstHost));
  EXPECT_EQ(offsetof(CUDA_MEMCPY3D_PEER, dstDevice), offsetof(CUDA_MEMCPY3D, dstDevice));
  EXPECT_EQ(offsetof(CUDA_MEMCPY3D_PEER, Depth), offsetof(CUDA_MEMCPY3D, Depth));
}

TEST(CopyCallTest, HostPointersArePageableOrPinned) {
  const cuMemcpyHtoDAsync_v2_params up{kDeviceMemory, Host(kPageableMemory), 8, nullptr};
  ExpectFacts(Read("cuMemcpyHtoDAsync_v2", up), CopyDirection::kHostToDevice, MemoryKind::kPageable,
              MemoryKind::kDevice);
  EXPECT_EQ(Read("cuMemcpyHtoDAsync_v2", up).bytes, kNone64);
  const cuMemcpyDtoH_v2_params down{Host(kPinnedMemory), kDeviceMemory, 8};
  ExpectFacts(Read("cuMemcpyDtoH_v2", down), CopyDirection::kDeviceToHost, MemoryKind::kDevice, MemoryKind::kPinned);
  const cuMemcpyHtoA_v2_params array{nullptr, 0, Host(kPinnedMemory), 8};
  ExpectFacts(Read("cuMemcpyHtoA_v2", array), CopyDirection::kHostToArray, MemoryKind::kPinned, MemoryKind::kArray);
}

TEST(CopyCallTest, UnifiedPointersAreLookedUp) {
  cuMemcpyAsync_params params{kPageableMemory, kManagedMemory, 8, nullptr};
  ExpectFacts(Read("cuMemcpyAsync", params), CopyDirection::kDeviceToHost, MemoryKind::kManaged, MemoryKind::kPageable);
  params = {kPinnedMemory, kPageableMemory, 8, nullptr};
  ExpectFacts(Read("cuMemcpyAsync", params), CopyDirection::kHostToHost, MemoryKind::kPageable, MemoryKind::kPinned);
  params = {kDeviceMemory, kDeviceMemory, 8, nullptr};
  ExpectFacts(Read("cuMemcpyAsync", params), CopyDirection::kDeviceToDevice, MemoryKind::kDevice, MemoryKind::kDevice);
}

TEST(CopyCallTest, WhatTheDriverDoesNotSayIsUnknown) {
  const cuMemcpyHtoD_v2_params up{kDeviceMemory, Host(kPageableMemory), 8};
  const cuMemcpy_params unified{kDeviceMemory, kPageableMemory, 8};
  for (const PointerAttributesFunction attributes : {PointerAttributesFunction(nullptr), &NoAttributes}) {
    ExpectFacts(Read("cuMemcpyHtoD_v2", up, attributes), CopyDirection::kHostToDevice, MemoryKind::kUnknown,
                MemoryKind::kDevice);
    ExpectFacts(Read("cuMemcpy", unified, attributes), CopyDirection::kUnknown, MemoryKind::kUnknown,
                MemoryKind::kUnknown);
  }
}

TEST(CopyCallTest, StructsSayTheirEndsAndSizes) {
  CUDA_MEMCPY2D flat{};
  flat.srcMemoryType = CU_MEMORYTYPE_HOST;
  flat.srcHost = Host(kPageableMemory);
  flat.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
  flat.dstDevice = kDeviceMemory;
  flat.WidthInBytes = 100;
  flat.Height = 7;
  const cuMemcpy2DAsync_v2_params rows{&flat, nullptr};
  ExpectFacts(Read("cuMemcpy2DAsync_v2", rows), CopyDirection::kHostToDevice, MemoryKind::kPageable,
              MemoryKind::kDevice);
  EXPECT_EQ(Read("cuMemcpy2DAsync_v2", rows).bytes, 700u);

  CUDA_MEMCPY3D box{};
  box.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  box.dstMemoryType = CU_MEMORYTYPE_HOST;
  box.dstHost = Host(kPinnedMemory);
  box.WidthInBytes = 10;
  box.Height = 3;
  box.Depth = 2;
  const cuMemcpy3D_v2_params boxes{&box};
  ExpectFacts(Read("cuMemcpy3D_v2", boxes), CopyDirection::kArrayToHost, MemoryKind::kArray, MemoryKind::kPinned);
  EXPECT_EQ(Read("cuMemcpy3D_v2", boxes).bytes, 60u);
  const cuMemcpy3D_v2_params none{nullptr};
  ExpectFacts(Read("cuMemcpy3D_v2", none), CopyDirection::kUnknown, MemoryKind::kUnknown, MemoryKind::kUnknown);
}

TEST(CopyCallTest, PeerCopiesAreBetweenDevices) {
  const cuMemcpyPeerAsync_params line{kOtherDeviceMemory, nullptr, kDeviceMemory, nullptr, 8, nullptr};
  ExpectFacts(Read("cuMemcpyPeerAsync", line), CopyDirection::kPeerToPeer, MemoryKind::kDevice, MemoryKind::kDevice);
  EXPECT_EQ(Read("cuMemcpyPeerAsync", line).peer_device_id, 5u);
  EXPECT_EQ(Read("cuMemcpyPeerAsync", line, NoAttributes).direction, CopyDirection::kPeerToPeer);
  EXPECT_EQ(Read("cuMemcpyPeerAsync", line, NoAttributes).peer_device_id, kNone32);
  const cuMemcpyPeerAsync_params same{kDeviceMemory, nullptr, kDeviceMemory, nullptr, 8, nullptr};
  EXPECT_EQ(Read("cuMemcpyPeerAsync", same).direction, CopyDirection::kDeviceToDevice);
  EXPECT_EQ(Read("cuMemcpyPeerAsync", same).peer_device_id, kNone32);
  const cuMemcpyDtoDAsync_v2_params other{kOtherDeviceMemory, kDeviceMemory, 8, nullptr};
  EXPECT_EQ(Read("cuMemcpyDtoDAsync_v2", other).direction, CopyDirection::kPeerToPeer);
  CUDA_MEMCPY3D_PEER box{};
  box.srcMemoryType = box.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  box.srcDevice = kDeviceMemory;
  box.dstDevice = kOtherDeviceMemory;
  box.WidthInBytes = box.Height = box.Depth = 2;
  const cuMemcpy3DPeer_params boxes{&box};
  ExpectFacts(Read("cuMemcpy3DPeer", boxes), CopyDirection::kPeerToPeer, MemoryKind::kDevice, MemoryKind::kDevice);
  EXPECT_EQ(Read("cuMemcpy3DPeer", boxes).bytes, 8u);
}

TEST(CopyCallTest, ACopyFromTheHostIsOneWhateverItsMemory) {
  const cuMemcpyHtoD_v2_params up{kDeviceMemory, Host(kManagedMemory), 8};
  ExpectFacts(Read("cuMemcpyHtoD_v2", up), CopyDirection::kHostToDevice, MemoryKind::kManaged, MemoryKind::kDevice);
}

TEST(CopyCallTest, BatchesAreReadOneByOne) {
  CUdeviceptr targets[] = {kDeviceMemory, kPinnedMemory};
  CUdeviceptr sources[] = {kPageableMemory, kDeviceMemory};
  size_t sizes[] = {10, 20};
  const cuMemcpyBatchAsync_v2_params params{targets, sources, sizes, 2, nullptr, nullptr, 0, nullptr};
  const CopyCall& call = *FindCopyCall("cuMemcpyBatchAsync_v2");
  ASSERT_EQ(CountCopies(call, &params), 2u);
  ExpectFacts(ReadCopy(call, &params, 0, Attributes), CopyDirection::kHostToDevice, MemoryKind::kPageable,
              MemoryKind::kDevice);
  ExpectFacts(ReadCopy(call, &params, 1, Attributes), CopyDirection::kDeviceToHost, MemoryKind::kDevice,
              MemoryKind::kPinned);
  EXPECT_EQ(ReadCopy(call, &params, 1, Attributes).bytes, 20u);
}

}  // namespace
}  // namespace stallhound::record
