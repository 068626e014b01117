/** `etcdctl`, `shell`, `report` and `certificate show` on a cluster of this machine, as a person calls them. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import path from "node:path";
import { after, before, test } from "node:test";
import { etcdOf } from "../support/etcd-cluster.ts";
import { Home } from "../support/quorate.ts";
import { newestVersions } from "../support/etcd-versions.ts";

const VERSION = newestVersions.at(-1) ?? "";
const home = new Home();
let etcdctl: string;

before(async () => {
  ({ etcdctl } = await etcdOf(VERSION));
  await home.up("--version", VERSION).settled();
});

after(async () => await home[Symbol.asyncDispose]());

test("etcdctl finds the cluster, with full checks of its certificates", async () => {
  const listed = await home.run("etcdctl", "--local", "--etcdctl", etcdctl, "--", "member", "list");
  assert.equal(listed.code, 0, listed.stderr);
  assert.equal(listed.stdout.match(/, started, /g)?.length, 3);
  const failed = await home.run("etcdctl", "--local", "--etcdctl", etcdctl, "--", "get");
  assert.notEqual(failed.code, 0, "the exit code is etcdctl's own");
});

test("the built-in client writes and reads the same keys", async () => {
  const put = await home.run("etcdctl", "--local", "--built-in", "--", "put", "reached", "yes");
  assert.deepEqual([put.code, put.stdout], [0, "OK\n"], put.stderr);
  const got = await home.run("etcdctl", "--local", "--etcdctl", etcdctl, "--", "get", "reached");
  assert.equal(got.stdout, "reached\nyes\n");
});

test("a wrong call says what to do", async () => {
  const nothing = await home.run("etcdctl", "--local");
  assert.equal(nothing.code, 2);
  assert.match(nothing.stderr, /Put it after --/);
  const unknown = await home.run("etcdctl", "--local", "--built-in", "--", "move-leader");
  assert.equal(unknown.code, 2);
  assert.match(unknown.stderr, /install etcdctl/);
  const absent = await home.run("etcdctl", "--local", "--etcdctl", "/no/such", "--", "get", "a");
  assert.match(absent.stderr, /there is no program of this name/);
});

test("the prompt takes one command a line, and a mistake does not end it", async () => {
  const child = home.spawn(["shell", "--local", "--built-in"]);
  let out = "";
  let err = "";
  child.stdout?.setEncoding("utf8").on("data", (text: string) => (out += text));
  child.stderr?.setEncoding("utf8").on("data", (text: string) => (err += text));
  child.stdin?.end('put "a key" value\nnonsense\nget "a key"\nexit\n');
  const code = await new Promise((resolve) => child.once("close", resolve));
  assert.equal(out, "OK\na key\nvalue\n", err);
  assert.match(err, /unknown command "nonsense"/);
  assert.equal(code, 0);
});

test("a shell finds etcdctl and the cluster", async () => {
  const child = home.spawn(["shell", "--local", "--etcdctl", etcdctl]);
  let out = "";
  child.stdout?.setEncoding("utf8").on("data", (text: string) => (out += text));
  child.stdin?.end("etcdctl get --print-value-only 'a key'; exit 7\n");
  const code = await new Promise((resolve) => child.once("close", resolve));
  assert.match(out, /value\n$/);
  assert.equal(code, 7);
});

test("every certificate is shown with its days, and no key", async () => {
  const shown = await home.run("certificate", "show", "--local", "-o", "wide");
  assert.equal(shown.code, 0, shown.stderr);
  assert.match(shown.stdout, /^CERTIFICATE +SUBJECT +ISSUER +EXPIRES +DAYS +NAMES/);
  assert.match(shown.stdout, /^etcd-1-client\.pem .* 127\.0\.0\.1/m);
  const { stdout } = await home.run("certificate", "show", "--local", "-o", "json");
  const { certificates } = JSON.parse(stdout) as { certificates: { where: string; daysLeft: number }[] };
  assert.ok(certificates.length >= 10, stdout);
  assert.ok(certificates.every(({ daysLeft }) => daysLeft > 0));
  assert.doesNotMatch(stdout, /PRIVATE KEY/);
});

test("a report has the cluster and the logs of its members, and is not overwritten", async () => {
  const file = path.join(home.dir, "report.tar.gz");
  const made = await home.run("report", "--local", "-f", file);
  assert.deepEqual([made.code, made.stdout], [0, `${file}\n`], made.stderr);
  const names = execFileSync("tar", ["-tzf", file], { encoding: "utf8" });
  for (const part of [
    "why.txt",
    "status.txt",
    "cluster.yaml",
    "members.yaml",
    "logs/etcd-1.log",
    "versions.yaml",
  ])
    assert.match(names, new RegExp(`/${part}$`, "m"));
  const text = execFileSync("tar", ["-xzOf", file], { encoding: "utf8" });
  assert.doesNotMatch(text, /PRIVATE KEY/);
  const again = await home.run("report", "--local", "-f", file);
  assert.equal(again.code, 1);
  assert.match(again.stderr, /exists already; name another one with --file/);
});
