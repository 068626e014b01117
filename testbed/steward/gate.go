// The gate: the one way between the machine's network and the testbed's, which has no link to it. It carries
// single TCP ports, each named on the command line, so no packet of the testbed's ranges exists outside.
package main

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"runtime"
	"strings"
	"syscall"
)

const setnsCall = 308 // amd64; see setnsNumber

// gate takes forwards of the form "in:LISTEN>DIAL" (listen in the other namespace, dial here) or
// "out:LISTEN>DIAL" (listen here, dial there).
func gate(file string, forwards []string) error {
	here, err := os.Open("/proc/self/ns/net")
	if err != nil {
		return err
	}
	there, err := os.Open(file)
	if err != nil {
		return err
	}
	inside, outside := threadIn(there), threadIn(here)
	failed := make(chan error)
	for _, forward := range forwards {
		direction, rest, _ := strings.Cut(forward, ":")
		from, to, ok := strings.Cut(rest, ">")
		if !ok {
			return fmt.Errorf("%q is no forward", forward)
		}
		listenIn, dialIn := outside, inside
		if direction == "in" {
			listenIn, dialIn = inside, outside
		}
		target, err := netip.ParseAddrPort(to)
		if err != nil {
			return err
		}
		var listener net.Listener
		listenIn(func() { listener, err = net.Listen("tcp4", from) })
		if err != nil {
			return err
		}
		go func() { failed <- serve(listener, dialIn, target) }()
	}
	return <-failed
}

func serve(listener net.Listener, in func(func()), target netip.AddrPort) error {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return err
		}
		go carry(conn.(*net.TCPConn), in, target)
	}
}

func carry(a *net.TCPConn, in func(func()), target netip.AddrPort) {
	defer a.Close()
	// Only the socket is made in the other namespace: it stays there, whoever connects it.
	var fd int
	var err error
	in(func() {
		fd, err = syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	})
	if err != nil {
		return
	}
	// Both ends are on this machine: the answer is immediate.
	if err := syscall.Connect(fd, &syscall.SockaddrInet4{Port: int(target.Port()), Addr: target.Addr().As4()}); err != nil {
		syscall.Close(fd)
		return
	}
	socket := os.NewFile(uintptr(fd), "socket")
	conn, err := net.FileConn(socket)
	socket.Close()
	if err != nil {
		return
	}
	b := conn.(*net.TCPConn)
	defer b.Close()
	done := make(chan struct{})
	go func() {
		io.Copy(b, a)
		b.CloseWrite()
		close(done)
	}()
	io.Copy(a, b)
	a.CloseWrite()
	<-done
}

// threadIn returns a function that runs another one on a thread that is in the given namespace for good.
func threadIn(namespace *os.File) func(func()) {
	type job struct {
		run  func()
		done chan struct{}
	}
	jobs := make(chan job)
	go func() {
		runtime.LockOSThread()
		if _, _, errno := syscall.RawSyscall(setnsNumber(), namespace.Fd(), syscall.CLONE_NEWNET, 0); errno != 0 {
			fmt.Fprintln(os.Stderr, "steward: entering the network namespace:", errno)
			os.Exit(1)
		}
		for j := range jobs {
			j.run()
			close(j.done)
		}
	}()
	return func(run func()) {
		j := job{run, make(chan struct{})}
		jobs <- j
		<-j.done
	}
}

func setnsNumber() uintptr {
	if runtime.GOARCH == "arm64" {
		return 268
	}
	return setnsCall
}
