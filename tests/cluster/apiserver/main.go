// An API server and the etcd that it needs, in one program: the first argument says which of the two runs.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"go.etcd.io/etcd/server/v3/embed"
	"k8s.io/component-base/cli"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
)

func main() {
	if len(os.Args) < 2 {
		fail(errors.New("say what to run: etcd FILE, or apiserver and its flags"))
	}
	part := os.Args[1]
	os.Args = append(os.Args[:1], os.Args[2:]...)
	if part == "apiserver" {
		os.Exit(cli.Run(apiserver.NewAPIServerCommand()))
	}
	if err := etcd(os.Args[1]); err != nil {
		fail(err)
	}
}

func etcd(file string) error {
	config, err := embed.ConfigFromFile(file)
	if err != nil {
		return err
	}
	server, err := embed.StartEtcd(config)
	if err != nil {
		return err
	}
	defer server.Close()
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGINT, syscall.SIGTERM)
	select {
	case <-stop:
		return nil
	case err := <-server.Err():
		return err
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
