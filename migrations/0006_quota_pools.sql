-- Accounts that several client keys share (gateway specification, 3.6), and what each key has used of them. Instants are
-- milliseconds since the Unix epoch, JSON is text.

CREATE TABLE quota_pools (
  id          TEXT    NOT NULL PRIMARY KEY,
  name        TEXT    NOT NULL,
  slug        TEXT    NOT NULL UNIQUE,                    -- in the names of its models
  connections TEXT    NOT NULL DEFAULT '[]',              -- JSON array of ids
  dimensions  TEXT    NOT NULL DEFAULT '[]',              -- JSON array of objects
  created_at  INTEGER NOT NULL,
  updated_at  INTEGER NOT NULL
) STRICT;

CREATE TABLE quota_allocations (
  pool_id    TEXT    NOT NULL REFERENCES quota_pools (id) ON DELETE CASCADE,
  api_key_id TEXT    NOT NULL REFERENCES api_keys (id) ON DELETE CASCADE,
  place      INTEGER NOT NULL,
  weight     REAL    NOT NULL,
  cap_value  REAL,                                        -- in the unit of the pool's first dimension
  policy     TEXT    NOT NULL,
  PRIMARY KEY (pool_id, api_key_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX quota_allocations_key ON quota_allocations (api_key_id);

-- Use in buckets of a window's length. Keys are named by value: what a key used stays when it is revoked.
CREATE TABLE quota_consumption (
  pool_id      TEXT    NOT NULL REFERENCES quota_pools (id) ON DELETE CASCADE,
  api_key_id   TEXT    NOT NULL,                          -- empty for requests without a key
  unit         TEXT    NOT NULL,
  window_name  TEXT    NOT NULL,
  bucket       INTEGER NOT NULL,                          -- how many windows since the epoch
  used         REAL    NOT NULL,                          -- in the unit
  counts_until INTEGER NOT NULL,                          -- end of the window after the bucket
  PRIMARY KEY (pool_id, api_key_id, unit, window_name, bucket)
) STRICT, WITHOUT ROWID;

CREATE INDEX quota_consumption_time ON quota_consumption (counts_until);
