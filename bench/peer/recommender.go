package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	vpav1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
	vpalisters "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/client/listers/autoscaling.k8s.io/v1"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/recommender/checkpoint"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/recommender/config"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/recommender/input"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/recommender/input/metrics"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/recommender/input/oom"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/recommender/logic"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/recommender/model"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/recommender/routines"
	controllerfetcher "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/target/controller_fetcher"
	metricsofrecommender "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/utils/metrics/recommender"
	listersv1 "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/metrics/pkg/apis/metrics/v1beta1"
	metricsscheme "k8s.io/metrics/pkg/client/clientset/versioned/scheme"
)

const roundsApart = time.Hour

// recommenderSide is upstream's recommender with its network cut off: lists come from files, writes go into a sink.
type recommenderSide struct {
	cluster     model.ClusterState
	recommender routines.Recommender
	writer      checkpoint.CheckpointWriter
	metrics     *fileMetrics
	sink        *sink
	containers  []model.ContainerID
	pods        cache.Indexer
}

// fileMetrics answers the question for usage with the bytes of a file.
type fileMetrics struct{ body []byte }

func (f *fileMetrics) List(context.Context, string, metav1.ListOptions) (*v1beta1.PodMetricsList, error) {
	list := &v1beta1.PodMetricsList{}
	return list, runtime.DecodeInto(metricsscheme.Codecs.UniversalDeserializer(), f.body, list)
}

// owners finds every controller to be its own topmost one.
type owners struct{}

func (owners) FindTopMostWellKnownOrScalable(
	_ context.Context, key *controllerfetcher.ControllerKeyWithAPIVersion,
) (*controllerfetcher.ControllerKeyWithAPIVersion, error) {
	return key, nil
}

// selectors knows the selector of every VPA's target: the label app with the VPA's name.
type selectors struct{ known map[string]labels.Selector }

func (s selectors) Fetch(_ context.Context, vpa *vpav1.VerticalPodAutoscaler) (labels.Selector, error) {
	return s.known[vpa.Namespace+"/"+vpa.Name], nil
}

// scene is the file with the objects that both sides start from.
type scene struct {
	VPAs       []*vpav1.VerticalPodAutoscaler `json:"vpas"`
	Pods       []*corev1.Pod                  `json:"pods"`
	Containers [][3]string                    `json:"containers"`
}

func (s *recommenderSide) setUp(file string) error {
	content, err := readScene(file)
	if err != nil {
		return err
	}
	feeder, err := s.build(content)
	if err != nil {
		return err
	}
	feeder.LoadVPAs(context.Background())
	feeder.LoadPods()
	if len(s.cluster.Pods()) != len(content.Pods) || len(s.cluster.VPAs()) != len(content.VPAs) {
		return fmt.Errorf("knows %d pods and %d VPAs of %d and %d",
			len(s.cluster.Pods()), len(s.cluster.VPAs()), len(content.Pods), len(content.VPAs))
	}
	return nil
}

