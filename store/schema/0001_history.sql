-- The history, first version. Behind each column: [unit] meaning. NULL is unknown or not recorded, never none and never 0.
-- Instants are since 1970-01-01 UTC. Once released, this file never changes: a change is the next file.

CREATE TABLE schema_migration (
  version BIGINT PRIMARY KEY,        -- [-] number of the file in store/schema
  name TEXT NOT NULL,                -- [text] the file's name
  sha256 TEXT NOT NULL               -- [hex] of the file's bytes
);

-- Who ran: shared by runs ---------------------------------------------------------------------------------------------

CREATE TABLE revision (
  revision_id INTEGER PRIMARY KEY,   -- [-]
  repository TEXT NOT NULL,          -- [text] name, without user or password
  sha TEXT NOT NULL,                 -- [hex] commit
  parent_sha TEXT,                   -- [hex] first parent
  ordinal_count BIGINT,              -- [count] commits on the first-parent path up to this one
  authored_at_ns BIGINT,             -- [ns]
  UNIQUE (repository, sha)
);

CREATE TABLE hardware (
  hardware_id INTEGER PRIMARY KEY,   -- [-]
  identity TEXT NOT NULL UNIQUE,     -- [text] all columns below, "name=value" a line
  cpu_model TEXT,                    -- [text]
  cpu_count BIGINT,                  -- [count] logical CPUs that the run could use
  gpu_name TEXT,                     -- [text]
  gpu_count BIGINT,                  -- [count] 0: none there
  compute_capability TEXT,           -- [text] "9.0"
  sm_count BIGINT,                   -- [count]
  memory_bytes BIGINT,               -- [bytes]
  memory_clock_max_hz BIGINT,        -- [hz]
  sm_clock_max_hz BIGINT,            -- [hz]
  power_limit_mw BIGINT,             -- [mW]
  vbios TEXT,                        -- [text]
  ecc BIGINT,                        -- [bool]
  mig_profile TEXT,                  -- [text] "" is MIG off
  pcie_generation BIGINT,            -- [-]
  pcie_lane_count BIGINT,            -- [count]
  topology TEXT                      -- [text] how GPUs are linked
);

CREATE TABLE environment (
  environment_id INTEGER PRIMARY KEY,  -- [-]
  identity TEXT NOT NULL UNIQUE,     -- [text] all columns below and the switches, "name=value" a line
  driver TEXT,                       -- [version]
  cuda_runtime TEXT,                 -- [version]
  cupti TEXT,                        -- [version]
  libtorch TEXT,                     -- [version]
  cudnn TEXT,                        -- [version]
  cublas TEXT,                       -- [version]
  host_kernel TEXT,                  -- [version]
  compiler TEXT,                     -- [text] name and version
  build_flags TEXT,                  -- [text]
  clocks_locked BIGINT,              -- [bool]
  persistence_mode BIGINT            -- [bool]
);

CREATE TABLE environment_switch (
  environment_id BIGINT NOT NULL REFERENCES environment,  -- [-]
  name TEXT NOT NULL,                -- [text] allow-listed environment variable
  value TEXT NOT NULL,               -- [text]
  PRIMARY KEY (environment_id, name)
);

CREATE TABLE comparability (
  comparability_id INTEGER PRIMARY KEY,  -- [-]
  comparability_key TEXT NOT NULL UNIQUE  -- [text] what two runs must share so that counts compare exactly
);

-- What was run --------------------------------------------------------------------------------------------------------

CREATE TABLE run (
  run_id INTEGER PRIMARY KEY,        -- [-]
  uuid TEXT NOT NULL UNIQUE,         -- [text]
  revision_id BIGINT REFERENCES revision,  -- [-]
  hardware_id BIGINT NOT NULL REFERENCES hardware,  -- [-]
  environment_id BIGINT NOT NULL REFERENCES environment,  -- [-]
  comparability_id BIGINT NOT NULL REFERENCES comparability,  -- [-]
  machine TEXT NOT NULL,             -- [text] random id or the owner's label, never a host name
  branch TEXT,                       -- [text]
  has_local_changes BIGINT,          -- [bool] the tree differed from the revision
  started_at_ns BIGINT NOT NULL,     -- [ns]
  duration_ns BIGINT,                -- [ns]
  status TEXT NOT NULL CHECK (status IN ('complete', 'interrupted')),  -- [name]
  throttle_reasons TEXT,             -- [text] names joined by commas; "" is none
  temperature_max_celsius BIGINT,    -- [degree Celsius]
  sm_clock_min_hz BIGINT,            -- [hz]
  sm_clock_median_hz BIGINT,         -- [hz]
  round_plan TEXT,                   -- [text] order of the rounds: "ABBA"
  seed BIGINT,                       -- [-] of the order of rounds and of inputs
  producer TEXT NOT NULL,            -- [version] stallhound that measured
  analysis_version BIGINT            -- [-] of the analyses behind counts and sites
);
CREATE INDEX run_by_start ON run (started_at_ns);

