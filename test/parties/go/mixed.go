package main

import (
	"context"
	"fmt"
	"sync"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc/health/grpc_health_v1"
)

// mixed has streams of ADS and of health open on one connection, and between them 500 checks and 500 documents at once:
// a route to check, a route and the path of its document. It then waits for a change to be pushed.
func mixed(ctx context.Context, c *client) error {
	const clusters = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
	configuration, err := discovery.NewAggregatedDiscoveryServiceClient(c.conn).DeltaAggregatedResources(ctx)
	if err != nil {
		return err
	}
	node := &core.Node{Id: "mixed", Cluster: "*"}
	if err = configuration.Send(&discovery.DeltaDiscoveryRequest{Node: node, TypeUrl: clusters}); err != nil {
		return err
	}
	receive := func() (int, error) {
		changes, err := configuration.Recv()
		if err != nil {
			return 0, fmt.Errorf("ADS: %w", err)
		}
		return len(changes.GetResources()), configuration.Send(
			&discovery.DeltaDiscoveryRequest{TypeUrl: clusters, ResponseNonce: changes.GetNonce()})
	}
	first, err := receive()
	if err != nil {
		return err
	}
	watch, err := grpc_health_v1.NewHealthClient(c.conn).Watch(ctx, &grpc_health_v1.HealthCheckRequest{})
	if err != nil {
		return err
	}
	if _, err = watch.Recv(); err != nil {
		return err
	}
	var lock sync.Mutex
	counts := map[string]int{}
	count := func(kind string, status int32, err error) {
		lock.Lock()
		defer lock.Unlock()
		if err != nil {
			kind, status = err.Error(), 0
		}
		counts[fmt.Sprintf("%s %d", kind, status)]++
	}
	var calls sync.WaitGroup
	for range 500 {
		calls.Go(func() {
			answer, err := ask(ctx, c, request(c.arg(0), ""))
			count("check", int32(answer.GetDeniedResponse().GetStatus().GetCode()), err)
		})
		calls.Go(func() {
			answer, err := documentOf(ctx, c, c.arg(1), c.arg(2))
			count("document", int32(answer.GetStatus().GetCode()), err)
		})
	}
	calls.Wait()
	say(map[string]any{"event": "answers", "counts": counts, "clusters": first > 0})
	pushed, err := receive()
	say(map[string]any{"event": "pushed", "clusters": pushed})
	return err
}
