/** The model's garbage collector against the real one: random families, the same survivors. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { play, randomFamily, survivors, type Send } from "../../sim/models/kube/conformance/families.ts";
import { GarbageCollector } from "../../sim/models/kube/garbage.ts";
import { kubeBench } from "../../sim/models/kube/testing.ts";
import { SeededRandom } from "../../sim/engine/random.ts";
import { eventually } from "../../testbed/eventually.ts";
import { upForTests, type TestTestbed } from "../../testbed/for-tests.ts";
import { configOf, transportTo } from "../support/kube-runtime.ts";

const FAMILIES = 30;

let bed: TestTestbed;

before(async () => {
  bed = await upForTests();
});

after(async () => {
  await bed?.down();
});

/** Who is left in the model when everything has come to rest. */
async function inTheModel(seed: number): Promise<string[]> {
  const { server, scheduler, random, pass } = kubeBench(seed);
  new GarbageCollector({ server, scheduler, random });
  const send: Send = (request) => Promise.resolve(server.handle(request));
  await play(send, "default", randomFamily(new SeededRandom(seed)));
  await pass(60_000);
  return await survivors(send, "default");
}

test("of random families the same are left as with the real garbage collector", async () => {
  const transport = transportTo(configOf(bed));
  const send: Send = (request) => transport.request(request, { signal: AbortSignal.timeout(60_000) });
  try {
    for (let seed = 1; seed <= FAMILIES; seed++) {
      const metadata = { name: `family-${seed}` };
      await send({ method: "POST", path: "/api/v1/namespaces", body: { metadata } });
    }
    await Promise.all(
      Array.from({ length: FAMILIES }, async (_, i) => {
        const seed = i + 1;
        await play(send, `family-${seed}`, randomFamily(new SeededRandom(seed)));
      }),
    );
    for (let seed = 1; seed <= FAMILIES; seed++) {
      const model = await inTheModel(seed);
      let real: string[] = [];
      const settled = async () => {
        real = await survivors(send, `family-${seed}`);
        return real.join() === model.join();
      };
      await eventually(`family ${seed}`, settled, { everyMs: 200 }).catch(() =>
        assert.deepEqual(model, real),
      );
    }
  } finally {
    await transport.close();
  }
});
