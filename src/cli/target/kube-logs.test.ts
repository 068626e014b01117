import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "../../kube/testing.ts";
import type { KubeRequest, KubeResponse } from "../../seams/kube-transport.ts";
import { podLogs } from "./kube-logs.ts";
import type { LogWishes } from "./target.ts";

const refusal = (status: number, reason: string): KubeResponse => ({
  status,
  body: { kind: "Status", code: status, reason, message: reason },
});

async function shown(answers: Readonly<Record<string, KubeResponse | readonly string[]>>, more: object = {}) {
  const requests: KubeRequest[] = [];
  const transport = {
    lines: (request: KubeRequest) => {
      requests.push(request);
      const answer = answers[/pods\/([^/]+)\/log/.exec(request.path)?.[1] ?? ""] ?? [];
      if ("status" in answer) return Promise.resolve({ ok: false as const, response: answer });
      const lines = (async function* () {
        for (const line of answer) yield await Promise.resolve(line);
      })();
      return Promise.resolve({ ok: true as const, lines });
    },
  };
  const wishes: LogWishes = { members: Object.keys(answers), follow: false, ...more };
  const explain = (error: unknown) => error as Error;
  const texts: string[] = [];
  let failure: Error | undefined;
  try {
    const clock = new ManualClock();
    const containerOf = () => Promise.resolve("c");
    const about = { transport, namespace: "prod", clock, containerOf, explain };
    for await (const { member, text } of podLogs(about, wishes, new AbortController().signal))
      texts.push(`${member} ${text}`);
  } catch (error) {
    failure = error as Error;
  }
  return { texts, failure, requests };
}

test("a kubelet that does not answer takes nothing from the logs of the other members, and is told in the end", async () => {
  const { texts, failure } = await shown({
    "demo-1": ["2026-01-01T00:00:02Z second"],
    "demo-2": refusal(500, "InternalError"),
    "demo-3": ["2026-01-01T00:00:01Z first"],
  });
  assert.deepEqual(texts.toSorted(), [
    "demo-1 second",
    "demo-2 no log: the kubelet of its node does not answer the API server",
    "demo-3 first",
  ]);
  assert.match(failure?.message ?? "", /could not read the logs of demo-2 .* -n prod/);
});

test("a member without a Pod, without a container and without an earlier container is said to have no log", async () => {
  const answers = { "demo-1": refusal(404, "NotFound"), "demo-2": refusal(400, "BadRequest") };
  const now = await shown(answers);
  assert.deepEqual(now.texts, [
    "demo-1 no log: it has no Pod",
    "demo-2 no log: its container has not started",
  ]);
  assert.equal(now.failure, undefined);
  const before = await shown(answers, { previous: true });
  assert.equal(before.texts[1], "demo-2 no log: its container has not been restarted");
  assert.equal(before.requests[0]?.query?.["previous"], "true");
});

test("a right that is missing ends the command", async () => {
  const { failure } = await shown({ "demo-1": refusal(403, "Forbidden") });
  assert.match(failure?.message ?? "", /Forbidden/);
});
