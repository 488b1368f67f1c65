package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/metrics/pkg/apis/metrics/v1beta1"

	vpa_types "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
	vpa_listers "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/client/listers/autoscaling.k8s.io/v1"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/features"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/recommender/checkpoint"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/recommender/input"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/recommender/input/metrics"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/recommender/input/oom"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/recommender/logic"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/recommender/model"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/recommender/routines"
)

// roundsQuestion is a recommender's life: what it finds at its start, and round by round what changes.
type roundsQuestion struct {
	Begin  time.Duration              `json:"begin"`
	Flags  recommenderFlags           `json:"flags"`
	Scales map[string]json.RawMessage `json:"scales"`
	First  []change                   `json:"first"`
	Rounds []round                    `json:"rounds"`
}

type round struct {
	After   time.Duration        `json:"after"`
	Changes []change             `json:"changes"`
	Metrics []v1beta1.PodMetrics `json:"metrics"`
}

// change is an object as it is from now on, or the name of one that is gone.
type change struct {
	Apply  json.RawMessage `json:"apply"`
	Delete *struct {
		Kind string `json:"kind"`
		Name string `json:"name"`
	} `json:"delete"`
}

type recommenderFlags struct {
	Name                  string              `json:"name"`
	Namespace             string              `json:"namespace"`
	Ignored               []string            `json:"ignored"`
	MemorySaver           bool                `json:"memorySaver"`
	PerVPAConfig          bool                `json:"perVpaConfig"`
	MemoryInterval        time.Duration       `json:"memoryInterval"`
	MemoryIntervalCount   int64               `json:"memoryIntervalCount"`
	MemoryHalfLife        time.Duration       `json:"memoryHalfLife"`
	CPUHalfLife           time.Duration       `json:"cpuHalfLife"`
	OOMRatio              float64             `json:"oomRatio"`
	OOMMinBump            float64             `json:"oomMinBump"`
	Margin                float64             `json:"margin"`
	PodMinCPU             float64             `json:"podMinCpuMillicores"`
	PodMinMemory          float64             `json:"podMinMemoryMib"`
	CPUPercentiles        [3]float64          `json:"cpuPercentiles"`
	MemoryPercentiles     [3]float64          `json:"memoryPercentiles"`
	CPUConfidence         time.Duration       `json:"cpuConfidence"`
	MemoryConfidence      time.Duration       `json:"memoryConfidence"`
	RoundCPU              int                 `json:"roundCpu"`
	RoundMemory           int                 `json:"roundMemory"`
	HumanizeMemory        bool                `json:"humanizeMemory"`
	IntegerCPU            bool                `json:"integerCpu"`
	MaxAllowed            corev1.ResourceList `json:"maxAllowed"`
	CheckpointsGCInterval time.Duration       `json:"checkpointsGcInterval"`
}

func (f recommenderFlags) estimators() logic.RecommendationConfig {
	return logic.RecommendationConfig{
		SafetyMarginFraction:       f.Margin,
		PodMinCPUMillicores:        f.PodMinCPU,
		PodMinMemoryMb:             f.PodMinMemory,
		TargetCPUPercentile:        f.CPUPercentiles[0],
		LowerBoundCPUPercentile:    f.CPUPercentiles[1],
		UpperBoundCPUPercentile:    f.CPUPercentiles[2],
		ConfidenceIntervalCPU:      f.CPUConfidence,
		TargetMemoryPercentile:     f.MemoryPercentiles[0],
		LowerBoundMemoryPercentile: f.MemoryPercentiles[1],
		UpperBoundMemoryPercentile: f.MemoryPercentiles[2],
		ConfidenceIntervalMemory:   f.MemoryConfidence,
	}
}

func (f recommenderFlags) postProcessors() []routines.RecommendationPostProcessor {
	maximum := corev1.ResourceList{}
	for name, amount := range f.MaxAllowed {
		if !amount.IsZero() {
			maximum[name] = amount
		}
	}
	capping := routines.NewCappingRecommendationProcessor(maximum)
	if f.IntegerCPU {
		return []routines.RecommendationPostProcessor{&routines.IntegerCPUPostProcessor{}, capping}
	}
	return []routines.RecommendationPostProcessor{capping}
}

