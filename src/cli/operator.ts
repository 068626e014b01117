/**
 * `quorate operator`: runs the Kubernetes operator in the foreground, in a Pod or anywhere with a kubeconfig, until
 * it is told to stop.
 */
import { hostname } from "node:os";
import manifest from "../../package.json" with { type: "json" };
import { IMAGE_REPOSITORY, repositoryFormat } from "../api/etcd-cluster-spec.ts";
import { KubeConfigError, loadConfig } from "../kube/config.ts";
import { isReason } from "../kube/errors.ts";
import { atLeast, LOG_LEVELS, logLine, textOf, type Log, type LogLevel } from "../kube/log.ts";
import { openEndpoints } from "../operator/serve/endpoints.ts";
import { OperatorMetrics, type ProcessFacts } from "../operator/serve/metrics.ts";
import { CLUSTER_DOMAIN } from "../operator/names.ts";
import { Unmet } from "../operator/process/requirements.ts";
import { Operator, type OperatorOptions } from "../operator/runtime.ts";
import type { Reviews } from "../operator/serve/reviews.ts";
import { parseAddress, type Address, type Protection } from "../operator/serve/serve.ts";
import { serverCertificate } from "../operator/serve/server-certificate.ts";
import type { OperatorPods } from "../operator/render/network-policy.ts";
import { createPki } from "../pki/issue.ts";
import { systemDisk } from "../seams/disk.ts";
import { examplesOf } from "./help.ts";
import { UsageError, type CliIo } from "./io.ts";
import { parseFlags } from "./parse.ts";

const DEFAULT_LEVEL: LogLevel = "info";

/**
 * Node cuts small Buffers from slabs of 64 KiB, and one that lives long keeps its whole slab: each TLS connection has
 * two (its session and its protocols). In the heap of an operator with forty clusters such slabs were 4 MB.
 */
const BUFFER_SLAB_BYTES = 8_192;

const EXAMPLES = [
  { does: "Every namespace, as the kubeconfig's user", line: "operator --kubeconfig ~/.kube/config" },
  {
    does: "Two namespaces, with what it does in detail",
    line: "operator --namespace team-a,team-b --log-level debug",
  },
];

export const usage = `Usage: quorate operator [options]

Creates, repairs, scales and upgrades the EtcdClusters of a Kubernetes cluster. Several replicas may run: one leads,
the others stand by.

Options:
      --kubeconfig <file>        default: $KUBECONFIG, then the Pod's service account, then ~/.kube/config
      --context <name>           default: the current context of the kubeconfig
      --namespace <a,b>          namespaces to watch; default: all
      --exclude-namespace <a,b>  namespaces that another installation manages; without --namespace only
      --lease-namespace <name>   namespace of the leader election lease; default: the operator's own namespace
      --lease-name <name>        name of the lease; default: quorate
      --cluster-domain <domain>  DNS domain of the Kubernetes cluster; default: ${CLUSTER_DOMAIN}
      --etcd-image-repository <name>
                                 etcd image of clusters without image.repository; default: ${IMAGE_REPOSITORY}
      --image <name>             the operator's own image, which Pods run that take or read snapshots; default: $QUORATE_IMAGE
      --health-address <addr>    /healthz and /readyz; default: ${defaultAddress("health")}, "off" to disable
      --metrics-address <addr>   /metrics; default: ${defaultAddress("metrics")}, "off" to disable
      --metrics-secure           serve /metrics by HTTPS, to accounts of Kubernetes that may get /metrics
      --metrics-certificates <dir>
                                 with tls.crt and tls.key for it; default: a certificate that the process issues itself
      --log-level <level>        ${LOG_LEVELS.join(", ")}; default: ${DEFAULT_LEVEL}
  -h, --help

${examplesOf(EXAMPLES, "quorate")}

Logs one JSON object per line to stderr. Exit codes: 0 stopped, 1 failed or lost its lease, 2 invalid options.
`;

function defaultAddress(what: "health" | "metrics"): string {
  return what === "health" ? ":8081" : ":8080";
}

const OPTIONS = {
  kubeconfig: { type: "string" },
  context: { type: "string" },
  namespace: { type: "string", multiple: true },
  "exclude-namespace": { type: "string", multiple: true },
  "lease-namespace": { type: "string" },
  "lease-name": { type: "string" },
  "cluster-domain": { type: "string" },
  "etcd-image-repository": { type: "string" },
  image: { type: "string" },
  "health-address": { type: "string" },
  "metrics-address": { type: "string" },
  "metrics-secure": { type: "boolean" },
  "metrics-certificates": { type: "string" },
  "log-level": { type: "string" },
} as const;

