// The programs of a Kubernetes cluster in one binary: `kube apiserver FLAGS`, `kube kubelet FLAGS` and so on.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

// Only the command that runs is constructed, because commands register global flags and metrics.
func commandNamed(name string) *cobra.Command {
	switch name {
	case "apiserver":
		return apiserver.NewAPIServerCommand()
	case "controller-manager":
		return controllers.NewControllerManagerCommand()
	case "kubelet":
		return kubelet.NewKubeletCommand(context.Background())
	case "proxy":
		return proxy.NewProxyCommand()
	case "scheduler":
		return scheduler.NewSchedulerCommand()
	}
	return nil
}

func main() {
	name := ""
	if len(os.Args) > 1 {
		name = os.Args[1]
	}
	command := commandNamed(name)
	if command == nil {
		fmt.Fprintf(os.Stderr, "kube: %q is not apiserver, controller-manager, kubelet, proxy or scheduler\n", name)
		os.Exit(2)
	}
	os.Args = append([]string{"kube-" + name}, os.Args[2:]...)
	os.Exit(cli.Run(command))
}
