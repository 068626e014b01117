// A node is a set of namespaces and a first process in it. What makes it a node of Kubernetes (mounts, links,
// programs) is in its configuration, which the testbed writes: a shell script and a list of services.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

type config struct {
	Namespaces []string  `json:"namespaces"`
	Cgroups    []string  `json:"cgroups"`
	Setup      string    `json:"setup"`
	Services   []service `json:"services"`
}

type service struct {
	Name string   `json:"name"`
	Args []string `json:"args"`
	Env  []string `json:"env"`
	Log  string   `json:"log"`
	// Files that must exist first: the sockets of the services that it needs.
	After []string `json:"after"`
}

var flagOf = map[string]uintptr{
	"net":    syscall.CLONE_NEWNET,
	"mount":  syscall.CLONE_NEWNS,
	"pid":    syscall.CLONE_NEWPID,
	"uts":    syscall.CLONE_NEWUTS,
	"ipc":    syscall.CLONE_NEWIPC,
	"cgroup": syscall.CLONE_NEWCGROUP,
}

const restartAfter = 500 * time.Millisecond
const stopWithin = 10 * time.Second

func read(path string) (config, error) {
	var c config
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	return c, err
}

// node starts the first process in namespaces of its own, waits until it has set itself up, prints its
// process number as this machine sees it, and leaves it alone.
func node(path string) error {
	c, err := read(path)
	if err != nil {
		return err
	}
	// The root of a cgroup namespace is wherever its maker is.
	for _, dir := range c.Cgroups {
		if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(os.Getpid())), 0); err != nil {
			return err
		}
	}
	var flags uintptr
	for _, name := range c.Namespaces {
		if flagOf[name] == 0 {
			return fmt.Errorf("no such namespace: %s", name)
		}
		flags |= flagOf[name]
	}
	reader, writer, err := os.Pipe()
	if err != nil {
		return err
	}
	child := exec.Command("/proc/self/exe", "init", path)
	child.Stdout, child.Stderr = os.Stderr, os.Stderr
	child.ExtraFiles = []*os.File{writer}
	child.SysProcAttr = &syscall.SysProcAttr{Cloneflags: flags, Setsid: true}
	if err := child.Start(); err != nil {
		return err
	}
	writer.Close()
	if word, _ := bufio.NewReader(reader).ReadString('\n'); word != "ready\n" {
		child.Wait()
		return errors.New("its setup failed")
	}
	fmt.Println(child.Process.Pid)
	return nil
}

// supervisor starts processes and reaps everything, its own and what others left it.
type supervisor struct {
	sync.Mutex
	ended map[int]chan syscall.WaitStatus
}

func (s *supervisor) start(args, env []string, log string) (int, chan syscall.WaitStatus, error) {
	out := os.Stderr
	if log != "" {
		file, err := os.OpenFile(log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
		if err != nil {
			return 0, nil, err
		}
		defer file.Close()
		out = file
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return 0, nil, err
	}
	defer null.Close()
	program, err := exec.LookPath(args[0])
	if err != nil {
		return 0, nil, err
	}
	s.Lock()
	defer s.Unlock()
	process, err := os.StartProcess(program, args, &os.ProcAttr{Env: env, Files: []*os.File{null, out, out}})
	if err != nil {
		return 0, nil, err
	}
	ended := make(chan syscall.WaitStatus, 1)
	s.ended[process.Pid] = ended
	return process.Pid, ended, nil
}

func (s *supervisor) reap() {
	for {
		var status syscall.WaitStatus
		s.Lock()
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		if pid > 0 && s.ended[pid] != nil {
			s.ended[pid] <- status
			delete(s.ended, pid)
		}
		s.Unlock()
		if pid <= 0 || (err != nil && err != syscall.EINTR) {
			return
		}
	}
}

func initialize(path string) error {
	c, err := read(path)
	if err != nil {
		return err
	}
	told := os.NewFile(3, "told")
	// Nobody else must hold it open: the maker waits for its end when the setup fails.
	syscall.CloseOnExec(3)
	signals := make(chan os.Signal, 64)
	signal.Notify(signals, syscall.SIGCHLD, syscall.SIGTERM)
	s := &supervisor{ended: map[int]chan syscall.WaitStatus{}}
	stop := make(chan struct{})
	go func() {
		stopping := false
		for received := range signals {
			if received == syscall.SIGTERM && !stopping {
				stopping = true
				close(stop)
			}
			s.reap()
		}
	}()
	_, ended, err := s.start([]string{"/bin/sh", "-e", c.Setup}, os.Environ(), "")
	if err != nil {
		return err
	}
	if status := <-ended; status != 0 {
		return fmt.Errorf("%s: exit code %d", c.Setup, status.ExitStatus())
	}
	fmt.Fprintln(told, "ready")
	told.Close()
	for _, one := range c.Services {
		go s.keep(one, stop)
	}
	<-stop
	if os.Getpid() == 1 {
		end()
	}
	return nil
}

// keep runs a service for as long as the node runs.
func (s *supervisor) keep(one service, stop chan struct{}) {
	for {
		for !exist(one.After) {
			select {
			case <-time.After(20 * time.Millisecond):
			case <-stop:
				return
			}
		}
		_, ended, err := s.start(one.Args, one.Env, one.Log)
		if err != nil {
			fmt.Fprintln(os.Stderr, "steward:", one.Name, err)
		} else {
			select {
			case status := <-ended:
				fmt.Fprintf(os.Stderr, "steward: %s ended (%d), starting it again\n", one.Name, status)
			case <-stop:
				return
			}
		}
		select {
		case <-time.After(restartAfter):
		case <-stop:
			return
		}
	}
}

func exist(files []string) bool {
	for _, file := range files {
		if _, err := os.Stat(file); err != nil {
			return false
		}
	}
	return true
}

// end is an orderly stop: everybody is asked to go, and who stays too long ends with us.
func end() {
	syscall.Kill(-1, syscall.SIGTERM)
	for deadline := time.Now().Add(stopWithin); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if !busy() {
			return
		}
	}
}

// busy says whether anybody is left but us and the shims, which ignore being asked.
func busy() bool {
	names, _ := filepath.Glob("/proc/[0-9]*/comm")
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err == nil && name != "/proc/1/comm" && !strings.HasPrefix(string(text), "containerd-shim") {
			return true
		}
	}
	return false
}
