import assert from "node:assert/strict";
import { test } from "node:test";
import type { ShownCertificate } from "../certificates/collect.ts";
import { certificateLines } from "./certificates.ts";
import { styleFor } from "./style.ts";

const one = (where: string, more: Partial<ShownCertificate>): ShownCertificate => ({
  where,
  subject: "demo-1",
  issuer: "demo client CA",
  dns: ["demo-1.demo-peers.prod.svc", "localhost"],
  ips: ["127.0.0.1"],
  isCA: false,
  notBefore: "2030-01-01T00:00:00.000Z",
  notAfter: "2030-04-01T00:00:00.000Z",
  daysLeft: 90,
  fingerprint: "ab",
  ...more,
});

test("authorities come first, days are counted, and what could not be read is named", () => {
  const certificates = [
    one("demo-1/server.pem", {}),
    one("demo-2/server.pem", { subject: "demo-2", daysLeft: -3 }),
    one("demo-client-ca/tls.crt", { subject: "demo client CA", isCA: true, daysLeft: 3_600 }),
  ];
  const unread = [{ where: "demo-operator", reason: "you may not get this Secret" }];
  const lines = certificateLines({ certificates, unread }, { wide: true, width: 100 }, styleFor(false));
  assert.deepEqual(lines, [
    "CERTIFICATE             SUBJECT         ISSUER          EXPIRES        DAYS  NAMES",
    "demo-client-ca/tls.crt  demo client CA  demo client CA  2030-04-01     3600  CA",
    "demo-1/server.pem       demo-1          demo client CA  2030-04-01       90  demo-1.demo-peers.prod.svc localhost 127.0.0.1",
    "demo-2/server.pem       demo-2          demo client CA  2030-04-01  expired  demo-1.demo-peers.prod.svc localhost 127.0.0.1",
    "",
    "Not shown: demo-operator (you may not get this Secret)",
  ]);
});

test("a cluster without TLS says so", () => {
  const lines = certificateLines(
    { certificates: [], unread: [] },
    { wide: false, width: 80 },
    styleFor(false),
  );
  assert.match(lines.join(), /uses no TLS/);
});
