/** Jobs, as far as the operator meets them: kept as they are written, with a status of their own. */
import { normalised } from "../built-in.ts";
import { kindOf, type Kind } from "../kind.ts";
import type { Json } from "../object.ts";
import { any, leaf, list, metadataSchema, part, struct } from "../schema.ts";

const schema = struct(
  {
    metadata: metadataSchema,
    spec: part({ template: any }, leaf),
    status: part({ conditions: list(["type"]) }, leaf),
  },
  "none",
);

export const jobs: Kind = kindOf({
  apiVersion: "batch/v1",
  kind: "Job",
  plural: "jobs",
  schema,
  zero: { spec: {}, status: {} },
  hasStatus: true,
  counts: true,
  decode: (object) => normalised(schema, object) as Json,
  prepare: (object, old) => (old ? object : { ...object, status: {} }),
});
