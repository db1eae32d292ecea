package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"sort"

	"github.com/anishathalye/porcupine"
)

// A request as a history tells it (docs/load-generator.md, "Histories").
type operation struct {
	line      string // "FILE:LINE"
	lane      int    // what the page draws in one line: a client of a run
	call, end int64  // end math.MaxInt64: no reply came
	text      string
	answer    string
	request   element
	reply     *element // nil: no reply came
}

type record struct {
	History *int    `json:"history"`
	Client  int     `json:"client"`
	Call    int64   `json:"call"`
	Return  *int64  `json:"return"`
	Request string  `json:"request"`
	Reply   *string `json:"reply"`
}

// readHistory appends the operations of a stream; `lanes` numbers the clients of all runs.
func readHistory(in io.Reader, name string, lanes map[[2]int]int, operations []operation) ([]operation, error) {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<28)
	run := 0
	for lane := range lanes {
		if lane[0] > run {
			run = lane[0]
		}
	}
	begun := false
	for number := 1; lines.Scan(); number++ {
		line := fmt.Sprintf("%s:%d", name, number)
		var r record
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return nil, fmt.Errorf("%s: %v", line, err)
		}
		if r.History != nil {
			if *r.History != 1 {
				return nil, fmt.Errorf("%s: a history of another version", line)
			}
			run++
			begun = true
			continue
		}
		if !begun {
			return nil, fmt.Errorf("%s: a history begins with a line that says so", line)
		}
		client := [2]int{run, r.Client}
		if _, known := lanes[client]; !known {
			lanes[client] = len(lanes)
		}
		o := operation{line: line, lane: lanes[client], call: r.Call, end: math.MaxInt64, text: r.Request, answer: "no reply"}
		var err error
		if o.request, err = parseXML(r.Request); err != nil {
			return nil, fmt.Errorf("%s: the request: %v", line, err)
		}
		if what := notModelled(o.request); what != "" {
			return nil, fmt.Errorf("%s: this model does not have %s", line, what)
		}
		if r.Return != nil && r.Reply != nil {
			reply, err := parseXML(*r.Reply)
			if err != nil {
				return nil, fmt.Errorf("%s: the reply: %v", line, err)
			}
			o.end, o.reply, o.answer = *r.Return, &reply, *r.Reply
		}
		operations = append(operations, o)
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if !begun {
		return nil, errors.New(name + ": holds no history")
	}
	return operations, nil
}

// events puts calls and returns in the order of time. Where two fall on one nanosecond they overlap, but for a client's
// return and its own next call.
func events(operations []operation) []porcupine.Event {
	type moment struct {
		time  int64
		rank  int
		event porcupine.Event
	}
	returns, calls := map[[2]int64]bool{}, map[[2]int64]bool{}
	for _, o := range operations {
		calls[[2]int64{int64(o.lane), o.call}] = true
		returns[[2]int64{int64(o.lane), o.end}] = true
	}
	var moments []moment
	for i := range operations {
		o := &operations[i]
		call := moment{o.call, 0, porcupine.Event{ClientId: o.lane, Kind: porcupine.CallEvent, Value: o, Id: i}}
		if returns[[2]int64{int64(o.lane), o.call}] {
			call.rank = 2
		}
		end := moment{o.end, 3, porcupine.Event{ClientId: o.lane, Kind: porcupine.ReturnEvent, Value: o, Id: i}}
		if calls[[2]int64{int64(o.lane), o.end}] && o.call < o.end {
			end.rank = 1
		}
		moments = append(moments, call, end)
	}
	sort.SliceStable(moments, func(i, j int) bool {
		if moments[i].time != moments[j].time {
			return moments[i].time < moments[j].time
		}
		return moments[i].rank < moments[j].rank
	})
	var sorted []porcupine.Event
	for _, m := range moments {
		sorted = append(sorted, m.event)
	}
	return sorted
}
