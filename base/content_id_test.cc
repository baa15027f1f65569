#include "base/content_id.h"

#include <gtest/gtest.h>

namespace stallhound {
namespace {

TEST(ContentIdTest, HashesAsPublished) {
  EXPECT_EQ(AddFnv(kFnvStart, ""), 0xcbf29ce484222325);
  EXPECT_EQ(AddFnv(kFnvStart, "a"), 0xaf63dc4c8601ec8c);
  EXPECT_EQ(AddFnv(kFnvStart, "foobar"), 0x85944171f73967e8);
  EXPECT_EQ(AddFnv(AddFnv(kFnvStart, "foo"), "bar"), AddFnv(kFnvStart, "foobar"));
  EXPECT_EQ(AddFnv(kFnvStart, "\xff"), AddFnv(kFnvStart, uint64_t{0xff}));
}

TEST(ContentIdTest, UuidsSayTheirVersion) {
  EXPECT_EQ(ContentUuid(0x0123456789abcdef, 0xfedcba9876543210), "01234567-89ab-8def-bedc-ba9876543210");
  EXPECT_EQ(ContentUuid(0, 0), "00000000-0000-8000-8000-000000000000");
}

}  // namespace
}  // namespace stallhound