// roundAnswer is what a round wrote.
type roundAnswer struct {
	Statuses    map[string]json.RawMessage `json:"statuses"`
	Checkpoints map[string]json.RawMessage `json:"checkpoints"`
	Created     map[string]bool            `json:"created"`
	Removed     map[string]bool            `json:"removed"`
}

func newRoundAnswer() *roundAnswer {
	return &roundAnswer{map[string]json.RawMessage{}, map[string]json.RawMessage{}, map[string]bool{}, map[string]bool{}}
}

// recommenderWorld is all that a recommender reads and writes.
type recommenderWorld struct {
	*caches
	vpas        map[string]*vpa_types.VerticalPodAutoscaler
	checkpoints map[string]*vpa_types.VerticalPodAutoscalerCheckpoint
	metrics     []v1beta1.PodMetrics
	kills       oom.Observer
	written     *roundAnswer
}

func askRounds(question []byte) (any, error) {
	var asked roundsQuestion
	if err := json.Unmarshal(question, &asked); err != nil {
		return nil, err
	}
	time.Sleep(asked.Begin)
	world := &recommenderWorld{
		vpas:        map[string]*vpa_types.VerticalPodAutoscaler{},
		checkpoints: map[string]*vpa_types.VerticalPodAutoscalerCheckpoint{},
		kills:       oom.NewObserver(),
		written:     newRoundAnswer(),
	}
	recommender, err := world.recommender(asked)
	if err != nil {
		return nil, err
	}
	if err := world.changeAll(asked.First); err != nil {
		return nil, err
	}
	before, err := qualityNow()
	if err != nil {
		return nil, err
	}
	recommender.GetClusterStateFeeder().InitFromCheckpoints(context.Background())
	answers := []*roundAnswer{}
	for _, each := range asked.Rounds {
		time.Sleep(each.After)
		if err := world.changeAll(each.Changes); err != nil {
			return nil, err
		}
		world.metrics, world.written = each.Metrics, newRoundAnswer()
		recommender.RunOnce()
		answers = append(answers, world.written)
	}
	after, err := qualityNow()
	if err != nil {
		return nil, err
	}
	aggregates, err := aggregatesOf(recommender.GetClusterState())
	return map[string]any{"rounds": answers, "aggregates": aggregates, "quality": after.since(before)}, err
}

func (w *recommenderWorld) recommender(asked roundsQuestion) (routines.Recommender, error) {
	flags := asked.Flags
	gates := map[string]bool{string(features.PerVPAConfig): flags.PerVPAConfig}
	if err := features.MutableFeatureGate.SetFromMap(gates); err != nil {
		return nil, err
	}
	model.InitializeAggregationsConfig(model.NewAggregationsConfig(
		flags.MemoryInterval, flags.MemoryIntervalCount, flags.MemoryHalfLife, flags.CPUHalfLife, flags.OOMRatio, flags.OOMMinBump))
	server := &apiServer{scales: asked.Scales, answer: w.answer}
	config, kubeClient, vpaClient := server.clients()
	w.caches = newCaches(kubeClient)
	found := newTargets(config, kubeClient, w.caches)
	state := model.NewClusterState(time.Hour)
	feeder := input.ClusterStateFeederFactory{
		ClusterState:        state,
		MetricsClient:       metrics.NewMetricsClient(w, flags.Namespace, "oracle"),
		VpaCheckpointClient: vpaClient.AutoscalingV1(),
		VpaCheckpointLister: checkpointLister{world: w},
		VpaLister:           vpaLister{world: w},
		PodLister:           podLister{all: w.pods},
		OOMObserver:         w.kills,
		SelectorFetcher:     found.selectors,
		MemorySaveMode:      flags.MemorySaver,
		ControllerFetcher:   found.controllers,
		RecommenderName:     flags.Name,
		IgnoredNamespaces:   flags.Ignored,
		VpaObjectNamespace:  flags.Namespace,
	}.Make()
	return routines.RecommenderFactory{
		ClusterState:           state,
		ClusterStateFeeder:     feeder,
		ControllerFetcher:      found.controllers,
		CheckpointWriter:       checkpoint.NewCheckpointWriter(state, vpaClient.AutoscalingV1()),
		PodResourceRecommender: logic.CreatePodResourceRecommender(flags.estimators()),
		RecommendationFormat: logic.RecommendationFormat{
			HumanizeMemory: flags.HumanizeMemory, RoundCPUMillicores: flags.RoundCPU, RoundMemoryBytes: flags.RoundMemory},
		VpaClient:                    vpaClient.AutoscalingV1(),
		RecommendationPostProcessors: flags.postProcessors(),
		CheckpointsGCInterval:        flags.CheckpointsGCInterval,
		CheckpointsWriteTimeout:      time.Minute,
		UseCheckpoints:               true,
		// Several workers write to one map without a lock and may crash on that.
		UpdateWorkerCount: 1,
	}.Make(), nil
}

