-- Views for users (docs/sql.md). Decimals are texts, computed with integers: exact, but cast them before you sort or add.
-- Created again at each start. db/postgresql_views.sql has the same views.

-- Open orders by price, best first. A sum may exceed 64 bits of 1e-8, so whole shares and the rest are added separately.
DROP VIEW IF EXISTS book;
CREATE VIEW book AS
  SELECT symbols.name AS symbol, CASE WHEN is_buy THEN 'buy' ELSE 'sell' END AS side,
         rtrim(rtrim(printf('%d.%08d', limit_e8 / 100000000, limit_e8 % 100000000), '0'), '.') AS price,
         rtrim(rtrim(printf('%d.%08d', sum(open_e8 / 100000000) + sum(open_e8 % 100000000) / 100000000,
                            sum(open_e8 % 100000000) % 100000000), '0'), '.') AS shares,
         count(*) AS orders
  FROM orders JOIN symbols ON symbols.number = orders.symbol
  WHERE open_e8 > 0 GROUP BY orders.symbol, is_buy, limit_e8
  ORDER BY symbols.name, is_buy DESC, CASE WHEN is_buy THEN -limit_e8 ELSE limit_e8 END;

-- Executions, newest first; time in UTC. LEFT JOIN makes the planner read executions in the order of their ids.
-- As in server/store/tables.hpp, the taker is the order whose place was behind then: its number is that of the newest replacement that had not kept the place, else the id.
DROP VIEW IF EXISTS tape;
CREATE VIEW tape AS
  SELECT executions.id, strftime('%Y-%m-%d %H:%M:%S', time_us / 1000000, 'unixepoch') || printf('.%06dZ', time_us % 1000000) AS time,
         symbols.name AS symbol,
         rtrim(rtrim(printf('%d.%08d', price_e8 / 100000000, price_e8 % 100000000), '0'), '.') AS price,
         rtrim(rtrim(printf('%d.%08d', executions.shares_e8 / 100000000, executions.shares_e8 % 100000000), '0'), '.') AS shares,
         CASE WHEN coalesce((SELECT number FROM order_replacements WHERE order_id = buy_order AND NOT keeps_place AND executions_before < executions.id
                             ORDER BY executions_before DESC, number DESC LIMIT 1), buy_order) >
                   coalesce((SELECT number FROM order_replacements WHERE order_id = sell_order AND NOT keeps_place AND executions_before < executions.id
                             ORDER BY executions_before DESC, number DESC LIMIT 1), sell_order) THEN 'buy' ELSE 'sell' END AS taker,
         buy_order, sell_order, buyer.id AS buy_account, seller.id AS sell_account
  FROM executions
       LEFT JOIN symbols ON symbols.number = executions.symbol
       LEFT JOIN orders AS buy ON buy.id = buy_order
       LEFT JOIN orders AS sell ON sell.id = sell_order
       LEFT JOIN accounts AS buyer ON buyer.number = buy.account
       LEFT JOIN accounts AS seller ON seller.number = sell.account
  ORDER BY executions.id DESC;

-- One row per symbol: the rules that its orders keep to, NULL where it has no such rule.
DROP VIEW IF EXISTS instruments;
CREATE VIEW instruments AS
  SELECT name AS symbol,
         CASE WHEN tick_e8 > 0 THEN rtrim(rtrim(printf('%d.%08d', tick_e8 / 100000000, tick_e8 % 100000000), '0'), '.') END AS tick,
         CASE WHEN lot_e8 > 0 THEN rtrim(rtrim(printf('%d.%08d', lot_e8 / 100000000, lot_e8 % 100000000), '0'), '.') END AS lot,
         CASE WHEN order_max_e8 > 0 THEN rtrim(rtrim(printf('%d.%08d', order_max_e8 / 100000000, order_max_e8 % 100000000), '0'), '.') END AS order_max,
         CASE WHEN price_min_e8 > 0 THEN rtrim(rtrim(printf('%d.%08d', price_min_e8 / 100000000, price_min_e8 % 100000000), '0'), '.') END AS price_min,
         CASE WHEN price_max_e8 > 0 THEN rtrim(rtrim(printf('%d.%08d', price_max_e8 / 100000000, price_max_e8 % 100000000), '0'), '.') END AS price_max,
         CASE WHEN band_e8 > 0 THEN rtrim(rtrim(printf('%d.%08d', band_e8 / 100000000, band_e8 % 100000000), '0'), '.') END AS band,
         CASE at_band WHEN '' THEN 'refuse' ELSE at_band END AS at_band, CASE trading WHEN '' THEN 'open' ELSE trading END AS trading
  FROM symbols ORDER BY name;