CREATE TABLE capture (
  run_id BIGINT NOT NULL REFERENCES run,  -- [-]
  uuid TEXT NOT NULL,                -- [text] of the capture
  path TEXT NOT NULL,                -- [text] relative to the history's folder
  checksum TEXT NOT NULL,            -- [hex] of the content, as the capture states it
  PRIMARY KEY (run_id, uuid)
);

CREATE TABLE benchmark (
  benchmark_id INTEGER PRIMARY KEY,  -- [-]
  suite TEXT NOT NULL,               -- [text]
  name TEXT NOT NULL,                -- [text] layer/variant/dtype/shape/pass
  UNIQUE (suite, name)
);

CREATE TABLE benchmark_run (
  run_id BIGINT NOT NULL REFERENCES run,  -- [-]
  benchmark_id BIGINT NOT NULL REFERENCES benchmark,  -- [-]
  outcome TEXT NOT NULL CHECK (outcome IN ('measured', 'failed', 'skipped')),  -- [name]
  message TEXT,                      -- [text] why it failed or was skipped
  iteration_count BIGINT,            -- [count] iterations of the counted window
  counts_complete BIGINT,            -- [bool] false: records were lost inside the window
  PRIMARY KEY (run_id, benchmark_id)
);

-- Times ---------------------------------------------------------------------------------------------------------------

CREATE TABLE metric (
  metric_id INTEGER PRIMARY KEY,     -- [-]
  name TEXT NOT NULL UNIQUE,         -- [text] "gpu_time_ns"
  unit TEXT NOT NULL,                -- [text] of its values: "ns", "bytes", "1"
  kind TEXT NOT NULL CHECK (kind IN ('time', 'count', 'bytes', 'ratio')),  -- [name]
  better TEXT NOT NULL CHECK (better IN ('lower', 'higher')),  -- [name]
  is_exact BIGINT NOT NULL           -- [bool] compared for equality
);

CREATE TABLE series (
  series_id INTEGER PRIMARY KEY,     -- [-]
  benchmark_id BIGINT NOT NULL REFERENCES benchmark,  -- [-]
  metric_id BIGINT NOT NULL REFERENCES metric,  -- [-]
  hardware_id BIGINT NOT NULL REFERENCES hardware,  -- [-]
  comparability_id BIGINT NOT NULL REFERENCES comparability,  -- [-]
  UNIQUE (benchmark_id, metric_id, hardware_id, comparability_id)
);

CREATE TABLE point (
  series_id BIGINT NOT NULL REFERENCES series,  -- [-]
  run_id BIGINT NOT NULL REFERENCES run,  -- [-]
  sample_count BIGINT NOT NULL,      -- [count]
  median DOUBLE PRECISION,           -- [metric.unit]
  mean DOUBLE PRECISION,             -- [metric.unit]
  standard_deviation DOUBLE PRECISION,  -- [metric.unit] with n - 1
  median_deviation DOUBLE PRECISION,  -- [metric.unit] median of |value - median|
  minimum DOUBLE PRECISION,          -- [metric.unit]
  lower_quartile DOUBLE PRECISION,   -- [metric.unit]
  upper_quartile DOUBLE PRECISION,   -- [metric.unit]
  interval_low DOUBLE PRECISION,     -- [metric.unit] 95% interval of the median
  interval_high DOUBLE PRECISION,    -- [metric.unit]
  exact_value BIGINT,                -- [metric.unit] of an exact metric
  PRIMARY KEY (series_id, run_id)
);
CREATE INDEX point_by_run ON point (run_id);

CREATE TABLE sample (
  series_id BIGINT NOT NULL,         -- [-]
  run_id BIGINT NOT NULL,            -- [-]
  encoding TEXT NOT NULL CHECK (encoding IN ('delta-varint')),  -- [name] store/sqlite/sample_codec.h
  content BLOB NOT NULL,             -- [metric.unit] round, value and SM clock of each sample
  PRIMARY KEY (series_id, run_id),
  FOREIGN KEY (series_id, run_id) REFERENCES point
);
CREATE INDEX sample_by_run ON sample (run_id);

