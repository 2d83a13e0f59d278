-- What of an answer the next turn of its conversation may miss (gateway specification, 2.7 and 5.5): the proof that Google
-- puts on a tool call, and the reasoning that some hosts want back with it. For two hours, and no more of it than the
-- gateway keeps in memory. Payloads are sealed like credentials: reasoning is content.
-- Instants are milliseconds since the Unix epoch.

CREATE TABLE signature_cache (
  tool_call_id TEXT    NOT NULL PRIMARY KEY,
  family       TEXT    NOT NULL,               -- who can read the payload: google, openai, anthropic, anyone
  payload      BLOB    NOT NULL,
  expires_at   INTEGER NOT NULL
) STRICT;

CREATE INDEX signature_cache_age ON signature_cache (expires_at);

CREATE TABLE reasoning_cache (
  tool_call_id TEXT    NOT NULL PRIMARY KEY,
  family       TEXT    NOT NULL,
  payload      BLOB    NOT NULL,
  expires_at   INTEGER NOT NULL
) STRICT;

CREATE INDEX reasoning_cache_age ON reasoning_cache (expires_at);
