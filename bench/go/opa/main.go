// The rule of the benchmark as OPA decides it: its Rego engine behind a server of grpc-go, with nothing around it that a
// policy agent has besides (decision logs, bundles). Arguments: its socket, the key set (JSON), the issuer, the audience.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net"
	"os"

	auth "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	typed "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
)

const policy = `package bench

import rego.v1

default allow := false

token := substring(input.attributes.request.http.headers.authorization, count("Bearer "), -1)

allow if {
	[valid, _, claims] := io.jwt.decode_verify(token, {
		"cert": data.jwks, "iss": data.issuer, "aud": data.audience,
	})
	valid
	"mcp-users" in claims.groups
}
`

type server struct {
	auth.UnimplementedAuthorizationServer
	query rego.PreparedEvalQuery
}

func (s server) Check(ctx context.Context, in *auth.CheckRequest) (*auth.CheckResponse, error) {
	http := in.GetAttributes().GetRequest().GetHttp()
	headers := make(map[string]any, len(http.GetHeaders()))
	for name, value := range http.GetHeaders() {
		headers[name] = value
	}
	for _, header := range http.GetHeaderMap().GetHeaders() {
		headers[header.GetKey()] = string(header.GetRawValue())
	}
	input := map[string]any{"attributes": map[string]any{"request": map[string]any{
		"http": map[string]any{"method": http.GetMethod(), "path": http.GetPath(), "host": http.GetHost(), "headers": headers},
	}}}
	results, err := s.query.Eval(ctx, rego.EvalInput(input))
	if err != nil {
		return nil, err
	}
	if results.Allowed() {
		return &auth.CheckResponse{
			Status:       &status.Status{},
			HttpResponse: &auth.CheckResponse_OkResponse{OkResponse: &auth.OkHttpResponse{}},
		}, nil
	}
	return &auth.CheckResponse{
		Status: &status.Status{Code: int32(code.Code_PERMISSION_DENIED)},
		HttpResponse: &auth.CheckResponse_DeniedResponse{DeniedResponse: &auth.DeniedHttpResponse{
			Status: &typed.HttpStatus{Code: typed.StatusCode_Forbidden},
		}},
	}, nil
}

func main() {
	socket, jwks, issuer, audience := os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	if !json.Valid([]byte(jwks)) {
		log.Fatal("the key set is no JSON")
	}
	data := inmem.NewFromObject(map[string]any{"jwks": jwks, "issuer": issuer, "audience": audience})
	query, err := rego.New(
		rego.Query("data.bench.allow"), rego.Module("bench.rego", policy), rego.Store(data),
	).PrepareForEval(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		log.Fatal(err)
	}
	grpcServer := grpc.NewServer()
	auth.RegisterAuthorizationServer(grpcServer, server{query: query})
	fmt.Println("ready")
	log.Fatal(grpcServer.Serve(listener))
}
