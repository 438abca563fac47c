"""A small file of every kind, of our own making.

Hosts are called by words, so that the fuzzer can tell which of them a broken file still names.
"""

from dataclasses import dataclass

HOSTS = ("alpha", "bravo", "charlie", "delta", "echo", "foxtrot")


@dataclass(frozen=True)
class Example:
    """A file, its kind, and whether ``--gpus-per-node`` has to be given."""

    kind: str
    text: str
    gpus: int | None = 8


TREE = """\
# two leaves, described after the spine that lists them
SwitchName=top Switches=left,right
SwitchName=left Nodes=alpha,charlie LinkSpeed=900
switchname=right nodes=bravo,delta
SwitchName=no-topology Nodes=echo,foxtrot
"""

BLOCKS = """\
BlockName=one Nodes=alpha,bravo
BlockName=two Nodes=charlie
BlockName=three
BlockName=four Nodes=delta,echo,foxtrot
BlockSizes=3,6
"""

RINGS = "RingName=one Nodes=alpha,bravo,charlie\nRingName=two Nodes=delta,echo,foxtrot\n"

SHOWN = """\
SwitchName=left Level=0 LinkSpeed=1 Nodes=alpha,charlie
SwitchName=right Level=0 LinkSpeed=1 Nodes=bravo,delta
SwitchName=top Level=1 LinkSpeed=1 Nodes=alpha,bravo,charlie,delta Switches=left,right
"""

SHOWN_BLOCKS = """\
BlockName=b1 BlockIndex=0 Nodes=alpha,bravo BlockSize=2
BlockName=b2 BlockIndex=1 Nodes=charlie,delta BlockSize=2
BlockName=b3 BlockIndex=2 Nodes=echo,foxtrot BlockSize=2
AggregatedBlock=b[1-2] BlockIndex=3 Nodes=alpha,bravo,charlie,delta BlockSize=4
AggregatedBlock=b3 BlockIndex=4 Nodes=echo,foxtrot BlockSize=4
"""

TOPOLOGIES = """\
---
- topology: first
  cluster_default: false
  ring:
    rings:
      - ring: loop
        nodes: alpha,echo,foxtrot
- topology: second
  cluster_default: true
  tree:
    switches:
      - switch: top
        children: left,right
      - switch: left
        nodes: alpha,charlie
      - switch: right
        nodes: bravo,delta
- topology: third
  flat: true
"""

BLOCK_YAML = """\
- topology: only
  block:
    block_sizes: [2, 4]
    blocks:
      - {block: one, nodes: "alpha,bravo"}
      - {block: two, nodes: "charlie,delta"}
      - {block: three, nodes: "echo,foxtrot"}
"""

NODES = """\
NodeName=alpha Arch=x86_64 CoresPerSocket=48
   CPUAlloc=0 CPUTot=96 CPULoad=0.01
   Gres=gpu:h100:8(S:0-1),nic:4
   OS=Linux 5.15.0-1 #7 SMP Mon Jan 1 00:00:00 UTC 2024
   State=IDLE ThreadsPerCore=1
   CfgTRES=cpu=96,mem=1T,gres/gpu=8

NodeName=bravo Arch=x86_64
   Gres=gpu:a100:4,gpu:v100:4
   State=MIXED+DRAIN ThreadsPerCore=1
   Reason=fan is loud [root@2024-01-01T00:00:00]

NodeName=charlie Arch=x86_64
   Gres=gpu:8
   State=DOWN*+CLOUD
   Reason=Not responding State=odd

NodeName=delta Arch=x86_64
   Gres=(null)
   State=IDLE
   CfgTRES=cpu=96,mem=1T,billing=96,gres/gpu=4

NodeName=echo Arch=x86_64
   Gres=(null)
   State=IDLE
"""

NODES_LINES = """\
NodeName=alpha Arch=x86_64 Gres=gpu:8 State=IDLE
NodeName=bravo Arch=x86_64 Gres=gpu:8 State=ALLOCATED
NodeName=charlie Arch=x86_64 Gres=gpu:8 State=IDLE+DRAIN Reason=dust
"""