// build makes a recommender that knows nothing yet, and returns what it learns the scene from.
func (s *recommenderSide) build(content *scene) (input.ClusterStateFeeder, error) {
	defaults := config.DefaultRecommenderConfig()
	model.InitializeAggregationsConfig(model.NewAggregationsConfig(
		defaults.MemoryAggregationInterval, defaults.MemoryAggregationIntervalCount, defaults.MemoryHistogramDecayHalfLife,
		defaults.CpuHistogramDecayHalfLife, defaults.OOMBumpUpRatio, defaults.OOMMinBumpUp))
	vpas := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	pods := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	s.pods = pods
	known := map[string]labels.Selector{}
	for _, vpa := range content.VPAs {
		if err := vpas.Add(vpa); err != nil {
			return nil, err
		}
		known[vpa.Namespace+"/"+vpa.Name] = labels.SelectorFromSet(labels.Set{"app": vpa.Name})
	}
	for _, pod := range content.Pods {
		if err := pods.Add(pod); err != nil {
			return nil, err
		}
	}
	s.cluster = model.NewClusterState(roundsApart)
	s.metrics = &fileMetrics{body: []byte(`{"kind":"PodMetricsList","apiVersion":"metrics.k8s.io/v1beta1","items":[]}`)}
	s.sink = newSink()
	s.writer = checkpoint.NewCheckpointWriter(s.cluster, s.sink)
	s.containers = make([]model.ContainerID, len(content.Containers))
	for i, c := range content.Containers {
		s.containers[i] = model.ContainerID{PodID: model.PodID{Namespace: c[0], PodName: c[1]}, ContainerName: c[2]}
	}
	feeder := input.ClusterStateFeederFactory{
		ClusterState: s.cluster, MetricsClient: metrics.NewMetricsClient(s.metrics, "", "default-metrics-client"),
		VpaCheckpointClient: s.sink, VpaLister: vpalisters.NewVerticalPodAutoscalerLister(vpas), PodLister: listersv1.NewPodLister(pods),
		OOMObserver: oom.NewObserver(), SelectorFetcher: selectors{known}, ControllerFetcher: owners{},
		RecommenderName: defaults.RecommenderName,
	}.Make()
	s.recommender = routines.RecommenderFactory{
		ClusterState: s.cluster, ClusterStateFeeder: feeder, ControllerFetcher: owners{}, CheckpointWriter: s.writer,
		PodResourceRecommender: logic.CreatePodResourceRecommender(logic.RecommendationConfig{
			SafetyMarginFraction: defaults.SafetyMarginFraction, PodMinCPUMillicores: defaults.PodMinCPUMillicores,
			PodMinMemoryMb: defaults.PodMinMemoryMb, TargetCPUPercentile: defaults.TargetCPUPercentile,
			LowerBoundCPUPercentile: defaults.LowerBoundCPUPercentile, UpperBoundCPUPercentile: defaults.UpperBoundCPUPercentile,
			ConfidenceIntervalCPU: defaults.ConfidenceIntervalCPU, TargetMemoryPercentile: defaults.TargetMemoryPercentile,
			LowerBoundMemoryPercentile: defaults.LowerBoundMemoryPercentile,
			UpperBoundMemoryPercentile: defaults.UpperBoundMemoryPercentile, ConfidenceIntervalMemory: defaults.ConfidenceIntervalMemory,
		}),
		RecommendationFormat: logic.RecommendationFormat{
			HumanizeMemory: defaults.HumanizeMemory, RoundCPUMillicores: defaults.RoundCPUMillicores, RoundMemoryBytes: defaults.RoundMemoryBytes,
		},
		VpaClient:                    s.sink,
		RecommendationPostProcessors: []routines.RecommendationPostProcessor{routines.NewCappingRecommendationProcessor(nil)},
		CheckpointsGCInterval:        roundsApart,
		// Already over when the first checkpoint is written: each round writes the least that it may.
		CheckpointsWriteTimeout: time.Nanosecond,
		UseCheckpoints:          true,
		UpdateWorkerCount:       defaults.UpdateWorkerCount,
	}.Make()
	return feeder, nil
}

// exchange puts the pods of a file in the place of those that are there.
func (s *recommenderSide) exchange(file string) error {
	content, err := readScene(file)
	if err != nil {
		return err
	}
	objects := make([]any, len(content.Pods))
	for i, pod := range content.Pods {
		objects[i] = pod
	}
	return s.pods.Replace(objects, "")
}

// readScene reads one JSON object: lists of VPAs, of pods, and of containers in the order of the columns.
func readScene(file string) (*scene, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	content := &scene{}
	return content, json.Unmarshal(raw, content)
}

