// Command etcd is etcd's own main, reached through the server module: the module of
// the command itself pulls in etcdctl and etcdutl, which no test needs.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() {
	etcdmain.Main(os.Args)
}
