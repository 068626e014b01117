/**
 * The operator that dies of its effects, as one file: hundreds that live for one effect each start in a quarter of the
 * processor time.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { build } from "esbuild";
import { CHILD } from "./operator-lives.ts";

/** Packages in CommonJS call `require` for Node's own modules; an ES module has none unless given one. */
const REQUIRE = `import { createRequire as $createRequire } from "node:module";
const require = $createRequire(import.meta.url);`;

export class BundledChild implements Disposable {
  readonly #folder = mkdtempSync(path.join(tmpdir(), "quorate-child-"));
  readonly file = path.join(this.#folder, "child.mjs");

  static async make(): Promise<BundledChild> {
    const child = new BundledChild();
    await build({
      entryPoints: [CHILD],
      outfile: child.file,
      bundle: true,
      platform: "node",
      format: "esm",
      banner: { js: REQUIRE },
      logLevel: "warning",
    });
    return child;
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
