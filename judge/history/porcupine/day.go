package main

import (
	"fmt"
	"math/big"
	"regexp"
	"sort"
	"strconv"
	"strings"
)

// What the operator changes (docs/protocol.md, D, I and A): rules, halts and auctions of symbols, and accounts.

// market is how a symbol trades. Never changed: a change is a new one.
type market struct {
	tick, priceMin, priceMax, band, lot, orderMax *big.Int // 0: no such rule
	auctionAtBand                                 bool
	trading                                       string   // open, halted, auction, volatility
	last                                          *big.Int // price; nil: nothing was executed yet
}

// limits are what an account may do. Never changed either.
type limits struct {
	frozen      bool
	orders      int      // 0: no limit
	positionMax *big.Int // of one symbol; 0: no limit
}

var zero = new(big.Int)

func newMarket() *market {
	return &market{tick: zero, priceMin: zero, priceMax: zero, band: zero, lot: zero, orderMax: zero, trading: "open"}
}

// marketOf gives the market of a symbol that may not exist.
func (s *state) marketOf(symbol string) *market {
	if m := s.markets[symbol]; m != nil {
		return m
	}
	return newMarket()
}

func (s *state) limitsOf(account string) *limits {
	if l := s.limits[account]; l != nil {
		return l
	}
	return &limits{positionMax: zero}
}

// exists creates the symbol if it is new.
func (s *state) exists(symbol string) {
	if s.markets[symbol] == nil {
		s.markets[symbol] = newMarket()
	}
}

func (s *state) noteLast(symbol string, price *big.Int) {
	changed := *s.marketOf(symbol)
	changed.last = price
	s.markets[symbol] = &changed
}

func (m *market) collects() bool { return m.trading == "auction" || m.trading == "volatility" }

func multiple(n, unit *big.Int) bool {
	return unit.Sign() == 0 || new(big.Int).Mod(n, unit).Sign() == 0
}

// allows says whether the rules of limits allow a price, wherever the last one is.
func (m *market) allows(price *big.Int) bool {
	return multiple(price, m.tick) && price.Cmp(m.priceMin) >= 0 && (m.priceMax.Sign() == 0 || price.Cmp(m.priceMax) <= 0)
}

func (m *market) beyondBand(o *order) bool {
	if m.band.Sign() == 0 || m.last == nil {
		return false
	}
	if o.buy {
		return o.limit.Cmp(new(big.Int).Add(m.last, m.band)) > 0
	}
	return o.limit.Cmp(new(big.Int).Sub(m.last, m.band)) < 0
}

// refuses says whether a rule of its symbol or account forbids the order.
func (s *state) refuses(o *order) bool {
	m, l := s.marketOf(o.symbol), s.limitsOf(o.account)
	if l.frozen || m.trading == "halted" || !multiple(o.open, m.lot) || m.orderMax.Sign() > 0 && o.open.Cmp(m.orderMax) > 0 || !m.allows(o.limit) {
		return true
	}
	if m.trading == "open" && !m.auctionAtBand && m.beyondBand(o) {
		return true
	}
	if l.positionMax.Sign() > 0 && o.buy {
		units := new(big.Int).Set(o.open)
		if held := s.positions[[2]string{o.account, o.symbol}]; held != nil {
			units.Add(units, held)
		}
		for _, other := range s.orders {
			if other.account == o.account && other.symbol == o.symbol {
				units.Add(units, other.open)
			}
		}
		if units.Cmp(l.positionMax) > 0 {
			return true
		}
	}
	return l.orders > 0 && s.openOrders(o.account) >= l.orders && s.wouldRest(o)
}

func (s *state) openOrders(account string) int {
	count := 0
	for _, o := range s.orders {
		if o.account == account && o.open.Sign() > 0 {
			count++
		}
	}
	return count
}

func (s *state) wouldRest(o *order) bool {
	if m := s.marketOf(o.symbol); m.collects() || m.beyondBand(o) {
		return true
	}
	executable := new(big.Int)
	for _, other := range s.orders {
		if other.symbol != o.symbol || other.buy == o.buy || other.open.Sign() == 0 {
			continue
		}
		if sell, buy := pair(o, other); sell.limit.Cmp(buy.limit) <= 0 {
			executable.Add(executable, other.open)
		}
	}
	return executable.Cmp(o.open) < 0
}

// pair gives the sell and the buy of two orders.
func pair(a, b *order) (sell, buy *order) {
	if a.buy {
		return b, a
	}
	return a, b
}

// collected says whether an auction collects the order, which may begin one.
func (s *state) collected(o *order) bool {
	m := s.marketOf(o.symbol)
	if m.collects() {
		return true
	}
	if !m.beyondBand(o) {
		return false
	}
	changed := *m
	changed.trading = "volatility"
	s.markets[o.symbol] = &changed
	return true
}

