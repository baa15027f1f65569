#include "reports/testing/reports.h"

namespace stallhound::reports {
namespace {

using analysis::Frame;
using analysis::Site;
using analysis::SiteKind;

Frame PythonFrame(const std::string& file, int64_t line, const std::string& function, bool is_user) {
  Frame frame;
  frame.kind = capture::FrameKind::kPython;
  frame.file = file;
  frame.line = line;
  frame.function = function;
  frame.is_user = is_user;
  return frame;
}

Frame NativeFrame(const std::string& module, int64_t offset, const std::string& function) {
  Frame frame;
  frame.module = module;
  frame.module_offset = offset;
  frame.function = function;
  return frame;
}

void SetStack(Site& site, std::vector<Frame> stack) {
  for (const Frame& frame : stack) {
    if (!frame.is_user) continue;
    if (!site.innermost_user) site.innermost_user = frame;
    site.outermost_user = frame;
  }
  site.innermost = stack.front();
  site.stack = std::move(stack);
  site.stack_count = 1;
}

analysis::Cost MakeCost(int64_t stall_count, int64_t blocked_ns, int64_t idle_ns) {
  analysis::Cost cost;
  cost.stall_count = stall_count;
  cost.blocked_ns = blocked_ns;
  cost.idle_ns = idle_ns;
  cost.idle_compute_ns = idle_ns;
  cost.idle_return_ns = idle_ns / 4;
  cost.idle_host_ns = idle_ns / 2;
  cost.idle_launch_ns = idle_ns - idle_ns / 4 - idle_ns / 2;
  cost.no_later_work_count = cost.unknown_count = 0;
  return cost;
}

// The backward of a boolean mask, run by autograd's thread.
Site BackwardSite() {
  Site site;
  site.kind = SiteKind::kWait;
  site.apis = {"cudaMemcpyAsync"};
  site.count = 10;
  site.count_per_occurrence = 1;
  site.cost = MakeCost(9, 2'100'000, 640'000);
  site.call_ns = 2'400'000;
  site.native_symbol = "at::native::nonzero_cuda_out_impl";
  SetStack(site, {NativeFrame("libtorch_cuda.so", 0x2f1040, *site.native_symbol)});
  site.threads = {"pt_autograd_0 (tid 90)"};
  site.confidence = analysis::Confidence::kInferred;
  const Frame call = PythonFrame("training/loss.py", 41, "masked", true);
  site.operator_name = "aten::nonzero";
  site.operator_stack = {"aten::nonzero"};
  site.operator_count = 1;
  site.operator_confidence = analysis::Confidence::kInferred;
  site.forward = {
      call, {call, PythonFrame("train.py", 27, "<module>", true)}, "IndexBackward0", analysis::Confidence::kExact};
  site.lines = {{*site.innermost, 10, 2'100'000, 640'000}};
  site.line_count = 1;
  return site;
}

// A loss scalar read in every step.
Site ItemSite() {
  Site site;
  site.kind = SiteKind::kWait;
  site.apis = {"cudaStreamSynchronize"};
  site.count = 20;
  site.count_per_occurrence = 2;
  site.cost = MakeCost(18, 41'200'000, 3'410'000);
  site.call_ns = 44'900'000;
  site.copies = {
      {capture::CopyDirection::kDeviceToHost, capture::MemoryKind::kDevice, capture::MemoryKind::kPageable, 20, 80}};
  SetStack(site,
           {NativeFrame("libtorch_cuda.so", 0x1d2f40, "at::native::_local_scalar_dense_cuda"),
            PythonFrame("training/loop.py", 87, "train_step", true), PythonFrame("train.py", 27, "<module>", true)});
  site.threads = {"python (tid 71)"};
  site.operator_name = "aten::_local_scalar_dense";
  site.operator_stack = {"aten::_local_scalar_dense", "aten::item"};
  site.operator_count = 3;
  site.operator_confidence = analysis::Confidence::kExact;
  site.range = "loss";
  site.range_count = 2;
  site.confidence = analysis::Confidence::kExact;
  site.catalogue_id = "value-read-back";
  site.lines = {
      {site.stack.front(), 12, 31'200'000, 3'410'000},
      {PythonFrame("site-packages/torch/_tensor.py", 1'007, "__format__", false), 8, 10'000'000, std::nullopt}};
  site.line_count = 7;
  return site;
}

Site AllocatorSite() {
  Site site;
  site.kind = SiteKind::kAllocator;
  site.apis = {"cudaMalloc", "cudaFree"};
  site.count = 3;
  site.count_per_occurrence = 0.3;
  site.cost = MakeCost(1, 18'000, 0);
  site.cost.idle_ns = std::nullopt;
  site.cost.idle_compute_ns = site.cost.idle_return_ns = site.cost.idle_host_ns = site.cost.idle_launch_ns =
      std::nullopt;
  site.cost.no_later_work_count = 1;
  site.call_ns = 912'000;
  site.native_symbol = "c10::cuda::CUDACachingAllocator::Native::DeviceCachingAllocator::malloc";
  SetStack(site, {NativeFrame("libc10_cuda.so", 0x3a10, *site.native_symbol)});
  site.threads = {"pt_autograd_0 (tid 90)", "python (tid 71)"};
  site.confidence = analysis::Confidence::kInferred;
  return site;
}

void AddTotals(analysis::HuntReport& report) {
  for (int kind = 0; kind < analysis::kSiteKindCount; ++kind) {
    analysis::KindTotal total;
    total.kind = static_cast<SiteKind>(kind);
    total.cost = MakeCost(0, 0, 0);
    for (const Site& site : report.sites) {
      if (site.kind != total.kind) continue;
      total.count += site.count;
      total.count_per_occurrence += site.count_per_occurrence;
      total.call_ns += site.call_ns;
      total.cost = site.cost;
    }
    if (analysis::IsSyncPoint(total.kind)) report.sync_point_count = report.sync_point_count.value_or(0) + total.count;
    report.totals.push_back(total);
  }
}

analysis::LossSummary MakeLoss(capture::LossCounter counter, int64_t count) {
  const capture::LossCounterInfo& info = capture::Info(counter);
  analysis::LossSummary loss;
  loss.id = info.id;
  loss.meaning = info.meaning;
  loss.severity = info.severity;
  loss.count = count;
  loss.pid = 71;
  loss.start_ns = 1'000'000;
  loss.end_ns = 2'000'000;
  return loss;
}

analysis::CaptureSummary OwnCapture(const std::string& mode) {
  return {"5f1c9a52-0c1e-4b7a-9d55-3a8f6f2d7c10", "stallhound", "3", "stallhound 0.1.0", mode, 1'234'567'890};
}

analysis::BudgetVerdict OrdinaryVerdict() {
  using analysis::BudgetOutcome;
  using analysis::BudgetQuantity;
  const Site item = ItemSite();
  analysis::BudgetFinding waits;
  waits.quantity = BudgetQuantity::kWaits;
  waits.range = "step";
  waits.limit = 1;
  waits.found = 2;
  waits.exceeded_count = waits.occurrence_count = 10;
  waits.outcome = BudgetOutcome::kExceeded;
  waits.sites = {{item.kind, item.apis, item.innermost_user, item.native_symbol, item.forward, item.count, 3'400'000,
                  item.operator_name}};
  analysis::BudgetFinding bytes;
  bytes.quantity = BudgetQuantity::kBytes;
  bytes.range = "step";
  bytes.limit = 65'536;
  bytes.found = 8;
  bytes.occurrence_count = 10;
  bytes.outcome = BudgetOutcome::kFine;
  analysis::BudgetFinding ratio;
  ratio.quantity = BudgetQuantity::kRecoverableRatio;
  ratio.limit = 0.02;
  ratio.occurrence_count = 2;
  ratio.reason = "data was lost: the costs may be wrong (see Losses)";
  return {BudgetOutcome::kExceeded,
          {waits, bytes, ratio},
          {"the allowance of train.py:27 expired on 2026-01-31 and allows nothing any more (the loss is printed)"}};
}

}  // namespace

analysis::HuntReport OrdinaryHunt() {
  analysis::HuntReport report;
  report.capture = OwnCapture("default");
  report.range = "step";
  report.occurrence_count = 10;
  report.device_idle = {.total_ns = 5'000'000, .no_wait_ns = 1'250'000, .host_ns = 1'000'000, .launch_ns = 250'000};
  report.back_pressure = {.count = 3, .blocked_ns = 420'000};
  report.sites = {ItemSite(), BackwardSite(), AllocatorSite()};
  report.recorder = {.own_ns = 2'300'000, .idle_ns = 41'000};
  AddTotals(report);
  report.unknown_kind_copy_count = 4;
  report.ranges = {{"step", 10, 1'100'000'000, false, true}, {"epoch", 1, 1'200'000'000, false, false}};
  report.processes = {{71, 0, 1'230'000'000, true, 1'400, 2'300'000},
                      {72, 1, std::nullopt, false, std::nullopt, std::nullopt}};
  report.devices = {{0, "NVIDIA H200", 132, 150'754'820'096}, {1, std::nullopt, std::nullopt, std::nullopt}};
  report.rank_delays = {{{72, 1, 0},
                         {71, 0, 0},
                         20,
                         98'200'000,
                         {{analysis::DelayKind::kStall, 0, 94'272'000},
                          {analysis::DelayKind::kDeviceWork, std::nullopt, 2'946'000},
                          {analysis::DelayKind::kHost, std::nullopt, 982'000}}},
                        {{71, 0, 0}, {72, 1, 0}, 1, 3'000, {{analysis::DelayKind::kHost, std::nullopt, 3'000}}}};
  report.environment = {{"CUDA", "13.0"}, {"OMP_NUM_THREADS", "8"}, {"OMP_NUM_THREADS", "16"}};
  report.losses = {MakeLoss(capture::LossCounter::kDroppedRecords, 1'250),
                   MakeLoss(capture::LossCounter::kOpenRange, 1)};
  report.losses[0].affects_costs = true;
  report.losses[1].detail = "range epoch";
  report.costs_complete = false;
  report.notes = {"occurrences of range step overlap; what lies in two counts for the later one"};
  report.budget = OrdinaryVerdict();
  return report;
}

analysis::HuntReport EmptyHunt() {
  analysis::HuntReport report;
  report.capture = {"", "kineto", "1", "PyTorch profiler", "", 80'000'000};
  report.occurrence_count = 1;
  AddTotals(report);
  report.processes = {{4711, std::nullopt, 80'000'000, std::nullopt, std::nullopt, std::nullopt}};
  return report;
}

analysis::HuntReport LightHunt() {
  analysis::HuntReport report;
  report.capture = OwnCapture("light");
  report.occurrence_count = 1;
  report.sites = {ItemSite(), AllocatorSite()};
  for (Site& site : report.sites) {
    site.cost = {};
    site.count_per_occurrence = static_cast<double>(site.count);
    for (analysis::SiteLine& line : site.lines) line.blocked_ns = line.idle_ns = std::nullopt;
  }
  report.recorder = {.own_ns = 2'300'000};
  report.sites[0].copies[0].source_kind = std::nullopt;
  report.costs_complete = false;
  AddTotals(report);
  for (analysis::KindTotal& total : report.totals) total.cost = {};
  report.processes = {{71, std::nullopt, 1'230'000'000, true, std::nullopt, 2'300'000}};
  report.notes = {"kernels were not recorded: blocked times and GPU idle are unknown"};
  return report;
}

std::vector<std::string> HostileTexts() {
  return {
      "\x1b[2J\x1b]0;owned\x07\x1b[31mred",
      "\u009b31mC1\u0085next",
      std::string("nul\0 bell\x07 del\x7f", 15),
      "safe\u202egnp.exe\u202c \u2066x\u2069",
      "in\u200bvis\u200dible\ufeff\u00ad\U000e0041",
      "bad\xff utf8\xc3( \xed\xa0\x80",
      "a|b\\|c `tick` ``two``",
      "one\ntwo\r\n# three\n\n| x | y |\n|---|---|",
      "<script>alert(1)</script>&amp;\"'><img src=x onerror=y>",
      "]]> --> </style></pre></details>",
      "*bold* _em_ [link](http://evil.example) ![i](http://evil.example) @user #1 $x$ :+1: www.evil.example ~~no~~",
      "関数の名前::größe<мир> 😀 e\u0301",
      "z\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301",
      "void cutlass::" + std::string(500, 'K') + "<float, 8>(Params)",
      "- list",
      "",
      " ",
  };
}

std::string LongKernelName() {
  std::string name = "void at::native::vectorized_elementwise_kernel<";
  while (name.size() < 40'000) name += "at::native::Functor<float, std::array<char*, 3ul> >, ";
  return name + "4>(int, float*)";
}

analysis::HuntReport HostileHunt() {
  analysis::HuntReport report = OrdinaryHunt();
  report.sites.clear();
  report.totals.clear();
  report.sync_point_count = 0;
  const std::vector<std::string> texts = HostileTexts();
  for (size_t i = 0; i < texts.size(); ++i) {
    Site site = ItemSite();
    const std::string& text = texts[i];
    if (i % 2 == 0) {
      site.innermost_user.reset();
      SetStack(site, {NativeFrame(text, 16, text), PythonFrame(text, 7, text, true)});
    } else {
      site = AllocatorSite();
      site.native_symbol = text;
    }
    site.apis = {"cudaMemcpy", text};
    site.lines = {{NativeFrame(text, 16, text), 1, 1'000, std::nullopt}};
    site.line_count = 6;
    if (i % 4 == 1) {
      site.forward = {
          PythonFrame(text, 7, text, true), {NativeFrame(text, 16, text)}, text, analysis::Confidence::kExact};
    }
    site.threads = {text};
    site.operator_name = text;
    site.operator_stack = {text, text};
    site.operator_count = 2;
    site.range = text;
    site.range_count = 1;
    report.sites.push_back(std::move(site));
    report.ranges.push_back({text, 1, 1'000, false, false});
    report.environment.push_back({text, text});
    report.losses.push_back(MakeLoss(capture::LossCounter::kBadValue, 1));
    report.losses.back().detail = text;
    report.devices.push_back({static_cast<uint32_t>(i), text, std::nullopt, std::nullopt});
    report.notes.push_back(text);
    const Site& last = report.sites.back();
    report.budget->findings.push_back(report.budget->findings.front());
    report.budget->findings.back().range = text;
    report.budget->findings.back().sites = {{last.kind, last.apis, last.innermost_user, last.native_symbol,
                                             last.forward, last.count, std::nullopt, last.operator_name}};
    report.budget->notes.push_back(text);
  }
  AddTotals(report);
  report.range = texts[0];
  report.capture.producer = texts[3];
  report.capture.mode = texts[8];
  return report;
}

analysis::CountsReport OrdinaryCounts() {
  analysis::CountsReport report;
  report.capture = OwnCapture("default");
  analysis::EventCounts& total = report.total;
  total.kernel_count = 1'234;
  total.sync_points = {20, 0, 3, 0, 0};
  total.copies = {{capture::CopyDirection::kDeviceToHost, capture::MemoryKind::kDevice, std::nullopt, 20, 80}};
  total.memset_count = 7;
  total.memset_bytes = 4096;
  total.device_allocate_count = 3;
  report.spans = {{71, 0, 0, 0, 1'234'567, total, {20, 3}}};
  report.sites = {
      {SiteKind::kWait, {"cudaStreamSynchronize"}, ItemSite().innermost_user, std::nullopt, std::nullopt, 20},
      {SiteKind::kAllocator, {"cudaMalloc"}, std::nullopt, AllocatorSite().native_symbol, std::nullopt, 3}};
  report.unplaced_count = 2;
  report.losses = {MakeLoss(capture::LossCounter::kOpenRange, 1)};
  report.notes = {"a note"};
  return report;
}

}  // namespace stallhound::reports
