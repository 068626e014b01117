/** EtcdUsers and EtcdRoles that this release does not understand: deleting one must not keep it, nor its access, for ever. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { EtcdRole } from "../../api/etcd-role.ts";
import type { EtcdUser } from "../../api/etcd-user.ts";
import { API_VERSION } from "../../api/metadata.ts";
import type { KubeClient } from "../../kube/client.ts";
import { systemClock } from "../../seams/clock.ts";
import { reportAuthObject } from "./auth-dependents.ts";
import { AUTH_FINALIZER } from "../names.ts";
import { readRole, readUser } from "../records/auth-object.ts";

const metadata = {
  name: "alice",
  namespace: "default",
  uid: "u-1",
  resourceVersion: "7",
  generation: 1,
  finalizers: [AUTH_FINALIZER],
};
const deleted = { ...metadata, deletionTimestamp: "2026-01-01T00:00:00Z" };
const user = (of: object, spec: object, status: object = {}) =>
  ({
    apiVersion: API_VERSION,
    kind: "EtcdUser",
    metadata: of,
    spec: { cluster: "demo", ...spec },
    status,
  }) as unknown as EtcdUser;
const role = (of: object, spec: object) => ({ ...user(of, spec), kind: "EtcdRole" }) as unknown as EtcdRole;

test("an object that is not understood is deleted by its name in etcd", () => {
  const newer = { roles: [], fingerprint: "of a later release" };
  assert.equal(readUser(user(metadata, newer)).ok, false);
  const read = readUser(user(deleted, newer));
  assert.deepEqual(read.ok && [read.facts.name, read.facts.deleting, read.facts.applied], [
    "alice",
    true,
    true,
  ]);
  const named = readUser(user(deleted, { ...newer, name: 5 }, { name: "alice.in-etcd" }));
  assert.equal(named.ok && named.facts.name, "alice.in-etcd");
  assert.equal(readRole(role(metadata, { permissions: "all" })).ok, false);
  assert.equal(readRole(role(deleted, { permissions: "all" })).ok, true);
});

test("one whose name is not understood, or is Quorate's own, is kept, and says what to do", async () => {
  for (const name of ["root", "quorate-operator", ""]) {
    const object = user(deleted, { name, roles: [] });
    assert.equal(readUser(object).ok, false, name);
    const reported: { reason?: string; message?: string }[] = [];
    const client = {
      patchStatus: (_: unknown, __: unknown, status: object) => Promise.resolve(reported.push(status)),
    } as unknown as KubeClient;
    await reportAuthObject(client, systemClock, object, { is: "present" } as never);
    assert.equal(reported[0]?.reason, "Invalid");
    assert.match(
      reported[0]?.message ?? "",
      /delete the user .* there, then remove the finalizer etcd\.quorate\.dev\/auth/i,
    );
  }
});
