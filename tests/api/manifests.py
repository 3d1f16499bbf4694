"""What users write, word for word."""

SEED = """\
apiVersion: elasticgpu.io/v1alpha1
kind: ElasticGPUClass
metadata:
  name: qgpu-class
spec:
  provisioner: elasticgpu.io/qgpu
  reclaimPolicy: Retain
  eGPUBindingMode: Immediate
---
apiVersion: elasticgpu.io/v1alpha1
kind: ElasticGPUClaim
metadata:
  name: qgpu-egpuc
spec:
  storageClassName: qgpu-class
  resources:
    requests:
      tke.cloud.tencent.com/qgpu-core: 10
      tke.cloud.tencent.com/qgpu-memory: 4Gi
---
apiVersion: v1
kind: Pod
metadata:
  name: qgpu-pod
  annotations:
    elasticgpu.io/egpuc-test: qgpu-egpuc
spec:
  containers:
  - name: test
    image: localhost/busybox:1
    imagePullPolicy: Never
"""
"""Class, claim and pod of the design's own example."""

FULL_CLAIM = """\
apiVersion: elasticgpu.io/v1alpha1
kind: ElasticGPUClaim
metadata:
  name: everything
  namespace: team
  labels: {app: trainer}
  annotations: {note: a person's}
  finalizers: [elasticgpu.io/claim-protection]
  ownerReferences:
  - {apiVersion: v1, kind: Pod, name: trainer-0, uid: u0, controller: true}
spec:
  elasticGPUClassName: shares
  resources:
    requests: {elasticgpu.io/gpu-core: "30", elasticgpu.io/gpu-memory: 3000}
  selector:
    matchLabels: {zone: a}
    matchExpressions:
    - {key: tier, operator: In, values: [gold, silver]}
  gpuSelector: {model: h200, memory: 100Gi, matchLabels: {pool: a}}
  elasticGPUName: egpu-1
  colocateWith: [other]
  priorityClassName: high
  shared: false
status:
  phase: Bound
  className: shares
  capacity: {elasticgpu.io/gpu-core: 30}
  conditions:
  - {type: Bound, status: "True", reason: Bound, message: to egpu-1, lastTransitionTime: t1}
  users:
  - {podUid: u0, podName: trainer-0, nodeName: node-0, containers: [main]}
"""
"""A claim with every field, as the API server would hand it back."""

DEVICE = """\
apiVersion: elasticgpu.io/v1alpha1
kind: ElasticGPU
metadata:
  name: egpu-1
  uid: u1
  resourceVersion: "7"
spec:
  capacity: {elasticgpu.io/gpu-core: 30, elasticgpu.io/gpu-memory: 4Gi}
  elasticGPUClassName: shares
  reclaimPolicy: Delete
  claimRef: {namespace: team, name: everything, uid: c1}
  nodeName: node-0
  source:
    driver: elasticgpu.io/qgpu
    handle: k1
    devices:
    - {gpu: card-0, uuid: GPU-0, core: 30, memory: 4294967296}
    attributes: {policy: fixed-share}
status:
  phase: Bound
  preparedFor: [u0]
"""
"""A bound device."""

CARD = """\
apiVersion: elasticgpu.io/v1alpha1
kind: GPU
metadata:
  name: card-0
spec:
  nodeName: node-0
  modes: [qgpu]
status:
  index: 0
  uuid: GPU-0
  model: NVIDIA H200
  memory: 143771Mi
  numaNode: 0
  mig:
  - {name: 1g.18gb, id: 19, memory: 16384Mi, slices: 1, starts: [0, 1], max: 7}
  links:
  - {peer: card-1, kind: NVLink, bandwidth: 478000}
  health: Healthy
  allocated:
  - {elasticGPU: egpu-1, claim: team/everything, pods: [trainer-0], core: 30, memory: 4Gi}
"""
"""A card with somebody on it."""

TEMPLATE = """\
apiVersion: elasticgpu.io/v1alpha1
kind: ElasticGPUClaimTemplate
metadata:
  name: each
spec:
  metadata:
    labels: {app: trainer}
  spec:
    resources:
      requests: {elasticgpu.io/gpu: 1}
"""
"""One whole card a pod."""
