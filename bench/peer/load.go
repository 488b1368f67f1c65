package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"
)

// loader puts load on a webhook, be it upstream's or ours.
type loader struct {
	client *http.Client
	url    string
	bodies [][]byte
}

func newLoader(c command) (*loader, error) {
	raw, err := os.ReadFile(c.File)
	if err != nil {
		return nil, err
	}
	var bodies []json.RawMessage
	if err := json.Unmarshal(raw, &bodies); err != nil {
		return nil, err
	}
	authority, err := os.ReadFile(c.CA)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(authority) {
		return nil, fmt.Errorf("no certificate in %s", c.CA)
	}
	l := &loader{url: c.URL, client: &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: pool, ServerName: c.Name}, MaxConnsPerHost: c.Connections,
		MaxIdleConnsPerHost: c.Connections, DisableCompression: true,
	}}}
	for _, body := range bodies {
		l.bodies = append(l.bodies, body)
	}
	return l, nil
}

func (l *loader) post(body []byte) ([]byte, error) {
	response, err := l.client.Post(l.url, "application/json", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("status %d", response.StatusCode)
	}
	return io.ReadAll(response.Body)
}

// review sends every body once and writes the answers.
func (l *loader) review(out string) (answer, error) {
	answers := make([]json.RawMessage, len(l.bodies))
	for i, body := range l.bodies {
		got, err := l.post(body)
		if err != nil {
			return answer{}, err
		}
		answers[i] = got
	}
	raw, err := json.Marshal(answers)
	if err != nil {
		return answer{}, err
	}
	return answer{Count: len(answers)}, os.WriteFile(out, raw, 0o600)
}

// run sends bodies over some connections for some time, each connection one after the other.
func (l *loader) run(connections int, duration time.Duration) (answer, error) {
	latencies := make([][]float64, connections)
	failures := make([]error, connections)
	var wait sync.WaitGroup
	var w watch
	w.start()
	end := time.Now().Add(duration)
	for connection := range connections {
		wait.Go(func() {
			for i := connection * 37; time.Now().Before(end); i++ {
				began := time.Now()
				if _, err := l.post(l.bodies[i%len(l.bodies)]); err != nil {
					failures[connection] = err
					return
				}
				latencies[connection] = append(latencies[connection], time.Since(began).Seconds())
			}
		})
	}
	wait.Wait()
	w.stop()
	for _, err := range failures {
		if err != nil {
			return answer{}, err
		}
	}
	all := slices.Concat(latencies...)
	slices.Sort(all)
	a := w.answer(len(all))
	a.Steps = map[string]float64{"p50": quantile(all, 0.5), "p99": quantile(all, 0.99)}
	return a, nil
}

func quantile(sorted []float64, share float64) float64 {
	return sorted[int(math.Ceil(share*float64(len(sorted))))-1]
}

func load(c command) (answer, error) {
	l, err := newLoader(c)
	if err != nil {
		return answer{}, err
	}
	defer l.client.CloseIdleConnections()
	if c.Out != "" {
		return l.review(c.Out)
	}
	return l.run(c.Connections, time.Duration(c.Seconds*float64(time.Second)))
}
