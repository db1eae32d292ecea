package main

import (
	"math/big"
	"regexp"
	"sort"
	"strconv"
	"strings"
)

// The exchange as docs/protocol.md describes it, and nothing else: what may a request be answered, and what is so afterwards?
// A state is never changed: step returns a new one. When something was executed or canceled the model cannot know: the first
// reply that tells the time says so, and later ones must agree.

type execution struct {
	shares, price *big.Int
	time          int // index in state.times
	other         int // index of the other order
}

type order struct {
	account, symbol string
	buy             bool
	limit, open     *big.Int
	canceled        *big.Int // nil: not canceled
	canceledTime    int
	executions      []execution
	id              string // empty: of a request whose reply never came
	words           string // of canonical(), once asked for; never of the times, which become known later
}

type state struct {
	accounts  map[string]*big.Int // free cash
	positions map[[2]string]*big.Int
	markets   map[string]*market // of symbols that exist
	limits    map[string]*limits // of accounts that were given some
	days      bool               // the history has commands of the operator: markets count in canonical()
	orders    []*order           // by arrival
	times     []string           // empty: not known yet
	counted   bool               // ids are the numbers of arrival
	key       string             // of canonical(), once asked for
}

func newState() *state {
	return &state{accounts: map[string]*big.Int{}, positions: map[[2]string]*big.Int{}, markets: map[string]*market{}, limits: map[string]*limits{}}
}

func (s *state) clone() *state {
	copied := newState()
	for account, cash := range s.accounts {
		copied.accounts[account] = cash
	}
	for position, shares := range s.positions {
		copied.positions[position] = shares
	}
	for symbol, market := range s.markets {
		copied.markets[symbol] = market
	}
	for account, limits := range s.limits {
		copied.limits[account] = limits
	}
	copied.days = s.days
	copied.orders = append([]*order(nil), s.orders...)
	copied.times = append([]string(nil), s.times...)
	copied.counted = s.counted
	return copied
}

// change gives an order of this state that may be changed.
func (s *state) change(at int) *order {
	copied := *s.orders[at]
	copied.words = ""
	copied.executions = append([]execution(nil), copied.executions...)
	s.orders[at] = &copied
	return &copied
}

func (s *state) pay(account string, amount *big.Int) {
	s.accounts[account] = new(big.Int).Add(s.accounts[account], amount)
}

func (s *state) give(account, symbol string, shares *big.Int) {
	at := [2]string{account, symbol}
	before := s.positions[at]
	if before == nil {
		before = new(big.Int)
	}
	s.positions[at] = new(big.Int).Add(before, shares)
}

func (s *state) newTime() int {
	s.times = append(s.times, "")
	return len(s.times) - 1
}

// tell says whether this time fits, and remembers it.
func (s *state) fits(at int, got string) bool {
	if s.times[at] == "" {
		s.times[at] = got
	}
	return s.times[at] == got && got != ""
}

func negative(n *big.Int) *big.Int { return new(big.Int).Neg(n) }

// step answers a request. `reply` nil: any answer will do. The state given is not changed; false where the reply is wrong.
func (s *state) step(request element, reply *element) (bool, *state) {
	next := s.clone()
	leaves := leavesOf(request)
	if reply != nil && (reply.name() != "results" || len(reply.Children) != len(leaves)) {
		return false, s
	}
	for i, leaf := range leaves {
		var got *element
		if reply != nil {
			got = &reply.Children[i]
		}
		if !next.answer(leaf, got) {
			return false, s
		}
	}
	return true, next
}

// A leaf is an element that gets one element of the reply, and what surrounds it.
type leaf struct {
	element
	parent element
}

func leavesOf(request element) []leaf {
	var leaves []leaf
	for _, child := range request.Children {
		if child.name() == "symbol" && len(child.Children) > 0 {
			for _, account := range child.Children {
				leaves = append(leaves, leaf{account, child})
			}
			continue
		}
		leaves = append(leaves, leaf{child, request})
	}
	return leaves
}

func (s *state) answer(l leaf, got *element) bool {
	switch {
	case l.parent.name() == "symbol":
		return s.placeShares(l, got)
	case l.parent.name() == "create" && l.name() == "account":
		return s.createAccount(l, got)
	case l.parent.name() == "create" && l.name() == "symbol":
		return s.createSymbol(l, got)
	case l.parent.name() == "create" && l.name() == "instrument":
		return s.setInstrument(l, got)
	case l.parent.name() == "create" && l.name() == "set-account":
		return s.setAccount(l, got)
	case l.parent.name() == "create" && l.name() == "adjust-cash":
		return s.adjustCash(l, got)
	case l.parent.name() == "create" && l.name() == "adjust-shares":
		return s.adjustShares(l, got)
	case l.name() == "set-key":
		return s.setKey(l, got)
	case l.parent.name() == "transactions" && l.name() == "order":
		return s.placeOrder(l, got)
	case l.parent.name() == "transactions" && l.name() == "query":
		return s.query(l, got)
	case l.parent.name() == "transactions" && l.name() == "cancel":
		return s.cancel(l, got)
	}
	return is(got, "error")
}

