/**
 * The testbed's real nodes, shown by what one does with them: a three-member etcd lives through every fault, and
 * when it is over the machine is as it was. The tests follow each other on one cluster.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { after, before, test } from "node:test";
import { eventually } from "../../../testbed/eventually.ts";
import { upForTests } from "../../../testbed/for-tests.ts";
import type { TestTestbed } from "../../../testbed/for-tests.ts";
import { groupsOf } from "../../../testbed/nodes/cgroups.ts";
import { entering, nodeVerb } from "../../../testbed/nodes/verbs.ts";
import { bedPaths } from "../../../testbed/paths.ts";
import { ownedProcesses } from "../../../testbed/processes.ts";
import { down, up } from "../../../testbed/testbed.ts";
import {
  atHost,
  createEtcd,
  fetchAtHost,
  kubectl,
  machine,
  machineNetwork,
  members,
  MEMBERS,
} from "./support.ts";
import type { PodSeen } from "./support.ts";

const NAMESPACE = "default";
/** A busy machine takes a multiple of the times that a quiet one needs; these are only upper bounds. */
const PATIENCE = { withinMs: 90_000, everyMs: 200 };

let untouched: Awaited<ReturnType<typeof machine>>;
let bed: TestTestbed;
let upMs = 0;

before(async () => {
  untouched = await machine();
  const started = Date.now();
  bed = await upForTests({ nodes: 3 });
  upMs = Date.now() - started;
});

after(async () => {
  await bed?.down();
});

const say = (t: { diagnostic(text: string): void }, what: string, since: number) =>
  t.diagnostic(`${what}: ${((Date.now() - since) / 1000).toFixed(1)} s`);

const networkUnchanged = async () =>
  assert.equal(await machineNetwork(), (untouched["routes"] ?? "") + (untouched["links"] ?? ""));

const allReady = () =>
  eventually(
    "three ready members",
    async () => {
      const pods = await members(bed.client, NAMESPACE);
      return pods.length === 3 && pods.every(({ ready }) => ready) && pods;
    },
    PATIENCE,
  );

/** A write and a linearizable read through one member, from the nodes' host. */
async function writeThrough(pod: PodSeen, key: string, value: string): Promise<void> {
  const base64 = (text: string) => Buffer.from(text).toString("base64");
  const script = `
    const [url, put, range] = process.argv.slice(1);
    const post = async (path, body) => {
      const r = await fetch(url + path, { method: "POST", body, signal: AbortSignal.timeout(5000) });
      if (!r.ok) throw new Error(await r.text());
      return r.text();
    };
    await post("/v3/kv/put", put);
    console.log(await post("/v3/kv/range", range));`;
  const put = JSON.stringify({ key: base64(key), value: base64(value) });
  const range = JSON.stringify({ key: base64(key) });
  const url = `http://${pod.ip}:2379`;
  const done = await atHost(bed.name, [
    process.execPath,
    "--input-type=module",
    "-e",
    script,
    url,
    put,
    range,
  ]);
  assert.ok(done.out.includes(base64(value)), done.out);
}

const onNode = (pods: PodSeen[], node: number): PodSeen => {
  const found = pods.find((pod) => pod.node === `node-${node}`);
  assert.ok(found, `a member on node-${node}`);
  return found;
};

/** A write through the member on a node, as soon as all are ready and it works: what the API tells may be old. */
const written = (node: number, key: string, value: string) =>
  eventually(
    `a write through the member on node-${node}`,
    async () => {
      await writeThrough(onNode(await allReady(), node), key, value);
      return true;
    },
    PATIENCE,
  );

/** A write through one of these members, perhaps after an election. */
const writtenThrough = (pod: PodSeen, key: string, value: string) =>
  eventually(
    `a write through ${pod.name}`,
    async () => {
      await writeThrough(pod, key, value);
      return true;
    },
    PATIENCE,
  );

test("three nodes come up in time, each in a zone of its own, with a default storage class", async (t) => {
  t.diagnostic(`up --nodes 3: ${(upMs / 1000).toFixed(1)} s`);
  assert.ok(upMs < 45_000, `up took ${upMs} ms`);
  interface Nodes {
    items: { metadata: { name: string; labels: Record<string, string> } }[];
  }
  const { items } = await bed.client.get<Nodes>("/api/v1/nodes");
  const zones = items.map(({ metadata }) => metadata.labels["topology.kubernetes.io/zone"]);
  assert.deepEqual(
    zones.toSorted((a = "", b = "") => a.localeCompare(b)),
    ["zone-a", "zone-b", "zone-c"],
  );
  const classes = await kubectl(bed.name, "get", "storageclass");
  assert.match(classes.out, /standard \(default\)/);
  await networkUnchanged();
});

test("a second up changes nothing and takes less than two seconds", async (t) => {
  const dir = bedPaths(bed.name).dir;
  const before = daemons(dir);
  assert.ok(before.length > 5);
  const times: number[] = [];
  for (let i = 0; i < 3; i++) {
    const started = Date.now();
    const again = await up({ name: bed.name, nodes: 3 });
    again.client.close();
    times.push(Date.now() - started);
  }
  t.diagnostic(`another up: ${times.join(", ")} ms`);
  assert.ok(Math.min(...times) < 2000, `it took ${times.join(", ")} ms`);
  assert.deepEqual(daemons(dir), before);
});

