-- Which combo served a request, and how it chose (gateway specification, 5.5).

ALTER TABLE call_logs ADD COLUMN combo_name TEXT;
ALTER TABLE call_logs ADD COLUMN strategy TEXT;
ALTER TABLE usage_history ADD COLUMN combo_name TEXT;