// List is the metrics API's answer.
func (w *recommenderWorld) List(_ context.Context, _ string, _ metav1.ListOptions) (*v1beta1.PodMetricsList, error) {
	return &v1beta1.PodMetricsList{Items: w.metrics}, nil
}

func (w *recommenderWorld) changeAll(changes []change) error {
	for _, each := range changes {
		if err := w.change(each); err != nil {
			return err
		}
	}
	return nil
}

func (w *recommenderWorld) change(each change) error {
	if each.Delete != nil {
		switch each.Delete.Kind {
		case "VerticalPodAutoscaler":
			delete(w.vpas, each.Delete.Name)
		case "Pod":
			delete(w.pods, each.Delete.Name)
		case "VerticalPodAutoscalerCheckpoint":
			delete(w.checkpoints, each.Delete.Name)
		default:
			return w.dropWorkload(each.Delete.Kind, each.Delete.Name)
		}
		return nil
	}
	var kind metav1.TypeMeta
	if err := json.Unmarshal(each.Apply, &kind); err != nil {
		return err
	}
	switch kind.Kind {
	case "VerticalPodAutoscaler":
		return w.applyVPA(each.Apply)
	case "Pod":
		return w.applyPod(each.Apply)
	case "VerticalPodAutoscalerCheckpoint":
		stored := &vpa_types.VerticalPodAutoscalerCheckpoint{}
		err := json.Unmarshal(each.Apply, stored)
		w.checkpoints[named(stored)] = stored
		return err
	case "Event":
		event := &corev1.Event{}
		err := json.Unmarshal(each.Apply, event)
		w.kills.OnEvent(event)
		return err
	}
	return w.addWorkloads([]json.RawMessage{each.Apply})
}

func (w *recommenderWorld) dropWorkload(kind, name string) error {
	object, err := workloadOf(json.RawMessage(`{"kind":"` + kind + `"}`))
	if err != nil {
		return err
	}
	indexer := w.informerOf(object).GetIndexer()
	if gone, exists, err := indexer.GetByKey(name); err != nil || exists {
		return indexer.Delete(gone)
	}
	return nil
}

// applyVPA keeps the status of a VPA that is there already, as the API server does.
func (w *recommenderWorld) applyVPA(raw json.RawMessage) error {
	vpa := &vpa_types.VerticalPodAutoscaler{}
	if err := json.Unmarshal(raw, vpa); err != nil {
		return err
	}
	if old, exists := w.vpas[named(vpa)]; exists {
		vpa.Status = *old.Status.DeepCopy()
	}
	w.vpas[named(vpa)] = vpa
	return nil
}

func (w *recommenderWorld) applyPod(raw json.RawMessage) error {
	pod := &corev1.Pod{}
	if err := json.Unmarshal(raw, pod); err != nil {
		return err
	}
	if old, exists := w.pods[named(pod)]; exists {
		w.kills.OnUpdate(old, pod)
	}
	w.pods[named(pod)] = pod
	return nil
}