/** The first process of each role. Later ones are its children, which come and go: a mount, a look at nftables. */
function daemons(dir: string): string[] {
  const first = new Map<string, { pid: number; startTime: string }>();
  for (const { role, spec, pid, startTime } of ownedProcesses(dir)) {
    const known = first.get(`${role} ${spec}`);
    if (!known || Number(startTime) < Number(known.startTime))
      first.set(`${role} ${spec}`, { pid, startTime });
  }
  return [...first].map(([role, { pid }]) => `${role} ${pid}`).toSorted();
}

test("the testbed's network has no way out", async () => {
  const links = await atHost(bed.name, ["ip", "-brief", "link"]);
  const names = links.out
    .split("\n")
    .filter(Boolean)
    .map((line) => line.split(/[\s@]/)[0]);
  assert.deepEqual(
    names.toSorted((a = "", b = "") => a.localeCompare(b)),
    ["cable-1", "cable-2", "cable-3", "lo", "quorate-bed"],
  );
  const routes = await atHost(bed.name, ["ip", "route"]);
  assert.ok(!routes.out.includes("default"), routes.out);
  const forward = await atHost(bed.name, ["cat", "/proc/sys/net/ipv4/ip_forward"]);
  assert.equal(forward.out.trim(), "0");
});

test("three members start as a StatefulSet: not as root, with disks, by their names, one on each node", async (t) => {
  const started = Date.now();
  await createEtcd(bed.client, NAMESPACE, "3.6");
  const pods = await allReady();
  say(t, "three members ready", started);
  assert.deepEqual(pods.map(({ node }) => node).sort(), ["node-1", "node-2", "node-3"]);
  await writtenThrough(onNode(pods, 1), "a", "before the faults");
  const id = await kubectl(bed.name, "exec", "etcd-0", "--", "etcdctl", "member", "list");
  for (const member of MEMBERS) assert.ok(id.out.includes(`http://${member}.etcd`), id.out);
});

test("the host dials Pods, Services and cluster names", async () => {
  const pods = await members(bed.client, NAMESPACE);
  interface Service {
    spec: { clusterIP: string };
  }
  const { spec } = await bed.client.get<Service>(`/api/v1/namespaces/${NAMESPACE}/services/etcd-client`);
  const hosts = [
    ...pods.map(({ ip }) => ip),
    spec.clusterIP,
    "etcd-client.default.svc.cluster.local",
    ...MEMBERS.map((member) => `${member}.etcd.${NAMESPACE}.svc.cluster.local`),
  ];
  for (const host of hosts) {
    // A name that a member asked for too early may still be denied for some seconds.
    const healthy = async () => (await fetchAtHost(bed.name, `http://${host}:2379/health`)).includes("true");
    await eventually(`an answer from ${host}`, healthy, PATIENCE);
  }
});

test("a Pod calls a webhook served on the host", async () => {
  const script = `require("node:http").createServer((q, r) => r.end("heard " + q.url + " from " + q.socket.remoteAddress)).listen(18080, "10.77.0.1", () => console.log("listening"))`;
  const { file, args, env } = entering(bed.name, [process.execPath, "-e", script]);
  const server = spawn(file, args, { env, stdio: ["ignore", "pipe", "inherit"] });
  try {
    await new Promise((resolve) => server.stdout.once("data", resolve));
    await bed.client.create(`/api/v1/namespaces/${NAMESPACE}/pods`, {
      metadata: { name: "caller" },
      spec: {
        restartPolicy: "Never",
        containers: [
          {
            name: "caller",
            image: "busybox:1",
            command: ["wget", "-q", "-O-", "http://10.77.0.1:18080/hook"],
          },
        ],
      },
    });
    const log = await eventually(
      "the Pod's answer",
      async () => {
        const { out } = await kubectl(bed.name, "logs", "caller");
        return out.includes("heard") && out;
      },
      PATIENCE,
    );
    assert.match(log, /heard \/hook from 10\.244\.\d\.\d+/);
  } finally {
    server.kill("SIGKILL");
  }
});

test("a name that was asked for too early stays unknown for about five seconds", async (t) => {
  const name = `late.${NAMESPACE}.svc.cluster.local`;
  const script = `const { Resolver } = require("node:dns").promises; const r = new Resolver(); r.setServers(["10.77.0.1"]); r.resolve4(process.argv[1]).then((a) => console.log(a[0]), (e) => console.log(e.code))`;
  const ask = async () => (await atHost(bed.name, [process.execPath, "-e", script, name])).out.trim();
  assert.equal(await ask(), "ENOTFOUND");
  const started = Date.now();
  await bed.client.create(`/api/v1/namespaces/${NAMESPACE}/services`, {
    metadata: { name: "late" },
    spec: { ports: [{ port: 80 }] },
  });
  assert.equal(await ask(), "ENOTFOUND", "the answer of before is still given");
  await eventually("the name", async () => (await ask()).startsWith("10.96."), PATIENCE);
  say(t, "unknown after creation for", started);
  assert.ok(Date.now() - started > 2000);
});

