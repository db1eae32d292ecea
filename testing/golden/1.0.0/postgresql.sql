


SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

SET default_tablespace = '';

SET default_table_access_method = heap;


CREATE TABLE public.account_keys (
    account bigint NOT NULL,
    key_hash text NOT NULL
);



CREATE TABLE public.accounts (
    number bigint NOT NULL,
    id text NOT NULL,
    balance_e16 numeric(39,0) NOT NULL
);



CREATE TABLE public.orders (
    id bigint NOT NULL,
    account bigint NOT NULL,
    symbol bigint NOT NULL,
    is_buy boolean NOT NULL,
    shares_e8 bigint NOT NULL,
    limit_e8 bigint NOT NULL,
    open_e8 bigint NOT NULL,
    canceled_e8 bigint NOT NULL,
    opened_at_us bigint NOT NULL,
    canceled_at_us bigint NOT NULL
);



CREATE TABLE public.positions (
    account bigint NOT NULL,
    symbol bigint NOT NULL,
    shares_e8 bigint NOT NULL
);



CREATE TABLE public.symbols (
    number bigint NOT NULL,
    name text NOT NULL,
    shares_total_e8 bigint NOT NULL
);



CREATE VIEW public.account_summary AS
 WITH open_by_symbol AS (
         SELECT orders.account,
            orders.symbol,
            count(*) AS orders,
            sum(((orders.open_e8)::numeric * (orders.limit_e8)::numeric)) FILTER (WHERE orders.is_buy) AS cash_e16,
            sum(orders.open_e8) FILTER (WHERE (NOT orders.is_buy)) AS shares_e8
           FROM public.orders
          WHERE (orders.open_e8 > 0)
          GROUP BY orders.account, orders.symbol
        ), reserved AS (
         SELECT open_by_symbol.account,
            (sum(open_by_symbol.orders))::bigint AS orders,
            COALESCE(sum(open_by_symbol.cash_e16), (0)::numeric) AS cash_e16,
            jsonb_object_agg(open_by_symbol.symbol, COALESCE(open_by_symbol.shares_e8, (0)::numeric)) AS shares_e8
           FROM open_by_symbol
          GROUP BY open_by_symbol.account
        )
 SELECT accounts.id AS account,
    trim_scale((accounts.balance_e16 * 0.0000000000000001)) AS balance,
    trim_scale((COALESCE(reserved.cash_e16, (0)::numeric) * 0.0000000000000001)) AS reserved,
    trim_scale(((accounts.balance_e16 + COALESCE(reserved.cash_e16, (0)::numeric)) * 0.0000000000000001)) AS cash,
    COALESCE(reserved.orders, (0)::bigint) AS open_orders,
    ( SELECT COALESCE(jsonb_object_agg(symbols.name, jsonb_build_object('shares', (trim_scale(((held.shares_e8)::numeric * 0.00000001)))::text, 'reserved', (trim_scale((held.reserved_e8 * 0.00000001)))::text)), '{}'::jsonb) AS "coalesce"
           FROM (( SELECT positions.symbol,
                    positions.shares_e8,
                    COALESCE(((reserved.shares_e8 ->> (positions.symbol)::text))::numeric, (0)::numeric) AS reserved_e8
                   FROM public.positions
                  WHERE (positions.account = accounts.number)) held
             JOIN public.symbols ON ((symbols.number = held.symbol)))
          WHERE ((held.shares_e8 > 0) OR (held.reserved_e8 > (0)::numeric))) AS positions
   FROM (public.accounts
     LEFT JOIN reserved ON ((reserved.account = accounts.number)));



CREATE VIEW public.book AS
 SELECT symbols.name AS symbol,
        CASE
            WHEN orders.is_buy THEN 'buy'::text
            ELSE 'sell'::text
        END AS side,
    trim_scale(((orders.limit_e8)::numeric * 0.00000001)) AS price,
    trim_scale((sum(orders.open_e8) * 0.00000001)) AS shares,
    count(*) AS orders
   FROM (public.orders
     JOIN public.symbols ON ((symbols.number = orders.symbol)))
  WHERE (orders.open_e8 > 0)
  GROUP BY symbols.name, orders.is_buy, orders.limit_e8
  ORDER BY symbols.name, orders.is_buy DESC,
        CASE
            WHEN orders.is_buy THEN (- orders.limit_e8)
            ELSE orders.limit_e8
        END;



