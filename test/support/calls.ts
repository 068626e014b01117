/** Which verbs a test file called, and how they ended: what it has to prove is compared with that. */
import assert from "node:assert/strict";
import { everyVerb } from "../../src/cli/testing/every-verb.ts";
import { provenBy } from "../../src/cli/testing/pairs.ts";
import { verbs } from "../../src/cli/verbs.ts";

export class Calls {
  readonly #names: readonly string[];
  readonly #ended = { well: new Set<string>(), badly: new Set<string>() };

  private constructor(names: readonly string[]) {
    this.#names = names;
  }

  static async ofEveryVerb(): Promise<Calls> {
    const names: string[] = [];
    for await (const { name, verb } of everyVerb(verbs)) if (!verb.verbs) names.push(name);
    return new Calls(names);
  }

  record(args: readonly string[], code: number | null): void {
    const verb = this.#names.find((name) => ` ${args.join(" ")} `.startsWith(` ${name} `));
    // What writes nothing proves nothing of a verb that writes.
    const isProof = code !== 0 || !args.includes("--dry-run");
    if (verb !== undefined && isProof) this.#ended[code === 0 ? "well" : "badly"].add(verb);
  }

  /** Every verb that this test file has to prove succeeded in it; the answer are those that never failed. */
  assertProven(file: string): readonly string[] {
    const wanted = provenBy(file);
    assert.notDeepEqual(wanted, []);
    const unproven = wanted.filter((name) => !this.#ended.well.has(name));
    assert.deepEqual(unproven, [], "not called with success");
    return wanted.filter((name) => !this.#ended.badly.has(name));
  }
}
