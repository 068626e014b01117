/** The shells' side of completion in the shells themselves: what is passed on, and what is offered. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { completionScript } from "./scripts.ts";

const MAIN = path.join(import.meta.dirname, "..", "main.ts");
let folder: string;

before(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), "quorate-completion-"));
});

after(() => rmSync(folder, { recursive: true, force: true }));

/** A program of this name on PATH that notes its arguments, a line each, and does this. */
function stub(name: string, does: string): void {
  const text = `#!/bin/sh\nprintf '[%s]\\n' "$@" > ${folder}/asked\n${does}\n`;
  writeFileSync(path.join(folder, name), text, { mode: 0o755 });
}

/** What the stub was asked last. */
function asked(): string[] {
  return readFileSync(path.join(folder, "asked"), "utf8").trim().split("\n");
}

function shell(name: string, args: readonly string[]): string[] {
  const env = {
    PATH: `${folder}:${process.env["PATH"]}`,
    HOME: folder,
    KUBECONFIG: path.join(folder, "none"),
  };
  const { status, stdout, stderr } = spawnSync(name, args, { env, encoding: "utf8" });
  assert.equal(stderr, "");
  assert.equal(status, 0);
  return stdout.split("\n").filter((line) => line !== "");
}

/** As bash completes the last of these words: its own options are told, since no line is edited here. */
function completed(program: string, ...words: readonly string[]): string[] {
  const script = path.join(folder, "script");
  writeFileSync(script, completionScript("bash", program));
  const code = `
    source "$1"; shift
    compopt() { echo "compopt $*"; }
    read -r _ _ call _ <<< "$(complete -p ${program})"
    COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
    "$call"
    printf '%s\\n' "\${COMPREPLY[@]}"`;
  return shell("bash", ["--norc", "-c", code, "bash", script, program, ...words]);
}

test("bash offers the words of the program, without what it says about them", () => {
  stub("quorate", `printf 'status\\tshow a cluster\\nscale\\tchange the size: 1 to 9\\nplain\\n'`);
  assert.deepEqual(completed("quorate", "s"), ["status", "scale", "plain"]);
  assert.deepEqual(asked(), ["[__complete]", "[--]", "[s]"]);
});

test("bash passes on each word as it was typed, and an empty one that is being typed", () => {
  stub("quorate", "");
  assert.deepEqual(completed("quorate", "logs", "two words", "$HOME", ""), []);
  assert.deepEqual(asked(), ["[__complete]", "[--]", "[logs]", "[two words]", "[$HOME]", "[]"]);
});

test("bash passes on --flag=value as one word, though it takes it for three", () => {
  stub("quorate", "echo json");
  assert.deepEqual(completed("quorate", "list", "--output", "=", "j"), ["json"]);
  assert.deepEqual(asked(), ["[__complete]", "[--]", "[list]", "[--output=j]"]);
  assert.deepEqual(completed("quorate", "list", "-A", "--output", "="), ["json"]);
  assert.deepEqual(asked(), ["[__complete]", "[--]", "[list]", "[-A]", "[--output=]"]);
});

test("bash offers files where the program asks for them, and nothing where it fails", () => {
  stub("kubectl-etcd", "echo :files");
  assert.deepEqual(completed("kubectl-etcd", "apply", "-f", ""), ["compopt -o default"]);
  stub("kubectl-etcd", "echo broken >&2; exit 1");
  assert.deepEqual(completed("kubectl-etcd", "apply", ""), []);
});

test("bash completes with the program itself", () => {
  stub("quorate", `exec ${process.execPath} --disable-warning=ExperimentalWarning ${MAIN} "$@"`);
  assert.deepEqual(completed("quorate", "me"), ["members", "member"]);
  assert.deepEqual(completed("quorate", "list", "-o", "j"), ["json"]);
  assert.deepEqual(completed("quorate", "status", "--kubeconfig", ""), ["compopt -o default"]);
});

test("kubectl gets the words and the directive that no files follow, or the one that files do", () => {
  stub("kubectl-etcd", `printf 'status\\tshow a cluster\\n'`);
  const script = path.join(folder, "kubectl_complete-etcd");
  writeFileSync(script, completionScript("kubectl", "kubectl-etcd"));
  assert.deepEqual(shell("sh", [script, "st"]), ["status\tshow a cluster", ":4"]);
  assert.deepEqual(asked(), ["[__complete]", "[--]", "[st]"]);
  stub("kubectl-etcd", "echo :files");
  assert.deepEqual(shell("sh", [script, "apply", "-f", ""]), [":0"]);
  stub("kubectl-etcd", "echo broken >&2; exit 1");
  assert.deepEqual(shell("sh", [script, "st"]), [":4"]);
});

for (const name of ["zsh", "fish"] as const)
  test(`${name}: the script is one that it reads, as far as it is here`, (t) => {
    const text = completionScript(name, "kubectl-etcd");
    assert.match(text, /kubectl-etcd __complete -- .*2>\/dev\/null/);
    assert.match(text, /:files/);
    assert.match(text, name === "zsh" ? /^#compdef kubectl-etcd$/m : /^complete -c kubectl-etcd -f /m);
    assert.doesNotMatch(text, /undefined|\\\\\$/);
    const script = path.join(folder, `script.${name}`);
    writeFileSync(script, text);
    const { error, status, stderr } = spawnSync(name, ["-n", script], { encoding: "utf8" });
    if (error) t.diagnostic(`${name} is not here, so it did not read the script`);
    else assert.equal(status, 0, stderr);
  });