func is(got *element, name string) bool { return got == nil || got.name() == name }

var (
	accountForm = regexp.MustCompile(`^[0-9]{1,64}$`)
	symbolForm  = regexp.MustCompile(`^[A-Za-z0-9]{1,32}$`)
)

func (s *state) createAccount(l leaf, got *element) bool {
	id := l.value("id")
	balance := parseDecimal(l.value("balance"), cashDecimals)
	refused := !accountForm.MatchString(id) || s.accounts[id] != nil || balance == nil || balance.Sign() < 0
	if got != nil && !got.repeats(l.element, "id") {
		return false
	}
	if refused {
		return is(got, "error")
	}
	s.accounts[id] = balance
	return is(got, "created")
}

func (s *state) createSymbol(l leaf, got *element) bool {
	symbol := l.value("sym")
	if got != nil && !got.repeats(l.element, "sym") {
		return false
	}
	if !symbolForm.MatchString(symbol) {
		return is(got, "error")
	}
	s.exists(symbol)
	return is(got, "created")
}

func (s *state) placeShares(l leaf, got *element) bool {
	symbol, account := l.parent.value("sym"), l.value("id")
	shares := parseShares(strings.TrimSpace(l.Text))
	refused := l.name() != "account" || !symbolForm.MatchString(symbol) || s.accounts[account] == nil || shares == nil || shares.Sign() < 0
	if got != nil && l.name() == "account" && !(got.repeats(l.parent, "sym") && got.repeats(l.element, "id")) {
		return false
	}
	if refused {
		return is(got, "error")
	}
	s.exists(symbol)
	s.give(account, symbol, shares)
	return is(got, "created")
}

func (s *state) placeOrder(l leaf, got *element) bool {
	account, symbol := l.parent.value("id"), l.value("sym")
	amount := parseShares(l.value("amount"))
	limit := parseLimit(l.value("limit"), amount != nil && amount.Sign() > 0)
	if got != nil && !got.repeats(l.element, "sym", "amount", "limit") {
		return false
	}
	if s.accounts[account] == nil || !symbolForm.MatchString(symbol) || amount == nil || amount.Sign() == 0 || limit == nil || limit.Sign() <= 0 {
		return is(got, "error")
	}
	placed := &order{account: account, symbol: symbol, buy: amount.Sign() > 0, limit: limit, open: new(big.Int).Abs(amount)}
	if s.refuses(placed) {
		return is(got, "error")
	}
	if placed.buy {
		if s.accounts[account].Cmp(cost(placed.open, limit)) < 0 {
			return is(got, "error")
		}
		s.pay(account, negative(cost(placed.open, limit)))
	} else {
		if held := s.positions[[2]string{account, symbol}]; held == nil || held.Cmp(placed.open) < 0 {
			return is(got, "error")
		}
		s.give(account, symbol, negative(placed.open))
	}
	if got != nil {
		placed.id = got.value("id")
		if got.name() != "opened" || placed.id == "" || s.find(placed.id) >= 0 {
			return false
		}
		if s.counted {
			id, err := strconv.ParseUint(placed.id, 10, 64)
			if err != nil || id != uint64(len(s.orders))+1 { // also those count whose reply never came
				return false
			}
		}
	}
	s.exists(symbol)
	s.orders = append(s.orders, placed)
	if s.collected(placed) {
		return true
	}
	for s.executeBest(len(s.orders) - 1) {
	}
	return true
}

// executeBest lets the order execute against the one that it matches first; false where there is none.
func (s *state) executeBest(at int) bool {
	taker := s.orders[at]
	if taker.open.Sign() == 0 {
		return false
	}
	best := -1
	for i, maker := range s.orders[:at] { // by arrival: only a better price wins against an earlier one
		if maker.symbol != taker.symbol || maker.buy == taker.buy || maker.open.Sign() == 0 {
			continue
		}
		sell, buy := pair(maker, taker)
		if sell.limit.Cmp(buy.limit) > 0 {
			continue
		}
		if best >= 0 {
			better := maker.limit.Cmp(s.orders[best].limit)
			if maker.buy && better <= 0 || !maker.buy && better >= 0 {
				continue
			}
		}
		best = i
	}
	if best < 0 {
		return false
	}
	buy, sell, price := at, best, s.orders[best].limit
	if s.orders[best].buy {
		buy, sell = best, at
	}
	s.execute(buy, sell, price, s.newTime())
	s.noteLast(taker.symbol, price)
	return true
}

// execute executes as many shares of two orders as it can, and gives their number.
func (s *state) execute(buyAt, sellAt int, price *big.Int, time int) *big.Int {
	buy, sell := s.change(buyAt), s.change(sellAt)
	shares := buy.open
	if sell.open.Cmp(shares) < 0 {
		shares = sell.open
	}
	buy.open, sell.open = new(big.Int).Sub(buy.open, shares), new(big.Int).Sub(sell.open, shares)
	buy.executions = append(buy.executions, execution{shares, price, time, sellAt})
	sell.executions = append(sell.executions, execution{shares, price, time, buyAt})
	s.pay(sell.account, cost(shares, price))
	s.pay(buy.account, cost(shares, new(big.Int).Sub(buy.limit, price)))
	s.give(buy.account, buy.symbol, shares)
	return shares
}

