/**
 * The product's Kubernetes runtime (src/kube), the same test bodies on a real API server and on the simulator's model
 * of one: what the simulator shows of the operator is worth as much as these two agree.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { KubeClient } from "../../src/kube/client.ts";
import { Controller, source } from "../../src/kube/controller.ts";
import { ensure } from "../../src/kube/ensure.ts";
import { isReason, type KubeReason } from "../../src/kube/errors.ts";
import { EventRecorder } from "../../src/kube/events.ts";
import { Lease } from "../../src/kube/lease.ts";
import { Reflector } from "../../src/kube/reflector.ts";
import { configMaps, events } from "../../src/kube/resources.ts";
import type { Http2Transport } from "../../src/kube/transport.ts";
import { systemClock, type Clock } from "../../src/seams/clock.ts";
import { systemRandom, type Random } from "../../src/seams/random.ts";
import { kubeBench } from "../../sim/models/kube/testing.ts";
import { eventually } from "../../testbed/eventually.ts";
import { upForTests, type TestTestbed } from "../../testbed/for-tests.ts";
import { clientOn, configOf, transportTo } from "../support/kube-runtime.ts";

interface World {
  readonly clock: Clock;
  readonly random: Random;
  client(): KubeClient;
  /** What a call comes to, with time passing meanwhile. */
  done<T>(call: Promise<T>): Promise<T>;
  until(what: string, holds: () => boolean): Promise<void>;
}

let bed: TestTestbed;
let transport: Http2Transport;

before(async () => {
  bed = await upForTests();
  transport = transportTo(configOf(bed));
});

after(async () => {
  await transport?.close();
  await bed?.down();
});

const worlds: Readonly<Record<string, () => World>> = {
  "a real API server": () => ({
    clock: systemClock,
    random: systemRandom,
    client: () => clientOn(transport),
    done: (call) => call,
    until: async (what, holds) => void (await eventually(what, holds)),
  }),
  "the model": () => {
    const { clock, random, client, done, pass } = kubeBench(1);
    return {
      clock,
      random,
      client: () => client("quorate-test"),
      done,
      async until(what, holds) {
        for (let i = 0; !holds(); i++) {
          assert.ok(i < 600, what);
          await pass(100);
        }
      },
    };
  },
};

const at = (name: string) => ({ name, namespace: "default" });
const configMap = (name: string, data: Record<string, string> = {}) => ({
  metadata: { ...at(name), labels: { runtime: "yes" } },
  data,
});

async function refusedAs(reason: KubeReason, call: Promise<unknown>): Promise<void> {
  await assert.rejects(call, (error) => isReason(error, reason));
}

function reflecting({ clock, random }: World, client: KubeClient) {
  const scope = { namespace: "default", labels: { runtime: "yes" } };
  const reflector = new Reflector({ client, clock, random, resource: configMaps, scope });
  reflector.start();
  return reflector;
}

