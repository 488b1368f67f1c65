package main

import (
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/admission-controller/resource/pod/patch"
	vpa_types "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/updater/inplace"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/updater/priority"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/updater/restriction"
)

type updaterFlags struct {
	MinReplicas   int           `json:"minReplicas"`
	Tolerance     float64       `json:"tolerance"`
	Threshold     float64       `json:"threshold"`
	Lifetime      time.Duration `json:"lifetime"`
	AfterOOM      time.Duration `json:"afterOom"`
	SkipsBudget   bool          `json:"skipsBudget"`
	RateLimit     float64       `json:"rateLimit"`
	RateBurst     int           `json:"rateBurst"`
	IgnoredSpaces []string      `json:"ignored"`
}

// judgementQuestion asks what upstream makes of the pods of its first VPA, without acting on it.
type judgementQuestion struct {
	clusterQuestion
	Flags updaterFlags  `json:"flags"`
	Pods  []*corev1.Pod `json:"pods"`
	// Waited is for how long each pod, by name, has been seen in the middle of a resize.
	Waited map[string]time.Duration `json:"waited"`
	// Infeasible is the recommendation last found infeasible, by UID of the pod.
	Infeasible map[types.UID]*vpa_types.RecommendedPodResources `json:"infeasible"`
	Begin      time.Duration                                    `json:"begin"`
}

type podAnswer struct {
	InPlace     string  `json:"inPlace"`
	MayEvict    bool    `json:"mayEvict"`
	MayFallBack bool    `json:"mayFallBack"`
	IsOutside   bool    `json:"isOutside"`
	IsScaleUp   bool    `json:"isScaleUp"`
	Difference  float64 `json:"difference"`
}

func askJudgement(question []byte) (any, error) {
	var asked judgementQuestion
	if err := json.Unmarshal(question, &asked); err != nil {
		return nil, err
	}
	time.Sleep(asked.Begin)
	_, kubeClient, _ := (&apiServer{}).clients()
	all := newCaches(kubeClient)
	if err := asked.fill(all); err != nil {
		return nil, err
	}
	steps, err := newCapping(all)
	if err != nil {
		return nil, err
	}
	vpa := asked.VPAs[0]
	factory := asked.Flags.restrictions(kubeClient, all, steps)
	groups, groupOf, err := factory.GetCreatorMaps(asked.Pods, vpa)
	if err != nil {
		return nil, err
	}
	// The members of a group's statistics are hidden, but printing shows them.
	shown := map[string]string{}
	for key, statistics := range groups {
		shown[fmt.Sprintf("%s/%s/%s", key.Namespace, key.Kind, key.Name)] = fmt.Sprintf("%+v", statistics)
	}
	seen := map[string]time.Time{}
	for name, waited := range asked.Waited {
		seen[name] = time.Now().Add(-waited)
	}
	evictions, resizes := factory.NewPodsEvictionRestriction(groups, groupOf), factory.NewPodsInPlaceRestriction(groups, groupOf)
	pods := map[string]podAnswer{}
	for _, pod := range asked.Pods {
		processed, _, err := steps.processor.Apply(vpa, pod)
		if err != nil {
			return nil, err
		}
		score := priority.NewProcessor().GetUpdatePriority(pod, vpa, processed)
		pods[named(pod)] = podAnswer{
			InPlace:     string(resizes.CanInPlaceUpdate(pod, vpa, asked.Infeasible)),
			MayEvict:    evictions.CanEvict(pod),
			MayFallBack: restriction.CanEvictInPlacingPod(pod, groups[groupOf[named(pod)]], seen, clock.RealClock{}),
			IsOutside:   score.OutsideRecommendedRange,
			IsScaleUp:   score.ScaleUp,
			Difference:  score.ResourceDiff,
		}
	}
	return map[string]any{"groups": shown, "pods": pods, "order": asked.order(steps)}, nil
}

func (f updaterFlags) restrictions(client kubernetes.Interface, all *caches, steps capping) restriction.PodsRestrictionFactory {
	return restriction.NewPodsRestrictionFactory(client, all, f.MinReplicas, f.Tolerance, steps.calculators(), f.SkipsBudget)
}

// calculators make the patches of an update in place.
func (c capping) calculators() []patch.Calculator {
	return []patch.Calculator{
		inplace.NewResourceInPlaceUpdatesCalculator(c.provider),
		inplace.NewInPlaceUpdatedCalculator(),
		inplace.NewUnboostAnnotationCalculator(),
	}
}

// order returns the pods worth updating, the most urgent first, whatever their groups say.
func (q judgementQuestion) order(steps capping) []string {
	vpa := q.VPAs[0]
	config := priority.UpdateConfig{
		MinChangePriority:          q.Flags.Threshold,
		PodLifetimeUpdateThreshold: q.Flags.Lifetime,
		EvictAfterOOMThreshold:     q.Flags.AfterOOM,
	}
	calculator := priority.NewUpdatePriorityCalculator(vpa, config, steps.processor, priority.NewProcessor())
	for _, pod := range q.Pods {
		calculator.AddPod(pod, time.Now(), q.Infeasible)
	}
	admission := priority.NewScalingDirectionPodEvictionAdmission()
	admission.LoopInit(q.Pods, map[*vpa_types.VerticalPodAutoscaler][]*corev1.Pod{vpa: q.Pods})
	names := []string{}
	for _, pod := range calculator.GetSortedPods(admission) {
		names = append(names, named(pod))
	}
	return names
}
