-- Instants are milliseconds since the Unix epoch, lengths are milliseconds, JSON is text.
-- Names of tables and columns follow the gateway specification, 5.5, and the resilience specification, 25.

CREATE TABLE provider_connections (
  id                     TEXT    NOT NULL PRIMARY KEY,
  provider               TEXT    NOT NULL,
  name                   TEXT    NOT NULL,
  auth_type              TEXT    NOT NULL CHECK (auth_type IN ('oauth', 'apikey', 'none')),
  priority               INTEGER NOT NULL,
  is_active              INTEGER NOT NULL CHECK (is_active IN (0, 1)),
  default_model          TEXT,
  api_key                BLOB,                          -- sealed
  credential_tail        TEXT,
  max_concurrent         INTEGER,
  excluded_models        TEXT    NOT NULL DEFAULT '[]', -- JSON array of names
  proxy_url              BLOB,                          -- sealed: it may carry a password
  tags                   TEXT    NOT NULL DEFAULT '[]', -- JSON array of words
  provider_specific_data TEXT    NOT NULL DEFAULT '{}', -- JSON object
  created_at             INTEGER NOT NULL,
  updated_at             INTEGER NOT NULL,
  deleted_at             INTEGER                        -- deleted, but its deletion can still be undone
) STRICT;

CREATE UNIQUE INDEX provider_connections_name ON provider_connections (provider, name) WHERE deleted_at IS NULL;

CREATE TABLE provider_nodes (
  id                    TEXT    NOT NULL PRIMARY KEY,
  name                  TEXT    NOT NULL,
  prefix                TEXT    NOT NULL UNIQUE,
  api_type              TEXT    NOT NULL CHECK (api_type IN ('chat', 'responses', 'messages', 'gemini')),
  base_url              TEXT    NOT NULL,
  auth_carrier          TEXT    NOT NULL,
  extra_headers         TEXT    NOT NULL DEFAULT '{}',  -- JSON object of texts
  models_path           TEXT,
  allow_private_network INTEGER NOT NULL CHECK (allow_private_network IN (0, 1)),
  provider_class        TEXT    NOT NULL CHECK (provider_class IN ('oauth', 'apikey', 'local', 'free')),
  created_at            INTEGER NOT NULL,
  updated_at            INTEGER NOT NULL
) STRICT;

CREATE TABLE model_aliases (
  id         TEXT    NOT NULL PRIMARY KEY,
  alias      TEXT    NOT NULL UNIQUE,
  target     TEXT    NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE api_keys (
  id                  TEXT    NOT NULL PRIMARY KEY,
  name                TEXT    NOT NULL UNIQUE,
  key_hash            BLOB    NOT NULL UNIQUE CHECK (length(key_hash) = 32), -- SHA-256
  tail                TEXT    NOT NULL,
  is_active           INTEGER NOT NULL CHECK (is_active IN (0, 1)),
  scopes              TEXT    NOT NULL DEFAULT '[]',    -- JSON array of words
  allowed_models      TEXT    NOT NULL DEFAULT '[]',    -- JSON array of globs
  allowed_connections TEXT    NOT NULL DEFAULT '[]',    -- JSON array of ids
  expires_at          INTEGER,
  last_used_at        INTEGER,
  created_at          INTEGER NOT NULL
) STRICT;

CREATE TABLE key_value (
  namespace  TEXT    NOT NULL,
  key        TEXT    NOT NULL,
  value      TEXT    NOT NULL,                          -- JSON
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (namespace, key)
) STRICT, WITHOUT ROWID;

-- What the Requests screen shows; deleted after the retention time. It refers to connections and keys by value,
-- because the story of a request outlives them.
CREATE TABLE call_logs (
  id                     TEXT    NOT NULL PRIMARY KEY,
  timestamp              INTEGER NOT NULL,
  method                 TEXT    NOT NULL,
  path                   TEXT    NOT NULL,
  source_format          TEXT    NOT NULL,
  target_format          TEXT,
  status                 INTEGER NOT NULL,
  outcome                TEXT    NOT NULL CHECK (outcome IN ('success', 'failure', 'aborted')),
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
  trace                  TEXT    NOT NULL               -- JSON object
) STRICT;

CREATE INDEX call_logs_newest ON call_logs (timestamp, id);

-- What the charts add up; one row per request, kept longer than its log.
CREATE TABLE usage_history (
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
  outcome                TEXT    NOT NULL CHECK (outcome IN ('success', 'failure', 'aborted')),
  latency_ms             INTEGER NOT NULL,
  ttft_ms                INTEGER,
  error_code             TEXT,
  session_tag            TEXT
) STRICT;

CREATE INDEX usage_history_time ON usage_history (timestamp);
