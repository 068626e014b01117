/**
 * The command, called through real kubectl, against a real API server with a running operator: every verb that reads
 * once with success, and each way to fail with a message that says what to do.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { promisify } from "node:util";
import { API_VERSION } from "../../src/api/metadata.ts";
import { dispatch } from "../../src/cli/dispatch.ts";
import { collectingIo } from "../../src/cli/testing.ts";
import { verbs } from "../../src/cli/verbs.ts";
import { sampleFile } from "../../src/snapshot/testing/fixtures.ts";
import { eventually } from "../../testbed/eventually.ts";
import { upForTests, type TestTestbed } from "../../testbed/for-tests.ts";
import { kubeconfigText } from "../../testbed/kubeconfig.ts";
import { ClusterOnBed, define, PATIENCE_MS, startOperator, type Running } from "../support/operator.ts";
import { PATHS } from "../support/kube-paths.ts";
import { KubectlEtcd } from "../support/kubectl-etcd.ts";

let bed: TestTestbed;
let running: Running;
let demo: ClusterOnBed;
let kubectl: KubectlEtcd;
let folder: string;

const shown = async (...argv: string[]) => (await kubectl.done(argv.join(" "))).out;
const refused = async (code: number, says: RegExp, ...argv: string[]) =>
  await kubectl.refused(argv.join(" "), code, says);

/** Nothing is compared or defragmented either. */
async function atRest(): Promise<void> {
  const isHealthy = async () => (await demo.status()).phase === "Healthy";
  await eventually("demo is at rest", isHealthy, { withinMs: PATIENCE_MS });
}

before(async () => {
  bed = await upForTests({ kubelet: "process", backoffMs: { first: 200, max: 2_000 } });
  kubectl = await KubectlEtcd.install(bed);
  ({ folder } = kubectl);
});

after(async () => {
  await demo?.close();
  await running?.stop();
  await bed?.down();
  kubectl?.[Symbol.dispose]();
});

test("where Quorate is not installed, that is said", async () => {
  await refused(3, /has no resource etcdclusters\.etcd\.quorate\.dev: Quorate is not installed/, "list");
  await refused(3, /Quorate is not installed/, "status", "demo");
});

