import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { activePeersIn, agreedVersion, HttpProbe } from "./probe.ts";

test("what a cluster says before its members have agreed on a version is no version", () => {
  assert.equal(agreedVersion("not_decided"), undefined);
  assert.equal(agreedVersion(undefined), undefined);
  assert.equal(agreedVersion("3.0.0"), undefined);
  assert.equal(agreedVersion("3.6.0"), "3.6.0");
});

test("the peers that a member is connected to stand in its metrics, one line each", () => {
  const metrics = [
    "# HELP etcd_network_active_peers The current number of active peer connections.",
    "# TYPE etcd_network_active_peers gauge",
    'etcd_network_active_peers{Local="8e9e05c52164694d",Remote="91bc3c398fb3c146"} 1',
    'etcd_network_active_peers{Local="8e9e05c52164694d",Remote="fd422379fda50e48"} 0',
    'etcd_network_client_grpc_received_bytes_total{Remote="fd422379fda50e48"} 1',
    "",
  ].join("\n");
  assert.deepEqual([...activePeersIn(metrics)], ["91bc3c398fb3c146"]);
  assert.equal(activePeersIn("").size, 0);
});

test("any answer tells by its Date what time it is there, and no answer tells nothing", async (t) => {
  const dates = new Map([
    ["/good", "Mon, 07 Jan 2030 12:00:00 GMT"],
    ["/none", undefined],
    ["/bad", "today"],
  ]);
  const server = createServer(({ url = "" }, response) => {
    response.sendDate = false;
    const date = dates.get(url);
    if (date !== undefined) response.setHeader("Date", date);
    response.statusCode = 404;
    response.end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.closeAllConnections());
  const { port } = server.address() as AddressInfo;
  const probe = new HttpProbe();
  const date = (path: string, signal = AbortSignal.timeout(5_000)) =>
    probe.date(`http://127.0.0.1:${port}${path}`, signal);
  assert.equal(await date("/good"), Date.UTC(2030, 0, 7, 12));
  assert.equal(await date("/none"), undefined);
  assert.equal(await date("/bad"), undefined);
  assert.equal(await date("/good", AbortSignal.abort()), undefined);
  server.close();
  assert.equal(await date("/good"), undefined);
});

test("a member is ready when it says so in time, and nothing else is an answer", async (t) => {
  const asked: (string | undefined)[] = [];
  const server = createServer(({ url, headers }, response) => {
    asked.push(`${headers.host} ${url}`);
    if (url === "/silent") return;
    response.statusCode = url === "/readyz?exclude=non_learner" ? 200 : 503;
    response.end("ok\n");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.closeAllConnections());
  const { port } = server.address() as AddressInfo;
  const host = `127.0.0.1:${port}`;
  const probe = new HttpProbe();
  const end = new AbortController();
  const ready = (path: string) => probe.ready(`http://${host}${path}`, end.signal);
  assert.equal(await ready("/readyz?exclude=non_learner"), true);
  assert.equal(await ready("/readyz"), false);
  const silent = ready("/silent");
  await eventuallyAsked(asked, 3);
  end.abort();
  assert.equal(await silent, false);
  assert.equal(await ready("/readyz?exclude=non_learner"), false);
  assert.deepEqual(asked, [`${host} /readyz?exclude=non_learner`, `${host} /readyz`, `${host} /silent`]);
  server.close();
  await once(server, "close");
  assert.equal(await probe.ready(`http://${host}/readyz`, new AbortController().signal), false);
});

async function eventuallyAsked(asked: readonly unknown[], count: number): Promise<void> {
  while (asked.length < count) await new Promise((resolve) => setImmediate(resolve));
}
