import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { test } from "node:test";
import { CommandError, EXIT } from "../exit.ts";
import { collectingIo } from "../testing.ts";
import { confirm } from "./confirm.ts";

const question = { change: "Hibernate demo", risk: "clients lose access until it is woken" };

function refused(error: unknown): boolean {
  return error instanceof CommandError && error.code === EXIT.notConfirmed;
}

/** A person types this; `piped`: a program writes it. */
function asked(input: string, { piped = false } = {}) {
  return collectingIo({ isTTY: true, stdin: Object.assign(Readable.from([input]), { isTTY: !piped }) });
}

test("--yes is consent, and nothing is asked", async () => {
  const io = collectingIo();
  await confirm(io, { yes: true }, question);
  assert.equal(io.err(), "");
});

test("without a terminal nobody can be asked: nothing is done, and --yes is named", async () => {
  await assert.rejects(
    confirm(collectingIo(), { yes: false }, question),
    (error) => refused(error) && /add --yes/.test((error as Error).message),
  );
});

test("on a terminal, y is consent, and anything else is not", async () => {
  const yes = asked("y\n");
  await confirm(yes, { yes: false }, question);
  assert.equal(yes.err(), "Hibernate demo: clients lose access until it is woken.\nContinue? [y/N] ");
  for (const input of ["n\n", "\n", ""])
    await assert.rejects(confirm(asked(input), { yes: false }, question), refused);
});

test("a piped y is no consent, even where the question would be seen", async () => {
  const io = asked("y\n", { piped: true });
  await assert.rejects(confirm(io, { yes: false }, question), refused);
  assert.equal(io.err(), "");
});
