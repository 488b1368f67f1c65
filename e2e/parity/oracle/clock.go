package main

import (
	"bufio"
	"io"
	"runtime/debug"
	"testing"
	"testing/synctest"
)

// freshTime answers each question in a time of its own, which begins at the start of the year 2000 and moves only when
// everything waits. Whatever a question starts has to end with it.
type freshTime struct{ t *testing.T }

func (f freshTime) ask(inner asker) asker {
	return func(question []byte) (answer any, err error) {
		synctest.Test(f.t, func(*testing.T) { answer, err = guarded(inner, question) })
		return answer, err
	}
}

// lastingTime answers all questions one after the other in one such time, for code that leaves something running.
type lastingTime struct {
	t         *testing.T
	questions chan func()
	isRunning bool
}

func newLastingTime(t *testing.T) *lastingTime {
	return &lastingTime{t: t, questions: make(chan func())}
}

func (l *lastingTime) ask(inner asker) asker {
	return func(question []byte) (answer any, err error) {
		if !l.isRunning {
			l.isRunning = true
			go synctest.Test(l.t, func(*testing.T) {
				for job := range l.questions {
					job()
				}
			})
		}
		done := make(chan struct{})
		l.questions <- func() {
			answer, err = guarded(inner, question)
			close(done)
		}
		<-done
		return answer, err
	}
}

func guarded(inner asker, question []byte) (answer any, err error) {
	defer func() {
		if caught := recover(); caught != nil {
			err = crashOf(caught, debug.Stack())
		}
	}()
	return inner(question)
}

// lines reads ahead without bound, so that whoever asks never has to wait for answers to be read.
func lines(from io.Reader) <-chan []byte {
	read, out := make(chan []byte), make(chan []byte)
	go func() {
		defer close(read)
		reader := bufio.NewReaderSize(from, 1<<20)
		for {
			line, err := reader.ReadBytes('\n')
			if len(line) > 1 {
				read <- line
			}
			if err != nil {
				return
			}
		}
	}()
	go func() {
		defer close(out)
		var waiting [][]byte
		for read != nil || len(waiting) > 0 {
			if len(waiting) == 0 {
				line, more := <-read
				if !more {
					return
				}
				waiting = append(waiting, line)
				continue
			}
			select {
			case line, more := <-read:
				if !more {
					read = nil
					continue
				}
				waiting = append(waiting, line)
			case out <- waiting[0]:
				waiting = waiting[1:]
			}
		}
	}()
	return out
}
