/** Searches the families that it is handed, one at a time, in a thread of its own: the largest decide how long all takes. */
import { parentPort } from "node:worker_threads";
import type { Family } from "./families.ts";
import { search, type Limits } from "./search.ts";

export interface SearchRequest {
  readonly family: Family;
  readonly limits: Limits;
}

parentPort?.on("message", ({ family, limits }: SearchRequest) => {
  parentPort?.postMessage(search(family, limits));
});
