import assert from "node:assert/strict";
import { test } from "node:test";
import { confirm } from "./confirm.ts";
import { CommandError, EXIT } from "./exit.ts";
import { collectingIo } from "./testing.ts";

const question = { change: "Hibernate demo", risk: "clients lose access until it is woken" };

function refused(error: unknown): boolean {
  return error instanceof CommandError && error.code === EXIT.notConfirmed;
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
  const yes = collectingIo({ isTTY: true, input: "y\n" });
  await confirm(yes, { yes: false }, question);
  assert.equal(yes.err(), "Hibernate demo: clients lose access until it is woken. Continue? [y/N] ");
  for (const input of ["n\n", "\n", ""])
    await assert.rejects(confirm(collectingIo({ isTTY: true, input }), { yes: false }, question), refused);
});