test("a member whose node loses power is missed by nobody and comes back with its data", async (t) => {
  const lost = onNode(await members(bed.client, NAMESPACE), 1);
  let started = Date.now();
  await nodeVerb(bed.name, "crash", 1);
  say(t, "crash", started);
  const others = (await members(bed.client, NAMESPACE)).filter(({ name }) => name !== lost.name);
  await writtenThrough(onNode(others, 2), "b", "while a node was down");
  await eventually(
    "the node to be missed",
    async () => {
      const { out } = await kubectl(bed.name, "get", "node", "node-1");
      return out.includes("NotReady");
    },
    PATIENCE,
  );
  say(t, "missed", started);
  started = Date.now();
  await nodeVerb(bed.name, "start", 1);
  say(t, "node started", started);
  await written(1, "a", "after the power loss");
  say(t, "member back", started);
});

test("a member that is cut off cannot write, the others can, and it catches up", async () => {
  const pods = await allReady();
  await nodeVerb(bed.name, "cut", 2);
  try {
    await networkUnchanged();
    await writtenThrough(onNode(pods, 3), "c", "during the partition");
    await assert.rejects(writeThrough(onNode(pods, 2), "c", "from the wrong side"));
  } finally {
    await nodeVerb(bed.name, "heal", 2);
  }
  await written(2, "c", "after the partition");
});

test("a frozen node answers nobody and goes on where it was", async () => {
  const pods = await allReady();
  await nodeVerb(bed.name, "freeze", 3);
  try {
    await assert.rejects(writeThrough(onNode(pods, 3), "d", "frozen"));
    await writtenThrough(onNode(pods, 1), "d", "while a node was frozen");
  } finally {
    await nodeVerb(bed.name, "thaw", 3);
  }
  await written(3, "d", "thawed");
});

test("a full disk says so, and has room again when its claim is expanded", async (t) => {
  const pod = onNode(await allReady(), 1);
  const save = () =>
    kubectl(bed.name, "exec", pod.name, "--", "etcdctl", "snapshot", "save", "/data/copy.db");
  assert.equal((await save()).code, 0);
  await nodeVerb(bed.name, "fill-disk", 1);
  const full = await save();
  assert.notEqual(full.code, 0);
  assert.match(full.out, /no space left on device/);
  const started = Date.now();
  const claim = `/api/v1/namespaces/${NAMESPACE}/persistentvolumeclaims/data-${pod.name}`;
  await bed.client.patch(claim, { spec: { resources: { requests: { storage: "512Mi" } } } });
  interface Claim {
    status: { capacity: { storage: string } };
  }
  await eventually(
    "the kubelet to grow the disk",
    async () => (await bed.client.get<Claim>(claim)).status.capacity.storage === "512Mi",
    { withinMs: 150_000, everyMs: 200 },
  );
  say(t, "expanded", started);
  // Its etcd may have ended while it could not write.
  await eventually(
    "room for a copy",
    async () => {
      const saved = await save();
      assert.equal(saved.code, 0, saved.out);
      return true;
    },
    PATIENCE,
  );
  await nodeVerb(bed.name, "free-disk", 1);
});

test("a drain is refused while the budget allows no disruption", async () => {
  const [pod] = await allReady();
  assert.ok(pod);
  await assert.rejects(
    nodeVerb(bed.name, "drain", Number(pod.node.slice(-1)), () => {}, 4),
    /disruption budget/,
  );
  await kubectl(bed.name, "uncordon", pod.node);
  assert.equal((await allReady()).length, 3);
});

test("a restart on kept data brings the same cluster back", async (t) => {
  let started = Date.now();
  bed.client.close();
  await down(bed.name, { keepData: true });
  say(t, "down --keep-data", started);
  started = Date.now();
  bed = { ...bed, ...(await up({ name: bed.name, nodes: 3 })) };
  say(t, "up on kept data", started);
  await written(2, "e", "after the restart");
  const pods = await allReady();
  // A member that is said to be ready may not have started again.
  await eventually(
    "what was written before",
    async () => {
      const { out } = await kubectl(bed.name, "exec", pods[0]?.name ?? "", "--", "etcdctl", "get", "d");
      assert.match(out, /thawed/);
      return true;
    },
    PATIENCE,
  );
});

test("down, with a node frozen and another cut off, leaves the machine as it was", async (t) => {
  await nodeVerb(bed.name, "freeze", 1);
  await nodeVerb(bed.name, "cut", 2);
  const { dir } = bedPaths(bed.name);
  const started = Date.now();
  await bed.down();
  say(t, "down", started);
  assert.deepEqual(ownedProcesses(dir), []);
  assert.deepEqual(groupsOf(dir), []);
  // The kernel takes loop devices away a moment after the last mount has gone.
  await eventually("no loop device", async () => {
    assert.deepEqual(await machine(), untouched);
    return true;
  });
});
