package main

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	vpa_types "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/recommender/input/metrics"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/recommender/model"
)

// externalQuestion is one fetch of usage from the external metrics API.
type externalQuestion struct {
	Namespace      string                         `json:"namespace"`
	Metrics        map[corev1.ResourceName]string `json:"metrics"`
	ContainerLabel string                         `json:"containerLabel"`
	Pods           []struct {
		Namespace string            `json:"namespace"`
		Name      string            `json:"name"`
		Labels    map[string]string `json:"labels"`
		Phase     corev1.PodPhase   `json:"phase"`
	} `json:"pods"`
	VPAs []struct {
		Namespace string `json:"namespace"`
		Name      string `json:"name"`
		Selector  string `json:"selector"`
	} `json:"vpas"`
	// Values holds the values there are by metric, in order; a metric without an entry is not served.
	Values map[string][]externalValue `json:"values"`
}

type externalValue struct {
	Namespace string          `json:"namespace"`
	Value     json.RawMessage `json:"value"`
	shownLabels
}

type shownLabels struct {
	Labels map[string]string `json:"metricLabels"`
}

type externalSnapshot struct {
	Namespace string `json:"namespace"`
	Pod       string `json:"pod"`
	Container string `json:"container"`
	At        string `json:"at"`
	CPU       int64  `json:"cpu"`
	Memory    int64  `json:"memory"`
}

func askExternal(question []byte) (any, error) {
	var asked externalQuestion
	if err := json.Unmarshal(question, &asked); err != nil {
		return nil, err
	}
	state, err := asked.state()
	if err != nil {
		return nil, err
	}
	requests := []string{}
	server := &apiServer{answer: func(each call) (int, any) {
		requests = append(requests, each.Path+"?"+each.Query["labelSelector"][0])
		return asked.answer(each)
	}}
	options := metrics.ExternalClientOptions{ResourceMetrics: asked.Metrics, ContainerNameLabel: asked.ContainerLabel}
	source := metrics.NewExternalClient(server.config(), state, options)
	found, err := metrics.NewMetricsClient(source, asked.Namespace, "oracle").GetContainersMetrics(context.Background())
	if err != nil {
		return map[string]any{"failed": true}, nil
	}
	snapshots := []externalSnapshot{}
	for _, each := range found {
		snapshots = append(snapshots, externalSnapshot{
			Namespace: each.ID.Namespace,
			Pod:       each.ID.PodName,
			Container: each.ID.ContainerName,
			At:        each.SnapshotTime.UTC().Format(time.RFC3339),
			CPU:       int64(each.Usage[model.ResourceCPU]),
			Memory:    int64(each.Usage[model.ResourceMemory]),
		})
	}
	// Maps decide the order, of the snapshots as well, which are sorted by whoever reads them.
	slices.Sort(requests)
	return map[string]any{"failed": false, "requests": requests, "snapshots": snapshots}, nil
}

func (q externalQuestion) state() (model.ClusterState, error) {
	state := model.NewClusterState(time.Hour)
	for _, each := range q.Pods {
		state.AddOrUpdatePod(model.PodID{Namespace: each.Namespace, PodName: each.Name}, each.Labels, each.Phase)
	}
	for _, each := range q.VPAs {
		selector, err := labels.Parse(each.Selector)
		if err != nil {
			return nil, err
		}
		vpa := &vpa_types.VerticalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Namespace: each.Namespace, Name: each.Name}}
		if err := state.AddOrUpdateVpa(vpa, selector); err != nil {
			return nil, err
		}
	}
	return state, nil
}

// answer is the API's: the values in one namespace that a label selector lets pass.
func (q externalQuestion) answer(asked call) (int, any) {
	values, served := q.Values[asked.segment(1)]
	if !served {
		return notFound(asked.segment(1))
	}
	selector, err := labels.Parse(asked.Query["labelSelector"][0])
	if err != nil {
		return refusal(http.StatusBadRequest, metav1.StatusReasonBadRequest, err.Error())
	}
	items := []json.RawMessage{}
	for _, each := range values {
		if each.Namespace == asked.segment(2) && selector.Matches(labels.Set(each.Labels)) {
			items = append(items, each.Value)
		}
	}
	kind := metav1.TypeMeta{Kind: "ExternalMetricValueList", APIVersion: "external.metrics.k8s.io/v1beta1"}
	return http.StatusOK, struct {
		metav1.TypeMeta
		Items []json.RawMessage `json:"items"`
	}{kind, items}
}

// UnmarshalJSON keeps a value as it is to be answered, and looks only at its namespace and labels.
func (v *externalValue) UnmarshalJSON(raw []byte) error {
	var read struct {
		Namespace string          `json:"namespace"`
		Value     json.RawMessage `json:"value"`
	}
	if err := json.Unmarshal(raw, &read); err != nil {
		return err
	}
	v.Namespace, v.Value = read.Namespace, read.Value
	return json.Unmarshal(read.Value, &v.shownLabels)
}
