import assert from "node:assert/strict";
import { request } from "node:http";
import { test } from "node:test";
import { answerFor, parseAddress, serve, verdictAnswer, type Paths } from "./serve.ts";

const paths: Paths = {
  "/metrics": () => ({ status: 200, type: "text/plain", body: "up 1\n" }),
  "/broken": () => {
    throw new Error("no");
  },
};

test("an address is a host and a port, or a port of every address", () => {
  assert.deepEqual(parseAddress("0.0.0.0:8080"), { host: "0.0.0.0", port: 8080 });
  assert.deepEqual(parseAddress("[::1]:8080"), { host: "::1", port: 8080 });
  assert.deepEqual(parseAddress(":8081"), { host: undefined, port: 8081 });
  for (const bad of ["8080", "host", "host:", "host:99999", "::1:80"])
    assert.equal(parseAddress(bad), undefined, bad);
});

test("only the paths that are served are answered, and only to GET and HEAD", () => {
  const status = (method: string, url: string) => answerFor(paths, method, url).status;
  assert.equal(status("GET", "/metrics"), 200);
  assert.equal(status("HEAD", "/metrics?a=b"), 200);
  assert.equal(status("POST", "/metrics"), 405);
  assert.equal(status("GET", "/"), 404);
  assert.equal(status("GET", "/toString"), 404);
  assert.equal(status("GET", "/broken"), 500);
});

test("a verdict is a status and the lines behind it", () => {
  assert.deepEqual(verdictAnswer({ ok: false, lines: ["not ok: pods"] }), {
    status: 503,
    type: "text/plain; charset=utf-8",
    body: "not ok: pods\n",
  });
});

test("the server answers, and closes with connections open", async () => {
  const served = await serve({ host: "127.0.0.1", port: 0 }, paths);
  const body = await new Promise<string>((resolve, reject) => {
    const asked = request({ host: "127.0.0.1", port: served.port, path: "/metrics" }, (response) => {
      let text = "";
      response.on("data", (chunk) => (text += String(chunk))).on("end", () => resolve(text));
    });
    asked.on("error", reject).end();
  });
  assert.equal(body, "up 1\n");
  await served.close();
  await assert.rejects(
    serve({ host: "127.0.0.1", port: served.port }, paths).then(async (again) => {
      await again.close();
      throw new Error("free again");
    }),
    /free again/,
  );
});
