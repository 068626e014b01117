import assert from "node:assert/strict";
import { test } from "node:test";
import { specOf } from "../../core/testing/cluster.ts";
import { clusterWith, OPERATOR_PODS, type Wish } from "../testing/rendered.ts";
import { networkPolicy } from "./network-policy.ts";

const rendered = (wish: Wish["networkPolicy"]) =>
  networkPolicy(clusterWith(specOf(wish && { networkPolicy: wish })), OPERATOR_PODS);

test("there is a policy only while the spec asks for one", () => {
  assert.equal(rendered(undefined), undefined);
  assert.equal(rendered({ enabled: false, clients: [] }), undefined);
  assert.equal(rendered({ enabled: true, clients: [] })?.metadata?.name, "demo");
});

test("members, the operator and snapshots are let in by themselves, and an empty list lets in nobody else", () => {
  const { spec } = rendered({ enabled: true, clients: [], metrics: [] }) ?? {};
  assert.deepEqual(spec?.policyTypes, ["Ingress"], "what members connect to is not limited");
  assert.deepEqual(
    spec?.ingress?.map(({ ports }) => ports?.map(({ port }) => port)),
    [[2380, 2379], [2379, 2381, 2380], [2379]],
  );
  assert.ok(spec?.ingress?.every(({ from }) => (from?.length ?? 0) > 0));
});

test("listed clients come to the client port, scrapers to the metrics port, as the API server keeps them", () => {
  const { spec } =
    rendered({
      enabled: true,
      clients: [{ podSelector: { matchLabels: {}, matchExpressions: [] } }],
      metrics: [{ ipBlock: { cidr: "192.0.2.0/24", except: [] } }],
    }) ?? {};
  assert.deepEqual(spec?.ingress?.slice(3), [
    { from: [{ podSelector: {} }], ports: [{ port: 2379, protocol: "TCP" }] },
    { from: [{ ipBlock: { cidr: "192.0.2.0/24" } }], ports: [{ port: 2381, protocol: "TCP" }] },
  ]);
});
