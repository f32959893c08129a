// Envoy Gateway for the tests: its own command, built from its module.
package main

import (
	"fmt"
	"os"

	"github.com/envoyproxy/gateway/cmd/envoy-gateway/root"
)

func main() {
	if err := root.GetRootCommand(nil).Execute(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
