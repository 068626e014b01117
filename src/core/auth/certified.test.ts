/** Users with a certificate of their own: who is given one, who cannot be, and what they are told. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { EtcdClusterSpec } from "../../api/etcd-cluster-spec.ts";
import { healthy } from "../testing/cluster.ts";
import { viewOf, type View } from "../view.ts";
import { certifiedUsers } from "./certified.ts";
import type { AuthFacts, UserCertificate, UserFacts } from "./facts.ts";
import { reportAuth } from "./report.ts";

const orders: UserFacts = {
  object: "orders",
  uid: "uid-orders",
  resourceVersion: "1",
  generation: 1,
  createdAt: 0,
  deleting: false,
  applied: true,
  name: "orders",
  status: {},
  certificate: true,
  roles: [],
};

interface Given {
  readonly user?: Partial<UserFacts>;
  readonly tls?: Partial<EtcdClusterSpec["tls"]>;
  readonly enabled?: boolean;
  readonly certificate?: UserCertificate;
}

function seen({ user, tls, enabled = true, certificate }: Given = {}): View {
  const observation = healthy();
  const { spec } = observation.cluster;
  const facts: AuthFacts = {
    self: "quorate-operator",
    byCertificate: true,
    users: [{ ...orders, ...user }],
    roles: [],
    passwords: { "demo-root": { version: 1 }, "demo-operator-auth": { version: 2 } },
    ownSecrets: { root: "demo-root", operator: "demo-operator-auth" },
    canActAsRoot: true,
    etcd: {
      enabled: true,
      users: {
        root: ["root"],
        "quorate-operator": ["root"],
        "quorate-user": [],
        "quorate-snapshot": ["root"],
        orders: [],
      },
      roles: {},
      passwords: { root: 1, "quorate-operator": 2 },
      predicted: false,
    },
    ...(certificate && { certificates: { orders: certificate } }),
  };
  return viewOf({
    ...observation,
    cluster: {
      ...observation.cluster,
      spec: {
        ...spec,
        auth: { enabled, clientRoles: [] },
        tls: { ...spec.tls, mode: "Managed", clientAuth: "Required", ...tls },
      },
    },
    auth: facts,
  });
}

const certified = (given: Given) => certifiedUsers(seen(given)).map(({ object }) => object);

function reported(given: Given) {
  const [write] = reportAuth(seen(given));
  assert.ok(write && "status" in write.change);
  return write.change.status;
}

test("a certificate is issued to a user that asks for one, once its object is kept until it is gone from etcd", () => {
  assert.deepEqual(certified({}), ["orders"]);
  assert.deepEqual(certified({ user: { applied: false } }), []);
  assert.deepEqual(certified({ user: { deleting: true } }), []);
  const { certificate: _, ...without } = orders;
  assert.deepEqual(certifiedUsers(viewOf(withUser(without))), []);
});

function withUser(user: UserFacts) {
  const { observation } = seen();
  return { ...observation, auth: { ...(observation.auth as AuthFacts), users: [user] } };
}

test("none is issued while auth is not asked for: every certificate of the client CA could do everything", () => {
  assert.deepEqual(certified({ enabled: false }), []);
});

test("one that a user has is kept while a role that it names is missing, but not where another user has the name", () => {
  assert.deepEqual(certified({ user: { roles: ["none"] } }), ["orders"]);
  assert.deepEqual(certified({ user: { name: "quorate-operator" } }), []);
});

test("who asks where none can be issued is told why, and what to do instead", () => {
  for (const [tls, why] of [
    [{ mode: "Disabled" }, /plaintext.*passwordSecret/],
    [{ clientAuth: "None" }, /clientAuth.*Required.*passwordSecret/],
    [{ mode: "Secrets" }, /your own.*common name orders/],
  ] as const) {
    assert.deepEqual(certified({ tls }), []);
    const { reason, message } = reported({ tls });
    assert.equal(reason, "CertificateUnavailable");
    assert.match(message ?? "", why);
    assert.match(message ?? "", /^spec\.certificate: /i);
  }
});

test("a user is ready once its certificate is there; where it is and when it ends is told, and told once", () => {
  assert.equal(reported({}).reason, "CertificatePending");
  const failed = reported({ certificate: { secret: "orders-etcd-tls", problem: "the CA expired" } });
  assert.equal(failed.reason, "CertificatePending");
  assert.match(failed.message ?? "", /spec\.certificate: the CA expired/i);
  const certificate = { secret: "orders-etcd-tls", expires: Date.UTC(2030, 0, 2) };
  const status = reported({ certificate });
  assert.equal(status.reason, "Applied");
  assert.deepEqual(status.certificate, { secret: "orders-etcd-tls", expires: "2030-01-02T00:00:00Z" });
  assert.deepEqual(reportAuth(seen({ certificate, user: { status } })), []);
  const renewed = { ...certificate, expires: Date.UTC(2031, 0, 2) };
  assert.equal(reportAuth(seen({ certificate: renewed, user: { status } })).length, 1);
});
