/**
 * How long a newcomer waits for the local cluster: up, and healed after a kill, a wipe and the death of all
 * members. Medians of five on an idle machine are what counts; the reference beside them tells how idle.
 */
import { EtcdClient } from "../../src/etcd/client.ts";
import { GrpcTransport } from "../../src/etcd/grpc/transport.ts";
import { systemClock } from "../../src/seams/clock.ts";
import { readFileSync } from "node:fs";
import { loadavg } from "node:os";
import { etcdOf } from "../support/etcd-cluster.ts";
import { Home, membersUnder } from "../support/quorate.ts";

const RUNS = 5;
const VERSION = "3.6.16";

const times: Record<string, number[]> = { up: [], kill: [], wipe: [], "all killed, writable": [] };
await etcdOf(VERSION);
for (let run = 0; run < RUNS; run++) {
  await using home = new Home();
  const up = home.up("--version", VERSION);
  await up.until("three members", (event) => event.readyReplicas === 3);
  times["up"]?.push(performance.now() - up.startedAt);
  await up.settled();

  let from = up.events.length;
  times["kill"]?.push(
    await timed(async () => {
      await home.json("kill", "etcd-2");
      await up.until("down", (event) => event.readyReplicas !== undefined && event.readyReplicas < 3, from);
      await up.until("back", (event) => event.readyReplicas === 3, up.events.length - 1);
    }),
  );
  await up.settled(up.events.length - 1);

  from = up.events.length;
  times["wipe"]?.push(
    await timed(async () => {
      await home.json("wipe", "etcd-1");
      await up.until("promoted", (event) => event.step === "Promote", from);
      await up.until("three voters", (event) => event.readyReplicas === 3, up.events.length - 1);
    }),
  );
  await up.settled(up.events.length - 1);

  const { cluster, files } = await home.status();
  const pem = readFileSync(files?.cert ?? "", "utf8");
  const transport = new GrpcTransport({
    clock: systemClock,
    tls: { ca: readFileSync(files?.ca ?? "", "utf8"), cert: pem, key: pem },
  });
  const endpoints = (cluster.status?.endpoints ?? []).map((url) => ({ url }));
  const client = new EtcdClient({ transport, clock: systemClock, endpoints, timeoutMs: 1_000 });
  const members = await membersUnder(home.dir);
  times["all killed, writable"]?.push(
    await timed(async () => {
      for (const { pid } of members) process.kill(pid, "SIGKILL");
      for (;;) {
        const written = await client.kv.put("bench", "x").then(
          () => true,
          () => false,
        );
        if (written) return;
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    }),
  );
  await transport.close();
}
const reference = await timed(() => Promise.resolve(spin()));
for (const [what, measured] of Object.entries(times)) {
  const sorted = measured.toSorted((a, b) => a - b).map((ms) => Math.round(ms));
  console.log(
    `  ${what}: median ${sorted[Math.floor(sorted.length / 2)]} ms, ${sorted[0]} to ${sorted.at(-1)} ms (${RUNS} runs)`,
  );
}
console.log(`  reference loop ${Math.round(reference)} ms, load ${loadavg()[0]?.toFixed(1)}`);

async function timed(work: () => Promise<void>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

/** A fixed piece of work: the same number on the same machine, unless others use it too. */
function spin(): void {
  let sum = 0;
  for (let i = 0; i < 200_000_000; i++) sum = (sum + i) | 0;
  if (sum === 1) console.log("never");
}
