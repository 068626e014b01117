/**
 * What makes a set of namespaces a node: the script that sets it up, and the configuration of its programs.
 * Pure: from a node's number to texts.
 */
import { stringify } from "yaml";
import type { BedOptions } from "../state.ts";
import type { Hierarchy } from "./cgroups.ts";
import {
  BRIDGE,
  cable,
  DNS_SERVICE,
  HOST,
  nodeAddress,
  nodeName,
  PODS,
  podRange,
  REGISTRY_PORT,
  SERVICES,
} from "./addresses.ts";

/** The kubelet wants these and would set them for the whole machine; it is shown that they are so already. */
const KERNEL_SETTINGS = {
  "vm/overcommit_memory": "1",
  "vm/panic_on_oom": "0",
  "kernel/panic": "10",
  "kernel/panic_on_oops": "1",
  "kernel/keys/root_maxkeys": "1000000",
  "kernel/keys/root_maxbytes": "25000000",
};

export const PAUSE_IMAGE = "testbed.quorate.dev/pause:1";

/** Where the node's own directories appear; short, because sockets below them have a limit of 107 bytes. */
export const KEPT = ["kubelet", "containerd", "volumes"] as const;

/** Where a node's kubelet looks for Pods of its own, which need no API server. */
export const STATIC_PODS = "/var/lib/kubelet/manifests";

export interface NodeLayout {
  n: number;
  nodes: number;
  /** The node's directory on this machine. */
  dir: string;
  /** What is laid over /usr. */
  usr: string;
  /** Process number of the world's holder. */
  world: number;
  volumes: string;
  hierarchies: Hierarchy[];
}

export function worldScript(usr: string, resolvConf: string, nodes: number): string {
  const others = Array.from({ length: nodes }, (_, i) => i + 1);
  return `# The world: the network around the nodes, without any link to this machine's own.
mount --make-rprivate /
mount -t overlay overlay -o lowerdir=${usr}:/usr /usr
mount --bind ${resolvConf} /etc/resolv.conf
for name in all default; do echo 0 > /proc/sys/net/ipv4/conf/$name/rp_filter; done
ip link set lo up
ip link add ${BRIDGE} type bridge
ip addr add ${HOST}/24 dev ${BRIDGE}
ip link set ${BRIDGE} up
# kube-proxy turns these into Pods' addresses; what it does not know ends here.
ip route add ${SERVICES} dev ${BRIDGE}
${others.map((n) => `ip route add ${podRange(n)} via ${nodeAddress(n)}`).join("\n")}
`;
}

export function nodeScript({ n, nodes, dir, usr, world, volumes, hierarchies }: NodeLayout): string {
  const others = Array.from({ length: nodes }, (_, i) => i + 1).filter((other) => other !== n);
  const inWorld = `nsenter --net=/proc/${world}/ns/net`;
  return `# ${nodeName(n)}: its cable, its address, and its own view of the disk.
mount --make-rprivate /
# Of a node that crashed a moment ago.
${inWorld} ip link delete ${cable(n)} 2>/dev/null || true
ip link set lo up
ip link add eth0 type veth peer name ${cable(n)} netns /proc/${world}/ns/net
${inWorld} ip link set ${cable(n)} master ${BRIDGE} up
ip addr add ${nodeAddress(n)}/24 dev eth0
ip link set eth0 up
ip route add default via ${HOST}
${others.map((other) => `ip route add ${podRange(other)} via ${nodeAddress(other)}`).join("\n")}
echo 1 > /proc/sys/net/ipv4/ip_forward
for name in all default; do echo 0 > /proc/sys/net/ipv4/conf/$name/rp_filter; done
hostname ${nodeName(n)}

mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t tmpfs -o mode=755 tmpfs /sys/fs/cgroup
${hierarchies
  .map(({ options }, index) => {
    const at = `/sys/fs/cgroup/${options.startsWith("name=") ? options.slice(5) : options || `h${index}`}`;
    return `mkdir ${at}\nmount -t cgroup -o ${options.startsWith("name=") ? `none,${options}` : options} cgroup ${at}`;
  })
  .join("\n")}
mount -t overlay overlay -o lowerdir=${usr}:/usr /usr
mount --bind ${dir}/resolv.conf /etc/resolv.conf
mount -t tmpfs -o mode=755 tmpfs /run
mount -t tmpfs -o mode=755 tmpfs /var/lib
${KEPT.map((part) => `mkdir /var/lib/${part}\nmount --bind ${part === "volumes" ? volumes : `${dir}/${part}`} /var/lib/${part}`).join("\n")}
mount -t tmpfs -o mode=755 tmpfs /var/log
mkdir -p ${STATIC_PODS}
mkdir /var/log/pods
mount --bind ${dir}/pod-logs /var/log/pods
mkdir /run/kernel
${Object.entries(KERNEL_SETTINGS)
  .map(
    ([name, value], index) =>
      `if [ -e /proc/sys/${name} ]; then echo ${value} > /run/kernel/${index}; mount --bind /run/kernel/${index} /proc/sys/${name}; fi`,
  )
  .join("\n")}
# For volumes that are mounted while a container runs; still nobody's business outside.
mount --make-rshared /
`;
}

