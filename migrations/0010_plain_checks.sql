-- A list of three words in a check is a temporary tree that SQLite builds for every row: half of what writing one cost.

CREATE TABLE new_call_logs (
  id                     TEXT    NOT NULL PRIMARY KEY,
  timestamp              INTEGER NOT NULL,
  method                 TEXT    NOT NULL,
  path                   TEXT    NOT NULL,
  source_format          TEXT    NOT NULL,
  target_format          TEXT,
  status                 INTEGER NOT NULL,
  outcome                TEXT    NOT NULL CHECK (
    outcome = 'success' OR outcome = 'failure' OR outcome = 'aborted'
  ),
  stream                 INTEGER NOT NULL CHECK (stream IN (0, 1)),
  requested_model        TEXT    NOT NULL,
  provider               TEXT,
  model                  TEXT,
  connection_id          TEXT,
  connection_name        TEXT,
  api_key_id             TEXT,
  api_key_name           TEXT,
  agent                  TEXT,
  duration_ms            INTEGER NOT NULL,
  ttft_ms                INTEGER,
  tokens_input           INTEGER,                       -- neither read from nor written to a cache
  tokens_output          INTEGER,
  tokens_cache_read      INTEGER,
  tokens_cache_creation  INTEGER,
  tokens_reasoning       INTEGER,
  estimated              INTEGER NOT NULL CHECK (estimated IN (0, 1)),
  cost                   REAL,
  provider_reported_cost REAL,
  error_code             TEXT,
  error_summary          TEXT,
  session_tag            TEXT,
  trace                  TEXT    NOT NULL,              -- JSON object
  combo_name             TEXT,
  strategy               TEXT
) STRICT;

INSERT INTO new_call_logs SELECT * FROM call_logs;
DROP TABLE call_logs;
ALTER TABLE new_call_logs RENAME TO call_logs;
CREATE INDEX call_logs_newest ON call_logs (timestamp, id);

CREATE TABLE new_usage_history (
  id                     TEXT    NOT NULL PRIMARY KEY,
  timestamp              INTEGER NOT NULL,
  provider               TEXT,
  model                  TEXT,
  requested_model        TEXT    NOT NULL,
  connection_id          TEXT,
  connection_name        TEXT,
  api_key_id             TEXT,
  api_key_name           TEXT,
  tokens_input           INTEGER,                       -- neither read from nor written to a cache
  tokens_output          INTEGER,
  tokens_cache_read      INTEGER,
  tokens_cache_creation  INTEGER,
  tokens_reasoning       INTEGER,
  estimated              INTEGER NOT NULL CHECK (estimated IN (0, 1)),
  cost                   REAL,
  provider_reported_cost REAL,
  status                 INTEGER NOT NULL,
  outcome                TEXT    NOT NULL CHECK (
    outcome = 'success' OR outcome = 'failure' OR outcome = 'aborted'
  ),
  latency_ms             INTEGER NOT NULL,
  ttft_ms                INTEGER,
  error_code             TEXT,
  session_tag            TEXT,
  combo_name             TEXT
) STRICT;

INSERT INTO new_usage_history SELECT * FROM usage_history;
DROP TABLE usage_history;
ALTER TABLE new_usage_history RENAME TO usage_history;
CREATE INDEX usage_history_time ON usage_history (timestamp);
CREATE INDEX usage_history_key ON usage_history (api_key_id, timestamp);
