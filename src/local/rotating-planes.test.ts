import assert from "node:assert/strict";
import { test } from "node:test";
import { createPki } from "../pki/issue.ts";
import { idOf } from "../pki/authority.ts";
import { systemClock } from "../seams/clock.ts";
import { systemRandom } from "../seams/random.ts";
import { Authorities } from "./authorities.ts";
import { layout as layoutOf } from "./layout.ts";
import { rotatingPlanes } from "./rotating-planes.ts";
import { MemoryDisk } from "./testing/memory.ts";

const pki = createPki(systemClock, systemRandom);
const DAY = 24 * 3_600_000;

test("a damaged CA of one plane does not stop the other plane from being watched", async () => {
  const disk = new MemoryDisk();
  const layout = layoutOf("/demo");
  const made = new Authorities(layout, disk, pki);
  for (const plane of ["client", "peer"] as const) {
    const { authority } = await made.ensure("demo", plane, DAY);
    const current = idOf(pki, authority.signer.certificate, "the CA");
    await made.advance({ cluster: "demo", plane, to: "Bundle", current, now: 1, lifeMs: DAY });
  }
  const planes = async () =>
    (await rotatingPlanes(new Authorities(layout, disk, pki), pki)).map(({ plane }) => plane);
  assert.deepEqual((await planes()).toSorted(), ["client", "peer"]);
  const file = `${layout.pki}/authority-client.json`;
  const whole = (await disk.read(file)) ?? "";
  await disk.write(file, whole.slice(0, 20));
  assert.deepEqual(await planes(), ["peer"], "a file that was cut");
  await disk.write(file, whole.replaceAll("-----BEGIN CERTIFICATE-----", "garbage"));
  assert.deepEqual(await planes(), ["peer"], "a certificate that cannot be read");
});
