// One program that is every Kubernetes binary the testbed runs. The name it is called by (argv[0], a symlink)
// picks the command, so that one link step and one file on disk serve the control plane and the nodes.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	_ "time/tzdata" // time zones of CronJobs, on machines without zoneinfo

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

// command makes the one command that was asked for. Only that one: several of them register the same
// global flags and metrics when they are made.
func command(name string) *cobra.Command {
	switch name {
	case "kube-apiserver":
		return apiserver.NewAPIServerCommand()
	case "kube-controller-manager":
		return controllermanager.NewControllerManagerCommand()
	case "kube-scheduler":
		return scheduler.NewSchedulerCommand()
	case "kubelet":
		return kubelet.NewKubeletCommand(context.Background())
	case "kube-proxy":
		return proxy.NewProxyCommand()
	}
	return nil
}

func main() {
	name := filepath.Base(os.Args[0])
	if name == "kubectl" {
		// kubectl prints its errors and picks its exit code itself.
		if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
			kubectlutil.CheckErr(err)
		}
		return
	}
	cmd := command(name)
	if cmd == nil {
		fmt.Fprintf(os.Stderr, "called as %q: call it as kube-apiserver, kube-controller-manager, kube-scheduler, kubelet, kube-proxy or kubectl\n", name)
		os.Exit(64)
	}
	os.Exit(cli.Run(cmd))
}
