// Uses of remove.bg in the text of one file: pure. `found` is a host, a name or a path, and never a value, so no key of
// a file is printed.
import { basename } from 'node:path'
import { adviceFor, type UseKind } from './advice.ts'

export type Use = {
  readonly line: number
  readonly kind: UseKind
  readonly found: string
  /** For people: what takes its place, or what to do by hand. */
  readonly change: string
  /** The text that `--write` puts there; absent where a person decides. */
  readonly replacement?: string
  readonly start: number
  readonly end: number
}

type Rule = {
  readonly kind: UseKind
  readonly pattern: RegExp
  /** Files that the rule looks at. */
  readonly files?: RegExp
}

/** Files in which a name between quotes, or at the start of a line, is a package. */
const manifests =
  /(^|\/)(package\.json|requirements[^/]*\.(txt|in)|constraints[^/]*\.txt|pyproject\.toml|setup\.(py|cfg)|Pipfile|Gemfile|[^/]+\.gemspec|go\.mod|composer\.json|pom\.xml|build\.gradle(\.kts)?|[^/]+\.csproj|Cargo\.toml|environment\.ya?ml)$/

/** Documents and notes mention hosts in sentences, which a person rewrites. */
const prose = /\.(md|markdown|rst|adoc|txt)$/i

const ciFiles =
  /(^|\/)(\.github\/(workflows|actions)\/|\.gitlab-ci\.yml$|\.circleci\/|Jenkinsfile|azure-pipelines[^/]*\.ya?ml$|bitbucket-pipelines\.yml$|\.travis\.yml$|\.drone\.yml$|\.buildkite\/|buildspec\.ya?ml$)/

