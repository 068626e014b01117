import assert from "node:assert/strict";
import { test } from "node:test";
import { isReason } from "../../../src/kube/errors.ts";
import { ensure } from "../../../src/kube/ensure.ts";
import { Lease } from "../../../src/kube/lease.ts";
import { Reflector } from "../../../src/kube/reflector.ts";
import { Controller, source } from "../../../src/kube/controller.ts";
import { configMaps, pods } from "../../../src/kube/resources.ts";
import { faults } from "./faults.ts";
import { kubeBench } from "./testing.ts";

const at = (name: string) => ({ name, namespace: "default" });
const configMap = (name: string, data: Record<string, string> = {}) => ({ metadata: at(name), data });

function reflecting(bench: ReturnType<typeof kubeBench>, who = "us") {
  const reflector = new Reflector({
    client: bench.client(who),
    clock: bench.clock,
    random: bench.random,
    resource: configMaps,
    scope: { namespace: "default" },
  });
  reflector.start();
  const equal = () => {
    const shown = (objects: readonly { metadata?: { name?: string; resourceVersion?: string } }[]) =>
      objects.map(({ metadata }) => `${metadata?.name} ${metadata?.resourceVersion}`).toSorted();
    const all = bench.server.handle({ method: "GET", path: "/api/v1/namespaces/default/configmaps" });
    assert.deepEqual(shown(reflector.store.list()), shown((all.body as { items: [] }).items));
  };
  return { reflector, store: reflector.store, equal };
}

test("the product's client creates, changes, applies and deletes on the model", async () => {
  const { client, done } = kubeBench();
  const us = client("us");
  const made = await done(us.create(configMaps, configMap("a", { n: "1" })));
  const { uid = "" } = made.metadata ?? {};
  const changed = await done(us.replace(configMaps, { ...made, data: { n: "2" } }));
  await assert.rejects(done(us.replace(configMaps, { ...made, data: {} })), (error) =>
    isReason(error, "Conflict"),
  );
  const wanted = { metadata: { ...at("a"), uid }, data: { other: "x" } };
  const applied = await done(us.apply(configMaps, wanted));
  assert.deepEqual(applied.data, { n: "2", other: "x" });
  assert.notEqual(applied.metadata?.resourceVersion, changed.metadata?.resourceVersion);
  await assert.rejects(done(us.delete(configMaps, at("a"), { uid: "another" })), (error) =>
    isReason(error, "Conflict"),
  );
  assert.equal(await done(us.delete(configMaps, at("a"), { uid })), "gone");
  assert.equal(await done(us.find(configMaps, at("a"))), undefined);
});

test("H9: an apply with the UID of an object that is gone brings nothing back", async () => {
  const { client, done } = kubeBench();
  const us = client("us");
  const made = await done(us.create(configMaps, configMap("a")));
  const { uid = "" } = made.metadata ?? {};
  await done(us.delete(configMaps, at("a"), { uid }));
  const wanted = { metadata: { ...at("a"), uid }, data: { n: "1" } };
  await assert.rejects(done(us.apply(configMaps, wanted)), (error) =>
    isReason(error, "Conflict", "NotFound"),
  );
  assert.equal(await done(us.find(configMaps, at("a"))), undefined);
});

test("what has to exist is made, mended, left alone, and fields no longer wanted are let go", async () => {
  const { client, done } = kubeBench();
  const us = client("us");
  const once = async (data: Record<string, string>) => {
    const known = await done(us.find(configMaps, at("w")));
    const wishes = { wanted: configMap("w", data), known, isOurs: () => true, stamp: "example.com/stamp" };
    return (await done(ensure(us, configMaps, wishes))).done;
  };
  assert.equal(await once({ a: "1", b: "2" }), "created");
  assert.equal(await once({ b: "2", a: "1" }), "unchanged");
  assert.equal(await once({ a: "1" }), "applied");
  assert.deepEqual((await done(us.get(configMaps, at("w")))).data, { a: "1" });
  assert.equal(await once({ a: "1" }), "unchanged");
});

