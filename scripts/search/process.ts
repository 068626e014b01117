/**
 * The search of what one test process wrote: files that it deleted (on-removal.ts), files that it left, what its helpers
 * told (test/support/tell.ts), and what it printed.
 */
import { mkdirSync, rmSync } from "node:fs";
import { TOLD } from "../../test/support/tell.ts";
import { searchFolder, type Searched } from "./folder.ts";
import { secretsIn } from "./forms.ts";
import { RECORD, recorded, sum } from "./record.ts";

export class Search {
  readonly #folder: string;
  readonly #record: string;
  readonly #told: string;
  readonly #heard: string[] = [];

  /** `folder`: the temporary one of the process. Beside it lies what the search needs. */
  constructor(folder: string) {
    this.#folder = folder;
    this.#record = `${folder}.searched`;
    this.#told = `${folder}.told`;
    mkdirSync(this.#told, { mode: 0o700 });
  }

  get env(): Readonly<Record<string, string>> {
    return { [RECORD]: this.#record, [TOLD]: this.#told };
  }

  hears(text: string): void {
    if (text !== "") this.#heard.push(text);
  }

  /** Before the folder is cleared. */
  end(): Searched {
    const files = sum([recorded(this.#record), searchFolder(this.#folder)]);
    const told = searchFolder(this.#told, this.#told, files.secrets);
    const text = this.#heard.join("\n");
    const heard = secretsIn(text, files.secrets).map(({ line, what }) => `its output:${line}: ${what}`);
    for (const path of [this.#record, this.#told]) rmSync(path, { recursive: true, force: true });
    const output = { files: 0, bytes: Buffer.byteLength(text), found: heard, secrets: [] };
    return sum([files, told, output]);
  }
}
