#include "capture/import/importer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "capture/import/test_import.h"

namespace stallhound::capture {
namespace {

using ::testing::HasSubstr;

constexpr char kTrace[] = R"({"schemaVersion": 1, "traceEvents": [
  {"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":9,"tid":9,"ts":100,"dur":4,"args":{"correlation":1}},
  {"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":110,"dur":5,"args":{"device":0,"stream":7,"correlation":1}}]})";

std::string Error(std::string_view name, std::string_view content, const ImportOptions& options = {}) {
  const testing::TempDir folder;
  const absl::StatusOr<ForeignFiles> files = Import(folder, name, content, options);
  return files.ok() ? "imported" : std::string(files.status().message());
}

void ExpectOneKernel(std::string_view name, std::string_view content) {
  const absl::StatusOr<Imported> imported = ImportOne(name, content);
  ASSERT_TRUE(imported.ok()) << name << ": " << imported.status();
  EXPECT_EQ(imported->counts.kernels, 1) << name;
  EXPECT_EQ(imported->counts.kernels_with_launch, 1) << name;
}

TEST(ImportSourceTest, ContainersAreToldByContent) {
  ExpectOneKernel("plain.json", kTrace);
  ExpectOneKernel("packed.json.gz", Gzip(kTrace));
  ExpectOneKernel("plain_named.json.gz", kTrace);
  ExpectOneKernel("gz_named_plain.json", Gzip(kTrace));
  ExpectOneKernel("bom.json", std::string("\xef\xbb\xbf") + kTrace);
  ExpectOneKernel("bom.json.gz", Gzip(std::string("\xef\xbb\xbf") + kTrace));
  ExpectOneKernel("nested.json.gz", Gzip(Gzip(kTrace)));
}

TEST(ImportSourceTest, GzipMembersAreOneStream) {
  const std::string text = kTrace;
  ExpectOneKernel("members.json.gz", Gzip(text.substr(0, 100)) + Gzip("") + Gzip(text.substr(100)));
  ExpectOneKernel("padded.json.gz", Gzip(text) + std::string(512, '\0'));
}

TEST(ImportSourceTest, EveryCutOfAGzipIsAnErrorWithAReason) {
  const std::string packed = Gzip(kTrace);
  for (size_t size = 20; size < packed.size(); size += 7) {
    EXPECT_THAT(Error("cut.json.gz", packed.substr(0, size)), HasSubstr("truncated")) << size;
  }
  std::string damaged = packed;
  damaged[packed.size() / 2] ^= 0x55;
  EXPECT_THAT(Error("damaged.json.gz", damaged), HasSubstr("damaged"));
}

TEST(ImportSourceTest, ZipBombsNeedForce) {
  const std::string bomb = Gzip("{\"traceEvents\": [" + std::string(8 << 20, ' ') + "]}");
  EXPECT_THAT(Error("bomb.json.gz", bomb), HasSubstr("`stallhound import --force` reads it anyway"));
  EXPECT_EQ(Error("bomb.json.gz", bomb, {.force = true}), "imported");
}

