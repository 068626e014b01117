/** One thread of a guided search, with a corpus of its own; reports its runs as they end, and at last what it found. */
import { parentPort, workerData } from "node:worker_threads";
import { operatorGame, rulesGame } from "./games.ts";
import { search, type Searched } from "./search.ts";

export interface GuidedInput {
  readonly what: "rules" | "operator";
  readonly seed: number;
  readonly runs: number;
}

export type GuidedReport =
  | { readonly ran: { readonly events: number; readonly passes: number } }
  | { readonly searched: Searched<unknown> };

const { what, seed, runs } = workerData as GuidedInput;
const tell = (report: GuidedReport) => parentPort?.postMessage(report);
const onRun = (events: number, passes: number) => tell({ ran: { events, passes } });
const options = { seed, runs, onRun };
const searched: Searched<unknown> =
  what === "rules" ? await search(rulesGame, options) : await search(operatorGame, options);
tell({ searched });
