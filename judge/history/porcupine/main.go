// Judges a small history of the exchange for linearizability with Porcupine: is there any order of the requests that real time
// allows, in which each reply is what docs/protocol.md says? Knows no journal and no server code. The history must begin with an empty
// exchange, and be small: some hundreds of requests of a few clients.
//
// Exit code: 0 ok, 1 illegal (and a page that shows it), 2 usage, unreadable, or undecided in time. Where there was only time to find out
// that no order fits whose ids are the numbers of arrival, as this exchange gives them, that is 1 too, and said.
package main

import (
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/anishathalye/porcupine"
)

// newModel: the protocol says of transaction ids no more than that they are unique. This exchange counts orders as they arrive, from 1; a search
// that expects that (`counted`) has far fewer orders to try, above all for requests whose reply never came.
//
// `days`: the operator changed something, so that also the last price and the rules of symbols tell states apart.
func newModel(counted, days bool) porcupine.Model {
	return porcupine.Model{
		Init: func() interface{} {
			s := newState()
			s.counted, s.days = counted, days
			return s
		},
		Step: func(s, in, out interface{}) (bool, interface{}) {
			o := out.(*operation)
			return s.(*state).step(o.request, o.reply)
		},
		Equal: func(a, b interface{}) bool { return same(a.(*state), b.(*state)) },
		DescribeOperation: func(in, out interface{}) string {
			o := out.(*operation)
			return o.line + " " + o.text + " -> " + o.answer
		},
		DescribeState: func(s interface{}) string { return s.(*state).canonical() },
	}
}

type verdict struct {
	result porcupine.CheckResult
	info   porcupine.LinearizationInfo
	byIDs  bool     // illegal only if ids are the numbers of arrival: whether without that, there was no time to find out
	stuck  []string // illegal: lines that could not follow the longest order found
}

// judge tries with counted ids first: an order found so is an order. Where there is none it tries without.
func judge(operations []operation, timeout time.Duration) verdict {
	var v verdict
	days := hasDays(operations)
	v.result, v.info = porcupine.CheckEventsVerbose(newModel(true, days), events(operations), timeout)
	if v.result == porcupine.Ok {
		return v
	}
	result, info := porcupine.CheckEventsVerbose(newModel(false, days), events(operations), timeout)
	if result == porcupine.Unknown && v.result == porcupine.Illegal {
		v.byIDs = true
	} else {
		v.result, v.info = result, info
	}
	if v.result == porcupine.Illegal {
		v.stuck = stuck(operations, v.info)
	}
	return v
}

func hasDays(operations []operation) bool {
	for _, o := range operations {
		for _, child := range o.request.Children {
			switch child.name() {
			case "instrument", "set-account", "adjust-cash", "adjust-shares":
				return true
			}
		}
	}
	return false
}

// stuck gives the lines of those requests that had to come next, after the longest order found, and could not.
func stuck(operations []operation, info porcupine.LinearizationInfo) []string {
	var longest []int
	for _, order := range info.PartialLinearizations()[0] {
		if len(order) > len(longest) {
			longest = order
		}
	}
	placed := map[int]bool{}
	for _, id := range longest {
		placed[id] = true
	}
	var firstEnd int64 = 1<<63 - 1
	for i, o := range operations {
		if !placed[i] && o.end < firstEnd {
			firstEnd = o.end
		}
	}
	var lines []string
	for i, o := range operations {
		if !placed[i] && o.call <= firstEnd {
			lines = append(lines, o.line+" "+o.answer)
		}
	}
	return lines
}

func main() {
	html := flag.String("html", "", "file for a page that shows the history, where it is illegal")
	timeout := flag.Duration("timeout", 30*time.Second, "how long each of the two searches may take")
	flag.Parse()
	fail := func(err interface{}) {
		fmt.Fprintln(os.Stderr, "porcupine:", err)
		os.Exit(2)
	}
	if flag.NArg() == 0 {
		fail("usage: porcupine [-html FILE] [-timeout TIME] HISTORY…")
	}
	var operations []operation
	lanes := map[[2]int]int{}
	for _, name := range flag.Args() {
		file, err := os.Open(name)
		if err == nil {
			operations, err = readHistory(file, name, lanes, operations)
			file.Close()
		}
		if err != nil {
			fail(err)
		}
	}
	v := judge(operations, *timeout)
	switch v.result {
	case porcupine.Ok:
		fmt.Printf("ok: %d requests are linearizable\n", len(operations))
	case porcupine.Illegal:
		fmt.Printf("illegal: %d requests are not linearizable; after the longest order found, none of these could come next:\n", len(operations))
		for _, line := range v.stuck {
			fmt.Println(" ", line)
		}
		if v.byIDs {
			fmt.Println("(if transaction ids are the numbers of arrival; without that the search took too long)")
		}
		if *html != "" {
			if err := porcupine.VisualizePath(newModel(false, hasDays(operations)), v.info, *html); err != nil {
				fail(err)
			}
			fmt.Println("see", *html)
		}
		os.Exit(1)
	default:
		fail("undecided in " + timeout.String())
	}
}
