package main

import (
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/anishathalye/porcupine"
)

func instrument(attributes string) string {
	return `<create><instrument sym="A" ` + attributes + `/></create>`
}

func (s *story) operate(request, reply string) {
	s.t.Helper()
	s.ask(`<create>`+request+`</create>`, reply)
}

func (s *story) refused(account int, amount, limit string) {
	s.t.Helper()
	s.ask(place(account, amount, limit), fmt.Sprintf(`<error sym="A" amount="%s" limit="%s">no</error>`, amount, limit))
}

func uncrossed(price, volume string) string {
	return fmt.Sprintf(`<created sym="A" price="%s" volume="%s"/>`, price, volume)
}

// The auction of docs/trading-days.md without its market orders, and what is left of it.
func TestAnAuctionExecutesAtOnePrice(t *testing.T) {
	for reply, want := range map[string]porcupine.CheckResult{
		uncrossed("10.1", "300"): porcupine.Ok, uncrossed("10.2", "300"): porcupine.Illegal, uncrossed("10.1", "250"): porcupine.Illegal, `<created sym="A"/>`: porcupine.Illegal} {
		s := newStory(t)
		s.ask(instrument(`trading="auction"`), `<created sym="A"/>`)
		s.order(1, 1, "200", "10.2")
		s.order(2, 2, "-150", "9.9")
		s.order(3, 1, "100", "10.1")
		s.order(4, 2, "-150", "10.1")
		s.ask(query(1, 1), status(1, `<open shares="200"/>`))
		s.ask(instrument(`trading="open"`), reply)
		s.ask(query(1, 1), status(1, executed("150", "10.1", "9")+executed("50", "10.1", "9")))
		s.ask(query(1, 3), status(3, executed("100", "10.1", "9")))
		s.expect(want)
	}
}

func TestThePriceOfAnAuction(t *testing.T) {
	for _, c := range []struct {
		last   string // executed before; empty: nothing
		orders []string
		price  string
	}{
		{"", []string{"5 10", "-5 8"}, "8"},                 // no surplus at either: the lowest
		{"9", []string{"5 10", "-5 8"}, "9"},                // the last price
		{"12", []string{"5 10", "-5 8"}, "10"},              // the nearest to it
		{"9", []string{"7 10", "-5 8"}, "10"},               // buyers compete
		{"9", []string{"5 10", "-7 8"}, "8"},                // sellers do
		{"", []string{"5 10", "5 8", "-5 8"}, "10"},         // the smallest surplus
		{"9", []string{"5 10", "4 9", "-5 8", "-4 9"}, "9"}, // the most
	} {
		for _, price := range []string{"8", "9", "10", "12"} {
			s := newStory(t)
			id := 1
			if c.last != "" {
				s.order(1, 1, "1", c.last)
				s.order(2, 2, "-1", c.last)
				id = 3
			}
			s.ask(instrument(`trading="auction"`), `<created sym="A"/>`)
			for i, one := range c.orders {
				amount, limit, _ := strings.Cut(one, " ")
				s.order(id+i, 1+i%2, amount, limit)
			}
			volume := "5"
			if len(c.orders) == 4 {
				volume = "9"
			}
			s.ask(instrument(`trading="open"`), uncrossed(price, volume))
			s.expectIf(price == c.price)
		}
	}
}

func TestRulesOfASymbol(t *testing.T) {
	for _, c := range []struct {
		rules, amount, limit string
		accepted             bool
	}{
		{`tick="0.5"`, "1", "10.5", true}, {`tick="0.5"`, "1", "10.25", false}, {`lot="2"`, "4", "1", true}, {`lot="2"`, "3", "1", false},
		{`order-max="5"`, "-5", "1", true}, {`order-max="5"`, "-6", "1", false}, {`price-min="5"`, "1", "5", true}, {`price-min="5"`, "1", "4", false},
		{`price-max="5"`, "1", "5", true}, {`price-max="5"`, "1", "6", false}, {`trading="halted"`, "1", "5", false}, {`trading="auction"`, "1", "5", true},
		{`band="1"`, "1", "11", true}, {`band="1"`, "1", "11.5", false}, {`band="1"`, "-1", "8.5", false}, {`band="1"`, "-1", "9", true},
		{`band="1" at-band="auction"`, "1", "11.5", true},
	} {
		for _, got := range []bool{true, false} {
			s := newStory(t)
			s.order(1, 1, "1", "10")
			s.order(2, 2, "-1", "10")
			s.ask(instrument(c.rules), `<created sym="A"/>`)
			if got {
				s.order(3, 1, c.amount, c.limit)
			} else {
				s.refused(1, c.amount, c.limit)
			}
			s.expectIf(got == c.accepted)
		}
	}
}

func TestALimitBeyondTheBandBeginsAnAuction(t *testing.T) {
	for _, open := range []bool{true, false} {
		s := newStory(t)
		s.order(1, 1, "1", "10")
		s.order(2, 2, "-1", "10")
		s.order(3, 2, "-1", "11")
		s.ask(instrument(`band="1" at-band="auction"`), `<created sym="A"/>`)
		s.order(4, 1, "1", "12")
		if open {
			s.ask(query(1, 4), status(4, `<open shares="1"/>`))
		} else {
			s.ask(query(1, 4), status(4, executed("1", "11", "9")))
		}
		s.expectIf(open)
	}
}