func (s *state) setInstrument(l leaf, got *element) bool {
	if got != nil && !got.repeats(l.element, "sym") {
		return false
	}
	var names []string
	symbol, one := l.attr("sym")
	if !one {
		for name := range s.markets {
			names = append(names, name)
		}
		sort.Strings(names)
	} else if s.markets[symbol] != nil {
		names = []string{symbol}
	}
	changed := map[string]*market{}
	for _, name := range names {
		before := s.markets[name]
		after, ok := before.with(l.element)
		if !ok || after.priceMax.Sign() > 0 && after.priceMin.Cmp(after.priceMax) > 0 ||
			before.collects() && after.priceMax.Cmp(before.priceMax) != 0 {
			return is(got, "error")
		}
		changed[name] = after
	}
	if len(changed) == 0 {
		return is(got, "error")
	}
	var price, volume *big.Int
	for _, name := range names {
		after := changed[name]
		if after.trading == "open" && s.markets[name].trading != "open" {
			if price, volume = s.uncross(name); price != nil {
				after.last = price
			}
		}
		s.markets[name] = after
	}
	if got == nil {
		return true
	}
	if one && price != nil {
		return got.name() == "created" && got.value("price") == formatShares(price) && got.value("volume") == formatShares(volume)
	}
	_, priced := got.attr("price")
	return got.name() == "created" && !priced
}

// with gives the market after an <instrument>; false where one of its values is none.
func (m *market) with(instrument element) (*market, bool) {
	changed := *m
	for name, field := range map[string]**big.Int{"tick": &changed.tick, "price-min": &changed.priceMin, "price-max": &changed.priceMax,
		"band": &changed.band, "lot": &changed.lot, "order-max": &changed.orderMax} {
		if text, given := instrument.attr(name); given {
			if *field = parseShares(text); *field == nil || (*field).Sign() < 0 {
				return nil, false
			}
		}
	}
	if text, given := instrument.attr("at-band"); given {
		changed.auctionAtBand = text == "auction"
		if text != "auction" && text != "refuse" {
			return nil, false
		}
	}
	if text, given := instrument.attr("trading"); given {
		changed.trading = text
		if text != "open" && text != "halted" && text != "auction" && text != "volatility" {
			return nil, false
		}
	}
	return &changed, true
}

// uncross executes what matches at one price (A4, A5); nil where nothing does.
func (s *state) uncross(symbol string) (price, volume *big.Int) {
	var buys, sells []int // in the order of their execution, as long as limits allow the price
	var candidates []*big.Int
	for at, o := range s.orders {
		if o.symbol != symbol || o.open.Sign() == 0 {
			continue
		}
		candidates = append(candidates, o.limit)
		if o.buy {
			buys = append(buys, at)
		} else {
			sells = append(sells, at)
		}
	}
	m := s.markets[symbol]
	if m.last != nil && m.allows(m.last) {
		candidates = append(candidates, m.last)
	}
	sort.SliceStable(buys, func(i, j int) bool { return s.orders[buys[i]].limit.Cmp(s.orders[buys[j]].limit) > 0 })
	sort.SliceStable(sells, func(i, j int) bool { return s.orders[sells[i]].limit.Cmp(s.orders[sells[j]].limit) < 0 })
	if price = s.auctionPrice(buys, sells, candidates, m); price == nil {
		return nil, nil
	}
	volume = new(big.Int)
	time := s.newTime()
	for len(buys) > 0 && len(sells) > 0 && s.orders[buys[0]].limit.Cmp(price) >= 0 && s.orders[sells[0]].limit.Cmp(price) <= 0 {
		shares := s.execute(buys[0], sells[0], price, time)
		volume.Add(volume, shares)
		if s.orders[buys[0]].open.Sign() == 0 {
			buys = buys[1:]
		}
		if s.orders[sells[0]].open.Sign() == 0 {
			sells = sells[1:]
		}
	}
	return price, volume
}

func (s *state) auctionPrice(buys, sells []int, candidates []*big.Int, m *market) *big.Int {
	type choice struct{ price, volume, surplus *big.Int }
	var best []choice
	least := func(measure func(choice) *big.Int) {
		var kept []choice
		for _, c := range best {
			if len(kept) > 0 && measure(c).Cmp(measure(kept[0])) < 0 {
				kept = nil
			}
			if len(kept) == 0 || measure(c).Cmp(measure(kept[0])) == 0 {
				kept = append(kept, c)
			}
		}
		best = kept
	}
	for _, price := range candidates {
		demand, supply := new(big.Int), new(big.Int)
		for _, at := range buys {
			if s.orders[at].limit.Cmp(price) >= 0 {
				demand.Add(demand, s.orders[at].open)
			}
		}
		for _, at := range sells {
			if s.orders[at].limit.Cmp(price) <= 0 {
				supply.Add(supply, s.orders[at].open)
			}
		}
		volume := demand
		if supply.Cmp(demand) < 0 {
			volume = supply
		}
		if volume.Sign() > 0 {
			best = append(best, choice{price, volume, new(big.Int).Sub(demand, supply)})
		}
	}
	if len(best) == 0 {
		return nil
	}
	least(func(c choice) *big.Int { return negative(c.volume) })
	least(func(c choice) *big.Int { return new(big.Int).Abs(c.surplus) })
	bought, sold := true, true
	for _, c := range best {
		bought, sold = bought && c.surplus.Sign() > 0, sold && c.surplus.Sign() < 0
	}
	if bought {
		least(func(c choice) *big.Int { return negative(c.price) })
	} else if !sold && m.last != nil && m.allows(m.last) {
		least(func(c choice) *big.Int { return new(big.Int).Abs(new(big.Int).Sub(c.price, m.last)) })
	}
	least(func(c choice) *big.Int { return c.price })
	return best[0].price
}

