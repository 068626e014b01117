/**
 * NetworkPolicies on the real operator, in a model that enforces them: whoever a cluster needs is let in, whoever its
 * spec names too, and nobody else.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { EtcdSnapshot } from "../../src/api/etcd-snapshot.ts";
import { API_VERSION } from "../../src/api/metadata.ts";
import { LABELS } from "../../src/operator/names.ts";
import { pods } from "../models/kube/kinds/pod.ts";
import { networkPolicies } from "../models/kube/kinds/simple.ts";
import { json } from "../models/kube/object.ts";
import { etcdSnapshots, NAME, NAMESPACE, OPERATOR_PODS } from "./environment.ts";
import { staysQuiet, wrongWith } from "./judge.ts";
import { OperatorSimulation } from "./simulation.ts";

const POLICY = `/apis/networking.k8s.io/v1/namespaces/${NAMESPACE}/networkpolicies/${NAME}`;
const shop = { namespace: NAMESPACE, labels: { app: "shop" } };
const scraper = { namespace: "monitoring", labels: {} };
const peers = {
  clients: [{ podSelector: { matchLabels: { app: "shop" } } }],
  metrics: [{ namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "monitoring" } } }],
};
const enabled = { networkPolicy: { enabled: true, ...peers } };
const policiesOf = ({ env }: OperatorSimulation) => env.server.list(networkPolicies);

async function settled(spec: object = {}): Promise<OperatorSimulation> {
  const sim = new OperatorSimulation({ replicas: 1, version: "3.6.16", ...spec }, { seed: 7 });
  await sim.settle();
  return sim;
}

async function rests(sim: OperatorSimulation): Promise<void> {
  await sim.settle();
  assert.deepEqual(wrongWith(sim), []);
  await staysQuiet(sim);
}

test("a cluster begins, grows and heals behind its policy, which lets in who is needed and who is listed", async () => {
  const sim = await settled(enabled);
  await rests(sim);
  const { env } = sim;
  const asked = [
    [OPERATOR_PODS, "client"],
    [OPERATOR_PODS, "peer"],
    [OPERATOR_PODS, "metrics"],
    [shop, "client"],
    [scraper, "metrics"],
    [shop, "peer"],
    [shop, "metrics"],
    [scraper, "client"],
    [{ ...OPERATOR_PODS, namespace: NAMESPACE }, "client"],
    [{ ...OPERATOR_PODS, labels: {} }, "client"],
  ] as const;
  assert.deepEqual(
    asked.map(([from, port]) => env.admits(`${NAME}-1`, from, port)),
    [true, true, true, true, true, false, false, false, false, false],
  );
  sim.edit({ ...enabled, replicas: 3 });
  await rests(sim);
  sim.user({ method: "DELETE", path: `/apis/${API_VERSION}/namespaces/${NAMESPACE}/etcdmembers/${NAME}-2` });
  await rests(sim);
});

test("snapshots of the cluster are let in, those of another are not", async () => {
  const sim = await settled(enabled);
  const path = `/apis/${API_VERSION}/namespaces/${NAMESPACE}/etcdsnapshots`;
  const spec = { cluster: NAME, destination: { s3: { bucket: "backups" } } };
  const metadata = { name: "now", namespace: NAMESPACE };
  sim.user({ method: "POST", path, body: { apiVersion: API_VERSION, kind: "EtcdSnapshot", metadata, spec } });
  const ofJobs = () =>
    sim.env.server.list(pods).filter(({ metadata: { labels } }) => labels?.[LABELS.task] !== undefined);
  for (let waited = 0; ofJobs().length === 0 && waited < 60; waited++) await sim.pass(500);
  const [{ labels = {} } = {}] = ofJobs().map((pod) => pod.metadata);
  const from = { namespace: NAMESPACE, labels };
  assert.equal(sim.env.admits(`${NAME}-1`, from, "client"), true);
  const other = { namespace: NAMESPACE, labels: { ...labels, [LABELS.cluster]: "another" } };
  assert.equal(sim.env.admits(`${NAME}-1`, other, "client"), false);
  await sim.settle();
  const [taken] = sim.env.server.list(etcdSnapshots) as unknown as EtcdSnapshot[];
  assert.equal(taken?.status?.phase, "Succeeded");
});

test("a policy comes, changes and goes with the field, in place, and is made again when somebody deletes it", async () => {
  const sim = await settled();
  const started = sim.env.server.list(pods).map(({ metadata: { uid } }) => uid);
  assert.deepEqual(policiesOf(sim), []);
  sim.edit(enabled);
  await rests(sim);
  assert.equal(policiesOf(sim).length, 1);
  sim.edit({ networkPolicy: { enabled: true, clients: [], metrics: null } });
  await rests(sim);
  assert.equal(sim.env.admits(`${NAME}-1`, shop, "client"), false);
  assert.equal(sim.env.admits(`${NAME}-1`, scraper, "metrics"), false);
  sim.user({ method: "DELETE", path: POLICY });
  await rests(sim);
  assert.equal(policiesOf(sim).length, 1);
  sim.edit({ networkPolicy: { enabled: false } });
  await rests(sim);
  assert.deepEqual(policiesOf(sim), []);
  assert.deepEqual(
    sim.env.server.list(pods).map(({ metadata: { uid } }) => uid),
    started,
    "nobody was restarted",
  );
});

test("a policy of somebody else's under our name is left alone and told of, and the cluster runs on", async () => {
  const sim = await settled();
  const theirs = { podSelector: { matchLabels: { app: "theirs" } }, policyTypes: ["Ingress"] };
  sim.user({
    method: "POST",
    path: POLICY.slice(0, -NAME.length - 1),
    body: {
      apiVersion: "networking.k8s.io/v1",
      kind: "NetworkPolicy",
      metadata: { name: NAME, namespace: NAMESPACE },
      spec: theirs,
    },
  });
  sim.edit(enabled);
  await sim.pass(30_000);
  assert.deepEqual(json(policiesOf(sim)[0])["spec"], theirs);
  assert.match(JSON.stringify(json(sim.env.cluster())["status"]), /NetworkPolicy default\/demo/);
});
