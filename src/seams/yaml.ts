/**
 * The parser of YAML, which takes a megabyte, for those who load it only when there is some to read or write. By a module
 * of ours, since in a program in parts a package in CommonJS gives its names to no `import()`.
 */
export { parse, parseDocument, stringify } from "yaml";
