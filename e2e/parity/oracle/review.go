package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/tools/cache"

	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/admission-controller/logic"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/admission-controller/resource/pod"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/admission-controller/resource/pod/patch"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/admission-controller/resource/pod/recommendation"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/admission-controller/resource/vpa"
	vpa_types "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/features"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/utils/limitrange"
	vpa_api "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/utils/vpa"
)

// clusterQuestion is what all questions about a cluster have.
type clusterQuestion struct {
	Gates       map[string]bool                    `json:"gates"`
	VPAs        []*vpa_types.VerticalPodAutoscaler `json:"vpas"`
	Workloads   []json.RawMessage                  `json:"workloads"`
	Scales      map[string]json.RawMessage         `json:"scales"`
	LimitRanges []*corev1.LimitRange               `json:"limitRanges"`
}

// fill puts a cluster's objects into caches and sets the feature gates; those not named are off.
func (q clusterQuestion) fill(all *caches) error {
	gates := map[string]bool{"InPlace": false, "PerVPAConfig": false, "CPUStartupBoost": false}
	for name, on := range q.Gates {
		gates[name] = on
	}
	if err := features.MutableFeatureGate.SetFromMap(gates); err != nil {
		return err
	}
	all.limitRanges = byName(q.LimitRanges)
	return all.addWorkloads(q.Workloads)
}

// capping is upstream's way from a recommendation to the resources of a pod.
type capping struct {
	limits    limitrange.LimitRangeCalculator
	processor vpa_api.RecommendationProcessor
	provider  recommendation.Provider
}

func newCapping(all *caches) (capping, error) {
	limits, err := limitrange.NewLimitsRangeCalculator(all)
	if err != nil {
		return capping{}, err
	}
	processor := vpa_api.NewCappingRecommendationProcessor(limits)
	return capping{limits, processor, recommendation.NewProvider(limits, processor)}, nil
}

// reviewQuestion is an AdmissionReview and the cluster that it comes from.
type reviewQuestion struct {
	clusterQuestion
	Review json.RawMessage `json:"review"`
	// MaxBoost is the most CPU that a boost may come to; empty for no cap.
	MaxBoost string `json:"maxBoost"`
}

func askReview(question []byte) (any, error) {
	var asked reviewQuestion
	if err := json.Unmarshal(question, &asked); err != nil {
		return nil, err
	}
	server := &apiServer{scales: asked.Scales}
	config, kubeClient, _ := server.clients()
	all := newCaches(kubeClient)
	if err := asked.fill(all); err != nil {
		return nil, err
	}
	steps, err := newCapping(all)
	if err != nil {
		return nil, err
	}
	index := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{vpa_api.TargetRefIndex: vpa_api.TargetRefIndexFunc})
	for _, each := range asked.VPAs {
		if err := index.Add(each); err != nil {
			return nil, err
		}
	}
	var cap resource.QuantityValue
	if asked.MaxBoost != "" {
		if err := cap.Set(asked.MaxBoost); err != nil {
			return nil, err
		}
	}
	found := newTargets(config, kubeClient, all)
	calculators := []patch.Calculator{
		patch.NewResourceUpdatesCalculator(steps.provider, cap),
		patch.NewObservedContainersCalculator(),
	}
	admission := logic.NewAdmissionServer(pod.NewDefaultPreProcessor(), vpa.NewDefaultPreProcessor(), steps.limits,
		vpa.NewMatcher(index, found.selectors, found.controllers), calculators)
	request := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(asked.Review))
	request.Header.Set("Content-Type", "application/json")
	response := httptest.NewRecorder()
	admission.Serve(response, request)
	return json.RawMessage(response.Body.Bytes()), nil
}
