-- Journal and tables of the exchange. The journal is the source of truth, committed before any reply. The
-- tables are its projection, a fraction of a second behind. db/sqlite.sql has the same tables. Users read the
-- views of db/postgresql_views.sql.
-- *_e8 columns count 1e-8 of a share or of the currency, *_e16 1e-16, *_us microseconds since the Unix
-- epoch.
CREATE TABLE IF NOT EXISTS journal (
  batch bigint PRIMARY KEY,            -- from 1, without gaps; old projected rows are pruned
  epoch bigint NOT NULL,
  payload bytea NOT NULL               -- server/journal/journal_record.hpp
);
ALTER TABLE journal ALTER COLUMN payload SET STORAGE EXTERNAL;  -- it is compact already
CREATE TABLE IF NOT EXISTS fence (
  one int PRIMARY KEY CHECK (one = 1),
  epoch bigint NOT NULL,               -- counts the servers that have opened the store
  ended_epoch bigint NOT NULL,         -- the newest epoch whose server said at its end that it answers nothing more
  schema_version int NOT NULL          -- the format: server/engine/rows.hpp
);
INSERT INTO fence VALUES (1, 0, 0, 0) ON CONFLICT DO NOTHING;  -- the server sets the format

CREATE TABLE IF NOT EXISTS accounts (
  number bigint PRIMARY KEY,           -- in order of creation, from 0
  id text NOT NULL UNIQUE,
  balance_e16 numeric(39) NOT NULL,    -- the free part: without the cash that open buys reserve
  events bigint NOT NULL DEFAULT 0     -- the number of its newest event; 0: none are recorded
);
CREATE TABLE IF NOT EXISTS account_keys (
  account bigint PRIMARY KEY,
  key_hash text NOT NULL               -- scrypt:log2 N:r:p:salt:hash; only accounts that have or had a key; '': it was revoked
);
CREATE TABLE IF NOT EXISTS account_rules (  -- of accounts for which the operator has set some, or a name
  account bigint PRIMARY KEY,
  role text NOT NULL DEFAULT '',       -- '': a trader; market_operator
  access text NOT NULL DEFAULT '',     -- '': active; frozen
  orders_max bigint NOT NULL DEFAULT 0,  -- open at a time; 0 here and below: no such rule
  orders_per_second_max bigint NOT NULL DEFAULT 0,
  position_max_e8 bigint NOT NULL DEFAULT 0,
  name text NOT NULL DEFAULT ''        -- for leaderboards; '': it has none
);
CREATE TABLE IF NOT EXISTS symbols (
  number bigint PRIMARY KEY,
  name text NOT NULL UNIQUE,
  shares_total_e8 bigint NOT NULL,     -- all shares ever created
  tick_e8 bigint NOT NULL DEFAULT 0,   -- limits are multiples of it; 0 here and below: no such rule
  price_min_e8 bigint NOT NULL DEFAULT 0,  -- of limits
  price_max_e8 bigint NOT NULL DEFAULT 0,
  band_e8 bigint NOT NULL DEFAULT 0,   -- limits are so near to the last price
  lot_e8 bigint NOT NULL DEFAULT 0,    -- the shares of orders are multiples of it
  order_max_e8 bigint NOT NULL DEFAULT 0,  -- shares of one order
  at_band text NOT NULL DEFAULT '',    -- '': refuse; auction
  trading text NOT NULL DEFAULT '',    -- '': open; halted, auction, volatility
  trading_since_us bigint NOT NULL DEFAULT 0,  -- the last change of trading; 0: none
  last_price_e8 bigint NOT NULL DEFAULT 0      -- of the newest execution; 0: none
);
CREATE TABLE IF NOT EXISTS positions (
  account bigint NOT NULL,
  symbol bigint NOT NULL,
  shares_e8 bigint NOT NULL,           -- free, without the shares that open sells reserve
  PRIMARY KEY (account, symbol)
);
CREATE TABLE IF NOT EXISTS orders (
  id bigint PRIMARY KEY,               -- transaction id
  account bigint NOT NULL,
  symbol bigint NOT NULL,
  is_buy boolean NOT NULL,
  shares_e8 bigint NOT NULL,           -- as ordered, or as replaced last
  limit_e8 bigint NOT NULL,            -- likewise; 0: a market order
  open_e8 bigint NOT NULL,
  canceled_e8 bigint NOT NULL,
  opened_at_us bigint NOT NULL,
  canceled_at_us bigint NOT NULL       -- 0 if not canceled
);
CREATE INDEX IF NOT EXISTS open_orders ON orders (id) WHERE open_e8 > 0;
CREATE TABLE IF NOT EXISTS order_references (
  account bigint NOT NULL,
  order_id bigint NOT NULL,
  ref text NOT NULL,                   -- what its client calls the order; only orders that have one
  PRIMARY KEY (account, order_id)
);
CREATE TABLE IF NOT EXISTS order_replacements ( -- what an order was before it was replaced
  number bigint PRIMARY KEY,           -- from the sequence of the ids of orders
  order_id bigint NOT NULL,
  shares_e8 bigint NOT NULL,           -- before
  limit_e8 bigint NOT NULL,            -- before
  keeps_place boolean NOT NULL,        -- else the order is behind all that came before this number
  executions_before bigint NOT NULL,   -- the newest execution then, of any order
  time_us bigint NOT NULL
);
CREATE INDEX IF NOT EXISTS replacements_of_order ON order_replacements (order_id, executions_before, number);
CREATE INDEX IF NOT EXISTS places_of_order ON order_replacements (order_id, executions_before, number) WHERE NOT keeps_place;
CREATE TABLE IF NOT EXISTS executions (
  id bigint PRIMARY KEY,
  symbol bigint NOT NULL,
  buy_order bigint NOT NULL,
  sell_order bigint NOT NULL,
  shares_e8 bigint NOT NULL,
  price_e8 bigint NOT NULL,
  time_us bigint NOT NULL,
  of_auction boolean NOT NULL DEFAULT false
);
CREATE INDEX IF NOT EXISTS executions_of_buy ON executions (buy_order);
CREATE INDEX IF NOT EXISTS executions_of_sell ON executions (sell_order);
CREATE TABLE IF NOT EXISTS account_events ( -- of accounts to which a client subscribed, from then on
  account bigint NOT NULL,
  number bigint NOT NULL,               -- from 1, without gaps in an account
  kind text NOT NULL,                -- opened, executed_maker, ...: server/engine/rows.hpp
  order_id bigint NOT NULL,             -- 0: of none
  symbol bigint NOT NULL,               -- of kind began: 0
  is_buy boolean NOT NULL,              -- of the order
  shares_e8 bigint NOT NULL,            -- opened, replaced: of the whole order; else: these
  price_e8 bigint NOT NULL,             -- executed: the price; else: the limit, 0 of a market order
  open_e8 bigint NOT NULL,              -- of the order, after it
  execution bigint NOT NULL,            -- 0: of none
  balance_e16 numeric(39) NOT NULL,         -- free, after it
  position_e8 bigint NOT NULL,          -- free, of the symbol, after it
  batch bigint NOT NULL,                -- of the journal
  time_us bigint NOT NULL,
  PRIMARY KEY (account, number)
);
CREATE TABLE IF NOT EXISTS rounds (     -- of the leaderboard
  number bigint PRIMARY KEY,            -- from 1
  name text NOT NULL,
  executions_before bigint NOT NULL,    -- later ones are of this round, until the next
  time_us bigint NOT NULL
);
CREATE TABLE IF NOT EXISTS projection (
  one int PRIMARY KEY CHECK (one = 1),
  batch bigint NOT NULL,               -- the journal batch up to which the tables are complete
  orders bigint NOT NULL,              -- ids assigned so far, and numbers of replacements
  executions bigint NOT NULL,
  cash_created_e16 numeric(39) NOT NULL,
  last_time_us bigint NOT NULL,
  digest bigint NOT NULL
);
INSERT INTO projection VALUES (1, 0, 0, 0, 0, 0, 0) ON CONFLICT DO NOTHING;
