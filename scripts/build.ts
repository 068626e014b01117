/**
 * `npm run build`: bundles every program into dist/ and starts each once. With `--image` also writes
 * dist/quorate-image.tar, the operator's image; `--name` names it as another registry would.
 */
import { statSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { bundle } from "./build/bundle.ts";
import { buildImage } from "./build/image.ts";
import { smoke } from "./build/smoke.ts";
import { IMAGE } from "./generators/install/deployment.ts";

const { values } = parseArgs({
  options: { image: { type: "boolean", default: false }, name: { type: "string", default: IMAGE } },
});
const root = fileURLToPath(new URL("..", import.meta.url));
const folder = `${root}dist`;
const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(0)} MB`;
for (const { program, path, bytes } of await bundle(root, folder)) {
  const version = await smoke(path);
  console.log(`dist/${program}.mjs  ${(bytes / 1024).toFixed(0)} KiB  ${version}`);
  if (!values.image || program !== "quorate") continue;
  const began = performance.now();
  const image = await buildImage(path, folder, values.name, (text) => console.log(`  image: ${text} …`));
  const took = `${((performance.now() - began) / 1000).toFixed(1)} s`;
  const archive = megabytes(statSync(image.path).size);
  console.log(`dist/quorate-image.tar  ${archive}, ${megabytes(image.bytes)} unpacked, ${took}`);
  console.log(`  ${values.name} ${image.digest}`);
}
