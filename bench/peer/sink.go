package main

import (
	"context"
	"encoding/json"
	"os"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	vpav1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
	vpaclient "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/client/clientset/versioned/typed/autoscaling.k8s.io/v1"
)

// sink takes the writes that would go to an API server, and keeps the last one of each object.
type sink struct {
	lock     sync.Mutex
	statuses map[string]json.RawMessage
	stored   map[string]json.RawMessage
}

func newSink() *sink {
	s := &sink{}
	s.clear()
	return s
}

func (s *sink) clear() {
	s.statuses, s.stored = map[string]json.RawMessage{}, map[string]json.RawMessage{}
}

func (s *sink) count() int { return len(s.statuses) }

func (s *sink) writtenVPAs() int { return len(s.stored) }

// write puts what was kept into a file, by namespace and name.
func (s *sink) write(file string, kept map[string]json.RawMessage) error {
	raw, err := json.Marshal(kept)
	if err != nil {
		return err
	}
	return os.WriteFile(file, raw, 0o600)
}

func (s *sink) keep(kept map[string]json.RawMessage, namespace, name string, patch []byte) {
	s.lock.Lock()
	defer s.lock.Unlock()
	kept[namespace+"/"+name] = patch
}

func (s *sink) VerticalPodAutoscalers(namespace string) vpaclient.VerticalPodAutoscalerInterface {
	return vpaSink{sink: s, namespace: namespace}
}

func (s *sink) VerticalPodAutoscalerCheckpoints(namespace string) vpaclient.VerticalPodAutoscalerCheckpointInterface {
	return checkpointSink{sink: s, namespace: namespace}
}

type vpaSink struct {
	vpaclient.VerticalPodAutoscalerInterface
	sink      *sink
	namespace string
}

func (v vpaSink) Patch(
	_ context.Context, name string, _ types.PatchType, data []byte, _ metav1.PatchOptions, _ ...string,
) (*vpav1.VerticalPodAutoscaler, error) {
	v.sink.keep(v.sink.statuses, v.namespace, name, data)
	return nil, nil
}

type checkpointSink struct {
	vpaclient.VerticalPodAutoscalerCheckpointInterface
	sink      *sink
	namespace string
}

func (c checkpointSink) Patch(
	_ context.Context, name string, _ types.PatchType, data []byte, _ metav1.PatchOptions, _ ...string,
) (*vpav1.VerticalPodAutoscalerCheckpoint, error) {
	c.sink.keep(c.sink.stored, c.namespace, name, data)
	return nil, nil
}
