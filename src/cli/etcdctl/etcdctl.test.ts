/** The built-in client's command line and output; its calls are in test/etcd/etcdctl.test.ts. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { wordsOf } from "../verbs/shell.ts";
import { parseCall } from "./arguments.ts";
import { printed } from "./print.ts";

const header = { clusterId: 1n, memberId: 0x8e9e05c52164694dn, revision: 7n, raftTerm: 2n };
const kv = (key: string, value: string) => ({
  key: Buffer.from(key),
  value: Buffer.from(value),
  createRevision: 3n,
  modRevision: 7n,
  version: 2n,
  lease: 0n,
});

test("commands, flags and formats are read as etcdctl reads them", () => {
  const call = parseCall(["-w", "json", "get", "a", "z", "--limit=3", "--keys-only"]);
  assert.deepEqual([call.command, call.arguments, call.format], ["get", ["a", "z"], "json"]);
  assert.deepEqual({ ...call.values }, { limit: "3", "keys-only": true });
  const list = parseCall(["--user", "root:pw", "member", "list", "--write-out=table"]);
  assert.deepEqual([list.command, list.user, list.format], ["member list", "root:pw", "table"]);
  assert.deepEqual(parseCall(["put", "--", "--key", "-1"]).arguments, ["--key", "-1"]);
});

test("what it does not know it says, with what it does", () => {
  assert.throws(
    () => parseCall(["member", "remove", "1"]),
    /unknown command "member remove".*install etcdctl/,
  );
  assert.throws(() => parseCall([]), /no command given.*get, put, del/);
  assert.throws(() => parseCall(["get"]), /got 0 arguments.*get <key>/);
  assert.throws(() => parseCall(["put", "a", "b", "c"]), /got 3 arguments/);
  assert.throws(() => parseCall(["get", "a", "--wrong"]), /--wrong/);
  assert.throws(() => parseCall(["get", "a", "-w", "protobuf"]), /simple, table, json/);
});

test("keys and values are printed as lines, by flags in part, and as JSON in base64 with whole numbers", () => {
  const answer = {
    kind: "range" as const,
    header,
    kvs: [kv("a", "1"), kv("b", "2")],
    more: false,
    count: 2,
  };
  const as = (values: Record<string, boolean>) => printed(answer, { format: "simple", values });
  assert.equal(as({}), "a\n1\nb\n2\n");
  assert.equal(as({ "keys-only": true }), "a\nb\n");
  assert.equal(as({ "print-value-only": true }), "1\n2\n");
  assert.equal(as({ "count-only": true }), "2\n");
  const json = printed({ ...answer, kvs: [kv("a", "1")], count: 1 }, { format: "json", values: {} });
  assert.equal(
    json,
    '{"header":{"cluster_id":1,"member_id":10276657743932975437,"revision":7,"raft_term":2},"kvs":[{"key":"YQ==","create_revision":3,"mod_revision":7,"version":2,"value":"MQ=="}],"more":false,"count":1}\n',
  );
  assert.equal(printed({ ...answer, kvs: [], count: 0 }, { format: "simple", values: {} }), "");
});

test("members, health and alarms have etcdctl's lines and tables", () => {
  const members = [
    { id: 0xabcn, name: "m1", peerUrls: ["https://p"], clientUrls: ["https://c"], isLearner: false },
    { id: 2n, name: "", peerUrls: ["https://q"], clientUrls: [], isLearner: true },
  ];
  const answer = { kind: "members" as const, header, members };
  assert.equal(
    printed(answer, { format: "simple", values: {} }),
    "abc, started, m1, https://p, https://c, false\n2, unstarted, , https://q, , true\n",
  );
  assert.match(printed(answer, { format: "table", values: {} }), /^ID {3}STATUS/);
  const health = {
    kind: "health" as const,
    endpoints: [{ endpoint: "m1", healthy: false, tookMs: 2.04, error: "down" }],
  };
  assert.equal(printed(health, { format: "simple", values: {} }), "m1, false, 2.0ms, down\n");
  const alarms = { kind: "alarms" as const, alarms: [{ memberId: 5n, alarm: "NOSPACE" as const }] };
  assert.equal(printed(alarms, { format: "simple", values: {} }), "memberID:5 alarm:NOSPACE\n");
});

test("a line of the prompt is split as a shell would", () => {
  assert.deepEqual(wordsOf(`put a "b \\"c\\" d" 'e f' --x`), ["put", "a", 'b "c" d', "e f", "--x"]);
  assert.deepEqual(wordsOf("  "), []);
  assert.deepEqual(wordsOf('put a ""'), ["put", "a", ""]);
});
