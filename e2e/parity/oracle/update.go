package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vpa_types "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/features"
	updater "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/updater/logic"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/updater/priority"
)

// updateQuestion is an updater's life, round by round.
type updateQuestion struct {
	clusterQuestion
	Flags updaterFlags  `json:"flags"`
	Pods  []*corev1.Pod `json:"pods"`
	// Refusals says how the API server answers calls about a pod, by "<resize|annotate|evict> <name>".
	Refusals map[string]string `json:"refusals"`
	Rounds   []updateRound     `json:"rounds"`
}

// updateRound is a round with what has changed before it.
type updateRound struct {
	At   time.Time                          `json:"at"`
	VPAs []*vpa_types.VerticalPodAutoscaler `json:"vpas"`
	Pods []*corev1.Pod                      `json:"pods"`
	Gone []string                           `json:"gone"`
}

// updaterWorld is all that an updater reads and writes.
type updaterWorld struct {
	*caches
	asked  updateQuestion
	stream io.Writer
	calls  []any
	events []string
	// told is what each event told: one that is told again is only counted up. Names tell the moment and may be the
	// same for two events of one pod, which their messages tell apart.
	told map[told]string
}

// told names an event.
type told struct{ name, message string }

func askUpdate(question []byte) (any, error) {
	world := &updaterWorld{told: map[told]string{}}
	if err := json.Unmarshal(question, &world.asked); err != nil {
		return nil, err
	}
	rounds := world.asked.Rounds
	if len(rounds) > 0 && time.Now().After(rounds[0].At) {
		return nil, fmt.Errorf("it is %s already", time.Now().UTC().Format(time.RFC3339Nano))
	}
	upstream, err := world.updater()
	if err != nil {
		return nil, err
	}
	if features.Enabled(features.CPUStartupBoost) {
		defer upstream.ShutDown()
	}
	answers := []any{}
	for _, each := range rounds {
		time.Sleep(time.Until(each.At))
		if err := world.change(each); err != nil {
			return nil, err
		}
		world.calls, world.events = []any{}, []string{}
		deadline, cancel := context.WithTimeout(context.Background(), time.Minute)
		upstream.RunOnce(deadline)
		cancel()
		// Events are written behind the updater's back.
		synctest.Wait()
		slices.Sort(world.events)
		answers = append(answers, map[string]any{"calls": world.calls, "events": world.events})
	}
	return answers, nil
}

func (w *updaterWorld) updater() (updater.Updater, error) {
	flags := w.asked.Flags
	server := &apiServer{scales: w.asked.Scales, answer: w.answer}
	config, kubeClient, vpaClient := server.clients()
	w.caches = newCaches(kubeClient)
	if err := w.asked.fill(w.caches); err != nil {
		return nil, err
	}
	for _, pod := range w.asked.Pods {
		w.pods[named(pod)] = pod
	}
	steps, err := newCapping(w.caches)
	if err != nil {
		return nil, err
	}
	found := newTargets(config, kubeClient, w.caches)
	return updater.NewUpdater(
		kubeClient, vpaClient, w.caches, w.caches,
		flags.MinReplicas, flags.RateLimit, flags.RateBurst, flags.Tolerance,
		false, flags.SkipsBudget, flags.Threshold, flags.Lifetime, flags.AfterOOM,
		"", "", time.Minute,
		steps.processor, priority.NewScalingDirectionPodEvictionAdmission(),
		found.selectors, found.controllers, priority.NewProcessor(),
		"", flags.IgnoredSpaces, steps.calculators(),
	)
}

// change brings the caches up to date; the VPAs' own cache learns of them as from the API server.
func (w *updaterWorld) change(each updateRound) error {
	for _, vpa := range each.VPAs {
		vpa.SetGroupVersionKind(vpa_types.SchemeGroupVersion.WithKind("VerticalPodAutoscaler"))
		event := map[string]any{"type": "MODIFIED", "object": vpa}
		if err := json.NewEncoder(w.stream).Encode(event); err != nil {
			return err
		}
	}
	synctest.Wait()
	for _, pod := range each.Pods {
		w.pods[named(pod)] = pod
	}
	for _, name := range each.Gone {
		delete(w.pods, name)
	}
	return nil
}

func (w *updaterWorld) answer(asked call) (int, any) {
	switch {
	case asked.Method == "GET" && asked.isTo("verticalpodautoscalers"):
		return w.listOrWatch(asked)
	case asked.isTo("events") || asked.isTo("events", ""):
		return w.takeEvent(asked)
	case asked.Method == "PATCH" && asked.isTo("pods", "", "resize"):
		return w.act("resize", asked.segment(4)+"/"+asked.segment(2), asked.Body)
	case asked.Method == "PATCH" && asked.isTo("pods", ""):
		return w.act("annotate", asked.segment(3)+"/"+asked.segment(1), asked.Body)
	case asked.Method == "POST" && asked.isTo("pods", "", "eviction"):
		return w.act("evict", asked.segment(4)+"/"+asked.segment(2), nil)
	}
	panic(fmt.Sprintf("no answer to %s %s", asked.Method, asked.Path))
}

func (w *updaterWorld) listOrWatch(asked call) (int, any) {
	version := metav1.ListMeta{ResourceVersion: "1"}
	if _, isWatch := asked.Query["watch"]; !isWatch {
		kind := metav1.TypeMeta{Kind: "VerticalPodAutoscalerList", APIVersion: vpa_types.SchemeGroupVersion.String()}
		list := vpa_types.VerticalPodAutoscalerList{TypeMeta: kind, ListMeta: version}
		for _, vpa := range w.asked.VPAs {
			list.Items = append(list.Items, *vpa)
		}
		return 200, list
	}
	if _, isList := asked.Query["sendInitialEvents"]; isList {
		return refusal(422, metav1.StatusReasonInvalid, "lists are not streamed")
	}
	reader, writer := io.Pipe()
	w.stream = writer
	return 200, reader
}

func (w *updaterWorld) takeEvent(asked call) (int, any) {
	var event corev1.Event
	if err := json.Unmarshal(asked.Body, &event); err != nil {
		return refusal(400, metav1.StatusReasonBadRequest, err.Error())
	}
	if asked.Method == "POST" {
		about := event.InvolvedObject
		said := fmt.Sprintf("%s %s %s/%s", event.Reason, about.Kind, about.Namespace, about.Name)
		w.told[told{event.Name, event.Message}] = said
		w.events = append(w.events, said)
	} else {
		w.events = append(w.events, w.told[told{asked.segment(1), event.Message}])
	}
	return 201, event
}

// act records a call about a pod and answers it as the question asks for.
func (w *updaterWorld) act(verb, pod string, patch []byte) (int, any) {
	done := map[string]any{"do": verb, "pod": pod}
	if patch != nil {
		done["patch"] = json.RawMessage(patch)
	}
	w.calls = append(w.calls, done)
	switch w.asked.Refusals[verb+" "+pod] {
	case "capacity":
		cause := metav1.StatusCause{Type: "NodeCapacity", Message: "too large"}
		return refusal(403, metav1.StatusReasonForbidden, "the node is too small", cause)
	case "forbidden":
		return refusal(403, metav1.StatusReasonForbidden, "not allowed")
	case "invalid":
		return refusal(422, metav1.StatusReasonInvalid, "not valid")
	case "budget":
		return refusal(429, metav1.StatusReasonTooManyRequests, "a budget says no")
	case "missing":
		return notFound(pod)
	}
	if verb == "evict" {
		return 201, metav1.Status{Status: metav1.StatusSuccess}
	}
	return 200, w.pods[pod]
}
