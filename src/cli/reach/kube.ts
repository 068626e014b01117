/**
 * A cluster on Kubernetes: a port-forward to each member, and the client certificate from the Secret that the cluster
 * publishes, read with the rights of whoever calls. Each member's certificate is checked against its own name before
 * anything is sent to it.
 */
import type { Duplex } from "node:stream";
import type { EtcdMember } from "../../api/etcd-member.ts";
import { clientScheme, modeOf } from "../../core/config/flags.ts";
import type { TlsCredentials } from "../../etcd/types.ts";
import { isReason } from "../../kube/errors.ts";
import { localPort, type LocalPort } from "../../kube/local-port.ts";
import { portForward } from "../../kube/port-forward.ts";
import { PORTS, secretNames } from "../../operator/names.ts";
import { secrets } from "../../operator/resources.ts";
import { CommandError, EXIT } from "../exit.ts";
import type { CliIo } from "../io.ts";
import { explained } from "../target/kube-errors.ts";
import type { KubeTarget } from "../target/kube.ts";
import type { ClusterObject } from "../target/target.ts";
import { checkedMember } from "./check-member.ts";
import { privateFiles, type PrivateFiles } from "./private-files.ts";
import { endpointsOf, type Reached } from "./reached.ts";

/** The name that etcdctl, which dials a port of this machine, looks for in certificates. */
const HERE = "127.0.0.1";

interface Way {
  readonly member: string;
  readonly learner: boolean;
  readonly serverName: string;
  readonly port: LocalPort;
  /** Whether its certificate names this machine as well. */
  readonly namesHere: boolean;
  readonly scheme: "http" | "https";
}

export async function reachOnKubernetes(
  target: KubeTarget,
  cluster: ClusterObject,
  io: CliIo,
): Promise<Reached> {
  const { name } = cluster.metadata;
  if (cluster.spec.replicas === 0)
    throw new CommandError(
      EXIT.failed,
      `${name} is hibernated, so there is nothing to connect to. Wake it with: ${target.command} wake ${name}${target.flags}`,
    );
  const members = await target.members(cluster);
  // While TLS is changed, members may differ.
  const secure = members.some(isSecured);
  const credentials = secure ? await clientCredentials(target, cluster, io) : undefined;
  const tried = await Promise.all(members.map((member) => way(target, cluster, member, credentials, io)));
  const ways = tried.filter((one): one is Way => "port" in one);
  const closeWays = () => Promise.all(ways.map(({ port }) => port.close()));
  const problems = tried.filter((one): one is Problem => "problem" in one);
  if (ways.length === 0) {
    const denied = problems.find(({ error }) => error instanceof CommandError && error.code === EXIT.denied);
    if (denied) throw denied.error;
    throw new CommandError(
      EXIT.failed,
      problems.length === 0
        ? `${name} has no members, so there is nothing to connect to. See: ${target.command} status ${name}${target.flags}`
        : `no member of ${name} can be reached:\n${problems.map(({ problem }) => `  ${problem}`).join("\n")}`,
    );
  }
  for (const { problem } of problems) io.stderr.write(`Warning: ${problem}\n`);
  const endpoints = ways.map(({ member, learner, serverName, port, scheme }) => ({
    name: member,
    url: `${scheme}://${HERE}:${port.port}`,
    ...(scheme === "https" && { serverName }),
    ...(learner && { learner }),
  }));
  let files: PrivateFiles | undefined;
  let environment: Record<string, string> | undefined;
  return {
    name,
    endpoints,
    credentials,
    environment: () => {
      const unnamed = ways.find(({ namesHere }) => !namesHere);
      if (unnamed !== undefined) return Promise.reject(notNamed(unnamed));
      files ??= credentials && privateFiles(io.env);
      environment ??= { ETCDCTL_ENDPOINTS: endpointsOf({ endpoints }), ...variables(files, credentials) };
      return Promise.resolve(environment);
    },
    close: async () => {
      files?.[Symbol.dispose]();
      await closeWays();
    },
  };
}

