import assert from "node:assert/strict";
import { test } from "node:test";
import { edit, healthy } from "../core/testing/cluster.ts";
import type { EtcdClient } from "../etcd/client.ts";
import type { Clock } from "../seams/clock.ts";
import { AuthReader } from "./auth.ts";
import type { Platform } from "./platform.ts";

const OBJECTS = {
  self: "quorate-operator",
  byCertificate: true,
  users: [],
  roles: [],
  passwords: {},
  ownSecrets: { root: "r", operator: "o" },
  canActAsRoot: false,
};

test("whether auth is enabled is asked where TLS is to change, and else not of a cluster without users", async () => {
  let asked = 0;
  const auth = {
    status: () => Promise.resolve({ enabled: ++asked > 0, revision: 1n }),
    userList: () => Promise.resolve([]),
    roleList: () => Promise.resolve([]),
  };
  const reader = new AuthReader(
    { auth } as unknown as EtcdClient,
    { endpoint: () => ({}) } as unknown as Platform,
    { monotonic: () => 0 } as unknown as Clock,
  );
  const still = { ...healthy(), auth: OBJECTS };
  const read = ({ cluster, members }: typeof still) => reader.facts(cluster, OBJECTS, true, members);
  assert.equal((await read(still)).etcd, undefined);
  assert.deepEqual([reader.dueMs(still), asked], [undefined, 0]);

  const changing = { ...edit(still, { tls: { clientAuth: "None" } }), auth: OBJECTS };
  assert.equal((await read(changing)).etcd?.enabled, true);
  assert.deepEqual([reader.dueMs(changing), asked], [10_000, 1]);
  const { list: _nobodyKnows, ...etcd } = changing.etcd;
  assert.equal(reader.dueMs({ ...changing, etcd }), undefined, "without a quorum nobody can tell");
  const followed = { ...edit(still, { auth: { enabled: true, clientRoles: [] } }), auth: OBJECTS };
  assert.equal(reader.dueMs(followed), 10_000);
  assert.equal(reader.dueMs({ ...followed, etcd }), undefined, "it would be due again and again");
});
