// Checks references in sources and documents: rules of docs/contract.md (D…), decisions of DECISIONS.md (A…), links,
// paths and test names. Pure: the tree is passed as texts by path.
import { posix } from 'node:path'

type Tree = {
  /** All files of the repository, by path from the root. */
  readonly files: ReadonlyMap<string, string>
}

type Dangling = { readonly path: string; readonly line: number; readonly problem: string }

/** File that defines each kind of number: a line starts with it in bold. */
const definedIn = { D: 'docs/contract.md', A: 'DECISIONS.md' } as const

const isChecked = (path: string): boolean => /\.(ts|md|yaml|sh)$|(^|\/)Makefile$/.test(path)

/** Dangling references, in the order of the files. */
export function findDangling(tree: Tree): Dangling[] {
  const index = buildIndex(tree)
  return [...tree.files].flatMap(([path, text]) => (isChecked(path) ? checkFile(index, path, text) : []))
}

type Index = {
  readonly files: ReadonlyMap<string, string>
  readonly rules: ReadonlySet<string>
  /** Headings of each Markdown file, as GitHub's link anchors. */
  readonly anchors: ReadonlyMap<string, ReadonlySet<string>>
  /** Files and folders, also by each suffix of their path, because comments may omit a common prefix. */
  readonly names: ReadonlySet<string>
  readonly paths: ReadonlySet<string>
  readonly topFolders: ReadonlySet<string>
}

function buildIndex({ files }: Tree): Index {
  const paths = new Set(['.', ...[...files.keys()].flatMap((path) => [path, ...foldersOf(path)])])
  const rules = Object.entries(definedIn).flatMap(([letter, path]) =>
    [...(files.get(path) ?? '').matchAll(/^\*\*([A-Z]\d+)\b/gm)].flatMap(([, rule = '']) =>
      rule.startsWith(letter) ? [rule] : [],
    ),
  )
  const markdown = [...files].filter(([path]) => path.endsWith('.md'))
  return {
    files,
    rules: new Set(rules),
    anchors: new Map(markdown.map(([path, text]) => [path, anchorsOf(text)])),
    names: new Set([...paths].flatMap(endsOf)),
    paths,
    topFolders: new Set([...files.keys()].filter((path) => path.includes('/')).map((path) => path.split('/')[0] ?? '')),
  }
}

const foldersOf = (path: string): string[] => {
  const parts = path.split('/').slice(0, -1)
  return parts.map((_, count) => parts.slice(0, count + 1).join('/'))
}

const endsOf = (path: string): string[] => {
  const parts = path.split('/')
  return parts.map((_, from) => parts.slice(from).join('/'))
}

function anchorsOf(text: string): ReadonlySet<string> {
  const anchors = new Set<string>()
  for (const [, title = ''] of text.replaceAll(/^```[\s\S]*?^```/gm, '').matchAll(/^#+ +(.+)$/gm)) {
    const slug = title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-')
    let anchor = slug
    for (let copy = 1; anchors.has(anchor); copy++) anchor = `${slug}-${copy}`
    anchors.add(anchor)
  }
  return anchors
}

function checkFile(index: Index, path: string, text: string): Dangling[] {
  const isMarkdown = path.endsWith('.md')
  let isFenced = false
  return text.split('\n').flatMap((content, at) => {
    if (isMarkdown && /^\s*```/.test(content)) isFenced = !isFenced
    const prose = isMarkdown ? (isFenced ? '' : content) : commentOf(path, content)
    const problems = [
      ...findRules(index, content),
      ...(isMarkdown ? findLinks(index, path, prose) : []),
      ...findPaths(index, path, prose),
      ...(isMarkdown ? findTests(index, prose) : []),
    ]
    return problems.map((problem) => ({ path, line: at + 1, problem }))
  })
}

/** The comment in a line of code. A match inside a string is harmless. */
function commentOf(path: string, content: string): string {
  const pattern = path.endsWith('.ts') ? /^\s*(?:\/?\*|\/\/).*| \/\/ .*/ : /(?:^|\s)#.*/
  return pattern.exec(content)?.[0] ?? ''
}

const findRules = ({ rules }: Index, content: string): string[] =>
  [...content.matchAll(/(?<![\w%/+=-])[DA][1-9]\d?(?![\w%=])/g)]
    .filter(([rule]) => !rules.has(rule))
    .map(([rule]) => `${rule} is not in ${rule.startsWith('D') ? definedIn.D : definedIn.A}`)

function findLinks({ paths, anchors }: Index, path: string, prose: string): string[] {
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, link = '']) => {
    if (/^[a-z]+:/.test(link)) return []
    const [file = '', anchor] = link.split('#')
    const target = file === '' ? path : posix.join(posix.dirname(path), file).replace(/\/$/, '')
    if (!paths.has(target)) return [`the link ${link} leads to no file`]
    if (anchor !== undefined && !anchors.get(target)?.has(anchor)) return [`the link ${link} leads to no heading`]
    return []
  })
}

/** A test as named in documents: its file in backticks, then its title in double quotes. */
function findTests({ files }: Index, prose: string): string[] {
  return [...prose.matchAll(/`([\w./-]+\.test\.ts)` "([^"]+)"/g)].flatMap(([, file = '', title = '']) => {
    const text = files.get(file)
    if (text === undefined || hasTest(text, title)) return []
    return [`${file} has no test "${title}"`]
  })
}

function hasTest(text: string, title: string): boolean {
  const escaped = title.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
  return new RegExp(`\\(\\s*(['"\`])${escaped}\\1,`).test(text.replaceAll("\\'", "'"))
}

function findPaths(index: Index, path: string, prose: string): string[] {
  const quoted = [...prose.matchAll(/`([^`]+)`/g)].flatMap(([, text = '']) => text.split(/[\s='",;()]+/))
  const plain = [...prose.matchAll(/(?<!\]\()(?<![\w./`@:-])[\w.-]+(?:\/[\w.-]+)+\.(?:ts|md|yaml|sh|json)\b/g)]
    .map(([name]) => name)
    .filter((name) => index.topFolders.has(name.split('/')[0] ?? '') && !quoted.includes(name))
  return [...quoted, ...plain]
    .filter((name) => looksLikePath(index, name) && !exists(index, path, name))
    .map((name) => `the path ${name} does not exist`)
}

/** Whether it looks like a path of this repository, and not of the local installation, of a build, or of a URL. */
function looksLikePath({ topFolders }: Index, name: string): boolean {
  if (!/^[\w.][\w./-]*$/.test(name) || !name.includes('/') || /^(\.local|node_modules)\/|\/dist(\/|$)/.test(name))
    return false
  return /\.(ts|md|yaml|sh|json)$|\/$/.test(name) || topFolders.has(name.split('/')[0] ?? '')
}

function exists({ paths, names }: Index, path: string, name: string): boolean {
  const plain = name.replace(/\/$/, '')
  return names.has(plain) || paths.has(posix.join(posix.dirname(path), plain))
}
