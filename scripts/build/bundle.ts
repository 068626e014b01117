/**
 * Bundles each program into one ESM file that needs nothing beside it but Node 24: no node_modules in an
 * image, half the start-up time and a third less memory than running from sources.
 */
import { chmodSync, statSync } from "node:fs";
import { join } from "node:path";
import { build, type BuildOptions } from "esbuild";
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

/** Said before anything else runs; the target keeps the syntax such that an older Node comes that far. */
const NODE_24 = `if (Number(process.versions.node.split(".")[0]) < 24) {
  console.error("quorate needs Node 24 or later, and this is " + process.version + ". Use an executable instead, which needs no Node: npm run build -- --executable");
  process.exit(1);
}`;

const OPTIONS = {
  bundle: true,
  platform: "node",
  target: "node20",
  minifySyntax: true,
  minifyWhitespace: true,
  plugins: [lazyBuiltins, oneLanguage],
  legalComments: "linked",
  logLevel: "warning",
} as const satisfies BuildOptions;

export async function bundle(root: string, folder: string): Promise<Bundle[]> {
  return await Promise.all(
    Object.entries(programs).map(async ([program, entry]) => {
      const path = join(folder, `${program}.mjs`);
      await build({
        ...OPTIONS,
        absWorkingDir: root,
        entryPoints: [entry],
        outfile: path,
        format: "esm",
        sourcemap: "linked",
        banner: { js: `${REQUIRE}\n${NODE_24}` },
      });
      chmodSync(path, 0o755);
      return { program, path, bytes: statSync(path).size };
    }),
  );
}

/** In CommonJS, the only form that Node 24 runs from within an executable. */
export async function bundleForExecutable(root: string, folder: string): Promise<string> {
  const outfile = join(folder, "quorate.cjs");
  const entryPoints = [programs["quorate"] ?? ""];
  await build({ ...OPTIONS, absWorkingDir: root, entryPoints, outfile, format: "cjs" });
  return outfile;
}
