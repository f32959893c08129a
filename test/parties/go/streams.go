package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	proc "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

func body(content []byte) *proc.ProcessingRequest {
	return &proc.ProcessingRequest{Request: &proc.ProcessingRequest_RequestBody{
		RequestBody: &proc.HttpBody{Body: content},
	}}
}

// process sends so many bodies of so many bytes to a server that says their sizes, and ends its side.
func process(ctx context.Context, c *client) error {
	count, size, err := countAndSize(c)
	if err != nil {
		return err
	}
	stream, err := proc.NewExternalProcessorClient(c.conn).Process(ctx)
	if err != nil {
		return err
	}
	sent := make(chan error, 1)
	go func() {
		for range count {
			if err := stream.Send(body(bytes.Repeat([]byte("x"), size))); err != nil {
				sent <- err
				return
			}
		}
		sent <- stream.CloseSend()
	}()
	received, length := 0, 0
	for {
		answer, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			outcome(err)
			return nil
		}
		received++
		length += len(answer.GetRequestBody().GetResponse().GetBodyMutation().GetBody())
	}
	say(map[string]any{"event": "answers", "count": received, "length": length})
	outcome(<-sent)
	return nil
}

func countAndSize(c *client) (count, size int, err error) {
	if count, err = strconv.Atoi(c.arg(0)); err != nil {
		return
	}
	size, err = strconv.Atoi(c.arg(1))
	return
}

// documentOf is the answer of a route, by its key, to a path: what Envoy would do for a well-known one.
func documentOf(ctx context.Context, c *client, route, path string) (*proc.ImmediateResponse, error) {
	with := metadata.AppendToOutgoingContext(ctx, "x-gatehouse-route", route)
	stream, err := proc.NewExternalProcessorClient(c.conn).Process(with)
	if err != nil {
		return nil, err
	}
	headers := &core.HeaderMap{}
	for _, pair := range [][2]string{
		{":method", "GET"}, {":path", path}, {":authority", "a.example"}, {":scheme", "http"},
	} {
		headers.Headers = append(headers.Headers, &core.HeaderValue{Key: pair[0], RawValue: []byte(pair[1])})
	}
	err = stream.Send(&proc.ProcessingRequest{Request: &proc.ProcessingRequest_RequestHeaders{
		RequestHeaders: &proc.HttpHeaders{Headers: headers, EndOfStream: true},
	}})
	if err != nil {
		return nil, err
	}
	answer, err := stream.Recv()
	return answer.GetImmediateResponse(), err
}

// document: the key of a route, a path.
func document(ctx context.Context, c *client) error {
	answer, err := documentOf(ctx, c, c.arg(0), c.arg(1))
	say(map[string]any{"event": "answer", "http": int(answer.GetStatus().GetCode()), "body": string(answer.GetBody())})
	return err
}

// ads asks for the listeners of a cluster of Envoys, by both ways, and acknowledges them.
func ads(ctx context.Context, c *client) error {
	const listeners = "type.googleapis.com/envoy.config.listener.v3.Listener"
	node := &core.Node{Id: "go", Cluster: c.arg(0)}
	service := discovery.NewAggregatedDiscoveryServiceClient(c.conn)
	world, err := service.StreamAggregatedResources(ctx)
	if err != nil {
		return err
	}
	if err = world.Send(&discovery.DiscoveryRequest{Node: node, TypeUrl: listeners}); err != nil {
		return err
	}
	whole, err := world.Recv()
	if err != nil {
		return fmt.Errorf("state of the world: %w", err)
	}
	err = world.Send(&discovery.DiscoveryRequest{
		TypeUrl: listeners, VersionInfo: whole.GetVersionInfo(), ResponseNonce: whole.GetNonce(),
	})
	if err != nil {
		return err
	}
	delta, err := service.DeltaAggregatedResources(ctx)
	if err != nil {
		return err
	}
	if err = delta.Send(&discovery.DeltaDiscoveryRequest{Node: node, TypeUrl: listeners}); err != nil {
		return err
	}
	changes, err := delta.Recv()
	if err != nil {
		return fmt.Errorf("delta: %w", err)
	}
	err = delta.Send(&discovery.DeltaDiscoveryRequest{TypeUrl: listeners, ResponseNonce: changes.GetNonce()})
	say(map[string]any{"event": "listeners", "world": len(whole.GetResources()), "delta": len(changes.GetResources())})
	return err
}

func health(ctx context.Context, c *client) error {
	answer, err := grpc_health_v1.NewHealthClient(c.conn).Check(ctx,
		&grpc_health_v1.HealthCheckRequest{Service: c.arg(0)})
	say(map[string]any{"event": "answer", "health": answer.GetStatus().String()})
	outcome(err)
	return nil
}

// watchHealth says each status until the stream ends.
func watchHealth(ctx context.Context, c *client) error {
	stream, err := grpc_health_v1.NewHealthClient(c.conn).Watch(ctx,
		&grpc_health_v1.HealthCheckRequest{Service: c.arg(0)})
	if err != nil {
		return err
	}
	for {
		answer, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			err = nil
		}
		if answer == nil {
			outcome(err)
			return nil
		}
		say(map[string]any{"event": "health", "health": answer.GetStatus().String()})
	}
}

// drain has 50 checks and a stream under way while the server drains, and asks once more when it has begun to.
func drain(ctx context.Context, c *client) error {
	stream, err := proc.NewExternalProcessorClient(c.conn).Process(ctx)
	if err != nil {
		return err
	}
	answers := func() error {
		if err := stream.Send(body([]byte("x"))); err != nil {
			return err
		}
		_, err := stream.Recv()
		return err
	}
	if err = answers(); err != nil {
		return err
	}
	ended := make([]codes.Code, 50)
	var calls sync.WaitGroup
	for at := range ended {
		calls.Go(func() {
			_, err := ask(ctx, c, request("", ""))
			ended[at] = status.Code(err)
		})
	}
	// The server's GOAWAY has come.
	c.conn.WaitForStateChange(ctx, connectivity.Ready)
	_, late := ask(ctx, c, request("", ""))
	say(map[string]any{"event": "late", "code": int(status.Code(late))})
	again := answers()
	if err = stream.CloseSend(); err != nil {
		return err
	}
	_, end := stream.Recv()
	calls.Wait()
	counts := map[string]int{}
	for _, code := range ended {
		counts[code.String()]++
	}
	say(map[string]any{
		"event": "drained", "counts": counts, "stream": again == nil, "ended": errors.Is(end, io.EOF),
	})
	return nil
}
