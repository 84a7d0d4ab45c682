// Finds sentences in comments, documents, test names and texts of the service that are not plain technical English: no
// noun for a subject, no named actor, a vague verb. Linters of the registry do not fit: textlint and write-good do not
// read comments of TypeScript and YAML, and their rules judge style in general; vale is not on npm.
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { rootDir } from '@matte/local/paths'

/** Paths, or beginnings of paths, whose findings do not fail the check yet. */
const unfinished: readonly string[] = []

const read = ['**/*.{ts,tsx,mjs,md,yaml,tpl,sh,py}', '**/{Makefile,Dockerfile}']
/** The contract is not ours to reword; the rest is generated or installed. */
const skipped = [
  '**/{node_modules,snapshots,gen,generated}/**',
  '.local/**',
  '**/dist/**',
  'docs/contract.md',
  '**/*.gen.ts',
]

const columnsMax = 120

const clauseVerbs =
  'waits|comes|asks|calls|signs|pays|reads|writes|knows|finds|has|had|is|was|gets|takes|holds|enters|locks|made|makes|' +
  'sends|owns|invites|looks|wants|needs|loses|lost|stops|starts'
const vagueParticiples =
  'told|judged|asked after|looked after|done with|made do|let in|let go|known of|spoken of|there for|had'
const dialect =
  'anew|for ever|aloud|in vain|besides|henceforth|therein|thereof|lest|no more (?:than one|is)|all the same|as ever|' +
  'of (?:its|their|our) own|of (?:theirs|ours|yours)|at hand|gives way|in other hands|makes? do|made do|' +
  '(?<!there )(?:is|are|was) no (?:member|pod|task|row|subject|key|workspace|caller|leader)|(?:what|which) it (?:is|was) (?:about|for)'

