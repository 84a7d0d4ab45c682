// Completion scripts for bash, zsh and fish: pure functions of the command tree.
import { type CommandNode, type Path, walk } from './tree.ts'

export const shells = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof shells)[number]

export const renderCompletion = (shell: Shell, tree: CommandNode): string => render[shell](tree)

/** Text inside single quotes. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

const flagsOf = ({ node }: Path): string[] => node.options.flatMap(({ flags }) => flags)
const namesOf = ({ node }: Path): string[] => node.commands.map(({ name }) => name)

/** Words of a command as one key, such as `tasks list`. */
const keyOf = ({ words }: Path): string => words.join(' ')

function renderBash(tree: CommandNode): string {
  const paths = walk(tree)
  const cases = paths.map((path) => {
    const words = [...namesOf(path), ...(path.node.choices ?? [])].join(' ')
    return `    ${quoted(keyOf(path))}) commands=${quoted(words)} flags=${quoted(flagsOf(path).join(' '))} ;;`
  })
  return `# bash completion of ${tree.name}: source <(${tree.name} completion bash)
_${tree.name}() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]} path='' word commands='' flags=''
  local at
  for ((at = 1; at < COMP_CWORD; at++)); do
    word=\${COMP_WORDS[at]}
    case " $path|$word " in
${bashSteps(paths)}
    esac
  done
  case $path in
${cases.join('\n')}
  esac
  COMPREPLY=()
  case "$path|$previous" in
${bashValues(paths)}
  esac
  if [[ $current == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$flags" -- "$current")
  elif [[ -n $commands ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$commands" -- "$current")
  else
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
  fi
}
complete -o filenames -F _${tree.name} ${tree.name} ${tree.name}-cli
`
}

/** Follows a word that is a subcommand of the path so far. */
const bashSteps = (paths: readonly Path[]): string =>
  paths
    .filter(({ words }) => words.length > 0)
    .map((path) => {
      const parent = path.words.slice(0, -1).join(' ')
      return `      ${quoted(` ${parent}|${path.node.name} `)}) path=${quoted(keyOf(path))} ;;`
    })
    .join('\n')

/** Values after an option: choices, or files. */
const bashValues = (paths: readonly Path[]): string =>
  paths
    .flatMap((path) =>
      path.node.options
        .filter(({ takesValue }) => takesValue)
        .map(({ flags, choices }) => {
          const patterns = flags.map((flag) => quoted(`${keyOf(path)}|${flag}`)).join(' | ')
          const reply = choices.length > 0 ? `compgen -W ${quoted(choices.join(' '))}` : 'compgen -f'
          return `    ${patterns}) mapfile -t COMPREPLY < <(${reply} -- "$current"); return ;;`
        }),
    )
    .join('\n')

function renderZsh(tree: CommandNode): string {
  const functions = walk(tree).map((path) => zshFunction(path, tree.name))
  return `#compdef ${tree.name} ${tree.name}-cli
# zsh completion of ${tree.name}: ${tree.name} completion zsh > "\${fpath[1]}/_${tree.name}"
${functions.join('\n')}
compdef _${tree.name} ${tree.name} ${tree.name}-cli
`
}

const zshName = (root: string, words: readonly string[]): string => ['', root, ...words].join('_').replaceAll('-', '_')

function zshFunction({ words, node }: Path, root: string): string {
  const options = node.options.map(zshOption)
  const lines = ['  _arguments -C \\', ...options.map((option) => `    ${option} \\`)]
  if (node.commands.length === 0) {
    const values = node.choices === undefined ? '_files' : `(${node.choices.join(' ')})`
    return `${zshName(root, words)}() {\n${lines.join('\n')}\n    ${quoted(`*:argument:${values}`)}\n}`
  }
  const names = node.commands.map(({ name, description }) => quoted(`${name}:${description.replaceAll(':', '\\:')}`))
  const cases = node.commands.map(({ name }) => `        ${name}) ${zshName(root, [...words, name])} ;;`)
  return `${zshName(root, words)}() {
  local context state state_descr line
  typeset -A opt_args
${lines.join('\n')}
    '1: :->command' '*:: :->rest'
  case $state in
    command) local -a names=(${names.join(' ')}); _describe command names ;;
    rest)
      case $line[1] in
${cases.join('\n')}
      esac ;;
  esac
}`
}

function zshOption({ flags, description, takesValue, choices }: CommandNode['options'][number]): string {
  const text = description.replaceAll(/[[\]:]/g, (mark) => `\\${mark}`)
  const value = !takesValue ? '' : choices.length > 0 ? `:value:(${choices.join(' ')})` : ':value:_files'
  const [only = ''] = flags
  if (flags.length < 2) return quoted(`${only}[${text}]${value}`)
  return `${quoted(`(${flags.join(' ')})`)}{${flags.join(',')}}${quoted(`[${text}]${value}`)}`
}

function renderFish(tree: CommandNode): string {
  const lines = walk(tree).flatMap((path) => [...fishCommands(path, tree.name), ...fishOptions(path, tree.name)])
  return `# fish completion of ${tree.name}: ${tree.name} completion fish > ~/.config/fish/completions/${tree.name}.fish
function __${tree.name}_path
  set -l words (commandline -opc)
  set -l path
  for word in $words[2..-1]
    string match -q -- '-*' $word; or set -a path $word
  end
  string join -- ' ' $path
end
function __${tree.name}_at
  string match -q -r -- "^$argv[1]( |\\$)" (__${tree.name}_path)
end
function __${tree.name}_is
  test (__${tree.name}_path) = "$argv[1]"
end
${lines.join('\n')}
complete -c ${tree.name}-cli -w ${tree.name}
`
}

function fishCommands(path: Path, root: string): string[] {
  const names = path.node.commands.map(
    ({ name, description }) =>
      `complete -c ${root} -n ${quoted(`__${root}_is '${keyOf(path)}'`)} -f -a ${quoted(name)} -d ${quoted(description)}`,
  )
  const values = path.node.choices ?? []
  if (values.length === 0) return names
  return [
    ...names,
    `complete -c ${root} -n ${quoted(`__${root}_is '${keyOf(path)}'`)} -f -a ${quoted(values.join(' '))}`,
  ]
}

const fishOptions = (path: Path, root: string): string[] =>
  path.node.options.map(({ flags, description, takesValue, choices }) => {
    const condition = path.words.length === 0 ? '' : ` -n ${quoted(`__${root}_at '${keyOf(path)}'`)}`
    const names = flags.map((flag) => (flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`)).join(' ')
    const value = !takesValue ? '' : choices.length > 0 ? ` -x -a ${quoted(choices.join(' '))}` : ' -r'
    return `complete -c ${root}${condition} ${names}${value} -d ${quoted(description)}`
  })

const render: Record<Shell, (tree: CommandNode) => string> = { bash: renderBash, zsh: renderZsh, fish: renderFish }
