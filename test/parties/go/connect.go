package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
)

type tlsFiles struct{ ca, cert, key string }

const maxMessage = 32 << 20

func connect(target string, files tlsFiles, pings time.Duration) (*grpc.ClientConn, error) {
	creds, err := credentialsOf(files)
	if err != nil {
		return nil, err
	}
	options := []grpc.DialOption{
		grpc.WithTransportCredentials(creds),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage), grpc.MaxCallSendMsgSize(maxMessage)),
	}
	if pings > 0 {
		options = append(options, grpc.WithKeepaliveParams(keepalive.ClientParameters{
			Time: pings, Timeout: 5 * time.Second, PermitWithoutStream: true,
		}))
	}
	return grpc.NewClient(target, options...)
}

func credentialsOf(files tlsFiles) (credentials.TransportCredentials, error) {
	if files.ca == "" {
		return insecure.NewCredentials(), nil
	}
	pem, err := os.ReadFile(files.ca)
	if err != nil {
		return nil, err
	}
	config := &tls.Config{RootCAs: x509.NewCertPool()}
	if !config.RootCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s has no certificate", files.ca)
	}
	if files.cert != "" {
		pair, err := tls.LoadX509KeyPair(files.cert, files.key)
		if err != nil {
			return nil, err
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return credentials.NewTLS(config), nil
}
