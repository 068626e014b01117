/**
 * An operator that kills itself, as SIGKILL does, right after its n-th effect: a write to the API server (the lease's and
 * events aside, and what is only tried) or a call that changes etcd. Its test goes on with another one. Further arguments
 * are effects that it lives through.
 */
import type { EtcdAction } from "../../src/control/platform.ts";
import { Http2Transport } from "../../src/kube/transport.ts";
import { loadConfig } from "../../src/kube/config.ts";
import { Operator } from "../../src/operator/runtime.ts";
import { systemClock } from "../../src/seams/clock.ts";
import { systemDisk } from "../../src/seams/disk.ts";
import type { KubeTransport } from "../../src/seams/kube-transport.ts";
import { systemRandom } from "../../src/seams/random.ts";
import { LOGGED } from "../support/operator-lives.ts";

const [kubeconfig = "", lease = "", last = "", ...spared] = process.argv.slice(2);
const config = await loadConfig(systemDisk, {}, { file: kubeconfig });
const seams = { clock: systemClock, random: systemRandom, disk: systemDisk };
const http = new Http2Transport({ config, ...seams });
let effects = 0;

function effect(what: string): void {
  if (spared.includes(what)) {
    process.stdout.write(`${LOGGED}told again: ${what}\n`);
    return;
  }
  process.stdout.write(`${what}\n`);
  if (++effects === Number(last)) process.kill(process.pid, "SIGKILL");
}

const transport: KubeTransport = {
  async request(request, options) {
    const answer = await http.request(request, options);
    // An operator that dies of a dry run, which leaves nothing behind, would do the same again for ever.
    const isKept = request.method !== "GET" && request.query?.["dryRun"] === undefined;
    if (isKept && !/\/(leases|events)(\/|$)/.test(request.path) && answer.status < 300)
      effect(`${request.method} ${request.path}`);
    return answer;
  },
  stream: (request, options) => http.stream(request, options),
  close: () => http.close(),
};

/** Steps that change etcd, by the kinds in the transcript; those that change objects are requests. */
const CALLS: ReadonlySet<string> = new Set<EtcdAction["kind"]>([
  "AddLearner",
  "UpdatePeerURL",
  "ChangeAuth",
  "Promote",
  "RemoveFromEtcd",
  "MoveLeader",
  "Compact",
  "Defragment",
  "Disarm",
  "EnableDowngrade",
  "CancelDowngrade",
]);

const operator = new Operator({
  config,
  ...seams,
  transport,
  log: (level, message) =>
    void process.stdout.write(`${LOGGED}${level} ${message.replaceAll("\n", "\\n")}\n`),
  lease: { namespace: "default", name: lease },
  installation: "crashes",
  hooks: {
    onStep: ({ kind, step, member, error }) => {
      if (error === undefined && CALLS.has(kind)) effect([step, member].join(" ").trimEnd());
    },
  },
});
const stop = new AbortController();
process.stdin.resume().on("end", () => stop.abort());
await operator.run(stop.signal);
