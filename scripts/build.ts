/**
 * `npm run build`: bundles every program into dist/ and starts each once.
 */
import { fileURLToPath } from "node:url";
import { bundle } from "./build/bundle.ts";
import { smoke } from "./build/smoke.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
for (const { program, path, bytes } of await bundle(root, `${root}dist`)) {
  const version = await smoke(path);
  console.log(`dist/${program}.mjs  ${(bytes / 1024).toFixed(0)} KiB  ${version}`);
}