describe("with a cluster of three members", () => {
  before(async () => {
    await define(bed);
    running = startOperator(bed);
    await eventually("the operator leads", () => running.operator.leads, { withinMs: PATIENCE_MS });
    await refused(3, /there is no EtcdCluster in namespace default\..*kubectl etcd list -A/, "list");
    demo = new ClusterOnBed(bed, "demo", running);
    await demo.create({ replicas: 3 });
    await demo.converged(3);
    await atRest();
  });

  test("status is one screen: phase, leader, database against its quota, and the members", async () => {
    const text = await shown("status");
    assert.match(text, /^default\/demo  Healthy/);
    assert.match(text, /The cluster matches its spec: 3 of 3 voters healthy/);
    assert.match(text, /Leader +demo-\d/);
    assert.match(text, /Database +\[#-*.*\] .* of 64\.0 MiB/);
    assert.match(text, /demo-1 +(?:Leader|Follower) +Healthy +\d+ +3\.6\.16 +\S+ \S+ +\S+ +\d+d/);
    assert.match(await shown("status", "demo"), /^default\/demo  Healthy/);
  });

  test("list, members, events, why and top agree with it", async () => {
    assert.match(await shown("list"), /demo +3\.6\.16 +3\/3 +Healthy +demo-\d/);
    assert.match(await shown("list", "-A"), /NAMESPACE +NAME.*\ndefault +demo/);
    assert.equal(await shown("list", "--unhealthy"), "All 1 clusters are healthy.\n");
    assert.equal((await shown("members", "demo")).trimEnd().split("\n").length, 4);
    assert.match(await shown("members", "demo", "-o", "wide"), /https:\/\/demo-1-peer\.default\.svc:2380/);
    assert.match(await shown("events", "demo"), /EtcdCluster\/demo|EtcdMember\/demo-1/);
    assert.equal(await shown("why"), "Nothing to do: the cluster matches its spec.\n");
    assert.match(await shown("top", "--interval", "1s"), /demo +Healthy +3\/3 +[\d.]+/);
  });

  test("certificates are shown from Secrets, and a user gets one for a while", async () => {
    assert.match(
      await shown("certificate", "show", "demo"),
      /^CERTIFICATE +SUBJECT[^]*demo-1\/server\.pem [^]* \d+ *$/m,
    );
    await bed.client.create(PATHS.users, {
      apiVersion: API_VERSION,
      kind: "EtcdUser",
      metadata: { name: "alice" },
      spec: { cluster: "demo", roles: [] },
    });
    const issue = ["certificate", "issue", "alice", "--ttl", "1h"];
    assert.match(await shown(...issue), /The certificate of user alice expires in (?:1h|60m|59m)/);
    assert.match(readFileSync(join(folder, "alice.crt"), "utf8"), /BEGIN CERTIFICATE/);
    await refused(1, /alice\.\w+ exists\. Overwrite it with --force/, ...issue);
  });

  test("-o json and -o yaml are the objects", async () => {
    const list = JSON.parse(await shown("list", "-o", "json")) as { metadata: { name: string } }[];
    assert.deepEqual(
      list.map(({ metadata }) => metadata.name),
      ["demo"],
    );
    assert.match(await shown("status", "demo", "-o", "yaml"), /^cluster:\n {2}apiVersion: /);
  });

  test("plan foretells an upgrade and a scale-out with the risk of each step, and changes nothing", async () => {
    const before = await demo.get();
    const upgrade = await shown("plan", "demo", "--version", "3.6.17");
    assert.match(upgrade, /roll demo-\d +1 +none/);
    assert.match(upgrade, /stop workload demo-\d +0 +elevated/);
    assert.match(upgrade, /The cluster then matches its spec\./);
    const scale = await shown("plan", "demo", "--replicas", "5");
    assert.match(scale, /promote demo-5/);
    assert.equal(await shown("plan", "demo"), "Nothing to do.\n");
    // The status may have been written meanwhile, the spec not.
    assert.equal((await demo.get()).metadata.generation, before.metadata.generation);
  });

  test("plan of a manifest: a new cluster, and one that is wrong", async () => {
    const file = join(folder, "new.yaml");
    const text = (version: string) =>
      `apiVersion: etcd.quorate.dev/v1alpha1\nkind: EtcdCluster\nmetadata: {name: fresh}\nspec: {version: "${version}"}\n`;
    writeFileSync(file, text("3.6.16"));
    assert.match(
      await shown("plan", "-f", file),
      /create member fresh-1[^]*The cluster then matches its spec\./,
    );
    writeFileSync(file, text("newest"));
    await refused(1, /spec\.version/, "plan", "-f", file);
    await refused(2, /there is no such file/, "plan", "-f", "nowhere.yaml");
  });

  test("what plan foretells is what the operator does", async () => {
    const foretold = JSON.parse(await shown("plan", "demo", "--replicas", "1", "-o", "json")) as {
      steps: { step: string }[];
      converged: boolean;
    };
    assert.equal(foretold.converged, true);
    const from = running.steps.length;
    await demo.edit({ replicas: 1 });
    await demo.converged(1);
    // A leader that removes itself may end before it answers: the step is tried again, and then finds it done.
    const removed = running.steps
      .slice(from)
      .flatMap((step) => /^RemoveFromEtcd (\S+)/.exec(step)?.[1] ?? []);
    const planned = foretold.steps.flatMap(({ step }) => /^remove from etcd (\S+)/.exec(step)?.[1] ?? []);
    assert.equal(planned.length, 2);
    assert.deepEqual([...new Set(removed)], planned);
    await demo.edit({ replicas: 3 });
    await demo.converged(3);
    await atRest();
  });

  test("a name that does not exist is answered with the nearest that does", async () => {
    for (const verb of ["status", "members", "why", "plan", "events", "logs", "top"])
      await refused(3, /no cluster is named "dmeo" in namespace default; did you mean demo\?/, verb, "dmeo");
    await refused(3, /no member is named "demo-99" in cluster demo/, "logs", "demo", "--member", "demo-99");
  });

  test("logs of members whose kubelet does not answer say so, for each of them", async () => {
    const { code, out, err } = await kubectl.run(["logs", "demo"]);
    assert.equal(code, 1, err);
    assert.equal(out.match(/demo-\d  no log: the kubelet of its node does not answer/g)?.length, 3, out);
    assert.match(
      err,
      /could not read the logs of demo-\d, demo-\d, demo-\d from the kubelet\. Check the nodes/,
    );
  });

  test("--watch shows a change as soon as it is made", async () => {
    const leaving = new AbortController();
    const io = collectingIo({
      env: { KUBECONFIG: bed.kubeconfig, HOME: folder },
      signal: leaving.signal,
      command: "kubectl etcd",
    });
    const ended = dispatch(["list", "--watch", "-o", "json"], verbs, "0.0.0", io);
    const annotated = async (value: string) => {
      await bed.client.patch(`${PATHS.clusters}/demo`, { metadata: { annotations: { watched: value } } });
      const seen = () => io.out().includes(`"watched": "${value}"`);
      await eventually(`the change to ${value} is shown`, seen, { withinMs: PATIENCE_MS, everyMs: 50 });
    };
    await eventually("the first state is shown", () => io.out().includes('"name": "demo"'));
    await annotated("once");
    await annotated("twice");
    leaving.abort();
    assert.equal(await ended, 0, io.err());
  });

  test("several clusters are named when none is chosen", async () => {
    const second = new ClusterOnBed(bed, "other", running);
    await second.create({ replicas: 1, paused: true });
    try {
      await refused(2, /there are 2 clusters in namespace default; name one of them: demo, other/, "status");
    } finally {
      await second.delete();
      await second.gone(`${PATHS.clusters}/other`);
      await second.close();
    }
  });

  test("without the right the missing right is named, with how to check it", async () => {
    const account = "/api/v1/namespaces/default/serviceaccounts";
    await bed.client.create(account, {
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: { name: "nobody" },
    });
    const { status } = await bed.client.create<{ status?: { token: string } }>(`${account}/nobody/token`, {
      spec: { expirationSeconds: 3600 },
    } as object as { status?: { token: string } });
    const { cert: _, key: __, ...access } = bed.access;
    const file = join(folder, "nobody");
    writeFileSync(file, kubeconfigText("nobody", { ...access, token: status?.token ?? "" }));
    await refused(
      4,
      /you may not list etcdclusters\.etcd\.quorate\.dev in namespace default.*kubectl auth can-i list/,
      "list",
      "--kubeconfig",
      file,
    );
    await refused(4, /in all namespaces.*name one namespace with -n/, "list", "-A", "--kubeconfig", file);
    writeFileSync(file, kubeconfigText("nobody", { ...access, token: "wrong" }));
    await refused(4, /rejected your credentials/, "status", "demo", "--kubeconfig", file);
  });

  test("an API server that is down, and a context that does not exist", async () => {
    const file = join(folder, "down");
    writeFileSync(file, kubeconfigText("down", { ...bed.access, server: "https://127.0.0.1:1" }));
    await refused(
      3,
      /the API server at https:\/\/127\.0\.0\.1:1 does not answer.*--context/,
      "list",
      "--kubeconfig",
      file,
    );
    await refused(3, /no context "nowhere"; known contexts: /, "list", "--context", "nowhere");
  });

  test("version tells the operator's version from the image of its Deployment", async () => {
    const { version } = JSON.parse(readFileSync("package.json", "utf8")) as { version: string };
    assert.match(
      await shown("version", "--operator"),
      /operator unknown: no Deployment of the operator can be/,
    );
    const labels = { "app.kubernetes.io/name": "quorate" };
    const deployments = "/apis/apps/v1/namespaces/default/deployments";
    const pinned = `registry.test/quorate@sha256:${"0".repeat(64)}`;
    const pod = { metadata: { labels }, spec: { containers: [{ name: "operator", image: pinned }] } };
    await bed.client.create(deployments, {
      metadata: { name: "quorate", labels },
      spec: { selector: { matchLabels: labels }, template: pod },
    } as object);
    assert.match(
      await shown("version", "--operator"),
      /operator of image registry\.test\/quorate@sha256:0+, which/,
    );
    const containers = [{ name: "operator", image: `registry.test/quorate:${version}` }];
    await bed.client.patch(`${deployments}/quorate`, { spec: { template: { spec: { containers } } } });
    assert.ok((await shown("version", "--operator")).endsWith(`operator ${version}\n`));
  });

  test("the built file loads only what a verb needs", async (t) => {
    const run = promisify(execFile);
    const usage = `process.on("exit", () => { const { user, system } = process.cpuUsage(); process.stderr.write("cpu " + (user + system)); })`;
    const time = async (...args: string[]) => {
      const began = performance.now();
      const { stderr } = await run(
        process.execPath,
        ["--import", `data:text/javascript,${encodeURIComponent(usage)}`, kubectl.file, ...args],
        { env: { ...process.env, KUBECONFIG: bed.kubeconfig } },
      );
      const cpuMs = Number(/cpu (\d+)$/.exec(stderr)?.[1]) / 1_000;
      return { wallMs: performance.now() - began, cpuMs };
    };
    const best = async (...args: string[]) => {
      const times = [await time(...args), await time(...args), await time(...args)];
      const wallMs = Math.round(Math.min(...times.map((one) => one.wallMs)));
      const cpuMs = Math.round(Math.min(...times.map((one) => one.cpuMs)));
      t.diagnostic(`${args[0]}: ${wallMs} ms, ${cpuMs} ms of them computing, the best of three`);
      return cpuMs;
    };
    // How long it takes says more about what else runs here; what must not happen is a start that loads everything.
    const [version, status] = [await best("version"), await best("status", "demo")];
    assert.ok(version < 300 * 5, `version computed for ${version} ms`);
    assert.ok(status < 1_000 * 5, `status computed for ${status} ms`);
  });
});

test("verbs about snapshots in a folder, and those about the command itself", async () => {
  const [store, sample] = [join(folder, "store"), join(folder, "sample.db")];
  writeFileSync(sample, sampleFile());
  // What it says is tested without a server; here it is enough that kubectl hands it all on.
  const ran = async (...argv: string[]) => await kubectl.done(`snapshot ${argv.join(" ")}`, /(?:)/);
  await ran("import", "--etcd-version", "3.6.16", sample, `${store}/`);
  const [{ name } = { name: "" }] = JSON.parse(await shown("snapshot", "ls", `${store}/`, "-o", "json")) as {
    name: string;
  }[];
  const saved = join(store, name);
  assert.match(await shown("snapshot", "status", saved), /Revision +61\nTotal keys +60\n/);
  assert.match(await shown("snapshot", "verify", saved), /matches its manifest/);
  await ran("get", saved, join(folder, "fetched.db"));
  assert.ok(readFileSync(join(folder, "fetched.db")).equals(readFileSync(sample)));
  await ran("copy", saved, `${folder}/copies/`);
  assert.match(await shown("snapshot", "ls", `${folder}/copies/`), /complete/);
  await ran("prune", "--keep-last", "1", `${store}/`, "--yes");
  await ran("delete", "--id", "none", `${store}/`, "--yes");
  assert.match(await shown("etcd", "list"), /3\.6\.16/);
  assert.match(await shown("completion", "kubectl"), /^#!/);
  assert.match(await shown("version"), /^quorate \d+\.\d+\.\d+/);
});

test("every verb that is proven here was called through kubectl, with success and with a failure", async () => {
  await kubectl.assertProven(import.meta.filename);
});