COMMENT ON VIEW public.book IS 'exchange views 442f57f33158264969f409a1336c41c4';



CREATE TABLE public.executions (
    id bigint NOT NULL,
    symbol bigint NOT NULL,
    buy_order bigint NOT NULL,
    sell_order bigint NOT NULL,
    shares_e8 bigint NOT NULL,
    price_e8 bigint NOT NULL,
    time_us bigint NOT NULL
);



CREATE TABLE public.fence (
    one integer NOT NULL,
    epoch bigint NOT NULL,
    ended_epoch bigint NOT NULL,
    schema_version integer NOT NULL,
    CONSTRAINT fence_one_check CHECK ((one = 1))
);



CREATE TABLE public.journal (
    batch bigint NOT NULL,
    epoch bigint NOT NULL,
    payload bytea NOT NULL
);
ALTER TABLE ONLY public.journal ALTER COLUMN payload SET STORAGE EXTERNAL;



CREATE TABLE public.order_references (
    account bigint NOT NULL,
    order_id bigint NOT NULL,
    ref text NOT NULL
);



CREATE TABLE public.order_replacements (
    number bigint NOT NULL,
    order_id bigint NOT NULL,
    shares_e8 bigint NOT NULL,
    limit_e8 bigint NOT NULL,
    keeps_place boolean NOT NULL,
    executions_before bigint NOT NULL,
    time_us bigint NOT NULL
);



CREATE TABLE public.projection (
    one integer NOT NULL,
    batch bigint NOT NULL,
    orders bigint NOT NULL,
    executions bigint NOT NULL,
    cash_created_e16 numeric(39,0) NOT NULL,
    last_time_us bigint NOT NULL,
    digest bigint NOT NULL,
    CONSTRAINT projection_one_check CHECK ((one = 1))
);



CREATE VIEW public.tape AS
 SELECT executions.id,
    ('1970-01-01 00:00:00+00'::timestamp with time zone + ((executions.time_us)::double precision * '00:00:00.000001'::interval)) AS "time",
    symbols.name AS symbol,
    trim_scale(((executions.price_e8)::numeric * 0.00000001)) AS price,
    trim_scale(((executions.shares_e8)::numeric * 0.00000001)) AS shares,
        CASE
            WHEN (COALESCE(( SELECT order_replacements.number
               FROM public.order_replacements
              WHERE ((order_replacements.order_id = executions.buy_order) AND (NOT order_replacements.keeps_place) AND (order_replacements.executions_before < executions.id))
              ORDER BY order_replacements.executions_before DESC, order_replacements.number DESC
             LIMIT 1), executions.buy_order) > COALESCE(( SELECT order_replacements.number
               FROM public.order_replacements
              WHERE ((order_replacements.order_id = executions.sell_order) AND (NOT order_replacements.keeps_place) AND (order_replacements.executions_before < executions.id))
              ORDER BY order_replacements.executions_before DESC, order_replacements.number DESC
             LIMIT 1), executions.sell_order)) THEN 'buy'::text
            ELSE 'sell'::text
        END AS taker,
    executions.buy_order,
    executions.sell_order,
    buyer.id AS buy_account,
    seller.id AS sell_account
   FROM (((((public.executions
     LEFT JOIN public.symbols ON ((symbols.number = executions.symbol)))
     LEFT JOIN public.orders buy ON ((buy.id = executions.buy_order)))
     LEFT JOIN public.orders sell ON ((sell.id = executions.sell_order)))
     LEFT JOIN public.accounts buyer ON ((buyer.number = buy.account)))
     LEFT JOIN public.accounts seller ON ((seller.number = sell.account)))
  ORDER BY executions.id DESC;



