package main

import (
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// story is a history in the making: one request after another unless times are given.
type story struct {
	t          *testing.T
	operations []operation
	now        int64
}

func newStory(t *testing.T) *story {
	s := &story{t: t}
	s.ask(`<create><account id="1" balance="1000000"/><account id="2" balance="1000000"/>`+
		`<symbol sym="A"><account id="1">1000</account><account id="2">5000</account></symbol></create>`,
		`<created id="1"/><created id="2"/><created sym="A" id="1"/><created sym="A" id="2"/>`)
	return s
}

func (s *story) ask(request, replies string) *operation {
	s.now += 20
	return s.at(0, s.now-10, s.now, request, replies)
}

func (s *story) at(lane int, call, end int64, request, replies string) *operation {
	s.t.Helper()
	asked, err := parseXML(request)
	if err != nil {
		s.t.Fatal(err)
	}
	answer, err := parseXML("<results>" + replies + "</results>")
	if err != nil {
		s.t.Fatal(err)
	}
	s.operations = append(s.operations, operation{line: fmt.Sprint("h:", len(s.operations)+1), lane: lane, call: call, end: end, text: request,
		answer: replies, request: asked, reply: &answer})
	if end > s.now {
		s.now = end
	}
	return &s.operations[len(s.operations)-1]
}

func place(account int, amount, limit string) string {
	return fmt.Sprintf(`<transactions id="%d"><order sym="A" amount="%s" limit="%s"/></transactions>`, account, amount, limit)
}

func opened(id int, amount, limit string) string {
	return fmt.Sprintf(`<opened sym="A" amount="%s" limit="%s" id="%d"/>`, amount, limit, id)
}

func (s *story) order(id, account int, amount, limit string) {
	s.t.Helper()
	s.ask(place(account, amount, limit), opened(id, amount, limit))
}

func query(account, id int) string {
	return fmt.Sprintf(`<transactions id="%d"><query id="%d"/></transactions>`, account, id)
}
func cancel(account, id int) string {
	return fmt.Sprintf(`<transactions id="%d"><cancel id="%d"/></transactions>`, account, id)
}
func status(id int, parts string) string {
	return fmt.Sprintf(`<status id="%d">%s</status>`, id, parts)
}
func executed(shares, price, time string) string {
	return fmt.Sprintf(`<executed shares="%s" price="%s" time="%s"/>`, shares, price, time)
}

func (s *story) expect(want porcupine.CheckResult) {
	s.t.Helper()
	if got := judge(s.operations, time.Minute); got.result != want {
		s.t.Errorf("%v, not %v; stuck at %v", got.result, want, got.stuck)
	}
}

// expectIf wants the history to be possible, or not.
func (s *story) expectIf(possible bool) {
	s.t.Helper()
	if possible {
		s.expect(porcupine.Ok)
	} else {
		s.expect(porcupine.Illegal)
	}
}

func TestTheCourseExample(t *testing.T) {
	got := status(1, `<open shares="100"/>`+executed("200", "125", "9"))
	for _, c := range []struct {
		first string
		want  porcupine.CheckResult
	}{
		{got, porcupine.Ok},
		{strings.Replace(got, `shares="100"`, `shares="200"`, 1), porcupine.Illegal},
		{strings.Replace(got, `price="125"`, `price="124"`, 1), porcupine.Illegal},
		{status(1, `<open shares="100"/>`), porcupine.Illegal},
		{status(1, executed("200", "125", "9")+`<open shares="100"/>`), porcupine.Illegal},
	} {
		s := newStory(t)
		s.order(1, 1, "300", "125")
		s.order(2, 2, "-100", "130")
		s.order(3, 1, "200", "127")
		s.order(4, 2, "-500", "128")
		s.order(5, 2, "-200", "140")
		s.order(6, 1, "400", "125")
		s.order(7, 2, "-400", "124")
		s.ask(query(2, 7), status(7, executed("200", "127", "9")+executed("200", "125", "9")))
		s.ask(query(1, 1), c.first)
		s.ask(cancel(1, 6), `<canceled id="6"><canceled shares="400" time="11"/></canceled>`)
		s.ask(query(1, 6), status(6, `<canceled shares="400" time="11"/>`))
		s.expect(c.want)
	}
}

func TestAnExecutionIsToldWithOneTimeToBothSides(t *testing.T) {
	for _, time := range []string{"9", "10"} {
		s := newStory(t)
		s.order(1, 1, "5", "10")
		s.order(2, 2, "-5", "10")
		s.ask(query(1, 1), status(1, executed("5", "10", "9")))
		s.ask(query(2, 2), status(2, executed("5", "10", time)))
		s.expectIf(time == "9")
	}
}

func TestAQueryDuringAChangeMayTellEitherState(t *testing.T) {
	for _, got := range []string{`<open shares="5"/>`, executed("5", "10", "9")} {
		s := newStory(t)
		s.order(1, 1, "5", "10")
		s.at(1, s.now+1, s.now+100, place(2, "-5", "10"), opened(2, "-5", "10"))
		s.at(2, s.now-50, s.now+10, query(1, 1), status(1, got))
		s.expect(porcupine.Ok)
	}
}

func TestAStaleReadIsIllegalAndNamed(t *testing.T) {
	s := newStory(t)
	s.order(1, 1, "5", "10")
	s.order(2, 2, "-5", "10")
	s.ask(query(1, 1), status(1, `<open shares="5"/>`))
	v := judge(s.operations, time.Minute)
	if v.result != porcupine.Illegal || len(v.stuck) != 1 || !strings.HasPrefix(v.stuck[0], "h:4 ") {
		t.Error(v.result, v.stuck)
	}
}

func TestWhatOneQuerySawALaterOneMustSee(t *testing.T) {
	s := newStory(t)
	s.order(1, 1, "5", "10")
	begin := s.now
	s.at(1, begin+1, begin+100, place(2, "-5", "10"), opened(2, "-5", "10"))
	s.at(2, begin+10, begin+20, query(1, 1), status(1, executed("5", "10", "9")))
	s.at(3, begin+30, begin+40, query(1, 1), status(1, `<open shares="5"/>`))
	s.expect(porcupine.Illegal)
}

func TestFromIsAWholeNumberWithoutSign(t *testing.T) {
	open := status(1, `<open shares="5"/>`)
	for from, reply := range map[string]string{"1": open, "02": open, "18446744073709551615": open, "+1": "<error/>", "0": "<error/>", "": "<error/>", "18446744073709551616": "<error/>"} {
		s := newStory(t)
		s.order(1, 1, "5", "10")
		s.ask(fmt.Sprintf(`<transactions id="1"><query id="1" from="%s"/></transactions>`, from), strings.Replace(reply, "<error", `<error id="1"`, 1))
		s.expect(porcupine.Ok)
	}
}

func TestPricePriorityThenArrival(t *testing.T) {
	for _, c := range []struct {
		hit  int
		want porcupine.CheckResult
	}{{1, porcupine.Illegal}, {2, porcupine.Ok}, {3, porcupine.Illegal}} {
		s := newStory(t)
		s.order(1, 1, "-5", "11")
		s.order(2, 1, "-5", "10")
		s.order(3, 1, "-5", "10")
		s.order(4, 2, "5", "12")
		price := map[int]string{1: "11", 2: "10", 3: "10"}[c.hit]
		s.ask(query(2, 4), status(4, executed("5", price, "9")))
		s.ask(query(1, c.hit), status(c.hit, executed("5", price, "9")))
		s.expect(c.want)
	}
}

func TestMoneyAndShares(t *testing.T) {
	const refusal = `<error sym="A" amount="%s" limit="%s">no</error>`
	for _, c := range []struct {
		amount, limit string
		accepted      bool
	}{
		{"1000", "1000.05", true}, {"1000", "1000.05000001", false}, // 1,000,000 and 50 from the sale
		{"-995", "5000", true}, {"-995.00000001", "5000", false}, {"0", "1", false}, {"1", "0", false}, {"1", "0.000000001", false},
		{"1", "92233720368", false}, {"+1", "1", false}, {"1e1", "1", false}, {"1", "", false}, {".5", "5.", true},
		{"1000", "1000.0500000099", true}, {"1.000000000000", "1", true}, {"1.000000001", "1", true}, {"0.000000001", "1", false}, {"-995.000000009", "5000", true}, {"-1", "0.000000001", true},
		{"-1", "92233720367.999999999", false},
	} {
		for _, got := range []bool{true, false} {
			s := newStory(t)
			s.order(1, 2, "5", "10")
			s.order(2, 1, "-5", "10")
			reply := fmt.Sprintf(refusal, c.amount, c.limit)
			if got {
				reply = opened(3, c.amount, c.limit)
			}
			s.ask(place(1, c.amount, c.limit), reply)
			s.expectIf(got == c.accepted)
		}
	}
}

func TestRefundBelowTheLimit(t *testing.T) {
	s := newStory(t)
	s.order(1, 2, "-1000", "400")
	s.order(2, 1, "1000", "1000") // pays 400,000 of its 1,000,000
	s.order(3, 1, "600", "1000")  // all that is left
	s.ask(place(1, "1", "0.01"), `<error sym="A" amount="1" limit="0.01">no</error>`)
	s.expect(porcupine.Ok)
}

func TestOnlyTheOwnerMaySeeOrCancel(t *testing.T) {
	for reply, want := range map[string]porcupine.CheckResult{
		`<error id="1">no</error>`: porcupine.Ok, `<error id="2">no</error>`: porcupine.Illegal, status(1, `<open shares="5"/>`): porcupine.Illegal} {
		s := newStory(t)
		s.order(1, 1, "5", "10")
		s.ask(query(2, 1), reply)
		s.expect(want)
	}
}

func TestAnIDIsGivenOnce(t *testing.T) {
	s := newStory(t)
	s.order(7, 1, "5", "10")
	s.order(7, 1, "5", "10")
	s.expect(porcupine.Illegal)
}

func TestIDsNeedNotGrow(t *testing.T) {
	s := newStory(t)
	s.order(7, 1, "5", "10")
	s.order(3, 1, "5", "10")
	s.expect(porcupine.Ok)
}

func TestARequestWithoutReplyMayHaveBeenExecutedOrNot(t *testing.T) {
	for _, got := range []string{`<open shares="5"/>`, executed("5", "10", "9"), `<open shares="4"/>` + executed("1", "10", "9")} {
		s := newStory(t)
		s.order(1, 1, "5", "10")
		lost := s.ask(place(2, "-5", "10"), "")
		lost.reply, lost.end = nil, 1<<63-1
		s.now = lost.call + 100
		s.ask(query(1, 1), status(1, got))
		s.expectIf(!strings.Contains(got, `"4"`))
	}
}

func TestABuyCreatesItsSymbol(t *testing.T) {
	for amount, want := range map[string]porcupine.CheckResult{"1": porcupine.Ok, "-1": porcupine.Illegal} {
		s := newStory(t)
		s.ask(`<transactions id="1"><order sym="NEW" amount="`+amount+`" limit="1"/></transactions>`, `<opened sym="NEW" amount="`+amount+`" limit="1" id="1"/>`)
		s.expect(want)
	}
}

func TestALimitIsRoundedForItsOwner(t *testing.T) {
	s := newStory(t)
	s.order(1, 2, "-5", "10.000000001")
	s.order(2, 1, "5", "10.000000019")
	s.ask(query(1, 2), status(2, executed("5", "10.00000001", "9")))
	s.expect(porcupine.Ok)
}

func TestCreation(t *testing.T) {
	for reply, want := range map[string]porcupine.CheckResult{
		`<error id="1">there</error><created id="9"/><created sym="B"/><error sym="C" id="8">no</error><created sym="A" id="9"/><error/>`: porcupine.Ok,
		`<created id="1"/><created id="9"/><created sym="B"/><error sym="C" id="8">no</error><created sym="A" id="9"/><error/>`:           porcupine.Illegal,
		`<error id="1">there</error><created id="9"/><created sym="B"/><created sym="C" id="8"/><created sym="A" id="9"/><error/>`:        porcupine.Illegal,
		`<error id="1">there</error><created id="9"/>`: porcupine.Illegal,
	} {
		s := newStory(t)
		s.ask(`<create><account id="1" balance="5"/><account id="9" balance="0.0000000000000001"/><symbol sym="B"/>`+
			`<symbol sym="C"><account id="8">1</account></symbol><symbol sym="A"><account id="9"> 2.5 </account></symbol><x/></create>`, reply)
		if want == porcupine.Ok {
			s.ask(place(9, "-2.5", "3"), opened(1, "-2.5", "3"))
			s.ask(`<transactions id="9"><order sym="C" amount="1" limit="1"/></transactions>`, `<error sym="C" amount="1" limit="1">no</error>`)
		}
		s.expect(want)
	}
}

func TestReadingAHistory(t *testing.T) {
	text := `{"history":1,"clock":"monotonic, ns","command":[]}
{"client":-1,"connection":1,"call":10,"return":20,"request":"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<create><account id=\"1\" balance=\"1\"/></create>","reply":"<results><created id=\"1\"/></results>\n"}
{"client":3,"connection":2,"call":30,"return":null,"request":"<transactions id=\"1\"><query id=\"1\"/></transactions>","reply":null}
`
	operations, err := readHistory(strings.NewReader(text), "h", map[[2]int]int{}, nil)
	if err != nil || len(operations) != 2 || operations[1].reply != nil || operations[1].line != "h:3" || operations[0].lane == operations[1].lane {
		t.Error(err, operations)
	}
	for _, bad := range []string{"", "{\"client\":1}\n", "{\"history\":2}\n", "{\"history\":1}\nx\n"} {
		if _, err := readHistory(strings.NewReader(bad), "h", map[[2]int]int{}, nil); err == nil {
			t.Error("read as a history:", bad)
		}
	}
}

func TestNumbers(t *testing.T) {
	for text, want := range map[string]string{"1": "1", "0.50": "0.5", ".00000001": "0.00000001", "100": "100", "5.": "5", "92233720367.99999999": "92233720367.99999999"} {
		if got := formatShares(parseShares(text)); got != want {
			t.Error(text, got, want)
		}
	}
	for _, text := range []string{"", ".", "-", "1.2.3", " 1", "1 ", "1e5", "+1", "0.000000001", "92233720368", "inf"} {
		if parseShares(text) != nil {
			t.Error("read as a number:", text)
		}
	}
}

func TestAClientsNextRequestFollowsItsReplyEvenInTheSameNanosecond(t *testing.T) {
	for lane, want := range map[int]porcupine.CheckResult{1: porcupine.Illegal, 2: porcupine.Ok} {
		s := newStory(t)
		s.order(1, 1, "5", "10")
		now := s.now
		s.at(1, now+10, now+20, place(2, "-5", "10"), opened(2, "-5", "10"))
		s.at(lane, now+20, now+30, query(1, 1), status(1, `<open shares="5"/>`))
		s.expect(want)
	}
}

// Where the order whose reply never came was placed is known by the number that it took; ids that are not counted only cost time.
func TestIDsAreTakenForNumbersOfArrivalFirst(t *testing.T) {
	for _, c := range []struct {
		next    int
		counted porcupine.CheckResult
	}{{2, porcupine.Ok}, {3, porcupine.Ok}, {4, porcupine.Illegal}} {
		s := newStory(t)
		s.order(1, 1, "5", "10")
		lost := s.at(1, s.now+1, math.MaxInt64, place(2, "-5", "11"), "")
		lost.reply = nil
		s.now = lost.call
		s.order(c.next, 1, "5", "10")
		if got, _ := porcupine.CheckEventsVerbose(newModel(true, false), events(s.operations), time.Minute); got != c.counted {
			t.Errorf("next id %d: %v, not %v", c.next, got, c.counted)
		}
		s.expect(porcupine.Ok)
		s.ask(place(2, "-6", "9"), opened(c.next+1, "-6", "9")) // all of it at 10, whether the unanswered order was placed or not
		s.ask(query(2, c.next+1), status(c.next+1, executed("5", "10", "9")+executed("1", "10", "9")))
		s.expect(porcupine.Ok)
	}
}

// A search that took two states for one would miss orders of requests.
func TestStatesThatARequestCanTellApartAreNotTheSame(t *testing.T) {
	n := func(units int64) *big.Int { return big.NewInt(units) }
	base := func() *state {
		s := newState()
		s.accounts["1"], s.positions[[2]string{"1", "A"}] = n(5), n(6)
		s.times = []string{"", ""}
		for _, id := range []string{"1", "2"} {
			s.orders = append(s.orders, &order{account: "1", symbol: "A", buy: true, limit: n(3), open: n(4), id: id, executions: []execution{{n(1), n(2), 0, 1}}})
		}
		return s
	}
	if base().canonical() != base().canonical() || !same(base(), base()) {
		t.Error("the same states differ")
	}
	for name, change := range map[string]func(*state){
		"cash":       func(s *state) { s.accounts["1"] = n(7) },
		"account":    func(s *state) { s.accounts["2"] = n(5) },
		"position":   func(s *state) { s.positions[[2]string{"1", "A"}] = n(7) },
		"open":       func(s *state) { s.orders[0].open = n(3) },
		"canceled":   func(s *state) { s.orders[0].open, s.orders[0].canceled = n(0), n(4) },
		"execution":  func(s *state) { s.orders[0].executions = nil },
		"shares":     func(s *state) { s.orders[0].executions[0].shares = n(2) },
		"price":      func(s *state) { s.orders[0].executions[0].price = n(3) },
		"time":       func(s *state) { s.times[0] = "9" },
		"who traded": func(s *state) { s.orders[0].executions[0].other = 0 },
		"arrival":    func(s *state) { s.orders[0], s.orders[1] = s.orders[1], s.orders[0] },
		"id":         func(s *state) { s.orders[1].id = "3" },
	} {
		s := base()
		change(s)
		if s.canonical() == base().canonical() || same(s, base()) {
			t.Error(name, "is not seen")
		}
	}
}

func TestFiguresThatRunTogetherAreToldApart(t *testing.T) {
	n := func(units int64) *big.Int { return big.NewInt(units) }
	one := func(change func(*state, *order)) string {
		s := newState()
		s.times = []string{"7"}
		placed := &order{account: "1", symbol: "A", buy: true, limit: n(3), open: n(3), id: "1", executions: []execution{{n(1), n(2), 0, 0}}}
		s.orders = []*order{placed}
		change(s, placed)
		return s.canonical()
	}
	for name, pair := range map[string][2]func(*state, *order){
		"id and open": {func(_ *state, o *order) { o.id, o.open, o.executions = "1", n(23), nil },
			func(_ *state, o *order) { o.id, o.open, o.executions = "12", n(3), nil }},
		"price and time": {func(s *state, o *order) { o.executions[0].price, s.times[0] = n(1), "23" },
			func(s *state, o *order) { o.executions[0].price, s.times[0] = n(12), "3" }},
		"account of an unanswered order": {func(_ *state, o *order) { o.id = "" }, func(_ *state, o *order) { o.id, o.account = "", "2" }},
		"symbol of an unanswered order":  {func(_ *state, o *order) { o.id = "" }, func(_ *state, o *order) { o.id, o.symbol = "", "B" }},
		"side of an unanswered order":    {func(_ *state, o *order) { o.id = "" }, func(_ *state, o *order) { o.id, o.buy = "", false }},
		"limit of an unanswered order":   {func(_ *state, o *order) { o.id = "" }, func(_ *state, o *order) { o.id, o.limit = "", n(4) }},
	} {
		if one(pair[0]) == one(pair[1]) {
			t.Error(name, "is not seen")
		}
	}
}