export async function run(args: string[], io: CliIo): Promise<number> {
  const { clock, random } = io;
  Buffer.poolSize = BUFFER_SLAB_BYTES;
  const { wishes, metricsAddress, healthAddress, logLevel, metricsSecure } = readOptions(args, io);
  const log = atLeast(logLevel, jsonLog(io));
  const startedAt = clock.now();
  const metrics = new OperatorMetrics({
    clock,
    version: manifest.version,
    process: () => processFacts(startedAt),
  });
  let reviews: Reviews | undefined;
  const protection = metricsSecure && (await protectedBy(metricsSecure, io, log, () => reviews));
  const endpoints = await openEndpoints({ clock, metrics, metricsAddress, healthAddress, protection });
  try {
    const options = await wishes();
    const hooks = {
      onCall: metrics.onCall,
      onPass: metrics.onPass,
      onStep: metrics.onStep,
      onForget: (key: string) => metrics.forget(key),
      timed: metrics.timed.bind(metrics),
    };
    const operator = new Operator({ ...options, clock, random, disk: systemDisk, log, hooks });
    reviews = operator.reviews;
    endpoints.watch({
      queue: operator.queue,
      leads: () => operator.leads,
      clockAheadMs: () => operator.clockAheadMs,
      nodeClocksOff: () => operator.nodeClocksOff(),
      clustersElsewhere: () => operator.clustersElsewhere,
      catchingUp: () => operator.catchingUp,
      stores: () => operator.caches(),
    });
    const but = options.excludedNamespaces ? ` but ${options.excludedNamespaces.join(", ")}` : "";
    const where = options.namespaces?.join(", ") ?? `all namespaces${but}`;
    log("info", `quorate ${manifest.version} starts as ${operator.identity}, for ${where}`);
    const end = await operator.run(io.signal);
    log(
      end === "lost" ? "error" : "info",
      end === "lost" ? "lost the lease: exiting, to restart as a standby" : "stopped",
    );
    return end === "lost" ? 1 : 0;
  } catch (error) {
    if (!isExpected(error)) throw error;
    const next =
      error instanceof KubeConfigError && error.problem === "missing"
        ? ". Pass --kubeconfig <file>; in a Pod, its service account is used"
        : "";
    io.stderr.write(`${error.message}${next}\n`);
    return 1;
  } finally {
    await endpoints.close();
  }
}

/** What a person can do something about is reported in a line, without a stack. */
function isExpected(error: unknown): error is Error {
  return (
    error instanceof Unmet ||
    error instanceof KubeConfigError ||
    isReason(error, "Unreachable", "Unauthorized", "Forbidden", "Interrupted")
  );
}

interface MetricsSecure {
  /** Of the certificate; the process issues its own where there is none. */
  readonly directory: string | undefined;
}

/** The endpoint is open before there is an operator that can ask: then nobody is let in yet. */
async function protectedBy(
  { directory }: MetricsSecure,
  { clock, random, env }: CliIo,
  log: Log,
  reviews: () => Reviews | undefined,
): Promise<Protection> {
  const namespace = env["POD_NAMESPACE"];
  const names = ["localhost", hostname(), ...(namespace ? [`quorate-metrics.${namespace}.svc`] : [])];
  const options = { clock, log, pki: createPki(clock, random), disk: systemDisk, directory, names };
  const certificate = await serverCertificate(options).catch((error: unknown) => {
    throw new UsageError(`--metrics-certificates ${directory ?? ""}: ${textOf(error)}`);
  });
  return {
    certificate,
    judge: async (authorization, path) => (await reviews()?.judge(authorization, path)) ?? "unknown",
  };
}

type Wishes = Pick<
  OperatorOptions,
  | "config"
  | "namespaces"
  | "excludedNamespaces"
  | "lease"
  | "clusterDomain"
  | "imageRepository"
  | "image"
  | "operatorPods"
>;

interface Given {
  readonly wishes: () => Promise<Wishes>;
  readonly metricsAddress: Address | undefined;
  readonly healthAddress: Address | undefined;
  readonly logLevel: LogLevel;
  readonly metricsSecure: MetricsSecure | undefined;
}

