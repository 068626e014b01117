// The node's half of the testbed's storage: a CSI driver whose volumes are images of ext4, mounted through loop
// devices, that hold as much as their claim asked for. A full volume says ENOSPC, an expanded one has room again, and fsGroup works,
// because the kubelet treats them like any other disk. The controller's half is the testbed's provisioner.
package main

import (
	"context"
	"flag"
	"log"
	"net"
	"os"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	registration "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

func main() {
	d := &driver{}
	var endpoint, registrar string
	flag.StringVar(&d.name, "driver", "", "name of the driver")
	flag.StringVar(&d.node, "node", "", "name of this node")
	flag.StringVar(&d.images, "images", "", "directory of the images")
	flag.StringVar(&endpoint, "endpoint", "", "socket of the driver")
	flag.StringVar(&registrar, "registrar", "", "socket by which the kubelet learns of the driver")
	flag.Parse()

	server := grpc.NewServer(grpc.UnaryInterceptor(logged))
	csi.RegisterIdentityServer(server, d)
	csi.RegisterNodeServer(server, d)
	go serve(server, endpoint)

	announcer := grpc.NewServer()
	registration.RegisterRegistrationServer(announcer, &announcement{name: d.name, endpoint: endpoint})
	serve(announcer, registrar)
}

func serve(server *grpc.Server, socket string) {
	os.Remove(socket)
	listener, err := net.Listen("unix", socket)
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(server.Serve(listener))
}

func logged(ctx context.Context, request any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	response, err := handler(ctx, request)
	if err != nil {
		log.Printf("%s: %v", info.FullMethod, err)
	}
	return response, err
}

type announcement struct {
	registration.UnsafeRegistrationServer
	name, endpoint string
}

func (a *announcement) GetInfo(context.Context, *registration.InfoRequest) (*registration.PluginInfo, error) {
	return &registration.PluginInfo{
		Type: registration.CSIPlugin, Name: a.name, Endpoint: a.endpoint, SupportedVersions: []string{"1.0.0"},
	}, nil
}

func (a *announcement) NotifyRegistrationStatus(_ context.Context, s *registration.RegistrationStatus) (*registration.RegistrationStatusResponse, error) {
	if !s.PluginRegistered {
		log.Fatalf("the kubelet refused the driver: %s", s.Error)
	}
	return &registration.RegistrationStatusResponse{}, nil
}
