// Command dashboard checks dashboards against Grafana's own schema: no field that it does not know, none of another
// type, none that is missing. It says what is wrong with each file, and ends with status 1 if anything is.
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/cog/plugins"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

func check(path string) error {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	read := dashboard.Dashboard{}
	if err := found(read.UnmarshalJSONStrict(raw)); err != nil {
		return err
	}
	return found(read.Validate())
}

// found returns an error that says something: the library gives an empty list of errors where there is none.
func found(err error) error {
	var all cog.BuildErrors
	if errors.As(err, &all) && len(all) == 0 {
		return nil
	}
	return err
}

func main() {
	plugins.RegisterDefaultPlugins()
	status := 0
	for _, path := range os.Args[1:] {
		if err := check(path); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", path, err)
			status = 1
		}
	}
	os.Exit(status)
}