function readOptions(args: string[], io: CliIo): Given {
  const values = parse(args);
  const namespaces = namespacesOf("namespace", values.namespace);
  const excludedNamespaces = namespacesOf("exclude-namespace", values["exclude-namespace"]);
  if (namespaces && excludedNamespaces)
    throw new UsageError(
      "--exclude-namespace cannot be combined with --namespace: leave the namespace out of --namespace instead",
    );
  const clusterDomain = domainOf(values["cluster-domain"] ?? CLUSTER_DOMAIN);
  const imageRepository = repositoryOf(values["etcd-image-repository"] ?? IMAGE_REPOSITORY);
  const image = values.image ?? (io.env["QUORATE_IMAGE"] || undefined);
  if (image === "" || (image !== undefined && /\s/.test(image)))
    throw new UsageError(`--image ${JSON.stringify(image)}: must be the name of an image`);
  const directory = values["metrics-certificates"];
  if (directory !== undefined && !values["metrics-secure"])
    throw new UsageError("--metrics-certificates is for --metrics-secure: add that, or remove the directory");
  return {
    metricsSecure: values["metrics-secure"] ? { directory } : undefined,
    metricsAddress: address("metrics-address", values["metrics-address"] ?? defaultAddress("metrics")),
    logLevel: levelOf(values["log-level"] ?? DEFAULT_LEVEL),
    healthAddress: address("health-address", values["health-address"] ?? defaultAddress("health")),
    async wishes() {
      const { kubeconfig: file, context } = values;
      const config = await loadConfig(systemDisk, io.env, {
        ...(file && { file }),
        ...(context && { context }),
      });
      const own = io.env["POD_NAMESPACE"] || config.namespace || "default";
      const operatorPods = podsOf(io.env);
      return {
        config,
        clusterDomain,
        imageRepository,
        ...(image !== undefined && { image }),
        ...(operatorPods && { operatorPods }),
        lease: { namespace: values["lease-namespace"] ?? own, name: values["lease-name"] ?? "quorate" },
        ...(namespaces && { namespaces }),
        ...(excludedNamespaces && { excludedNamespaces }),
      };
    },
  };
}

/** As the Deployment labels them and tells each; undefined for a process that runs elsewhere. */
function podsOf(env: CliIo["env"]): OperatorPods | undefined {
  const [namespace, app] = [env["POD_NAMESPACE"], env["POD_APP_NAME"]];
  if (!namespace || !app) return undefined;
  const labels = { "app.kubernetes.io/name": app, "app.kubernetes.io/component": "operator" };
  return { namespace, labels };
}

function parse(args: string[]) {
  const { values, positionals } = parseFlags(args, OPTIONS);
  if (positionals.length > 0) throw new UsageError(`too many arguments: ${positionals.join(" ")}`);
  return values;
}

function namespacesOf(option: string, given: readonly string[] | undefined): string[] | undefined {
  const names = given?.flatMap((text) => text.split(",")).map((name) => name.trim());
  const wrong = names?.find((name) => !/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(name));
  if (wrong !== undefined)
    throw new UsageError(`--${option} ${JSON.stringify(wrong)}: not a valid namespace name`);
  return names && [...new Set(names)];
}

function address(option: string, text: string): Address | undefined {
  if (text === "off") return undefined;
  const found = parseAddress(text);
  if (found === undefined)
    throw new UsageError(`--${option} ${text}: must be an address such as :8080 or 127.0.0.1:8080, or off`);
  return found;
}

/** The longest name that it ends is that of a member: `<member>.<cluster>-peers.<namespace>.svc`. */
const LONGEST_DOMAIN = 253 - ".".length - `${"m".repeat(50)}.${"c".repeat(46)}.${"n".repeat(63)}.svc`.length;

function domainOf(text: string): string {
  const label = "[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?";
  if (!new RegExp(`^${label}([.]${label})*$`).test(text))
    throw new UsageError(
      `--cluster-domain ${JSON.stringify(text)}: must be a DNS domain in lower case without a dot at either end, like ${CLUSTER_DOMAIN}`,
    );
  if (text.length > LONGEST_DOMAIN)
    throw new UsageError(`--cluster-domain: may have at most ${LONGEST_DOMAIN} characters`);
  return text;
}

function repositoryOf(text: string): string {
  if (text.length <= 255 && repositoryFormat.check(text, undefined)) return text;
  throw new UsageError(
    `--etcd-image-repository ${JSON.stringify(text)}: must be an image name without tag and digest, like ${IMAGE_REPOSITORY}`,
  );
}

function levelOf(text: string): LogLevel {
  const level = LOG_LEVELS.find((known) => known === text);
  if (level === undefined)
    throw new UsageError(`--log-level ${JSON.stringify(text)}: use one of ${LOG_LEVELS.join(", ")}`);
  return level;
}

function jsonLog(io: CliIo): Log {
  return (level, message, fields) => {
    io.stderr.write(`${logLine(io.clock.now(), level, message, fields)}\n`);
  };
}

function processFacts(startedAt: number): ProcessFacts {
  const { rss, heapTotal, heapUsed, external } = process.memoryUsage();
  const { user, system } = process.cpuUsage();
  return {
    cpuSeconds: (user + system) / 1e6,
    startedAt,
    residentBytes: rss,
    heapTotalBytes: heapTotal,
    heapUsedBytes: heapUsed,
    externalBytes: external,
    nodeVersion: process.version,
  };
}
