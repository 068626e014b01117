/** The Certificate of cert-manager: a resource definition of somebody else's, which a server may not have. */
import { kindOf, type Kind } from "../kind.ts";
import { any, metadataSchema, struct } from "../schema.ts";

export const certificates: Kind = kindOf({
  apiVersion: "cert-manager.io/v1",
  kind: "Certificate",
  plural: "certificates",
  schema: struct({ metadata: metadataSchema, spec: any, status: any }, "none"),
  builtIn: false,
  hasStatus: true,
  counts: true,
  unconditional: false,
  statusKeepsMetadata: true,
});
