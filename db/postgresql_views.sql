-- What people ask the tables (docs/sql.md), in exact decimals. The server brings the views up when this text has
-- changed; REPLACE keeps grants, and views that others have built on these. The same views as db/sqlite_views.sql.
DROP VIEW IF EXISTS open_book;

-- Open orders by price, best first.
CREATE OR REPLACE VIEW book AS
  SELECT symbols.name AS symbol, CASE WHEN is_buy THEN 'buy' ELSE 'sell' END AS side, trim_scale(limit_e8 * 1e-8) AS price,
         trim_scale(sum(open_e8) * 1e-8) AS shares, count(*) AS orders
  FROM orders JOIN symbols ON symbols.number = orders.symbol
  WHERE open_e8 > 0 GROUP BY symbols.name, is_buy, limit_e8
  ORDER BY symbols.name, is_buy DESC, CASE WHEN is_buy THEN -limit_e8 ELSE limit_e8 END;

-- Executions, newest first. LEFT, so that a join whose columns nobody asks for is left out of the plan.
CREATE OR REPLACE VIEW tape AS
  SELECT executions.id, timestamptz 'epoch' + time_us * interval '1 microsecond' AS time, symbols.name AS symbol,
         trim_scale(price_e8 * 1e-8) AS price, trim_scale(executions.shares_e8 * 1e-8) AS shares,
         CASE WHEN buy_order > sell_order THEN 'buy' ELSE 'sell' END AS taker,  -- the order that came later
         buy_order, sell_order, buyer.id AS buy_account, seller.id AS sell_account
  FROM executions
       LEFT JOIN symbols ON symbols.number = executions.symbol
       LEFT JOIN orders AS buy ON buy.id = buy_order
       LEFT JOIN orders AS sell ON sell.id = sell_order
       LEFT JOIN accounts AS buyer ON buyer.number = buy.account
       LEFT JOIN accounts AS seller ON seller.number = sell.account
  ORDER BY executions.id DESC;

-- One row an account. balance and the shares of positions are free; reserved is what open orders set aside.
-- positions: {symbol: {"shares": decimal, "reserved": decimal}}, decimals as strings, as in the HTTP interface.
CREATE OR REPLACE VIEW account_summary AS
  WITH open_orders AS (
    SELECT account, count(*) AS orders, sum(CASE WHEN is_buy THEN open_e8::numeric * limit_e8 ELSE 0 END) AS reserved_e16
    FROM orders WHERE open_e8 > 0 GROUP BY account
  ), holdings AS (
    SELECT account, symbol, sum(shares_e8) AS shares_e8, sum(reserved_e8) AS reserved_e8
    FROM (SELECT account, symbol, shares_e8, 0 AS reserved_e8 FROM positions
          UNION ALL SELECT account, symbol, 0, open_e8 FROM orders WHERE open_e8 > 0 AND NOT is_buy) AS both_parts
    GROUP BY account, symbol HAVING sum(shares_e8) + sum(reserved_e8) > 0
  ), position_lists AS (
    SELECT account, jsonb_object_agg(name, jsonb_build_object('shares', trim_scale(shares_e8 * 1e-8)::text,
                                                              'reserved', trim_scale(reserved_e8 * 1e-8)::text)) AS positions
    FROM holdings JOIN symbols ON symbols.number = holdings.symbol GROUP BY account
  )
  SELECT accounts.id AS account, trim_scale(balance_e16 * 1e-16) AS balance, trim_scale(coalesce(reserved_e16, 0) * 1e-16) AS reserved,
         trim_scale((balance_e16 + coalesce(reserved_e16, 0)) * 1e-16) AS cash, coalesce(orders, 0) AS open_orders,
         coalesce(positions, '{}') AS positions
  FROM accounts
       LEFT JOIN open_orders ON open_orders.account = accounts.number
       LEFT JOIN position_lists ON position_lists.account = accounts.number;