-- What the GPU and the host did, over the counted window of a benchmark -----------------------------------------------

CREATE TABLE kernel (
  kernel_id INTEGER PRIMARY KEY,     -- [-]
  name TEXT NOT NULL UNIQUE          -- [text] demangled, normalised
);

CREATE TABLE kernel_aggregate (
  run_id BIGINT NOT NULL,            -- [-]
  benchmark_id BIGINT NOT NULL,      -- [-]
  kernel_id BIGINT NOT NULL REFERENCES kernel,  -- [-]
  grid TEXT,                         -- [blocks] "132x1x1"; NULL where it differs between calls
  block TEXT,                        -- [threads] "256x1x1"; the same
  register_count BIGINT,             -- [count] per thread
  shared_memory_bytes BIGINT,        -- [bytes] per block, static and dynamic
  min_count BIGINT NOT NULL,         -- [count] calls in the iteration with fewest
  max_count BIGINT NOT NULL,         -- [count] calls in the iteration with most
  total_ns BIGINT,                   -- [ns] GPU time over the window
  median_ns BIGINT,                  -- [ns] of one call
  FOREIGN KEY (run_id, benchmark_id) REFERENCES benchmark_run
);
CREATE UNIQUE INDEX kernel_aggregate_key ON kernel_aggregate
  (run_id, benchmark_id, kernel_id, COALESCE(grid, ''), COALESCE(block, ''),
   COALESCE(register_count, -1), COALESCE(shared_memory_bytes, -1));

-- A kind that was recorded and did not occur has a row of 0; a kind without a row is unknown.
CREATE TABLE event_count (
  run_id BIGINT NOT NULL,            -- [-]
  benchmark_id BIGINT NOT NULL,      -- [-]
  kind TEXT NOT NULL,                -- [name] "kernel", "wait", "host-to-device", ...
  source_memory TEXT,                -- [name] of copies: "pageable", "pinned", "device", "managed"
  target_memory TEXT,                -- [name] the same
  api TEXT,                          -- [name] call behind it
  min_count BIGINT NOT NULL,         -- [count] in the iteration with fewest; stable where equal to max_count
  max_count BIGINT NOT NULL,         -- [count] in the iteration with most
  min_bytes BIGINT,                  -- [bytes] in the iteration with fewest
  max_bytes BIGINT,                  -- [bytes] in the iteration with most
  FOREIGN KEY (run_id, benchmark_id) REFERENCES benchmark_run
);
CREATE UNIQUE INDEX event_count_key ON event_count
  (run_id, benchmark_id, kind, COALESCE(source_memory, ''), COALESCE(target_memory, ''), COALESCE(api, ''));

CREATE TABLE sync_site (
  run_id BIGINT NOT NULL,            -- [-]
  benchmark_id BIGINT NOT NULL,      -- [-]
  kind TEXT NOT NULL,                -- [name] "wait", "pageable-copy", "allocator", "loader", "query-spin"
  file TEXT,                         -- [text] relative to the project, site-packages or ~
  line BIGINT,                       -- [-]
  function TEXT,                     -- [text]
  native_symbol TEXT,                -- [text]
  operator TEXT,                     -- [text] innermost operator
  api TEXT,                          -- [name] the most frequent
  count BIGINT NOT NULL,             -- [count] over the window
  blocked_ns BIGINT,                 -- [ns] over the window
  idle_ns BIGINT,                    -- [ns] over the window
  recoverable_ns BIGINT,             -- [ns] over the window
  confidence TEXT NOT NULL CHECK (confidence IN ('exact', 'inferred', 'none')),  -- [name]
  FOREIGN KEY (run_id, benchmark_id) REFERENCES benchmark_run
);
CREATE INDEX sync_site_by_run ON sync_site (run_id, benchmark_id);

-- What was said of it -------------------------------------------------------------------------------------------------

CREATE TABLE judgement (
  judgement_id INTEGER PRIMARY KEY,  -- [-] one pass of the gate
  uuid TEXT NOT NULL UNIQUE,         -- [text]
  run_id BIGINT NOT NULL REFERENCES run,  -- [-]
  rule_version BIGINT NOT NULL,      -- [-] of the gate's rules
  judged_at_ns BIGINT NOT NULL       -- [ns]
);
CREATE INDEX judgement_by_run ON judgement (run_id);

