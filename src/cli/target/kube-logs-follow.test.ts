/** `logs -f` on a kubelet in memory: containers that end, connections that are lost, and what the kubelet sends twice. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock, settle } from "../../kube/testing.ts";
import { KubeFailure, type KubeRequest, type KubeResponse } from "../../seams/kube-transport.ts";
import { podLogs } from "./kube-logs.ts";
import type { LogWishes } from "./target.ts";

interface Container {
  readonly id: string;
  readonly lines: string[];
  hasEnded: boolean;
}

const status = (code: number, reason: string): KubeResponse => ({
  status: code,
  body: { kind: "Status", code, reason, message: reason },
});

/** One member; sends by the second, as a kubelet does. */
class Kubelet {
  readonly requests: KubeRequest[] = [];
  container: Container | undefined;
  /** Instead of an answer. */
  failure: Error | undefined;
  #cuts = 0;
  #wake = () => {};

  start(id: string, ...lines: string[]): void {
    if (this.container) this.container.hasEnded = true;
    this.container = { id, lines, hasEnded: false };
    this.#wake();
  }

  end(): void {
    if (this.container) this.container.hasEnded = true;
    this.#wake();
  }

  remove(): void {
    this.end();
    this.container = undefined;
  }

  write(...lines: string[]): void {
    this.container?.lines.push(...lines);
    this.#wake();
  }

  /** The connection is lost. */
  cut(): void {
    this.#cuts++;
    this.#wake();
  }

