-- One name, many models behind it (gateway specification, 3.1), and the patterns that lead to one (1.4).
-- Instants are milliseconds since the Unix epoch, JSON is text.

CREATE TABLE combos (
  id                       TEXT    NOT NULL PRIMARY KEY,
  name                     TEXT    NOT NULL UNIQUE,
  strategy                 TEXT    NOT NULL,
  version                  INTEGER NOT NULL DEFAULT 2,    -- of the list of steps
  models                   TEXT    NOT NULL DEFAULT '[]', -- JSON array of steps
  config                   TEXT    NOT NULL DEFAULT '{}', -- JSON object of overrides
  system_message           TEXT,
  context_cache_protection INTEGER NOT NULL DEFAULT 0 CHECK (context_cache_protection IN (0, 1)),
  is_hidden                INTEGER NOT NULL DEFAULT 0 CHECK (is_hidden IN (0, 1)),
  is_active                INTEGER NOT NULL DEFAULT 1 CHECK (is_active IN (0, 1)),
  sort_order               INTEGER NOT NULL DEFAULT 0,
  composite_tiers          TEXT,                          -- JSON object
  created_at               INTEGER NOT NULL,
  updated_at               INTEGER NOT NULL
) STRICT;

CREATE TABLE model_combo_mappings (
  id         TEXT    NOT NULL PRIMARY KEY,
  pattern    TEXT    NOT NULL,
  combo_id   TEXT    NOT NULL REFERENCES combos (id),
  priority   INTEGER NOT NULL DEFAULT 0,                  -- the highest is asked first
  enabled    INTEGER NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1)),
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;

CREATE INDEX model_combo_mappings_combo ON model_combo_mappings (combo_id);