MATRIX = """\
\tGPU0\tGPU1\tGPU2\tGPU3\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID
GPU0\t X \tNV4\tSYS\tSYS\tPIX\t0-23\t0\t\tN/A
GPU1\tNV4\t X \tSYS\tSYS\tPHB\t0-23\t0\t\tN/A
GPU2\tSYS\tSYS\t X \tNV4\tSYS\t24-47\t1\t\tN/A
GPU3\tSYS\tSYS\tNV4\t X \tSYS\t24-47\t1\t\tN/A
NIC0\tPIX\tPHB\tSYS\tSYS\t X \t\t\t\t

Legend:

  X    = Self
  NV#  = bonded NVLinks

NIC Legend:

  NIC0: mlx5_0
"""

NCCL = """\
<system version="1">
  <cpu numaid="0" affinity="0" arch="x86_64">
    <pci busid="0000:01:00.0" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="16">
      <gpu dev="0" sm="90" rank="0" gdr="1">
        <nvlink target="0000:0a:00.0" count="9" tclass="0x068000"/>
        <nvlink target="0000:0b:00.0" count="9" tclass="0x068000"/>
      </gpu>
    </pci>
    <nic><net name="mlx5_0" dev="0" speed="400000" port="1" guid="0x1" maxconn="131072"/></nic>
  </cpu>
  <cpu numaid="1" affinity="0" arch="x86_64">
    <pci busid="0000:02:00.0" class="0x030200" link_speed="32 GT/s" link_width="0">
      <gpu dev="1" sm="90" rank="1" gdr="1">
        <nvlink target="0000:0a:00.0" count="18" tclass="0x068000"/>
      </gpu>
    </pci>
  </cpu>
</system>
"""

HWLOC = """\
<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
  <object type="Machine" os_index="0" gp_index="1">
    <info name="HostName" value="alpha"/>
    <object type="Package" os_index="0" gp_index="2">
      <object type="NUMANode" os_index="0" gp_index="3"/>
      <object type="PCIDev" gp_index="10" pci_busid="0000:11:00.0" pci_type="0302 [10de:2330]">
        <object type="OSDev" gp_index="11" name="nvml0" osdev_type="1">
          <info name="NVIDIAUUID" value="GPU-00"/>
        </object>
      </object>
      <object type="PCIDev" gp_index="12" pci_busid="0000:12:00.0" pci_type="0302 [10de:2330]">
        <object type="OSDev" gp_index="13" name="nvml1" osdev_type="1">
          <info name="NVIDIAUUID" value="GPU-01"/>
        </object>
      </object>
    </object>
    <object type="Package" os_index="1" gp_index="20">
      <object type="NUMANode" os_index="1" gp_index="21"/>
      <object type="PCIDev" gp_index="22" pci_busid="0000:91:00.0" pci_type="0302 [10de:2330]">
        <object type="OSDev" gp_index="23" name="nvml2" osdev_type="1">
          <info name="NVIDIAUUID" value="GPU-02"/>
        </object>
      </object>
      <object type="PCIDev" gp_index="24" pci_busid="0000:92:00.0" pci_type="0302 [10de:2330]">
        <object type="OSDev" gp_index="25" name="nvml3" osdev_type="1">
          <info name="NVIDIAUUID" value="GPU-03"/>
        </object>
      </object>
    </object>
  </object>
</topology>
"""

