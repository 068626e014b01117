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
  down: () => import("./local/down.ts"),
  delete: () => import("./local/delete.ts"),
};

export const summary = "run a self-healing etcd cluster on this machine, without Kubernetes";

export const usage = `Usage: quorate local <verb> [arguments]

  up        run a cluster on this machine, in the foreground; Ctrl-C stops it
  status    show members, their state and the last steps
  env       print the variables with which etcdctl reaches the cluster
  apply     apply an EtcdCluster manifest
  scale     change the number of voting members; 0 hibernates
  upgrade   change the etcd version, one member and one minor at a time
  approve   approve a step that waits for a person
  plan      show the steps that a change would take; nothing is changed
  why       tell why nothing happens, and what to do
  logs      show a member's log
  kill      kill a member (SIGKILL) and watch it come back
  stop      stop a member in order (SIGTERM) and watch it come back
  wipe      kill a member and empty its data directory; it is replaced
  corrupt   change a member's database behind its back; it is replaced
  replace   replace a member by a new one while it still serves
  down      stop the cluster; its data stays
  delete    delete the cluster

quorate local <verb> --help tells more.
`;

export async function run(args: string[], io: CliIo): Promise<number> {
  const [name, ...rest] = args;
  if (name === undefined) throw new UsageError(`say what to do with the local cluster.\n\n${usage}`);
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
