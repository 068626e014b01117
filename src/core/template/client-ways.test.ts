import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { EtcdClusterSpecInput } from "../../api/etcd-cluster-spec.ts";
import { specOf } from "../testing/cluster.ts";
import { asServed, passage, waysOf, type Way } from "./client-ways.ts";
import { templateFor } from "./template.ts";

const tls = (fields: NonNullable<EtcdClusterSpecInput["tls"]>) =>
  templateFor(specOf({ tls: fields }), "3.6.16").tls;

const MODES = {
  plain: tls({ mode: "Disabled" }),
  open: tls({ clientAuth: "None" }),
  closed: tls({}),
};

describe("how clients come while that changes", () => {
  test("each mode has its ways", () => {
    assert.deepEqual(waysOf(MODES.plain), ["plaintext"]);
    assert.deepEqual(waysOf(MODES.open), ["anonymous", "certificate"]);
    assert.deepEqual(waysOf(MODES.closed), ["certificate"]);
  });

  test("members that run as asked, and a cluster without members, are given what is asked: the same object", () => {
    for (const mode of Object.values(MODES)) {
      assert.equal(passage([], mode).now, mode);
      assert.equal(passage([{ ...mode }, { ...mode }], mode).now, mode);
      assert.equal(passage([{ ...mode }], mode).closing, undefined);
    }
  });

  test("who is served by more than before has nothing to wait for", () => {
    assert.deepEqual(passage([MODES.closed, MODES.closed], MODES.open), { now: MODES.open });
  });

  test("what ends for clients is served until the last word, and then by ever fewer", () => {
    const ways: Way[] = ["anonymous"];
    const { now, closing } = passage([MODES.open, MODES.open], MODES.closed);
    assert.deepEqual(waysOf(now), ["anonymous", "certificate"]);
    assert.deepEqual(closing, { ways, then: MODES.closed });
    assert.deepEqual(passage([MODES.open, MODES.closed], MODES.closed), { now: MODES.closed });
    assert.deepEqual(passage([MODES.open, MODES.closed], MODES.open), { now: MODES.open });
  });

  test("from plaintext to TLS both are served on one port, and what clients came by is told them", () => {
    const both = passage([MODES.plain, MODES.plain], MODES.closed).now;
    assert.deepEqual(waysOf(both), ["plaintext", "certificate"]);
    assert.deepEqual(both.effective?.client, { listen: ["http", "https"], advertise: "http" });
    assert.deepEqual(passage([both, MODES.plain], MODES.closed), { now: both });
    const { now, closing } = passage([both, both], MODES.closed);
    assert.deepEqual(now, both);
    assert.deepEqual(closing, { ways: ["plaintext"], then: MODES.closed });
    assert.deepEqual(passage([both, MODES.closed], MODES.closed), { now: MODES.closed });
    assert.deepEqual(passage([both, MODES.plain], MODES.plain), { now: MODES.plain }, "undone");
  });

  test("back to plaintext, certificates are kept until then, and every member can be reached at each step", () => {
    const back = passage([MODES.closed, MODES.closed], MODES.plain).now;
    assert.equal(back.client?.mode, "Managed");
    assert.equal(back.effective?.client?.advertise, "https");
    assert.deepEqual(passage([back, back], MODES.plain).closing?.ways, ["certificate"]);
    const forth = passage([MODES.plain], MODES.closed).now;
    const undone = passage([MODES.closed, forth], MODES.plain).now;
    assert.equal(undone.effective?.client?.advertise, "https", "which both serve before and after");
    assert.deepEqual(waysOf(passage([MODES.plain], MODES.open).now), [
      "plaintext",
      "anonymous",
      "certificate",
    ]);
  });

  test("what members serve is kept, with everything else as asked", () => {
    const asked = tls({ extraSANs: ["db.example.com"] });
    const kept = asServed([MODES.open], asked);
    assert.deepEqual([kept.clientAuth, kept.extraSANs], ["None", ["db.example.com"]]);
  });
});
