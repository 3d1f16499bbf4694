//go:build tools

// Package tools names the commands that the test cluster runs, so that go.mod pins them.
package tools

import (
	_ "k8s.io/kubernetes/cmd/kube-scheduler"
)
