"""ElasticGPU: GPUs on Kubernetes as easy to share as disks."""
