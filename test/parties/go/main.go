// A client of grpc-go, as tests drive it: one case a run, by its name. It writes what happens as lines of JSON, and reads
// a line where the test has to do something first.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"time"

	"google.golang.org/grpc"
)

type client struct {
	conn *grpc.ClientConn
	from *bufio.Reader
	args []string
}

type scenario func(context.Context, *client) error

var scenarios = map[string]scenario{
	"ads":         ads,
	"cancel":      cancel,
	"check":       check,
	"compressed":  compressed,
	"deadline":    deadline,
	"document":    document,
	"drain":       drain,
	"health":      health,
	"keepalive":   keepaliveIdle,
	"large":       large,
	"many":        many,
	"metadata":    binaryMetadata,
	"mixed":       mixed,
	"process":     process,
	"watchHealth": watchHealth,
}

func main() {
	var files tlsFiles
	target := flag.String("target", "", "host:port, or unix:PATH")
	flag.StringVar(&files.ca, "ca", "", "PEM of the authority; absent, the connection is plain")
	flag.StringVar(&files.cert, "cert", "", "PEM of the client's certificate")
	flag.StringVar(&files.key, "key", "", "PEM of its key")
	pings := flag.Duration("ping", 0, "a PING so often, also without a call")
	flag.Parse()
	if err := run(*target, files, *pings); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(target string, files tlsFiles, pings time.Duration) error {
	scenario, known := scenarios[flag.Arg(0)]
	if !known {
		return fmt.Errorf("no such case: %q", flag.Arg(0))
	}
	conn, err := connect(target, files, pings)
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx, stop := context.WithTimeout(context.Background(), 100*time.Second)
	defer stop()
	return scenario(ctx, &client{conn, bufio.NewReader(os.Stdin), flag.Args()[1:]})
}

// arg is the case's argument, or "".
func (c *client) arg(at int) string {
	if at < len(c.args) {
		return c.args[at]
	}
	return ""
}

// say writes a line for the test.
func say(fields map[string]any) {
	line, err := json.Marshal(fields)
	if err != nil {
		panic(err)
	}
	fmt.Println(string(line))
}

// wait returns when the test has written a line.
func (c *client) wait() error {
	_, err := c.from.ReadString('\n')
	return err
}
