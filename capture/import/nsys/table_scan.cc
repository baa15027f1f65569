#include "capture/import/nsys/table_scan.h"

#include <algorithm>
#include <utility>

namespace stallhound::capture::nsys {
namespace {

// Shorter ones cost more hand-overs: 2048 rows took 2% longer in order of time and 13% thread after thread, 4096 rows
// 2% and 9% (counts of 3 million events, two cores of an EPYC, medians of 5, 2026-11-30).
constexpr size_t kChunkRows = 8192;
constexpr int64_t kMinChunkRows = 1024;
constexpr size_t kChunksAhead = 8;

// True if the row at cell `a_cell` must come before that at `b_cell`. A start that is no integer comes first.
bool RowPrecedes(RowOrder order, const RowBlock& a, size_t a_cell, const RowBlock& b, size_t b_cell) {
  const auto value = [](const RowBlock& block, size_t cell) {
    return block.kinds[cell] == CellKind::kInteger ? block.cells[cell] : INT64_MIN;
  };
  const int64_t a_start = value(a, a_cell);
  const int64_t b_start = value(b, b_cell);
  if (a_start != b_start || order != RowOrder::kByStartLongestFirst) return a_start < b_start;
  return value(a, a_cell + 1) > value(b, b_cell + 1);
}

}  // namespace

TableScan::TableScan(ScanPlan plan, SqliteStatement statement, std::shared_ptr<const Helpers> helpers)
    : plan_(std::move(plan)),
      decoder_(MakeDecoder(std::move(statement))),
      helpers_(std::move(helpers)),
      chunk_rows_(std::max(kMinChunkRows, static_cast<int64_t>(kChunkRows / plan_.runs.size()))),
      runs_(plan_.runs.size()) {
  const size_t chunks_ahead = std::max<size_t>(2, kChunksAhead / runs_.size());
  int64_t row_count = 0;
  for (size_t i = 0; i < runs_.size(); ++i) {
    runs_[i].rest = plan_.runs[i];
    row_count += plan_.runs[i].last - plan_.runs[i].first;
  }
  for (size_t i = 0; i < chunks_ahead; ++i) {
    for (Run& run : runs_) Request(run, std::make_unique<Chunk>());
  }
  if (helpers_ == nullptr || row_count <= 2 * kMinChunkRows) return;
  for (const SqliteConnection& helper : *helpers_) {
    threads_.emplace_back([this, connection = helper.get()] { Help(connection); });
  }
}

TableScan::~TableScan() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  has_request_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void TableScan::Request(Run& run, std::unique_ptr<Chunk> chunk) {
  if (!run.has_rest) return;
  chunk->range = run.rest;
  chunk->is_done = false;
  if (run.rest.last - run.rest.first >= chunk_rows_) {
    chunk->range.last = run.rest.first + chunk_rows_ - 1;
    run.rest.first = chunk->range.last + 1;
  } else {
    run.has_rest = false;
  }
  {
    const std::lock_guard lock(mutex_);
    requests_.push_back(chunk.get());
  }
  has_request_.notify_one();
  run.chunks.push_back(std::move(chunk));
}

TableScan::Decoder TableScan::MakeDecoder(SqliteStatement statement) const {
  Decoder decoder;
  if (plan_.layout) decoder.pages.emplace(sqlite3_db_handle(statement.get()), *plan_.layout);
  decoder.statement = std::move(statement);
  return decoder;
}

void TableScan::Decode(Decoder& decoder, Chunk& chunk) const {
  RowBlock& block = chunk.block;
  if (decoder.pages && decoder.pages->Read(chunk.range, block)) return;
  sqlite3_stmt* const statement = decoder.statement.get();
  sqlite3_bind_int64(statement, 1, chunk.range.first);
  sqlite3_bind_int64(statement, 2, chunk.range.last);
  block.Fill(statement, kChunkRows + 1);
  if (block.code == SQLITE_ROW) {
    // There is one row of a rowid, unless pages are linked twice.
    block.code = block.row_count > kChunkRows ? SQLITE_CORRUPT : SQLITE_TOOBIG;
    block.error = sqlite3_errstr(block.code);
  }
  sqlite3_reset(statement);
}

void TableScan::Help(sqlite3* connection) {
  absl::StatusOr<SqliteStatement> statement = PrepareSql(connection, plan_.sql);
  if (!statement.ok()) return;  // the reader does it all
  Decoder decoder = MakeDecoder(*std::move(statement));
  std::unique_lock lock(mutex_);
  while (true) {
    has_request_.wait(lock, [this] { return is_ending_ || !requests_.empty(); });
    if (is_ending_) return;
    Chunk& chunk = *requests_.front();
    requests_.pop_front();
    lock.unlock();
    Decode(decoder, chunk);
    lock.lock();
    chunk.is_done = true;
    has_block_.notify_one();
  }
}

const RowBlock* TableScan::Front(Run& run) {
  while (!run.chunks.empty()) {
    Chunk& chunk = *run.chunks.front();
    std::unique_lock lock(mutex_);
    while (!chunk.is_done) {
      if (requests_.empty()) {
        has_block_.wait(lock);
        continue;
      }
      Chunk& other = *requests_.front();
      requests_.pop_front();
      lock.unlock();
      Decode(decoder_, other);
      lock.lock();
      other.is_done = true;
    }
    lock.unlock();
    if (run.next_row < chunk.block.row_count || chunk.block.code != SQLITE_DONE) return &chunk.block;
    run.next_row = 0;
    std::unique_ptr<Chunk> read = std::move(run.chunks.front());
    run.chunks.pop_front();
    Request(run, std::move(read));
  }
  return nullptr;
}

bool TableScan::Precedes(const Head& a, size_t a_row, const Head& b) const {
  const size_t columns = plan_.column_count;
  const size_t a_cell = a_row * columns;
  const size_t b_cell = runs_[b.run].next_row * columns;
  if (RowPrecedes(plan_.order, *a.block, a_cell, *b.block, b_cell)) return true;
  return a.run < b.run && !RowPrecedes(plan_.order, *b.block, b_cell, *a.block, a_cell);
}

const RowBlock* TableScan::AddHead(size_t run) {
  const Head head = {Front(runs_[run]), run};
  if (head.block == nullptr) return nullptr;
  const size_t row = runs_[run].next_row;
  if (row == head.block->row_count) return head.block;
  const auto place = std::partition_point(heads_.begin(), heads_.end(),
                                          [&](const Head& other) { return !Precedes(head, row, other); });
  heads_.insert(place, head);
  return nullptr;
}

RowSpan TableScan::Next() {
  const RowBlock* failed = nullptr;
  if (heads_.empty()) {
    for (size_t i = 0; i < runs_.size() && failed == nullptr; ++i) failed = AddHead(i);
  } else {
    const size_t run = heads_.front().run;
    heads_.erase(heads_.begin());
    failed = AddHead(run);
  }
  if (failed != nullptr) return {failed, 0, 0};
  if (heads_.empty()) {
    end_.code = SQLITE_DONE;
    return {&end_, 0, 0};
  }
  const Head& first = heads_.front();
  const size_t row_count = first.block->row_count;
  RowSpan span = {first.block, runs_[first.run].next_row, 1};
  if (heads_.size() == 1) span.count = row_count - span.first;
  while (span.first + span.count < row_count && Precedes(first, span.first + span.count, heads_[1])) ++span.count;
  runs_[first.run].next_row += span.count;
  return span;
}

}  // namespace stallhound::capture::nsys
