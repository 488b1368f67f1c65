package main

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// cappingQuestion asks what a recommendation comes to for a pod.
type cappingQuestion struct {
	clusterQuestion
	Pod *corev1.Pod `json:"pod"`
}

func askCapping(question []byte) (any, error) {
	var asked cappingQuestion
	if err := json.Unmarshal(question, &asked); err != nil {
		return nil, err
	}
	_, kubeClient, _ := (&apiServer{}).clients()
	all := newCaches(kubeClient)
	if err := asked.fill(all); err != nil {
		return nil, err
	}
	steps, err := newCapping(all)
	if err != nil {
		return nil, err
	}
	answer := map[string]any{}
	// Upstream writes into what it is given, so each question gets its own.
	processed, notes, err := steps.processor.Apply(asked.VPAs[0].DeepCopy(), asked.Pod.DeepCopy())
	answer["processed"], answer["notes"], answer["isRefused"] = processed, notes, err != nil
	resources, notes, err := steps.provider.GetContainersResourcesForPod(asked.Pod, asked.VPAs[0])
	containers := []any{}
	for _, each := range resources {
		containers = append(containers, map[string]any{"requests": each.Requests, "limits": each.Limits})
	}
	answer["containers"], answer["allNotes"], answer["isPodRefused"] = containers, notes, err != nil
	return answer, nil
}

// quantitiesQuestion asks how quantities are read, compared and written.
type quantitiesQuestion struct {
	Texts []string `json:"texts"`
}

func askQuantities(question []byte) (any, error) {
	var asked quantitiesQuestion
	if err := json.Unmarshal(question, &asked); err != nil {
		return nil, err
	}
	answers := []any{}
	var before *resource.Quantity
	for _, text := range asked.Texts {
		quantity, err := resource.ParseQuantity(text)
		if err != nil {
			answers = append(answers, nil)
			continue
		}
		one := map[string]any{"text": quantity.String(), "value": quantity.Value(), "milli": quantity.MilliValue()}
		if before != nil {
			sum := before.DeepCopy()
			sum.Add(quantity)
			one["order"], one["sum"] = quantity.Cmp(*before), sum.String()
		}
		before = &quantity
		answers = append(answers, one)
	}
	return answers, nil
}
