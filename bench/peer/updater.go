package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/admission-controller/resource/pod/patch"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/admission-controller/resource/pod/recommendation"
	vpav1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
	controllerfetcher "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/target/controller_fetcher"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/updater/config"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/updater/inplace"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/updater/priority"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/updater/restriction"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/updater/utils"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/utils/limitrange"
	vpautils "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/utils/vpa"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
)

// yes agrees to every eviction and patch without a network.
type yes struct{}

func (yes) RoundTrip(request *http.Request) (*http.Response, error) {
	body := `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"any"}}`
	if strings.HasSuffix(request.URL.Path, "/eviction") {
		body = `{"kind":"Status","apiVersion":"v1","status":"Success"}`
	}
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewBufferString(body)), Request: request,
	}, nil
}

// parents knows the Deployment of every ReplicaSet.
type parents struct {
	known map[string]*controllerfetcher.ControllerKeyWithAPIVersion
}

func (p parents) FindTopMostWellKnownOrScalable(
	_ context.Context, key *controllerfetcher.ControllerKeyWithAPIVersion,
) (*controllerfetcher.ControllerKeyWithAPIVersion, error) {
	return p.known[key.Namespace+"/"+key.Name], nil
}

type updaterScene struct {
	VPAs        []*vpav1.VerticalPodAutoscaler `json:"vpas"`
	Pods        []*corev1.Pod                  `json:"pods"`
	ReplicaSets []*appsv1.ReplicaSet           `json:"replicaSets"`
}

var scenes = map[string]*updaterScene{}

// readUpdaterScene reads a scene once; nothing in a round changes it.
func readUpdaterScene(file string) (*updaterScene, error) {
	if known, found := scenes[file]; found {
		return known, nil
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	content := &updaterScene{}
	scenes[file] = content
	return content, json.Unmarshal(raw, content)
}

// planner makes the decisions of one round from upstream's exported parts, in the order in which its loop uses them.
type planner struct {
	factory   restriction.PodsRestrictionFactory
	processor vpautils.RecommendationProcessor
	admission priority.PodEvictionAdmission
	config    priority.UpdateConfig
	touched   []string
	working   watch
}

// plan runs one round over a scene, writes which pods were acted on, and leaves the acting itself out of its time.
func plan(file, out string) (answer, error) {
	content, err := readUpdaterScene(file)
	if err != nil {
		return answer{}, err
	}
	client, err := kubernetes.NewForConfig(&rest.Config{Host: "http://nowhere.invalid", Transport: yes{}, QPS: -1})
	if err != nil {
		return answer{}, err
	}
	informerFactory := informers.NewSharedInformerFactory(client, 0)
	owners := parents{map[string]*controllerfetcher.ControllerKeyWithAPIVersion{}}
	for _, set := range content.ReplicaSets {
		if err := informerFactory.Apps().V1().ReplicaSets().Informer().GetStore().Add(set); err != nil {
			return answer{}, err
		}
		owner := set.OwnerReferences[0]
		key := controllerfetcher.ControllerKey{Namespace: set.Namespace, Kind: owner.Kind, Name: owner.Name}
		owners.known[set.Namespace+"/"+set.Name] = &controllerfetcher.ControllerKeyWithAPIVersion{ControllerKey: key, ApiVersion: owner.APIVersion}
	}
	selecting := make([]*vpautils.VpaWithSelector, len(content.VPAs))
	for i, vpa := range content.VPAs {
		selecting[i] = &vpautils.VpaWithSelector{Vpa: vpa, Selector: labels.SelectorFromSet(labels.Set{"app": vpa.Name})}
	}
	limits := limitrange.NewNoopLimitsCalculator()
	processor := vpautils.NewCappingRecommendationProcessor(limits)
	defaults := config.DefaultUpdaterConfig()
	calculators := []patch.Calculator{
		inplace.NewResourceInPlaceUpdatesCalculator(recommendation.NewProvider(limits, processor)),
		inplace.NewInPlaceUpdatedCalculator(), inplace.NewUnboostAnnotationCalculator(),
	}
	p := &planner{
		factory: restriction.NewPodsRestrictionFactory(
			client, informerFactory, defaults.MinReplicas, defaults.EvictionToleranceFraction, calculators, defaults.InPlaceSkipDisruptionBudget),
		processor: processor,
		admission: priority.NewScalingDirectionPodEvictionAdmission(),
		config: priority.UpdateConfig{
			MinChangePriority: defaults.DefaultUpdateThreshold, PodLifetimeUpdateThreshold: defaults.PodLifetimeUpdateThreshold,
			EvictAfterOOMThreshold: defaults.EvictAfterOOMThreshold,
		},
	}
	if err := p.run(selecting, content.Pods, owners); err != nil {
		return answer{}, err
	}
	written, err := json.Marshal(p.touched)
	if err != nil {
		return answer{}, err
	}
	return p.working.answer(len(p.touched)), os.WriteFile(out, written, 0o600)
}

func (p *planner) run(vpas []*vpautils.VpaWithSelector, pods []*corev1.Pod, owners controllerfetcher.ControllerFetcher) error {
	p.working.start()
	defer p.working.stop()
	controlled := map[*vpav1.VerticalPodAutoscaler][]*corev1.Pod{}
	for _, pod := range pods {
		if found := vpautils.GetControllingVPAForPod(context.Background(), pod, vpas, owners); found != nil {
			controlled[found.Vpa] = append(controlled[found.Vpa], pod)
		}
	}
	p.admission.LoopInit(pods, controlled)
	for vpa, members := range controlled {
		if err := p.serve(vpa, members); err != nil {
			return err
		}
	}
	return nil
}

// serve decides about the pods of one VPA that updates in place or, failing that, by eviction.
func (p *planner) serve(vpa *vpav1.VerticalPodAutoscaler, pods []*corev1.Pod) error {
	groups, creators, err := p.factory.GetCreatorMaps(pods, vpa)
	if err != nil {
		return err
	}
	resizes, evictions := p.factory.NewPodsInPlaceRestriction(groups, creators), p.factory.NewPodsEvictionRestriction(groups, creators)
	tried := map[types.UID]*vpav1.RecommendedPodResources{}
	calculator := priority.NewUpdatePriorityCalculator(vpa, p.config, p.processor, priority.NewProcessor())
	for _, pod := range pods {
		if decision := resizes.CanInPlaceUpdate(pod, vpa, tried); decision == utils.InPlaceApproved || decision == utils.InPlaceEvict {
			calculator.AddPod(pod, time.Now(), tried)
		}
	}
	recorder := &record.FakeRecorder{}
	var evicted []*corev1.Pod
	for _, pod := range calculator.GetSortedPods(p.admission) {
		switch resizes.CanInPlaceUpdate(pod, vpa, tried) {
		case utils.InPlaceEvict:
			evicted = append(evicted, pod)
		case utils.InPlaceApproved:
			if err := p.act(pod, func() error { return resizes.InPlaceUpdate(pod, vpa, recorder) }); err != nil {
				return err
			}
		}
	}
	for _, pod := range evicted {
		if evictions.CanEvict(pod) {
			if err := p.act(pod, func() error { return evictions.Evict(pod, vpa, recorder) }); err != nil {
				return err
			}
		}
	}
	return nil
}

// act carries a decision out while the watch stands still.
func (p *planner) act(pod *corev1.Pod, call func() error) error {
	p.working.stop()
	defer p.working.start()
	p.touched = append(p.touched, pod.Namespace+"/"+pod.Name)
	return call()
}