  lines(request: KubeRequest) {
    this.requests.push(request);
    if (this.failure) return Promise.reject(this.failure);
    const { container } = this;
    if (!container) return Promise.resolve({ ok: false as const, response: status(404, "NotFound") });
    return Promise.resolve({ ok: true as const, lines: this.#stream(container, request.query ?? {}) });
  }

  async *#stream(container: Container, { sinceTime, tailLines }: Readonly<Record<string, string>>) {
    const cuts = this.#cuts;
    const since = sinceTime === undefined ? -Infinity : Math.floor(Date.parse(sinceTime) / 1_000) * 1_000;
    let next = tailLines === undefined ? 0 : Math.max(0, container.lines.length - Number(tailLines));
    for (;;) {
      for (; next < container.lines.length; next++) {
        const line = container.lines[next] ?? "";
        if (Date.parse(line.slice(0, line.indexOf(" "))) >= since) yield line;
      }
      if (container.hasEnded) return;
      await new Promise<void>((resolve) => (this.#wake = resolve));
      if (this.#cuts > cuts) throw new KubeFailure("interrupted", "connection", "socket hang up");
    }
  }
}

function following(more: Partial<LogWishes> = {}, { canReadPods = true } = {}) {
  const kubelet = new Kubelet();
  const clock = new ManualClock();
  const leaving = new AbortController();
  const texts: string[] = [];
  const containerOf = () => Promise.resolve(canReadPods ? kubelet.container?.id : "unknown");
  const about = {
    transport: kubelet,
    namespace: "prod",
    clock,
    containerOf,
    explain: (error: unknown) => error as Error,
  };
  const wishes: LogWishes = { members: ["demo-1"], follow: true, ...more };
  const ended = (async () => {
    for await (const { text } of podLogs(about, wishes, leaving.signal)) texts.push(text);
  })();
  const leave = async () => {
    leaving.abort();
    kubelet.end();
    await clock.advance(1_000);
    await ended;
  };
  return { kubelet, clock, texts, ended, leave, pass: () => clock.advance(1_500) };
}

const at = (second: number, nanos: string, text: string) =>
  `2026-01-01T00:00:0${second}${nanos === "" ? "" : `.${nanos}`}Z ${text}`;

test("the lines of the next container follow those of the one that ended, in the same Pod or a new one", async () => {
  for (const isNewPod of [false, true]) {
    const { kubelet, texts, pass, leave } = following({ lines: 1 });
    kubelet.start("a", at(1, "1", "old"), at(1, "2", "one"));
    await pass();
    kubelet.write(at(2, "000000001", "two"));
    await settle();
    assert.deepEqual(texts, ["one", "two"]);
    if (isNewPod) {
      kubelet.remove();
      await pass();
      assert.deepEqual(texts.splice(2), ["no log: it has no Pod"]);
      await pass();
    }
    // Its node's clock is behind, and it has more lines than --lines.
    kubelet.start("b", at(1, "1", "three"), at(1, "2", "four"), at(1, "3", "five"));
    await pass();
    assert.deepEqual(texts, ["one", "two", "three", "four", "five"]);
    await leave();
  }
});

test("after a lost connection it goes on with the line after the last one, and repeats none", async () => {
  const { kubelet, texts, pass, leave } = following({ lines: 50 });
  kubelet.start("a", at(1, "5", "one"), at(1, "7", "same time"), at(1, "7", "same time"));
  await pass();
  for (let tries = 0; tries < 2; tries++) {
    kubelet.cut();
    await settle();
    kubelet.container?.lines.push(at(1, "7", `same time, later ${tries}`), at(1, `9${tries}`, "two"));
    await pass();
  }
  assert.deepEqual(texts, ["one", "same time", "same time", "same time, later 0", "two", "two"]);
  assert.equal(kubelet.requests.at(-1)?.query?.["sinceTime"], "2026-01-01T00:00:01.000Z");
  assert.equal(kubelet.requests.at(-1)?.query?.["tailLines"], undefined);
  await leave();
});

test("--since holds for the first container until a line was shown, and not for the next one", async () => {
  const { kubelet, clock, texts, pass, leave } = following({ sinceMs: 1_000 });
  const stamp = (ms: number) => new Date(ms).toISOString();
  const begin = clock.now();
  kubelet.start("a", `${stamp(begin - 5_000)} old`);
  await pass();
  kubelet.cut();
  await pass();
  assert.deepEqual(texts, []);
  kubelet.write(`${stamp(clock.now())} new`);
  await settle();
  kubelet.start("b", `${stamp(begin - 5_000)} of a clock that is behind`);
  await pass();
  assert.deepEqual(texts, ["new", "of a clock that is behind"]);
  await leave();
});

test("without the right to read Pods the times of lines tell what is new", async () => {
  const { kubelet, texts, pass, leave } = following({}, { canReadPods: false });
  kubelet.start("a", at(1, "1", "one"));
  await pass();
  kubelet.start("b", at(3, "", "two"));
  await pass();
  assert.deepEqual(texts, ["one", "two"]);
  await leave();
});

test("an API server that stops answering is told once, and the log goes on when it answers again", async () => {
  const { kubelet, texts, pass, leave } = following();
  kubelet.start("a", at(1, "1", "one"));
  await pass();
  kubelet.failure = new KubeFailure("not-sent", "connection", "connect ECONNREFUSED");
  kubelet.cut();
  await pass();
  await pass();
  kubelet.failure = undefined;
  kubelet.container?.lines.push(at(2, "1", "two"));
  await pass();
  assert.deepEqual(texts, ["one", "no log: the API server does not answer", "two"]);
  await leave();
});

test("one that never answered ends the command", async () => {
  const { kubelet, ended } = following();
  kubelet.failure = new KubeFailure("not-sent", "connection", "connect ECONNREFUSED");
  await assert.rejects(ended, /ECONNREFUSED/);
});

test("a member that joins is followed from its first line on, also when the API server does not answer at first", async () => {
  const members: string[] = [];
  let looks = 0;
  const membersNow = () =>
    looks++ === 1 ? Promise.reject(new Error("no answer")) : Promise.resolve([...members]);
  const { kubelet, texts, pass, leave } = following({ members: [], lines: 1, sinceMs: 1_000, membersNow });
  await pass();
  members.push("demo-1");
  kubelet.failure = new KubeFailure("not-sent", "connection", "connect ECONNREFUSED");
  await pass();
  await pass();
  await pass();
  assert.deepEqual(texts, ["no log: the API server does not answer"]);
  kubelet.failure = undefined;
  await pass();
  kubelet.start("a", at(1, "1", "one"), at(1, "2", "two"));
  await pass();
  kubelet.write(at(2, "1", "three"));
  await pass();
  assert.deepEqual(texts.slice(1), ["no log: it has no Pod", "one", "two", "three"]);
  await leave();
});

test("a member that has left the cluster is not asked for any more once its Pod is gone", async () => {
  let members = ["demo-1"];
  const membersNow = () => Promise.resolve(members);
  const { kubelet, texts, pass, leave } = following({ members: ["demo-1"], membersNow });
  kubelet.start("a", at(1, "1", "one"));
  await pass();
  kubelet.remove();
  await pass();
  await pass();
  assert.deepEqual(texts, ["one", "no log: it has no Pod"], "its record is still there");
  members = [];
  await pass();
  kubelet.start("b", at(9, "1", "of nobody"));
  await pass();
  await pass();
  assert.deepEqual(texts, ["one", "no log: it has no Pod"]);
  await leave();
});