const rules: readonly (readonly [advice: string, pattern: RegExp])[] = [
  ['start with the subject', /^(Of|That of|Those of|For each) |^(Once|Ever|Not) [^.]{0,60}[.;:,]?$/],
  ['name the actor', /(^|[.;:,] )(Who|Whoever|Whom|Whose|What) [a-z](?!.*\?$)/],
  ['name the actor', new RegExp(`\\b(who|whoever) (${clauseVerbs})\\b`)],
  ['name the actor', /(?<!["'`])\b(somebody|nobody|anybody|everybody|someone else's|another's)\b/],
  ['use a precise verb', new RegExp(`\\b(is|are|was|were|be|been|being) (${vagueParticiples})\\b`)],
  ['use a precise verb', /\b(lies?|stands?) (in|on|at|with|by|under|beside|there|for|as)\b/],
  ['use common words', new RegExp(`\\b(${dialect})\\b`)],
  ['use common words', /, (and|but|or) (not|so) [a-z]+ (does|do|is|are|was|were)\b/],
]

type Sentence = { readonly line: number; readonly text: string }
type Finding = Sentence & { readonly advice: string }

/** Sentences that break a rule, and comments in TypeScript wider than its code: the formatter does not wrap them. */
export function findProse(path: string, content: string): Finding[] {
  const lines = content.split('\n')
  const isScript = /\.(tsx?|mjs)$/.test(path)
  const hashLines = () => withHashComments(content).split('\n').map(hashProse)
  const prose = path.endsWith('.md') ? documentProse(content) : isScript ? lines.map(tsProse) : hashLines()
  const wide = prose.flatMap(({ text }, at) => {
    const line = lines[at]?.replace(/\s*\*\/$/, '') ?? ''
    const isWide = isScript && text !== '' && line.length > columnsMax && line.endsWith(text)
    return isWide ? [{ line: at + 1, text, advice: `keep to ${columnsMax} columns` }] : []
  })
  const texts = isScript && !testCode.test(path) ? serviceTexts(content) : []
  const unclear = [...joinSentences(prose), ...texts].flatMap((sentence) => {
    const rule = rules.find(([, pattern]) => pattern.test(sentence.text))
    return rule ? [{ ...sentence, advice: rule[0] }] : []
  })
  return [...unclear, ...wide]
}

/** Prose of one line; `begins`: it does not continue the sentence of the line before. */
type Prose = { readonly text: string; readonly begins: boolean }

function tsProse(line: string): Prose {
  const title = /^\s*(?:(?:it|describe)\b.*?|\]\))\((['"`])(.*)\1,/.exec(line)?.[2]
  if (title !== undefined) return { text: title, begins: true }
  const comment = /(?:^|\s)\/\/\s?(.*)$|^\s*\/?\*\*?\s?(.*?)(?:\*\/)?$/.exec(line)
  return { text: (comment?.[1] ?? comment?.[2] ?? '').trim(), begins: !/^\s*(\/\/|\*)/.test(line) }
}

/** Texts of tests repeat those of the service. */
const testCode = /^test\/|\.(test|fixtures)\.tsx?$/

const literal = String.raw`(?:'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|\`(?:[^\`\\]|\\.)*\`)`
const literals = String.raw`(${literal}(?:\s*\+\s*${literal})*)`
const textPatterns = [
  String.raw`\b(?:description|summary|message|help)\s*[:=]\s*${literals}`,
  String.raw`\bnew \w*Error\(\s*(?:[\w']+,\s*)*${literals}`,
  String.raw`\b(?:logger|log)\.(?:debug|info|warn|error|fatal)\((?:(?:[^()]|\([^()]*\))*,)?\s*${literals}`,
].map((pattern) => new RegExp(pattern, 'g'))

/** Sentences of literals that callers or operators read: descriptions, summaries, help texts, errors, log messages. */
function serviceTexts(content: string): Sentence[] {
  const found = textPatterns.flatMap((pattern) => [...content.matchAll(pattern)])
  return found.flatMap(([match, source = ''], at) => {
    const line = content.slice(0, (found[at]?.index ?? 0) + match.length - source.length).split('\n').length
    const text = [...source.matchAll(new RegExp(literal, 'g'))].map(([one]) => one.slice(1, -1)).join('')
    return sentencesOf(text.replaceAll(/\$\{[^}]*\}/g, 'value').replaceAll('\\n', ' ')).map((one) => ({
      line,
      text: one,
    }))
  })
}

/** Comments of Helm templates, in braces, become lines that begin with `#`. */
function withHashComments(content: string): string {
  return content.replaceAll(/\{\{- ?\/\*([\s\S]*?)\*\/ ?-?\}\}/g, (_, text: string) =>
    text.replaceAll(/^\s*?(?=\S|$)/gm, '# '),
  )
}

const hashProse = (line: string): Prose => ({ text: /^\s*#\s(.*)$/.exec(line)?.[1] ?? '', begins: false })

function documentProse(content: string): Prose[] {
  const withoutCode = content.replaceAll(/^\s*```[\s\S]*?^\s*```/gm, (code) => code.replaceAll(/[^\n]/g, ''))
  return withoutCode.split('\n').map((line, at, lines) => ({
    // Headings such as "What an upgrade does" are no sentences.
    text: line.startsWith('#') ? '' : line.replace(/^[\s>*|-]+/, '').trim(),
    begins: /^\s*([>*|#-]|\d+\.)/.test(line) || lines[at - 1]?.startsWith('#') === true,
  }))
}

/** Joins wrapped lines. A cell of a table counts as a sentence. */
function joinSentences(prose: readonly Prose[]): Sentence[] {
  const blocks: { line: number; text: string }[] = []
  prose.forEach(({ text, begins }, at) => {
    const last = blocks.at(-1)
    if (text !== '' && prose[at - 1]?.text && !begins && last) last.text += ` ${text}`
    else if (text !== '') blocks.push({ line: at + 1, text })
  })
  return blocks.flatMap(({ line, text }) =>
    text.split(/\s*\|\s*/).flatMap((cell) => sentencesOf(cell).map((sentence) => ({ line, text: sentence }))),
  )
}

const sentencesOf = (text: string): string[] => text.split(/(?<=[.!?:])\s+(?=[A-Z`])/)

if (import.meta.main) {
  const paths = globSync(read, { cwd: rootDir, exclude: skipped }).sort()
  const findings = paths.flatMap((path) =>
    findProse(path, readFileSync(join(rootDir, path), 'utf8')).map((finding) => ({ path, ...finding })),
  )
  const failing = findings.filter(({ path }) => !unfinished.some((start) => path.startsWith(start)))
  for (const { path, line, advice, text } of failing) process.stdout.write(`${path}:${line}: ${advice}: ${text}\n`)
  process.stdout.write(
    `${failing.length} sentences to rewrite, ${findings.length - failing.length} in unfinished files\n`,
  )
  process.exitCode = failing.length > 0 ? 1 : 0
}
