#include "store/sqlite/sample_codec.h"

#include <absl/status/status.h>

namespace stallhound::store {
namespace {

// Differences wrap around, so every pair of int64 has one.
uint64_t ZigzagDifference(int64_t value, int64_t before) {
  const uint64_t difference = static_cast<uint64_t>(value) - static_cast<uint64_t>(before);
  return difference << 1 ^ (difference >> 63 != 0 ? ~uint64_t{0} : 0);
}

int64_t AddZigzag(int64_t before, uint64_t zigzag) {
  const uint64_t difference = zigzag >> 1 ^ ((zigzag & 1) != 0 ? ~uint64_t{0} : 0);
  return static_cast<int64_t>(static_cast<uint64_t>(before) + difference);
}

void PutNumber(std::string& bytes, uint64_t number) {
  for (; number >= 0x80; number >>= 7) bytes += static_cast<char>(number | 0x80);
  bytes += static_cast<char>(number);
}

bool TakeNumber(std::string_view& bytes, uint64_t& number) {
  number = 0;
  for (int shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<uint8_t>(bytes.front());
    bytes.remove_prefix(1);
    if (shift == 63 && byte > 1) return false;
    number |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

}  // namespace

std::string EncodeSamples(const std::vector<Sample>& samples) {
  std::string bytes;
  PutNumber(bytes, samples.size());
  Sample before;
  int64_t clock_hz = 0;
  for (const Sample& sample : samples) {
    PutNumber(bytes, ZigzagDifference(sample.round, before.round));
    PutNumber(bytes, ZigzagDifference(sample.value, before.value));
    PutNumber(bytes, sample.sm_clock_hz.has_value() ? ZigzagDifference(*sample.sm_clock_hz, clock_hz) + 1 : 0);
    before = sample;
    clock_hz = sample.sm_clock_hz.value_or(clock_hz);
  }
  return bytes;
}

absl::StatusOr<std::vector<Sample>> DecodeSamples(std::string_view bytes) {
  const absl::Status damaged = absl::DataLossError("decoding samples: the bytes are damaged");
  uint64_t count = 0;
  // A sample takes 3 bytes at least.
  if (!TakeNumber(bytes, count) || count > bytes.size() / 3) return damaged;
  std::vector<Sample> samples;
  samples.reserve(count);
  Sample before;
  int64_t clock_hz = 0;
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t round = 0;
    uint64_t value = 0;
    uint64_t clock = 0;
    if (!TakeNumber(bytes, round) || !TakeNumber(bytes, value) || !TakeNumber(bytes, clock)) return damaged;
    Sample sample{AddZigzag(before.round, round), AddZigzag(before.value, value), std::nullopt};
    if (clock != 0) {
      clock_hz = AddZigzag(clock_hz, clock - 1);
      sample.sm_clock_hz = clock_hz;
    }
    samples.push_back(sample);
    before = sample;
  }
  if (!bytes.empty()) return damaged;
  return samples;
}

}  // namespace stallhound::store