COPY public.account_keys (account, key_hash) FROM stdin;
0	scrypt:14:8:1:38665b3a2927955cc30ced1148642c5c:b3d9d37109a6449881a573883e662549e8d446778d123efe123d7b91
1	scrypt:14:8:1:01d9b90ee797adf10ae1f2ae1d898934:80b3f7dc622adbae4025907618c95a8856fe11be8e34ebefabaff23a
2	scrypt:14:8:1:d391b06e377d953dd8451688b64f96ae:4de81661020e33f4d3c7d3256a40b9176d0830675435d0301ad95a42
3	scrypt:14:8:1:d71a1087db58fa4242a695d5438a314f:e59b55fb4997d711b18cb79b9246287264884e318fbf1fdd6cf68c14
\.



COPY public.accounts (number, id, balance_e16) FROM stdin;
3	5	10000000000000000
2	3	922337202340000000000000000
1	2	13880390000000000000
0	1	83370000000000000000
\.



COPY public.executions (id, symbol, buy_order, sell_order, shares_e8, price_e8, time_us) FROM stdin;
1	0	1	4	10000000000	1050000000	1795673948140364
2	0	2	4	2000000000	1025000000	1795673948140364
3	0	7	5	400000000	1200000000	1795673948562321
4	0	8	5	600000000	1200000000	1795673948562321
5	0	9	10	100000000	1300000000	1795673948572335
\.



COPY public.fence (one, epoch, ended_epoch, schema_version) FROM stdin;
1	1	1	100
\.



COPY public.journal (batch, epoch, payload) FROM stdin;
1	1	\\x6488dbe4ddfea4980306000301310e080138665b3a2927955cc30ced1148642c5cb3d9d37109a6449881a573883e662549e8d446778d123efe123d7b918080c098d6c5d7e36b05000301320e080101d9b90ee797adf10ae1f2ae1d89893480b3f7dc622adbae4025907618c95a8856fe11be8e34ebefabaff23a808082bf93eff00800000301330e0801d391b06e377d953dd8451688b64f96ae4de81661020e33f4d3c7d3256a40b9176d0830675435d0301ad95a428080bcb38ee7c0e4ff01ffe0eb17020003535059013180e8eda1ba01020003535059013281d0dbc3f4020100025a39000070c131a3f89c2fb4ede5ad06
2	1	\\x64d2b1f6ddfea4980301000301350e0801d71a1087db58fa4242a695d5438a314fe59b55fb4997d711b18cb79b9246287264884e318fbf1fdd6cf68c14808084fea6dee1110000008433b20c31d725c36ad36efa
3	1	\\x64eef4a5defea4980303032001310353505980c8afa02580f5d6f403036001310353505980e497d012c084e1e803056269642d32036c0131035350590180cab5ee018094ebdc03056269642d330300740bc72ca123311c3c694d4f
4	1	\\x64cce6bedefea498030203610132035350590180f085da2cc084e1e8030561736b2d31032901320353505901028094ebdc0380989abc040502d47bacfc31517c1a28460666
5	1	\\x649fa7bfdefea4980301070c013180f882ad16a08ce6e203056269642d3206023c39a0cb0738bf740eb17a6b
6	1	\\x6491c7d8defea49803030302013303535059018088debe0103620133035350590180bcc1960b81989abc040574616b6572032401330353505980c2d72f80daf1eb0409046075d07679ef20819674a8a2
7	1	\\x64af95d9defea498030403210132035350590180cee4cd0280d6c28c040328013203535059028092f40180d6c28c040328013203535059018092f40180b7aea40403200132034e4557a08d0680c2d72f0d05e368c839039dfd2317a9075b
8	1	\\x648393dadefea498030503200131025a3980c2d72f80c2d72f03200131025a398084af5f80a3c34706010131025a3903200131025a3980c6868f0180c2d72f04010131031005e72d28ab9ab414ead3b99670
9	1	\\x64acbaf7defea498030103600131025a3980d293ad0380e1eb170b756e74696c2d636c6f73651105a3654f82438ca24153f95021
10	1	\\x64a496f8defea498030104010131111105ca7f066a9200c9388aa49c9c
\.



COPY public.order_references (account, order_id, ref) FROM stdin;
0	2	bid-2
0	3	bid-3
1	4	ask-1
2	8	taker
0	17	until-close
\.



COPY public.order_replacements (number, order_id, shares_e8, limit_e8, keeps_place, executions_before, time_us) FROM stdin;
6	2	5000000000	1025000000	f	2	1795673948148639
\.



