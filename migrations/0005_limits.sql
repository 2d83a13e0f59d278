-- What an account may be given at once and in a row (resilience specification, 14.1 and 16), and what is left of it (gateway
-- specification, 5.1). Instants are milliseconds since the Unix epoch, JSON is text.

ALTER TABLE provider_connections ADD COLUMN rate_limit_protection INTEGER NOT NULL DEFAULT 0
  CHECK (rate_limit_protection IN (0, 1));
ALTER TABLE provider_connections ADD COLUMN rate_limit_overrides_json TEXT NOT NULL DEFAULT '{}';    -- JSON object
ALTER TABLE provider_connections ADD COLUMN quota_window_thresholds_json TEXT NOT NULL DEFAULT '{}'; -- JSON object

-- What is known of each account at present.
CREATE TABLE quota_snapshots (
  connection_id TEXT    NOT NULL PRIMARY KEY,
  fetched_at    INTEGER NOT NULL,
  quota         TEXT    NOT NULL                -- JSON object
) STRICT;

-- How its windows filled: the last that was known in each stretch of five minutes.
CREATE TABLE quota_history (
  connection_id TEXT    NOT NULL,
  window_name   TEXT    NOT NULL,
  at            INTEGER NOT NULL,               -- beginning of the stretch
  percent_used  REAL    NOT NULL,               -- a fraction, 0 to 1
  reset_at      INTEGER,
  PRIMARY KEY (connection_id, window_name, at)
) STRICT, WITHOUT ROWID;

CREATE INDEX quota_history_time ON quota_history (at);
