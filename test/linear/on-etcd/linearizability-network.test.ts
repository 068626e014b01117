/** The proxies forward, hold back in one direction or both, delay and slow down, and lose nothing. */
import assert from "node:assert/strict";
import net from "node:net";
import process from "node:process";
import { test } from "node:test";
import { freePorts } from "../../support/free-ports.ts";
import { Network } from "../network.ts";

/** A server that answers each line with its echo, behind a proxy, and a client that knows the proxy. */
class Echo implements AsyncDisposable {
  readonly network = new Network(() => [{ name: "a", pid: process.pid }]);
  readonly #server: net.Server;
  readonly #sockets: net.Socket[] = [];
  readonly heard: string[] = [];
  readonly client: net.Socket;
  readonly echoes: string[] = [];

  private constructor(server: net.Server, client: net.Socket) {
    this.#server = server;
    this.client = client;
  }

  static async start(): Promise<Echo> {
    const [known = 0, listens = 0] = await freePorts(2);
    const server = net.createServer();
    await new Promise<void>((resolve) => server.listen(listens, "127.0.0.1", resolve));
    const client = new net.Socket();
    const echo = new Echo(server, client);
    server.on("connection", (socket) => {
      echo.#sockets.push(socket);
      socket.on("data", (chunk) => {
        echo.heard.push(String(chunk));
        socket.write(`${String(chunk)}!`);
      });
    });
    client.on("data", (chunk) => echo.echoes.push(String(chunk)));
    await echo.network.open("b", known, listens);
    await new Promise<void>((resolve) => client.connect(known, "127.0.0.1", resolve));
    return echo;
  }

  /** The server's process is gone. */
  hangUp(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.client.destroy();
    for (const socket of this.#sockets) socket.destroy();
    await this.network[Symbol.asyncDispose]();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

async function until(holds: () => boolean, timeoutMs = 30_000): Promise<void> {
  const end = performance.now() + timeoutMs;
  while (!holds()) {
    assert.ok(performance.now() < end, "in time");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

test("it forwards, and knows who dialled", async () => {
  await using echo = await Echo.start();
  echo.client.write("one");
  await until(() => echo.echoes.join("") === "one!");
  assert.equal(echo.network.accepted, 1);
  if (process.platform === "linux") assert.equal(echo.network.identified, 1);
});

test("cut in both directions nothing passes; healed, all of it does, in order", async () => {
  await using echo = await Echo.start();
  const heal = echo.network.isolate("b");
  for (const word of ["one ", "two ", "three "]) {
    echo.client.write(word);
    await pause(10);
  }
  await pause(100);
  assert.deepEqual(echo.heard, []);
  heal();
  // In as many pieces as it pleases: what lay in one buffer is read at once.
  await until(() => echo.echoes.join("").replaceAll("!", "") === "one two three ");
  assert.equal(echo.heard.join(""), "one two three ");
});

test("cut in one direction the other goes on", async () => {
  await using echo = await Echo.start();
  const heal = echo.network.isolate("b", "out");
  echo.client.write("one");
  await until(() => echo.heard.join("") === "one");
  await pause(100);
  assert.deepEqual(echo.echoes, [], "the answer is held back");
  heal();
  await until(() => echo.echoes.join("") === "one!");
  const healAgain = echo.network.isolate("b", "in");
  echo.client.write("two");
  await pause(100);
  assert.equal(echo.heard.join(""), "one");
  healAgain();
  await until(() => echo.echoes.join("") === "one!two!");
});

test("a delay makes every byte late, a slow link makes many late", async () => {
  await using echo = await Echo.start();
  const clear = echo.network.impose({ from: "b", delayMs: 150 });
  const began = performance.now();
  echo.client.write("one");
  await until(() => echo.echoes.length > 0);
  assert.ok(performance.now() - began >= 149, String(performance.now() - began));
  clear();
  const slow = echo.network.impose({ to: "b", bytesPerSecond: 500_000 });
  const since = performance.now();
  echo.client.write("x".repeat(200_000));
  await until(() => echo.heard.join("").length === 200_003);
  assert.ok(performance.now() - since >= 100, String(performance.now() - since));
  slow();
});

test("who is gone is told to those who can hear, and not to those who cannot", async () => {
  await using echo = await Echo.start();
  echo.client.write("one");
  await until(() => echo.echoes.length > 0);
  let closed = false;
  echo.client.on("close", () => (closed = true));
  const heal = echo.network.isolate("b");
  echo.hangUp();
  await pause(100);
  assert.equal(closed, false, "it is cut off");
  heal();
  await until(() => closed);
});

test("a reset ends every connection", async () => {
  await using echo = await Echo.start();
  echo.client.write("one");
  await until(() => echo.echoes.length > 0);
  let closed = false;
  echo.client.on("close", () => (closed = true));
  echo.network.reset();
  await until(() => closed);
});
