/** How soon a local cluster is there, and how soon it is well again, beside plain etcd doing the same. */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { WorkloadFacts } from "../../src/core/observation.ts";
import type { EtcdClient } from "../../src/etcd/client.ts";
import { etcdOf } from "../support/etcd-cluster.ts";
import { LocalCluster } from "../support/local-cluster.ts";
import { measure, tellLoad, timed } from "./measure.ts";
import { insist, prepareThree, replaceByHand, startAll, startThree } from "./plain-etcd.ts";

const VERSION = "3.6.16";
/** etcd admits nobody before its voters have been connected for 5 s (R19), which in real life they have. */
const CONNECTED_MS = 6_000;
const root = fileURLToPath(new URL("../..", import.meta.url));

await etcdOf(VERSION);
tellLoad();

await measure({
  what: "npm start: three healthy members with TLS",
  unit: "ms",
  goal: 5_000,
  run: npmStart,
  reference: {
    what: "three plain members started at once, certificates ready",
    run: async () => {
      await using cluster = await prepareThree(VERSION);
      return await timed(() => startAll(cluster, "new"));
    },
  },
});

await measure({
  what: "a killed member, the leader, is back",
  unit: "ms",
  goal: 3_000,
  run: async () => {
    await using local = await startLocal();
    const { name = "", workload } = local.view().leader ?? {};
    return await timed(async () => {
      await local.controller.platform.workloads.kill(name, "SIGKILL");
      await local.until("back", ({ members }) => {
        const member = members.find((candidate) => candidate.name === name);
        return member?.healthy === true && since(member.workload) !== since(workload);
      });
    });
  },
  reference: {
    what: "a plain leader killed and started again",
    run: async () => {
      await using cluster = await startThree(VERSION);
      const member = await cluster.leader();
      return await timed(async () => {
        await member.running.kill();
        await cluster.restart(member);
      });
    },
  },
});

await measure({
  what: "after SIGKILL of all three the cluster is writable",
  unit: "ms",
  goal: 3_000,
  run: async () => {
    await using local = await startLocal();
    const client = await local.client();
    const { workloads } = local.controller.platform;
    const pids = (await local.names()).flatMap((name) => workloads.identity(name)?.pid ?? []);
    return await timed(async () => {
      for (const pid of pids) process.kill(pid, "SIGKILL");
      await writable(client);
    });
  },
  reference: {
    what: "three plain members killed and started again at once",
    run: async () => {
      await using cluster = await startThree(VERSION);
      return await timed(async () => {
        await Promise.all(cluster.members.map((member) => member.running.kill()));
        await startAll(cluster, "existing");
        await writable(cluster.client());
      });
    },
  },
});

await measure({
  what: "a wiped member is replaced and the newcomer promoted",
  unit: "ms",
  goal: 10_000,
  run: async () => {
    await using local = await startLocal();
    await new Promise((resolve) => setTimeout(resolve, CONNECTED_MS));
    const before = await local.names();
    const [name = ""] = before;
    return await timed(async () => {
      await local.wipe(name);
      await local.until("promoted", ({ members }) =>
        members.some((member) => !before.includes(member.name) && member.isVoter && member.healthy),
      );
    });
  },
  reference: {
    what: "a plain member removed, added, started and promoted by hand",
    run: async () => {
      await using cluster = await startThree(VERSION);
      await new Promise((resolve) => setTimeout(resolve, CONNECTED_MS));
      const [lost] = await cluster.followers();
      if (lost === undefined) throw new Error("no follower");
      return await timed(async () => {
        await lost.running.kill();
        await replaceByHand(cluster, lost);
      });
    },
  },
});

/** A new one each time: members that end soon after their start are started again later each time. */
async function startLocal(): Promise<LocalCluster> {
  const local = await LocalCluster.start({ version: VERSION, replicas: 3, tls: { mode: "Managed" } });
  await (await local.client()).kv.put("a", "1");
  return local;
}

/** From the command to the moment at which it says that three members are ready. */
async function npmStart(): Promise<number> {
  const dir = mkdtempSync(path.join(os.tmpdir(), "quorate-bench-"));
  const began = performance.now();
  const args = ["start", "--silent", "--", "--version", VERSION, "--dir", path.join(dir, "c"), "-o", "json"];
  const child = spawn("npm", args, { cwd: root, stdio: ["ignore", "pipe", "inherit"], detached: true });
  const ended = new Promise((resolve) => child.once("close", resolve));
  try {
    for await (const line of createInterface({ input: child.stdout })) {
      const event = JSON.parse(line) as { readyReplicas?: number };
      if (event.readyReplicas === 3) return performance.now() - began;
    }
    throw new Error("npm start ended");
  } finally {
    if (child.pid !== undefined) process.kill(-child.pid, "SIGINT");
    child.stdout.resume();
    await ended;
    rmSync(dir, { recursive: true, force: true });
  }
}

async function writable(client: EtcdClient): Promise<void> {
  await insist(() => client.kv.put("writable", "1", { timeoutMs: 500 }));
}

function since(workload: WorkloadFacts | undefined): number | undefined {
  return workload && "since" in workload ? workload.since : undefined;
}
