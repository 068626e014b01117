/**
 * `quorate local up` as a newcomer runs it: three members with TLS, broken and healed through the verbs,
 * the controller killed and started again. Times are ceilings, three times what an idle machine needs.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";
import type { LocalReport } from "../../src/local/operations.ts";
import { eventually } from "../../testbed/eventually.ts";
import { etcdOf } from "../support/etcd-cluster.ts";
import { Home, membersUnder } from "../support/quorate.ts";

const VERSION = "3.6.16";

/** For calls that are to fail, or are made again: they need not wait for long. */
const SHORT = "--command-timeout=2s";

/** etcdctl as the printed lines call it. */
async function etcdctl(environment: Readonly<Record<string, string>>, ...args: string[]): Promise<string> {
  const { etcdctl: program } = await etcdOf(VERSION);
  const { status, stdout, stderr } = spawnSync(program, ["--command-timeout=20s", ...args], {
    env: { ...process.env, ...environment },
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`etcdctl ${args.join(" ")}: ${stderr}`);
  return stdout;
}

/** At rest with so many members; a cluster that was at rest may be looking at itself for a moment. */
async function healthy(home: Home, members: number): Promise<LocalReport> {
  return await eventually("healthy", async () => {
    const report = await home.status();
    assert.equal(report.converged, true, report.waiting.join());
    assert.equal(report.cluster.status?.readyReplicas, members);
    return report;
  });
}

test("three healthy members with TLS come up, are broken in three ways, and heal", async (t) => {
  await etcdOf(VERSION);
  await using home = new Home();
  const up = home.up("--version", VERSION);
  const { environment = {} } = await up.until("three members", (event) => event.readyReplicas === 3);
  const upMs = performance.now() - up.startedAt;
  t.diagnostic(`up after ${Math.round(upMs)} ms`);
  assert.ok(upMs < 30_000, `three members took ${upMs} ms`);

  await t.test("the printed environment is all that etcdctl needs, and plain text is refused", async () => {
    assert.match(
      environment["ETCDCTL_ENDPOINTS"] ?? "",
      /^https:\/\/127\.0\.0\.1:\d+(,https:\/\/127\.0\.0\.1:\d+){2}$/,
    );
    await etcdctl(environment, "put", "hello", "world");
    const plain = { ETCDCTL_ENDPOINTS: (environment["ETCDCTL_ENDPOINTS"] ?? "").replaceAll("https", "http") };
    await assert.rejects(etcdctl(plain, SHORT, "get", "hello"));
    const { ETCDCTL_CERT: _cert, ETCDCTL_KEY: _key, ...anonymous } = environment;
    await assert.rejects(etcdctl(anonymous, SHORT, "get", "hello"));
  });

  await t.test("a killed member is back under its own identity", async () => {
    await up.settled();
    const before = await healthy(home, 3);
    const from = up.events.length;
    const began = performance.now();
    assert.equal(
      (await home.run("local", "kill", "etcd-9")).code,
      3,
      "a running controller has no such member",
    );
    await home.json("kill", "etcd-2");
    const unhealthy = await up.until(
      "unhealthy",
      (event) => event.readyReplicas !== undefined && event.readyReplicas < 3,
      from,
    );
    await up.until("healthy", (event) => event.readyReplicas === 3, up.events.indexOf(unhealthy));
    const ms = performance.now() - began;
    t.diagnostic(`killed member back after ${Math.round(ms)} ms`);
    assert.ok(ms < 30_000, `${ms} ms`);
    const after = await healthy(home, 3);
    const ids = (report: LocalReport) => report.cluster.status?.members?.map(({ id }) => id);
    assert.deepEqual(ids(after), ids(before));
  });

  await t.test("a wiped member is replaced by a new one, which is promoted", async () => {
    const from = up.events.length;
    const began = performance.now();
    await home.json("wipe", "etcd-1");
    const promoted = await up.until("promoted", (event) => event.step === "Promote", from);
    await up.settled(up.events.indexOf(promoted));
    const ms = performance.now() - began;
    t.diagnostic(`wiped member replaced after ${Math.round(ms)} ms`);
    assert.ok(ms < 60_000, `${ms} ms`);
    const report = await healthy(home, 3);
    assert.deepEqual(
      report.cluster.status?.members?.map(({ name }) => name),
      ["etcd-2", "etcd-3", "etcd-4"],
    );
    assert.match(await etcdctl(clientOf(report), "get", "hello"), /world/);
  });

  await t.test(
    "a member whose database was changed behind its back is replaced, and only that one",
    async () => {
      const from = up.events.length;
      await home.json("corrupt", "etcd-3");
      const promoted = await up.until("promoted", (event) => event.step === "Promote", from);
      await up.settled(up.events.indexOf(promoted));
      const report = await healthy(home, 3);
      assert.deepEqual(
        report.cluster.status?.members?.map(({ name }) => name),
        ["etcd-2", "etcd-4", "etcd-5"],
      );
      assert.match(await etcdctl(clientOf(report), "get", "hello"), /world/);
    },
  );

  await t.test("with all members killed at once the cluster is writable again soon", async () => {
    const client = clientOf(await healthy(home, 3));
    const members = await membersUnder(home.dir);
    assert.equal(members.length, 3);
    for (const { pid } of members) process.kill(pid, "SIGKILL");
    const began = performance.now();
    await eventually("writable", () => etcdctl(client, SHORT, "put", "after", "outage").then(() => true), {
      everyMs: 20,
    });
    const ms = performance.now() - began;
    t.diagnostic(`writable ${Math.round(ms)} ms after all were killed`);
    assert.ok(ms < 30_000, `${ms} ms`);
    assert.match(await etcdctl(client, "get", "hello"), /world/);
  });

  await t.test("every reading verb speaks JSON and tells the same cluster", async () => {
    // A member that is still on its way back comes before any plan to grow.
    await healthy(home, 3);
    const why = await home.json<{ summary: string }>("why");
    assert.match(why.summary, /./);
    const plan = await home.json<{ steps: { step: string }[] }>("plan", "--replicas", "5");
    assert.ok(plan.steps.some(({ step }) => step.startsWith("promote")));
    const { code, stdout } = await home.run("local", "logs", "etcd-2", "--lines", "3");
    assert.equal(code, 0);
    assert.equal(stdout.trim().split("\n").length, 3);
  });

  up.signal("SIGINT");
  assert.equal(await up.ended, 0);
  assert.deepEqual(await membersUnder(home.dir), []);
});

function clientOf(report: LocalReport): Record<string, string> {
  return {
    ETCDCTL_ENDPOINTS: report.cluster.status?.endpoints?.join(",") ?? "",
    ETCDCTL_CACERT: report.files?.ca ?? "",
    ETCDCTL_CERT: report.files?.cert ?? "",
    ETCDCTL_KEY: report.files?.key ?? "",
  };
}

test("a controller killed with SIGKILL leaves its members serving, and the next one adopts them", async () => {
  await etcdOf(VERSION);
  await using home = new Home();
  const first = home.up("--version", VERSION);
  await first.settled();
  const before = await home.status();
  await etcdctl(clientOf(before), "put", "kept", "yes");
  first.signal("SIGKILL");
  await first.ended;

  assert.match(await etcdctl(clientOf(before), "get", "kept"), /yes/);
  const alone = await home.status();
  assert.equal(alone.controller, undefined);
  assert.equal(alone.cluster.status?.readyReplicas, 3);

  const second = home.up();
  await second.settled();
  const after = await home.status();
  const pids = (report: LocalReport) => report.processes.map(({ name, pid }) => [name, pid]);
  assert.deepEqual(pids(after), pids(before));

  const third = home.up();
  assert.equal(await third.ended, 1);
  assert.match(third.story(), new RegExp(`another controller \\(process ${second.pid}\\)`));

  second.signal("SIGTERM");
  assert.equal(await second.ended, 0);
  assert.deepEqual(await membersUnder(home.dir), []);
  const fourth = home.up();
  await fourth.settled();
  assert.match(await etcdctl(clientOf(await home.status()), "get", "kept"), /yes/);
});

test("down stops members that a killed controller left, and their data stays", async () => {
  await etcdOf(VERSION);
  await using home = new Home();
  const up = home.up("--version", VERSION, "--replicas", "1");
  await up.settled();
  up.signal("SIGKILL");
  await up.ended;
  assert.equal((await membersUnder(home.dir)).length, 1);
  await home.json("down");
  assert.deepEqual(await membersUnder(home.dir), []);
  const { summary } = (await home.json("why")) as { summary: string };
  assert.match(summary, /^No controller is running/);
  assert.ok(existsSync(`${home.clusterDir()}/volumes/etcd-1/data/member/wal`));
});

test("two clusters live side by side, and each is deleted as its spec says", async () => {
  await etcdOf(VERSION);
  await using home = new Home();
  const one = home.up("--version", VERSION, "--replicas", "1", "--name", "one");
  const two = home.up("--version", VERSION, "--replicas", "1", "--name", "two");
  await Promise.all([one.settled(), two.settled()]);
  const endpoints = await Promise.all(
    ["one", "two"].map(async (name) => (await home.status("--name", name)).cluster.status?.endpoints ?? []),
  );
  assert.equal(new Set(endpoints.flat()).size, 2);
  await home.json("delete", "--name", "one");
  assert.equal(await one.ended, 0);
  assert.equal((await membersUnder(home.dir)).length, 1);
  assert.ok(existsSync(`${home.clusterDir("one")}/volumes/one-1`), "retention keeps the volume");
  assert.equal(existsSync(`${home.clusterDir("one")}/cluster.json`), false);
  two.signal("SIGKILL");
  await two.ended;
  await home.json("delete", "--name", "two");
  assert.deepEqual(await membersUnder(home.dir), []);
});

test("a port that somebody else took is reported with its holder, and the member starts when it is free", async () => {
  const { createServer } = await import("node:net");
  await etcdOf(VERSION);
  await using home = new Home();
  const first = home.up("--version", VERSION, "--replicas", "1");
  await first.settled();
  const endpoint = (await home.status()).cluster.status?.endpoints?.[0] ?? "";
  first.signal("SIGINT");
  await first.ended;

  const server = createServer();
  await new Promise<void>((resolve) => {
    server.listen(Number(new URL(endpoint).port), "127.0.0.1", resolve);
  });
  const second = home.up();
  try {
    const refused = await eventually("the holder is reported", async () => {
      const [{ detail } = { detail: "" }] = (await home.status()).processes;
      assert.match(detail ?? "", new RegExp(`in use by process ${process.pid}`));
      return detail;
    });
    assert.match(refused, /address-in-use: port \d+ is in use by process/);
  } finally {
    await new Promise((resolve) => {
      server.close(resolve);
    });
  }
  await second.settled();
});

test("runs as an ordinary user", async (t) => {
  if (process.getuid?.() !== 0) return t.diagnostic("this whole run is an ordinary user's");
  const { etcd } = await etcdOf(VERSION);
  const nobody = { uid: 65_534, gid: 65_534 };
  const readable = spawnSync(etcd, ["--version"], nobody).status === 0;
  await using home = new Home(nobody);
  const env: Record<string, string> = { HOME: home.dir };
  if (!readable) {
    // The cache of root is closed to others: give them a copy.
    const { cpSync, chmodSync } = await import("node:fs");
    const copy = `${home.dir}/etcd/${VERSION}`;
    cpSync(etcd.replace(/\/etcd$/, ""), copy, { recursive: true });
    for (const dir of [`${home.dir}/etcd`, copy]) chmodSync(dir, 0o755);
    env["QUORATE_ETCD_DIR"] = `${home.dir}/etcd`;
  }
  await using theirs = new Home({ ...nobody, env });
  const up = theirs.up("--version", VERSION);
  await up.settled();
  const report = await theirs.status();
  const [member] = report.processes;
  assert.match(readFileSync(`/proc/${member?.pid}/status`, "utf8"), /^Uid:\s+65534/m);
  up.signal("SIGINT");
  assert.equal(await up.ended, 0);
});

test("every verb that is proven here was called with success", async () => {
  await Home.assertProven(import.meta.filename);
});
