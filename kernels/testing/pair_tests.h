#pragma once

// What every pair must pass: a whole descriptor; all variants right on all cases and awkward shapes, against fp64;
// inputs left alone. The test of a layer asks for it with one line.

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

#include "kernels/case_runner.h"
#include "kernels/pair.h"

// At global scope: tests the pair that stallhound::kernels::NAME::MakePair() makes.
#define SH_PAIR_TESTS(NAME)                                                                                           \
  namespace stallhound::kernels::NAME {                                                                               \
  Pair MakePair();                                                                                                    \
  INSTANTIATE_TEST_SUITE_P(NAME, DescriptorTest, ::testing::Values(&TestedPair<MakePair>()), DescriptorName);         \
  INSTANTIATE_TEST_SUITE_P(NAME, VariantTest, ::testing::ValuesIn(AllSubjects(TestedPair<MakePair>())), SubjectName); \
  INSTANTIATE_TEST_SUITE_P(NAME, OwnVariantTest, ::testing::ValuesIn(OwnSubjects(TestedPair<MakePair>())),            \
                           SubjectName);                                                                              \
  }                                                                                                                   \
  static_assert(true)

namespace stallhound::kernels {

// A variant other than the reference, on a device.
struct Subject {
  const Pair* pair = nullptr;
  const Variant* variant = nullptr;
  Device device = Device::kCpu;
};

void PrintTo(const Subject& subject, std::ostream* out);

std::vector<Subject> AllSubjects(const Pair& pair);
// Without other people's implementations, which promise less.
std::vector<Subject> OwnSubjects(const Pair& pair);

std::string SubjectName(const ::testing::TestParamInfo<Subject>& info);
std::string DescriptorName(const ::testing::TestParamInfo<const Pair*>& info);

template <Pair (*kMake)()>
const Pair& TestedPair() {
  static const Pair pair = kMake();
  return pair;
}

class DescriptorTest : public ::testing::TestWithParam<const Pair*> {};

class VariantTest : public ::testing::TestWithParam<Subject> {
 protected:
  void SetUp() override;
  // Skips the test behind the others if a case is too large for this machine.
  static void ExpectRight(const std::vector<Case>& cases, Layout layout);
};

class OwnVariantTest : public VariantTest {};

}  // namespace stallhound::kernels
