#include "capture/import/kineto/names.h"

#include <gtest/gtest.h>

#include "capture/import/kineto/python_paths.h"
#include "capture/import/kineto/top_level.h"

namespace stallhound::capture {
namespace {

TEST(ParseMemoryNameTest, DirectionAndKinds) {
  const MemoryName copy = ParseMemoryName("Memcpy DtoH (Device -> Pageable)");
  EXPECT_EQ(copy.direction, CopyDirection::kDeviceToHost);
  EXPECT_EQ(copy.source_kind, MemoryKind::kDevice);
  EXPECT_EQ(copy.target_kind, MemoryKind::kPageable);
  EXPECT_EQ(ParseMemoryName("Memcpy HtoD (Pinned -> Device)").source_kind, MemoryKind::kPinned);
  EXPECT_EQ(ParseMemoryName("Memset (Managed Static)").target_kind, MemoryKind::kManagedStatic);
}

TEST(ParseMemoryNameTest, UnknownIsUnknown) {
  EXPECT_EQ(ParseMemoryName("Memcpy XtoY (Foo -> Bar)").direction, CopyDirection::kUnknown);
  EXPECT_EQ(ParseMemoryName("Memcpy XtoY (Foo -> Bar)").source_kind, std::nullopt);
  EXPECT_EQ(ParseMemoryName("").direction, CopyDirection::kUnknown);
  EXPECT_EQ(ParseMemoryName(")(").direction, CopyDirection::kUnknown);
}

TEST(ParsePythonNameTest, FileLineFunction) {
  const PythonName name = ParsePythonName("torch/nn/modules/linear.py(115): forward");
  EXPECT_EQ(name.file, "torch/nn/modules/linear.py");
  EXPECT_EQ(name.line, 115);
  EXPECT_EQ(name.function, "forward");
  EXPECT_FALSE(name.is_user);
  EXPECT_TRUE(ParsePythonName("train.py(42): <module>").is_user);
  EXPECT_EQ(ParsePythonName("model (copy).py(7): f").file, "model (copy).py");
  EXPECT_EQ(ParsePythonName("x.py(0): f").line, std::nullopt);
}

TEST(ParsePythonNameTest, BuiltInsLoseTheirAddress) {
  const PythonName name = ParsePythonName("<built-in method item of Tensor object at 0x7fb91c50b000>");
  EXPECT_EQ(name.function, "<built-in method item of Tensor object>");
  EXPECT_TRUE(name.file.empty());
  EXPECT_FALSE(name.is_user);
}

TEST(ShortenPythonPathTest, PlacesOfCode) {
  EXPECT_EQ(ShortenPythonPath("/home/ann/env/lib/python3.11/site-packages/torch/x.py").file, "torch/x.py");
  EXPECT_EQ(ShortenPythonPath("/usr/lib/python3.11/threading.py").file, "threading.py");
  EXPECT_FALSE(ShortenPythonPath("/usr/lib/python3.11/threading.py").is_user);
  EXPECT_EQ(ShortenPythonPath("/home/ann/project/train.py").file, "~/project/train.py");
  EXPECT_TRUE(ShortenPythonPath("/home/ann/project/train.py").is_user);
  EXPECT_TRUE(ShortenPythonPath("/workspace/train.py").is_user);
  EXPECT_FALSE(ShortenPythonPath("contextlib.py").is_user);
  EXPECT_FALSE(ShortenPythonPath("<string>").is_user);
  EXPECT_EQ(ShortenPythonPath("C:\\Users\\ann\\x.py").file, "~/x.py");
  EXPECT_FALSE(ShortenPythonPath("").is_user);
}

TEST(HidePrivateTest, HomesAndWords) {
  EXPECT_EQ(HidePrivate("load /home/ann.b/d.pt and /Users/bob/e", {}), "load ~/d.pt and ~/e");
  EXPECT_EQ(HidePrivate("gpu-node-17: step on gpu-node-17", {"gpu-node-17"}), "<private>: step on <private>");
  EXPECT_EQ(HidePrivate("/home/", {}), "/home/");
}

TEST(KinetoNamesTest, ApiNamesOfCudaAndHip) {
  KinetoNames names;
  EXPECT_EQ(names.Api("cudaMemcpyAsync_v3020").api_class, ApiClass::kCopyAsync);
  EXPECT_EQ(names.strings().Get(names.Api("cudaMemcpyAsync_v3020").api), "cudaMemcpyAsync");
  EXPECT_EQ(names.Api("hipDeviceSynchronize").api_class, ApiClass::kDeviceSync);
  EXPECT_TRUE(names.Api("hipDeviceSynchronize").is_hip);
  EXPECT_EQ(names.Api("hipExtModuleLaunchKernel").api_class, ApiClass::kKernelLaunch);
  EXPECT_EQ(names.Api("hipModuleLoad").api_class, ClassifyApi("cudaModuleLoad"));
}

TEST(TopLevelTest, TakesMeasuresAndRemembersPrivateWords) {
  TopLevel top;
  AddTopLevelKey("deviceProperties", R"([{"id": 1, "name": "H200", "numSms": 132, "totalGlobalMem": 150121545728}])",
                 &top);
  AddTopLevelKey("baseTimeNanoseconds", "1727743122000000000", &top);
  AddTopLevelKey("distributedInfo", R"({"rank": 3, "backend": "nccl"})", &top);
  AddTopLevelKey("cuda_runtime_version", "12090", &top);
  AddTopLevelKey("metadata",
                 R"({"system": {"uname": {"node": "gpu-node-17"}, "env": {"USER": "annabel", "LANG": "C.UTF-8"}}})",
                 &top);
  ASSERT_TRUE(top.devices.has_value());
  EXPECT_EQ(top.devices->at(0).id, 1u);
  EXPECT_EQ(top.devices->at(0).sm_count, 132);
  EXPECT_EQ(top.base_ns, 1'727'743'122'000'000'000);
  EXPECT_EQ(top.rank, 3);
  EXPECT_EQ(top.versions.size(), 1u);
  EXPECT_EQ(top.private_words, (std::vector<std::string>{"gpu-node-17", "annabel"}));
}

TEST(TopLevelTest, BrokenValuesAreForgiven) {
  TopLevel top;
  AddTopLevelKey("username", "\"domain\\annabel\"", &top);
  AddTopLevelKey("deviceProperties", "{]", &top);
  AddTopLevelKey("baseTimeNanoseconds", "\"x\"", &top);
  EXPECT_EQ(top.base_ns, std::nullopt);
  EXPECT_FALSE(top.devices.has_value());
  EXPECT_EQ(top.private_words.size(), 1u);
  EXPECT_GT(top.forgiven_count, 0);
}

}  // namespace
}  // namespace stallhound::capture