// cancelOpen cancels what is open of an order.
func (s *state) cancelOpen(at, time int) {
	order := s.change(at)
	order.canceled, order.open, order.canceledTime = order.open, new(big.Int), time
	if order.buy {
		s.pay(order.account, cost(order.canceled, order.limit))
	} else {
		s.give(order.account, order.symbol, order.canceled)
	}
}

func (s *state) find(id string) int {
	for i, order := range s.orders {
		if order.id == id && id != "" {
			return i
		}
	}
	return -1
}

func (s *state) query(l leaf, got *element) bool {
	if got != nil && !got.repeats(l.element, "id") {
		return false
	}
	at := s.find(l.value("id"))
	if at < 0 || s.orders[at].account != l.parent.value("id") {
		return is(got, "error")
	}
	from := uint64(1)
	if text, asked := l.attr("from"); asked {
		var err error
		if from, err = strconv.ParseUint(text, 10, 64); err != nil || from < 1 { // digits alone, no sign
			return is(got, "error")
		}
	}
	return got == nil || got.name() == "status" && s.matches(at, got, from)
}

func (s *state) cancel(l leaf, got *element) bool {
	if got != nil && !got.repeats(l.element, "id") {
		return false
	}
	at := s.find(l.value("id"))
	if at < 0 || s.orders[at].account != l.parent.value("id") || s.orders[at].open.Sign() == 0 {
		return is(got, "error")
	}
	s.cancelOpen(at, s.newTime())
	return got == nil || got.name() == "canceled" && s.matches(at, got, 1)
}

// matches says whether a reply tells the whole state of an order, with its executions from this one on, in the right order.
func (s *state) matches(at int, got *element, from uint64) bool {
	order, parts := s.orders[at], got.Children
	if order.open.Sign() > 0 {
		if len(parts) == 0 || parts[0].name() != "open" || parts[0].value("shares") != formatShares(order.open) {
			return false
		}
		parts = parts[1:]
	} else if order.canceled != nil {
		if len(parts) == 0 || parts[0].name() != "canceled" || parts[0].value("shares") != formatShares(order.canceled) ||
			!s.fits(order.canceledTime, parts[0].value("time")) {
			return false
		}
		parts = parts[1:]
	}
	listed := order.executions
	for ; from > 1 && len(listed) > 0; from-- {
		listed = listed[1:]
	}
	if len(parts) != len(listed) {
		return false
	}
	for i, execution := range listed {
		if parts[i].name() != "executed" || parts[i].value("shares") != formatShares(execution.shares) ||
			parts[i].value("price") != formatShares(execution.price) || !s.fits(execution.time, parts[i].value("time")) {
			return false
		}
	}
	return true
}

// same says that no future reply can tell the states apart.
func same(a, b *state) bool {
	if a == b {
		return true
	}
	for account, cash := range a.accounts { // most that differ do so here, which is quicker to see
		if others := b.accounts[account]; others == nil || others.Cmp(cash) != 0 {
			return false
		}
	}
	return a.canonical() == b.canonical()
}

// canonical is the same for states that no future reply can tell apart. Of closed orders the time of arrival does not matter.
func (s *state) canonical() string {
	if s.key != "" {
		return s.key
	}
	var lines []string
	says := func(words ...string) { lines = append(lines, strings.Join(words, " ")) }
	queue := map[string]int{} // open orders so far at a price
	for at, order := range s.orders {
		if order.words == "" {
			order.words = s.wordsOf(at)
		}
		words := []string{order.words}
		if order.open.Sign() > 0 {
			place := order.place()
			words = append(words, strconv.Itoa(queue[place]))
			queue[place]++
		}
		if order.canceled != nil {
			words = append(words, s.times[order.canceledTime])
		}
		for _, e := range order.executions {
			words = append(words, s.times[e.time])
		}
		says(words...)
	}
	for account, cash := range s.accounts {
		says("a", account, cash.String())
	}
	for position, shares := range s.positions {
		if shares.Sign() > 0 {
			says("p", position[0], position[1], shares.String())
		}
	}
	if s.days {
		s.wordsOfDay(says)
	}
	sort.Strings(lines)
	s.key = strings.Join(lines, "\n")
	return s.key
}

// wordsOf says what canonical() has of an order, but for times and its place in the queue.
func (s *state) wordsOf(at int) string {
	name := func(at int) string {
		if s.orders[at].id != "" {
			return s.orders[at].id
		}
		return "?" + strconv.Itoa(at)
	}
	order := s.orders[at]
	words := []string{"o", name(at), order.open.String(), order.canceled.String()}
	if order.id == "" { // else its reply says which request placed it
		words = append(words, "of", order.account, order.place())
	}
	for _, e := range order.executions {
		words = append(words, e.shares.String(), "at", e.price.String(), "against", name(e.other))
	}
	return strings.Join(words, " ")
}

// place is where an open order queues.
func (o *order) place() string {
	return strings.Join([]string{o.symbol, strconv.FormatBool(o.buy), o.limit.String()}, " ")
}
