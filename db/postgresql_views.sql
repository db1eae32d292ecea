-- Views for users (docs/sql.md), with exact decimals. The server replaces the views when this text has changed; REPLACE
-- keeps grants, and views built on these. db/sqlite_views.sql has the same views.

-- Open orders by price, best first.
CREATE OR REPLACE VIEW book AS
  SELECT symbols.name AS symbol, CASE WHEN is_buy THEN 'buy' ELSE 'sell' END AS side, trim_scale(limit_e8 * 1e-8) AS price,
         trim_scale(sum(open_e8) * 1e-8) AS shares, count(*) AS orders
  FROM orders JOIN symbols ON symbols.number = orders.symbol
  WHERE open_e8 > 0 GROUP BY symbols.name, is_buy, limit_e8
  ORDER BY symbols.name, is_buy DESC, CASE WHEN is_buy THEN -limit_e8 ELSE limit_e8 END;

-- Executions, newest first. LEFT JOIN lets the planner leave out a join whose columns are not selected.
-- As in server/store/tables.hpp, the taker is the order whose place was behind then: its number is that of the newest replacement that had not kept the place, else the id.
CREATE OR REPLACE VIEW tape AS
  SELECT executions.id, timestamptz 'epoch' + time_us * interval '1 microsecond' AS time, symbols.name AS symbol,
         trim_scale(price_e8 * 1e-8) AS price, trim_scale(executions.shares_e8 * 1e-8) AS shares,
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
CREATE OR REPLACE VIEW instruments AS
  SELECT name AS symbol, trim_scale(nullif(tick_e8, 0) * 1e-8) AS tick, trim_scale(nullif(lot_e8, 0) * 1e-8) AS lot,
         trim_scale(nullif(order_max_e8, 0) * 1e-8) AS order_max, trim_scale(nullif(price_min_e8, 0) * 1e-8) AS price_min,
         trim_scale(nullif(price_max_e8, 0) * 1e-8) AS price_max, trim_scale(nullif(band_e8, 0) * 1e-8) AS band,
         coalesce(nullif(at_band, ''), 'refuse') AS at_band, coalesce(nullif(trading, ''), 'open') AS trading
  FROM symbols ORDER BY name;

-- One row per account. balance and the shares of positions are free; reserved is what open orders reserve.
-- positions: {symbol: {"shares": decimal, "reserved": decimal}}, decimals as strings, as in the HTTP interface.
-- A seller always has a row in positions. A query for one account reads only its positions, but all open orders.
CREATE OR REPLACE VIEW account_summary AS
  WITH open_by_symbol AS (
    SELECT account, symbol, count(*) AS orders, sum(open_e8::numeric * CASE limit_e8 WHEN 0 THEN price_max_e8 ELSE limit_e8 END) FILTER (WHERE is_buy) AS cash_e16,
           sum(open_e8) FILTER (WHERE NOT is_buy) AS shares_e8
    FROM orders JOIN symbols ON number = symbol WHERE open_e8 > 0 GROUP BY account, symbol  -- an auction's market buy: at the highest price
  ), reserved AS (
    SELECT account, sum(orders)::bigint AS orders, coalesce(sum(cash_e16), 0) AS cash_e16, jsonb_object_agg(symbol, coalesce(shares_e8, 0)) AS shares_e8
    FROM open_by_symbol GROUP BY account
  )
  SELECT accounts.id AS account, trim_scale(balance_e16 * 1e-16) AS balance, trim_scale(coalesce(cash_e16, 0) * 1e-16) AS reserved,
         trim_scale((balance_e16 + coalesce(cash_e16, 0)) * 1e-16) AS cash, coalesce(orders, 0) AS open_orders,
         (SELECT coalesce(jsonb_object_agg(name, jsonb_build_object('shares', trim_scale(held.shares_e8 * 1e-8)::text,
                                                                    'reserved', trim_scale(held.reserved_e8 * 1e-8)::text)), '{}')
          FROM (SELECT symbol, shares_e8, coalesce((reserved.shares_e8 ->> symbol::text)::numeric, 0) AS reserved_e8
                FROM positions WHERE positions.account = accounts.number) AS held
               JOIN symbols ON symbols.number = held.symbol
          WHERE held.shares_e8 > 0 OR held.reserved_e8 > 0) AS positions
  FROM accounts LEFT JOIN reserved ON reserved.account = accounts.number;
