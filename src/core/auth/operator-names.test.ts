import assert from "node:assert/strict";
import { test } from "node:test";
import type { AuthFacts, EtcdAuth } from "./facts.ts";
import { operatorNames } from "./operator-names.ts";

const ETCD: EtcdAuth = {
  enabled: true,
  users: { root: ["root"], ops: ["root"], spare: ["root", "app"], app: ["app"] },
  roles: {},
  passwords: {},
  predicted: false,
};
const FACTS: AuthFacts = {
  self: "ops",
  byCertificate: true,
  users: [],
  roles: [],
  passwords: {},
  ownSecrets: { root: "r", operator: "o" },
  canActAsRoot: false,
  etcd: ETCD,
};

function names(
  change: Partial<AuthFacts>,
  { enabled = true, inUse = "ops" as string | undefined, refused = false } = {},
) {
  const cause = refused ? "authentication" : "unknown";
  const members = [{ answer: { reachable: false, error: "", cause } as const }];
  const spec = { auth: { enabled, clientRoles: [] } } as unknown as Parameters<
    typeof operatorNames
  >[0]["spec"];
  return operatorNames({ spec, members, observation: { auth: { ...FACTS, ...change } } }, inUse);
}

test("while auth is on, only users with the role root may be the operator, the present one first", () => {
  assert.deepEqual(names({}), ["ops", "root", "spare"]);
  assert.deepEqual(names({}, { enabled: false }), ["ops", "root", "spare"], "enabled by hand");
  const passwords = { root: 1 };
  assert.deepEqual(
    names({ etcd: { ...ETCD, passwords } }),
    ["ops", "root", "spare", ""],
    "by root's password",
  );
});

test("what etcd has is not known: only the present one and root; so also before auth is enabled with it", () => {
  const { etcd: _unknown, ...unread } = FACTS;
  assert.deepEqual(names({ ...unread, etcd: undefined } as Partial<AuthFacts>), ["ops", "root"]);
  assert.equal(names({ etcd: undefined } as unknown as Partial<AuthFacts>, { enabled: false }), undefined);
  const off = { ...ETCD, enabled: false };
  assert.deepEqual(names({ etcd: off }), ["ops", "root", "spare"], "it may be enabled at any moment");
  assert.equal(names({ etcd: { ...off, users: { root: ["root"] } } }), undefined, "it is not enabled yet");
  assert.equal(names({ etcd: off }, { enabled: false }), undefined);
});

test("any name will do where the present one opens nothing, or names are not read from certificates", () => {
  assert.equal(names({}, { refused: true }), undefined);
  assert.equal(names({ byCertificate: false }), undefined);
  assert.equal(
    operatorNames({ spec: {} as never, members: [], observation: { auth: FACTS } }, undefined),
    undefined,
  );
});
