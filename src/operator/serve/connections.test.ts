import assert from "node:assert/strict";
import { once } from "node:events";
import { get } from "node:http";
import { connect, type Socket } from "node:net";
import { test } from "node:test";
import { serve } from "./serve.ts";

const paths = { "/livez": () => ({ status: 200, type: "text/plain", body: "ok\n" }) };

async function statusAt(port: number): Promise<number | undefined> {
  const request = get({ host: "127.0.0.1", port, path: "/livez", timeout: 5_000, agent: false });
  const [response] = await once(request, "response");
  response.resume();
  return response.statusCode;
}

async function idle(port: number): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => undefined);
  await once(socket, "connect");
  return socket;
}

test("a probe is answered while others hold four hundred idle connections", async () => {
  const served = await serve({ host: "127.0.0.1", port: 0 }, paths);
  const held: Socket[] = [];
  try {
    for (let i = 0; i < 400; i++) held.push(await idle(served.port));
    for (let i = 0; i < 3; i++) assert.equal(await statusAt(served.port), 200);
  } finally {
    for (const socket of held) socket.destroy();
    await served.close();
  }
});

test("a connection that asks stays open while silent ones are closed for newcomers", async () => {
  const served = await serve({ host: "127.0.0.1", port: 0 }, paths);
  const asking = await idle(served.port);
  const held: Socket[] = [];
  let answers = 0;
  asking.on("data", (data: Buffer) => (answers += data.toString().split("200 OK").length - 1));
  try {
    for (let i = 0; i < 150; i++) {
      held.push(await idle(served.port));
      if (i % 30 !== 0) continue;
      asking.write("GET /livez HTTP/1.1\r\nhost: x\r\n\r\n");
      await once(asking, "data");
    }
    assert.equal(answers, 5);
    assert.equal(asking.destroyed, false);
  } finally {
    for (const socket of [...held, asking]) socket.destroy();
    await served.close();
  }
});
