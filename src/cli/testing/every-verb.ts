/** Every verb of a table, with those below it, by the words that call it. */
import type { Verb, Verbs } from "../io.ts";

export async function* everyVerb(table: Verbs, under = ""): AsyncGenerator<{ name: string; verb: Verb }> {
  for (const [word, load] of Object.entries(table)) {
    const verb = await load();
    const name = under === "" ? word : `${under} ${word}`;
    yield { name, verb };
    if (verb.verbs) yield* everyVerb(verb.verbs, name);
  }
}
