import assert from "node:assert/strict";
import { test } from "node:test";
import { EtcdClient } from "./client.ts";
import type { WatchRequest } from "./proto/rpc_pb.ts";
import { endpoints, FakeTransport, interrupted, ManualClock, refused, type StreamScript } from "./testing.ts";
import type { WatchBatch, WatchOptions } from "./watch.ts";

const created = (revision: bigint) => ({ created: true, header: { revision } });
const put = (revision: bigint) => ({
  header: { revision },
  events: [{ kv: { key: Buffer.from("k"), modRevision: revision } }],
});

/** Runs a watch over streams that the test writes, one script per connection, until `count` batches came. */
async function watch(scripts: readonly StreamScript[], count: number, options: WatchOptions = {}) {
  const clock = new ManualClock();
  let opened = 0;
  const transport = new FakeTransport(
    () => ({}),
    (sent, requests) => (scripts[opened++] ?? (() => ["silence"]))(sent, requests),
  );
  const client = new EtcdClient({ transport, clock, endpoints: endpoints("a", "b") });
  const stop = new AbortController();
  const got: WatchBatch[] = [];
  const running = (async () => {
    for await (const batch of client.watches.watch("k", { ...options, signal: stop.signal })) {
      got.push(batch);
      if (got.length === count) stop.abort();
    }
  })();
  running.catch(() => undefined);
  for (let step = 0; step < 10 && !stop.signal.aborted; step++) await clock.advance(1_000);
  stop.abort();
  await running;
  const starts = transport.sent.map(({ request }) => {
    const { requestUnion } = request as WatchRequest;
    return requestUnion.case === "createRequest" ? requestUnion.value.startRevision : undefined;
  });
  const revisions = got.filter((batch) => batch.type === "events").map((batch) => batch.revision);
  return {
    got,
    starts,
    revisions,
    asked: transport.sent.map(({ endpoint }) => endpoint),
    sent: transport.sent,
  };
}

test("a broken watch goes on with another member right after the last event it delivered", async () => {
  const { revisions, starts, asked } = await watch(
    [() => [created(5n), put(6n), put(8n), interrupted()], () => [created(9n), put(9n), "silence"]],
    5,
    { startRevision: 6n },
  );
  assert.deepEqual(revisions, [6n, 8n, 9n]);
  assert.deepEqual(starts, [6n, 9n]);
  assert.deepEqual(asked, ["a", "b"]);
});

test("a watch from now on does not lose what happens between two connections", async () => {
  const { starts } = await watch(
    [() => [created(41n), interrupted()], () => [created(50n), put(42n), "silence"]],
    3,
  );
  assert.deepEqual(starts, [0n, 42n]);
});

test("progress moves the point to go on from", async () => {
  const { starts, got } = await watch(
    [() => [created(5n), { header: { revision: 70n } }, interrupted()], () => [created(70n), "silence"]],
    3,
    { startRevision: 6n },
  );
  assert.deepEqual(
    got.map((batch) => batch.type),
    ["created", "progress", "created"],
  );
  assert.deepEqual(starts, [6n, 71n]);
});

test("a compacted start is an error with the oldest revision left", async () => {
  const compacted = { canceled: true, compactRevision: 30n, header: { revision: 40n } };
  await assert.rejects(watch([() => [created(40n), compacted]], 9, { startRevision: 3n }), {
    kind: "compacted",
    compactRevision: 30n,
  });
});

test("a watch that etcd refuses is an error with its reason", async () => {
  const denied = { canceled: true, cancelReason: "etcdserver: permission denied" };
  await assert.rejects(watch([() => [denied]], 9), (error: Error) => /permission denied/.test(error.message));
  await assert.rejects(watch([() => [refused("PERMISSION_DENIED", "permission denied")]], 9), {
    kind: "permission-denied",
  });
});

test("a member without a leader, and one that does not answer the creation, are left", async () => {
  const reported: string[] = [];
  const { asked, sent } = await watch(
    [() => [refused("UNAVAILABLE", "no leader")], () => ["silence"], () => [created(1n), "silence"]],
    1,
    { onInterrupted: (error) => reported.push(error.kind) },
  );
  assert.deepEqual(reported, ["no-leader", "deadline"]);
  assert.deepEqual(asked, ["a", "b", "a"]);
  assert.equal(sent[0]?.metadata["hasleader"], "true");
});

test("a consumer of whole revisions gets the last one again after an interruption, unless it was closed", async () => {
  const { starts, sent } = await watch(
    [
      () => [created(5n), put(6n), put(8n), interrupted()],
      () => [created(9n), put(8n), { header: { revision: 8n } }, interrupted()],
      () => [created(9n), "silence"],
    ],
    7,
    { startRevision: 6n, wholeRevisions: true },
  );
  assert.deepEqual(starts, [6n, 8n, 9n]);
  const [first] = sent.map(({ request }) => (request as WatchRequest).requestUnion);
  assert.equal(first?.case === "createRequest" && first.value.fragment, true);
});

test("signs of life are asked for as often as the consumer says, while the watch lives", async () => {
  const asked: string[] = [];
  const clock = new ManualClock();
  const transport = new FakeTransport(
    () => ({}),
    () => [created(1n), "silence"],
  );
  const { stream } = transport;
  transport.stream = (call, endpoint, options) => {
    const opened = stream(call, endpoint, options);
    const send = (request: unknown) => {
      asked.push(String((request as WatchRequest).requestUnion.case));
      opened.send(request as never);
    };
    return { ...opened, send, [Symbol.asyncIterator]: () => opened[Symbol.asyncIterator]() } as never;
  };
  const client = new EtcdClient({ transport, clock, endpoints: endpoints("a") });
  const stop = new AbortController();
  const running = (async () => {
    for await (const _ of client.watches.watch("k", { progressEveryMs: 1000, signal: stop.signal }));
  })();
  await clock.advance(3_500);
  stop.abort();
  await running;
  await clock.advance(5_000);
  assert.deepEqual(asked, ["createRequest", ...Array.from({ length: 3 }, () => "progressRequest")]);
});
