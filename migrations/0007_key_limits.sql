-- What a local key may use and spend (gateway specification, 1.3).

ALTER TABLE api_keys ADD COLUMN allowed_combos           TEXT NOT NULL DEFAULT '[]';  -- JSON array of names
ALTER TABLE api_keys ADD COLUMN preferred_connections    TEXT NOT NULL DEFAULT '[]';  -- JSON array of ids
ALTER TABLE api_keys ADD COLUMN excluded_auto_candidates TEXT NOT NULL DEFAULT '{}';  -- JSON object of arrays
ALTER TABLE api_keys ADD COLUMN budget_daily_usd         REAL;
ALTER TABLE api_keys ADD COLUMN budget_weekly_usd        REAL;
ALTER TABLE api_keys ADD COLUMN budget_monthly_usd       REAL;
ALTER TABLE api_keys ADD COLUMN warning_threshold        REAL NOT NULL DEFAULT 0.8;
ALTER TABLE api_keys ADD COLUMN reset_interval           TEXT NOT NULL DEFAULT 'daily'
  CHECK (reset_interval IN ('daily', 'weekly', 'monthly'));
ALTER TABLE api_keys ADD COLUMN reset_time               TEXT NOT NULL DEFAULT '00:00'; -- HH:MM
ALTER TABLE api_keys ADD COLUMN token_limits             TEXT NOT NULL DEFAULT '[]';  -- JSON array of objects

-- What a key has spent is summed over its present periods when the gateway starts and when a limit is new.
CREATE INDEX usage_history_key ON usage_history (api_key_id, timestamp);