TEST(ImportSourceTest, FilesOver16GiBNeedForce) {
  const testing::TempDir folder;
  const std::string path = folder.Write("huge.json", kTrace);
  std::error_code error;
  std::filesystem::resize_file(path, kMaxImportBytes + 1, error);
  if (error) GTEST_SKIP() << "the file system has no sparse files of 16 GiB";
  const absl::Status status = OpenForeign(path, {}).status();
  EXPECT_TRUE(absl::IsOutOfRange(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("16 GiB"));
}

TEST(ImportSourceTest, WhatIsNoFile) {
  const testing::TempDir folder;
  EXPECT_TRUE(absl::IsNotFound(OpenForeign(folder.File("missing"), {}).status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(OpenForeign(folder.path(), {}).status()));
  EXPECT_THAT(Error("empty.json", ""), HasSubstr("empty"));
}

TEST(ImportSourceTest, LocalFileIsTheDecompressedContent) {
  const testing::TempDir folder;
  std::filesystem::path copy;
  {
    absl::StatusOr<ImportSources> sources = OpenSources(folder.Write("a.gz", Gzip("hello")), {});
    ASSERT_TRUE(sources.ok());
    copy = *sources->sources[0]->LocalFile();
    std::string text;
    std::ifstream(copy) >> text;
    EXPECT_EQ(text, "hello");
    EXPECT_EQ(*sources->sources[0]->ReadAll(5), "hello");
    EXPECT_TRUE(absl::IsOutOfRange(sources->sources[0]->ReadAll(4).status()));
  }
  EXPECT_FALSE(std::filesystem::exists(copy));
}

TEST(ArchiveTest, MembersByName) {
  const testing::TempDir folder;
  const std::string tar =
      Tar({{"ranks/0.json", kTrace}, {"ranks/1.json.gz", Gzip(kTrace)}, {"ranks/._1.json", "mac"}, {"README", "hi"}});
  for (const std::string& content : {tar, Gzip(tar)}) {
    absl::StatusOr<ForeignFiles> files = Import(folder, "ranks.tar.gz", content);
    ASSERT_TRUE(files.ok()) << files.status();
    EXPECT_TRUE(files->is_archive);
    ASSERT_EQ(files->files.size(), 2u);
    EXPECT_EQ(files->files[0].name, "ranks/0.json");
    EXPECT_EQ(files->files[1].name, "ranks/1.json.gz");
    EXPECT_EQ(CountForeign(files->files[1])->kernels, 1);
    EXPECT_EQ(files->left_out.skipped.size(), 1u);
    EXPECT_TRUE(files->left_out.refused.empty());
  }
}

TEST(ArchiveTest, LongNames) {
  std::string pax = "30 path=" + std::string(20, 'p') + "/x\n";
  pax = std::to_string(pax.size()) + pax.substr(2);
  std::string tar = Tar({{"short", pax}});
  tar[156] = 'x';
  unsigned sum = 0;
  std::fill_n(tar.begin() + 148, 8, ' ');
  for (size_t i = 0; i < 512; ++i) sum += static_cast<unsigned char>(tar[i]);
  snprintf(tar.data() + 148, 8, "%06o", sum);
  const testing::TempDir folder;
  absl::StatusOr<ForeignFiles> files = Import(folder, "long.tar", tar.substr(0, 1024) + Tar({{"short", kTrace}}));
  ASSERT_TRUE(files.ok()) << files.status();
  EXPECT_EQ(files->files[0].name, std::string(20, 'p') + "/x");
}

TEST(ArchiveTest, TruncatedArchives) {
  const std::string tar = Tar({{"0.json", kTrace}, {"1.json", kTrace}});
  const std::string cut = tar.substr(0, 512 + 512 + 512 + 100);
  EXPECT_THAT(Error("cut.tar", cut), HasSubstr("truncated"));
  EXPECT_EQ(Error("cut.tar", cut, {.partial = true}), "imported");
  EXPECT_THAT(Error("bad.tar", tar.substr(0, 1024) + std::string(1024, 'x')), HasSubstr("no tar header"));
}

TEST(ArchiveTest, AnArchiveOfNothingReadableIsAnError) {
  EXPECT_THAT(Error("none.tar", Tar({{"a.json", R"({"workload_graph": []})"}})), HasSubstr("Chakra"));
}

TEST(RefusalTest, EachSaysWhatTheFileIs) {
  EXPECT_THAT(Error("report.nsys-rep", "\x01\x02"), HasSubstr("nsys export --type sqlite"));
  EXPECT_THAT(Error("c.json", R"({"workload_graph": {"nodes": []}})"), HasSubstr("Chakra"));
  EXPECT_THAT(Error("et.json", R"({"schema": "1.0.1", "pid": 1, "nodes": []})"), HasSubstr("execution trace"));
  EXPECT_THAT(Error("server.json", R"([{"id":1,"timestamps":[{"name":"REQUEST_START","ns":1}]}])"),
              HasSubstr("inference server"));
  EXPECT_THAT(Error("rocprof.json", R"({"rocprofiler-sdk-tool": []})"), HasSubstr("rocprof"));
  EXPECT_THAT(Error("db.sqlite", "SQLite format 3" + std::string(90, '\0') + "CREATE TABLE StringTable (_id_ INTEGER)"),
              HasSubstr("nvprof"));
  EXPECT_THAT(Error("trace.zip",
                    "PK\x03\x04"
                    "rest"),
              HasSubstr("zip"));
  EXPECT_THAT(Error("trace.json.zst", "\x28\xb5\x2f\xfdrest"), HasSubstr("zstd"));
  EXPECT_THAT(Error("notes.txt", "hello world"), HasSubstr("unknown format (begins with \"hello world\")"));
  EXPECT_THAT(Error("other.json", R"({"a": 1, "b": 2})"), HasSubstr("keys are a, b"));
}

TEST(RegistryTest, EveryFormatIsComplete) {
  for (const Importer& importer : Importers()) {
    EXPECT_NE(importer.sniff, nullptr) << importer.format;
    EXPECT_EQ((importer.open != nullptr) + (importer.refuse != nullptr), 1) << importer.format;
  }
}

TEST(ImportCountsTest, JsonOfFacts) {
  ImportCounts counts;
  counts.format = "x";
  counts.kernels = 3;
  counts.kernel_time_us = 11.25;
  counts.memcpy = {{"DtoH", 2}};
  counts.numbers.emplace_back("gpus", std::nullopt);
  counts.lists.push_back({"gpu", std::vector<std::string>{"H200"}});
  EXPECT_EQ(ToJson(counts),
            R"({"format":"x","kernels":3,"kernel_time_us":11.25,"memcpy":{"DtoH":2},"gpus":null,"gpu":["H200"],)"
            R"("losses":{},"loss_details":{},"notes":[]})");
}

}  // namespace
}  // namespace stallhound::capture