// answer takes what the recommender writes.
func (w *recommenderWorld) answer(asked call) (int, any) {
	switch {
	case asked.Method == "PATCH" && asked.isTo("verticalpodautoscalers", "", "status"):
		name := asked.segment(4) + "/" + asked.segment(2)
		vpa := w.vpas[name].DeepCopy()
		vpa.Status = vpa_types.VerticalPodAutoscalerStatus{}
		w.written.Statuses[name] = patched(asked.Body, &vpa.Status)
		w.vpas[name] = vpa
		return 200, vpa
	case asked.Method == "PATCH" && asked.isTo("verticalpodautoscalercheckpoints", ""):
		name := asked.segment(3) + "/" + asked.segment(1)
		old, exists := w.checkpoints[name]
		if !exists {
			return notFound(asked.segment(1))
		}
		stored := old.DeepCopy()
		stored.Status = vpa_types.VerticalPodAutoscalerCheckpointStatus{}
		w.written.Checkpoints[name] = patched(asked.Body, &stored.Status)
		w.checkpoints[name] = stored
		return 200, stored
	case asked.Method == "POST" && asked.isTo("verticalpodautoscalercheckpoints"):
		return w.create(asked)
	case asked.Method == "DELETE" && asked.isTo("verticalpodautoscalercheckpoints", ""):
		name := asked.segment(3) + "/" + asked.segment(1)
		w.written.Removed[name] = true
		delete(w.checkpoints, name)
		return 200, metav1.Status{Status: metav1.StatusSuccess}
	}
	panic(fmt.Sprintf("no answer to %s %s", asked.Method, asked.Path))
}

func (w *recommenderWorld) create(asked call) (int, any) {
	stored := &vpa_types.VerticalPodAutoscalerCheckpoint{}
	var whole struct {
		Status json.RawMessage `json:"status"`
	}
	if json.Unmarshal(asked.Body, stored) != nil || json.Unmarshal(asked.Body, &whole) != nil {
		return refusal(400, metav1.StatusReasonBadRequest, "unreadable")
	}
	stored.Namespace = asked.segment(2)
	w.written.Checkpoints[named(stored)] = whole.Status
	w.written.Created[named(stored)] = true
	w.checkpoints[named(stored)] = stored
	return 201, stored
}

// patched returns the value of the only operation of a JSON patch, and decodes it.
func patched(body []byte, into any) json.RawMessage {
	var operations []struct {
		Op    string          `json:"op"`
		Path  string          `json:"path"`
		Value json.RawMessage `json:"value"`
	}
	if err := json.Unmarshal(body, &operations); err != nil || len(operations) != 1 || operations[0].Path != "/status" {
		panic(fmt.Sprintf("a patch that is not understood: %s", body))
	}
	if err := json.Unmarshal(operations[0].Value, into); err != nil {
		panic(err)
	}
	return operations[0].Value
}

// aggregatesOf returns what a recommender knows of each container of each VPA, the running peaks included.
func aggregatesOf(state model.ClusterState) (map[string]any, error) {
	result := map[string]any{}
	for id, vpa := range state.VPAs() {
		for container, aggregate := range vpa.AggregateStateByContainerName() {
			saved, err := aggregate.SaveToCheckpoint()
			if err != nil {
				return nil, err
			}
			saved.LastUpdateTime = metav1.Time{}
			result[id.Namespace+"/"+id.VpaName+"/"+container] = saved
		}
		result[id.Namespace+"/"+id.VpaName] = map[string]int{"pods": vpa.PodCount}
	}
	return result, nil
}

type vpaLister struct {
	vpa_listers.VerticalPodAutoscalerLister
	world *recommenderWorld
}

func (l vpaLister) List(selector labels.Selector) ([]*vpa_types.VerticalPodAutoscaler, error) {
	return selected(l.world.vpas, "", selector), nil
}

type checkpointLister struct {
	vpa_listers.VerticalPodAutoscalerCheckpointLister
	world *recommenderWorld
}

func (l checkpointLister) List(selector labels.Selector) ([]*vpa_types.VerticalPodAutoscalerCheckpoint, error) {
	return selected(l.world.checkpoints, "", selector), nil
}
