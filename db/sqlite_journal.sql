-- The journal: one row per batch, committed before any reply of that batch. The source of truth.
CREATE TABLE IF NOT EXISTS journal (
  batch INTEGER PRIMARY KEY,           -- from 1, without gaps; old projected rows are pruned
  epoch INTEGER NOT NULL,
  payload BLOB NOT NULL                -- server/store/journal_record.hpp
);
CREATE TABLE IF NOT EXISTS fence (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  epoch INTEGER NOT NULL               -- counts the servers that have opened the store
);
INSERT OR IGNORE INTO fence VALUES (1, 0);
CREATE TABLE IF NOT EXISTS store (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  id TEXT NOT NULL
);
