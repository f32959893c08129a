// A yardstick: a server of grpc-go with the generated types, as every one has. Its ext_authz lets everything in, and its
// ext_proc passes every message on unchanged. Argument: its socket.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"os"

	auth "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	proc "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
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

type processor struct {
	proc.UnimplementedExternalProcessorServer
}

func (processor) Process(stream proc.ExternalProcessor_ProcessServer) error {
	for {
		request, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := stream.Send(answer(request)); err != nil {
			return err
		}
	}
}

func answer(request *proc.ProcessingRequest) *proc.ProcessingResponse {
	headers := &proc.HeadersResponse{Response: &proc.CommonResponse{HeaderMutation: &proc.HeaderMutation{}}}
	switch part := request.Request.(type) {
	case *proc.ProcessingRequest_RequestHeaders:
		return &proc.ProcessingResponse{Response: &proc.ProcessingResponse_RequestHeaders{RequestHeaders: headers}}
	case *proc.ProcessingRequest_ResponseHeaders:
		return &proc.ProcessingResponse{Response: &proc.ProcessingResponse_ResponseHeaders{ResponseHeaders: headers}}
	case *proc.ProcessingRequest_RequestBody:
		return &proc.ProcessingResponse{Response: &proc.ProcessingResponse_RequestBody{RequestBody: passedOn(part.RequestBody)}}
	case *proc.ProcessingRequest_ResponseBody:
		return &proc.ProcessingResponse{Response: &proc.ProcessingResponse_ResponseBody{ResponseBody: passedOn(part.ResponseBody)}}
	case *proc.ProcessingRequest_RequestTrailers:
		return &proc.ProcessingResponse{Response: &proc.ProcessingResponse_RequestTrailers{RequestTrailers: &proc.TrailersResponse{}}}
	default:
		return &proc.ProcessingResponse{Response: &proc.ProcessingResponse_ResponseTrailers{ResponseTrailers: &proc.TrailersResponse{}}}
	}
}

func passedOn(body *proc.HttpBody) *proc.BodyResponse {
	streamed := &proc.StreamedBodyResponse{Body: body.Body, EndOfStream: body.EndOfStream}
	mutation := &proc.BodyMutation{Mutation: &proc.BodyMutation_StreamedResponse{StreamedResponse: streamed}}
	return &proc.BodyResponse{Response: &proc.CommonResponse{BodyMutation: mutation}}
}

func main() {
	listener, err := net.Listen("unix", os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	grpcServer := grpc.NewServer()
	auth.RegisterAuthorizationServer(grpcServer, server{})
	proc.RegisterExternalProcessorServer(grpcServer, processor{})
	fmt.Println("ready")
	log.Fatal(grpcServer.Serve(listener))
}
