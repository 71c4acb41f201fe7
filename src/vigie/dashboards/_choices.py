"""Variables shared by several dashboards, and selectors that use them."""

from __future__ import annotations

from vigie.model.dashboard import Variable

HOW = Variable("how", "Across GPUs", choices=("avg", "min", "max"), default="avg")
NODES = Variable("node", "Nodes", metric='up{job="node"}', by="instance", multi=True)
A_NODE = Variable("node", "Node", metric='up{job="node"}', by="instance")
A_GPU_NODE = Variable("node", "Node", metric="vigie_gpu_info", by="instance")
GPUS = Variable("gpu", "GPUs", metric='vigie_gpu_info{instance=~"$node"}', by="gpu", multi=True)
A_GPU = Variable("gpu", "GPU", metric='vigie_gpu_info{instance=~"$node"}', by="gpu")
A_JOB = Variable("job", "Job", metric='vigie_holder_info{kind="job"}', by="holder")
A_USER = Variable("user", "User", metric='vigie_holder_info{user!=""}', by="user")

ON_NODE = 'instance=~"$node"'
# Series of agents: a relayed or scraped node exporter has most of them, too.
OF_AGENTS = 'job="node"'
ON_HOST = f"{ON_NODE}, {OF_AGENTS}"
ON_GPU = 'instance=~"$node", gpu=~"$gpu"'
OF_JOB = 'vigie_holder_info{kind="job", holder=~"$job", resource!="queue"}'
OF_USER = 'vigie_holder_info{user=~"$user"}'
NAME = "{{instance}}:{{gpu}}"
# Physical devices, for sums: traffic of the others passes through these.
A_DISK = 'device!~"loop.*|z?ram.*|dm-.*|md.*"'
A_WIRE = 'device!~"lo|veth.*|docker.*|br.*|virbr.*|cni.*|cali.*|flannel.*|tun.*|bond.*|team.*|ib.*|.+[.].+"'
