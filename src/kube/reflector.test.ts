import assert from "node:assert/strict";
import { test } from "node:test";
import { KubeFailure } from "../seams/kube-transport.ts";
import { Reflector } from "./reflector.ts";
import { configMaps } from "./resources.ts";
import type { Change } from "./store.ts";
import { bench, CONFIG_MAPS, noRandom, refusal, settle } from "./testing.ts";

type ConfigMap = NonNullable<(typeof configMaps)["objects"]>;

async function reflecting(prepare: (made: ReturnType<typeof bench>) => void = () => undefined) {
  const made = bench();
  const { server, clock, client } = made;
  const scope = { namespace: "default" };
  prepare(made);
  const reflector = new Reflector({
    client,
    clock,
    random: noRandom,
    resource: configMaps,
    scope,
    indexes: { color: (object: ConfigMap) => [object.data?.["color"] ?? "none"] },
  });
  const changes: Change<ConfigMap>[] = [];
  reflector.store.onChange((change) => changes.push(change));
  reflector.start();
  await settle();
  const isEqual = () => {
    const versions = (objects: readonly { metadata?: { name?: string; resourceVersion?: string } }[]) =>
      objects.map(({ metadata }) => `${metadata?.name} ${metadata?.resourceVersion}`).toSorted();
    assert.deepEqual(versions(reflector.store.list()), versions(server.list(CONFIG_MAPS)));
  };
  const watches = () => server.requests.filter(({ query }) => query?.["watch"] !== undefined);
  const lists = () => server.requests.filter(({ query }) => query?.["limit"] !== undefined);
  return { ...made, reflector, store: reflector.store, changes, isEqual, watches, lists };
}

test("the first state comes through the watch, without a list, and the store then follows", async () => {
  const { server, store, isEqual, lists, reflector } = await reflecting(({ server }) => {
    server.put(CONFIG_MAPS, "a", { data: { color: "red" } });
  });
  assert.equal(store.synced, true);
  assert.equal(lists().length, 0);
  server.put(CONFIG_MAPS, "b", { data: { color: "blue" } });
  server.put(CONFIG_MAPS, "a", { data: { color: "blue" } });
  await settle();
  isEqual();
  assert.deepEqual(store.by("color", "red"), []);
  assert.deepEqual(
    store
      .by("color", "blue")
      .map((object) => object.metadata?.name ?? "")
      .toSorted(),
    ["a", "b"],
  );
  server.remove(CONFIG_MAPS, "b");
  await settle();
  isEqual();
  assert.equal(store.by("color", "blue").length, 1);
  await reflector.stop();
});

test("objects come in without managedFields and cannot be changed", async () => {
  const { store, reflector } = await reflecting(({ server }) => {
    server.put(CONFIG_MAPS, "a", { data: { color: "red" } });
  });
  const object = store.get("default/a");
  assert.equal(object?.metadata?.managedFields, undefined);
  assert.throws(() => {
    object!.data!["color"] = "blue";
  }, TypeError);
  await reflector.stop();
});

for (const kind of ["refused", "ignored"] as const) {
  test(`a server whose WatchList is ${kind} is listed by pages instead`, async () => {
    const { clock, store, isEqual, lists, server, reflector } = await reflecting(({ server }) => {
      server.watchList = kind;
      for (let i = 0; i < 1_203; i++) server.put(CONFIG_MAPS, `c${i}`);
    });
    await clock.advance(60_000);
    assert.equal(store.synced, true);
    assert.equal(store.size, 1_203);
    assert.equal(lists().length, 3);
    server.put(CONFIG_MAPS, "late");
    await settle();
    isEqual();
    await reflector.stop();
  });
}

test("an ignored WatchList of no objects at all is reported from an empty server", async () => {
  const { clock, store, reflector } = await reflecting(({ server }) => {
    server.watchList = "ignored";
  });
  assert.equal(store.synced, false);
  await clock.advance(60_000);
  assert.equal(store.synced, true);
  await reflector.stop();
});

test("410 in the middle of a watch: everything is read anew, and what was missed is reported", async () => {
  const { server, clock, changes, isEqual, store, reflector } = await reflecting(({ server }) => {
    server.put(CONFIG_MAPS, "kept");
    server.put(CONFIG_MAPS, "changed");
    server.put(CONFIG_MAPS, "removed");
  });
  changes.length = 0;
  server.quietly(() => {
    server.put(CONFIG_MAPS, "changed", { data: { new: "yes" } });
    server.put(CONFIG_MAPS, "added");
    server.remove(CONFIG_MAPS, "removed");
  });
  server.push({
    type: "ERROR",
    object: { kind: "Status", code: 410, reason: "Expired", message: "too old" },
  });
  await clock.advance(10);
  isEqual();
  const reported = changes.map(({ key, before, after }) => `${key} ${before ? "-" : ""}${after ? "+" : ""}`);
  assert.deepEqual(reported.toSorted(), ["default/added +", "default/changed -+", "default/removed -"]);
  assert.equal(store.synced, true);
  await reflector.stop();
});