-- One row per account. balance and the shares of positions are free; reserved is what open orders reserve.
-- positions: {symbol: {"shares": decimal, "reserved": decimal}}, decimals as strings, as in the HTTP interface.
-- A seller always has a row in positions. Cash in 1e-16 has up to 39 digits: it is computed in five limbs of 8 digits, lowest first.
DROP VIEW IF EXISTS account_summary;
CREATE VIEW account_summary AS
  WITH factors AS (
    SELECT account, open_e8 % 100000000 AS a0, open_e8 / 100000000 % 100000000 AS a1, open_e8 / 10000000000000000 AS a2,
           price_e8 % 100000000 AS b0, price_e8 / 100000000 % 100000000 AS b1, price_e8 / 10000000000000000 AS b2
    FROM (SELECT account, open_e8, CASE limit_e8 WHEN 0 THEN price_max_e8 ELSE limit_e8 END AS price_e8  -- an auction's market buy: at the highest price
          FROM orders JOIN symbols ON number = symbol WHERE open_e8 > 0 AND is_buy)
  ), products AS (
    SELECT account, a0 * b0 AS p0, a0 * b1 + a1 * b0 AS p1, a0 * b2 + a1 * b1 + a2 * b0 AS p2, a1 * b2 + a2 * b1 AS p3, a2 * b2 AS p4
    FROM factors
  ), balances AS (
    SELECT number AS account, substr('0000000000000000000000000000000000000000' || balance_e16, -40) AS digits FROM accounts
  ), parts AS (  -- the cash of an account: its balance, and what each open buy reserves
    SELECT account, 1 AS free, CAST(substr(digits, 33, 8) AS INTEGER) AS l0, CAST(substr(digits, 25, 8) AS INTEGER) AS l1,
           CAST(substr(digits, 17, 8) AS INTEGER) AS l2, CAST(substr(digits, 9, 8) AS INTEGER) AS l3, CAST(substr(digits, 1, 8) AS INTEGER) AS l4
    FROM balances
    UNION ALL
    SELECT account, 0, p0 % 100000000, p0 / 100000000 + p1 % 100000000, p1 / 100000000 + p2 % 100000000, p2 / 100000000 + p3 % 100000000,
           p3 / 100000000 + p4
    FROM products
  ), sums AS (
    SELECT account, 'cash' AS what, sum(l0) AS l0, sum(l1) AS l1, sum(l2) AS l2, sum(l3) AS l3, sum(l4) AS l4 FROM parts GROUP BY account
    UNION ALL
    SELECT account, CASE WHEN free THEN 'balance' ELSE 'reserved' END, sum(l0), sum(l1), sum(l2), sum(l3), sum(l4) FROM parts GROUP BY account, free
  ), carried_1 AS (
    SELECT account, what, l0 % 100000000 AS d0, l1 + l0 / 100000000 AS l1, l2, l3, l4 FROM sums
  ), carried_2 AS (
    SELECT account, what, d0, l1 % 100000000 AS d1, l2 + l1 / 100000000 AS l2, l3, l4 FROM carried_1
  ), carried_3 AS (
    SELECT account, what, d0, d1, l2 % 100000000 AS d2, l3 + l2 / 100000000 AS l3, l4 FROM carried_2
  ), amounts AS (
    SELECT account, what,
           coalesce(nullif(ltrim(printf('%d%08d%08d', l4 + l3 / 100000000, l3 % 100000000, d2), '0'), ''), '0') ||
           rtrim('.' || rtrim(printf('%08d%08d', d1, d0), '0'), '.') AS decimal
    FROM carried_3
  ), cash AS (
    SELECT account, max(CASE WHEN what = 'balance' THEN decimal END) AS balance, max(CASE WHEN what = 'reserved' THEN decimal END) AS reserved,
           max(CASE WHEN what = 'cash' THEN decimal END) AS cash
    FROM amounts GROUP BY account
  ), order_counts AS (
    SELECT account, count(*) AS orders FROM orders WHERE open_e8 > 0 GROUP BY account
  ), selling AS (
    SELECT account, symbol, sum(open_e8) AS reserved_e8 FROM orders WHERE open_e8 > 0 AND NOT is_buy GROUP BY account, symbol
  )
  SELECT accounts.id AS account, cash.balance, coalesce(cash.reserved, '0') AS reserved, cash.cash, coalesce(orders, 0) AS open_orders,
         (SELECT json_group_object(name, json_object(
                   'shares', rtrim(rtrim(printf('%d.%08d', shares_e8 / 100000000, shares_e8 % 100000000), '0'), '.'),
                   'reserved', rtrim(rtrim(printf('%d.%08d', reserved_e8 / 100000000, reserved_e8 % 100000000), '0'), '.')))
          FROM (SELECT name, shares_e8, coalesce(reserved_e8, 0) AS reserved_e8
                FROM positions JOIN symbols ON symbols.number = positions.symbol
                     LEFT JOIN selling ON selling.account = positions.account AND selling.symbol = positions.symbol
                WHERE positions.account = accounts.number AND (shares_e8 > 0 OR reserved_e8 > 0) ORDER BY name)) AS positions
  FROM accounts
       JOIN cash ON cash.account = accounts.number
       LEFT JOIN order_counts ON order_counts.account = accounts.number;
