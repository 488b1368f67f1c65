package main

import (
	"context"
	"errors"
	"os"
	"sync"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// linesConfig says where the lines go.
type linesConfig struct {
	Path string `mapstructure:"path"`
}

// Validate refuses a configuration that names no file.
func (config *linesConfig) Validate() error {
	if config.Path == "" {
		return errors.New("path is empty; name a file")
	}
	return nil
}

// lines writes each batch of spans as one line of JSON, whole before the sender has its answer.
type lines struct {
	component.StartFunc
	component.ShutdownFunc
	path      string
	mutex     sync.Mutex
	marshaler ptrace.JSONMarshaler
}

func newLinesFactory() exporter.Factory {
	return exporter.NewFactory(
		component.MustNewType("lines"),
		func() component.Config { return &linesConfig{} },
		exporter.WithTraces(newLines, component.StabilityLevelStable),
	)
}

func newLines(_ context.Context, _ exporter.Settings, config component.Config) (exporter.Traces, error) {
	return &lines{path: config.(*linesConfig).Path}, nil
}

func (*lines) Capabilities() consumer.Capabilities {
	return consumer.Capabilities{}
}

func (made *lines) ConsumeTraces(_ context.Context, spans ptrace.Traces) error {
	line, err := made.marshaler.MarshalTraces(spans)
	if err != nil {
		return err
	}
	made.mutex.Lock()
	defer made.mutex.Unlock()
	file, err := os.OpenFile(made.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = file.Write(append(line, '\n'))
	return errors.Join(err, file.Close())
}