// readColumns reads four columns of 64-bit numbers: container, nanoseconds, millicores, bytes.
func readColumns(file string) ([4][]int64, error) {
	var columns [4][]int64
	raw, err := os.ReadFile(file)
	if err != nil {
		return columns, err
	}
	rows := len(raw) / 32
	for c := range columns {
		columns[c] = make([]int64, rows)
		for i := range columns[c] {
			columns[c][i] = int64(binary.LittleEndian.Uint64(raw[(c*rows+i)*8:]))
		}
	}
	return columns, nil
}

// fold adds one tick: the samples are ready made, only adding them counts.
func (s *recommenderSide) fold(file string) (answer, error) {
	columns, err := readColumns(file)
	if err != nil {
		return answer{}, err
	}
	samples := make([]model.ContainerUsageSampleWithKey, 0, 2*len(columns[0]))
	for i, container := range columns[0] {
		for resource, amount := range map[model.ResourceName]int64{model.ResourceCPU: columns[2][i], model.ResourceMemory: columns[3][i]} {
			samples = append(samples, model.ContainerUsageSampleWithKey{
				Container: s.containers[container],
				ContainerUsageSample: model.ContainerUsageSample{
					MeasureStart: time.Unix(0, columns[1][i]), Usage: model.ResourceAmount(amount), Resource: resource,
				},
			})
		}
	}
	return timed(func() (int, error) {
		for i := range samples {
			if err := s.cluster.AddSample(&samples[i]); err != nil {
				return i, err
			}
		}
		return len(samples), nil
	})
}

// usage takes in one answer of the metrics API.
func (s *recommenderSide) usage(file string) (answer, error) {
	if err := s.load(file); err != nil {
		return answer{}, err
	}
	return timed(func() (int, error) {
		s.recommender.GetClusterStateFeeder().LoadRealTimeMetrics(context.Background())
		return len(s.metrics.body), nil
	})
}

func (s *recommenderSide) load(file string) error {
	body, err := os.ReadFile(file)
	s.metrics.body = body
	return err
}

// recommend computes and writes the statuses of all VPAs.
func (s *recommenderSide) recommend() (answer, error) {
	s.sink.clear()
	return timed(func() (int, error) {
		s.recommender.UpdateVPAs()
		return s.sink.count(), nil
	})
}

// round runs one whole round and tells how long each step took.
func (s *recommenderSide) round(file string) (answer, error) {
	if err := s.load(file); err != nil {
		return answer{}, err
	}
	s.sink.clear()
	before, err := stepSeconds()
	if err != nil {
		return answer{}, err
	}
	a, err := timed(func() (int, error) {
		s.recommender.RunOnce()
		return s.sink.count(), nil
	})
	if err != nil {
		return a, err
	}
	after, err := stepSeconds()
	a.Steps = map[string]float64{}
	for step, seconds := range after {
		a.Steps[step] = seconds - before[step]
	}
	return a, err
}

// checkpoints writes checkpoints for some time and tells of how many VPAs.
func (s *recommenderSide) checkpoints(budget time.Duration) (answer, error) {
	s.sink.clear()
	return timed(func() (int, error) {
		ctx, cancel := context.WithTimeout(context.Background(), budget)
		defer cancel()
		s.writer.StoreCheckpoints(ctx, config.DefaultRecommenderConfig().UpdateWorkerCount)
		return s.sink.writtenVPAs(), nil
	})
}

var registered = false

// stepSeconds reads how long each step of the rounds has taken so far from the recommender's own metrics.
func stepSeconds() (map[string]float64, error) {
	if !registered {
		metricsofrecommender.Register()
		registered = true
	}
	families, err := prometheus.DefaultGatherer.Gather()
	if err != nil {
		return nil, err
	}
	steps := map[string]float64{}
	for _, family := range families {
		if !strings.HasSuffix(family.GetName(), "recommender_execution_latency_seconds") {
			continue
		}
		for _, metric := range family.GetMetric() {
			steps[metric.GetLabel()[0].GetValue()] = metric.GetHistogram().GetSampleSum()
		}
	}
	return steps, nil
}
