package main

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/record"

	vpa_api "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/utils/vpa"
)

// unboostQuestion asks what becomes of boosted pods that the first VPA controls, each by itself.
type unboostQuestion struct {
	clusterQuestion
	Flags updaterFlags  `json:"flags"`
	Pods  []*corev1.Pod `json:"pods"`
	Begin time.Duration `json:"begin"`
}

type unboostAnswer struct {
	Expired   []string      `json:"expired"`
	Remaining time.Duration `json:"remaining"`
	IsAllowed bool          `json:"isAllowed"`
	HasFailed bool          `json:"hasFailed"`
	Calls     []any         `json:"calls"`
}

func askUnboost(question []byte) (any, error) {
	var asked unboostQuestion
	if err := json.Unmarshal(question, &asked); err != nil {
		return nil, err
	}
	time.Sleep(asked.Begin)
	world := &updaterWorld{}
	server := &apiServer{scales: asked.Scales, answer: world.answer}
	config, kubeClient, _ := server.clients()
	world.caches = newCaches(kubeClient)
	if err := asked.fill(world.caches); err != nil {
		return nil, err
	}
	for _, pod := range asked.Pods {
		world.pods[named(pod)] = pod
	}
	steps, err := newCapping(world.caches)
	if err != nil {
		return nil, err
	}
	selector, err := newTargets(config, kubeClient, world.caches).selectors.Fetch(context.Background(), asked.VPAs[0])
	if err != nil {
		return nil, err
	}
	factory := asked.Flags.restrictions(kubeClient, world.caches, steps)
	alike := slices.DeleteFunc(slices.Clone(asked.Pods), func(pod *corev1.Pod) bool {
		return pod.DeletionTimestamp != nil || !selector.Matches(labels.Set(pod.Labels))
	})
	answers := map[string]unboostAnswer{}
	for _, pod := range asked.Pods {
		if !vpa_api.PodHasCPUBoostInProgressAnnotation(pod) {
			continue
		}
		// Every attempt begins with groups of its own.
		groups, groupOf, err := factory.GetCreatorMaps(alike, asked.VPAs[0])
		if err != nil {
			return nil, err
		}
		limiter := factory.NewPodsInPlaceRestriction(groups, groupOf)
		answer := unboostAnswer{
			Expired:   vpa_api.GetExpiredStartupCPUBoostAnnotations(pod, asked.VPAs[0]),
			Remaining: vpa_api.GetBoostRemainingDuration(pod, asked.VPAs[0]),
			IsAllowed: limiter.CanUnboost(pod, asked.VPAs[0]),
		}
		slices.Sort(answer.Expired)
		world.calls = []any{}
		if answer.IsAllowed {
			answer.HasFailed = limiter.InPlaceUpdate(pod, asked.VPAs[0], record.NewFakeRecorder(10)) != nil
		}
		answer.Calls = world.calls
		answers[named(pod)] = answer
	}
	return answers, nil
}
