/** Adds new reasons and codes to the list of those that were ever published; see generate/published-reasons.ts. */
import { readFileSync } from "node:fs";
import { published, PUBLISHED, reasonsNow } from "../generate/published-reasons.ts";
import type { Generator } from "../generate/registry.ts";

const file = new URL(`../../${PUBLISHED}`, import.meta.url);

export const publishedReasons: Generator = {
  name: `list of published reasons (${PUBLISHED})`,
  generate: () =>
    Promise.resolve(new Map([[PUBLISHED, published(readFileSync(file, "utf8"), reasonsNow())]])),
};
