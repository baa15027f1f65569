#include "capture/api/api_class.h"

#include <gtest/gtest.h>

namespace stallhound::capture {
namespace {

TEST(NormalizeApiName, DropsVersionsAndPerThreadStreamSuffixes) {
  EXPECT_EQ(NormalizeApiName("cudaMemcpyAsync_ptsz_v7000"), "cudaMemcpyAsync");
  EXPECT_EQ(NormalizeApiName("cudaStreamSynchronize_v3020"), "cudaStreamSynchronize");
  EXPECT_EQ(NormalizeApiName("cuMemcpyDtoH_v2"), "cuMemcpyDtoH");
  EXPECT_EQ(NormalizeApiName("cuMemcpyDtoH_v2_ptds"), "cuMemcpyDtoH");
  EXPECT_EQ(NormalizeApiName("cudaLaunchKernelExC"), "cudaLaunchKernelExC");
  EXPECT_EQ(NormalizeApiName("cuFoo_vx"), "cuFoo_vx");
  EXPECT_EQ(NormalizeApiName("_v2"), "_v2");
  EXPECT_EQ(NormalizeApiName(""), "");
}

TEST(ClassifyApi, TellsBlockingFromAsynchronousCopies) {
  EXPECT_EQ(ClassifyApi("cudaMemcpy_v3020"), ApiClass::kCopyBlocking);
  EXPECT_EQ(ClassifyApi("cudaMemcpyAsync_ptsz_v7000"), ApiClass::kCopyAsync);
  EXPECT_EQ(ClassifyApi("cuMemcpyHtoDAsync_v2"), ApiClass::kCopyAsync);
  EXPECT_EQ(ClassifyApi("cu64MemcpyDtoH"), ApiClass::kCopyBlocking);
  EXPECT_EQ(ClassifyApi("cudaMemcpyBatchAsync"), ApiClass::kCopyAsync);
}

TEST(ClassifyApi, StreamOrderedAllocationIsApart) {
  EXPECT_EQ(ClassifyApi("cudaMalloc"), ApiClass::kDeviceAllocate);
  EXPECT_EQ(ClassifyApi("cudaMallocAsync"), ApiClass::kStreamOrderedAllocate);
  EXPECT_EQ(ClassifyApi("cuMemFree_v2"), ApiClass::kDeviceFree);
  EXPECT_EQ(ClassifyApi("cuMemFreeAsync_ptsz"), ApiClass::kStreamOrderedFree);
}

TEST(ClassifyApi, RuntimeAndDriverTwinsAgree) {
  EXPECT_EQ(ClassifyApi("cudaDeviceSynchronize"), ClassifyApi("cuCtxSynchronize_v2"));
  EXPECT_EQ(ClassifyApi("cudaLaunchKernel_v7000"), ClassifyApi("cuLaunchKernelEx_ptsz"));
  EXPECT_EQ(ClassifyApi("cudaGraphLaunch_v10000"), ClassifyApi("cuGraphLaunch"));
}

TEST(ClassifyApi, OthersAreOther) {
  EXPECT_EQ(ClassifyApi("cudaGetDevice"), ApiClass::kOther);
  EXPECT_EQ(ClassifyApi("cudaGraphAddMemcpyNode"), ApiClass::kOther);
  EXPECT_EQ(ClassifyApi("Memcpy"), ApiClass::kOther);
  EXPECT_EQ(ClassifyApi(""), ApiClass::kOther);
}

TEST(MaySyncHost, FollowsTheListOfTheDesign) {
  for (const char* name : {"cudaMemcpy", "cudaEventSynchronize", "cudaFree", "cudaHostAlloc", "cuMemRelease",
                           "cuModuleUnload", "cudaThreadSynchronize"}) {
    EXPECT_TRUE(MaySyncHost(ClassifyApi(name))) << name;
  }
  for (const char* name : {"cudaMemcpyAsync", "cudaMemset", "cudaStreamWaitEvent", "cudaEventQuery", "cudaFreeAsync",
                           "cudaGraphLaunch", "cudaEventDestroy", "cudaGraphInstantiate"}) {
    EXPECT_FALSE(MaySyncHost(ClassifyApi(name))) << name;
  }
}

}  // namespace
}  // namespace stallhound::capture