func TestChangesOfASymbolThatAreRefused(t *testing.T) {
	for request, accepted := range map[string]bool{
		instrument(`price-min="3" price-max="2"`): false, instrument(`trading="closed"`): false, instrument(`tick="-1"`): false,
		instrument(`price-max="2"`): false, instrument(`trading="halted"`): true,
		`<create><instrument tick="1"/></create>`: true, `<create><instrument sym="B" tick="1"/></create>`: false,
	} {
		for _, got := range []bool{true, false} {
			s := newStory(t)
			s.ask(instrument(`trading="auction"`), `<created sym="A"/>`)
			name := map[bool]string{true: "created", false: "error"}[got]
			symbol := ""
			if at := strings.Index(request, "sym="); at >= 0 {
				symbol = " " + request[at:at+7]
			}
			s.ask(request, "<"+name+symbol+"/>")
			s.expectIf(got == accepted)
		}
	}
}

func TestWhatTheOperatorDoesWithAnAccount(t *testing.T) {
	for _, c := range []struct {
		change, amount, limit string
		accepted              bool
	}{
		{`<set-account id="1" access="frozen"/>`, "1", "1", false}, {`<set-account id="1" orders-max="1"/>`, "1", "1", false},
		{`<set-account id="1" orders-max="1"/>`, "-1", "5", true}, {`<set-account id="1" orders-max="2"/>`, "1", "1", true},
		{`<set-account id="1" position-max="1006"/>`, "1", "1", true}, {`<set-account id="1" position-max="1006"/>`, "2", "1", false},
		{`<set-account id="1" access="frozen" cancel-orders="true"/><set-account id="1" access="active"/>`, "1000", "1000", true},
		{`<adjust-cash id="1" amount="-999000"/>`, "975", "1", true}, {`<adjust-cash id="1" amount="-999000"/>`, "976", "1", false},
		{`<adjust-shares sym="A" id="1" amount="-10"/>`, "-990", "90", true}, {`<adjust-shares sym="A" id="1" amount="-10"/>`, "-991", "90", false},
	} {
		for _, got := range []bool{true, false} {
			s := newStory(t)
			s.order(1, 1, "5", "5")
			reply := `<created id="1"/>`
			if strings.Contains(c.change, "shares") {
				reply = `<created sym="A" id="1"/>`
			}
			s.operate(c.change, strings.Repeat(reply, strings.Count(c.change, "<")))
			if got {
				s.order(2, 1, c.amount, c.limit)
			} else {
				s.refused(1, c.amount, c.limit)
			}
			s.expectIf(got == c.accepted)
		}
	}
}

func TestChangesOfAccountsThatAreRefused(t *testing.T) {
	for _, request := range []string{
		`<set-account id="9" access="frozen"/>`, `<set-account id="1" access="cold"/>`, `<set-account id="1" orders-max="-1"/>`,
		`<adjust-cash id="1" amount="-1000001"/>`, `<adjust-cash id="9" amount="1"/>`, `<adjust-cash id="1" amount="x"/>`,
		`<adjust-cash id="1" amount="1" reason="a b"/>`, `<adjust-shares sym="B" id="1" amount="1"/>`, `<adjust-shares sym="A" id="1" amount="-1001"/>`,
	} {
		for _, name := range []string{"created", "error"} {
			s := newStory(t)
			reply := "<" + name + request[strings.Index(request, " "):]
			s.operate(request, reply)
			s.expectIf(name == "error")
		}
	}
}

func TestHistoriesOfOtherRequestsAreRefused(t *testing.T) {
	for request, what := range map[string]string{
		`<transactions id=\"1\"><replace id=\"1\" amount=\"1\" limit=\"1\"/></transactions>`:            "the element replace",
		`<transactions id=\"1\"><order sym=\"A\" amount=\"1\" limit=\"1\" tif=\"ioc\"/></transactions>`: "tif",
		`<transactions id=\"1\"><cancel all=\"true\"/></transactions>`:                                  "cancel without id",
		`<create><set-account id=\"1\" orders-per-second-max=\"5\"/></create>`:                          "clock",
		`<create><set-account id=\"1\" name=\"Ada\"/></create>`:                                         "names",
		`<create><begin-round name=\"one\"/></create>`:                                                  "the element begin-round",
	} {
		text := `{"history":1}` + "\n" + `{"client":1,"connection":1,"call":1,"return":null,"request":"` + request + `","reply":null}` + "\n"
		if _, err := readHistory(strings.NewReader(text), "h", map[[2]int]int{}, nil); err == nil || !strings.Contains(err.Error(), what) {
			t.Error(request, err)
		}
	}
}

func TestStatesOfOtherDaysAreNotTheSame(t *testing.T) {
	one := func(change func(*state)) *state {
		s := newState()
		s.days = true
		s.exists("A")
		s.accounts["1"] = big.NewInt(5)
		change(s)
		return s
	}
	base := one(func(*state) {})
	for name, change := range map[string]func(*state){
		"symbol": func(s *state) { s.exists("B") }, "last price": func(s *state) { s.noteLast("A", big.NewInt(7)) },
		"trading": func(s *state) {
			s.markets["A"] = &market{tick: zero, priceMin: zero, priceMax: zero, band: zero, lot: zero, orderMax: zero, trading: "halted"}
		},
		"limits": func(s *state) { s.limits["1"] = &limits{frozen: true, positionMax: zero} },
	} {
		if same(base, one(change)) {
			t.Error(name, "is not seen")
		}
	}
}
