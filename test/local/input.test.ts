/**
 * Wrong input to `quorate local`: one clear message that names the field or file, an exit code, and nothing
 * changed. The verbs run in this process; a fake terminal collects what they say.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import { Readable } from "node:stream";
import { after, test } from "node:test";
import { dispatch } from "../../src/cli/dispatch.ts";
import type { CliIo } from "../../src/cli/io.ts";
import { systemClock } from "../../src/seams/clock.ts";
import { systemRandom } from "../../src/seams/random.ts";
import { etcdOf } from "../support/etcd-cluster.ts";
import { Home } from "../support/quorate.ts";

const root = mkdtempSync(path.join(os.tmpdir(), "quorate-input-"));
after(() => rmSync(root, { recursive: true, force: true }));

interface Said {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

async function quorate(args: readonly string[], env: Record<string, string> = {}, stdin = ""): Promise<Said> {
  const said = { stdout: "", stderr: "" };
  const collect = (name: keyof typeof said) => ({ write: (text: string) => (said[name] += text) });
  // Should a mistake let a cluster start after all, it is stopped.
  const stop = AbortSignal.timeout(60_000);
  const io: CliIo = {
    stdin: Readable.from([stdin]),
    stdout: collect("stdout"),
    stderr: collect("stderr"),
    env: { ...process.env, XDG_DATA_HOME: root, ...env },
    cwd: root,
    isTTY: false,
    signal: stop,
    clock: systemClock,
    random: systemRandom,
  };
  const verbs = { local: () => import("../../src/cli/local.ts") };
  const code = await dispatch(["local", ...args], verbs, "0.0.0", io);
  return { code, ...said };
}

function manifest(name: string, spec: string): string {
  const file = path.join(root, `${name}.yaml`);
  const head = "apiVersion: etcd.quorate.dev/v1alpha1\nkind: EtcdCluster\nmetadata:\n  name: bad\n";
  writeFileSync(file, `${head}spec:\n${spec.replaceAll(/^/gm, "  ")}\n`);
  return file;
}

const wrong: readonly { name: string; args: () => string[]; says: RegExp; code?: number }[] = [
  {
    name: "a version that is none",
    args: () => ["up", "--version", "newest"],
    says: /spec\.version: .*like 3\.6\./,
  },
  {
    name: "a version of an unknown minor",
    args: () => ["up", "--version", "3.99.1"],
    says: /spec\.version: etcd 3\.99 is not supported/,
  },
  {
    name: "a version that was never released",
    args: () => ["up", "--version", "3.6.99"],
    says: /etcd 3\.6\.99 is not a version that can be installed/,
  },
  {
    name: "a new cluster on 3.4",
    args: () => ["up", "--version", "3.4.23"],
    says: /spec\.version: etcd 3\.4 is end of life/,
  },
  {
    name: "a new cluster below a floor",
    args: () => ["up", "--version", "3.5.16"],
    says: /spec\.version: .*oldest 3\.5 for a new cluster is 3\.5\.26/,
  },
  {
    name: "too many replicas",
    args: () => ["up", "--replicas", "12"],
    says: /spec\.replicas: .*between 0 and 9/,
  },
  {
    name: "replicas that are no number",
    args: () => ["up", "--replicas", "many"],
    says: /--replicas many/,
    code: 2,
  },
  {
    name: "broken YAML",
    args: () => ["up", "-f", manifest("broken", "version: [")],
    says: /broken\.yaml:\d+: not valid YAML/,
  },
  {
    name: "an unknown field",
    args: () => ["up", "-f", manifest("unknown", "version: 3.6.16\nreplica: 3")],
    says: /unknown\.yaml:7: spec\.replica: .*did you mean "replicas"/,
  },
  {
    name: "a medium that would lose data",
    args: () => ["up", "-f", manifest("memory", "version: 3.6.16\nstorage: {medium: Memory}")],
    says: /spec\.storage\.medium: .*remove it/,
  },
  {
    name: "an option that this etcd does not have",
    args: () => ["up", "-f", manifest("option", "version: 3.6.16\noptions: {extraArgs: {no-such-flag: x}}")],
    says: /spec\.options\.extraArgs.*no-such-flag/,
  },
  {
    name: "a manifest that is not there",
    args: () => ["up", "-f", "nowhere.yaml"],
    says: /-f nowhere\.yaml: there is no such file/,
    code: 2,
  },
  {
    name: "another name than the manifest's",
    args: () => ["up", "--name", "good", "-f", manifest("name", "version: 3.6.16")],
    says: /--name good: the manifest names the cluster bad/,
    code: 2,
  },
  { name: "a name that cannot be one", args: () => ["up", "--name", "Not_A_Name"], says: /metadata\.name/ },
  {
    name: "an unknown option",
    args: () => ["up", "--replica", "3"],
    says: /did you mean --replicas\?/,
    code: 2,
  },
  { name: "an unknown verb", args: () => ["stauts"], says: /Did you mean status/, code: 2 },
  { name: "a verb without its member", args: () => ["kill"], says: /<member>/, code: 2 },
  {
    name: "status of no cluster",
    args: () => ["status", "--name", "none"],
    says: /there is no cluster in .*quorate local up/,
    code: 3,
  },
  { name: "nothing to apply", args: () => ["apply"], says: /-f <file>/, code: 2 },
];

for (const { name, args, says, code = 1 } of wrong) {
  test(`${name} is refused, and nothing is made`, async () => {
    const given = args();
    const said = await quorate(given);
    assert.match(said.stderr, says);
    assert.equal(said.code, code, said.stderr);
    assert.equal(said.stdout, "");
    assert.equal(existsSync(path.join(root, "quorate")), false);
  });
}

test("a directory with something else in it is refused, and so is a file in its place", async () => {
  const dir = path.join(root, "occupied");
  mkdirSync(dir);
  writeFileSync(path.join(dir, "thesis.txt"), "precious");
  const said = await quorate(["up", "--dir", dir]);
  assert.match(said.stderr, /occupied is not empty and contains no cluster \(thesis\.txt\)/);
  assert.equal(said.code, 1);
  assert.deepEqual(readdirSync(dir), ["thesis.txt"]);
  const file = await quorate(["up", "--dir", path.join(dir, "thesis.txt")]);
  assert.match(file.stderr, /thesis\.txt is not a directory/);
});

test("the directory of another cluster is refused with both names", async () => {
  const dir = path.join(root, "taken");
  const first = await quorate(["apply", "--dir", dir, "-f", manifest("first", "version: 3.6.16")]);
  assert.equal(first.code, 0, first.stderr);
  const before = readdirSync(dir);
  const said = await quorate(["up", "--dir", dir, "--name", "other"]);
  assert.match(said.stderr, /metadata\.name: the directory belongs to the cluster "bad", not "other"/);
  assert.equal(said.code, 1);
  assert.deepEqual(readdirSync(dir), before);
});

test("what a running cluster cannot become is refused, and the spec stays", async () => {
  const dir = path.join(root, "kept");
  const place = ["--dir", dir];
  await quorate(["apply", ...place, "-f", manifest("kept", "version: 3.6.16")]);
  const refusals: readonly (readonly [string[], RegExp])[] = [
    [["upgrade", "3.4.23"], /spec\.version/],
    [["upgrade", "3.6.99"], /3\.6\.99 is not a version that can be installed/],
    [["scale", "12"], /spec\.replicas/],
    [["apply", "-f", manifest("given", "version: 3.6.16\ntls: {mode: CertManager}")], /spec\.tls/],
  ];
  for (const [args, says] of refusals) {
    const said = await quorate([...args, ...place]);
    assert.match(said.stderr, says);
    assert.equal(said.code, 1, args.join(" "));
  }
  const status = await quorate(["status", ...place, "-o", "json"]);
  const { cluster } = JSON.parse(status.stdout) as { cluster: { metadata: { generation: number } } };
  assert.equal(cluster.metadata.generation, 1);
});

test("fields that mean something on Kubernetes only are one warning, and in the status", async () => {
  const dir = path.join(root, "warned");
  const file = manifest(
    "warned",
    "version: 3.6.16\npod: {nodeSelector: {disk: ssd}}\nservice: {type: NodePort}",
  );
  const said = await quorate(["apply", "--dir", dir, "-f", file]);
  assert.equal(said.code, 0, said.stderr);
  assert.match(said.stderr, /^Warning: .*spec\.pod\.nodeSelector.*spec\.service\.type.*\n$/);
  const status = await quorate(["status", "--dir", dir, "-o", "json"]);
  const { cluster } = JSON.parse(status.stdout) as { cluster: { status: { notApplicable: string[] } } };
  assert.deepEqual(cluster.status.notApplicable.toSorted(), ["spec.pod.nodeSelector", "spec.service.type"]);
});

test("a directory that may not be written is reported with its path", async (t) => {
  await etcdOf("3.6.16");
  if (process.getuid?.() !== 0) {
    const dir = path.join(root, "closed");
    mkdirSync(dir, { mode: 0o500 });
    const said = await quorate(["up", "--dir", path.join(dir, "cluster")]);
    assert.match(said.stderr, /closed\/cluster: permission denied/);
    return;
  }
  t.diagnostic("root may write anywhere: asked as another user");
  const { etcd } = await etcdOf("3.6.16");
  chmodSync(root, 0o755);
  const closed = path.join(root, "closed");
  mkdirSync(closed, { mode: 0o755 });
  const copy = path.join(root, "etcd");
  execFileSync("cp", ["-r", path.dirname(etcd), copy]);
  await using home = new Home({ uid: 65_534, gid: 65_534, env: { HOME: root, QUORATE_ETCD_DIR: copy } });
  const said = await home.run("local", "up", "--version", "3.6.16", "--dir", path.join(closed, "cluster"));
  assert.match(said.stderr, /cannot create the directory .*closed\/cluster: permission denied/);
  assert.equal(said.code, 1);
  assert.deepEqual(readdirSync(closed), []);
});

test("a full disk is reported before anything is made", async (t) => {
  const dir = path.join(root, "small");
  mkdirSync(dir);
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=1m", "tmpfs", dir], { stdio: "pipe" });
  } catch (error) {
    if (process.env["CI"] === "true") throw error;
    return t.skip("mounting a small disk needs root");
  }
  try {
    const said = await quorate(["up", "--dir", path.join(dir, "cluster")]);
    assert.match(
      said.stderr,
      /small\/cluster: not enough disk space \(1 MiB free, 3 members need about 480 MiB to start\)/,
    );
    assert.equal(said.code, 1);
    assert.deepEqual(readdirSync(dir), []);
  } finally {
    execFileSync("umount", [dir]);
  }
});

test("without free ports no cluster is made", async () => {
  await etcdOf("3.6.16");
  const servers: Server[] = [];
  try {
    for (let port = 23_790; port <= 32_690; port += 100) {
      const server = createServer();
      // Somebody else may hold it already; then it is not free either.
      await new Promise<void>((resolve) => {
        server.once("error", () => resolve());
        server.listen(port, "127.0.0.1", resolve);
      });
      servers.push(server);
    }
    const dir = path.join(root, "portless");
    const said = await quorate(["up", "--dir", dir, "--version", "3.6.16"]);
    assert.match(said.stderr, /no block of 100 free ports/);
    assert.equal(said.code, 1);
    assert.equal(existsSync(path.join(dir, "cluster.json")), false);
  } finally {
    for (const server of servers) server.close();
  }
});