export function resolvConf(): string {
  return `nameserver ${HOST}\nsearch svc.cluster.local cluster.local\noptions ndots:5\n`;
}

/**
 * As clusters have it. What differs between them is how long an unknown name stays unknown: 5 s by the plugin's own
 * default, 30 s with the `ttl 30` that installers long wrote, not at all with what they write today.
 */
export function corefile(kubeconfig: string, ready: string, denialSeconds: number): string {
  return `.:53 {
  errors
  ready ${ready}
  kubernetes cluster.local in-addr.arpa ip6.arpa {
    kubeconfig ${kubeconfig}
    pods insecure
    fallthrough in-addr.arpa ip6.arpa
    ttl ${denialSeconds || 30}
  }
  cache 30${denialSeconds > 0 ? "" : " {\n    disable success cluster.local\n    disable denial cluster.local\n  }"}
}
`;
}

export function containerdConfig(dir: string): string {
  return `version = 2
root = "/var/lib/containerd"
state = "/run/containerd"
oom_score = 0
disabled_plugins = ["io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs", "io.containerd.internal.v1.opt"]

[grpc]
address = "/run/containerd/containerd.sock"

[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "${PAUSE_IMAGE}"
# Without CAP_SYS_RESOURCE a score cannot be lowered, and every sandbox would fail.
restrict_oom_score_adj = true
disable_apparmor = true

[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "/usr/lib/cni"
conf_dir = "${dir}/cni"

[plugins."io.containerd.grpc.v1.cri".containerd]
snapshotter = "overlayfs"
default_runtime_name = "runc"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
SystemdCgroup = false

[plugins."io.containerd.grpc.v1.cri".registry]
config_path = "${dir}/registries"
`;
}

/** Every image comes from the testbed's registry, whatever registry its name says. */
export function registryHosts(): string {
  return `[host."http://${HOST}:${REGISTRY_PORT}"]\n  capabilities = ["pull", "resolve"]\n`;
}

/** Point to point: everything is routed, so that a Service can lead back to a Pod of the same node. */
export function cniConfig(n: number): string {
  const ipam = {
    type: "host-local",
    ranges: [[{ subnet: podRange(n) }]],
    routes: [{ dst: "0.0.0.0/0" }],
    dataDir: "/run/cni-addresses",
  };
  return JSON.stringify({ cniVersion: "0.4.0", name: "pods", plugins: [{ type: "ptp", mtu: 1500, ipam }] });
}

export function kubeletConfig(dir: string, ca: string, quick: boolean): string {
  return stringify({
    apiVersion: "kubelet.config.k8s.io/v1beta1",
    kind: "KubeletConfiguration",
    authentication: {
      anonymous: { enabled: false },
      webhook: { enabled: true },
      x509: { clientCAFile: ca },
    },
    authorization: { mode: "Webhook" },
    tlsCertFile: `${dir}/kubelet.crt`,
    tlsPrivateKeyFile: `${dir}/kubelet.key`,
    staticPodPath: STATIC_PODS,
    containerRuntimeEndpoint: "unix:///run/containerd/containerd.sock",
    failCgroupV1: false,
    cgroupDriver: "cgroupfs",
    cgroupRoot: "/",
    oomScoreAdj: 0,
    enforceNodeAllocatable: ["pods"],
    failSwapOn: false,
    resolvConf: "",
    clusterDNS: [DNS_SERVICE],
    clusterDomain: "cluster.local",
    // The machine's disk may be fuller than a node's would be; that is not what is tested.
    evictionHard: { "memory.available": "100Mi" },
    imageGCHighThresholdPercent: 100,
    imageGCLowThresholdPercent: 99,
    serializeImagePulls: false,
    makeIPTablesUtilChains: false,
    volumePluginDir: "/var/lib/kubelet/volume-plugins",
    syncFrequency: "10s",
    ...(quick && {
      nodeLeaseDurationSeconds: 4,
      nodeStatusUpdateFrequency: "2s",
      crashLoopBackOff: { maxContainerRestartPeriod: "10s" },
    }),
  });
}

export function kubeProxyConfig(
  kubeconfig: string,
  node: string,
  health: string,
  { masquerade, updatedEvery }: BedOptions["services"],
): string {
  return stringify({
    apiVersion: "kubeproxy.config.k8s.io/v1alpha1",
    kind: "KubeProxyConfiguration",
    mode: "nftables",
    hostnameOverride: node,
    clientConnection: { kubeconfig },
    clusterCIDR: PODS,
    detectLocalMode: "ClusterCIDR",
    healthzBindAddress: health,
    metricsBindAddress: "127.0.0.1:10249",
    // Machine-wide limits stay as they are.
    conntrack: { maxPerCore: 0, min: 0, tcpEstablishedTimeout: "0s", tcpCloseWaitTimeout: "0s" },
    nftables: { masqueradeAll: masquerade, minSyncPeriod: updatedEvery, syncPeriod: "30s" },
  });
}
