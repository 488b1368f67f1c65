// Command oracle says what upstream's VPA 1.8.1 does with given objects.
//
// It reads questions from standard input, one JSON object a line, and writes one line for each: its answer, or how
// upstream crashed on it. It imports upstream as any program may; nothing of it is copied or changed.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
)

// reply is one line of output; exactly one member is set.
type reply struct {
	Answer  any    `json:"answer,omitempty"`
	Crash   string `json:"crash,omitempty"`
	Refused string `json:"refused,omitempty"`
}

// asker answers the questions of one kind.
type asker func(question []byte) (any, error)

// main runs as a test, because only a test can have the time to itself.
func main() {
	klog.SetLogger(logr.Discard())
	debug.SetGCPercent(400)
	// These hold errors back by the real time, which is far from the one that questions have to themselves.
	runtime.ErrorHandlers = nil
	everything := func(string, string) (bool, error) { return true, nil }
	testing.Main(everything, []testing.InternalTest{{Name: "oracle", F: serve}}, nil, nil)
}

func serve(t *testing.T) {
	fresh := freshTime{t}
	lasting := newLastingTime(t)
	kinds := map[string]asker{
		"external":   fresh.ask(askExternal),
		"histogram":  fresh.ask(askHistogram),
		"rounds":     fresh.ask(askRounds),
		"review":     fresh.ask(askReview),
		"capping":    fresh.ask(askCapping),
		"quantities": fresh.ask(askQuantities),
		"judgement":  fresh.ask(askJudgement),
		"unboost":    fresh.ask(askUnboost),
		"update":     lasting.ask(askUpdate),
	}
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	for line := range lines(os.Stdin) {
		if err := out.Encode(replyTo(kinds, line)); err != nil {
			os.Exit(1)
		}
	}
	// Leaving here keeps the test framework from printing its verdict among the answers.
	os.Exit(0)
}

func replyTo(kinds map[string]asker, line []byte) reply {
	var head struct {
		Kind string `json:"kind"`
	}
	if err := json.Unmarshal(line, &head); err != nil {
		return reply{Refused: err.Error()}
	}
	ask, known := kinds[head.Kind]
	if !known {
		return reply{Refused: fmt.Sprintf("unknown kind %q", head.Kind)}
	}
	answer, err := ask(line)
	if crashed, ok := err.(crash); ok {
		return reply{Crash: crashed.Error()}
	}
	if err != nil {
		return reply{Refused: err.Error()}
	}
	return reply{Answer: answer}
}

// crash is a panic of upstream's code.
type crash struct{ text string }

func (c crash) Error() string { return c.text }

// crashOf says what panicked, and in which function of upstream.
func crashOf(caught any, stack []byte) crash {
	where := ""
	for _, line := range strings.Split(string(stack), "\n") {
		if _, inside, found := strings.Cut(line, "vertical-pod-autoscaler/pkg/"); found && !strings.HasPrefix(line, "\t") {
			where = strings.FieldsFunc(inside+" ", func(c rune) bool { return c == '{' || c == ' ' })[0]
			where, _, _ = strings.Cut(where, "(0x")
			where = strings.TrimRight(where, "(")
			break
		}
	}
	return crash{fmt.Sprintf("%v in %s", caught, where)}
}
