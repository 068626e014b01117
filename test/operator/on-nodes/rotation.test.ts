/**
 * Certificates rotated on a real node, where kubelets bring Secrets to running Pods in their own time, under a client
 * that writes all the while: the CAs of both planes, and the leaves again, which live for ten minutes. It takes minutes,
 * so only `npm run e2e -- --all` has it.
 */
import assert from "node:assert/strict";
import process from "node:process";
import { after, before, test } from "node:test";
import { upForTests, type TestTestbed } from "../../../testbed/for-tests.ts";
import { secretFiles } from "../../support/bed-secrets.ts";
import { EVERY_CASE } from "../../support/sample.ts";
import { Lab } from "../../testbed/on-nodes/lab.ts";

/** Each takes minutes: kubelets bring files in their own time. */
const ROUNDS = Number(process.env["QUORATE_ROUNDS"] ?? 5);
const LEAVES = ["server.pem", "peer.pem"];
const MEMBERS = ["demo-1", "demo-2", "demo-3"];

let bed: TestTestbed;
let lab: Lab;

const file = async (secret: string, name: string) => (await secretFiles(bed, secret))(name);
const leaves = () =>
  Promise.all(MEMBERS.flatMap((member) => LEAVES.map(async (name) => await file(member, name))));

function rotations(): void {
  before(async () => {
    bed = await upForTests({ nodes: 1 });
    lab = new Lab(bed.name);
    await lab.call("define");
    await lab.call("startOperator");
  });
  after(async () => {
    await lab?.end();
    await bed?.down();
  });
  test(`${ROUNDS} rotations of the CAs and of leaves that live for ten minutes: no write fails`, async (t) => {
    const began = Date.now();
    const say = (what: string) => t.diagnostic(`${what}: ${((Date.now() - began) / 1000).toFixed(0)} s`);
    const tls = { rotation: { soak: "1s" }, managed: { leafLifetime: "10m" } };
    await lab.call("create", "demo", { replicas: 3, tls });
    await lab.call("converged", "demo", 3);
    await lab.call("startWriter", "demo");
    const done = async (name: string, task: object) => {
      await lab.call("ask", "demo", name, { rotateCertificates: task });
      await lab.call("operationIs", "demo", name, "Succeeded");
      say(name);
    };
    for (let round = 1; round <= ROUNDS; round++) {
      const cas = await Promise.all([file("demo-client-ca", "tls.crt"), file("demo-peer-ca", "tls.crt")]);
      await done(`cas-${round}`, { ca: true });
      assert.notEqual(await file("demo-client-ca", "tls.crt"), cas[0]);
      assert.notEqual(await file("demo-peer-ca", "tls.crt"), cas[1]);
      const issued = await leaves();
      await done(`leaves-${round}`, {});
      assert.ok((await leaves()).every((leaf, index) => leaf !== issued[index]));
    }
    await lab.call("converged", "demo", 3);
    const told = await lab.call("writerTold", "demo");
    t.diagnostic(
      `longest gap ${told.gapMs} ms of ${told.acknowledged} writes, ${told.lost} lost with a leader`,
    );
    assert.deepEqual(told.unexplained, []);
    assert.deepEqual(told.missing, [], "what was acknowledged is there");
    // Leaders are moved before they restart, and no peer's URL changes: nothing is dropped on its way.
    assert.deepEqual(told.dropped, []);
    // A busy machine takes longer to elect.
    assert.ok(told.gapMs < 5_000, `no write for ${told.gapMs} ms`);
  });
}

if (EVERY_CASE) rotations();
