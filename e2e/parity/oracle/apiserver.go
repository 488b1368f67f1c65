package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	vpa_clientset "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/client/clientset/versioned"
)

// call is one request to the API server.
type call struct {
	Method, Path string
	Query        map[string][]string
	Body         []byte
}

// isTo says whether the path ends in these segments, the empty one standing for any.
func (c call) isTo(segments ...string) bool {
	found := strings.Split(c.Path, "/")
	if len(found) < len(segments) {
		return false
	}
	for i, segment := range found[len(found)-len(segments):] {
		if segments[i] != "" && segments[i] != segment {
			return false
		}
	}
	return true
}

// segment returns a segment of the path counted from its end, the last one being 1.
func (c call) segment(fromEnd int) string {
	found := strings.Split(c.Path, "/")
	return found[len(found)-fromEnd]
}

// apiServer is a transport that answers in place of a server: discovery and scales by itself, the rest by answer.
type apiServer struct {
	// scales holds the scale subresources there are, by path of the object.
	scales map[string]json.RawMessage
	answer func(call) (int, any)
}

// The one kind that is not well known but has a scale subresource, and one that has none.
const (
	scalableGroup = "example.com"
	scalablePath  = "/apis/example.com/v1"
)

func (s *apiServer) config() *rest.Config {
	return &rest.Config{Host: "http://upstream.invalid", Transport: s, QPS: -1}
}

func (s *apiServer) clients() (*rest.Config, *kubernetes.Clientset, *vpa_clientset.Clientset) {
	config := s.config()
	return config, kubernetes.NewForConfigOrDie(config), vpa_clientset.NewForConfigOrDie(config)
}

// RoundTrip answers a request.
func (s *apiServer) RoundTrip(request *http.Request) (*http.Response, error) {
	asked := call{Method: request.Method, Path: request.URL.Path, Query: request.URL.Query()}
	if request.Body != nil {
		body, err := io.ReadAll(request.Body)
		if err != nil {
			return nil, err
		}
		asked.Body = body
	}
	code, answer := s.respond(asked)
	if stream, ok := answer.(io.ReadCloser); ok {
		return response(request, code, stream), nil
	}
	body, err := json.Marshal(answer)
	if err != nil {
		return nil, err
	}
	return response(request, code, io.NopCloser(bytes.NewReader(body))), nil
}

func response(request *http.Request, code int, body io.ReadCloser) *http.Response {
	header := http.Header{"Content-Type": {"application/json"}}
	return &http.Response{StatusCode: code, Header: header, Body: body, ContentLength: -1, Request: request, ProtoMajor: 1, ProtoMinor: 1}
}

func (s *apiServer) respond(asked call) (int, any) {
	switch {
	case asked.Path == "/api":
		return http.StatusOK, metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}}
	case asked.Path == "/apis":
		version := metav1.GroupVersionForDiscovery{GroupVersion: scalableGroup + "/v1", Version: "v1"}
		group := metav1.APIGroup{Name: scalableGroup, Versions: []metav1.GroupVersionForDiscovery{version}, PreferredVersion: version}
		return http.StatusOK, metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}, Groups: []metav1.APIGroup{group}}
	case asked.Path == "/api/v1":
		return http.StatusOK, resources("v1")
	case asked.Path == scalablePath:
		return http.StatusOK, resources(scalableGroup+"/v1",
			metav1.APIResource{Name: "foos", SingularName: "foo", Kind: "Foo", Namespaced: true, Verbs: metav1.Verbs{"get"}},
			metav1.APIResource{Name: "foos/scale", Kind: "Scale", Group: "autoscaling", Version: "v1", Namespaced: true, Verbs: metav1.Verbs{"get"}},
			metav1.APIResource{Name: "bars", SingularName: "bar", Kind: "Bar", Namespaced: true, Verbs: metav1.Verbs{"get"}})
	case strings.HasPrefix(asked.Path, scalablePath):
		if scale, found := s.scales[strings.TrimPrefix(asked.Path, scalablePath)]; found {
			return http.StatusOK, scale
		}
		return notFound(asked.segment(2))
	}
	return s.answer(asked)
}

func resources(groupVersion string, list ...metav1.APIResource) metav1.APIResourceList {
	kind := metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}
	return metav1.APIResourceList{TypeMeta: kind, GroupVersion: groupVersion, APIResources: list}
}

func notFound(name string) (int, any) {
	return refusal(http.StatusNotFound, metav1.StatusReasonNotFound, `"`+name+`" not found`)
}

func refusal(code int32, reason metav1.StatusReason, message string, causes ...metav1.StatusCause) (int, any) {
	status := metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure,
		Code:     code,
		Reason:   reason,
		Message:  message,
	}
	if len(causes) > 0 {
		status.Details = &metav1.StatusDetails{Causes: causes}
	}
	return int(code), status
}
