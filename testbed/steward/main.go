// The testbed's one small program on the Linux side, from the standard library only:
//
//	steward node <config>    makes the namespaces of a node (or of the world around the nodes) and its first process
//	steward gate <netns> …   carries TCP connections between this network namespace and another
//	steward pause            sleeps and reaps: the sandbox of every Pod
package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	mode := ""
	if len(os.Args) > 1 {
		mode = os.Args[1]
	}
	var err error
	switch mode {
	case "node":
		err = node(os.Args[2])
	case "init":
		err = initialize(os.Args[2])
	case "gate":
		err = gate(os.Args[2], os.Args[3:])
	case "pause", "":
		pause()
	default:
		err = fmt.Errorf("no such mode: %s", mode)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "steward:", err)
		os.Exit(1)
	}
}

func pause() {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGCHLD, syscall.SIGTERM, syscall.SIGINT)
	for s := range signals {
		if s != syscall.SIGCHLD {
			return
		}
		for {
			if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); pid <= 0 || err != nil {
				break
			}
		}
	}
}