test("a reflector follows the model through cuts, a restart, compaction and a freeze", async () => {
  const bench = kubeBench(3);
  const { client, done, pass, front, server } = bench;
  const us = client("writer");
  await done(us.create(configMaps, configMap("before")));
  const { store, equal, reflector } = reflecting(bench);
  await pass(1_000);
  assert.equal(store.synced, true);
  equal();
  for (const trouble of [
    () => front.cut(),
    () => front.restart(),
    () => {
      server.storage.compact();
      front.cut();
    },
    () => front.freeze(),
  ]) {
    trouble();
    const name = `after-${server.storage.version}`;
    server.handle({ method: "POST", path: "/api/v1/namespaces/default/configmaps", body: configMap(name) });
    await pass(10_000);
    front.thaw();
    await pass(120_000);
    equal();
    assert.equal(reflector.trouble, undefined);
  }
  await reflector.stop();
  assert.equal(front.watches, 0);
});

test("a server that is behind shows the past, and everything once it has caught up", async () => {
  const bench = kubeBench(4);
  const { client, done, pass, front } = bench;
  const us = client("writer");
  const first = await done(us.create(configMaps, configMap("a", { n: "1" })));
  const { store, equal, reflector } = reflecting(bench);
  await pass(1_000);
  front.lag();
  const second = await done(us.replace(configMaps, { ...first, data: { n: "2" } }));
  await pass(1_000);
  assert.equal(store.get("default/a")?.data?.["n"], "1");
  const path = "/api/v1/namespaces/default/configmaps";
  const fromCache = { method: "GET", path, query: { resourceVersion: "0" } } as const;
  const { signal } = new AbortController();
  const { body } = await done(front.connect("reader").request(fromCache, { signal }));
  const [cached] = (body as { items: { data: Record<string, string> }[] }).items;
  assert.equal(cached?.data["n"], "1", "a list that may be of any version is from the past too");
  const listed = await done(us.list(configMaps, { namespace: "default" }));
  assert.equal(listed.items[0]?.data?.["n"], "2", "one that asks for none is not");
  assert.equal((await done(us.get(configMaps, at("a")))).data?.["n"], "2", "one object is read as it is");
  await assert.rejects(done(us.replace(configMaps, { ...first, data: { n: "3" } })), (error) =>
    isReason(error, "Conflict"),
  );
  front.catchUp();
  await pass(1_000);
  assert.equal(store.get("default/a")?.metadata?.resourceVersion, second.metadata?.resourceVersion);
  equal();
  await reflector.stop();
});

test("a request is lost before it was done, or its answer after", async () => {
  const { client, done, front } = kubeBench();
  const us = client("us");
  for (const [name, fault, there] of [
    ["lost", faults.lost, false],
    ["reply-lost", faults.replyLost, true],
    ["silent", faults.silent, false],
    ["silent-after", faults.silentAfter, true],
    ["timed-out", faults.timedOut, true],
  ] as const) {
    front.faults.plan(fault);
    const error: unknown = await done(us.create(configMaps, configMap(name))).catch(
      (thrown: unknown) => thrown,
    );
    assert.ok(isReason(error, "Interrupted", "ServerTimeout") && error.mayHaveHappened, String(error));
    assert.equal((await done(us.find(configMaps, at(name)))) !== undefined, there, name);
  }
  front.faults.plan(faults.busy(7));
  const busy: unknown = await done(us.create(configMaps, configMap("b"))).catch((thrown: unknown) => thrown);
  assert.ok(isReason(busy, "TooManyRequests") && busy.retryAfterMs === 7_000);
  for (const [fault, reason] of [
    [faults.unreachable, "Unreachable"],
    [faults.broken, "Internal"],
    [faults.unavailable, "Unavailable"],
  ] as const) {
    front.faults.plan(fault, (who, { method }) => who === "us" && method === "POST");
    await assert.rejects(done(us.create(configMaps, configMap("c"))), (error) => isReason(error, reason));
  }
  front.faults.clear();
});

