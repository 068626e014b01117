/** TLS of clients changed on the real operator: what holds while members serve both. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { secrets } from "../models/kube/kinds/simple.ts";
import { json } from "../models/kube/object.ts";
import { NAME, NAMESPACE } from "./environment.ts";
import { Moves } from "./moves.ts";
import { OperatorSimulation } from "./simulation.ts";

test("on the way to plaintext, clients' certificates are published and reissued until TLS has ended", async () => {
  const sim = new OperatorSimulation({ replicas: 3, version: "3.6.16" }, { seed: 51 });
  const moves = new Moves(sim);
  await sim.settle();
  moves.perform({ do: "edit", change: { tls: { mode: "Managed", client: { mode: "Disabled" } } } });
  await sim.settle();
  assert.ok(sim.latest?.decision.holds.some(({ code }) => code === "ClosingAwaitsApproval"));
  assert.equal(sim.cluster?.status?.clientSecret, `${NAME}-client-tls`);
  const names = [`${NAME}-client-tls`, `${NAME}-operator`];
  const certificates = () =>
    names.map((name) => json(sim.env.server.get(secrets, `${NAMESPACE}/${name}`)?.["data"])["tls.crt"]);
  const before = certificates();
  moves.perform({ do: "operate", task: "rotateCertificates", all: false, pick: 0 });
  await sim.settle();
  for (const [index, after] of certificates().entries()) {
    assert.ok(typeof after === "string");
    assert.notEqual(after, before[index], names[index]);
  }
});