FABRIC = """\
#
# Topology file: generated by hand
#

vendid=0x2c9
switchguid=0x10(10)
Switch\t65 "S-10"\t\t# "MF0;LEAF-01:MQM9700/U1" enhanced port 0 lid 1 lmc 0
[1]\t"H-a0"[1](a0) \t\t# "alpha mlx5_0" lid 11 4xNDR
[2]\t"H-b0"[1](b0) \t\t# "bravo mlx5_0" lid 12 4xNDR
[65]\t"H-f0"[1](f0) \t\t# "Mellanox Technologies Aggregation Node" lid 13 4xNDR
[33]\t"S-90"[1]\t\t# "MF0;SPINE-01:MQM9700/U1" lid 3 4xNDR
[34]\t"S-90"[2]\t\t# "MF0;SPINE-01:MQM9700/U1" lid 3 4xNDR

vendid=0x2c9
switchguid=0x20(20)
Switch\t65 "S-20"\t\t# "MF0;LEAF-02:MQM9700/U1" enhanced port 0 lid 2 lmc 0
[1]\t"H-c0"[1](c0) \t\t# "charlie mlx5_0" lid 21 4xNDR
[2]\t"H-d0"[1](d0) \t\t# "delta mlx5_0" lid 22 4xNDR
[3]\t"H-e0"[1](e0) \t\t# "MT4129 ConnectX7   Mellanox Technologies" lid 23 4xNDR
[33]\t"S-90"[3]\t\t# "MF0;SPINE-01:MQM9700/U1" lid 3 4xNDR

vendid=0x2c9
switchguid=0x90(90)
Switch\t65 "S-90"\t\t# "MF0;SPINE-01:MQM9700/U1" enhanced port 0 lid 3 lmc 0
[1]\t"S-10"[33]\t\t# "MF0;LEAF-01:MQM9700/U1" lid 1 4xNDR
[3]\t"S-20"[33]\t\t# "MF0;LEAF-02:MQM9700/U1" lid 2 4xNDR

vendid=0x2c9
caguid=0xa0
Ca\t1 "H-a0"\t\t# "alpha mlx5_0"
[1](a0) \t"S-10"[1]\t\t# lid 11 lmc 0 "MF0;LEAF-01:MQM9700/U1" lid 1 4xNDR
"""

GRAPH = """\
{"instances": [
  {"id": "alpha", "network_layers": ["left", "top"], "labels": {"nvlink": "rack1"}},
  {"id": "bravo", "network_layers": ["left", "top"], "attributes": {"nvlink": "rack1"}},
  {"id": "charlie", "network_layers": ["right", "top"]},
  {"id": "delta", "network_layers": []}
]}
"""

MODEL = """\
switches:
  top:
    switches: [left, right]
  left: {}
  right:
    nodes: [delta]
blocks:
- switch: left
  nodes: ["alpha", "bravo"]
  labels:
    network.topology.nvidia.com/accelerator: rack1
- switch: right
  nodes:
  - charlie
"""

MODEL_LISTS = """\
switches:
- name: top
  switches: [left, right]
- name: left
  capacity_blocks: [one, two]
- name: right
  capacity_blocks: [three]
capacity_blocks:
- {name: one, nvlink: rack1, nodes: [alpha, bravo]}
- {name: two, nvlink: rack2, nodes: [charlie]}
- {name: three, nvlink: rack3, nodes: [delta]}
"""

AWS = """\
{"Instances": [
  {"InstanceId": "alpha", "InstanceType": "p5.48xlarge", "NetworkNodes": ["nn-1", "nn-2", "nn-3"]},
  {"InstanceId": "bravo", "InstanceType": "p5.48xlarge", "NetworkNodes": ["nn-1", "nn-2", "nn-4"]},
  {"InstanceId": "charlie", "InstanceType": "p6-b200.48xlarge", "CapacityBlockId": null,
   "NetworkNodes": ["nn-1", "nn-5", "nn-6", "nn-7"]},
  {"InstanceId": "delta", "InstanceType": "g5.48xlarge", "NetworkNodes": []},
  {"InstanceId": "echo", "InstanceType": "g5.48xlarge", "NetworkNodes": null}
], "NextToken": "more"}
"""

GCP = """\
[
 {"name": "alpha", "machineType": "zones/z/machineTypes/a3-megagpu-8g", "status": "RUNNING",
  "resourceStatus": {"physicalHost": "/b1/s1/h1",
    "physicalHostTopology": {"cluster": "c", "block": "b1", "subblock": "s1", "host": "h1"}}},
 {"name": "bravo", "guestAccelerators": [{"acceleratorCount": 8, "acceleratorType": "h100"}],
  "resourceStatus": {"physicalHost": "/b1/s2/h2"}},
 {"name": "charlie", "machineType": "zones/z/machineTypes/a3-megagpu-8g", "status": "RUNNING",
  "resourceStatus": {"physicalHostTopology": {"block": "b2", "subBlock": "s1", "host": "h3"}}},
 {"name": "delta", "machineType": "zones/z/machineTypes/n2-standard-8", "resourceStatus": {}}
]
"""

