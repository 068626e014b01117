/**
 * Bundles each program into one ESM file that needs nothing beside it but Node 24: no node_modules in an
 * image, half the start-up time and a third less memory than running from sources.
 */
import { chmodSync, statSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { lazyBuiltins, oneLanguage } from "./plugins.ts";

/** Program → where it begins. */
export const programs: Readonly<Record<string, string>> = {
  quorate: "src/cli/main.ts",
};

export interface Bundle {
  readonly program: string;
  readonly path: string;
  readonly bytes: number;
}

/** Packages in CommonJS call `require` for Node's own modules; an ES module has none unless given one. */
const REQUIRE = `import { createRequire as $createRequire } from "node:module";
const require = $createRequire(import.meta.url);`;

export async function bundle(root: string, folder: string): Promise<Bundle[]> {
  return await Promise.all(
    Object.entries(programs).map(async ([program, entry]) => {
      const path = join(folder, `${program}.mjs`);
      await build({
        absWorkingDir: root,
        entryPoints: [entry],
        outfile: path,
        bundle: true,
        platform: "node",
        target: "node24",
        format: "esm",
        minifySyntax: true,
        minifyWhitespace: true,
        plugins: [lazyBuiltins, oneLanguage],
        sourcemap: "linked",
        legalComments: "linked",
        banner: { js: REQUIRE },
        logLevel: "warning",
      });
      chmodSync(path, 0o755);
      return { program, path, bytes: statSync(path).size };
    }),
  );
}
