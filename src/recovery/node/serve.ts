/**
 * How an etcd is started on the recovered data: its flags, and the manifest of a static Pod, which a kubelet runs without
 * an API server. It is an ordinary start on whole data: `--force-new-cluster` is no part of it.
 */
import path from "node:path";

export interface Serving {
  readonly name: string;
  readonly dataDir: string;
  readonly clientURL: string;
  readonly peerURL: string;
  readonly metricsURL: string;
  /** Files, where the client URL is https. */
  readonly tls?: ServingTLS | undefined;
  /** Where it is one of several. */
  readonly siblings?: ServingSiblings | undefined;
}

export interface ServingSiblings {
  /** What its siblings dial; it listens at `peerURL`. */
  readonly advertised: string;
  readonly initialCluster: readonly { readonly name: string; readonly peerURL: string }[];
  readonly tls?: Required<ServingTLS> | undefined;
  /** Of the names in their peer URLs, which nobody else resolves. */
  readonly addresses: readonly { readonly host: string; readonly address: string }[];
}

export interface ServingTLS {
  readonly cert: string;
  readonly key: string;
  /** With it, clients need a certificate. */
  readonly ca?: string | undefined;
}

export function servingFlags(serving: Serving): string[] {
  const { name, dataDir, clientURL, peerURL, metricsURL, tls, siblings } = serving;
  const advertised = siblings?.advertised ?? peerURL;
  const members = siblings?.initialCluster ?? [{ name, peerURL }];
  return [
    `--name=${name}`,
    `--data-dir=${dataDir}`,
    `--listen-client-urls=${clientURL}`,
    `--advertise-client-urls=${clientURL}`,
    `--listen-peer-urls=${peerURL}`,
    `--initial-advertise-peer-urls=${advertised}`,
    `--initial-cluster=${members.map((member) => `${member.name}=${member.peerURL}`).join(",")}`,
    "--initial-cluster-state=existing",
    `--listen-metrics-urls=${metricsURL}`,
    ...(tls ? [`--cert-file=${tls.cert}`, `--key-file=${tls.key}`] : []),
    ...(tls?.ca === undefined ? [] : [`--trusted-ca-file=${tls.ca}`, "--client-cert-auth=true"]),
    ...(siblings?.tls ? peerFlags(siblings.tls) : []),
  ];
}

function peerFlags({ cert, key, ca }: NonNullable<ServingSiblings["tls"]>): string[] {
  return [
    `--peer-cert-file=${cert}`,
    `--peer-key-file=${key}`,
    `--peer-trusted-ca-file=${ca}`,
    "--peer-client-cert-auth=true",
  ];
}

/** Everything is mounted where it is on the node, so that the flags of a process and of the Pod are the same. */
export function staticPod(serving: Serving, { image, plan }: { image: string; plan: string }): object {
  const { name, dataDir, tls, metricsURL, siblings } = serving;
  const files = [tls, siblings?.tls].flatMap((one) => (one ? [one.cert, one.key, one.ca ?? one.cert] : []));
  const aliases = (siblings?.addresses ?? []).map(({ host: known, address }) => ({
    ip: address,
    hostnames: [known],
  }));
  const folders = [...new Set(files.map((file) => path.dirname(file)))];
  const { hostname: host, port } = new URL(metricsURL);
  const mounts = [
    { name: "data", path: dataDir, type: "Directory", readOnly: false },
    ...folders.map((folder, index) => ({
      name: `tls-${index}`,
      path: folder,
      type: "Directory",
      readOnly: true,
    })),
  ];
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: `${name}-recovered`,
      namespace: "kube-system",
      labels: { "app.kubernetes.io/name": "etcd", "app.kubernetes.io/component": "recovered" },
      annotations: { "etcd.quorate.dev/plan": plan },
    },
    spec: {
      hostNetwork: true,
      ...(aliases.length > 0 && { hostAliases: aliases }),
      priorityClassName: "system-node-critical",
      containers: [
        {
          name: "etcd",
          image,
          imagePullPolicy: "IfNotPresent",
          command: ["etcd"],
          args: servingFlags(serving),
          resources: { requests: { cpu: "100m", memory: "256Mi" } },
          livenessProbe: {
            httpGet: { host, port: Number(port), path: "/health?serializable=true", scheme: "HTTP" },
            initialDelaySeconds: 30,
            failureThreshold: 8,
            timeoutSeconds: 15,
          },
          volumeMounts: mounts.map((mount) => ({
            name: mount.name,
            mountPath: mount.path,
            ...(mount.readOnly && { readOnly: true }),
          })),
        },
      ],
      volumes: mounts.map((mount) => ({
        name: mount.name,
        hostPath: { path: mount.path, type: mount.type },
      })),
    },
  };
}