COPY public.orders (id, account, symbol, is_buy, shares_e8, limit_e8, open_e8, canceled_e8, opened_at_us, canceled_at_us) FROM stdin;
4	1	0	f	12000000000	1025000000	0	0	1795673948140364	0
1	0	0	t	10000000000	1050000000	0	0	1795673947732590	0
2	0	0	t	6000000000	1012500000	4000000000	0	1795673947732590	0
7	2	0	t	400000000	0	0	0	1795673948562321	0
8	2	0	t	3000000000	1200000001	0	2400000000	1795673948562321	1795673948562321
5	1	0	f	1000000000	1200000000	0	0	1795673948140364	0
10	1	0	f	700000000	1100000000	0	600000000	1795673948572335	1795673948572335
11	1	0	t	4000000	1100000000	0	4000000	1795673948572335	1795673948572335
12	1	0	t	4000000	1150000000	4000000	0	1795673948572335	0
13	1	2	t	100000	100000000	100000	0	1795673948572335	0
14	0	1	t	100000000	100000000	0	100000000	1795673948588419	1795673948588419
15	0	1	t	200000000	150000000	0	200000000	1795673948588419	1795673948588419
16	0	1	t	300000000	100000000	300000000	0	1795673948588419	0
9	2	0	t	100000000	1300000000	0	0	1795673948562321	0
3	0	0	t	500000000	1000000000	0	500000000	1795673947732590	1795673948588419
17	0	1	t	900000000	50000000	0	900000000	1795673949068588	1795673949080356
\.



COPY public.positions (account, symbol, shares_e8) FROM stdin;
0	0	62000000000
1	0	86900000001
2	0	1100000000
\.



COPY public.projection (one, batch, orders, executions, cash_created_e16, last_time_us, digest) FROM stdin;
1	10	17	5	922337303685000000000000000	1795673949080356	4091802365286842314
\.



COPY public.symbols (number, name, shares_total_e8) FROM stdin;
0	SPY	150000000001
1	Z9	0
2	NEW	0
\.



ALTER TABLE ONLY public.account_keys
    ADD CONSTRAINT account_keys_pkey PRIMARY KEY (account);



ALTER TABLE ONLY public.accounts
    ADD CONSTRAINT accounts_id_key UNIQUE (id);



ALTER TABLE ONLY public.accounts
    ADD CONSTRAINT accounts_pkey PRIMARY KEY (number);



ALTER TABLE ONLY public.executions
    ADD CONSTRAINT executions_pkey PRIMARY KEY (id);



ALTER TABLE ONLY public.fence
    ADD CONSTRAINT fence_pkey PRIMARY KEY (one);



ALTER TABLE ONLY public.journal
    ADD CONSTRAINT journal_pkey PRIMARY KEY (batch);



ALTER TABLE ONLY public.order_references
    ADD CONSTRAINT order_references_pkey PRIMARY KEY (account, order_id);



ALTER TABLE ONLY public.order_replacements
    ADD CONSTRAINT order_replacements_pkey PRIMARY KEY (number);



ALTER TABLE ONLY public.orders
    ADD CONSTRAINT orders_pkey PRIMARY KEY (id);



ALTER TABLE ONLY public.positions
    ADD CONSTRAINT positions_pkey PRIMARY KEY (account, symbol);



ALTER TABLE ONLY public.projection
    ADD CONSTRAINT projection_pkey PRIMARY KEY (one);



ALTER TABLE ONLY public.symbols
    ADD CONSTRAINT symbols_name_key UNIQUE (name);



ALTER TABLE ONLY public.symbols
    ADD CONSTRAINT symbols_pkey PRIMARY KEY (number);



CREATE INDEX executions_of_buy ON public.executions USING btree (buy_order);



CREATE INDEX executions_of_sell ON public.executions USING btree (sell_order);



CREATE INDEX open_orders ON public.orders USING btree (id) WHERE (open_e8 > 0);



CREATE INDEX places_of_order ON public.order_replacements USING btree (order_id, executions_before, number) WHERE (NOT keeps_place);



CREATE INDEX replacements_of_order ON public.order_replacements USING btree (order_id, executions_before, number);




