


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
0	scrypt:14:8:1:48340d0578051d13c9c5e01c2b238d60:471b17cbc4bc12bf82fcbc916492ee4025231a6d889bad7e88bc4dfb
1	scrypt:14:8:1:f1a42dca8f919ef556d2a2b1f220ea2f:17290483c23286ca9866e049532f3d66fdc03b1b0002c4e060295e77
2	scrypt:14:8:1:42c2f500720196470b919a1e7803988a:9c6894e56d3ebf318f453f364d57a0c8ced17aa7d21d7a643c74fb6b
3	scrypt:14:8:1:093837906aa14581c9499dea46041d45:9ee963caa494dc0f4a6b048015d0237e74e9f550822b890c49471c64
\.



COPY public.accounts (number, id, balance_e16) FROM stdin;
3	5	10000000000000000
1	2	13880390000000000000
0	1	83370000000000000000
2	3	922337202340000000000000000
\.



COPY public.executions (id, symbol, buy_order, sell_order, shares_e8, price_e8, time_us) FROM stdin;
1	0	1	4	10000000000	1050000000	1795670978855632
2	0	2	4	2000000000	1025000000	1795670978855632
3	0	7	5	400000000	1200000000	1795670978932351
4	0	8	5	600000000	1200000000	1795670978932351
5	0	9	10	100000000	1300000000	1795670978934259
\.



COPY public.fence (one, epoch, ended_epoch, schema_version) FROM stdin;
1	1	1	100
\.



COPY public.journal (batch, epoch, payload) FROM stdin;
1	1	\\x648384c1d6f3a4980306000301310e080148340d0578051d13c9c5e01c2b238d60471b17cbc4bc12bf82fcbc916492ee4025231a6d889bad7e88bc4dfb8080c098d6c5d7e36b05000301320e0801f1a42dca8f919ef556d2a2b1f220ea2f17290483c23286ca9866e049532f3d66fdc03b1b0002c4e060295e77808082bf93eff00800000301330e080142c2f500720196470b919a1e7803988a9c6894e56d3ebf318f453f364d57a0c8ced17aa7d21d7a643c74fb6b8080bcb38ee7c0e4ff01ffe0eb17020003535059013180e8eda1ba01020003535059013281d0dbc3f4020100025a390000da20e569ffad9a98dd7bc80d
2	1	\\x6497e7c4d6f3a4980301000301350e0801093837906aa14581c9499dea46041d459ee963caa494dc0f4a6b048015d0237e74e9f550822b890c49471c64808084fea6dee111000000413b6e5b6dfc783c91738c12
3	1	\\x64cefbcbd6f3a4980303032001310353505980c8afa02580f5d6f403036001310353505980e497d012c084e1e803056269642d32036c0131035350590180cab5ee018094ebdc03056269642d330300f60ccc412814c43ff54ce7e7
4	1	\\x64d085d0d6f3a498030203610132035350590180f085da2cc084e1e8030561736b2d31032901320353505901028094ebdc0380989abc040502d978ad617b816bfb1099f054
5	1	\\x64a3cfd0d6f3a4980301070c013180f882ad16a08ce6e203056269642d3206025dce179866ff2f428b82ea95
6	1	\\x64ffdcd4d6f3a49803030302013303535059018088debe0103620133035350590180bcc1960b81989abc040574616b6572032401330353505980c2d72f80daf1eb0409046401f5f6f6442c69b3d8e901
7	1	\\x64f3ebd4d6f3a498030403210132035350590180cee4cd0280d6c28c040328013203535059028092f40180d6c28c040328013203535059018092f40180b7aea40403200132034e4557a08d0680c2d72f0d05be2ab567ab1eee6608de0208
8	1	\\x64a3f3d4d6f3a498030503200131025a3980c2d72f80c2d72f03200131025a398084af5f80a3c34706010131025a3903200131025a3980c6868f0180c2d72f0401013103100552f621124de14c1694625e91
9	1	\\x64a6b4d7d6f3a498030103600131025a3980d293ad0380e1eb170b756e74696c2d636c6f73651105c49d5930059cec19b05a4e2a
10	1	\\x64bbd9d7d6f3a4980301040101311111057d333ec376a89a7507c68569
\.



COPY public.order_references (account, order_id, ref) FROM stdin;
0	2	bid-2
0	3	bid-3
1	4	ask-1
2	8	taker
0	17	until-close
\.



COPY public.order_replacements (number, order_id, shares_e8, limit_e8, keeps_place, executions_before, time_us) FROM stdin;
6	2	5000000000	1025000000	f	2	1795670978865059
\.



COPY public.orders (id, account, symbol, is_buy, shares_e8, limit_e8, open_e8, canceled_e8, opened_at_us, canceled_at_us) FROM stdin;
4	1	0	f	12000000000	1025000000	0	0	1795670978855632	0
5	1	0	f	1000000000	1200000000	0	0	1795670978855632	0
7	2	0	t	400000000	0	0	0	1795670978932351	0
8	2	0	t	3000000000	1200000001	0	2400000000	1795670978932351	1795670978932351
9	2	0	t	100000000	1300000000	0	0	1795670978932351	0
10	1	0	f	700000000	1100000000	0	600000000	1795670978934259	1795670978934259
11	1	0	t	4000000	1100000000	0	4000000	1795670978934259	1795670978934259
12	1	0	t	4000000	1150000000	4000000	0	1795670978934259	0
13	1	2	t	100000	100000000	100000	0	1795670978934259	0
14	0	1	t	100000000	100000000	0	100000000	1795670978935203	1795670978935203
15	0	1	t	200000000	150000000	0	200000000	1795670978935203	1795670978935203
16	0	1	t	300000000	100000000	300000000	0	1795670978935203	0
17	0	1	t	900000000	50000000	0	900000000	1795670978976294	1795670978981051
1	0	0	t	10000000000	1050000000	0	0	1795670978788814	0
2	0	0	t	6000000000	1012500000	4000000000	0	1795670978788814	0
3	0	0	t	500000000	1000000000	0	500000000	1795670978788814	1795670978935203
\.



COPY public.positions (account, symbol, shares_e8) FROM stdin;
1	0	86900000001
0	0	62000000000
2	0	1100000000
\.



COPY public.projection (one, batch, orders, executions, cash_created_e16, last_time_us, digest) FROM stdin;
1	10	17	5	922337303685000000000000000	1795670978981051	8474270876886250365
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




