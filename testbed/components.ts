/**
 * The programs of the control plane and how each is started. Pure: from a testbed's state to command lines.
 */
import { join } from "node:path";
import { HOST } from "./nodes/addresses.ts";
import { cacheDir } from "./paths.ts";
import type { BedPaths } from "./paths.ts";
import type { Pki } from "./pki.ts";
import { controlAddress } from "./state.ts";
import type { OwnBed } from "./state.ts";

export interface Component {
  role: string;
  file: string;
  args: string[];
  env?: Record<string, string>;
  /** Answers 200 when it is ready (or, at tcp:, accepts a connection). */
  ready: string;
}

export interface Layout {
  bed: OwnBed;
  paths: BedPaths;
  pki: Pki;
  /** Directory of the Kubernetes programs. */
  kubernetes: string;
  etcd: string;
}

export function backingEtcd({ bed, paths, etcd }: Layout): Component {
  const address = controlAddress(bed.slot);
  const client = `http://${address}:${bed.ports.etcd}`;
  const peer = `http://${address}:${bed.ports.etcdPeer}`;
  return {
    role: "etcd",
    file: etcd,
    args: [
      "--name=testbed",
      `--data-dir=${paths.etcdData}`,
      `--listen-client-urls=${client}`,
      `--advertise-client-urls=${client}`,
      `--listen-peer-urls=${peer}`,
      `--initial-advertise-peer-urls=${peer}`,
      `--initial-cluster=testbed=${peer}`,
      // A testbed need not survive a power cut, and fsync is most of its start-up time.
      "--unsafe-no-fsync",
      "--log-level=warn",
    ],
    ready: `${client}/health`,
  };
}

export function apiServer({ bed, pki, kubernetes }: Layout): Component {
  const address = controlAddress(bed.slot);
  const real = bed.options.nodes > 0;
  return {
    role: "kube-apiserver",
    file: join(kubernetes, "kube-apiserver"),
    args: [
      `--etcd-servers=http://${address}:${bed.ports.etcd}`,
      `--bind-address=${real ? "0.0.0.0" : address}`,
      `--advertise-address=${real ? HOST : address}`,
      `--secure-port=${bed.ports.apiserver}`,
      // The API refuses loopback addresses in EndpointSlices; nothing routes to Services there anyway.
      ...(real ? [] : ["--endpoint-reconciler-type=none"]),
      `--tls-cert-file=${pki.serverCert}`,
      `--tls-private-key-file=${pki.serverKey}`,
      `--client-ca-file=${pki.ca}`,
      `--token-auth-file=${pki.tokens}`,
      "--authorization-mode=Node,RBAC",
      "--allow-privileged=true",
      `--service-cluster-ip-range=${bed.options.serviceRanges}`,
      "--service-account-issuer=https://kubernetes.default.svc",
      `--service-account-key-file=${pki.serviceAccountKey}`,
      `--service-account-signing-key-file=${pki.serviceAccountKey}`,
      `--kubelet-certificate-authority=${pki.ca}`,
      ...(real
        ? [
            `--kubelet-client-certificate=${pki.kubeletClientCert}`,
            `--kubelet-client-key=${pki.kubeletClientKey}`,
            "--enable-admission-plugins=NodeRestriction",
          ]
        : []),
      "--kubelet-preferred-address-types=InternalIP",
      "--profiling=false",
      ...(bed.options.detection === "quick"
        ? ["--default-not-ready-toleration-seconds=5", "--default-unreachable-toleration-seconds=5"]
        : []),
    ],
    ready: `https://${address}:${bed.ports.apiserver}/readyz`,
  };
}

export function controllerManager({ bed, paths, pki, kubernetes }: Layout): Component {
  const address = controlAddress(bed.slot);
  const none = ["endpoints-controller", "endpointslice-controller", "endpointslice-mirroring-controller"];
  return {
    role: "kube-controller-manager",
    file: join(kubernetes, "kube-controller-manager"),
    args: [
      `--kubeconfig=${componentKubeconfig(paths, "kube-controller-manager")}`,
      `--bind-address=${address}`,
      `--secure-port=${bed.ports.controllerManager}`,
      "--leader-elect=false",
      "--use-service-account-credentials=true",
      // The default of 20 requests a second would make the start of its controllers take four seconds.
      "--kube-api-qps=500",
      "--kube-api-burst=1000",
      `--service-account-private-key-file=${pki.serviceAccountKey}`,
      `--root-ca-file=${pki.ca}`,
      `--cluster-signing-cert-file=${pki.ca}`,
      `--cluster-signing-key-file=${pki.caKey}`,
      // Without real nodes Pods have loopback addresses, which EndpointSlices refuse: it would retry for ever.
      `--controllers=*${bed.options.nodes === 0 ? none.map((name) => `,-${name}`).join("") : ""}`,
      "--profiling=false",
      ...(bed.options.detection === "quick"
        ? ["--node-monitor-period=1s", "--node-monitor-grace-period=8s"]
        : []),
    ],
    ready: `https://${address}:${bed.ports.controllerManager}/healthz`,
  };
}

export function scheduler({ bed, paths, kubernetes }: Layout): Component {
  const address = controlAddress(bed.slot);
  return {
    role: "kube-scheduler",
    file: join(kubernetes, "kube-scheduler"),
    args: [
      `--kubeconfig=${componentKubeconfig(paths, "kube-scheduler")}`,
      `--bind-address=${address}`,
      `--secure-port=${bed.ports.scheduler}`,
      "--leader-elect=false",
      "--profiling=false",
    ],
    ready: `https://${address}:${bed.ports.scheduler}/healthz`,
  };
}

export function standInKubelet({ bed }: Layout): Component {
  return {
    role: "kubelet",
    file: process.execPath,
    args: [join(import.meta.dirname, "kubelet", "main.ts"), bed.name],
    // It installs etcd versions as Pods ask for them, which needs whatever the user's Go and npm need.
    env: { ...(process.env as Record<string, string>), QUORATE_CACHE: cacheDir() },
    ready: `http://${controlAddress(bed.slot)}:${bed.ports.kubelet}/healthz`,
  };
}

export function componentKubeconfig(paths: BedPaths, client: string): string {
  return join(paths.dir, `${client}.kubeconfig`);
}
