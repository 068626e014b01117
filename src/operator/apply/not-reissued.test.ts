import assert from "node:assert/strict";
import { test } from "node:test";
import type { Certificate } from "../cert-manager.ts";
import { notReissued } from "./not-reissued.ts";

const NOW = 1_000_000;
const FIELD = "spec.tls.peer.certManager.member";
const ISSUED = ["a-1-peer-issued", "a-2-peer-issued"].map((name) => ({ field: FIELD, name }));

function certificate(name: string, status: "True" | "False", agoMs?: number): Certificate {
  const message = status === "True" ? "is up to date" : "was issued by another issuer";
  const since = agoMs === undefined ? {} : { lastTransitionTime: new Date(NOW - agoMs).toISOString() };
  return {
    metadata: { name },
    spec: { secretName: name, issuerRef: { kind: "Issuer", name: "nowhere" } },
    status: { conditions: [{ type: "Ready", status, message, ...since }] },
  };
}

const told = (...known: Certificate[]) => notReissued(ISSUED, known, NOW);

test("certificates that are not issued again are told with their field, issuer and reason", () => {
  const known = ISSUED.map(({ name }) => certificate(name, "False", 60_000));
  assert.deepEqual(told(...known), {
    reason: "CertificatePending",
    message: `${FIELD}: Issuer nowhere has not issued a-1-peer-issued, a-2-peer-issued (was issued by another issuer); the previous certificates are used until they expire`,
  });
  assert.ok(told(certificate("a-1-peer-issued", "False")), "since when is not known");
});

test("neither one that is issued within seconds is told, nor one that cert-manager has not looked at", () => {
  assert.equal(told(certificate("a-1-peer-issued", "False", 5_000)), undefined);
  assert.equal(told(certificate("a-1-peer-issued", "True", 60_000)), undefined);
  const { status: _none, ...fresh } = certificate("a-1-peer-issued", "True");
  assert.equal(told(fresh), undefined);
  assert.equal(told(certificate("b-1-peer-issued", "False", 60_000)), undefined, "of another cluster");
});
