/**
 * The control plane of the testbed: how soon it is up, what survives a kill, and what `down` leaves (nothing).
 */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "../../testbed/client.ts";
import { eventually } from "../../testbed/eventually.ts";
import { sweep, testBedName, upForTests } from "../../testbed/for-tests.ts";
import type { TestTestbed } from "../../testbed/for-tests.ts";
import { bedPaths } from "../../testbed/paths.ts";
import { ownedProcesses } from "../../testbed/processes.ts";
import { listeners } from "../../testbed/sockets.ts";
import { readBed } from "../../testbed/state.ts";
import { down, open, status, up } from "../../testbed/testbed.ts";

/** Machines differ and may be busy: three times what the testbed promises still catches what is broken. */
const SLACK = 3;
const MAIN = join(import.meta.dirname, "../../testbed/main.ts");

let bed: TestTestbed;
let upMs = 0;

before(async () => {
  await sweep();
  const started = Date.now();
  bed = await upForTests();
  upMs = Date.now() - started;
});

after(async () => {
  await bed?.down();
});

test("a warm testbed is ready within 8 s", (t) => {
  t.diagnostic(`ready after ${upMs} ms`);
  assert.ok(upMs < 8000 * SLACK, `${upMs} ms`);
});

test("a second up changes nothing and is back within 2 s", async (t) => {
  const before = ownedProcesses(bedPaths(bed.name).dir);
  const started = Date.now();
  const again = await up({ name: bed.name });
  const ms = Date.now() - started;
  again.client.close();
  t.diagnostic(`second up: ${ms} ms`);
  assert.ok(ms < 2000 * SLACK, `${ms} ms`);
  assert.deepEqual(ownedProcesses(bedPaths(bed.name).dir), before);
});

test("up refuses settings other than those the testbed has", async () => {
  await assert.rejects(
    up({ name: bed.name, kubelet: "process" }),
    /exists with other settings.*testbed down/,
  );
});

test("up starts again what was killed, on the same data", async () => {
  await bed.client.create("/api/v1/namespaces/default/configmaps", {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "kept" },
  });
  for (const { pid } of ownedProcesses(bedPaths(bed.name).dir)) process.kill(pid, "SIGKILL");
  await eventually("the processes are gone", () => ownedProcesses(bedPaths(bed.name).dir).length === 0);
  assert.equal((await status(bed.name)).ready, false);
  const again = await up({ name: bed.name });
  await again.client.get("/api/v1/namespaces/default/configmaps/kept");
  again.client.close();
});

test("up after an up that was killed works, whenever it was killed", async (t) => {
  const name = testBedName();
  t.after(() => down(name));
  for (const ms of [80, 300, 700, 1500, 2500]) {
    const child = spawn(process.execPath, [MAIN, "up", "--name", name], { stdio: "ignore" });
    const exited = new Promise((resolve) => child.once("exit", resolve));
    await sleep(ms);
    child.kill("SIGKILL");
    await exited;
  }
  const { client } = await up({ name });
  await client.get("/readyz");
  client.close();
  const roles = ownedProcesses(bedPaths(name).dir).map((p) => p.role);
  assert.deepEqual(roles.toSorted(), ["etcd", "kube-apiserver", "kube-controller-manager"]);
});

test("down leaves no process, no socket, no mount and no file, also after a down that was killed", async () => {
  const name = testBedName();
  const { client, bed: made } = await up({ name, kubelet: "process" });
  client.close();
  assert.ok(made.kind === "own");
  assert.notEqual(listeners(made.slot).length, 0, "the test can see sockets at all");
  for (const ms of [40, 60, 80]) {
    const child = spawn(process.execPath, [MAIN, "down", "--name", name], { stdio: "ignore" });
    const exited = new Promise((resolve) => child.once("exit", resolve));
    await sleep(ms);
    child.kill("SIGKILL");
    await exited;
  }
  await down(name);
  assert.deepEqual(ownedProcesses(bedPaths(name).dir), []);
  assert.deepEqual(listeners(made.slot), []);
  assert.equal(existsSync(bedPaths(name).dir), false);
  assert.equal(readFileSync("/proc/self/mountinfo", "utf8").includes(bedPaths(name).dir), false);
  assert.equal(readBed(name), undefined);
  await down(name); // nothing to do is no error
});

test("two testbeds stand side by side", async (t) => {
  const other = await upForTests();
  t.after(() => other.down());
  assert.notEqual(other.access.server, bed.access.server);
  await other.client.get("/readyz");
  await open(bed.name).client.get("/readyz");
});

test("the command line prints a kubeconfig that kubectl can use", () => {
  const run = (...args: string[]) =>
    spawnSync(process.execPath, [MAIN, "--name", bed.name, ...args], { encoding: "utf8" });
  const path = run("kubeconfig").stdout.trim();
  assert.equal(path, bed.kubeconfig);
  assert.match(run("status").stdout, /ready, v1\.36\.\d+ at https:\/\/127\./);
  assert.match(run("logs", "kube-apiserver").stdout, /Serving securely/);
  assert.match(run("kubectl", "get", "namespaces").stdout, /kube-system/);
  assert.equal(run("no-such-verb").status, 64);
});

test("a cluster that the user has is checked and remembered, and never ended", async (t) => {
  const name = testBedName();
  t.after(() => down(name));
  const used = await up({ name, use: bed.kubeconfig });
  assert.equal(used.access.server, bed.access.server);
  used.client.close();
  assert.equal((await status(name)).ready, true);
  await down(name);
  assert.equal((await status(name)).exists, false);
  await open(bed.name).client.get("/readyz");
  assert.ok(existsSync(bed.kubeconfig));
});

test("a kubeconfig whose server does not answer is refused with its address", async (t) => {
  const dir = mkdtempSync(join(tmpdir(), "testbed-"));
  t.after(() => rmSync(dir, { recursive: true }));
  const file = join(dir, "kubeconfig");
  writeFileSync(file, readFileSync(bed.kubeconfig, "utf8").replace(/127\.\d+\.0\.1:\d+/, "127.0.0.1:1"));
  await assert.rejects(up({ name: testBedName(), use: file }), /127\.0\.0\.1:1 does not answer/);
});

test("a request without a token is refused, and one from an unknown CA fails", async () => {
  const anonymous = new Client({ server: bed.access.server, ca: bed.access.ca ?? "" });
  await assert.rejects(anonymous.get("/api/v1/secrets"), /40[13]/);
  anonymous.close();
  const untrusting = new Client({ server: bed.access.server });
  await assert.rejects(untrusting.get("/readyz"), /certificate/);
  untrusting.close();
});
