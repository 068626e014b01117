import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { memberName } from "../core/record.ts";
import { specOf } from "../core/testing/cluster.ts";
import { memberSans } from "../pki/sans.ts";
import {
  budgetName,
  networkPolicyName,
  certificateNames,
  claimName,
  hostOf,
  isOurPeerURL,
  memberAddress,
  memberOfService,
  memberSecretName,
  ownServiceName,
  peerServiceName,
  secretNames,
  serviceNames,
} from "./names.ts";

/** All names that a cluster can make, by kind. */
function namesOf(cluster: string, ordinals: readonly number[]): Record<string, string[]> {
  const members = ordinals.map((ordinal) => memberName(cluster, ordinal));
  return {
    EtcdMember: members,
    Pod: members,
    PersistentVolumeClaim: members.map(claimName),
    Service: [
      ...Object.values(serviceNames(cluster)),
      ...members.map(peerServiceName),
      ...(ownServiceName(cluster) === undefined ? [] : [cluster]),
    ],
    Secret: [...Object.values(secretNames(cluster)), ...members.map(memberSecretName)],
    PodDisruptionBudget: [budgetName(cluster)],
    NetworkPolicy: [networkPolicyName(cluster)],
  };
}

/** Names of clusters that look like names of objects of other clusters. */
const clusterName = fc
  .array(fc.constantFrom(..."a data client peer peers learners operator tls ca 1 2 12 x1".split(" ")), {
    maxLength: 4,
  })
  .map((parts) => ["c", ...parts].slice(parts[0]?.match(/^[a-z]/) ? 1 : 0).join("-"));
const ordinals = fc.uniqueArray(fc.integer({ min: 1, max: 999_999_999 }), { minLength: 1, maxLength: 4 });

describe("names", () => {
  test("two clusters never make the same name of a kind", () => {
    fc.assert(
      fc.property(clusterName, clusterName, ordinals, ordinals, (a, b, ofA, ofB) => {
        fc.pre(a !== b);
        const [one, other] = [namesOf(a, [...ofA, 1, 2, 12]), namesOf(b, [...ofB, 1, 2, 12])];
        for (const [kind, names] of Object.entries(one)) {
          const shared = names.filter((name) => other[kind]?.includes(name));
          assert.deepEqual(shared, [], `${kind} of clusters ${a} and ${b}`);
        }
      }),
      { numRuns: 2000 },
    );
  });

  test("one cluster never makes a name of a kind twice", () => {
    fc.assert(
      fc.property(clusterName, ordinals, (cluster, numbers) => {
        for (const names of Object.values(namesOf(cluster, numbers)))
          assert.equal(new Set(names).size, names.length);
      }),
    );
  });

  test("the names of a cluster with the longest name fit into a DNS label", () => {
    const names = namesOf("c".repeat(40), [999_999_999]);
    for (const name of Object.values(names).flat()) assert.ok(name.length <= 63, name);
  });
});

describe("the names in certificates", () => {
  const place = { name: "demo", namespace: "prod", spec: specOf() };
  const record = { name: "demo-1", address: memberAddress(place, 1, "Service") };

  test("of a member that is dialled by a Service of its own name that Service, and of another one do not", () => {
    const peer = memberSans(certificateNames(place, record, "peer")).sans.dns;
    for (const name of ["demo-1-peer.prod.svc", "demo-1-peer.prod.svc.cluster.local"])
      assert.ok(peer.includes(name), name);
    const before = { name: "demo-1", address: memberAddress(place, 1, "Pod") };
    assert.doesNotMatch(memberSans(certificateNames(place, before, "peer")).sans.dns.join(), /demo-1-peer/);
  });

  test("R46: of peers are the member's own, the Service's, and its wildcard, none of them unusable", () => {
    const { sans, refused } = memberSans(certificateNames(place, record, "peer"));
    assert.deepEqual(refused, []);
    for (const name of [
      hostOf(place, "demo-1"),
      "demo-peers.prod.svc",
      "*.demo-peers.prod.svc.cluster.local",
    ])
      assert.ok(sans.dns.includes(name), name);
  });

  test("of servers lead through every Service, by its short and its full name, and through the Pod itself", () => {
    const { sans } = memberSans(certificateNames(place, record, "client"));
    const { hostname } = new URL(record.address.clientURL);
    for (const name of [
      hostname,
      "demo-client",
      "demo-client.prod.svc.cluster.local",
      "demo",
      "demo.prod",
      "demo.prod.svc",
      "demo.prod.svc.cluster.local",
      "demo-learners.prod",
      "localhost",
    ])
      assert.ok(sans.dns.includes(name), name);
    assert.deepEqual(sans.ips, ["127.0.0.1", "::1"]);
  });

  test("end with the DNS domain of the Kubernetes cluster", () => {
    for (const plane of ["client", "peer"] as const) {
      const { sans } = memberSans(certificateNames(place, record, plane, "k8s.example.com"));
      assert.ok(sans.dns.includes("*.demo-peers.prod.svc.k8s.example.com"), plane);
      assert.doesNotMatch(sans.dns.join(), /cluster[.]local/);
    }
  });
});

test("a peer URL of a cluster whose name begins alike is not ours", () => {
  const place = { name: "demo", namespace: "prod", spec: specOf() };
  const other = { ...place, name: "demo-1" };
  for (const dialled of ["Service", "Pod"] as const) {
    assert.equal(isOurPeerURL(place, memberAddress(place, 1, dialled).peerURL), true);
    assert.equal(isOurPeerURL(place, memberAddress(other, 1, dialled).peerURL), false);
  }
});

test("a Service is a member's only by the name of a member of the cluster", () => {
  assert.equal(memberOfService("demo", "demo-12-peer"), "demo-12");
  for (const service of ["demo-peer", "demo-x-peer", "other-1-peer", "demo"])
    assert.equal(memberOfService("demo", service), "", service);
  assert.equal(memberOfService("demo-peer", "demo-peer"), "");
});