for (const [where, world] of Object.entries(worlds)) {
  describe(`on ${where}`, () => {
    test("a cache is filled, shows our own writes at once, and follows others", async () => {
      const here = world();
      const [us, them] = [here.client(), here.client()];
      await here.done(us.create(configMaps, configMap("cache-a")));
      const reflector = reflecting(here, us);
      const { store } = reflector;
      await here.until("synced", () => store.synced);
      const made = await here.done(us.create(configMaps, configMap("cache-b", { n: "1" })));
      const key = "default/cache-b";
      assert.equal(store.get(key)?.metadata?.resourceVersion, made.metadata?.resourceVersion);
      const changed = await here.done(them.replace(configMaps, { ...made, data: { n: "2" } }));
      await here.until("seen", () => store.get(key)?.data?.["n"] === "2");
      assert.equal(store.resourceVersion, changed.metadata?.resourceVersion);
      const { uid = "" } = made.metadata ?? {};
      assert.equal(await here.done(them.delete(configMaps, at("cache-b"), { uid })), "gone");
      await here.until("gone", () => store.get(key) === undefined);
      await here.done(reflector.stop());
    });

    test("H9: an apply, a patch and a delete are for one object, never for another of its name", async () => {
      const here = world();
      const us = here.client();
      const first = await here.done(us.create(configMaps, configMap("same-name")));
      const { uid = "" } = first.metadata ?? {};
      await here.done(us.delete(configMaps, at("same-name"), { uid }));
      await here.done(us.create(configMaps, configMap("same-name", { n: "1" })));
      const ours = { metadata: { ...at("same-name"), uid }, data: { n: "2" } };
      await refusedAs("Conflict", here.done(us.apply(configMaps, ours)));
      await refusedAs(
        "Conflict",
        here.done(us.patch(configMaps, at("same-name"), { data: { n: "2" } }, { uid })),
      );
      await refusedAs("Conflict", here.done(us.delete(configMaps, at("same-name"), { uid })));
      assert.equal((await here.done(us.get(configMaps, at("same-name")))).data?.["n"], "1");
    });

    test("what has to exist is made, mended, left alone, and let go of where it is not wanted any more", async () => {
      const here = world();
      const us = here.client();
      const once = async (data: Record<string, string>) => {
        const known = await here.done(us.find(configMaps, at("wanted")));
        const wanted = configMap("wanted", data);
        const wishes = { wanted, known, isOurs: () => true, stamp: "example.com/applied" };
        return (await here.done(ensure(us, configMaps, wishes))).done;
      };
      assert.equal(await once({ a: "1", b: "2" }), "created");
      assert.equal(await once({ b: "2", a: "1" }), "unchanged");
      assert.equal(await once({ a: "1" }), "applied");
      assert.deepEqual((await here.done(us.get(configMaps, at("wanted")))).data, { a: "1" });
      assert.equal(await once({ a: "1", c: "3" }), "applied");
      assert.equal(await once({ a: "1", c: "3" }), "unchanged");
    });

    test("an object with a finalizer is deleting until it is let go of", async () => {
      const here = world();
      const us = here.client();
      const metadata = { ...at("held"), finalizers: ["example.com/hold"] };
      const { uid = "" } = (await here.done(us.create(configMaps, { metadata }))).metadata ?? {};
      assert.equal(await here.done(us.delete(configMaps, at("held"), { uid })), "deleting");
      const wishes = { wanted: { metadata: at("held") }, known: undefined, isOurs: () => true, stamp: "x" };
      assert.equal((await here.done(ensure(us, configMaps, wishes))).done, "ending");
      await here.done(us.patch(configMaps, at("held"), { metadata: { finalizers: null } }, { uid }));
      assert.equal(await here.done(us.find(configMaps, at("held"))), undefined);
    });

    test("a controller makes what is missing, once for each object", async () => {
      const here = world();
      const us = here.client();
      const reflector = reflecting(here, us);
      const { store } = reflector;
      let made = 0;
      const controller = new Controller({
        name: "copy",
        clock: here.clock,
        random: here.random,
        sources: [source(store)],
        async reconcile(key) {
          const [, name = ""] = key.split("/");
          if (!name.startsWith("origin") || store.get(`default/copy-of-${name}`)) return;
          await us.create(configMaps, configMap(`copy-of-${name}`));
          made++;
        },
      });
      await here.done(controller.start());
      const others = here.client();
      for (const name of ["origin-a", "origin-b"])
        await here.done(others.create(configMaps, configMap(name)));
      await here.until("copies", () => store.get("default/copy-of-origin-b") !== undefined);
      await here.until("both", () => store.get("default/copy-of-origin-a") !== undefined);
      // A watch may tell of an object before its maker has the answer.
      await here.until("answered", () => made >= 2);
      assert.equal(made, 2);
      await here.done(controller.stop());
      await here.done(reflector.stop());
    });

    test("a lease has one holder, and goes to the next when it is handed over", async () => {
      const here = world();
      const reported: string[] = [];
      const leases = ["a", "b"].map((identity) => {
        const { clock, random } = here;
        const onElected = () => reported.push(identity);
        const options = {
          client: here.client(),
          clock,
          random,
          namespace: "default",
          name: "runtime",
          identity,
        };
        const lease = new Lease({ ...options, onElected, onLost: () => reported.push(`${identity} lost`) });
        lease.start();
        return lease;
      });
      await here.until("elected", () => reported.length === 1);
      const first = reported[0] === "a" ? 0 : 1;
      await here.done(leases[first]?.stop() ?? Promise.resolve());
      await here.until("handed over", () => reported.length === 2);
      assert.deepEqual(reported.toSorted(), ["a", "b"]);
      await here.done(leases[1 - first]?.stop() ?? Promise.resolve());
    });

    test("events are reported", async () => {
      const here = world();
      const { clock, random } = here;
      const us = here.client();
      const regarding = await here.done(us.create(configMaps, configMap("regarding")));
      const recorder = new EventRecorder({
        client: us,
        clock,
        random,
        controller: "example.com/us",
        instance: "us-1",
      });
      const wish = {
        regarding,
        type: "Normal",
        reason: "Told",
        action: "Telling",
        note: "something",
      } as const;
      recorder.record(wish);
      await here.done(recorder.stop(30_000));
      const { items } = await here.done(us.list(events, { namespace: "default" }));
      const found = items.filter(({ reason }) => reason === "Told");
      assert.equal(found.length, 1);
      assert.equal(found[0]?.regarding?.uid, regarding.metadata?.uid);
      assert.equal(recorder.dropped, 0);
    });
  });
}
