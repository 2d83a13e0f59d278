-- A request that asks several (a panel, a chain) is charged call by call. Its own row then counts the request and holds no
-- tokens; beside it stands one row a call, with the number of its attempt.
ALTER TABLE usage_history ADD COLUMN call INTEGER;
