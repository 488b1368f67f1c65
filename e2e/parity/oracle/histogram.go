package main

import (
	"encoding/json"
	"fmt"
	"time"

	vpa_types "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/recommender/model"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/recommender/util"
)

// histogramQuestion is a course of operations on several histograms of one resource.
type histogramQuestion struct {
	Resource string          `json:"resource"`
	HalfLife time.Duration   `json:"halfLife"`
	Rows     int             `json:"rows"`
	Steps    []histogramStep `json:"steps"`
}

type histogramStep struct {
	Do      string                         `json:"do"`
	Samples []histogramSample              `json:"samples"`
	Pairs   [][2]int                       `json:"pairs"`
	Shares  []float64                      `json:"shares"`
	Row     int                            `json:"row"`
	Stored  *vpa_types.HistogramCheckpoint `json:"stored"`
}

type histogramSample struct {
	Row     int     `json:"row"`
	Amount  int64   `json:"amount"`
	Weight  float64 `json:"weight"`
	At      int64   `json:"at"`
	IsTaken bool    `json:"taken"`
}

type histograms struct {
	kind     func() util.Histogram
	unit     float64
	rows     []util.Histogram
	answered []any
}

func askHistogram(question []byte) (any, error) {
	var asked histogramQuestion
	if err := json.Unmarshal(question, &asked); err != nil {
		return nil, err
	}
	all := histograms{unit: 1, rows: make([]util.Histogram, asked.Rows), answered: []any{}}
	config := model.NewAggregationsConfig(time.Hour, 1, asked.HalfLife, asked.HalfLife, 1, 0)
	all.kind = func() util.Histogram { return util.NewDecayingHistogram(config.MemoryHistogramOptions, asked.HalfLife) }
	if asked.Resource == "cpu" {
		all.unit = 1000
		all.kind = func() util.Histogram { return util.NewDecayingHistogram(config.CPUHistogramOptions, asked.HalfLife) }
	}
	for row := range all.rows {
		all.rows[row] = all.kind()
	}
	for _, step := range asked.Steps {
		if err := all.take(step); err != nil {
			return nil, err
		}
	}
	return all.answered, nil
}

func (h *histograms) take(step histogramStep) error {
	switch step.Do {
	case "samples":
		for _, sample := range step.Samples {
			change := h.rows[sample.Row].AddSample
			if sample.IsTaken {
				change = h.rows[sample.Row].SubtractSample
			}
			change(float64(sample.Amount)/h.unit, sample.Weight, time.Unix(0, sample.At).UTC())
		}
	case "merge":
		for _, pair := range step.Pairs {
			h.rows[pair[0]].Merge(h.rows[pair[1]])
		}
	case "percentiles":
		for _, row := range h.rows {
			found := []any{row.IsEmpty()}
			for _, share := range step.Shares {
				found = append(found, row.Percentile(share))
			}
			h.answered = append(h.answered, found)
		}
	case "save":
		for _, row := range h.rows {
			saved, err := row.SaveToChekpoint()
			if err != nil {
				return err
			}
			h.answered = append(h.answered, saved)
		}
	case "load":
		h.rows[step.Row] = h.kind()
		h.answered = append(h.answered, h.rows[step.Row].LoadFromCheckpoint(step.Stored) == nil)
	default:
		return fmt.Errorf("unknown step %q", step.Do)
	}
	return nil
}