test("410 at reconnecting: the old state stays readable until the new one is whole", async () => {
  const { server, clock, store, isEqual, reflector } = await reflecting(({ server }) => {
    server.put(CONFIG_MAPS, "a");
  });
  server.quietly(() => server.put(CONFIG_MAPS, "b"));
  server.compact();
  server.cut();
  await clock.advance(0);
  assert.equal(store.size, 1);
  await clock.advance(1_000);
  isEqual();
  await reflector.stop();
});

for (const past of ["with its past", "without its past"] as const) {
  test(`a server that comes back ${past} is followed again within ten seconds, however long it was away`, async () => {
    const { server, clock, reflector, isEqual } = await reflecting(({ server }) => {
      server.put(CONFIG_MAPS, "a");
    });
    server.intercept = () => new KubeFailure("not-sent", "connection", "refused");
    server.cut();
    await clock.advance(300_000);
    server.put(CONFIG_MAPS, "b");
    if (past === "without its past") server.compact();
    server.intercept = () => undefined;
    await clock.advance(10_000);
    isEqual();
    await reflector.stop();
  });
}

test("a server that answers 410 to every watch is not listed in a tight loop", async () => {
  const { server, clock, watches, reflector } = await reflecting(({ server }) => {
    server.watchList = "refused";
    server.put(CONFIG_MAPS, "a");
    server.intercept = ({ query }) =>
      query?.["resourceVersion"] === undefined ? undefined : refusal(410, "Expired", "too old");
  });
  await clock.advance(60_000);
  assert.ok(watches().length < 15, `${watches().length} watches in a minute`);
  server.intercept = () => undefined;
  await clock.advance(60_000);
  assert.equal(server.watching, 1);
  await reflector.stop();
});

test("a server that breaks off after each first state is not made to send it in a tight loop", async () => {
  const { server, clock, watches, reflector } = await reflecting(({ server }) => {
    server.put(CONFIG_MAPS, "a");
    server.intercept = ({ query }) =>
      query?.["resourceVersion"] === undefined ? undefined : refusal(410, "Expired", "too old");
  });
  for (let i = 0; i < 600; i++) {
    server.cut();
    await clock.advance(100);
  }
  const whole = watches().filter(({ query }) => query?.["sendInitialEvents"] !== undefined);
  assert.ok(whole.length < 15, `${whole.length} first states in a minute`);
  await reflector.stop();
});

test("a lost connection is taken up where it was, and nothing is reported twice", async () => {
  const { server, clock, changes, isEqual, watches, reflector } = await reflecting(({ server }) => {
    server.put(CONFIG_MAPS, "a");
  });
  const last = server.put(CONFIG_MAPS, "b");
  await settle();
  changes.length = 0;
  server.cut();
  server.put(CONFIG_MAPS, "c");
  await clock.advance(1_000);
  assert.equal(watches().at(-1)?.query?.["resourceVersion"], last.metadata.resourceVersion);
  assert.deepEqual(
    changes.map(({ key }) => key),
    ["default/c"],
  );
  isEqual();
  await reflector.stop();
});

test("waits between tries grow while nothing comes, and begin small again after the first event", async () => {
  const { server, clock, watches, reflector } = await reflecting();
  server.intercept = () => new KubeFailure("not-sent", "connection", "refused");
  server.cut();
  await clock.advance(120_000);
  const tries = watches().length;
  assert.ok(tries > 8 && tries < 30, `${tries} tries in two minutes`);
  assert.match(reflector.trouble?.message ?? "", /refused/);
  server.intercept = () => undefined;
  await clock.advance(30_000);
  server.bookmark();
  await settle();
  assert.equal(reflector.trouble, undefined);
  server.cut();
  server.put(CONFIG_MAPS, "soon");
  await clock.advance(300);
  assert.equal(reflector.store.size, 1);
  await reflector.stop();
});

test("Retry-After of a watch is obeyed", async () => {
  const { server, clock, watches, reflector } = await reflecting();
  server.intercept = () => ({ ...refusal(429, "TooManyRequests", "busy"), retryAfterMs: 20_000 });
  server.cut();
  await clock.advance(19_000);
  assert.equal(watches().length, 2, "the first one, and the one that was refused");
  await clock.advance(15_000);
  assert.equal(watches().length, 3);
  await reflector.stop();
});