CREATE TABLE judgement_baseline (
  judgement_id BIGINT NOT NULL REFERENCES judgement,  -- [-]
  run_id BIGINT NOT NULL REFERENCES run,  -- [-] one of the runs compared with
  PRIMARY KEY (judgement_id, run_id)
);

CREATE TABLE verdict (
  judgement_id BIGINT NOT NULL REFERENCES judgement,  -- [-]
  benchmark_id BIGINT NOT NULL REFERENCES benchmark,  -- [-]
  metric TEXT NOT NULL,              -- [name] a metric or a kind of event
  outcome TEXT NOT NULL CHECK (outcome IN ('pass', 'regressed', 'improved', 'suspect', 'inconclusive')),  -- [name]
  reason TEXT NOT NULL,              -- [text] reason code and sentence
  effect_ratio DOUBLE PRECISION,     -- [1] run / baseline
  interval_low_ratio DOUBLE PRECISION,  -- [1] 95% interval of the effect
  interval_high_ratio DOUBLE PRECISION,  -- [1]
  p_value DOUBLE PRECISION,          -- [1]
  q_value DOUBLE PRECISION,          -- [1] after Benjamini-Hochberg
  smallest_p_value DOUBLE PRECISION,  -- [1] that this number of rounds can give
  detectable_effect_ratio DOUBLE PRECISION,  -- [1] smallest effect that would have been seen
  baseline_round_count BIGINT,       -- [count]
  run_round_count BIGINT,            -- [count]
  PRIMARY KEY (judgement_id, benchmark_id, metric)
);

CREATE TABLE acknowledgement (
  acknowledgement_id INTEGER PRIMARY KEY,  -- [-]
  uuid TEXT NOT NULL UNIQUE,         -- [text]
  benchmark_pattern TEXT NOT NULL,   -- [glob] of suite/name
  metric TEXT,                       -- [name] NULL is all
  reason TEXT NOT NULL,              -- [text]
  issue_url TEXT,                    -- [text]
  author TEXT NOT NULL,              -- [text] as given
  created_at_ns BIGINT NOT NULL,     -- [ns]
  expires_at_ns BIGINT NOT NULL,     -- [ns]
  from_sha TEXT                      -- [hex] first revision it holds for
);

-- The newest row of a name is the baseline.
CREATE TABLE baseline (
  baseline_id INTEGER PRIMARY KEY,   -- [-]
  name TEXT NOT NULL,                -- [text]
  run_id BIGINT NOT NULL REFERENCES run,  -- [-]
  set_at_ns BIGINT NOT NULL,         -- [ns]
  reason TEXT                        -- [text]
);

-- Views for people ----------------------------------------------------------------------------------------------------

CREATE VIEW v_run AS
SELECT run.run_id, run.uuid, run.started_at_ns, run.status, run.machine, run.branch, revision.repository, revision.sha,
  run.has_local_changes, hardware.gpu_name, hardware.gpu_count, hardware.cpu_model, environment.driver,
  environment.cuda_runtime, environment.libtorch, run.throttle_reasons,
  run.run_id = (SELECT run_id FROM run ORDER BY started_at_ns DESC, run_id DESC LIMIT 1) AS is_last_run
FROM run
JOIN hardware ON hardware.hardware_id = run.hardware_id
JOIN environment ON environment.environment_id = run.environment_id
LEFT JOIN revision ON revision.revision_id = run.revision_id;

CREATE VIEW v_point AS
SELECT point.run_id, v_run.uuid AS run_uuid, v_run.started_at_ns, v_run.sha, v_run.gpu_name, v_run.is_last_run,
  benchmark.suite, benchmark.name AS benchmark, metric.name AS metric, metric.unit, point.sample_count, point.median,
  point.interval_low, point.interval_high, point.minimum, point.exact_value
FROM point
JOIN v_run ON v_run.run_id = point.run_id
JOIN series ON series.series_id = point.series_id
JOIN benchmark ON benchmark.benchmark_id = series.benchmark_id
JOIN metric ON metric.metric_id = series.metric_id;