test("events of different kinds overtake each other, those of one never", async () => {
  const orders = new Set<string>();
  for (let seed = 1; seed <= 20; seed++) {
    const bench = kubeBench(seed, { watchLagMs: [0, 500] });
    const { client, done, pass } = bench;
    const us = client("us");
    const seen: string[] = [];
    const watching = [configMaps, pods].map((resource) => {
      const reflector = new Reflector({
        client: client("other"),
        clock: bench.clock,
        random: bench.random,
        resource: resource as typeof configMaps,
        scope: { namespace: "default" },
      });
      reflector.store.onChange(({ key }) => seen.push(`${resource.plural} ${key}`));
      reflector.start();
      return reflector;
    });
    await pass(1_000);
    const spec = { containers: [{ name: "c", image: "x:1" }] };
    await done(us.create(configMaps, configMap("first")));
    await done(us.create(pods, { metadata: at("between"), spec }));
    await done(us.create(configMaps, configMap("second")));
    await pass(2_000);
    const own = seen.filter((one) => one.startsWith("configmaps"));
    assert.deepEqual(own, ["configmaps default/first", "configmaps default/second"]);
    orders.add(seen.join());
    for (const reflector of watching) await done(reflector.stop());
  }
  assert.ok(orders.size > 1);
});

test("a controller on the model makes what is missing, once for each object", async () => {
  const bench = kubeBench(5);
  const { client, clock, random, pass, done, server } = bench;
  const us = client("us");
  const { store, reflector } = reflecting(bench);
  const controller = new Controller({
    name: "copy",
    clock,
    random,
    sources: [source(store)],
    async reconcile(key) {
      const [, name = ""] = key.split("/");
      if (name.endsWith("-copy") || store.get(`${key}-copy`)) return;
      await us.create(configMaps, configMap(`${name}-copy`));
    },
  });
  const starting = controller.start();
  await pass(1_000);
  await starting;
  for (const name of ["a", "b"]) await done(client("user").create(configMaps, configMap(name)));
  await pass(5_000);
  assert.deepEqual(store.keys().toSorted(), ["default/a", "default/a-copy", "default/b", "default/b-copy"]);
  assert.equal(server.storage.version, 1_005, "a namespace and four objects: nothing was written twice");
  await done(controller.stop());
  await done(reflector.stop());
});

test("of two lease holders one leads; cut off, it has stopped before the other begins", async () => {
  const bench = kubeBench(6);
  const { client, clock, random, pass, front, done } = bench;
  const reported: string[] = [];
  const [a, b] = ["a", "b"].map((identity) => {
    const lease = new Lease({
      client: client(identity),
      clock,
      random,
      namespace: "default",
      name: "leader",
      identity,
      onElected: () => reported.push(`${identity} leads`),
      onLost: () => reported.push(`${identity} lost`),
    });
    lease.start();
    return lease;
  });
  await pass(60_000);
  assert.equal(reported.length, 1);
  const leader = reported[0]?.[0] ?? "";
  front.faults.plan(faults.unreachable, (who) => who === leader, Infinity);
  await pass(60_000);
  assert.deepEqual(reported.slice(1), [`${leader} lost`, `${leader === "a" ? "b" : "a"} leads`]);
  front.faults.clear();
  await done(Promise.all([a?.stop(), b?.stop()]));
});

test("the same seed gives the same run", async () => {
  const trace = async () => {
    const bench = kubeBench(9, { watchLagMs: [0, 300], latencyMs: [1, 50] });
    const { client, done, pass, clock } = bench;
    const { store, reflector } = reflecting(bench);
    const lines: string[] = [];
    store.onChange(({ key, after }) => lines.push(`${clock.now()} ${key} ${after?.metadata?.uid}`));
    await Promise.all(["a", "b", "c"].map((name) => done(client(name).create(configMaps, configMap(name)))));
    await pass(10_000);
    await done(reflector.stop());
    return lines;
  };
  assert.deepEqual(await trace(), await trace());
});
