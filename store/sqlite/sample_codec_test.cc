#include "store/sqlite/sample_codec.h"

#include <gtest/gtest.h>

namespace stallhound::store {
namespace {

TEST(SampleCodec, GivesBackExtremeValues) {
  const std::vector<Sample> samples = {{0, 0, std::nullopt},        {INT64_MAX, INT64_MIN, INT64_MAX},
                                       {INT64_MIN, INT64_MAX, 0},   {-1, -1, std::nullopt},
                                       {7, 123'456'789, INT64_MAX}, {7, 123'456'790, 1}};
  const absl::StatusOr<std::vector<Sample>> decoded = DecodeSamples(EncodeSamples(samples));
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(*decoded, samples);
  EXPECT_EQ(*DecodeSamples(EncodeSamples({})), std::vector<Sample>());
}

TEST(SampleCodec, IsSmallForSteadySamples) {
  std::vector<Sample> samples;
  for (int i = 0; i < 1000; ++i) samples.push_back({i / 100, 104'000 + i % 7 * 32, 1'755'000'000 - i % 2 * 15'000'000});
  EXPECT_LT(EncodeSamples(samples).size(), 8 * samples.size());
}

TEST(SampleCodec, RefusesDamage) {
  const std::string bytes = EncodeSamples({{0, 100, 1'755'000'000}, {1, 300, std::nullopt}});
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(DecodeSamples(bytes.substr(0, size)).status().code(), absl::StatusCode::kDataLoss) << size;
  }
  EXPECT_FALSE(DecodeSamples(bytes + '\0').ok()) << "more than was written";
  EXPECT_FALSE(DecodeSamples(std::string(9, '\xff') + "\x7f").ok()) << "a number above 64 bits";
  EXPECT_FALSE(DecodeSamples("\xff\xff\xff\xff\x7f").ok()) << "more samples than bytes";
}

}  // namespace
}  // namespace stallhound::store
