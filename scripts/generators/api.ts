/**
 * Generates the resource definitions (`config/crd/*.yaml`) and the reference pages (`docs/reference/*.md`)
 * from the schemas in src/api.
 */
import { stringify } from "yaml";
import { customResourceDefinition } from "../../src/api/crd.ts";
import { GROUP } from "../../src/api/metadata.ts";
import { referencePage } from "../../src/api/reference.ts";
import { resources } from "../../src/api/resources.ts";
import type { Generator } from "../generate/registry.ts";

const HEADER = "# Generated from the schema in src/api by `npm run generate`. Do not edit.\n";

export const resourceDefinitions: Generator = {
  name: "resource definitions (config/crd)",
  outputs: ["config/crd/*.yaml"],
  async generate() {
    // Equal subtrees are written out: Kubernetes tools do not all read YAML anchors.
    const options = { aliasDuplicateObjects: false, lineWidth: 0 };
    return new Map(
      resources.map((resource) => [
        `config/crd/${GROUP}_${resource.plural}.yaml`,
        HEADER + stringify(customResourceDefinition(resource), options),
      ]),
    );
  },
};

export const referencePages: Generator = {
  name: "reference pages (docs/reference)",
  outputs: ["docs/reference/*.md"],
  async generate() {
    return new Map(
      resources.map((resource) => [`docs/reference/${resource.singular}.md`, referencePage(resource)]),
    );
  },
};
