module evenkeel.dev/e2e/kind

go 1.24.4

require (
	go.yaml.in/yaml/v3 v3.0.6
	sigs.k8s.io/kind v0.33.0
)

require github.com/pkg/errors v0.9.1 // indirect
