// Command kind-configuration reads configurations of kind as kind's own types have them: no field that they do not have,
// none of another type. It prints the roles of the nodes after kind's defaults are filled in, one file a line, and ends with
// status 1 if a file cannot be read so.
package main

import (
	"fmt"
	"os"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"
)

const (
	wantedKind    = "Cluster"
	wantedVersion = "kind.x-k8s.io/v1alpha4"
)

func read(path string) (*v1alpha4.Cluster, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	decoder := yaml.NewDecoder(file)
	decoder.KnownFields(true)
	cluster := &v1alpha4.Cluster{}
	if err := decoder.Decode(cluster); err != nil {
		return nil, err
	}
	if cluster.Kind != wantedKind || cluster.APIVersion != wantedVersion {
		return nil, fmt.Errorf("it is a %s of %s, no %s of %s", cluster.Kind, cluster.APIVersion, wantedKind, wantedVersion)
	}
	v1alpha4.SetDefaultsCluster(cluster)
	return cluster, nil
}

func main() {
	status := 0
	for _, path := range os.Args[1:] {
		cluster, err := read(path)
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", path, err)
			status = 1
			continue
		}
		roles := make([]string, 0, len(cluster.Nodes))
		for _, node := range cluster.Nodes {
			roles = append(roles, string(node.Role))
		}
		fmt.Println(strings.Join(roles, " "))
	}
	os.Exit(status)
}
