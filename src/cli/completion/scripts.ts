/** The shells' side of completion: each script passes the words on to `__complete` and shows what it answers. */

export const SHELLS = ["bash", "zsh", "fish", "kubectl"] as const;
export type Shell = (typeof SHELLS)[number];

/** `program` is a name on PATH. */
export function completionScript(shell: Shell, program: string): string {
  return SCRIPTS[shell](program);
}

/**
 * A line is `word<tab>about`; the line `:files` asks the shell to offer files. Of `--flag=value` only values are
 * answered, as kubectl's own completion does: what stands before them each shell treats in its own way.
 */
const SCRIPTS: Readonly<Record<Shell, (program: string) => string>> = {
  bash: (program) => `# Load it with: source <(${program} completion bash)
_${identifier(program)}() {
  local line word count=0 words=()
  COMPREPLY=()
  # COMP_WORDBREAKS makes three words of --flag=value.
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD}"; do
    if ((count > 0)) && [[ $word == =* || \${words[count - 1]} == --*= ]]; then
      words[count - 1]+=$word
    else
      words[count++]=$word
    fi
  done
  while IFS= read -r line; do
    if [[ $line == ":files" ]]; then
      compopt -o default
      COMPREPLY=()
      return
    fi
    COMPREPLY+=("\${line%%$'\\t'*}")
  done < <(${program} __complete -- "\${words[@]}" 2>/dev/null)
}
complete -F _${identifier(program)} ${program}
`,
  zsh: (program) => `#compdef ${program}
# Load it with: source <(${program} completion zsh)
# or save it as _${program} in a directory of fpath, before compinit runs.
_${identifier(program)}() {
  local line word about
  local -a offered asked=("\${(@Q)words[2,CURRENT]}")
  [[ $words[CURRENT] == --*=* ]] && compset -P 1 '*='
  while IFS= read -r line; do
    if [[ $line == ":files" ]]; then
      _files
      return
    fi
    word=\${line%%$'\\t'*}
    about=\${line#$word}
    offered+=("\${word//:/\\\\:}\${about:+:\${about#$'\\t'}}")
  done < <(${program} __complete -- "\${asked[@]}" 2>/dev/null)
  _describe ${program} offered
}
# Read from fpath, this file is a function itself, whatever its name, and the first Tab is its first call.
if (( \${+compstate} )); then
  _${identifier(program)} "$@"
else
  compdef _${identifier(program)} ${program}
fi
`,
  fish: (program) => `# Load it with: ${program} completion fish | source
function __${identifier(program)}_complete
  set -l words (commandline -opc) (commandline -ct)
  set -l before (string match -r -- '^--[^=]+=' (commandline -ct))
  set -l value (string replace -r -- '^--[^=]+=' '' (commandline -ct))
  for line in (${program} __complete -- $words[2..-1] 2>/dev/null)
    if test "$line" = ":files"
      for path in (__fish_complete_path "$value")
        echo "$before$path"
      end
    else
      echo "$before$line"
    end
  end
end
complete -c ${program} -f -a "(__${identifier(program)}_complete)"
`,
  kubectl: () => `#!/bin/sh
# For kubectl etcd: save it as kubectl_complete-etcd in a directory of PATH and make it executable.
offered=$(kubectl-etcd __complete -- "$@" 2>/dev/null)
# The last line says whether kubectl's shell offers files.
case $offered in
  ":files") echo ":0" ;;
  *) printf '%s\\n:4\\n' "$offered" ;;
esac
`,
};

function identifier(program: string): string {
  return program.replaceAll(/\W/g, "_");
}
