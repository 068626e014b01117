/**
 * From an object of the plain manifests to a Helm template: some of its values become holes that Helm fills. A hole is
 * a word while the object is written as YAML, and an action of the template afterwards.
 */
import { stringify } from "yaml";

export class Holes {
  readonly #actions: string[] = [];
  readonly #blocks: ((indent: number) => string)[] = [];

  /** In place of a scalar, or of a part of one. */
  hole(expression: string): string {
    return `hole${this.#actions.push(`{{ ${expression} }}`) - 1}x`;
  }

  /** In place of a field or of an item of a list: lines, given how far the field is indented. */
  block(lines: (indent: number) => string): string {
    return `block${this.#blocks.push(lines) - 1}x`;
  }

  /** A field whose content is that of a value; without a default, none while the value is empty. */
  field(name: string, value: string, options: { optional?: boolean } = {}): string {
    return this.block((indent) => {
      const content = (what: string) => `{{- toYaml ${what} | nindent ${indent + 2} }}`;
      const at = " ".repeat(indent);
      return options.optional
        ? `${at}{{- with ${value} }}\n${at}${name}:\n${at}  ${content(".")}\n${at}{{- end }}`
        : `${at}${name}:\n${at}  ${content(value)}`;
    });
  }

  /** More entries of the map, or items of the list, that it is put in. */
  more(value: string): string {
    return this.block((indent) => {
      const at = " ".repeat(indent);
      return `${at}{{- with ${value} }}\n${at}{{- toYaml . | nindent ${indent} }}\n${at}{{- end }}`;
    });
  }

  text(object: object): string {
    // Braces of the object itself would be actions of the template.
    const yaml = stringify(object, { aliasDuplicateObjects: false, lineWidth: 0 }).replaceAll(
      "{{",
      '{{ "{{" }}',
    );
    return yaml
      .split("\n")
      .map((line) => {
        const [, at = "", index] = /^( *)(?:- )?(?:[^ ]+: )?block(\d+)x$/.exec(line) ?? [];
        return index === undefined ? line : (this.#blocks[Number(index)]?.(at.length) ?? line);
      })
      .join("\n")
      .replaceAll(/hole(\d+)x/g, (word, index: string) => this.#actions[Number(index)] ?? word);
  }
}