-- Per iteration, summed over memory kinds and APIs. NULL: not recorded, or not the same in all iterations (then
-- unstable_kind_count is above 0, and event_count has the ranges).
CREATE VIEW v_benchmark_count AS
SELECT b.run_id, v_run.uuid AS run_uuid, v_run.started_at_ns, v_run.is_last_run, benchmark.suite,
  benchmark.name AS benchmark, b.outcome, b.iteration_count, b.counts_complete,
  (SELECT CASE WHEN SUM(max_count - min_count) = 0 THEN SUM(min_count) END FROM event_count e
     WHERE e.run_id = b.run_id AND e.benchmark_id = b.benchmark_id AND e.kind = 'kernel') AS kernel_count,
  (SELECT CASE WHEN SUM(max_count - min_count) = 0 THEN SUM(min_count) END FROM event_count e
     WHERE e.run_id = b.run_id AND e.benchmark_id = b.benchmark_id AND e.kind = 'graph-launch') AS graph_launch_count,
  (SELECT CASE WHEN SUM(max_count - min_count) = 0 THEN SUM(min_count) END FROM event_count e
     WHERE e.run_id = b.run_id AND e.benchmark_id = b.benchmark_id AND e.kind = 'wait') AS wait_count,
  (SELECT CASE WHEN SUM(max_count - min_count) = 0 THEN SUM(min_count) END FROM event_count e
     WHERE e.run_id = b.run_id AND e.benchmark_id = b.benchmark_id AND e.kind = 'pageable-copy') AS pageable_copy_count,
  (SELECT CASE WHEN SUM(max_count - min_count) = 0 THEN SUM(min_count) END FROM event_count e
     WHERE e.run_id = b.run_id AND e.benchmark_id = b.benchmark_id AND e.kind = 'allocator') AS allocator_count,
  (SELECT CASE WHEN SUM(max_count - min_count) = 0 THEN SUM(min_count) END FROM event_count e
     WHERE e.run_id = b.run_id AND e.benchmark_id = b.benchmark_id AND e.kind = 'loader') AS loader_count,
  (SELECT CASE WHEN SUM(max_count - min_count) = 0 THEN SUM(min_count) END FROM event_count e
     WHERE e.run_id = b.run_id AND e.benchmark_id = b.benchmark_id AND e.kind = 'host-to-device') AS host_to_device_count,
  (SELECT CASE WHEN SUM(max_bytes - min_bytes) = 0 AND COUNT(max_bytes) = COUNT(*) THEN SUM(min_bytes) END FROM event_count e
     WHERE e.run_id = b.run_id AND e.benchmark_id = b.benchmark_id AND e.kind = 'host-to-device') AS host_to_device_bytes,
  (SELECT CASE WHEN SUM(max_count - min_count) = 0 THEN SUM(min_count) END FROM event_count e
     WHERE e.run_id = b.run_id AND e.benchmark_id = b.benchmark_id AND e.kind = 'device-to-host') AS device_to_host_count,
  (SELECT CASE WHEN SUM(max_bytes - min_bytes) = 0 AND COUNT(max_bytes) = COUNT(*) THEN SUM(min_bytes) END FROM event_count e
     WHERE e.run_id = b.run_id AND e.benchmark_id = b.benchmark_id AND e.kind = 'device-to-host') AS device_to_host_bytes,
  (SELECT CASE WHEN SUM(max_bytes - min_bytes) = 0 AND COUNT(max_bytes) = COUNT(*) THEN SUM(min_bytes) END FROM event_count e
     WHERE e.run_id = b.run_id AND e.benchmark_id = b.benchmark_id AND e.kind = 'device-to-device') AS device_to_device_bytes,
  (SELECT CASE WHEN SUM(max_count - min_count) = 0 THEN SUM(min_count) END FROM event_count e
     WHERE e.run_id = b.run_id AND e.benchmark_id = b.benchmark_id AND e.kind = 'memset') AS memset_count,
  (SELECT CASE WHEN SUM(max_count - min_count) = 0 THEN SUM(min_count) END FROM event_count e
     WHERE e.run_id = b.run_id AND e.benchmark_id = b.benchmark_id AND e.kind = 'device-allocation') AS device_allocation_count,
  (SELECT CASE WHEN SUM(max_count - min_count) = 0 THEN SUM(min_count) END FROM event_count e
     WHERE e.run_id = b.run_id AND e.benchmark_id = b.benchmark_id AND e.kind = 'host-allocation') AS host_allocation_count,
  (SELECT COUNT(DISTINCT e.kind) FROM event_count e
     WHERE e.run_id = b.run_id AND e.benchmark_id = b.benchmark_id
       AND (e.min_count <> e.max_count OR e.min_bytes <> e.max_bytes)) AS unstable_kind_count
FROM benchmark_run b
JOIN v_run ON v_run.run_id = b.run_id
JOIN benchmark ON benchmark.benchmark_id = b.benchmark_id;