test("events that come twice, and old ones that come late, change nothing", async () => {
  const { server, changes, isEqual, reflector } = await reflecting();
  const first = server.put(CONFIG_MAPS, "a", { data: { n: "1" } });
  const second = server.put(CONFIG_MAPS, "a", { data: { n: "2" } });
  await settle();
  changes.length = 0;
  server.push({ type: "MODIFIED", object: second });
  server.push({ type: "ADDED", object: first });
  await settle();
  assert.equal(changes.length, 0);
  isEqual();
  await reflector.stop();
});

test("bookmarks alone keep a watch in step: after a long silence of objects nothing is listed again", async () => {
  const { server, clock, lists, watches, store, reflector } = await reflecting(({ server }) => {
    server.put(CONFIG_MAPS, "a");
  });
  for (let minute = 0; minute < 5; minute++) {
    server.quietly(() => server.put("/api/v1/namespaces/default/pods", `other${minute}`));
    await clock.advance(60_000);
    server.bookmark();
  }
  await settle();
  server.compact();
  server.cut("cleanly");
  await clock.advance(1_000);
  assert.equal(lists().length, 0);
  assert.equal(watches().length, 2);
  assert.equal(watches().at(-1)?.query?.["resourceVersion"], store.resourceVersion);
  await reflector.stop();
});

test("a watch that is silent for too long is opened anew: the connection may be dead", async () => {
  const { server, clock, watches, isEqual, reflector } = await reflecting();
  server.bookmark();
  await settle();
  server.quietly(() => server.put(CONFIG_MAPS, "unseen"));
  await clock.advance(90_000);
  assert.equal(reflector.store.size, 0);
  await clock.advance(30_000);
  assert.equal(watches().length, 2);
  isEqual();
  await reflector.stop();
});

test("a request for a watch that hangs is given up", async () => {
  const { server, clock, isEqual, reflector } = await reflecting();
  server.intercept = () => "hang";
  server.cut();
  await clock.advance(1_000);
  server.put(CONFIG_MAPS, "a");
  server.intercept = () => undefined;
  await clock.advance(40_000);
  isEqual();
  await reflector.stop();
});

test("a control plane restored from a backup counts from less: the store goes back with it", async () => {
  const { server, clock, store, reflector } = await reflecting(({ server }) => {
    server.put(CONFIG_MAPS, "a");
  });
  server.push({
    type: "ADDED",
    object: { metadata: { name: "lost", namespace: "default", uid: "x", resourceVersion: "999999" } },
  });
  await settle();
  assert.equal(store.size, 2);
  server.cut();
  await clock.advance(60_000);
  assert.deepEqual(store.keys(), ["default/a"]);
  server.put(CONFIG_MAPS, "b");
  await settle();
  assert.deepEqual(store.keys(), ["default/a", "default/b"]);
  await reflector.stop();
});

test("stopping ends the watch, leaves no timer and keeps what was seen", async () => {
  const { server, clock, store, reflector } = await reflecting(({ server }) => {
    server.put(CONFIG_MAPS, "a");
  });
  await reflector.stop();
  assert.equal(server.watching, 0);
  assert.equal(clock.timers, 0);
  assert.equal(store.size, 1);
});

test("a write of ours is in the store before the watch tells of it", async () => {
  const { server, client, store, isEqual, reflector } = await reflecting();
  const metadata = { name: "a", namespace: "default" };
  server.quietly(() => undefined);
  const made = await client.create(configMaps, { metadata, data: { n: "1" } });
  assert.equal(store.get("default/a")?.metadata?.resourceVersion, made.metadata?.resourceVersion);
  await client.delete(configMaps, { name: "a", namespace: "default" }, { uid: made.metadata?.uid ?? "" });
  assert.equal(store.get("default/a"), undefined);
  await settle();
  isEqual();
  await reflector.stop();
});

test("a cache that ends by an error of ours says so, and does not take the process with it", async () => {
  const { server, client, clock } = bench();
  server.put(CONFIG_MAPS, "a", {});
  const errors: string[] = [];
  const reflector = new Reflector({
    client,
    clock,
    random: noRandom,
    resource: configMaps,
    scope: { namespace: "default" },
    keep: () => {
      throw new Error("not this one");
    },
    log: (level, message) => void (level === "error" && errors.push(message)),
  });
  assert.equal(reflector.ended, false);
  reflector.start();
  await settle();
  assert.equal(reflector.ended, true);
  assert.deepEqual(errors, ["the cache of configmaps stopped: not this one"]);
  await reflector.stop();
});
