package main

import (
	"context"
	"fmt"
	"time"

	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/recommender/config"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/recommender/input/history"
)

const queryTimeout = 5 * time.Minute

// history loads the past of a scene from Prometheus at the URL into a fresh recommender, and leaves out of its time what
// comes after: the lists of VPAs and pods.
func (s *recommenderSide) history(c command) (answer, error) {
	content, err := readScene(c.File)
	if err != nil {
		return answer{}, err
	}
	feeder, err := s.build(content)
	if err != nil {
		return answer{}, err
	}
	defaults := config.DefaultRecommenderConfig()
	a, err := timed(func() (int, error) {
		provider, err := history.NewPrometheusHistoryProvider(history.PrometheusHistoryProviderConfig{
			Address: c.URL, QueryTimeout: queryTimeout,
			HistoryLength: defaults.HistoryLength, HistoryResolution: defaults.HistoryResolution,
			PodLabelPrefix: defaults.PodLabelPrefix, PodLabelsMetricName: c.Name,
			PodNamespaceLabel: defaults.PodNamespaceLabel, PodNameLabel: defaults.PodNameLabel,
			CtrNamespaceLabel: defaults.CtrNamespaceLabel, CtrPodNameLabel: defaults.CtrPodNameLabel,
			CtrNameLabel: defaults.CtrNameLabel, CadvisorMetricsJobName: defaults.PrometheusJobName,
			CPUMetricName: defaults.HistoryCPUMetric, MemoryMetricName: defaults.HistoryMemoryMetric,
		})
		if err != nil {
			return 0, err
		}
		feeder.InitFromHistoryProvider(provider)
		return len(s.cluster.Pods()), nil
	})
	if err == nil && a.Count != len(content.Pods) {
		err = fmt.Errorf("found history of %d pods of %d", a.Count, len(content.Pods))
	}
	if err != nil {
		return a, err
	}
	feeder.LoadVPAs(context.Background())
	feeder.LoadPods()
	return a, nil
}
