/**
 * The verbs that change something on this machine, each called once with success as a person calls them: those for both
 * platforms with --local, and those of `quorate local`.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { stringify } from "yaml";
import { API_VERSION } from "../../src/api/metadata.ts";
import { eventually } from "../../testbed/eventually.ts";
import { etcdOf } from "../support/etcd-cluster.ts";
import { Home, type Ended, type Up } from "../support/quorate.ts";

/** From which the cluster is upgraded. */
const BEFORE = "3.5.35";
const VERSION = "3.6.16";

let home: Home;
let up: Up;

before(async () => {
  for (const version of [BEFORE, VERSION]) await etcdOf(version);
  home = new Home();
  up = home.up("--version", BEFORE, "--replicas", "1");
  await up.settled();
});

after(async () => {
  await home?.[Symbol.asyncDispose]();
});

async function done(line: string, says: RegExp = /./): Promise<Ended> {
  const ended = await home.run(...line.split(" "));
  assert.equal(ended.code, 0, `${line}: ${ended.stderr}`);
  assert.match(ended.stdout, says);
  return ended;
}

async function refused(line: string, wanted: number, says: RegExp): Promise<void> {
  const { code, stdout, stderr } = await home.run(...line.split(" "));
  assert.match(stderr, says);
  assert.equal(code, wanted, stderr);
  assert.equal(stdout, "");
}

function manifest(kind: string, name: string, spec: object): string {
  const file = path.join(home.dir, `${kind}-${name}.yaml`.toLowerCase());
  writeFileSync(file, stringify({ apiVersion: API_VERSION, kind, metadata: { name }, spec }));
  return file;
}

const cluster = (logLevel: string) =>
  manifest("EtcdCluster", "etcd", {
    version: VERSION,
    replicas: 1,
    update: { strategy: "OnApproval" },
    options: { logLevel },
  });

async function waits(): Promise<string> {
  let word = "";
  await eventually("a rollout waits for its approval", async () => {
    const { stdout } = await home.run("local", "why");
    word = /approve ([0-9a-f]{8,})/.exec(stdout)?.[1] ?? "";
    return word !== "";
  });
  return word;
}

async function settled(): Promise<void> {
  await eventually("the cluster is healthy", async () => {
    const { cluster: { status } = {} } = (await home.status()) as {
      cluster?: { status?: { phase?: string } };
    };
    return status?.phase === "Healthy";
  });
}

test("upgrade takes the path and waits for its end", async () => {
  const { stderr } = await done("upgrade etcd 3.6 --local --yes", /^etcd runs etcd 3\.6\.16$/m);
  assert.match(stderr, /^\d\d:\d\d:\d\d {2}/m, "its steps are told");
  await done(`local upgrade ${VERSION}`, /unchanged/);
});

test("apply waits for an approval, approve lists it and lets the rollout go on", async () => {
  await refused(`apply -f ${cluster("Warn")} --local --yes`, 1, /AwaitingApproval.*approve [0-9a-f]+/);
  const { stdout } = await done("approve --local", /a rollout is ready/i);
  const [, word = ""] = /approve etcd ([0-9a-f]+)/.exec(stdout) ?? [];
  await done(`approve etcd ${word} --local`, /is approved for etcd/);
  await settled();
  await done(`apply -f ${cluster("Warn")} --local`, /etcd unchanged/);
});

test("local apply stores a spec, local why names the approval, and local approve gives it", async () => {
  await done(`local apply -f ${cluster("Info")}`, /etcd/);
  await done(`local approve ${await waits()}`, /approved/);
  await settled();
  await done("local why", /Nothing to do/);
});

test("restart, compact and member replace run as operations, which can be shown", async () => {
  const { stderr } = await done("restart --local --yes");
  assert.match(stderr, /Restarting all members of etcd \(operation etcd-restart-[0-9a-f]{6}\)/);
  const [, name = ""] = /operation (etcd-restart-[0-9a-f]{6})/.exec(stderr) ?? [];
  await done(`operation show ${name} --local`, /Succeeded/);
  const { stdout: env } = await done("local env", /ETCDCTL_ENDPOINTS/);
  assert.match(env, /^export /m);
  await done("etcdctl --local -- put key 1", /OK/);
  await done("etcdctl --local -- put key 2", /OK/);
  await done("compact --local --retain 1 --yes");
  await done("member replace etcd-1 --local --yes");
  await done("members --local", /etcd-2/);
});

