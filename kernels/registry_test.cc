#include "kernels/registry.h"

#include <gtest/gtest.h>

namespace stallhound::kernels {
namespace {

TEST(RegistryTest, FindsOnlyWhatThereIs) {
  EXPECT_NE(FindPair("layer_norm"), nullptr);
  EXPECT_EQ(FindPair("layer"), nullptr);
}

TEST(RegistryTest, NamesEachLayerOnce) {
  for (const Pair& pair : AllPairs()) EXPECT_EQ(FindPair(pair.name), &pair) << pair.name;
}

}  // namespace
}  // namespace stallhound::kernels
