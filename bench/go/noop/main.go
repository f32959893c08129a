// A yardstick: an ext_authz server of grpc-go with the generated types, as every one has, that lets everything in. Argument:
// its socket.
package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"os"

	auth "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
)

type server struct {
	auth.UnimplementedAuthorizationServer
}

func (server) Check(context.Context, *auth.CheckRequest) (*auth.CheckResponse, error) {
	return &auth.CheckResponse{
		Status:       &status.Status{},
		HttpResponse: &auth.CheckResponse_OkResponse{OkResponse: &auth.OkHttpResponse{}},
	}, nil
}

func main() {
	listener, err := net.Listen("unix", os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	grpcServer := grpc.NewServer()
	auth.RegisterAuthorizationServer(grpcServer, server{})
	fmt.Println("ready")
	log.Fatal(grpcServer.Serve(listener))
}
