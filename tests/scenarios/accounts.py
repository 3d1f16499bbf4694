"""Who the controllers are to an API server: the chart's ServiceAccount, and how to be it."""

NAMESPACE = "elasticgpu-system"
CONTROLLER = "elasticgpu-controller"
ACCOUNTS = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts"
TOKEN_REQUEST = {
    "apiVersion": "authentication.k8s.io/v1",
    "kind": "TokenRequest",
    "spec": {"expirationSeconds": 7200},
}
