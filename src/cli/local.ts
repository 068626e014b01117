/**
 * `quorate local`: a real etcd cluster on this machine, from the same EtcdCluster that Kubernetes takes.
 * Each of its verbs is one file in `local/`.
 */
import { nearest } from "../api/suggest.ts";
import { UsageError, type CliIo, type Verb, type Verbs } from "./io.ts";

export const verbs: Verbs = {
  up: () => import("./local/up.ts"),
  status: () => import("./local/status.ts"),
  env: () => import("./local/env.ts"),
  apply: () => import("./local/apply.ts"),
  scale: () => import("./local/scale.ts"),
  upgrade: () => import("./local/upgrade.ts"),
  approve: () => import("./local/approve.ts"),
  plan: () => import("./local/plan.ts"),
  why: () => import("./local/why.ts"),
  logs: () => import("./local/logs.ts"),
  kill: () => import("./local/kill.ts"),
  stop: () => import("./local/stop.ts"),
  wipe: () => import("./local/wipe.ts"),
  corrupt: () => import("./local/corrupt.ts"),
  replace: () => import("./local/replace.ts"),
  fence: () => import("./local/fence.ts"),
  unfence: () => import("./local/unfence.ts"),
  down: () => import("./local/down.ts"),
  delete: () => import("./local/delete.ts"),
};

export const summary = "run a self-healing etcd cluster on this machine, without Kubernetes";

export const usage = `Usage: quorate local <verb> [arguments]

  up        run a cluster in the foreground; Ctrl-C stops it
  status    show the members, their state and the latest steps
  env       print environment variables for etcdctl
  apply     apply an EtcdCluster manifest
  scale     change the number of voting members; 0 hibernates
  upgrade   change the etcd version, one member and one minor at a time
  approve   approve a step that waits for approval
  plan      show the steps that a change would take, without making it
  why       explain what the cluster is waiting for, and what you can do
  logs      show a member's log
  kill      kill a member (SIGKILL); it is restarted
  stop      stop a member gracefully (SIGTERM); it is restarted
  wipe      kill a member and delete its data; it is replaced
  corrupt   corrupt a member's database; it is replaced
  replace   replace a member with a new one
  fence     keep clients and leadership away from a member without stopping it
  unfence   let clients and leadership return to a fenced member
  down      stop the cluster; its data is retained
  delete    delete the cluster

Run quorate local <verb> --help for details.
`;

export async function run(args: string[], io: CliIo): Promise<number> {
  const [name, ...rest] = args;
  if (name === undefined) throw new UsageError(`no verb given.\n\n${usage}`);
  if (name === "help") {
    io.stdout.write(rest[0] === undefined ? usage : (await load(rest[0])).usage);
    return 0;
  }
  return await (await load(name)).run(rest, io);
}

async function load(name: string): Promise<Verb> {
  const loader = Object.hasOwn(verbs, name) ? verbs[name] : undefined;
  if (loader) return await loader();
  const near = nearest(name, Object.keys(verbs));
  const hint = near !== undefined ? `Did you mean ${near}?` : `One of: ${Object.keys(verbs).join(", ")}.`;
  throw new UsageError(`unknown verb ${JSON.stringify(`local ${name}`)}. ${hint}`);
}
