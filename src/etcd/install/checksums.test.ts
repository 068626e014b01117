import assert from "node:assert/strict";
import { test } from "node:test";
import { findChecksum } from "./checksums.ts";

const hash = "0123456789abcdef".repeat(4);
const other = "f".repeat(64);

test("the hash of a file is found by its whole name", () => {
  const sums = `${other}  xetcd.tar.gz\n${hash}  etcd.tar.gz\n${other}  etcd.tar.gz.asc\n`;
  assert.equal(findChecksum(sums, "etcd.tar.gz"), hash);
});

test("binary marks, upper case and carriage returns do not matter", () => {
  assert.equal(findChecksum(`${hash.toUpperCase()} *etcd.tar.gz\r\n`, "etcd.tar.gz"), hash);
});

test("a list without the file, and a page that is no list, have no hash", () => {
  assert.equal(findChecksum(`${hash}  etcd.zip\n`, "etcd.tar.gz"), undefined);
  assert.equal(findChecksum("<html>etcd.tar.gz</html>", "etcd.tar.gz"), undefined);
  assert.equal(findChecksum("abc  etcd.tar.gz", "etcd.tar.gz"), undefined);
});
