module evenkeel.dev/e2e/dashboard

go 1.24.4

require github.com/grafana/grafana-foundation-sdk/go v0.0.22
