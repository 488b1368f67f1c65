// Command peer runs upstream's exported packages for the benchmarks: one command a line on standard input, one answer
// a line on standard output, both JSON. Between two commands it rests, so that two sides can take turns.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"k8s.io/klog/v2"
)

// command is one line of input; which fields count depends on Do.
type command struct {
	Do      string  `json:"do"`
	File    string  `json:"file"`
	Out     string  `json:"out"`
	Seconds float64 `json:"seconds"`

	URL         string `json:"url"`
	CA          string `json:"ca"`
	Name        string `json:"name"`
	Connections int    `json:"connections"`
}

// answer is one line of output.
type answer struct {
	Wall  float64            `json:"wall"`
	CPU   float64            `json:"cpu"`
	Count int                `json:"count"`
	Steps map[string]float64 `json:"steps,omitempty"`
	Error string             `json:"error,omitempty"`
}

// watch measures what runs between its start and its stop, leaving out what is paused.
type watch struct {
	wall, cpu time.Duration
	began     time.Time
	beganCPU  time.Duration
}

func cpuTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func (w *watch) start() { w.began, w.beganCPU = time.Now(), cpuTime() }

func (w *watch) stop() {
	w.cpu += cpuTime() - w.beganCPU
	w.wall += time.Since(w.began)
}

func (w *watch) answer(count int) answer {
	return answer{Wall: w.wall.Seconds(), CPU: w.cpu.Seconds(), Count: count}
}

func timed(work func() (int, error)) (answer, error) {
	var w watch
	w.start()
	count, err := work()
	w.stop()
	return w.answer(count), err
}

// carryOut does what one line asks for.
func carryOut(c command, side *recommenderSide) (answer, error) {
	switch c.Do {
	case "recommender":
		return answer{}, side.setUp(c.File)
	case "history":
		return side.history(c)
	case "fold":
		return side.fold(c.File)
	case "usage":
		return side.usage(c.File)
	case "recommend":
		return side.recommend()
	case "round":
		return side.round(c.File)
	case "checkpoints":
		return side.checkpoints(time.Duration(c.Seconds * float64(time.Second)))
	case "exchange":
		return answer{}, side.exchange(c.File)
	case "statuses":
		return answer{}, side.sink.write(c.Out, side.sink.statuses)
	case "stored":
		return answer{}, side.sink.write(c.Out, side.sink.stored)
	case "plan":
		return plan(c.File, c.Out)
	case "load":
		return load(c)
	default:
		return answer{}, fmt.Errorf("no command %q", c.Do)
	}
}

func main() {
	flags := flag.NewFlagSet("klog", flag.ExitOnError)
	klog.InitFlags(flags)
	if err := flags.Parse([]string{"-logtostderr=false", "-alsologtostderr=false", "-stderrthreshold=FATAL"}); err != nil {
		panic(err)
	}
	klog.SetOutput(io.Discard)
	input := bufio.NewScanner(os.Stdin)
	output := json.NewEncoder(os.Stdout)
	side := &recommenderSide{}
	for input.Scan() {
		var c command
		var a answer
		err := json.Unmarshal(input.Bytes(), &c)
		if err == nil {
			a, err = carryOut(c, side)
		}
		if err != nil {
			a.Error = err.Error()
		}
		if err := output.Encode(a); err != nil {
			return
		}
	}
}
