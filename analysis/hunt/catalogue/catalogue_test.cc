#include "analysis/hunt/catalogue/catalogue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace stallhound::analysis {
namespace {

using ::testing::HasSubstr;

// An entry with this match, and everything else that one needs.
std::string Text(const std::string& match) {
  return "title: it waits\nsure: source\nmatch:\n" + match +
         "why:\n  Because.\n\n  And so.\nfix:\n  Don't.\nbefore:\n  if (x) {\n    Wait();\n  }\nafter:\n  Go();\n";
}

Frame MakeFrame(capture::FrameKind kind, const std::string& place, const std::string& function, bool is_user = false) {
  Frame frame;
  frame.kind = kind;
  (kind == capture::FrameKind::kPython ? frame.file : frame.module) = place;
  frame.function = function;
  frame.is_user = is_user;
  return frame;
}

Frame Python(const std::string& file, const std::string& function, bool is_user = false) {
  return MakeFrame(capture::FrameKind::kPython, file, function, is_user);
}

Frame Native(const std::string& module, const std::string& function) {
  return MakeFrame(capture::FrameKind::kNative, module, function);
}

Site Wait(std::vector<Frame> stack, std::vector<std::string> apis = {"cudaStreamSynchronize"}) {
  Site site;
  site.apis = std::move(apis);
  site.stack = std::move(stack);
  return site;
}

std::string MatchOf(const std::vector<EntryText>& texts, const Site& site) {
  const absl::StatusOr<Catalogue> catalogue = Catalogue::Load(texts);
  EXPECT_TRUE(catalogue.ok()) << catalogue.status();
  const CatalogueEntry* entry = catalogue.ok() ? catalogue->Match(site) : nullptr;
  return entry == nullptr ? "none" : entry->id;
}

bool Fits(const std::string& match, const Site& site) { return MatchOf({{"a", Text(match)}}, site) == "a"; }

TEST(ParseEntryTest, ReadsAllParts) {
  const absl::StatusOr<CatalogueEntry> entry =
      ParseEntry("an-entry", Text("  kind: wait allocator\n  api: stream-sync\n  copy: device-to-host pinned 8\n"
                                  "  python: torch/a.py f g\n  native: x::f y::g\n  fallback: yes\n"));
  ASSERT_TRUE(entry.ok()) << entry.status();
  EXPECT_EQ(entry->id, "an-entry");
  EXPECT_EQ(entry->title, "it waits");
  EXPECT_EQ(entry->certainty, Certainty::kSource);
  EXPECT_EQ(entry->why, "Because.\n\nAnd so.\n");
  EXPECT_EQ(entry->before, "if (x) {\n  Wait();\n}\n");
  EXPECT_EQ(entry->after, "Go();\n");
  ASSERT_EQ(entry->rules.size(), 1u);
  const MatchRule& rule = entry->rules.front();
  EXPECT_THAT(rule.kinds, ::testing::ElementsAre(SiteKind::kWait, SiteKind::kAllocator));
  EXPECT_THAT(rule.apis, ::testing::ElementsAre(capture::ApiClass::kStreamSync));
  ASSERT_TRUE(rule.copy.has_value());
  EXPECT_EQ(rule.copy->direction, capture::CopyDirection::kDeviceToHost);
  EXPECT_EQ(rule.copy->host_kind, capture::MemoryKind::kPinned);
  EXPECT_EQ(rule.copy->bytes_at_most, 8u);
  ASSERT_EQ(rule.places.size(), 3u);
  EXPECT_THAT(rule.places[0].functions, ::testing::ElementsAre("f", "g"));
  EXPECT_EQ(rule.places[2].name, "y::g");
  EXPECT_TRUE(rule.is_fallback);
}

TEST(ParseEntryTest, ErrorsNameEntryLineAndCause) {
  struct Case {
    std::string text;
    const char* message;
  };
  const std::string match = "  kind: wait\n  fallback: yes\n";
  const Case cases[] = {
      {"", "'title' is missing"},
      {"title: a\n", "'sure' is missing"},
      {"title: a\nsure: source\n", "'match' is missing"},
      {"title: a\nsure: perhaps\n", "line 2: 'sure' is 'perhaps'"},
      {"titel: a\n", "line 1: there is no key 'titel'"},
      {"no key\n", "line 1: 'no key' is no 'key: value'"},
      {"  lost\n", "an indented line outside"},
      {Text(match) + "why:\n  Again.\n", "a second 'why'"},
      {"title: a\nsure: source\nmatch:\n" + match + "why:\n  Because.\n", "'fix' is missing"},
      {Text("  fallback: yes\n"), "without 'kind'"},
      {Text("  kind: wait\n"), "needs 'fallback: yes'"},
      {Text("  kind: nap\n"), "line 4: there is no kind of site 'nap'"},
      {Text("  kind: wait\n  api: cudaFree\n"), "line 5: there is no class of API 'cudaFree'"},
      {Text("  copy: down pageable\n"), "no copy direction 'down'"},
      {Text("  copy: device-to-host soft\n"), "no memory kind 'soft'"},
      {Text("  copy: device-to-host pageable few\n"), "'few' is no number of bytes"},
      {Text("  copy: device-to-host\n"), "a copy is 'none' or"},
      {Text("  kind:\n"), "'  kind:' has no value"},
      {Text("  fallback: no\n"), "'fallback: no' is no condition"},
      {Text("  operators: aten::add\n"), "native, module, operator and fallback: yes"},
  };
  for (const Case& test : cases) {
    const absl::StatusOr<CatalogueEntry> entry = ParseEntry("an-entry", test.text);
    ASSERT_FALSE(entry.ok()) << test.message;
    EXPECT_THAT(entry.status().message(), HasSubstr("reading the catalogue entry 'an-entry': line ")) << test.message;
    EXPECT_THAT(entry.status().message(), HasSubstr(test.message));
  }
  EXPECT_THAT(ParseEntry("An entry", Text(match)).status().message(), HasSubstr("kebab-case"));
}

TEST(CatalogueTest, RefusesTwoEntriesOfOneId) {
  const std::string text = Text("  kind: wait\n  fallback: yes\n");
  const absl::StatusOr<Catalogue> catalogue = Catalogue::Load({{"a", text}, {"b", text}, {"a", text}});
  EXPECT_THAT(catalogue.status().message(), HasSubstr("two entries have the id 'a'"));
}

TEST(CatalogueTest, ComparesFilesByWholeParts) {
  const Site site = Wait({Python("site-packages/torch/nn/utils/rnn.py", "Packed.<locals>.pack")});
  EXPECT_TRUE(Fits("  kind: wait\n  python: torch/nn/utils/rnn.py\n", site));
  EXPECT_TRUE(Fits("  kind: wait\n  python: torch/nn/\n", site));
  EXPECT_TRUE(Fits("  kind: wait\n  python: rnn.py unpack pack\n", site));
  EXPECT_FALSE(Fits("  kind: wait\n  python: rnn.py Packed\n", site));
  EXPECT_FALSE(Fits("  kind: wait\n  python: nn.py\n", site));
  EXPECT_FALSE(Fits("  kind: wait\n  python: n/utils/\n", site));
  EXPECT_FALSE(Fits("  kind: wait\n  native: pack\n", site));
  EXPECT_TRUE(Fits("  kind: wait\n  python: torch/a.py f\n", Wait({Python("torch/a.py", "f")})));
}

TEST(CatalogueTest, ComparesSymbolsByWholeIdentifiers) {
  const Site site = Wait({Native("/usr/lib/libtorch_cuda.so", "at::native::nonzero_cuda(at::Tensor const&)")});
  EXPECT_TRUE(Fits("  kind: wait\n  native: at::native::nonzero_cuda\n", site));
  EXPECT_TRUE(Fits("  kind: wait\n  native: native::\n", site));
  EXPECT_FALSE(Fits("  kind: wait\n  native: at::native::nonzero\n", site));
  EXPECT_FALSE(Fits("  kind: wait\n  native: zero_cuda\n", site));
  EXPECT_TRUE(Fits("  kind: wait\n  module: libtorch\n", site));
  EXPECT_FALSE(Fits("  kind: wait\n  module: torch\n", site));
}

TEST(CatalogueTest, LooksNoFurtherThanTheUsersCode) {
  const Site site =
      Wait({Python("torch/a.py", "f"), Python("train.py", "step", true), Python("torch/trainer.py", "fit")});
  EXPECT_TRUE(Fits("  kind: wait\n  python: torch/a.py\n", site));
  EXPECT_FALSE(Fits("  kind: wait\n  python: torch/trainer.py\n", site));
}

TEST(CatalogueTest, AsksForOneOperatorOfAllPoints) {
  Site site = Wait({Python("train.py", "step", true)});
  site.operator_name = "aten::nonzero";
  site.operator_stack = {"aten::nonzero", "aten::index"};
  site.operator_count = 1;
  site.operator_confidence = Confidence::kExact;
  EXPECT_TRUE(Fits("  kind: wait\n  operator: aten::add aten::nonzero\n", site));
  EXPECT_TRUE(Fits("  kind: wait\n  operator: aten::index\n", site));
  EXPECT_FALSE(Fits("  kind: wait\n  operator: aten::index_put_\n", site));
  EXPECT_FALSE(Fits("  kind: wait\n  operator: nonzero\n", site));
  EXPECT_FALSE(Fits("  kind: wait\n  native: aten::nonzero\n", site));
  site.operator_count = 2;
  EXPECT_FALSE(Fits("  kind: wait\n  operator: aten::nonzero\n", site));
  site.operator_count = 1;
  site.operator_confidence = Confidence::kInferred;
  EXPECT_FALSE(Fits("  kind: wait\n  operator: aten::nonzero\n", site));
}

TEST(CatalogueTest, AFrameSaysMoreThanAnOperatorAndThatMoreThanAnyPython) {
  Site site = Wait({Python("torch/a.py", "f"), Python("train.py", "step", true)});
  site.operator_stack = {"aten::nonzero", "aten::index"};
  site.operator_count = 1;
  site.operator_confidence = Confidence::kExact;
  const std::string frame = Text("  kind: wait\n  python: torch/a.py\n");
  const std::string near = Text("  kind: wait\n  operator: aten::nonzero\n");
  const std::string far = Text("  kind: wait\n  operator: aten::index\n");
  const std::string any = Text("  kind: wait\n  python: *\n");
  EXPECT_EQ(MatchOf({{"frame", frame}, {"near", near}}, site), "frame");
  EXPECT_EQ(MatchOf({{"far", far}, {"near", near}}, site), "near");
  EXPECT_EQ(MatchOf({{"any", any}, {"far", far}}, site), "far");
}

TEST(CatalogueTest, AsksForEveryApi) {
  const std::string match = "  kind: wait\n  api: stream-sync event-sync\n  fallback: yes\n";
  EXPECT_TRUE(Fits(match, Wait({}, {"cudaStreamSynchronize", "cuEventSynchronize"})));
  EXPECT_FALSE(Fits(match, Wait({}, {"cudaStreamSynchronize", "cudaMemcpy"})));
  EXPECT_FALSE(Fits(match, Wait({}, {})));
  Site allocator = Wait({});
  allocator.kind = SiteKind::kAllocator;
  EXPECT_FALSE(Fits(match, allocator));
}

TEST(CatalogueTest, AsksForTheCopy) {
  using capture::CopyDirection;
  using capture::MemoryKind;
  Site site = Wait({});
  EXPECT_TRUE(Fits("  kind: wait\n  copy: none\n  fallback: yes\n", site));
  const std::string small = "  kind: wait\n  copy: device-to-host pageable 8\n  fallback: yes\n";
  EXPECT_FALSE(Fits(small, site));
  site.copies = {{CopyDirection::kDeviceToHost, MemoryKind::kDevice, MemoryKind::kPageable, 10, 80}};
  EXPECT_FALSE(Fits("  kind: wait\n  copy: none\n  fallback: yes\n", site));
  EXPECT_FALSE(Fits("  kind: wait\n  copy: host-to-device pageable\n  fallback: yes\n", site));
  EXPECT_FALSE(Fits("  kind: wait\n  copy: device-to-host pinned\n  fallback: yes\n", site));
  EXPECT_TRUE(Fits(small, site));
  site.count = 40;
  EXPECT_TRUE(Fits(small, site));
  site.count = 41;
  EXPECT_FALSE(Fits(small, site));
  site.count = 10;
  site.copies.front().bytes = 81;
  EXPECT_FALSE(Fits(small, site));
  site.copies.front().target_kind = std::nullopt;
  EXPECT_FALSE(Fits("  kind: wait\n  copy: device-to-host pageable\n  fallback: yes\n", site));
}

TEST(CatalogueTest, TakesTheRuleThatSaysMost) {
  const std::string near = Text("  kind: wait\n  python: a.py\n");
  const std::string far = Text("  kind: wait\n  python: b.py\n");
  const std::string longer = Text("  kind: wait\n  python: torch/a.py\n");
  const std::string any = Text("  kind: wait\n  fallback: yes\n");
  const std::string named = Text("  kind: wait\n  native: f\n  python: *\n  fallback: yes\n");
  const std::string one_api = Text("  kind: wait\n  api: stream-sync\n  fallback: yes\n");
  const std::string two_apis = Text("  kind: wait\n  api: event-sync stream-sync\n  fallback: yes\n");
  const Site site = Wait({Python("torch/a.py", "f"), Python("torch/b.py", "g")});
  EXPECT_EQ(MatchOf({{"far", far}, {"near", near}}, site), "near");
  EXPECT_EQ(MatchOf({{"a", near}, {"longer", longer}}, site), "longer");
  EXPECT_EQ(MatchOf({{"a-fallback", named}, {"far", far}}, site), "far");
  EXPECT_EQ(MatchOf({{"any", any}, {"named", named}}, site), "named");
  EXPECT_EQ(MatchOf({{"any", any}, {"two", two_apis}}, site), "two");
  EXPECT_EQ(MatchOf({{"a-two", two_apis}, {"one", one_api}}, site), "one");
  EXPECT_EQ(MatchOf({{"near", near}}, Wait({})), "none");
}

}  // namespace
}  // namespace stallhound::analysis