function notNamed({ member, serverName }: Way): CommandError {
  return new CommandError(
    EXIT.failed,
    `the certificate of ${member} does not name ${HERE}, by which etcdctl would check it. Use the built-in client, which checks ${serverName}: --built-in`,
  );
}

function variables(
  files: PrivateFiles | undefined,
  credentials: TlsCredentials | undefined,
): Record<string, string> {
  if (files === undefined || credentials === undefined) return {};
  return {
    ETCDCTL_CACERT: files.write("ca.crt", credentials.ca),
    ETCDCTL_CERT: files.write("tls.crt", credentials.cert ?? ""),
    ETCDCTL_KEY: files.write("tls.key", credentials.key ?? ""),
  };
}

interface Problem {
  readonly problem: string;
  readonly error: unknown;
}

function isSecured({ spec: { template } }: EtcdMember): boolean {
  return clientScheme(template.tls) === "https";
}

async function way(
  target: KubeTarget,
  cluster: ClusterObject,
  member: EtcdMember,
  credentials: TlsCredentials | undefined,
  io: CliIo,
): Promise<Way | Problem> {
  const { name } = member.metadata;
  const namespace = cluster.metadata.namespace ?? "default";
  const serverName = new URL(member.spec.address.clientURL).hostname;
  const open = async (): Promise<Duplex> => {
    const forward = { namespace, pod: name, port: PORTS.client, signal: io.signal };
    try {
      return await portForward(target.transport, io.random, forward);
    } catch (error) {
      if (isReason(error, "NotFound"))
        throw new CommandError(EXIT.notFound, "its Pod does not exist", { cause: error });
      throw explained(error, {
        verb: "create",
        resource: "pods/portforward",
        namespace,
        server: target.server,
      });
    }
  };
  try {
    const scheme = isSecured(member) ? "https" : "http";
    const shown = scheme === "https" ? credentials : undefined;
    const namesHere = await checkedMember(open, { serverName, also: HERE, credentials: shown, io });
    const status = cluster.status?.members?.find((one) => one.name === name);
    let isReported = false;
    const port = await localPort(open, (error) => {
      // Once: a client that retries would fill the screen.
      if (!isReported && !io.signal.aborted) io.stderr.write(`Warning: ${name}: ${messageOf(error)}\n`);
      isReported = true;
    });
    return { member: name, learner: status?.role === "Learner", serverName, port, namesHere, scheme };
  } catch (error) {
    return { problem: `${name}: ${messageOf(error)}`, error };
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

async function clientCredentials(
  target: KubeTarget,
  cluster: ClusterObject,
  io: CliIo,
): Promise<TlsCredentials> {
  const { name, namespace = "default" } = cluster.metadata;
  // With certificates of the user's own there is none for clients, and the operator's copy is the only one known here.
  const own = secretNames(name);
  const secret =
    cluster.status?.clientSecret ??
    (["Managed", "CertManager"].includes(modeOf(cluster.spec.tls, "client")) ? own.client : own.operator);
  const found = await target.client
    .find(secrets, { namespace, name: secret }, { signal: io.signal })
    .catch((error: unknown) => {
      throw explained(error, {
        verb: "get",
        resource: `secrets/${secret}`,
        namespace,
        server: target.server,
      });
    });
  const text = (file: string) => {
    const data = found?.data?.[file];
    return data === undefined ? undefined : Buffer.from(data, "base64").toString("utf8");
  };
  const [ca, cert, key] = [text("ca.crt"), text("tls.crt"), text("tls.key")];
  if (ca === undefined || cert === undefined || key === undefined)
    throw new CommandError(
      EXIT.failed,
      `the Secret ${secret} with the client certificate of ${name} ${found === undefined ? "does not exist yet" : "is incomplete"}. See: ${target.command} status ${name}${target.flags}`,
    );
  return { ca, cert, key };
}
