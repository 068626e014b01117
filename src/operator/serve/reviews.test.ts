import assert from "node:assert/strict";
import { test } from "node:test";
import { KubeClient } from "../../kube/client.ts";
import { ManualClock } from "../../kube/testing.ts";
import type { KubeRequest, KubeResponse, KubeTransport } from "../../seams/kube-transport.ts";
import { Reviews, type AccessReview, type TokenReview } from "./reviews.ts";

/** Knows one token, and lets its account read metrics while `allowed`. */
function server() {
  const state = {
    allowed: true,
    status: 201,
    asked: [] as string[],
    held: undefined as Promise<void> | undefined,
  };
  const answer = async ({ path, body }: KubeRequest): Promise<KubeResponse> => {
    state.asked.push(path.split("/").at(-1) ?? "");
    await state.held;
    if (state.status !== 201)
      return {
        status: state.status,
        body: {
          kind: "Status",
          reason: state.status === 403 ? "Forbidden" : "InternalError",
          code: state.status,
        },
      } as KubeResponse;
    if (path.endsWith("tokenreviews")) {
      const { spec } = body as TokenReview;
      const user = { username: "prometheus", groups: ["monitoring"] };
      const status = spec.token === "good" ? { authenticated: true, user } : { authenticated: false };
      return { status: 201, body: { spec, status } } as KubeResponse;
    }
    const { spec } = body as AccessReview;
    assert.deepEqual(spec, {
      nonResourceAttributes: { path: "/metrics", verb: "get" },
      user: "prometheus",
      groups: ["monitoring"],
    });
    return { status: 201, body: { spec, status: { allowed: state.allowed } } } as KubeResponse;
  };
  const clock = new ManualClock();
  const transport = { request: answer } as unknown as KubeTransport;
  const client = new KubeClient({ transport, clock, fieldManager: "test" });
  return { state, clock, reviews: new Reviews(client, clock) };
}

test("without a token, or with one that the API server does not know, nobody is let in", async () => {
  const { reviews, state } = server();
  for (const header of [undefined, "", "Basic Z29vZA==", "Bearer", `Bearer ${"x".repeat(9_000)}`])
    assert.equal(await reviews.judge(header, "/metrics"), "unauthenticated");
  assert.deepEqual(state.asked, [], "the API server is not asked about these");
  assert.equal(await reviews.judge("Bearer bad", "/metrics"), "unauthenticated");
});

test("an account is asked about by path, and an answer is kept: a minute if it is yes, ten seconds if it is no", async () => {
  const { reviews, state, clock } = server();
  assert.equal(await reviews.judge("Bearer good", "/metrics"), "allowed");
  state.allowed = false;
  assert.equal(await reviews.judge("bearer good", "/metrics"), "allowed");
  assert.equal(state.asked.length, 2);
  await clock.advance(60_000);
  assert.equal(await reviews.judge("Bearer good", "/metrics"), "forbidden");
  state.allowed = true;
  assert.equal(await reviews.judge("Bearer good", "/metrics"), "forbidden");
  await clock.advance(10_000);
  assert.equal(await reviews.judge("Bearer good", "/metrics"), "allowed");
});

test("an API server that refuses or fails lets nobody in, and is asked again", async () => {
  const { reviews, state } = server();
  state.status = 403;
  assert.equal(await reviews.judge("Bearer good", "/metrics"), "refused");
  state.status = 500;
  assert.equal(await reviews.judge("Bearer good", "/metrics"), "unknown");
  state.status = 201;
  assert.equal(await reviews.judge("Bearer good", "/metrics"), "allowed");
});

test("a flood of tokens is asked about four at a time, one token only once, and little is kept of it", async () => {
  const { reviews, state } = server();
  const gate = Promise.withResolvers<void>();
  state.held = gate.promise;
  const same = [1, 2, 3].map(() => reviews.judge("Bearer good", "/metrics"));
  const flood = Array.from({ length: 50 }, (_, i) => reviews.judge(`Bearer ${i}`, "/metrics"));
  gate.resolve();
  assert.deepEqual(await Promise.all(same), ["allowed", "allowed", "allowed"]);
  const answers = await Promise.all(flood);
  assert.equal(answers.filter((one) => one === "busy").length, 47);
  assert.equal(state.asked.length, 5);
  for (let i = 0; i < 300; i++) await reviews.judge(`Bearer more-${i}`, "/metrics");
  const before = state.asked.length;
  assert.equal(await reviews.judge("Bearer more-299", "/metrics"), "unauthenticated");
  assert.equal(state.asked.length, before, "what is new is kept");
  await reviews.judge("Bearer more-0", "/metrics");
  assert.equal(state.asked.length, before + 1, "what is old is not");
});
