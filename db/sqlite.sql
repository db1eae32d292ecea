-- The tables: a projection of the journal, which is a file of its own format beside this one
-- (exchange.db.journal, server/journal/journal_file.hpp). db/postgresql.sql has the same tables. Users
-- read the views of db/sqlite_views.sql.
-- *_e8 columns count 1e-8 of a share or of the currency, *_e16 1e-16 (as text: beyond 64 bits), *_us
-- microseconds since the Unix epoch.
CREATE TABLE IF NOT EXISTS accounts (
  number INTEGER PRIMARY KEY,          -- in order of creation, from 0
  id TEXT NOT NULL UNIQUE,
  balance_e16 TEXT NOT NULL,           -- the free part: without the cash that open buys reserve
  events INTEGER NOT NULL DEFAULT 0    -- the number of its newest event; 0: none are recorded
);
CREATE TABLE IF NOT EXISTS account_keys (
  account INTEGER PRIMARY KEY REFERENCES accounts,
  key_hash TEXT NOT NULL               -- scrypt:log2 N:r:p:salt:hash; only accounts that have or had a key; '': it was revoked
);
CREATE TABLE IF NOT EXISTS account_rules (  -- of accounts for which the operator has set some, or a name
  account INTEGER PRIMARY KEY REFERENCES accounts,
  role TEXT NOT NULL DEFAULT '',       -- '': a trader; market_operator
  access TEXT NOT NULL DEFAULT '',     -- '': active; frozen
  orders_max INTEGER NOT NULL DEFAULT 0,  -- open at a time; 0 here and below: no such rule
  orders_per_second_max INTEGER NOT NULL DEFAULT 0,
  position_max_e8 INTEGER NOT NULL DEFAULT 0,
  name TEXT NOT NULL DEFAULT ''        -- for leaderboards; '': it has none
);
CREATE TABLE IF NOT EXISTS symbols (
  number INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  shares_total_e8 INTEGER NOT NULL,    -- all shares ever created
  tick_e8 INTEGER NOT NULL DEFAULT 0,  -- limits are multiples of it; 0 here and below: no such rule
  price_min_e8 INTEGER NOT NULL DEFAULT 0,  -- of limits
  price_max_e8 INTEGER NOT NULL DEFAULT 0,
  band_e8 INTEGER NOT NULL DEFAULT 0,  -- limits are so near to the last price
  lot_e8 INTEGER NOT NULL DEFAULT 0,   -- the shares of orders are multiples of it
  order_max_e8 INTEGER NOT NULL DEFAULT 0,  -- shares of one order
  at_band TEXT NOT NULL DEFAULT '',    -- '': refuse; auction
  trading TEXT NOT NULL DEFAULT '',    -- '': open; halted, auction, volatility
  trading_since_us INTEGER NOT NULL DEFAULT 0,  -- the last change of trading; 0: none
  last_price_e8 INTEGER NOT NULL DEFAULT 0      -- of the newest execution; 0: none
);
CREATE TABLE IF NOT EXISTS positions (
  account INTEGER NOT NULL REFERENCES accounts,
  symbol INTEGER NOT NULL REFERENCES symbols,
  shares_e8 INTEGER NOT NULL,          -- free, without the shares that open sells reserve
  PRIMARY KEY (account, symbol)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS orders (
  id INTEGER PRIMARY KEY,              -- transaction id
  account INTEGER NOT NULL REFERENCES accounts,
  symbol INTEGER NOT NULL REFERENCES symbols,
  is_buy INTEGER NOT NULL,
  shares_e8 INTEGER NOT NULL,          -- as ordered, or as replaced last
  limit_e8 INTEGER NOT NULL,           -- likewise; 0: a market order
  open_e8 INTEGER NOT NULL,
  canceled_e8 INTEGER NOT NULL,
  opened_at_us INTEGER NOT NULL,
  canceled_at_us INTEGER NOT NULL      -- 0 if not canceled
);
CREATE INDEX IF NOT EXISTS open_orders ON orders (id) WHERE open_e8 > 0;
CREATE TABLE IF NOT EXISTS order_references (
  account INTEGER NOT NULL REFERENCES accounts,
  order_id INTEGER NOT NULL REFERENCES orders,
  ref TEXT NOT NULL,                   -- what its client calls the order; only orders that have one
  PRIMARY KEY (account, order_id)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS order_replacements ( -- what an order was before it was replaced
  number INTEGER PRIMARY KEY,          -- from the sequence of the ids of orders
  order_id INTEGER NOT NULL REFERENCES orders,
  shares_e8 INTEGER NOT NULL,          -- before
  limit_e8 INTEGER NOT NULL,           -- before
  keeps_place INTEGER NOT NULL,        -- else the order is behind all that came before this number
  executions_before INTEGER NOT NULL,  -- the newest execution then, of any order
  time_us INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS replacements_of_order ON order_replacements (order_id, executions_before);  -- and number, the rowid
CREATE INDEX IF NOT EXISTS places_of_order ON order_replacements (order_id, executions_before) WHERE NOT keeps_place;
CREATE TABLE IF NOT EXISTS executions (
  id INTEGER PRIMARY KEY,
  symbol INTEGER NOT NULL REFERENCES symbols,
  buy_order INTEGER NOT NULL REFERENCES orders,
  sell_order INTEGER NOT NULL REFERENCES orders,
  shares_e8 INTEGER NOT NULL,
  price_e8 INTEGER NOT NULL,
  time_us INTEGER NOT NULL,
  of_auction INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX IF NOT EXISTS executions_of_buy ON executions (buy_order);
CREATE INDEX IF NOT EXISTS executions_of_sell ON executions (sell_order);
CREATE TABLE IF NOT EXISTS account_events ( -- of accounts to which a client subscribed, from then on
  account INTEGER NOT NULL REFERENCES accounts,
  number INTEGER NOT NULL,              -- from 1, without gaps in an account
  kind TEXT NOT NULL,                -- opened, executed_maker, ...: server/engine/rows.hpp
  order_id INTEGER NOT NULL,            -- 0: of none
  symbol INTEGER NOT NULL,              -- of kind began: 0
  is_buy INTEGER NOT NULL,              -- of the order
  shares_e8 INTEGER NOT NULL,           -- opened, replaced: of the whole order; else: these
  price_e8 INTEGER NOT NULL,            -- executed: the price; else: the limit, 0 of a market order
  open_e8 INTEGER NOT NULL,             -- of the order, after it
  execution INTEGER NOT NULL,           -- 0: of none
  balance_e16 TEXT NOT NULL,            -- free, after it
  position_e8 INTEGER NOT NULL,         -- free, of the symbol, after it
  batch INTEGER NOT NULL,               -- of the journal
  time_us INTEGER NOT NULL,
  PRIMARY KEY (account, number)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS rounds (     -- of the leaderboard
  number INTEGER PRIMARY KEY,           -- from 1
  name TEXT NOT NULL,
  executions_before INTEGER NOT NULL,   -- later ones are of this round, until the next
  time_us INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS projection (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  batch INTEGER NOT NULL,              -- the journal batch up to which the tables are complete
  orders INTEGER NOT NULL,             -- ids assigned so far, and numbers of replacements
  executions INTEGER NOT NULL,
  cash_created_e16 TEXT NOT NULL,
  last_time_us INTEGER NOT NULL,
  digest INTEGER NOT NULL,
  epoch INTEGER NOT NULL,              -- of the server that may change the tables
  file_batch INTEGER NOT NULL          -- the batch that this file has without its log (-wal), at least
);
INSERT OR IGNORE INTO projection VALUES (1, 0, 0, 0, '0', 0, 0, 0, 0);
CREATE TABLE IF NOT EXISTS store (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  id TEXT NOT NULL                     -- the same in both files
);