test("what is asked of a paused cluster is recorded, and can be cancelled", async () => {
  await done("pause --local --yes", /etcd is paused/);
  await refused(
    "scale 3 --local",
    1,
    /etcd is paused: the change is recorded, .*quorate resume etcd --local/,
  );
  await refused("scale 1 --local --yes", 1, /etcd is paused/);
  const { stdout } = await done(
    "restart --local --yes --no-wait",
    /operation etcd-restart-[0-9a-f]{6} created/,
  );
  const [, name = ""] = /operation (etcd-restart-[0-9a-f]{6}) created/.exec(stdout) ?? [];
  await done(`operation cancel ${name} --local`, /is cancelled/);
  await done("resume --local", /etcd is resumed/);
});

test("top looks twice without a terminal, and is live on one", async () => {
  await done("top --local --interval 1s", /etcd +Healthy +1\/1 +\d/);
  const program = [process.execPath, path.join(import.meta.dirname, "../../src/cli/main.ts")].join(" ");
  const line = `stty rows 10 cols 90; timeout --preserve-status -s INT 4 ${program} top --local --interval 1s; echo "ended with $?"`;
  const { stdout } = await promisify(execFile)("script", ["-qec", line, "/dev/null"], {
    env: { ...process.env, XDG_DATA_HOME: home.dir, TERM: "xterm" },
  });
  assert.ok(stdout.includes("\x1b[2J\x1b[H"), "the screen is drawn in place");
  assert.match(stdout, /NAME +PHASE +READY/);
  assert.match(stdout, /ended with 0/);
});

test("local operations are created, listed and deleted", async () => {
  await done("local operation create defragment --as tidy --member etcd-2", /operation tidy created/);
  await eventually("it has ended", async () => {
    const { stdout } = await home.run("local", "operation", "list");
    return /tidy +defragment +Succeeded/.test(stdout);
  });
  await done("local operation delete tidy", /operation tidy deleted/);
});

test("local replace, fence and unfence", async () => {
  await done("local replace etcd-2", /etcd-2/);
  await eventually("another one took its place", async () => {
    const { stdout } = await home.run("members", "--local");
    return /etcd-3 +Leader +Healthy/.test(stdout) && !/etcd-2/.test(stdout);
  });
  await settled();
  await done("local fence etcd-3", /etcd-3/);
  await done("local unfence etcd-3", /etcd-3/);
});

test("local snapshot and local schedule take manifests, list them and delete them", async () => {
  const directory = path.join(home.dir, "snapshots");
  mkdirSync(directory);
  const spec = { cluster: "etcd", destination: { file: { path: directory } } };
  await done(`local snapshot apply -f ${manifest("EtcdSnapshot", "once", spec)}`, /once/);
  await eventually("it is taken", async () => {
    const { stdout } = await home.run("local", "snapshot", "list");
    return /once +Succeeded/.test(stdout);
  });
  await done("local snapshot delete once", /once/);
  const yearly = manifest("EtcdSnapshotSchedule", "yearly", { ...spec, schedule: "@yearly" });
  await done(`local schedule apply -f ${yearly}`, /yearly/);
  await done("local schedule list", /yearly +@yearly/);
  await done("local schedule delete yearly", /yearly/);
});

test("local role and local user take manifests, list them and delete them", async () => {
  const role = { cluster: "etcd", permissions: [{ access: "Read", key: "app/", prefix: true }] };
  await done(`local role apply -f ${manifest("EtcdRole", "reader", role)}`, /reader/);
  await done(
    `local user apply -f ${manifest("EtcdUser", "alice", { cluster: "etcd", roles: ["reader"] })}`,
    /alice/,
  );
  await done("local role list", /reader/);
  await done("local user list", /alice/);
  await done("local user delete alice", /alice/);
  await done("local role delete reader", /reader/);
});

test("local status, plan, logs and scale", async () => {
  await done("local status", /etcd/);
  await done("local plan --replicas 3", /etcd-4/);
  await done("local logs etcd-3 --lines 3", /\{"level"/);
  await done("local scale 3", /etcd/);
  await settled();
  await done("members --local", /etcd-4/);
});

test("local down ends the controller, and local delete the cluster", async () => {
  await done("local down", /./);
  assert.equal(await up.ended, 0);
  await done("local delete", /./);
});

test("every verb that is proven here was called with success", async () => {
  await Home.assertProven(import.meta.filename);
});
