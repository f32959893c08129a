package main

import (
	"context"
	"strings"
	"sync"
	"time"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	auth "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// request asks about a GET of /api; token: of its Authorization header, may be "".
func request(route, token string) *auth.CheckRequest {
	headers := map[string]string{":method": "GET", ":path": "/api", ":authority": "a.example"}
	if token != "" {
		headers["authorization"] = "Bearer " + token
	}
	return &auth.CheckRequest{Attributes: &auth.AttributeContext{
		Request: &auth.AttributeContext_Request{Http: &auth.AttributeContext_HttpRequest{
			Method: "GET", Path: "/api", Host: "a.example", Scheme: "http", Headers: headers,
		}},
		ContextExtensions: map[string]string{"gatehouse.route": route},
	}}
}

func ask(ctx context.Context, c *client, in *auth.CheckRequest, options ...grpc.CallOption) (*auth.CheckResponse, error) {
	return auth.NewAuthorizationClient(c.conn).Check(ctx, in, options...)
}

// outcome says how a call of gRPC ended.
func outcome(err error) {
	said := status.Convert(err)
	say(map[string]any{"event": "end", "code": int(said.Code()), "message": said.Message()})
}

// check: the key of a route, a token.
func check(ctx context.Context, c *client) error {
	answer, err := ask(ctx, c, request(c.arg(0), c.arg(1)))
	if err == nil {
		say(map[string]any{
			"event":  "answer",
			"status": answer.GetStatus().GetCode(),
			"http":   int(answer.GetDeniedResponse().GetStatus().GetCode()),
		})
	}
	outcome(err)
	return nil
}

func deadline(ctx context.Context, c *client) error {
	late, stop := context.WithTimeout(ctx, 200*time.Millisecond)
	defer stop()
	_, err := ask(late, c, request("", ""))
	outcome(err)
	return nil
}

func cancel(ctx context.Context, c *client) error {
	left, leave := context.WithCancel(ctx)
	defer leave()
	go func() {
		if c.wait() == nil {
			leave()
		}
	}()
	_, err := ask(left, c, request("", ""))
	outcome(err)
	return nil
}

// binaryMetadata sends two values of one name, and every byte there is.
func binaryMetadata(ctx context.Context, c *client) error {
	bytes := make([]byte, 256)
	for at := range bytes {
		bytes[at] = byte(at)
	}
	with := metadata.AppendToOutgoingContext(ctx, "x-a", "1", "x-a", "2", "x-b-bin", string(bytes))
	_, err := ask(with, c, request("", ""))
	outcome(err)
	return nil
}

// compressed asks once with gzip, and then without.
func compressed(ctx context.Context, c *client) error {
	in := request("", strings.Repeat("x", 2000))
	_, err := ask(ctx, c, in, grpc.UseCompressor(gzip.Name))
	outcome(err)
	_, err = ask(ctx, c, in)
	outcome(err)
	return nil
}

// large sends 8 MiB, and says how much came back in a header.
func large(ctx context.Context, c *client) error {
	answer, err := ask(ctx, c, request("", strings.Repeat("x", 8<<20)))
	var length int
	for _, option := range answer.GetOkResponse().GetHeaders() {
		length += lengthOf(option.GetHeader())
	}
	say(map[string]any{"event": "answer", "length": length})
	outcome(err)
	return nil
}

func lengthOf(value *core.HeaderValue) int { return len(value.GetValue()) + len(value.GetRawValue()) }

// many asks 6,000 times at once over one connection.
func many(ctx context.Context, c *client) error {
	// One call before them: grpc-go then knows the server's SETTINGS, and waits beyond their limit.
	if _, err := ask(ctx, c, request("", "")); err != nil {
		return err
	}
	say(map[string]any{"event": "ready"})
	if err := c.wait(); err != nil {
		return err
	}
	codes := make(chan string)
	var calls sync.WaitGroup
	for range 6_000 {
		calls.Go(func() {
			_, err := ask(ctx, c, request("", ""))
			codes <- status.Code(err).String()
		})
	}
	go func() { calls.Wait(); close(codes) }()
	counts := map[string]int{}
	for code := range codes {
		counts[code]++
	}
	say(map[string]any{"event": "codes", "counts": counts})
	return nil
}

// keepaliveIdle lets the connection idle for the time of two PINGs, and says whether it was ever lost.
func keepaliveIdle(ctx context.Context, c *client) error {
	if _, err := ask(ctx, c, request("", "")); err != nil {
		return err
	}
	idle, stop := context.WithTimeout(ctx, 25*time.Second)
	defer stop()
	lost := c.conn.WaitForStateChange(idle, connectivity.Ready)
	_, err := ask(ctx, c, request("", ""))
	say(map[string]any{"event": "idle", "lost": lost})
	outcome(err)
	return nil
}
