import assert from "node:assert/strict";
import { test } from "node:test";
import type { MemberFound } from "./found.ts";
import type { DataFacts } from "./plan.ts";
import { staticPod } from "./serve.ts";
import { listenPeerURL, siblingPlan, UnfitSiblings } from "./siblings.ts";

const urlOf = (n: number) => `https://demo-${n}-peer.prod.svc:2380`;

function facts(more: Partial<DataFacts["log"]> = {}, members = [1, 2, 3]): DataFacts {
  return {
    state: "data",
    log: { clusterID: "c", memberID: "1", last: { term: 4, index: 100 }, ...more } as DataFacts["log"],
    database: {
      consistentIndex: 90,
      revision: 80,
      size: 1,
      members: members.map((n) => ({
        id: `${n}`,
        name: `demo-${n}`,
        peerURLs: [urlOf(n)],
        isLearner: false,
      })),
    },
  };
}

const found: MemberFound = { dataDir: "/data", workBase: "/recovery", facts: facts() };
const planned = (named: readonly string[], data = facts()) => siblingPlan(found, data, "3.6.16", named);
const refuses = (about: RegExp, named: readonly string[], data?: DataFacts) =>
  assert.throws(
    () => planned(named, data),
    (error) => error instanceof UnfitSiblings && about.test(error.message),
  );

test("a member starts under the name and peer URL that its data gives it, with those that make a quorum with it", () => {
  const plan = planned(["demo-2=10.0.0.12"]);
  assert.equal(plan.name, "demo-1");
  assert.equal(plan.peerURL, urlOf(1));
  assert.deepEqual(plan.siblings, [{ name: "demo-2", peerURL: urlOf(2), address: "10.0.0.12" }]);
  assert.deepEqual(plan.missing, ["demo-3"]);
  assert.equal(listenPeerURL(plan), "https://0.0.0.0:2380");
  const others = [
    planned(["demo-2=10.0.0.13"]),
    planned(["demo-2=10.0.0.12", "demo-3=10.0.0.13"]),
    planned(["demo-2=10.0.0.12"], facts({ last: { term: 4, index: 101 } })),
  ];
  assert.equal(new Set([plan, ...others].map(({ hash }) => hash)).size, 4, "each is another plan");
});

test("what does not fit is refused by reason", () => {
  refuses(
    /1 of the 5 voters that the data names would be started, and 3 are needed/,
    [],
    facts({}, [1, 2, 3, 4, 5]),
  );
  refuses(/demo-9 is no sibling of demo-1/, ["demo-9=10.0.0.12"]);
  refuses(/demo-1 is no sibling of demo-1/, ["demo-1=10.0.0.12"]);
  refuses(/a name that is not known without Kubernetes/, ["demo-2"]);
  refuses(/a name that is not known without Kubernetes/, ["demo-2=node-b"]);
  refuses(/demo-2 twice/, ["demo-2=10.0.0.12", "demo-2=10.0.0.13"]);
  refuses(/it was removed, and the other members reject it/, ["demo-2=10.0.0.12"], facts({ memberID: "7" }));
  const { database, ...rest } = facts();
  const members = database.members.map((one) => (one.id === "3" ? { ...one, name: "" } : one));
  refuses(/a member 3 without a name/, ["demo-2=10.0.0.12"], { ...rest, database: { ...database, members } });
});

test("a peer URL that is an address is dialled as it is, and cannot be started elsewhere", () => {
  const { database, ...rest } = facts();
  const members = database.members.map((one, i) => ({ ...one, peerURLs: [`http://10.0.0.1${i + 1}:2380`] }));
  const data = { ...rest, database: { ...database, members } };
  const plan = planned(["demo-2", "demo-3=10.0.0.13"], data);
  assert.deepEqual(
    plan.siblings.map(({ address }) => address),
    [undefined, undefined],
  );
  assert.equal(listenPeerURL(plan), "http://10.0.0.11:2380");
  refuses(/so it cannot be started at 10\.0\.0\.99/, ["demo-2=10.0.0.99"], data);
});

test("its static Pod knows the names of its siblings, and has its certificates and theirs", () => {
  const { name, dataDir, members } = planned(["demo-2=10.0.0.12"]);
  const { spec } = staticPod(
    {
      name,
      dataDir,
      clientURL: "http://127.0.0.1:2379",
      peerURL: "https://0.0.0.0:2380",
      metricsURL: "http://127.0.0.1:2381",
      siblings: {
        advertised: urlOf(1),
        initialCluster: members,
        tls: { cert: "/pki/peer.crt", key: "/pki/peer.key", ca: "/ca/ca.crt" },
        addresses: [{ host: "demo-2-peer.prod.svc", address: "10.0.0.12" }],
      },
    },
    { image: "etcd:v3.6.16", plan: "1" },
  ) as {
    spec: {
      hostAliases: object[];
      containers: { args: string[] }[];
      volumes: { hostPath: { path: string } }[];
    };
  };
  assert.deepEqual(spec.hostAliases, [{ ip: "10.0.0.12", hostnames: ["demo-2-peer.prod.svc"] }]);
  const args = spec.containers[0]?.args ?? [];
  for (const flag of [
    "--listen-peer-urls=https://0.0.0.0:2380",
    `--initial-advertise-peer-urls=${urlOf(1)}`,
    `--initial-cluster=demo-1=${urlOf(1)},demo-2=${urlOf(2)},demo-3=${urlOf(3)}`,
    "--initial-cluster-state=existing",
    "--peer-client-cert-auth=true",
    "--peer-trusted-ca-file=/ca/ca.crt",
  ])
    assert.ok(args.includes(flag), `${flag} in ${args.join(" ")}`);
  assert.deepEqual(
    spec.volumes.map(({ hostPath }) => hostPath.path),
    ["/data", "/pki", "/ca"],
  );
});