KUBERNETES = """\
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Node
  metadata:
    name: alpha
    labels:
      network.topology.nvidia.com/leaf: left
      network.topology.nvidia.com/spine: top
  status:
    allocatable: {nvidia.com/gpu: "8"}
    capacity: {nvidia.com/gpu: "8"}
    conditions:
    - {type: Ready, status: "True"}
- apiVersion: v1
  kind: Node
  metadata:
    name: bravo
    labels:
      network.topology.nvidia.com/block: left
      network.topology.nvidia.com/spine: top
  status:
    allocatable: {nvidia.com/gpu: "7"}
    capacity: {nvidia.com/gpu: "8"}
- apiVersion: v1
  kind: Node
  metadata:
    name: charlie
    labels:
      fabric.topograph.run/tier-0: right
      fabric.topograph.run/tier-1: top
  spec:
    unschedulable: true
  status:
    capacity: {nvidia.com/gpu: "8"}
- apiVersion: v1
  kind: Node
  metadata:
    name: delta
  status:
    capacity: {cpu: "8"}
"""

KUBERNETES_JSON = """\
{"apiVersion": "v1", "kind": "List", "items": [
 {"kind": "Node", "metadata": {"name": "alpha", "labels":
   {"topology.k8s.aws/network-node-layer-1": "n1", "topology.k8s.aws/network-node-layer-2": "n2",
    "topology.k8s.aws/network-node-layer-3": "n3"}}, "status": {"capacity": {"nvidia.com/gpu": 8}}},
 {"kind": "Node", "metadata": {"name": "bravo", "labels":
   {"topology.k8s.aws/network-node-layer-1": "n1", "topology.k8s.aws/network-node-layer-2": "n2",
    "topology.k8s.aws/network-node-layer-3": "n4"}}, "status": {"capacity": {"nvidia.com/gpu": 8}}},
 {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Topology", "metadata": {"name": "default"},
  "spec": {"levels": [{"nodeLabel": "topology.k8s.aws/network-node-layer-2"},
   {"nodeLabel": "topology.k8s.aws/network-node-layer-3"}, {"nodeLabel": "kubernetes.io/hostname"}]}}
]}
"""

EXAMPLES = (
    Example("slurm-topology", TREE),
    Example("slurm-topology", BLOCKS),
    Example("slurm-topology", RINGS),
    Example("slurm-show-topology", SHOWN),
    Example("slurm-show-topology", SHOWN_BLOCKS),
    Example("slurm-topology-yaml", TOPOLOGIES),
    Example("slurm-topology-yaml", BLOCK_YAML),
    Example("slurm-nodes", NODES, None),
    Example("slurm-nodes", NODES_LINES, None),
    Example("slurm-hostfile", "alpha*8\nbravo*8\ncharlie*8\n", None),
    Example("openmpi", "# hosts\nalpha slots=8\nme@bravo slots=8 max_slots=8\n\ncharlie\n"),
    Example("deepspeed", "# hosts\nalpha slots=8\nbravo slots=4 spare\n", None),
    Example("mpich", "alpha:8\nbravo:8\ncharlie\ncharlie\n"),
    Example("pbs", "alpha\nalpha\nbravo\nbravo\n", None),
    Example("nvidia-smi", MATRIX, None),
    Example("nccl", NCCL, None),
    Example("hwloc", HWLOC, None),
    Example("ibnetdiscover", FABRIC),
    Example("topograph", GRAPH),
    Example("topograph-model", MODEL),
    Example("topograph-model", MODEL_LISTS),
    Example("aws", AWS),
    Example("gcp", GCP, None),
    Example("kubernetes", KUBERNETES, None),
    Example("kubernetes", KUBERNETES_JSON, None),
)
