/**
 * Preloaded with `--import`: some modules are read from a file of replacements and not from the checkout, which is
 * never written to. `QUORATE_OVERLAY` names that file: module URL to source.
 */
import { readFileSync } from "node:fs";
import { registerHooks, stripTypeScriptTypes } from "node:module";
import process from "node:process";

const file = process.env["QUORATE_OVERLAY"];
const replaced = new Map<string, string>(
  file === undefined ? [] : Object.entries(JSON.parse(readFileSync(file, "utf8")) as Record<string, string>),
);

registerHooks({
  load(url, context, nextLoad) {
    const source = replaced.get(url);
    if (source === undefined) return nextLoad(url, context);
    return { format: "module", source: stripTypeScriptTypes(source), shortCircuit: true };
  },
});