func (s *state) setAccount(l leaf, got *element) bool {
	if got != nil && !got.repeats(l.element, "id") {
		return false
	}
	id := l.value("id")
	changed := *s.limitsOf(id)
	role, hasRole := l.attr("role")
	access, hasAccess := l.attr("access")
	cancel, hasCancel := l.attr("cancel-orders")
	refused := s.accounts[id] == nil || hasRole && role != "trader" && role != "operator" ||
		hasAccess && access != "active" && access != "frozen" || hasCancel && cancel != "true" && cancel != "false"
	if hasAccess {
		changed.frozen = access == "frozen"
	}
	for name, field := range map[string]*int{"orders-max": &changed.orders, "orders-per-second-max": new(int)} {
		if text, given := l.attr(name); given {
			number, err := strconv.ParseUint(text, 10, 31)
			*field, refused = int(number), refused || err != nil
		}
	}
	if text, given := l.attr("position-max"); given {
		changed.positionMax = parseShares(text)
		refused = refused || changed.positionMax == nil || changed.positionMax.Sign() < 0
	}
	if refused {
		return is(got, "error")
	}
	s.limits[id] = &changed
	if cancel == "true" {
		time := s.newTime()
		for at, o := range s.orders {
			if o.account == id && o.open.Sign() > 0 {
				s.cancelOpen(at, time)
			}
		}
	}
	return is(got, "created")
}

var reasonForm = regexp.MustCompile(`^[A-Za-z0-9._:-]{1,64}$`)

func reasonFits(l leaf) bool {
	reason, given := l.attr("reason")
	return !given || reasonForm.MatchString(reason)
}

func (s *state) adjustCash(l leaf, got *element) bool {
	if got != nil && !got.repeats(l.element, "id") {
		return false
	}
	id, amount := l.value("id"), parseDecimal(l.value("amount"), cashDecimals)
	if s.accounts[id] == nil || amount == nil || !reasonFits(l) || new(big.Int).Add(s.accounts[id], amount).Sign() < 0 {
		return is(got, "error")
	}
	s.pay(id, amount)
	return is(got, "created")
}

func (s *state) adjustShares(l leaf, got *element) bool {
	if got != nil && !got.repeats(l.element, "sym", "id") {
		return false
	}
	id, symbol, amount := l.value("id"), l.value("sym"), parseShares(l.value("amount"))
	if s.accounts[id] == nil || s.markets[symbol] == nil || amount == nil || !reasonFits(l) {
		return is(got, "error")
	}
	held := s.positions[[2]string{id, symbol}]
	if held == nil {
		held = zero
	}
	if new(big.Int).Add(held, amount).Sign() < 0 {
		return is(got, "error")
	}
	s.give(id, symbol, amount)
	return is(got, "created")
}

// setKey changes nothing that the model knows: whether accounts have keys, the history does not show.
func (s *state) setKey(l leaf, got *element) bool {
	return got == nil || got.repeats(l.element, "id") && (got.name() == "error" || got.name() == "created" && s.accounts[l.accountOfKey()] != nil)
}

func (l leaf) accountOfKey() string {
	if l.parent.name() == "transactions" {
		return l.parent.value("id")
	}
	return l.value("id")
}

// wordsOfDay are what canonical() has of symbols and accounts.
func (s *state) wordsOfDay(says func(...string)) {
	for name, m := range s.markets {
		says("m", name, fmt.Sprint(m.tick, m.priceMin, m.priceMax, m.band, m.lot, m.orderMax, m.auctionAtBand, m.trading, m.last))
	}
	for account, l := range s.limits {
		says("l", account, fmt.Sprint(l.frozen, l.orders, l.positionMax))
	}
}

// notModelled says what of a request this model does not have; empty if it has all of it.
func notModelled(request element) string {
	for _, child := range request.Children {
		switch child.name() {
		case "account", "symbol", "instrument", "adjust-cash", "adjust-shares", "set-key":
		default:
			return "the element " + child.name()
		case "order":
			for _, attr := range child.Attrs {
				if name := attr.Name.Local; name != "sym" && name != "amount" && name != "limit" {
					return "orders with " + name
				}
			}
		case "query", "cancel":
			if _, given := child.attr("id"); !given {
				return child.name() + " without id"
			}
		case "set-account":
			if _, given := child.attr("name"); given {
				return "names of accounts"
			}
			if text, given := child.attr("orders-per-second-max"); given && strings.Trim(text, "0") != "" {
				return "orders-per-second-max, which depends on the server's clock"
			}
		}
	}
	return ""
}
