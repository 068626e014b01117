/**
 * For tests with real nodes: commands at the nodes' host, in Pods and on the machine, what of the machine a
 * testbed could have changed, and a three-member etcd as a StatefulSet.
 */
import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Client } from "../../../testbed/client.ts";
import { kubernetesTarget } from "../../../testbed/kubernetes-build.ts";
import { entering } from "../../../testbed/nodes/verbs.ts";
import { bedPaths } from "../../../testbed/paths.ts";

export interface Done {
  code: number;
  out: string;
}

/** Runs a program to its end; standard output and error together. */
export function run(
  file: string,
  args: string[],
  env: NodeJS.ProcessEnv = process.env,
  timeout = 60_000,
): Promise<Done> {
  return new Promise((resolve) => {
    execFile(
      file,
      args,
      { env, timeout, killSignal: "SIGKILL", maxBuffer: 1 << 24 },
      (error, stdout, stderr) => {
        const code = error ? (typeof error.code === "number" ? error.code : 1) : 0;
        resolve({ code, out: `${stdout}${stderr}` });
      },
    );
  });
}

/** Runs a program where the nodes' host is. */
export function atHost(bed: string, command: string[]): Promise<Done> {
  const { file, args, env } = entering(bed, command);
  return run(file, args, env);
}

/** What an HTTP server says to a client at the nodes' host. */
export async function fetchAtHost(bed: string, url: string): Promise<string> {
  const script = `const r = await fetch(process.argv[1], { signal: AbortSignal.timeout(3000) }); console.log(await r.text());`;
  const done = await atHost(bed, [process.execPath, "--input-type=module", "-e", script, url]);
  if (done.code !== 0) throw new Error(done.out);
  return done.out;
}

export function kubectl(bed: string, ...args: string[]): Promise<Done> {
  const file = join(kubernetesTarget().dir, "kubectl");
  return run(file, ["--kubeconfig", bedPaths(bed).kubeconfig, ...args]);
}

/** Test files that run meanwhile mount small disks in their temporary folders, which are beside ours. */
const OTHER_TESTS = join(dirname(tmpdir()), "q-");

/** What a testbed might change on the machine, as text that can be compared. */
export async function machine(): Promise<Record<string, string>> {
  const show = async (file: string, ...args: string[]) => (await run(file, args)).out;
  const sysctl = (name: string) => readFileSync(`/proc/sys/${name}`, "utf8").trim();
  const settings = ["vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops"];
  const more = ["kernel/keys/root_maxkeys", "kernel/keys/root_maxbytes", "net/ipv4/ip_forward"];
  return {
    routes: await show("ip", "route", "show", "table", "all"),
    links: await show("ip", "-oneline", "link", "show"),
    loops: await show("losetup", "--noheadings", "--output", "BACK-FILE", "--list"),
    mounts: readFileSync("/proc/self/mounts", "utf8")
      .split("\n")
      .filter((line) => !line.includes(` ${OTHER_TESTS}`))
      .join("\n"),
    groups: readdirSync("/sys/fs/cgroup").join(" "),
    settings: [...settings, ...more].map((name) => `${name}=${sysctl(name)}`).join("\n"),
  };
}

/** The machine's own network: it must be the same at every moment. */
export async function machineNetwork(): Promise<string> {
  const { routes = "", links = "" } = await machine();
  return routes + links;
}

export const MEMBERS = ["etcd-0", "etcd-1", "etcd-2"];

/** Three members that know each other by name, one on each node, as a user without rights, with disks. */
export async function createEtcd(client: Client, namespace: string, version: string): Promise<void> {
  const labels = { app: "etcd" };
  const url = (member: string, port: number) => `http://${member}.etcd.${namespace}.svc:${port}`;
  const port = (name: string, number: number) => ({ name, port: number });
  await client.create(`/api/v1/namespaces/${namespace}/services`, {
    metadata: { name: "etcd" },
    spec: {
      clusterIP: "None",
      publishNotReadyAddresses: true,
      selector: labels,
      ports: [port("client", 2379), port("peer", 2380)],
    },
  });
  await client.create(`/api/v1/namespaces/${namespace}/services`, {
    metadata: { name: "etcd-client" },
    spec: { selector: labels, ports: [port("client", 2379)] },
  });
  await client.create(`/apis/policy/v1/namespaces/${namespace}/poddisruptionbudgets`, {
    metadata: { name: "etcd" },
    spec: { minAvailable: 3, selector: { matchLabels: labels } },
  });
  const affinity = {
    podAntiAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: [
        { labelSelector: { matchLabels: labels }, topologyKey: "kubernetes.io/hostname" },
      ],
    },
  };
  const container = {
    name: "etcd",
    image: `registry.k8s.io/etcd:v${version}`,
    env: [{ name: "POD", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } }],
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    },
    command: [
      "etcd",
      "--name=$(POD)",
      "--data-dir=/data/etcd",
      "--listen-client-urls=http://0.0.0.0:2379",
      `--advertise-client-urls=${url("$(POD)", 2379)}`,
      "--listen-peer-urls=http://0.0.0.0:2380",
      `--initial-advertise-peer-urls=${url("$(POD)", 2380)}`,
      `--initial-cluster=${MEMBERS.map((member) => `${member}=${url(member, 2380)}`).join(",")}`,
      "--initial-cluster-state=new",
    ],
    readinessProbe: { httpGet: { path: "/readyz", port: 2379 }, periodSeconds: 1 },
    volumeMounts: [{ name: "data", mountPath: "/data" }],
  };
  await client.create(`/apis/apps/v1/namespaces/${namespace}/statefulsets`, {
    metadata: { name: "etcd" },
    spec: {
      serviceName: "etcd",
      replicas: 3,
      podManagementPolicy: "Parallel",
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          enableServiceLinks: false,
          terminationGracePeriodSeconds: 10,
          securityContext: {
            runAsNonRoot: true,
            runAsUser: 1000,
            runAsGroup: 1000,
            fsGroup: 1000,
            seccompProfile: { type: "RuntimeDefault" },
          },
          affinity,
          containers: [container],
        },
      },
      volumeClaimTemplates: [
        {
          metadata: { name: "data" },
          spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "256Mi" } } },
        },
      ],
    },
  });
}

export interface PodSeen {
  name: string;
  node: string;
  ip: string;
  ready: boolean;
  restarts: number;
}

export async function members(client: Client, namespace: string): Promise<PodSeen[]> {
  interface List {
    items: {
      metadata: { name: string; deletionTimestamp?: string };
      spec: { nodeName?: string };
      status: {
        podIP?: string;
        conditions?: { type: string; status: string }[];
        containerStatuses?: { restartCount: number }[];
      };
    }[];
  }
  const list = await client.get<List>(`/api/v1/namespaces/${namespace}/pods?labelSelector=app%3Detcd`);
  return list.items
    .filter(({ metadata }) => !metadata.deletionTimestamp)
    .map(({ metadata, spec, status }) => ({
      name: metadata.name,
      node: spec.nodeName ?? "",
      ip: status.podIP ?? "",
      ready: status.conditions?.some((c) => c.type === "Ready" && c.status === "True") ?? false,
      restarts: status.containerStatuses?.[0]?.restartCount ?? 0,
    }));
}
