-- What outlives a restart of what is spared and why (resilience specification, 25).
-- Instants are milliseconds since the Unix epoch, lengths are milliseconds, JSON is text.

ALTER TABLE provider_connections ADD COLUMN test_status TEXT NOT NULL DEFAULT 'unknown';
ALTER TABLE provider_connections ADD COLUMN error_code INTEGER;           -- HTTP status of the last failure
ALTER TABLE provider_connections ADD COLUMN last_error TEXT;              -- one line, redacted
ALTER TABLE provider_connections ADD COLUMN last_error_at INTEGER;
ALTER TABLE provider_connections ADD COLUMN last_error_type TEXT;
ALTER TABLE provider_connections ADD COLUMN last_error_source TEXT;       -- upstream or transport
ALTER TABLE provider_connections ADD COLUMN backoff_level INTEGER NOT NULL DEFAULT 0;
ALTER TABLE provider_connections ADD COLUMN rate_limited_until ANY;       -- an integer; numeric and ISO text are read too
ALTER TABLE provider_connections ADD COLUMN cooldown_probe_at INTEGER;
ALTER TABLE provider_connections ADD COLUMN expired_retry_count INTEGER NOT NULL DEFAULT 0;
ALTER TABLE provider_connections ADD COLUMN expired_retry_at INTEGER;
ALTER TABLE provider_connections ADD COLUMN last_used_at INTEGER;
ALTER TABLE provider_connections ADD COLUMN consecutive_use_count INTEGER NOT NULL DEFAULT 0;

CREATE TABLE domain_circuit_breakers (
  name              TEXT    NOT NULL PRIMARY KEY,          -- provider
  state             TEXT    NOT NULL DEFAULT 'CLOSED',
  failure_count     INTEGER NOT NULL DEFAULT 0,
  last_failure_time INTEGER,
  options           TEXT    NOT NULL DEFAULT '{}'          -- JSON object
) STRICT;

CREATE TABLE domain_lockout_state (
  lock_key         TEXT    NOT NULL PRIMARY KEY,           -- provider:connection:model
  provider         TEXT    NOT NULL,
  connection_id    TEXT    NOT NULL,
  model            TEXT    NOT NULL,
  scope            TEXT    NOT NULL,
  reason           TEXT    NOT NULL,
  locked_at        INTEGER NOT NULL,
  until            INTEGER NOT NULL,
  failure_count    INTEGER NOT NULL,
  last_cooldown_ms INTEGER NOT NULL,
  probe_at         INTEGER
) STRICT;

CREATE INDEX domain_lockout_state_connection ON domain_lockout_state (connection_id);

-- Through which outgoing address each account was seen, and when.
CREATE TABLE proxy_logs (
  id            INTEGER NOT NULL PRIMARY KEY,
  timestamp     INTEGER NOT NULL,
  connection_id TEXT    NOT NULL,
  egress_ip     TEXT    NOT NULL
) STRICT;

CREATE INDEX proxy_logs_time ON proxy_logs (timestamp);
