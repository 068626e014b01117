/**
 * What a test process tells the runner: one JSON record per line, each after a separator, because the
 * tests' own output shares the stream.
 */

export const SEPARATOR = "\u001e";

export interface TestRecord {
  readonly kind: "test";
  readonly ok: boolean;
  /** The names of the suites around it and its own. */
  readonly path: readonly string[];
  readonly file: string;
  readonly line: number;
  readonly ms: number;
  readonly suite: boolean;
  readonly skipped: boolean;
  readonly todo: boolean;
  /** Message, difference and stack. */
  readonly error?: string;
}

export interface Counts {
  readonly tests: number;
  readonly passed: number;
  readonly failed: number;
  readonly cancelled: number;
  readonly skipped: number;
  readonly todo: number;
}

export type StageRecord =
  | TestRecord
  /** Something the runner noticed, such as an exception after a test had ended. */
  | { readonly kind: "remark"; readonly text: string }
  | { readonly kind: "summary"; readonly counts: Counts };

/** Splits a stream into records and the tests' own output, however the chunks fall. */
export class RecordSplitter {
  #rest = "";
  readonly #onRecord: (record: StageRecord) => void;
  readonly #onOutput: (text: string) => void;

  constructor(onRecord: (record: StageRecord) => void, onOutput: (text: string) => void) {
    this.#onRecord = onRecord;
    this.#onOutput = onOutput;
  }

  write(chunk: string): void {
    this.#rest += chunk;
    for (;;) {
      const at = this.#rest.indexOf(SEPARATOR);
      if (at < 0) {
        this.end();
        return;
      }
      const end = this.#rest.indexOf("\n", at);
      if (end < 0) return;
      if (at > 0) this.#onOutput(this.#rest.slice(0, at));
      this.#onRecord(JSON.parse(this.#rest.slice(at + 1, end)) as StageRecord);
      this.#rest = this.#rest.slice(end + 1);
    }
  }

  /** What is left is output, also half a record of a process that died. */
  end(): void {
    if (this.#rest !== "") this.#onOutput(this.#rest);
    this.#rest = "";
  }
}