/** The first rule that matches a place takes it. A slash may be escaped, as in JSON of PHP. */
const rules: readonly Rule[] = [
  { kind: 'endpoint', pattern: /https?:(?:\\?\/){2}api\.remove\.bg(?::443)?(?![\w.:-])/gi },
  { kind: 'link', pattern: /(?:https?:(?:\\?\/){2})(?:[\w-]+\.)*remove\.bg(?![\w.-])[^\s"'`<>)\]]*/gi },
  { kind: 'host', pattern: /(?<![\w./@-])api\.remove\.bg(?![\w.-])/gi },
  { kind: 'program', pattern: /(?:https?:\/\/)?github\.com\/remove-bg\/go\/releases\/[\w/.-]*/g },
  { kind: 'import', pattern: /github\.com\/remove-bg\/go[\w/.-]*/g },
  {
    kind: 'package',
    pattern: /(?<=^|["'\s<>[])(?:@?[\w-]+\/)?[\w-]*remove[._-]?bg[\w-]*(?=["'\s=<>~^!;,[:\]]|$)/gim,
    files: manifests,
  },
  {
    kind: 'package',
    pattern:
      /(?<=\b(?:npm|pnpm|yarn|bun|pip3?|uv|poetry|gem|brew|composer)\s+(?:i|ci|add|get|install|require|pip install)\s(?:[^\n|;&#]*\s)?)[\w@/-]*remove[._-]?bg[\w.-]*/gi,
  },
  { kind: 'import', pattern: /(?<=\b(?:require|import)\s*\(\s*["'`])@?[\w/-]*remove[._-]?bg[\w/-]*(?=["'`])/gi },
  {
    kind: 'import',
    pattern: /(?<=\b(?:from|import|require|require_relative)\s+["'`])@?[\w/-]*remove[._-]?bg[\w/-]*(?=["'`])/gi,
  },
  { kind: 'import', pattern: /(?<=^\s*(?:from|import)\s+)remove_?bg\b/gim, files: /\.(py|ipynb|pyi)$/ },
  { kind: 'import', pattern: /(?<=^\s*use\s+)[\w\\]*RemoveBg\b/gim, files: /\.php$/ },
  {
    kind: 'program',
    pattern: /(?<=^|[\s;&|`"'(])removebg(?=\s+(?:--api-key|zip2png|[^\s=:]+\.(?:jpe?g|png|webp)|["']?\$))/gim,
  },
  { kind: 'variable', pattern: /\b[A-Z0-9_]*REMOVE_?BG_?[A-Z0-9_]*\b/g },
  { kind: 'variable', pattern: /\bremove[_-]?bg[_-]?(?:api[_-]?)?(?:key|token|secret|url|endpoint)\b/gi },
]

export type Place = {
  /** Path below the folder, with slashes. */
  readonly file: string
  /** Undefined: no URL of a Matte is known, so nothing can be replaced. */
  readonly serviceUrl: string | undefined
}

export function findUses(text: string, place: Place): Use[] {
  const uses: Use[] = []
  const rulesHere = rules.filter(({ files }) => files === undefined || files.test(place.file))
  for (const { start, end } of findWords(text)) {
    const around = windowAround(text, start, end)
    for (const { kind, pattern } of rulesHere) {
      for (const match of around.text.matchAll(pattern)) {
        const [from, to] = [around.start + match.index, around.start + match.index + match[0].length]
        const isHere = from < end && start < to
        // Words ascend, so only the latest uses can overlap.
        const isTaken = uses.slice(-rules.length).some((use) => from < use.end && use.start < to)
        if (isHere && !isTaken) uses.push({ line: 0, start: from, end: to, ...describe(kind, match[0], place) })
      }
    }
  }
  const lineOf = lineCounter(text)
  return uses.sort((a, b) => a.start - b.start).map((use) => ({ ...use, line: lineOf(use.start) }))
}

type Span = { readonly start: number; readonly end: number }

/** Longer runs are data in text, such as base64. */
const wordLengthMax = 200
const isWordCharacter = (unit: number): boolean =>
  (unit >= 0x2d && unit <= 0x3a) ||
  (unit >= 0x40 && unit <= 0x5a) ||
  unit === 0x5c ||
  unit === 0x5f ||
  (unit >= 0x61 && unit <= 0x7a)

/** Runs of letters, digits and `-./:@\_` that name remove.bg. Each character is looked at once or twice. */
function* findWords(text: string): Generator<Span> {
  const name = /remove[._-]?bg/gi
  let last = 0
  for (let match = name.exec(text); match !== null; match = name.exec(text)) {
    let [start, end] = [match.index, name.lastIndex]
    while (start > last && isWordCharacter(text.charCodeAt(start - 1))) start -= 1
    while (end < text.length && isWordCharacter(text.charCodeAt(end))) end += 1
    last = end
    name.lastIndex = end
    if (end - start <= wordLengthMax) yield { start, end }
  }
}

/** A word with the part of its line that rules look at. */
function windowAround(text: string, start: number, end: number): { readonly text: string; readonly start: number } {
  const before = text.slice(Math.max(0, start - wordLengthMax), start)
  const after = text.slice(end, end + wordLengthMax).split('\n', 1)[0] ?? ''
  const lineStart = before.lastIndexOf('\n') + 1
  const from = start - before.length + lineStart
  return { text: text.slice(from, end) + after, start: from }
}

type Described = Pick<Use, 'kind' | 'found' | 'change' | 'replacement'>

function describe(kind: UseKind, found: string, { file, serviceUrl }: Place): Described {
  const where = { name: basename(file), isCi: ciFiles.test(file) }
  if (kind === 'endpoint') {
    const isEscaped = found.includes('\\/')
    const replacement = isEscaped ? serviceUrl?.replaceAll('/', '\\/') : serviceUrl
    const change = replacement ?? 'the URL of your Matte: add --url'
    return { kind, found, change, ...(replacement !== undefined && { replacement }) }
  }
  const host = kind === 'host' && !prose.test(file) ? bareHostOf(serviceUrl) : undefined
  if (host !== undefined) return { kind, found, change: host, replacement: host }
  return { kind, found, change: adviceFor(kind, found, where) }
}

/** A host without its scheme is dialed by https, so only such a service without a path can take its place. */
function bareHostOf(serviceUrl: string | undefined): string | undefined {
  const url = serviceUrl === undefined ? undefined : new URL(serviceUrl)
  return url?.protocol === 'https:' && url.pathname === '/' ? url.host : undefined
}

/** Starts are asked for in ascending order. */
function lineCounter(text: string): (start: number) => number {
  let [line, at] = [1, 0]
  return (start) => {
    for (let next = text.indexOf('\n', at); next !== -1 && next < start; next = text.indexOf('\n', at)) {
      line += 1
      at = next + 1
    }
    return line
  }
}

/** The text with every replacement. */
export function applyUses(text: string, uses: readonly Use[]): string {
  let [result, at] = ['', 0]
  for (const { start, end, replacement } of uses) {
    if (replacement === undefined) continue
    result += text.slice(at, start) + replacement
    at = end
  }
  return result + text.slice(at)
}
