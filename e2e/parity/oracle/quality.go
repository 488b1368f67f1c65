package main

import (
	"sort"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/utils/metrics/quality"
)

func init() {
	quality.Register()
}

// qualityCounts holds by family and labels how often something was counted: once for each bucket, for a counter once.
type qualityCounts map[string][]uint64

// qualityNow returns what the quality metrics show at the moment; they only ever grow.
func qualityNow() (qualityCounts, error) {
	families, err := prometheus.DefaultGatherer.Gather()
	if err != nil {
		return nil, err
	}
	counts := qualityCounts{}
	for _, family := range families {
		if !strings.HasPrefix(family.GetName(), "vpa_quality_") {
			continue
		}
		for _, series := range family.GetMetric() {
			counts[seriesName(family, series)] = countsOf(series)
		}
	}
	return counts, nil
}

// since returns what has come since an earlier moment, without series to which nothing has.
func (now qualityCounts) since(before qualityCounts) qualityCounts {
	grown := qualityCounts{}
	for name, counts := range now {
		more, differs := make([]uint64, len(counts)), false
		for place, count := range counts {
			more[place] = count
			if old, known := before[name]; known {
				more[place] -= old[place]
			}
			differs = differs || more[place] != 0
		}
		if differs {
			grown[name] = more
		}
	}
	return grown
}

func seriesName(family *dto.MetricFamily, series *dto.Metric) string {
	parts := []string{}
	for _, label := range series.GetLabel() {
		parts = append(parts, label.GetName()+"="+label.GetValue())
	}
	sort.Strings(parts)
	return family.GetName() + " " + strings.Join(parts, ",")
}

func countsOf(series *dto.Metric) []uint64 {
	histogram := series.GetHistogram()
	if histogram == nil {
		return []uint64{uint64(series.GetCounter().GetValue())}
	}
	counts := []uint64{}
	for _, bucket := range histogram.GetBucket() {
		counts = append(counts, bucket.GetCumulativeCount())
	}
	return append(counts, histogram.GetSampleCount())
}
