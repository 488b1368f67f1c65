package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/informers/core"
	informersv1 "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	listersv1 "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/target"
	controllerfetcher "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/target/controller_fetcher"
)

// Upstream's own settings of its cache of scales.
const (
	scaleFreshness = 10 * time.Minute
	scaleLifetime  = time.Hour
)

// named is what tells an object from another of its kind.
func named(object metav1.Object) string { return object.GetNamespace() + "/" + object.GetName() }

// inOrder returns the objects of a map by name: upstream's caches return theirs in random order, and where that order
// decides something the answer would not be defined.
func inOrder[T metav1.Object](objects map[string]T) []T {
	names := make([]string, 0, len(objects))
	for name := range objects {
		names = append(names, name)
	}
	slices.Sort(names)
	result := make([]T, 0, len(names))
	for _, name := range names {
		result = append(result, objects[name])
	}
	return result
}

func byName[T metav1.Object](objects []T) map[string]T {
	result := map[string]T{}
	for _, object := range objects {
		result[named(object)] = object
	}
	return result
}

func selected[T metav1.Object](objects map[string]T, namespace string, selector labels.Selector) []T {
	return slices.DeleteFunc(inOrder(objects), func(object T) bool {
		return (namespace != "" && object.GetNamespace() != namespace) || !selector.Matches(labels.Set(object.GetLabels()))
	})
}

// caches is upstream's informer factory, filled by hand and never started, whose pods and LimitRanges come in order.
type caches struct {
	informers.SharedInformerFactory
	pods        map[string]*corev1.Pod
	limitRanges map[string]*corev1.LimitRange
}

func newCaches(client kubernetes.Interface) *caches {
	return &caches{informers.NewSharedInformerFactory(client, 0), map[string]*corev1.Pod{}, map[string]*corev1.LimitRange{}}
}

// workloadOf decodes an object of one of the well-known kinds.
func workloadOf(raw json.RawMessage) (runtime.Object, error) {
	var kind metav1.TypeMeta
	if err := json.Unmarshal(raw, &kind); err != nil {
		return nil, err
	}
	kinds := map[string]runtime.Object{
		"CronJob":               &batchv1.CronJob{},
		"DaemonSet":             &appsv1.DaemonSet{},
		"Deployment":            &appsv1.Deployment{},
		"Job":                   &batchv1.Job{},
		"ReplicaSet":            &appsv1.ReplicaSet{},
		"ReplicationController": &corev1.ReplicationController{},
		"StatefulSet":           &appsv1.StatefulSet{},
	}
	object, known := kinds[kind.Kind]
	if !known {
		return nil, fmt.Errorf("%q is no well-known kind of workload", kind.Kind)
	}
	return object, json.Unmarshal(raw, object)
}

// informerOf returns the informer that holds objects of the same type.
func (c *caches) informerOf(object runtime.Object) cache.SharedIndexInformer {
	switch object.(type) {
	case *appsv1.DaemonSet:
		return c.Apps().V1().DaemonSets().Informer()
	case *appsv1.Deployment:
		return c.Apps().V1().Deployments().Informer()
	case *appsv1.ReplicaSet:
		return c.Apps().V1().ReplicaSets().Informer()
	case *appsv1.StatefulSet:
		return c.Apps().V1().StatefulSets().Informer()
	case *batchv1.CronJob:
		return c.Batch().V1().CronJobs().Informer()
	case *batchv1.Job:
		return c.Batch().V1().Jobs().Informer()
	}
	return c.Core().V1().ReplicationControllers().Informer()
}

func (c *caches) addWorkloads(raws []json.RawMessage) error {
	for _, raw := range raws {
		object, err := workloadOf(raw)
		if err != nil {
			return err
		}
		if err := c.informerOf(object).GetIndexer().Add(object); err != nil {
			return err
		}
	}
	return nil
}

// Core returns the caches of the core group.
func (c *caches) Core() core.Interface { return coreCaches{c.SharedInformerFactory.Core(), c} }

type coreCaches struct {
	core.Interface
	all *caches
}

func (c coreCaches) V1() informersv1.Interface { return coreV1Caches{c.Interface.V1(), c.all} }

type coreV1Caches struct {
	informersv1.Interface
	all *caches
}

func (c coreV1Caches) Pods() informersv1.TypedPodInformer {
	return podCache{c.Interface.Pods(), podLister{all: c.all.pods}}
}

func (c coreV1Caches) LimitRanges() informersv1.TypedLimitRangeInformer {
	return limitRangeCache{c.Interface.LimitRanges(), limitRangeLister{all: c.all.limitRanges}}
}

type podCache struct {
	informersv1.TypedPodInformer
	lister podLister
}

func (p podCache) Lister() listersv1.PodLister { return p.lister }

type limitRangeCache struct {
	informersv1.TypedLimitRangeInformer
	lister limitRangeLister
}

func (l limitRangeCache) Lister() listersv1.LimitRangeLister { return l.lister }

type podLister struct {
	listersv1.PodLister
	listersv1.PodNamespaceLister
	all       map[string]*corev1.Pod
	namespace string
}

func (p podLister) List(selector labels.Selector) ([]*corev1.Pod, error) {
	return selected(p.all, p.namespace, selector), nil
}

func (p podLister) Pods(namespace string) listersv1.PodNamespaceLister {
	return podLister{all: p.all, namespace: namespace}
}

type limitRangeLister struct {
	listersv1.LimitRangeLister
	listersv1.LimitRangeNamespaceLister
	all       map[string]*corev1.LimitRange
	namespace string
}

func (l limitRangeLister) List(selector labels.Selector) ([]*corev1.LimitRange, error) {
	return selected(l.all, l.namespace, selector), nil
}

func (l limitRangeLister) LimitRanges(namespace string) listersv1.LimitRangeNamespaceLister {
	return limitRangeLister{all: l.all, namespace: namespace}
}

// targets is how upstream finds the pods and the controllers of a target.
type targets struct {
	selectors   target.VpaTargetSelectorFetcher
	controllers controllerfetcher.ControllerFetcher
}

func newTargets(config *rest.Config, client kubernetes.Interface, all *caches) targets {
	// Only the renewal of what discovery said ends with this channel, and that never changes here.
	stop := make(chan struct{})
	close(stop)
	return targets{
		target.NewVpaTargetSelectorFetcher(config, client, all, stop),
		controllerfetcher.NewControllerFetcher(config, client, all, scaleFreshness, scaleLifetime, 1, stop),
	}
}

// split cuts a name of the form "namespace/name".
func split(name string) (string, string) {
	namespace, rest, _ := strings.Cut(name, "/")
	return namespace, rest
}
